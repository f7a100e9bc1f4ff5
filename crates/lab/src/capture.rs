//! Captures that the page reads: what `gentle analyze --flows` prints and writes, and a link for their connections.

use crate::setup::SetupError;
use gentle_capture::CaptureReader;
use gentle_experiment::{Direction, Flow, Scenario};
use gentle_report::analyze::{Detail, put_into_words, text};
use gentle_report::flows::Writer;
use gentle_trace::flows::Flows;
use gentle_trace::row::Row;
use gentle_trace::{AnalysisError, Control, Options, prefix};
use gentle_units::Rate;
use ipnet::IpNet;

/// Memory for connections and records about them, bytes: a quarter of the command's, which leaves a phone some.
const MEMORY: u64 = 512 << 20;

/// Load of the link that is suggested.
const LOAD: f64 = 0.9;

/// Slowest link that is suggested, bits per second.
const SLOWEST: f64 = 64e3;

/// Contents of captures.
#[derive(Debug, Clone, PartialEq)]
pub struct Captured {
    /// Output of `gentle analyze --flows flows.csv`.
    pub text: String,
    /// The list of connections that it writes.
    pub flows: String,
    /// Number of connections in the list.
    pub connections: usize,
    /// Rate of a link whose busier direction these connections load to 90 % on average over the time of the captures, to
    /// two digits; `None` without connections.
    pub rate: Option<Rate>,
    /// Part of the data that goes up, over the reverse link.
    pub up: f64,
}

/// Reads the option `--local` as often as it is there: prefixes with commas or spaces between them.
///
/// # Errors
/// One of them is no prefix.
pub fn local(text: &str) -> Result<Vec<IpNet>, SetupError> {
    let parts = text.split([',', ' ']).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            prefix(part)
                .map_err(|error| SetupError { place: "my side".to_owned(), problem: format!("'{part}': {error}") })
        })
        .collect()
}

/// Analyses captures as one trace, on the calling thread. `local` is [`Options::local`], `width` the width of the text
/// in columns; `None`: nothing wraps.
///
/// # Errors
/// A capture cannot be read.
pub fn analyze(
    readers: Vec<CaptureReader>,
    local: Vec<IpNet>,
    width: Option<usize>,
) -> Result<Captured, AnalysisError> {
    let options = Options { memory_limit: MEMORY, local, ..Options::default() };
    let mut collected = Flows::new(&options.local, None);
    let mut sink = |row: &Row| {
        collected.add(row);
        Ok(())
    };
    let control = Control { one_thread: true, ..Control::default() };
    let mut analysis = gentle_trace::analyze(readers, &options, None, Some(&mut sink), &control)?;
    let flows = collected.finish(&mut analysis);
    put_into_words(&mut analysis);
    let flows: Vec<Flow> = flows.iter().map(gentle_replay::flow).collect();
    let seconds = analysis.duration_s;
    Ok(Captured {
        text: text(&[analysis], Detail::Brief, width, false),
        flows: list(&flows).map_err(AnalysisError::Rows)?,
        connections: flows.len(),
        up: up(&flows),
        rate: rate(flows, seconds),
    })
}

fn list(flows: &[Flow]) -> std::io::Result<String> {
    let mut list = Vec::new();
    let mut writer = Writer::new(&mut list)?;
    for flow in flows {
        writer.write(flow)?;
    }
    writer.finish()?;
    Ok(String::from_utf8(list).expect("numbers and names"))
}

fn up(flows: &[Flow]) -> f64 {
    let bytes = |of: fn(&&Flow) -> bool| flows.iter().filter(of).map(|flow| flow.bytes as f64).sum();
    let all: f64 = bytes(|_| true);
    let up: f64 = bytes(|flow| flow.direction == Some(Direction::Up));
    up / all.max(1.0)
}

fn rate(flows: Vec<Flow>, seconds: f64) -> Option<Rate> {
    if flows.is_empty() {
        return None;
    }
    let scenario = Scenario::replay("flows.csv", flows);
    let duration = scenario.duration.as_secs_f64();
    let offered = Direction::BOTH.map(|direction| {
        let rate = scenario.link(direction).rate.bits_per_second() as f64;
        scenario.load(direction) * rate * duration / seconds.max(duration)
    });
    let bits = (offered[0].max(offered[1]) / LOAD).max(SLOWEST);
    let unit = libm::exp10(libm::log10(bits).floor() - 1.0);
    Rate::from_bits_per_second(((bits / unit).round() * unit).round() as u64)
}

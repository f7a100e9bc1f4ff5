//! Predictions of the response-time model: table, CSV and page.

use crate::failure::of_csv;
use crate::format::unbroken;
use crate::page::{Origin, Provenance, Shell};
use crate::terminal::{STYLE, align, bare, paragraph};
use crate::terms::{Part, Reader, Sentence};
use askama::Template;
use gentle_model::{Form, OfRto, OfSize, Prediction};
use gentle_units::text::{count, percent, plural, significant, time};
use std::io::{self, Write};

/// Explanation of the model, for readers of a table or page.
const EXPLANATION: &str = "Handshake (a round trip, and the waits for lost SYNs and SYN/ACKs), slow start, congestion \
    avoidance at the throughput that the square-root law gives, a round trip for each lost packet, FIN (spa-2018, \
    section IV). Losses are independent, the round-trip time is constant, and nothing but loss limits the window; \
    docs/concepts/model.md says where that is wrong.";

/// Explanation of the form in which slow start lasts until the first loss.
const FIRST_LOSS: &str = "Handshake (a round trip, and the waits for lost SYNs and SYN/ACKs), slow start until the \
    first loss, congestion avoidance at the throughput that the square-root law gives, a round trip for each lost \
    packet, or a timeout for the first if fewer than three follow it; FIN rides on the data. Losses are independent, \
    the round-trip time is constant, and nothing but loss limits the window; docs/concepts/model.md says where that is wrong.";

/// Formats a prediction for a terminal that is `width` columns wide.
pub fn table(prediction: &Prediction, width: Option<usize>, color: bool) -> String {
    let mut table = bare(STYLE, color);
    table.set_header(columns(prediction));
    for row in rows(prediction) {
        table.add_row(row);
    }
    align(&mut table);
    let mut text = paragraph("", &population(prediction), width);
    text.push_str(&format!("\n{table}\n\n"));
    for sentence in verdict(prediction) {
        text.push_str(&paragraph("", &sentence, width));
    }
    text
}

/// Writes a prediction as CSV, a row per initial RTO and size.
///
/// # Errors
/// Errors of writing to `to`.
pub fn csv(prediction: &Prediction, to: impl Write) -> io::Result<()> {
    let mut out = csv::Writer::from_writer(to);
    out.write_record([
        "initial_rto_s",
        "segments",
        "mean_s",
        "handshake_s",
        "slow_start_s",
        "congestion_avoidance_s",
        "recovery_s",
        "fin_s",
        "without_handshake_loss_s",
        "with_one_loss_s",
        "increase_by_one_loss",
    ])
    .map_err(of_csv)?;
    for rto in &prediction.rtos {
        for size in &rto.sizes {
            let parts = size.parts;
            let times = [
                size.mean_s,
                parts.handshake_s,
                parts.slow_start_s,
                parts.congestion_avoidance_s,
                parts.recovery_s,
                parts.fin_s,
                size.without_handshake_loss_s,
                size.with_one_loss_s,
                size.increase_by_one_loss,
            ];
            let keys = [rto.initial_rto_s.to_string(), size.segments.to_string()];
            let row = keys.into_iter().chain(times.map(|time| time.to_string()));
            out.write_record(row).map_err(of_csv)?;
        }
    }
    out.flush()
}

#[derive(Template)]
#[template(path = "model.html")]
struct Page<'a> {
    origin: Provenance<'a>,
    population: Sentence,
    verdict: Vec<Sentence>,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
    explanation: &'static str,
    shell: Shell,
}

/// Formats a prediction as one HTML file that needs neither other files nor network access.
pub fn html(prediction: &Prediction, origin: &Origin) -> String {
    let mut text = Vec::new();
    csv(prediction, &mut text).expect("a vector takes all bytes");
    let text = String::from_utf8(text).expect("numbers and names are ASCII");
    let mut reader = Reader::default();
    let page = Page {
        origin: Provenance::new(origin, &prediction.gentle),
        population: reader.sentence(&unbroken(&population(prediction))),
        verdict: reader.sentences(verdict(prediction).iter().map(|s| unbroken(s))),
        columns: columns(prediction),
        rows: rows(prediction),
        explanation: match prediction.form {
            Form::Published => EXPLANATION,
            Form::FirstLoss { .. } => FIRST_LOSS,
        },
        shell: Shell::new("", &[include_str!("../assets/model.js")], prediction).csv(&text),
    };
    page.render().expect("a template that compiles renders into a string")
}

/// Sentence about the path.
fn population(prediction: &Prediction) -> String {
    let p = prediction;
    let throughput = p.throughput_segments_per_s;
    let throughput = throughput
        .map_or(String::new(), |x| format!("; at most {} segments/s in congestion avoidance", significant(x, 3)));
    let form = match p.form {
        Form::Published => "",
        Form::FirstLoss { .. } => "; slow start until the first loss",
    };
    format!(
        "RTT {}, loss {}, {} of handshakes lose a SYN or SYN/ACK at each attempt, initial window {}, an ACK for {}{throughput}{form}",
        time(p.rtt_s),
        percent(p.loss),
        percent(p.handshake_loss),
        segments(p.initial_window),
        match p.segments_per_ack {
            1.0 => "each segment".to_owned(),
            n => format!("{n} segments"),
        },
    )
}

fn segments(n: f64) -> String {
    match n {
        1.0 => "1 segment".to_owned(),
        n => format!("{n} segments"),
    }
}

/// Sentences about the cost of a lost SYN, one per initial RTO.
fn verdict(prediction: &Prediction) -> Vec<String> {
    let sentence = |rto: &OfRto| {
        let (first, last) = (rto.sizes.first()?, rto.sizes.last()?);
        let range = match first == last {
            true => format!(
                "adds {} to a transfer of {}",
                percent(first.increase_by_one_loss),
                plural(first.segments.into(), "segment", "segments")
            ),
            false => format!(
                "adds {} to a transfer of {}, {} to one of {}",
                percent(first.increase_by_one_loss),
                plural(first.segments.into(), "segment", "segments"),
                percent(last.increase_by_one_loss),
                count(last.segments.into())
            ),
        };
        Some(format!(
            "With an initial RTO of {} a lost SYN {range}; over all connections the handshake waits {} on average.",
            seconds(rto.initial_rto_s),
            time(rto.mean_wait_s)
        ))
    };
    prediction.rtos.iter().filter_map(sentence).collect()
}

fn columns(prediction: &Prediction) -> Vec<String> {
    let mut columns = vec!["segments".to_owned(), "no lost SYN".to_owned()];
    let rtos = prediction.rtos.iter();
    columns.extend(rtos.map(|rto| format!("one lost, RTO {}", seconds(rto.initial_rto_s))));
    columns
}

fn rows(prediction: &Prediction) -> Vec<Vec<String>> {
    let Some(first) = prediction.rtos.first() else {
        return Vec::new();
    };
    let row = |(i, size): (usize, &OfSize)| {
        let mut row = vec![count(size.segments.into()), time(size.without_handshake_loss_s)];
        let of_rtos = prediction.rtos.iter().filter_map(|rto| rto.sizes.get(i));
        row.extend(of_rtos.map(|size| {
            let increase = percent(size.increase_by_one_loss);
            format!("{} (+{increase})", time(size.with_one_loss_s))
        }));
        row
    };
    first.sizes.iter().enumerate().map(row).collect()
}

/// Time that a user has given, without digits added.
fn seconds(seconds: f64) -> String {
    format!("{seconds} s")
}

//! Analysis of captures: readers in, [`Analysis`] out.
//!
//! The threads are in [`pipeline`](crate::pipeline).

use crate::anonymize::Anonymizer;
use crate::connections::Connections;
use crate::control::{AnalysisError, Control};
use crate::decode::{Decoder, FileCounts};
use crate::flow_key::FlowKeyHasher;
use crate::measure::directions::Link;
use crate::measure::{Filters, Outcomes};
use crate::options::Options;
use crate::pipeline::Pipeline;
use crate::results::{Analysis, Capture, DirectionBy, SCHEMA};
use crate::rows::{RowSink, RowWriter};
use crate::tally::Tally;
use crate::trust::Evidence;
use crate::verdict;
use gentle_capture::{CaptureError, CaptureReader, Merge};
use gentle_wire::Address;
use std::sync::atomic::Ordering;

/// Analyses `readers` as one trace in time order. If all TCP is inside tunnels, the files are
/// read a second time and the tunnels decapsulated.
///
/// # Errors
/// If a capture cannot be read (or is damaged and its reader strict), or `rows` fails.
pub fn analyze(
    readers: Vec<CaptureReader>,
    options: &Options,
    anonymizer: Option<&Anonymizer>,
    rows: Option<&mut RowSink<'_>>,
    control: &Control,
) -> Result<Analysis, AnalysisError> {
    let mut rows = rows;
    let first = pass(
        readers,
        options,
        anonymizer,
        rows.as_deref_mut(),
        control,
        None,
    )?;
    match first.reopened_for_tunnels(options, control) {
        None => Ok(first.analysis),
        Some(readers) => {
            let options = Options {
                inner: true,
                ..options.clone()
            };
            let outside = Some(first.files.as_slice());
            let second = pass(readers?, &options, anonymizer, rows, control, outside)?;
            Ok(second.analysis)
        }
    }
}

/// Result of reading the captures once.
struct Pass {
    analysis: Analysis,
    merge: Merge,
    files: Vec<FileCounts>,
}

impl Pass {
    /// The captures reopened, if all of their TCP is inside tunnels that were not decapsulated; else `None`, and for
    /// streams, which cannot be read twice. A first pass that found no TCP has written no rows.
    fn reopened_for_tunnels(
        &self,
        options: &Options,
        control: &Control,
    ) -> Option<Result<Vec<CaptureReader>, CaptureError>> {
        let outside = self.files.iter().any(|file| file.tcp_segments > 0);
        let inside = self.files.iter().any(|file| file.tunnelled_tcp > 0);
        if options.inner || outside || !inside || control.stop.load(Ordering::Relaxed) {
            return None;
        }
        let readers = self.merge.readers().iter();
        readers.map(CaptureReader::reopen).collect()
    }
}

/// Reads the captures once; `outside` has the counts of an earlier pass that did not decapsulate tunnels.
fn pass(
    readers: Vec<CaptureReader>,
    options: &Options,
    anonymizer: Option<&Anonymizer>,
    rows: Option<&mut RowSink<'_>>,
    control: &Control,
    outside: Option<&[FileCounts]>,
) -> Result<Pass, AnalysisError> {
    let by = options.direction.unwrap_or(if options.local.is_empty() {
        DirectionBy::Initiator
    } else {
        DirectionBy::Local
    });
    let files = readers.len();
    let mut merge = Merge::new(readers);
    let hasher = FlowKeyHasher::default();
    let mut decoder = Decoder::new(options, by, files, hasher.clone());
    let mut connections = Connections::new(options, by == DirectionBy::Initiator, hasher);
    let mut outcomes = Outcomes::new(options);
    let mut filters = Filters::new(options);
    let mut rows = RowWriter::new(rows, anonymizer, options);
    let tally = Pipeline {
        merge: &mut merge,
        decoder: &mut decoder,
        connections: &mut connections,
        outcomes: &mut outcomes,
        filters: &mut filters,
    }
    .run(&mut rows, control)?;
    decoder.end();
    let files = decoder.files.clone();
    let analysis = Findings {
        options,
        anonymizer,
        by,
        merge: &merge,
        decoder,
        connections: &connections,
        outcomes,
        filters,
        outside,
        interrupted: control.stop.load(Ordering::Relaxed),
    }
    .analysis(tally);
    Ok(Pass {
        analysis,
        merge,
        files,
    })
}

/// State after reading all captures, before it is converted to [`Analysis`].
struct Findings<'a> {
    options: &'a Options,
    anonymizer: Option<&'a Anonymizer>,
    by: DirectionBy,
    merge: &'a Merge,
    decoder: Decoder,
    connections: &'a Connections,
    outcomes: Outcomes,
    filters: Filters,
    outside: Option<&'a [FileCounts]>,
    interrupted: bool,
}

impl Findings<'_> {
    fn analysis(mut self, tally: Tally) -> Analysis {
        let (start, end) = self.decoder.span().unwrap_or_default();
        let duration = end.saturating_sub(start);
        let names = self
            .decoder
            .directions(|file, index| self.interface(file, index));
        let meters = if self.by == DirectionBy::Initiator {
            tally.meters.to_vec()
        } else {
            self.decoder.meters.clone()
        };
        let link = Link {
            names: &names,
            meters: &meters,
            duration,
            rate: self.options.rate,
        };
        let decided_early = self.filters.decided_early();
        self.filters.decide();
        let directions = link.directions(&self.filters.considered());
        let filters = self
            .filters
            .result(|address| self.show(address), |sums| link.directions(sums));
        self.outcomes.decide();
        let outcomes = self.outcomes.result(
            |address| self.show(address),
            |server, port| self.show_server(server, port),
        );
        let top = self.outcomes.parties.result(
            self.options.top,
            |address| self.show(address),
            |server, port| self.show_server(server, port),
            |network, length| self.show_prefix(network, length),
        );
        let mut timeline = tally.timeline.clone();
        timeline.merge(self.decoder.timeline.clone());
        let mut limits = self.connections.limits();
        limits.judged_early = decided_early;
        limits.peak_remembered_bytes =
            (self.outcomes.peak_bytes() + self.filters.peak_bytes()) as u64;
        let warnings = Evidence {
            readers: self.merge.readers(),
            files: &self.decoder.files,
            outside: self.outside,
            tally: &tally,
        }
        .warnings();
        let mut analysis = Analysis {
            version: SCHEMA,
            gentle: env!("CARGO_PKG_VERSION").to_string(),
            interrupted: self.interrupted,
            anonymized: self.anonymizer.is_some(),
            verdict: Vec::new(),
            warnings,
            captures: self.captures(),
            start_s: self.decoder.span().map(|(start, _)| start.as_secs_f64()),
            duration_s: duration.as_secs_f64(),
            handshakes: self.outcomes.handshakes(&tally),
            outcomes,
            waiting: self.outcomes.waiting(),
            expected_cost: self.outcomes.expected_cost(&tally.retransmissions),
            directions,
            direction_by: self.by,
            retransmissions: tally.retransmissions,
            intervals: tally.intervals.result(&self.outcomes.series),
            vantage: tally
                .vantage
                .result(self.options.vantage, self.outcomes.round_trip_halves()),
            filters,
            top,
            timeline: timeline.result(),
            other_protocols: self.decoder.into_others(),
            closes: self.outcomes.closes,
            limits,
            flows: None,
        };
        analysis.verdict = verdict::sentences(&analysis);
        analysis
    }

    fn captures(&self) -> Vec<Capture> {
        self.merge
            .readers()
            .iter()
            .zip(&self.decoder.files)
            .zip(self.outside.unwrap_or(&self.decoder.files))
            .map(|((reader, counts), outside)| Capture {
                path: reader.name().to_string(),
                format: reader.format().to_string(),
                packets: counts.packets,
                tcp_segments: counts.tcp_segments,
                wire_bytes: counts.wire_bytes,
                skipped: counts.skipped(),
                other: counts.other(),
                tunnels: outside.tunnels(),
                warnings: reader.warnings().iter().map(ToString::to_string).collect(),
            })
            .collect()
    }

    /// Name of an interface: name, description or number, after the file's name if there are several files.
    fn interface(&self, file: usize, index: u32) -> String {
        let readers = self.merge.readers();
        let reader = &readers[file];
        let name = reader
            .interfaces()
            .get(index as usize)
            .and_then(|interface| interface.name.clone().or(interface.description.clone()))
            .unwrap_or_else(|| format!("interface {index}"));
        if readers.len() > 1 {
            format!("{}: {name}", reader.name())
        } else {
            name
        }
    }

    fn show(&self, address: Address) -> String {
        match self.anonymizer {
            Some(anonymizer) => anonymizer.address(address).to_string(),
            None => address.to_string(),
        }
    }

    /// Server address with port, anonymized if requested.
    fn show_server(&self, server: Address, port: u16) -> String {
        if server.is_v4() {
            format!("{}:{port}", self.show(server))
        } else {
            format!("[{}]:{port}", self.show(server))
        }
    }

    fn show_prefix(&self, network: Address, length: usize) -> String {
        let mut shown = match self.anonymizer {
            Some(anonymizer) => anonymizer.address(network),
            None => network,
        };
        let kept = if network.is_v4() { 96 + length } else { length };
        shown.0[kept / 8..].fill(0);
        format!("{shown}/{length}")
    }
}

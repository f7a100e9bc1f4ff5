//! Analysis of captures: readers in, [`Analysis`] or a [`Record`] out.
//!
//! The threads are in [`pipeline`](crate::pipeline).

use crate::anonymize::Anonymizer;
use crate::connections::Connections;
use crate::control::{AnalysisError, Control};
use crate::decode::Decoder;
use crate::findings::{FileFacts, Findings, Interface, Shown};
use crate::flow_key::FlowKeyHasher;
use crate::interfaces;
use crate::measure::{Filters, Outcomes};
use crate::options::Options;
use crate::pipeline::Pipeline;
use crate::points::Sightings;
use crate::results::{Analysis, DirectionBy};
use crate::rows::{RowSink, RowWriter};
use gentle_capture::{CaptureError, CaptureReader, Merge};
use std::sync::atomic::Ordering;

/// Analyses `readers` as one trace in time order. If all TCP is inside tunnels, the files are
/// read a second time and the tunnels decapsulated.
///
/// # Errors
/// If a capture cannot be read (or is damaged and its reader strict), `rows` fails, or an interface that the options name
/// is in none of the captures.
pub fn analyze(
    readers: Vec<CaptureReader>,
    options: &Options,
    anonymizer: Option<&Anonymizer>,
    rows: Option<&mut RowSink<'_>>,
    control: &Control,
) -> Result<Analysis, AnalysisError> {
    let found = passes(readers, options, anonymizer, rows, control, Findings::has_tunnelled_tcp)?;
    let (findings, outside) = match found.inner {
        None => (found.outer, None),
        Some(inner) => (inner, Some(found.outer.files)),
    };
    Ok(findings.analysis(Shown {
        options,
        interrupted: control.stop.load(Ordering::Relaxed),
        anonymized: anonymizer.is_some(),
        outside,
    }))
}

/// Findings of a trace.
pub(crate) struct Passes {
    /// Findings with the given options.
    pub(crate) outer: Findings,
    /// Findings with tunnels decapsulated, if `outer` has no TCP.
    pub(crate) inner: Option<Findings>,
}

/// Reads the captures, and a second time with tunnels decapsulated if there is no TCP outside of tunnels, unless they
/// are streams, which cannot be read twice. The first findings decide with `worth_it` whether the second pass can find
/// anything. A first pass that found no TCP has written no rows.
pub(crate) fn passes(
    readers: Vec<CaptureReader>,
    options: &Options,
    anonymizer: Option<&Anonymizer>,
    rows: Option<&mut RowSink<'_>>,
    control: &Control,
    worth_it: fn(&Findings) -> bool,
) -> Result<Passes, AnalysisError> {
    let mut rows = rows;
    let (outer, merge) = pass(readers, options, anonymizer, rows.as_deref_mut(), control)?;
    let stopped = control.stop.load(Ordering::Relaxed);
    let again = !options.inner && !outer.has_tcp() && worth_it(&outer) && !stopped;
    let reopened = merge.readers().iter().map(CaptureReader::reopen);
    let readers: Option<Result<Vec<_>, CaptureError>> = again.then(|| reopened.collect()).flatten();
    drop(merge);
    let inner = match readers {
        None => None,
        Some(readers) => {
            let options = Options { inner: true, ..options.clone() };
            Some(pass(readers?, &options, anonymizer, rows, control)?.0)
        }
    };
    Ok(Passes { outer, inner })
}

/// Reads the captures once.
fn pass(
    readers: Vec<CaptureReader>,
    options: &Options,
    anonymizer: Option<&Anonymizer>,
    rows: Option<&mut RowSink<'_>>,
    control: &Control,
) -> Result<(Findings, Merge), AnalysisError> {
    let by = options.direction_by();
    let files = readers.len();
    let mut merge = Merge::new(interfaces::choose(readers, &options.interfaces));
    let hasher = FlowKeyHasher::default();
    let mut decoder = Decoder::new(options, by, files, hasher.clone());
    let mut sightings = Sightings::new(options.memory() / 16);
    let mut connections = Connections::new(options, by == DirectionBy::Initiator, hasher);
    let mut outcomes = Outcomes::new(options);
    let mut filters = Filters::new(options);
    let mut rows = RowWriter::new(rows, anonymizer, options);
    let tally = Pipeline {
        merge: &mut merge,
        decoder: &mut decoder,
        sightings: &mut sightings,
        connections: &mut connections,
        outcomes: &mut outcomes,
        filters: &mut filters,
    }
    .run(&mut rows, control)?;
    decoder.end();
    let readers = merge.readers();
    if !control.stop.load(Ordering::Relaxed) {
        interfaces::check(readers, &options.interfaces)?;
    }
    let counts = std::mem::take(&mut decoder.files).into_iter();
    let by_interface = decoder.interfaces.iter();
    let (meters, timeline) = (std::mem::take(&mut decoder.meters), std::mem::take(&mut decoder.timeline));
    let interfaces = by_interface.map(|&(file, index)| Interface::new(readers, file, index)).collect();
    let (others, names, lookups) = decoder.into_others();
    let mut findings = Findings {
        files: readers.iter().zip(counts).map(|(reader, counts)| FileFacts::new(reader, counts)).collect(),
        interfaces,
        meters,
        timeline,
        others,
        names,
        lookups,
        tally,
        evicted: connections.evicted(),
        outcomes,
        filters,
    };
    if let Some(anonymizer) = anonymizer {
        findings.anonymize(anonymizer);
    }
    Ok((findings, merge))
}

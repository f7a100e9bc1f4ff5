//! Records of analyses: whatever the captures, however they are divided into tasks, and in whatever order the records
//! are merged, the sum is the analysis of all captures.

mod captures;
mod partition;
mod thousand;

use gentle_capture::CaptureReader;
use gentle_trace::record::{Record, Recorder, merge};
use gentle_trace::results::{Analysis, Finding};
use gentle_trace::{Anonymizer, Control, Options};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Analysis of all captures in one call.
fn one_pass(paths: &[PathBuf], options: &Options, anonymizer: Option<&Anonymizer>) -> Analysis {
    let readers = paths.iter().map(|path| CaptureReader::open(path).unwrap());
    gentle_trace::analyze(readers.collect(), options, anonymizer, None, &Control::default()).unwrap()
}

/// Record of the captures as one task, written and read back.
fn record(paths: &[PathBuf], options: &Options, anonymizer: Option<&Anonymizer>) -> Record {
    let recorder = Recorder { options, strict: false, anonymizer };
    let task = recorder.task(paths, &AtomicBool::new(false)).unwrap();
    let record = recorder.record(&task, None, &Control::default()).unwrap();
    assert_eq!(record.task(), task.id());
    let bytes = record.to_bytes();
    let read = Record::from_bytes(&bytes).unwrap();
    assert_eq!(read.to_bytes(), bytes);
    read
}

fn merged(records: Vec<Record>) -> Analysis {
    let named = records.into_iter().enumerate();
    merge(named.map(|(n, record)| (format!("record {n}"), record)).collect()).unwrap()
}

/// An analysis as JSON without its causes, and without what depends on them: a task infers the kind of a loss from its own
/// packets alone.
fn json(analysis: &Analysis) -> String {
    let mut analysis = analysis.clone();
    analysis.causes.clear();
    analysis.findings.retain(|finding| !matches!(finding, Finding::Deferred(_)));
    serde_json::to_string(&analysis).unwrap()
}

//! Analyses of files and of captures in memory.

use gentle_capture::CaptureReader;
use gentle_trace::results::Analysis;
use gentle_trace::row::Row;
use gentle_trace::{Control, Options};
use std::io::Cursor;
use std::path::Path;

fn analyze_readers(readers: Vec<CaptureReader>, options: &Options, control: &Control) -> (Analysis, Vec<Row>) {
    let mut rows = Vec::new();
    let mut keep = |row: &Row| {
        rows.push(row.clone());
        Ok(())
    };
    let analysis = gentle_trace::analyze(readers, options, None, Some(&mut keep), control)
        .expect("damage is a warning, and rows cannot fail");
    (analysis, rows)
}

/// Analyses files as one trace.
pub(crate) fn analyze_files<P: AsRef<Path>>(files: &[P], options: &Options) -> (Analysis, Vec<Row>) {
    let readers = files.iter().map(|path| CaptureReader::open(path.as_ref()).expect("it is a capture")).collect();
    analyze_readers(readers, options, &Control::default())
}

/// Analyses captures in memory as one trace, on several threads and on one.
pub(crate) fn analyze_bytes(captures: &[&[u8]], options: &Options) -> (Analysis, Vec<Row>) {
    let analyze = |one_thread| {
        let readers = captures.iter().map(|bytes| {
            CaptureReader::from_reader("memory".into(), Box::new(Cursor::new(bytes.to_vec()))).expect("it is a capture")
        });
        let control = Control { one_thread, ..Control::default() };
        analyze_readers(readers.collect(), options, &control)
    };
    let (analysis, rows) = analyze(false);
    let (on_one, rows_on_one) = analyze(true);
    let json = |analysis| serde_json::to_value(analysis).expect("results are JSON");
    assert_eq!(json(&on_one), json(&analysis));
    assert_eq!(rows_on_one, rows);
    (analysis, rows)
}

/// Analyses any bytes, with and without tunnels, if they are a capture at all.
pub(crate) fn try_analyze(bytes: Vec<u8>) {
    for inner in [false, true] {
        let options = Options { inner, ..Options::default() };
        let reader = CaptureReader::from_reader("memory".into(), Box::new(Cursor::new(bytes.clone())));
        if let Ok(reader) = reader {
            analyze_readers(vec![reader], &options, &Control::default());
        }
    }
}

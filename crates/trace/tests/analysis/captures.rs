//! Captures to analyses.

use gentle_trace::capture::CaptureReader;
use gentle_trace::results::Analysis;
use gentle_trace::row::Row;
use gentle_trace::{Options, Watch};
use std::io::Cursor;
use std::path::{Path, PathBuf};

/// The captures beside the repository, in order of their names; none, and a word about it, where they are not.
pub(crate) fn real() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/captures");
    let mut found = Vec::new();
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let extension = path.extension().and_then(|extension| extension.to_str());
            if path.is_dir() {
                folders.push(path);
            } else if matches!(extension, Some("pcap" | "pcapng" | "cap")) {
                found.push(path);
            }
        }
    }
    found.sort();
    if found.is_empty() {
        eprintln!("skipped: no captures in ../shared/captures beside the repository");
    }
    found
}

/// What the captures beside the repository are called in expectations: without the folders above theirs.
pub(crate) fn name(path: &Path) -> String {
    let text = path.display().to_string();
    match text.split_once("shared/captures/") {
        Some((_, name)) => name.to_string(),
        None => text,
    }
}

fn analyze_readers(readers: Vec<CaptureReader>, options: &Options) -> (Analysis, Vec<Row>) {
    let mut rows = Vec::new();
    let mut keep = |row: &Row| {
        rows.push(row.clone());
        Ok(())
    };
    let watch = Watch::default();
    let analysis = gentle_trace::analyze(readers, options, None, Some(&mut keep), &watch)
        .expect("damage is a warning, and rows cannot fail");
    (analysis, rows)
}

/// The analysis of files as one trace.
pub(crate) fn analyze_files<P: AsRef<Path>>(
    files: &[P],
    options: &Options,
) -> (Analysis, Vec<Row>) {
    let readers = files
        .iter()
        .map(|path| CaptureReader::open(path.as_ref()).expect("it is a capture"))
        .collect();
    analyze_readers(readers, options)
}

/// The analysis of captures in memory as one trace.
pub(crate) fn analyze_bytes(captures: &[&[u8]], options: &Options) -> (Analysis, Vec<Row>) {
    let readers = captures
        .iter()
        .map(|bytes| {
            CaptureReader::from_reader("memory".into(), Box::new(Cursor::new(bytes.to_vec())))
                .expect("it is a capture")
        })
        .collect();
    analyze_readers(readers, options)
}

/// Analyses whatever this is, with tunnels and without, if it is a capture at all.
pub(crate) fn try_analyze(bytes: Vec<u8>) {
    for inner in [false, true] {
        let options = Options {
            inner,
            ..Options::default()
        };
        let reader =
            CaptureReader::from_reader("memory".into(), Box::new(Cursor::new(bytes.clone())));
        if let Ok(reader) = reader {
            analyze_readers(vec![reader], &options);
        }
    }
}

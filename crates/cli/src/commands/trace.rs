//! Captures and their analysis, for `analyze` and `compare --from`.

use crate::progress::Reading;
use crate::stream::Stream;
use crate::usage::Usage;
use anyhow::{Context, bail};
use gentle_capture::CaptureReader;
use gentle_trace::results::Analysis;
use gentle_trace::{Anonymizer, Control, Options, RowSink};
use std::fs::{self, File};
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Interval at which the progress bar is updated and the stop flag is checked.
const TICK: Duration = Duration::from_millis(50);

/// Opens a capture; `-` is standard input.
pub(crate) fn open(path: &Path, strict: bool, stop: &Arc<AtomicBool>) -> anyhow::Result<CaptureReader> {
    let name = path.display().to_string();
    let reader = if path.as_os_str() == "-" {
        if io::stdin().is_terminal() {
            return Err(Usage(
                "- is standard input, which is a terminal here; pipe a capture into it, as in tcpdump -w - | gentle analyze -".to_owned(),
            )
            .into());
        }
        CaptureReader::from_reader(name, Box::new(Stream::new(io::stdin(), stop)))
    } else {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                bail!("{name}: is a directory; name the captures in it, such as {}", path.join("*").display())
            }
            Ok(found) if !found.is_file() => {
                let file = File::open(path).with_context(|| format!("{name}: cannot be read"))?;
                CaptureReader::from_reader(name, Box::new(Stream::new(file, stop)))
            }
            Ok(_) => CaptureReader::open(path),
            Err(error) => return Err(error).with_context(|| format!("{name}: cannot be read")),
        }
    };
    Ok(reader?.strict(strict))
}

/// Allows the process as many open files as the system does, since captures that are read as one trace are all open at
/// the same time. If raising the limit fails, opening a capture too many is a separate error.
#[cfg(target_os = "linux")]
pub(super) fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Analyses the captures as one trace, with a progress bar of the bytes read, until the end or until `stop` is set.
pub(super) fn analyze(
    readers: Vec<CaptureReader>,
    options: &Options,
    anonymizer: Option<&Anonymizer>,
    rows: Option<&mut RowSink<'_>>,
    quiet: bool,
    stop: &AtomicBool,
) -> anyhow::Result<Analysis> {
    let bar = Reading::new(readers.iter().map(CaptureReader::size).sum(), quiet);
    let outcome = with_control(
        stop,
        |bytes| bar.reached(bytes),
        |control| gentle_trace::analyze(readers, options, anonymizer, rows, control),
    );
    bar.clear();
    Ok(outcome?)
}

/// Does `work`, which stops when `stop` is set, and calls `reached` now and then with the bytes read so far.
pub(super) fn with_control<T>(stop: &AtomicBool, reached: impl Fn(u64) + Sync, work: impl FnOnce(&Control) -> T) -> T {
    let control = Control::default();
    thread::scope(|scope| {
        let (end, ended) = channel::<()>();
        let (reached, control) = (&reached, &control);
        scope.spawn(move || {
            while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                control.stop.store(stop.load(Ordering::Relaxed), Ordering::Relaxed);
                reached(control.consumed.load(Ordering::Relaxed));
            }
        });
        let outcome = work(control);
        drop(end);
        outcome
    })
}

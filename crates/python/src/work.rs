//! Work that takes long: without the interpreter's lock, with progress, stopped by Ctrl-C.

use pyo3::prelude::*;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Interval at which signals are checked and progress is reported.
const TICK: Duration = Duration::from_millis(50);

/// Calls `work` on another thread and waits for it. Python's signal handlers run meanwhile; if one raises, as that for
/// Ctrl-C does, the flag given to `work` becomes true, and the exception is raised when `work` has returned. `progress`
/// is a Python callable that is given the completed fraction, which `fraction` returns.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    fraction: impl Fn() -> f64,
    work: impl FnOnce(&AtomicBool) -> T + Send,
) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let (end, ended) = channel::<()>();
        let ended = Mutex::new(ended);
        let stop = &stop;
        let working = scope.spawn(move || {
            let result = work(stop);
            drop(end);
            result
        });
        let mut raised = None;
        loop {
            let waited = py.detach(|| match ended.lock() {
                Ok(ended) => ended.recv_timeout(TICK),
                Err(_) => Err(RecvTimeoutError::Disconnected),
            });
            if waited != Err(RecvTimeoutError::Timeout) {
                break;
            }
            if raised.is_none()
                && let Err(exception) = tick(py, progress, fraction())
            {
                stop.store(true, Ordering::Relaxed);
                raised = Some(exception);
            }
        }
        let result = working.join().unwrap_or_else(|panic| resume_unwind(panic));
        match raised {
            Some(exception) => Err(exception),
            None => Ok(result),
        }
    })
}

fn tick(py: Python<'_>, progress: Option<&Bound<'_, PyAny>>, fraction: f64) -> PyResult<()> {
    py.check_signals()?;
    if let Some(progress) = progress {
        progress.call1((fraction,))?;
    }
    Ok(())
}

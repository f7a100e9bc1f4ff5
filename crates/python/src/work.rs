//! Work that takes long: without the interpreter's lock, with progress, stopped by Ctrl-C.

use pyo3::prelude::*;
use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Interval at which signals are checked and progress is reported.
const TICK: Duration = Duration::from_millis(50);

/// Calls `work` on another thread and waits for it. Python's signal handlers run meanwhile. If one raises, as for
/// Ctrl-C, the flag of `work` becomes true, and the exception is raised after `work` has returned. `progress` is a
/// Python callable that receives the completed fraction, returned by `fraction`.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    fraction: impl Fn() -> f64,
    work: impl FnOnce(&AtomicBool) -> T + Send,
) -> PyResult<T> {
    interruptible_with(py, progress, fraction, &Callbacks::default(), work)
}

/// Threads that run code of users within [`interruptible_with`], by Python's number of the thread.
#[derive(Default)]
pub(crate) struct Callbacks(Mutex<BTreeSet<u64>>);

impl Callbacks {
    /// Calls `code`, which calls Python, so that it can be interrupted.
    pub(crate) fn run<T>(&self, py: Python<'_>, code: impl FnOnce() -> T) -> PyResult<T> {
        let thread: u64 = py.import("threading")?.call_method0("get_ident")?.extract()?;
        self.threads().insert(thread);
        let result = code();
        self.threads().remove(&thread);
        Ok(result)
    }

    fn threads(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Raises `KeyboardInterrupt` in the code of users, which may be an endless loop that reads no flag.
    fn interrupt(&self, py: Python<'_>) -> PyResult<()> {
        let threads: Vec<u64> = self.threads().iter().copied().collect();
        let interrupt = py.import("gentle.queue")?.getattr("interrupt")?;
        threads.into_iter().try_for_each(|thread| interrupt.call1((thread,)).map(|_| ()))
    }
}

/// [`interruptible`] for work that calls code of users, tracked by `callbacks`; this code is ended as well.
pub(crate) fn interruptible_with<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    fraction: impl Fn() -> f64,
    callbacks: &Callbacks,
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
            // Again each time: code of users may catch the exception.
            if raised.is_some()
                && let Err(exception) = callbacks.interrupt(py)
            {
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

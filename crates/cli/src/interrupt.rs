//! Ctrl-C and other termination signals: the first one stops the runs, the second one ends the program.

use anyhow::Context;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

#[cfg(unix)]
const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, signal_hook::consts::SIGHUP];
#[cfg(not(unix))]
const SIGNALS: [i32; 2] = [SIGINT, SIGTERM];

/// Signal received, 0 before any. Signals are per process, so this is a static.
static RECEIVED: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// Flag that becomes true on SIGINT, SIGTERM or SIGHUP.
pub(crate) fn flag() -> anyhow::Result<Arc<AtomicBool>> {
    let raised = Arc::new(AtomicBool::new(false));
    for signal in SIGNALS {
        register(signal, &raised).context("cannot install a handler for Ctrl-C")?;
    }
    Ok(raised)
}

/// Registers the actions, which run in the order of registration: a signal that finds the flag set is the second one.
fn register(signal: i32, raised: &Arc<AtomicBool>) -> std::io::Result<()> {
    flag::register_conditional_shutdown(signal, shell_code(signal), Arc::clone(raised))?;
    flag::register_usize(signal, Arc::clone(&RECEIVED), signal as usize)?;
    flag::register(signal, Arc::clone(raised))?;
    Ok(())
}

/// Exit code that shells report for a program ended by a signal.
fn shell_code(signal: i32) -> i32 {
    128 + signal
}

/// Exit code after the flag was raised: 130 on SIGINT, 143 on SIGTERM, 129 on SIGHUP.
pub(crate) fn exit_code() -> ExitCode {
    let signal = match RECEIVED.load(Ordering::Relaxed) {
        0 => SIGINT,
        signal => signal as i32,
    };
    ExitCode::from(u8::try_from(shell_code(signal)).unwrap_or(u8::MAX))
}

//! Ctrl-C and other requests to end: the first asks the runs to stop, the second ends the program.

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

/// The signal that came, 0 before one has: signals are the process's, so there is one of it.
static CAME: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// A flag that becomes true on SIGINT, SIGTERM or SIGHUP.
pub(crate) fn flag() -> anyhow::Result<Arc<AtomicBool>> {
    let raised = Arc::new(AtomicBool::new(false));
    for signal in SIGNALS {
        catch(signal, &raised).context("Ctrl-C could not be caught")?;
    }
    Ok(raised)
}

/// Actions are taken in the order in which they are registered: a signal that finds the flag raised is the second one.
fn catch(signal: i32, raised: &Arc<AtomicBool>) -> std::io::Result<()> {
    flag::register_conditional_shutdown(signal, shell_code(signal), Arc::clone(raised))?;
    flag::register_usize(signal, Arc::clone(&CAME), signal as usize)?;
    flag::register(signal, Arc::clone(raised))?;
    Ok(())
}

/// What shells report for a program that a signal ended.
fn shell_code(signal: i32) -> i32 {
    128 + signal
}

/// The exit code after the flag was raised: 130 on SIGINT, 143 on SIGTERM, 129 on SIGHUP.
pub(crate) fn exit_code() -> ExitCode {
    let signal = match CAME.load(Ordering::Relaxed) {
        0 => SIGINT,
        signal => signal as i32,
    };
    ExitCode::from(u8::try_from(shell_code(signal)).unwrap_or(u8::MAX))
}

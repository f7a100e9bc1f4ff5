//! Ctrl-C: the first asks the runs to stop, the second ends the program.

use anyhow::Context;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What shells report for a program that SIGINT stopped: 128 + 2.
pub(crate) const EXIT_CODE: u8 = 130;

/// A flag that becomes true on SIGINT, SIGTERM or SIGHUP.
pub(crate) fn flag() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    ctrlc::set_handler(move || {
        if raised.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(EXIT_CODE));
        }
    })
    .context("Ctrl-C could not be caught")?;
    Ok(flag)
}

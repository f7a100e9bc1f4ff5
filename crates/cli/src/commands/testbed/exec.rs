//! The command `gentle testbed exec`.

use crate::args::ExecArgs;
use crate::interrupt;
use crate::output::{print_bytes, warn};
use gentle_testbed::Command;
use gentle_testbed::machine::MachineError;
use std::io::Write;
use std::process::ExitCode;

pub(crate) fn run(args: &ExecArgs) -> anyhow::Result<ExitCode> {
    let stop = interrupt::flag()?;
    let mut machine = super::machine(&args.machine, &stop)?;
    machine.seed = args.seed;
    let command = Command { argv: args.argv.clone() };
    let outcome = match machine.run(command, &stop, &|_| {}) {
        Err(MachineError::Stopped) => return Ok(interrupt::exit_code()),
        outcome => outcome?,
    };
    for warning in outcome.warnings() {
        warn(&format!("kernel warning: {warning}"));
    }
    // A failure of standard error cannot be reported.
    let _ = std::io::stderr().lock().write_all(&outcome.answer.stderr);
    print_bytes(&outcome.answer.stdout)?;
    Ok(ExitCode::from(u8::try_from(outcome.answer.status).unwrap_or(1)))
}

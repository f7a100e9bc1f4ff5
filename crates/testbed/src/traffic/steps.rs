//! Execution of a [`Step`].

use super::namespace;
use super::{StepError, StepFailure};
use crate::experiment::Step;
use std::fs;
use std::io::ErrorKind;
use std::process::{Command, Stdio};

/// Messages of `tc` about a queue discipline that the kernel does not have: from the kernel (`net/sched/sch_api.c`) and
/// from `tc` itself (iproute2, `tc/tc_qdisc.c`).
const UNKNOWN_QDISC: [&str; 2] = ["kind is unknown", "Unknown qdisc"];

/// Executes one step.
///
/// # Errors
/// The command failed (with its error output), or the file cannot be written.
pub fn run(step: &Step) -> Result<(), StepError> {
    let outcome = match step {
        Step::Run { namespace, argv } => inside(namespace.as_deref(), || command(argv)),
        Step::Write { namespace, path, value, optional } => {
            inside(namespace.as_deref(), || match fs::write(path, value) {
                Err(error) if *optional && error.kind() == ErrorKind::NotFound => Ok(()),
                outcome => Ok(outcome?),
            })
        }
    };
    outcome.map_err(|failure| StepError { step: Box::new(step.clone()), failure: explained(failure, step) })
}

fn inside(name: Option<&str>, work: impl FnOnce() -> Result<(), StepFailure> + Send) -> Result<(), StepFailure> {
    match name {
        Some(name) => namespace::within(name, work)?,
        None => work(),
    }
}

fn command(argv: &[String]) -> Result<(), StepFailure> {
    let [program, arguments @ ..] = argv else {
        return Err(StepFailure::NoProgram);
    };
    let output =
        Command::new(program).args(arguments).stdin(Stdio::null()).output().map_err(|error| match error.kind() {
            ErrorKind::NotFound => StepFailure::NotInstalled(program.clone()),
            _ => error.into(),
        })?;
    if output.status.success() {
        return Ok(());
    }
    Err(StepFailure::Exit {
        status: output.status.to_string(),
        stderr: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

/// Replaces the failure of `tc` to set up a queue discipline that the kernel does not have.
fn explained(failure: StepFailure, step: &Step) -> StepFailure {
    match (&failure, step.qdisc_kind()) {
        (StepFailure::Exit { stderr, .. }, Some(kind))
            if UNKNOWN_QDISC.iter().any(|message| stderr.contains(message)) =>
        {
            StepFailure::UnknownQdisc { kind: kind.to_owned() }
        }
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_the_queue_discipline_is_recognised() {
        let step = |words: &str| Step::Run { namespace: None, argv: words.split(' ').map(str::to_owned).collect() };
        let exit = |stderr: &str| StepFailure::Exit { status: "exit status: 2".to_owned(), stderr: stderr.to_owned() };
        let netem = step("tc -n down qdisc add dev d1 root handle 1: netem limit 1000000");
        let unknown = explained(exit("Error: Specified qdisc kind is unknown."), &netem);
        assert!(matches!(&unknown, StepFailure::UnknownQdisc { kind } if kind == "netem"), "{unknown:?}");
        let busy = explained(exit("RTNETLINK answers: File exists"), &netem);
        assert!(matches!(busy, StepFailure::Exit { .. }), "{busy:?}");
        let class = step("tc class add dev d1 parent 1: classid 1:10 htb rate 1mbit");
        let other = explained(exit("Error: Specified class kind is unknown."), &class);
        assert!(matches!(other, StepFailure::Exit { .. }), "{other:?}");
    }
}

//! The command `gentle testbed sweep`.

use super::scenario;
use crate::args::TestbedSweepArgs;
use crate::commands::sweep::{Read, sweep};
use crate::interrupt;
use std::process::ExitCode;

pub(crate) fn run(args: &TestbedSweepArgs) -> anyhow::Result<ExitCode> {
    let stop = interrupt::flag()?;
    let read = Read::of(&args.sweep.grid)?;
    let queues = read.grid.queues()?;
    let mut testbed = scenario::testbed(queues.iter(), &args.machine, &args.parts, None, &stop)?;
    testbed.rexmit = args.hosts.rexmit;
    sweep(&args.sweep, read, &testbed, &stop)
}

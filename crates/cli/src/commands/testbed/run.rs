//! The command `gentle testbed run`.

use super::scenario::{self, Asked};
use crate::args::TestbedRunArgs;
use crate::commands::job::Job;
use crate::commands::runs;
use crate::interrupt;
use gentle_experiment::Direction;
use std::process::ExitCode;

pub(crate) fn run(args: &TestbedRunArgs) -> anyhow::Result<ExitCode> {
    let stop = interrupt::flag()?;
    let mut asked = scenario::asked(&args.run.traffic, &[], &args.scenario)?;
    let own = || asked.scenario.link(Direction::Down).qdisc.clone();
    asked.schemes = vec![args.run.scheme.clone().unwrap_or_else(own)];
    let keep = args.keep.directory.as_deref();
    let mut testbed = if args.native {
        scenario::native(&asked, &args.parts, keep)
    } else {
        scenario::testbed(asked.queues(), &args.machine, &args.parts, keep, &stop)?
    };
    testbed.rexmit = args.hosts.rexmit;
    let Asked { scenario, inputs, schemes } = asked;
    let output = &args.results;
    let seeds = (args.scenario.first_seed, args.run.seeds);
    let job = Job {
        tool: "gentle testbed run",
        plan: runs::plan(scenario, schemes, seeds, None, false, &output.bins.0)?,
        inputs,
        output,
        pcap: None,
        table: gentle_report::compare::single,
    };
    runs::run(&job, &testbed, &stop)
}

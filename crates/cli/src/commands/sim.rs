//! The command `gentle sim`.

use super::job::Job;
use super::{runs, scenario};
use crate::args::SimArgs;
use crate::interrupt;
use gentle_experiment::Direction;
use gentle_sim::Simulator;
use std::process::ExitCode;

pub(crate) fn run(args: &SimArgs) -> anyhow::Result<ExitCode> {
    let (mut scenario, inputs) = scenario::load(&args.run.traffic)?;
    scenario::change(&mut scenario, &args.scenario)?;
    let scheme = args.run.scheme.clone().unwrap_or_else(|| scenario.link(Direction::Down).qdisc.clone());
    let output = &args.output.results;
    let seeds = (args.scenario.first_seed, args.run.seeds);
    let job = Job {
        tool: "gentle sim",
        plan: runs::plan(scenario, vec![scheme], seeds, None, false, &output.bins.0)?,
        inputs,
        output,
        pcap: args.output.pcap.as_deref(),
        table: gentle_report::compare::single,
    };
    let stop = interrupt::flag()?;
    runs::run(&job, &Simulator, &stop)
}

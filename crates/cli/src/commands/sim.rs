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
    let job = Job {
        tool: "gentle sim",
        scenario,
        inputs,
        schemes: vec![scheme],
        seeds: args.run.seeds,
        first_seed: args.scenario.first_seed,
        reference: None,
        harm: false,
        output: &args.output.results,
        pcap: args.output.pcap.as_deref(),
        record: None,
        shows_assumptions: false,
        table: gentle_report::compare::single,
    };
    let stop = interrupt::flag()?;
    runs::run(&job, &Simulator, &stop)
}

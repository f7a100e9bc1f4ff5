//! `gentle testbed run`.

use super::scenario::{self, Asked};
use crate::args::TestbedRunArgs;
use crate::commands::runs::{self, Job};
use crate::interrupt;
use gentle_sim::Direction;
use std::process::ExitCode;

pub(crate) fn run(args: &TestbedRunArgs) -> anyhow::Result<ExitCode> {
    let stop = interrupt::flag()?;
    let Asked { scenario, .. } = scenario::asked(&args.traffic, &[], &args.scenario)?;
    let own = || scenario.link(Direction::Down).qdisc.clone();
    let scheme = args.scheme.clone().unwrap_or_else(own);
    let job = Job {
        scenario,
        inputs: scenario::inputs(&args.traffic),
        schemes: vec![scheme],
        seeds: args.seeds,
        first_seed: args.scenario.first_seed,
        output: &args.results,
        pcap: None,
        table: gentle_report::compare::single,
    };
    let keep = args.keep.directory.as_deref();
    let testbed = if args.native {
        scenario::native(keep, args.hosts.rexmit)
    } else {
        scenario::testbed(&args.machine, keep, args.hosts.rexmit)?
    };
    runs::run_with(&job, &stop, &|settings, observer| {
        let runs = || {
            let (scenario, schemes) = (&job.scenario, &job.schemes);
            gentle_testbed::runs::compare(scenario, schemes, settings, &testbed, observer, &stop)
        };
        let runs = if args.native {
            // In real time, runs would be in each other's way.
            runs::threads(Some(1))?.install(runs)
        } else {
            runs()
        };
        Ok(runs?)
    })
}

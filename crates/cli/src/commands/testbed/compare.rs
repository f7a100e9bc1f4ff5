//! The command `gentle testbed compare`.

use super::scenario::{self, Asked};
use crate::args::TestbedCompareArgs;
use crate::commands::job::Job;
use crate::commands::runs;
use crate::interrupt;
use crate::usage::Usage;
use std::process::ExitCode;

pub(crate) fn run(args: &TestbedCompareArgs) -> anyhow::Result<ExitCode> {
    let keep = args.keep.directory.as_deref();
    if args.harm.harm && keep.is_some() {
        let message = "--keep cannot be used with --harm: each part also runs alone, under the names of the runs kept; \
                       give them one at a time";
        return Err(Usage(message.to_owned()).into());
    }
    let stop = interrupt::flag()?;
    let comparison = &args.comparison;
    let asked = scenario::asked(&comparison.traffic, &comparison.schemes.schemes, &args.scenario)?;
    let mut testbed = scenario::testbed(asked.queues(), &args.machine, &args.parts, keep, &stop)?;
    testbed.rexmit = args.hosts.rexmit;
    let Asked { scenario, inputs, schemes } = asked;
    let output = &args.results;
    let seeds = (args.scenario.first_seed, comparison.seeds);
    let job = Job {
        tool: "gentle testbed compare",
        plan: runs::plan(scenario, schemes, seeds, args.reference.as_ref(), args.harm.harm, &output.bins.0)?,
        inputs,
        output,
        pcap: None,
        table: gentle_report::compare::table_with_assumptions,
    };
    runs::run(&job, &testbed, &stop)
}

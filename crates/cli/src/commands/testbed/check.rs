//! The command `gentle testbed check`.

use super::scenario::{self, Asked};
use crate::args::CheckArgs;
use crate::commands::runs;
use crate::interrupt;
use crate::output::{print, print_error, ruled_table};
use crate::progress::Runs;
use gentle_experiment::{DEFAULT_BINS, Part};
use gentle_runs::execute;
use gentle_sim::Simulator;
use gentle_testbed::check::{Agreement, Row, agreement};
use std::process::ExitCode;

pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let stop = interrupt::flag()?;
    let comparison = &args.comparison;
    let asked = scenario::asked(&comparison.traffic, &comparison.schemes.schemes, &args.scenario)?;
    let testbed = scenario::testbed(asked.queues(), &args.machine, &args.parts, None, &stop)?;
    let Asked { scenario, schemes, .. } = asked;
    let seeds = (args.scenario.first_seed, comparison.seeds);
    let plan = runs::plan(scenario, schemes, seeds, None, false, &DEFAULT_BINS)?;
    let threads = runs::threads(args.threads)?;
    let observer = |part: Option<&Part>| Runs::new(&plan, part, args.quiet);
    let kernel = threads.install(|| execute(&plan, &testbed, None, observer, &stop))?.comparison;
    if kernel.interrupted {
        print_error("interrupted before all runs finished; nothing was compared");
        return Ok(interrupt::exit_code());
    }
    let Ok(simulator) = threads.install(|| execute(&plan, &Simulator, None, |_| (), &stop));
    let agreement = agreement(&simulator.comparison, &kernel);
    if args.json {
        print(&format!("{}\n", serde_json::to_string(&agreement)?))?;
    } else {
        print(&drawn(&agreement))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn drawn(agreement: &Agreement) -> String {
    let head = ["scheme", "", "simulator", "kernel", "difference", "paired by seed"];
    let mut table = ruled_table(head, 2..6);
    let mut last = "";
    for row in &agreement.rows {
        let scheme = if row.scheme == last { "" } else { &row.scheme };
        last = &row.scheme;
        table.add_row([
            scheme.to_owned(),
            label(row),
            shown(row, row.simulator, row.simulator_ci95),
            shown(row, row.kernel, row.kernel_ci95),
            row.difference.map_or_else(String::new, |part| format!("{:+.1} %", part * 100.0)),
            shown(row, row.paired_difference, row.paired_ci95),
        ]);
    }
    let mut text = format!("{}\n{}\n", agreement.title, table.trim_fmt());
    for assumption in &agreement.assumptions {
        text.push_str(&format!("- {assumption}\n"));
    }
    text
}

/// Metric, after the name of its application if it has one.
fn label(row: &Row) -> String {
    match &row.application {
        Some(application) => format!("{}: {}", application, row.metric.label()),
        None => row.metric.label().to_owned(),
    }
}

fn shown(row: &Row, value: Option<f64>, ci95: Option<f64>) -> String {
    let (factor, unit) = row.metric.unit();
    match (value, ci95) {
        (None, _) => String::new(),
        (Some(value), None) => format!("{:.2} {unit}", value * factor),
        (Some(value), Some(ci95)) => {
            format!("{:.2} ± {:.2} {unit}", value * factor, ci95 * factor)
        }
    }
}

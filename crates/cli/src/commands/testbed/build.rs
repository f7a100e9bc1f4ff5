//! The command `gentle testbed build`.

use crate::args::BuildArgs;
use crate::interrupt;
use crate::output::print;
use crate::progress::Building;
use crate::usage::Usage;
use gentle_testbed::build::{BuildError, Cache, Request, Source, build};
use std::num::NonZero;
use std::process::ExitCode;

pub(crate) fn run(args: &BuildArgs) -> anyhow::Result<ExitCode> {
    let stop = interrupt::flag()?;
    let source = args.source.as_deref().map(Source::named).transpose();
    let cores = std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    let request = Request {
        flavour: super::flavour(args.debug),
        source: source.map_err(|error| Usage(error.to_string()))?,
        force: args.force,
        jobs: args.jobs.unwrap_or(cores),
    };
    let building = Building::new(args.quiet);
    let kernel = build(&request, &Cache::of_user()?, &building, &stop);
    building.clear();
    match kernel {
        Err(error @ BuildError::Stopped) => {
            crate::output::print_error(&error.to_string());
            Ok(interrupt::exit_code())
        }
        kernel => {
            let kernel = kernel?;
            print(&format!("Linux {} ({}): {}\n", kernel.version, kernel.flavour, kernel.linux.display()))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

//! The `gentle` command: parses flags, calls the library crates and writes their results.
//!
//! Results go to stdout, progress and errors to stderr. Exit codes: 0 success, 1 failure, 2 wrong usage, 130 stopped
//! by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP (results completed by then are printed).

mod args;
mod command_line;
mod commands;
mod files;
mod input;
mod interrupt;
mod names;
mod origin;
mod output;
mod progress;
mod stream;
mod usage;

use args::{Args, Command};
use clap::FromArgMatches;
use clap_complete::CompleteEnv;
use output::{exit_with, one_line, print_error};
use std::process::ExitCode;
use usage::Usage;

fn main() -> ExitCode {
    // Handles requests of a shell's completion script and exits.
    CompleteEnv::with_factory(args::command).var(commands::generate::COMPLETE).complete();
    let matches = args::command().try_get_matches();
    let args = matches.and_then(|matches| Args::from_arg_matches(&matches));
    let args = args.unwrap_or_else(|error| exit_with(&error));
    let outcome = match args.command {
        Command::Analyze(analyze) => commands::analyze::run(&analyze),
        Command::Compare(compare) => commands::compare::run(&compare),
        Command::Merge(merge) => commands::merge::run(&merge),
        Command::Sim(sim) => commands::sim::run(&sim),
        Command::Sweep(sweep) => commands::sweep::run(&sweep),
        #[cfg(target_os = "linux")]
        Command::Qdisc(qdisc) => commands::qdisc::run(&qdisc),
        #[cfg(target_os = "linux")]
        Command::Watch(watch) => commands::watch::run(&watch),
        #[cfg(target_os = "linux")]
        Command::Probe(probe) => commands::probe::run(&probe),
        #[cfg(target_os = "linux")]
        Command::Rexmit(rexmit) => commands::rexmit::run(&rexmit),
        #[cfg(target_os = "linux")]
        Command::Testbed(testbed) => commands::testbed::run(&testbed),
        Command::Model(model) => commands::model::run(&model),
        Command::Reproduce(reproduce) => commands::reproduce::run(&reproduce),
        Command::Lab(lab) => commands::lab::run(&lab),
        Command::Schemes(schemes) => commands::schemes::run(&schemes),
        Command::Profiles(profiles) => commands::profiles::run(&profiles),
        Command::Schema(schema) => commands::schema::run(&schema),
        Command::Completions(completions) => commands::generate::completions(&completions),
        Command::Man(man) => commands::generate::man(&man),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            print_error(&one_line(&error));
            if error.is::<Usage>() { ExitCode::from(Usage::EXIT_CODE) } else { ExitCode::FAILURE }
        }
    }
}

//! The `gentle` command. It only connects: flags come in, the crates below answer, results go out.
//!
//! Results go to stdout, progress and errors to stderr. Exit codes: 0 success, 1 failure, 2 wrong usage, 130 stopped
//! by Ctrl-C (what had finished by then is printed).

mod args;
mod commands;
mod interrupt;
mod output;
mod progress;
mod stream;
mod usage;

use args::{Args, Command};
use clap::Parser;
use output::complain;
use std::process::ExitCode;
use usage::Usage;

fn main() -> ExitCode {
    let args = Args::parse();
    let outcome = match args.command {
        Command::Analyze(analyze) => commands::analyze::run(&analyze),
        Command::Compare(compare) => commands::compare::run(&compare),
        Command::Sim(sim) => commands::sim::run(&sim),
        #[cfg(target_os = "linux")]
        Command::Qdisc(qdisc) => commands::qdisc::run(&qdisc),
        #[cfg(target_os = "linux")]
        Command::Rexmit(rexmit) => commands::rexmit::run(&rexmit),
        #[cfg(target_os = "linux")]
        Command::Testbed(testbed) => commands::testbed::run(&testbed),
        Command::Schemes(schemes) => commands::schemes::run(&schemes),
        Command::Profiles(profiles) => commands::profiles::run(&profiles),
        Command::Completions(completions) => commands::generate::completions(&completions),
        Command::Man(man) => commands::generate::man(&man),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            complain(&format!("{error:#}"));
            if error.is::<Usage>() {
                ExitCode::from(Usage::EXIT_CODE)
            } else {
                ExitCode::FAILURE
            }
        }
    }
}

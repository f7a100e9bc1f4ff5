//! Writes captures of TCP connections that lose packets, each with the truth about it: [`gentle_captures::random`] on
//! the command line.

use anyhow::{Context, Result};
use clap::Parser;
use gentle_captures::random::{Options, generate, generate_flood};
use std::fs;
use std::process::ExitCode;

fn run(options: &Options) -> Result<()> {
    if let Some(count) = options.syn_flood {
        return generate_flood(count, options);
    }
    let truth = generate(options, &mut |_| ())?;
    let truth = serde_json::to_string_pretty(&truth)? + "\n";
    match &options.truth {
        Some(path) => fs::write(path, truth).with_context(|| format!("cannot write {}", path.display())),
        None => {
            eprint!("{truth}");
            Ok(())
        }
    }
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("generate: {error:#}");
            ExitCode::FAILURE
        }
    }
}

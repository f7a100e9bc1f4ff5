//! Writes captures of TCP connections that lose packets, and beside each the truth about it:
//! [`gentle_testkit::generate`] on the command line.

use anyhow::{Context, Result};
use clap::Parser;
use gentle_testkit::generate::{Capture, Generator, Options, write_flood};
use std::fs;
use std::process::ExitCode;

fn run(options: &Options) -> Result<()> {
    let mut file = Capture::create(&options.output, options.format, options.snaplen)?;
    if let Some(count) = options.syn_flood {
        write_flood(count, options, &mut file)?;
        return file.finish();
    }
    let truth = Generator::new(options, &mut file, &mut |_| ())?.run()?;
    file.finish()?;
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

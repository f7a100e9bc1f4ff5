//! Generator of captures for benchmarks and tests, with given numbers of packets, connections and losses. Writes the ground
//! truth beside the capture.
//!
//! The connections are run by the end points of `gentle-tcp` (so backoff, delayed ACKs, slow start, SACK and recovery are
//! those of its profiles) over a path that loses packets at random, and are captured on the way. Without a queue there is
//! no congestion: losses are only those that the options ask for.

mod connection;
mod file;
mod flood;
mod frame;
mod options;
mod path;
mod sizes;
mod truth;
mod vantage;
mod world;

use anyhow::{Context, Result};
use clap::Parser;
use options::Options;
use std::fs;
use std::process::ExitCode;

fn run(options: &Options) -> Result<()> {
    let mut file = file::Capture::create(&options.output, options.format, options.snaplen)?;
    if let Some(count) = options.syn_flood {
        flood::write(count, options, &mut file)?;
        return file.finish();
    }
    let truth = world::World::new(options, &mut file, &mut |_| ())?.run()?;
    file.finish()?;
    let truth = serde_json::to_string_pretty(&truth)? + "\n";
    match &options.truth {
        Some(path) => {
            fs::write(path, truth).with_context(|| format!("cannot write {}", path.display()))
        }
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

//! The flags, defined once: help, man pages and completions come from here.

use clap::{Args as ClapArgs, Parser, Subcommand};
use gentle_aqm::Spec;
use gentle_sim::{BUILTIN, DEFAULT_BINS};
use gentle_tcp::Profile;
use gentle_units::{Nanos, Rate};
use std::num::NonZeroU32;
use std::path::PathBuf;

/// Handshake loss in queues: what it costs, and what each queue scheme would do about it.
///
/// When a router's queue drops a TCP SYN or SYN/ACK, the connection waits one to three seconds for its initial timeout.
/// gentle shows what that does to short connections on a congested link, scheme by scheme.
#[derive(Debug, Parser)]
#[command(name = "gentle", version, propagate_version = true)]
#[command(after_help = "Start with: gentle compare --html report.html")]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// One traffic, every queue scheme: response times, losses, delays side by side
    Compare(CompareArgs),
    /// Run one scenario file as it stands
    Sim(SimArgs),
    /// List the queue schemes, or one with its options
    Schemes(SchemesArgs),
    /// List the TCP profiles of end hosts, or one with its knobs
    Profiles(ProfilesArgs),
    /// Print shell completions
    Completions(CompletionsArgs),
    /// Write the manual pages
    Man(ManArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CompareArgs {
    /// The connections: one of the paper's types, a scenario file (.toml) or a list of flows (.csv)
    ///
    /// real, real-reverse, short and 10m are the types of Table III of spa-2018 with their links. They run between
    /// today's hosts unless --profile says otherwise; a scenario file keeps the hosts it names.
    #[arg(long, value_name = "TYPE|FILE", default_value = BUILTIN[0])]
    pub(crate) traffic: String,

    /// A scheme with options, as in "codel target=20ms"; repeat for more [default: those of Table III]
    #[arg(long = "scheme", value_name = "SPEC")]
    pub(crate) schemes: Vec<Spec>,

    /// How many seeds to run each scheme with
    #[arg(long, value_name = "N", default_value = "5")]
    pub(crate) seeds: NonZeroU32,

    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SimArgs {
    /// The scenario
    #[arg(value_name = "FILE.toml")]
    pub(crate) file: PathBuf,

    /// The queue under test, in place of the one that the file names
    #[arg(long, value_name = "SPEC")]
    pub(crate) scheme: Option<Spec>,

    /// How many seeds to run it with
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seeds: NonZeroU32,

    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What is changed in the scenario.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Scenario")]
pub(crate) struct ScenarioArgs {
    /// How long connections go on starting, as in 100s [default: that of the scenario]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<Nanos>,

    /// TCP of the end hosts [default: linux-7.2, or that of a scenario file]
    #[arg(long, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(Profile::NAMES.iter().copied()))]
    pub(crate) profile: Option<String>,

    /// Override a knob of the TCP profile, as in initial_rto=3s (see gentle profiles); repeat for more
    #[arg(long = "tcp", value_name = "KNOB=VALUE", value_parser = knob)]
    pub(crate) knobs: Vec<(String, String)>,

    /// Rate of the link under test, as in 20mbit
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<Rate>,

    /// Rate of the way back
    #[arg(long, value_name = "RATE")]
    pub(crate) up_rate: Option<Rate>,

    /// Number of the first seed
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) first_seed: u64,
}

/// Where results go.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Print JSON instead of a table (schema: docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Write a row for each scheme and seed
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,

    /// Write a page with plots that opens without a network
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Write the packets of the first seed as pcapng; of several schemes, one file each (NAME-SCHEME.pcapng)
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,

    /// Upper ends of the ranges of connection sizes, in segments
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', default_values_t = DEFAULT_BINS)]
    pub(crate) bins: Vec<u64>,

    /// How many threads to use [default: one for each core]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroU32>,

    /// No progress bars
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SchemesArgs {
    /// Show this one with its options
    pub(crate) name: Option<String>,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ProfilesArgs {
    /// Show this one with its knobs
    pub(crate) name: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CompletionsArgs {
    /// For which shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ManArgs {
    /// The folder to write gentle.1, gentle-compare.1, … into
    pub(crate) directory: PathBuf,
}

fn duration(text: &str) -> Result<Nanos, String> {
    let time: Nanos = text.parse().map_err(|error| format!("{error}"))?;
    let day = Nanos::from_secs(86_400);
    if time == Nanos::ZERO || time > day {
        return Err(format!("expected more than 0s and at most {day}"));
    }
    Ok(time)
}

fn knob(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| "expected KNOB=VALUE, as in initial_rto=3s".to_owned())?;
    // Checked against a profile at once, so that a mistake is one of usage.
    Profile::default()
        .set(name, value)
        .map_err(|error| error.to_string())?;
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definitions_hold_together() {
        Args::command().debug_assert();
    }
}

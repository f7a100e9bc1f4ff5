//! `gentle testbed`.

use super::values::{rate, seconds, whole};
use super::{MOST_SEEDS, MOST_THREADS, RecordArgs, ResultArgs, ScenarioArgs, Traffic};
use clap::{Args as ClapArgs, Subcommand, ValueHint};
use gentle_aqm::Spec;
use gentle_experiment::BUILTIN;
use gentle_testbed::experiment::Rexmit;
use gentle_units::{Rate, parse_size};
use std::ffi::OsString;
use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

/// More compilers at a time than this would be a mistake.
const MOST_JOBS: NonZero<usize> = NonZero::new(1_024).expect("not zero");

const BUILD_EXAMPLES: &str = "\
Examples:
  gentle testbed build
  gentle testbed build --source linux-7.2.12.tar.xz
  gentle testbed build --debug

The kernel is kept in $XDG_CACHE_HOME/gentle/testbed, or ~/.cache/gentle/testbed; removing that directory is safe.";

const EXEC_EXAMPLES: &str = "\
Examples:
  gentle testbed exec -- uname -a
  gentle testbed exec -- sleep 1000
  gentle testbed exec -- sh -c 'ip link add d0 type dummy; tc qdisc add dev d0 root cake; tc -s qdisc show dev d0'
  gentle testbed exec --modules kernel -- sh -c 'ip link add d0 type dummy; tc qdisc add dev d0 root spa; tc -s qdisc show'

Exit code: that of the program.";

const RUN_EXAMPLES: &str = "\
Examples:
  gentle testbed run real --duration 100s
  gentle testbed run scenario.toml --scheme spa --keep observed
  sudo gentle testbed run short --duration 30s --native";

const COMPARE_EXAMPLES: &str = "\
Examples:
  gentle testbed compare --html report.html
  gentle testbed compare --traffic short --duration 100s --seeds 2 --scheme codel --scheme spa";

const CHECK_EXAMPLES: &str = "\
Examples:
  gentle testbed check
  gentle testbed check --traffic short --duration 120s --scheme codel --scheme fq_codel";

const DECISIONS_EXAMPLES: &str = "\
Examples:
  gentle testbed decisions office.pcapng
  gentle testbed decisions *.pcap --rate 400kbit --scheme 'codel ecn' --scheme fq_codel --scheme spa

Exit code: 1 if a queue of the kernel decided anything differently.";

#[derive(Debug, ClapArgs)]
pub(crate) struct TestbedArgs {
    #[command(subcommand)]
    pub(crate) command: TestbedCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TestbedCommand {
    /// Build the kernel of the machines, unless it has been built already
    Build(BuildArgs),
    /// Run a program as root of a machine of its own
    Exec(ExecArgs),
    /// Run one scenario on a real Linux kernel
    Run(TestbedRunArgs),
    /// One traffic, every queue scheme, as gentle compare, but on a real Linux kernel
    Compare(TestbedCompareArgs),
    /// Simulator and kernel side by side: the same connections through both
    Check(CheckArgs),
    /// The packets of a capture through queues of the kernel and of this program: does each do the same to every packet?
    Decisions(DecisionsArgs),
    /// The testbed's own: its stages on the host and in the machine
    #[command(hide = true)]
    Guest(GuestArgs),
}

#[derive(Debug, ClapArgs)]
#[command(after_long_help = BUILD_EXAMPLES)]
pub(crate) struct BuildArgs {
    /// The kernel's source: an archive (.tar, .tar.xz, .tar.gz) or a directory, Linux 7.2 or later
    ///
    /// Without it, what the distribution has installed in /usr/src is taken, or else its package is fetched.
    #[arg(long, value_name = "SOURCE", value_hint = ValueHint::AnyPath)]
    pub(crate) source: Option<PathBuf>,

    /// The kernel that watches for mistakes: lockdep, KASAN, kmemleak, UBSAN
    #[arg(long)]
    pub(crate) debug: bool,

    /// Build it even if it has been built already
    #[arg(long)]
    pub(crate) force: bool,

    /// Compilers at a time [default: one for each core]
    #[arg(long, short, value_name = "N", value_parser = whole(NonZero::<usize>::MIN..=MOST_JOBS))]
    pub(crate) jobs: Option<NonZero<usize>>,

    /// No progress bar
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_long_help = EXEC_EXAMPLES)]
pub(crate) struct ExecArgs {
    /// The program and its arguments; it sees this computer's files, read-only
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub(crate) argv: Vec<String>,

    #[command(flatten)]
    pub(crate) machine: MachineArgs,
}

#[derive(Debug, ClapArgs)]
#[command(after_long_help = RUN_EXAMPLES)]
pub(crate) struct TestbedRunArgs {
    /// The scenario: one of the paper's types, a scenario file (.toml) or a list of flows (.csv)
    #[arg(value_name = "TYPE|FILE", value_hint = ValueHint::FilePath)]
    pub(crate) traffic: Traffic,

    /// The queue under test, in place of the one that the scenario names
    #[arg(long, value_name = "SPEC")]
    pub(crate) scheme: Option<Spec>,

    /// How many seeds to run it with
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole(1..=MOST_SEEDS))]
    pub(crate) seeds: u32,

    /// Run it on this computer's own kernel in real time; takes root, and as long as the traffic lasts
    #[arg(long, conflicts_with_all = ["debug", "memory", "modules", "real_time", "time_limit", "threads"])]
    pub(crate) native: bool,

    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,

    #[command(flatten)]
    pub(crate) results: ResultArgs,

    #[command(flatten)]
    pub(crate) hosts: HostArgs,

    #[command(flatten)]
    pub(crate) keep: KeepArgs,

    #[command(flatten)]
    pub(crate) parts: PartsArgs,

    #[command(flatten)]
    pub(crate) machine: MachineArgs,
}

#[derive(Debug, ClapArgs)]
#[command(after_long_help = COMPARE_EXAMPLES)]
pub(crate) struct TestbedCompareArgs {
    /// The connections: one of the paper's types, a scenario file (.toml) or a list of flows (.csv)
    #[arg(long, value_name = "TYPE|FILE", default_value = BUILTIN[0], value_hint = ValueHint::FilePath)]
    pub(crate) traffic: Traffic,

    /// A scheme with options, as in "codel target=20ms"; repeat for more [default: those that the paper compares]
    #[arg(long = "scheme", value_name = "SPEC")]
    pub(crate) schemes: Vec<Spec>,

    /// The scheme that the others are compared with, seed by seed [default: the first]
    #[arg(long, value_name = "SPEC")]
    pub(crate) reference: Option<Spec>,

    /// How many seeds to run each scheme with
    #[arg(long, value_name = "N", default_value = "5", value_parser = whole(1..=MOST_SEEDS))]
    pub(crate) seeds: u32,

    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,

    #[command(flatten)]
    pub(crate) record: RecordArgs,

    #[command(flatten)]
    pub(crate) results: ResultArgs,

    #[command(flatten)]
    pub(crate) hosts: HostArgs,

    #[command(flatten)]
    pub(crate) keep: KeepArgs,

    #[command(flatten)]
    pub(crate) parts: PartsArgs,

    #[command(flatten)]
    pub(crate) machine: MachineArgs,
}

#[derive(Debug, ClapArgs)]
#[command(after_long_help = CHECK_EXAMPLES)]
pub(crate) struct CheckArgs {
    /// The connections: one of the paper's types, a scenario file (.toml) or a list of flows (.csv)
    #[arg(long, value_name = "TYPE|FILE", default_value = BUILTIN[0], value_hint = ValueHint::FilePath)]
    pub(crate) traffic: Traffic,

    /// A scheme with options, as in "codel target=20ms"; repeat for more [default: those that the paper compares]
    #[arg(long = "scheme", value_name = "SPEC")]
    pub(crate) schemes: Vec<Spec>,

    /// How many seeds to run each scheme with; confidence intervals take at least two
    #[arg(long, value_name = "N", default_value = "5", value_parser = whole(1..=MOST_SEEDS))]
    pub(crate) seeds: u32,

    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,

    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,

    /// How many machines to run at a time [default: one for each core]
    #[arg(long, value_name = "N", value_parser = whole(1..=MOST_THREADS))]
    pub(crate) threads: Option<u16>,

    /// No progress bars
    #[arg(long, short)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) parts: PartsArgs,

    #[command(flatten)]
    pub(crate) machine: MachineArgs,
}

#[derive(Debug, ClapArgs)]
#[command(after_long_help = DECISIONS_EXAMPLES)]
pub(crate) struct DecisionsArgs {
    /// Captures, each on its own: pcap or pcapng, as they are or compressed; - is standard input
    ///
    /// All packets of a capture, whichever their direction, come to one link at their times; pauses of more than ten seconds
    /// count as ten.
    #[arg(value_name = "CAPTURE", required = true, value_hint = ValueHint::FilePath)]
    pub(crate) captures: Vec<PathBuf>,

    /// Rate of the link [default: half of what the packets come with on average, so that they queue up, but no more than
    /// 2.4mbit]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) rate: Option<Rate>,

    /// A scheme with options, as in "codel target=20ms"; repeat for more [default: those that the paper compares]
    #[arg(long = "scheme", value_name = "SPEC")]
    pub(crate) schemes: Vec<Spec>,

    /// Most packets of each capture
    #[arg(long, value_name = "N", default_value = "100000", value_parser = whole::<u32>(1..=1_000_000))]
    pub(crate) packets: u32,

    /// Seed of random decisions and of the hashes of flows, for both
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole(0..=u64::MAX))]
    pub(crate) seed: u64,

    /// How many machines to run at a time [default: one for each core]
    #[arg(long, value_name = "N", value_parser = whole(1..=MOST_THREADS))]
    pub(crate) threads: Option<u16>,

    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,

    /// No progress bars
    #[arg(long, short)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) machine: MachineArgs,
}

/// What the hosts do beside TCP.
#[derive(Debug, ClapArgs)]
pub(crate) struct HostArgs {
    /// Both hosts send lost SYNs again with gentle rexmit: an engine, wire or kernel, and its delay, as in wire=200ms
    /// [default: what the engine's is]
    #[arg(long, value_name = "ENGINE[=TIME]", help_heading = "Scenario")]
    pub(crate) rexmit: Option<Rexmit>,
}

/// What is kept of a run beside its results.
#[derive(Debug, ClapArgs)]
pub(crate) struct KeepArgs {
    /// Keep what each run observed in a folder of its own: packets before and behind the router's queues
    /// (entry.pcapng, exit.pcapng), connections.json, statistics of the queues (queues.json), and the commands that built the
    /// network (commands.sh)
    #[arg(long = "keep", value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Output")]
    pub(crate) directory: Option<PathBuf>,
}

/// What schemes are made of that Linux does not have.
#[derive(Debug, ClapArgs)]
pub(crate) struct PartsArgs {
    /// Whether spa, the SYN priorities, gsp and redfavor are gentle's kernel modules or stock parts, which gsp and redfavor
    /// cannot be; auto: modules where their source is found
    #[arg(long, value_name = "PARTS", default_value = "auto", value_parser = ["auto", "native", "stock"])]
    pub(crate) backing: String,
}

/// What the machine is like.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Machine")]
pub(crate) struct MachineArgs {
    /// The kernel that watches for mistakes: lockdep, KASAN, kmemleak, UBSAN; what it finds goes to standard error
    #[arg(long)]
    pub(crate) debug: bool,

    /// Its memory, 64mb to 64gb; a number without a unit is in MiB
    #[arg(long, value_name = "SIZE", default_value = "512mb", value_parser = mebibytes)]
    pub(crate) memory: u32,

    /// Build gentle's kernel modules from the source in DIR and load them, with their plug-ins for tc [default for scenarios:
    /// the folder kernel/ that came with this program, or what DKMS has in /usr/src]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) modules: Option<PathBuf>,

    /// A clock like this computer's instead of one that jumps over idle time
    #[arg(long)]
    pub(crate) real_time: bool,

    /// Stop it after this time by the clock on the wall, 1s to 7d; a number without a unit is in seconds
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = time_limit)]
    pub(crate) time_limit: Duration,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct GuestArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) stage: Vec<OsString>,
}

/// In MiB, rounded up.
fn mebibytes(text: &str) -> Result<u32, String> {
    let bytes = match text.parse::<u64>() {
        Ok(mebibytes) => mebibytes.saturating_mul(1 << 20),
        Err(_) => parse_size(text).map_err(|error| error.to_string())?,
    };
    match bytes.div_ceil(1 << 20) {
        mebibytes @ 64..=65_536 => Ok(mebibytes as u32),
        _ => Err("expected 64mb to 64gb".to_owned()),
    }
}

fn time_limit(text: &str) -> Result<Duration, String> {
    seconds(text, 1..=604_800)
}

//! The flags of `gentle testbed`.

use super::values::{rate, seconds, whole};
use super::{ComparisonArgs, HarmArgs, MAX_THREADS, ResultArgs, RunArgs, ScenarioArgs, SchemesToCompare, SweepArgs};
use clap::{Args as ClapArgs, Subcommand, ValueHint};
use gentle_aqm::Spec;
use gentle_testbed::experiment::Rexmit;
use gentle_units::{Rate, parse_size};
use std::ffi::OsString;
use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

/// Maximum number of parallel compilers.
const MAX_JOBS: NonZero<usize> = NonZero::new(1_024).expect("not zero");

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

Exit code: the code of the program in the machine.";

const RUN_EXAMPLES: &str = "\
Examples:
  gentle testbed run real --duration 100s
  gentle testbed run scenario.toml --scheme spa --keep observed
  sudo gentle testbed run short --duration 30s --native";

const COMPARE_EXAMPLES: &str = "\
Examples:
  gentle testbed compare --html report.html
  gentle testbed compare --traffic short --duration 100s --seeds 2 --scheme codel --scheme spa";

const SWEEP_EXAMPLES: &str = "\
Examples:
  gentle testbed sweep grid.toml --store results
  gentle testbed sweep grid.toml --store results --threads 8 --csv table.csv";

const CHECK_EXAMPLES: &str = "\
Examples:
  gentle testbed check
  gentle testbed check --traffic short --duration 120s --scheme codel --scheme fq_codel";

const DECISIONS_EXAMPLES: &str = "\
Examples:
  gentle testbed decisions office.pcapng
  gentle testbed decisions *.pcap --rate 400kbit --scheme 'codel ecn' --scheme fq_codel --scheme spa

Exit code: 1 if any decision differs.";

#[derive(Debug, ClapArgs)]
pub(crate) struct TestbedArgs {
    #[command(subcommand)]
    pub(crate) command: TestbedCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TestbedCommand {
    /// Build the testbed's Linux kernel, unless it is in the cache
    Build(BuildArgs),
    /// Run a program as root in a new virtual machine
    Exec(ExecArgs),
    /// Run one scenario on a Linux kernel and print every metric
    Run(TestbedRunArgs),
    /// Compare queue schemes as gentle compare does, but on a Linux kernel
    Compare(TestbedCompareArgs),
    /// Sweep a grid as gentle sweep does, but on Linux kernels, one per core
    Sweep(TestbedSweepArgs),
    /// Run the same connections in the simulator and on a Linux kernel, and print the difference
    Check(CheckArgs),
    /// Replay captures through the kernel's qdiscs and through gentle's, and compare the decision on every packet
    Decisions(DecisionsArgs),
    /// Internal: stages of a machine, on the host and in the guest
    #[command(hide = true)]
    Guest(GuestArgs),
}

#[derive(Debug, ClapArgs)]
#[command(after_long_help = BUILD_EXAMPLES)]
pub(crate) struct BuildArgs {
    /// Kernel source, Linux 7.2 or later: an archive (.tar, .tar.xz, .tar.gz) or a directory [default: the distribution's
    /// source package in /usr/src, fetched if missing]
    #[arg(long, value_name = "SOURCE", value_hint = ValueHint::AnyPath)]
    pub(crate) source: Option<PathBuf>,

    /// Build the debugging kernel: lockdep, KASAN, kmemleak, UBSAN
    #[arg(long)]
    pub(crate) debug: bool,

    /// Build even if the kernel is in the cache
    #[arg(long)]
    pub(crate) force: bool,

    /// Number of parallel compilers [default: one per core]
    #[arg(long, short, value_name = "N", value_parser = whole(NonZero::<usize>::MIN..=MAX_JOBS))]
    pub(crate) jobs: Option<NonZero<usize>>,

    /// Hide the progress bar
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_long_help = EXEC_EXAMPLES)]
pub(crate) struct ExecArgs {
    /// Program and arguments; the machine has a read-only view of this computer's files
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub(crate) argv: Vec<String>,

    /// Seed of the kernel's random numbers: in virtual time, the same seed repeats a run exactly [default: random]
    #[arg(long, value_name = "N", overrides_with = "seed")]
    pub(crate) seed: Option<u64>,

    #[command(flatten)]
    pub(crate) machine: MachineArgs,
}

#[derive(Debug, ClapArgs)]
#[command(after_long_help = RUN_EXAMPLES)]
pub(crate) struct TestbedRunArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,

    /// Run on this computer's kernel, in network namespaces and real time; needs root
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
    #[command(flatten)]
    pub(crate) comparison: ComparisonArgs,

    #[command(flatten)]
    pub(crate) harm: HarmArgs,

    /// Scheme that the others are compared with, seed by seed [default: the first]
    #[arg(long, value_name = "SPEC")]
    pub(crate) reference: Option<Spec>,

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
#[command(after_long_help = SWEEP_EXAMPLES)]
pub(crate) struct TestbedSweepArgs {
    #[command(flatten)]
    pub(crate) sweep: SweepArgs,

    #[command(flatten)]
    pub(crate) hosts: HostArgs,

    #[command(flatten)]
    pub(crate) parts: PartsArgs,

    #[command(flatten)]
    pub(crate) machine: MachineArgs,
}

#[derive(Debug, ClapArgs)]
#[command(after_long_help = CHECK_EXAMPLES)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) comparison: ComparisonArgs,

    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,

    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,

    /// Number of machines to run in parallel [default: one per core]
    #[arg(long, value_name = "N", value_parser = whole(1..=MAX_THREADS))]
    pub(crate) threads: Option<u16>,

    /// Hide progress bars
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
    /// Captures in pcap or pcapng, plain or compressed, each replayed separately; - for standard input
    ///
    /// All IP packets of a capture, in both directions, arrive at one link at their capture times; pauses longer than
    /// ten seconds are cut to ten.
    #[arg(value_name = "CAPTURE", required = true, value_hint = ValueHint::FilePath)]
    pub(crate) captures: Vec<PathBuf>,

    /// Rate of the link [default: half the mean rate of the capture, at most 2.4mbit, so that a queue builds up]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) rate: Option<Rate>,

    #[command(flatten)]
    pub(crate) schemes: SchemesToCompare,

    /// Maximum number of packets per capture
    #[arg(long, value_name = "N", default_value = "100000", value_parser = whole::<u32>(1..=1_000_000))]
    pub(crate) packets: u32,

    /// Seed of random numbers and flow hashes, the same for both implementations
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole(0..=u64::MAX))]
    pub(crate) seed: u64,

    /// Number of machines to run in parallel [default: one per core]
    #[arg(long, value_name = "N", value_parser = whole(1..=MAX_THREADS))]
    pub(crate) threads: Option<u16>,

    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,

    /// Hide progress bars
    #[arg(long, short)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) machine: MachineArgs,
}

/// Software on the end hosts in addition to TCP.
#[derive(Debug, ClapArgs)]
pub(crate) struct HostArgs {
    /// Run gentle rexmit on both hosts: an engine, wire or kernel, and optionally its delay, such as wire=200ms
    #[arg(long, value_name = "ENGINE[=TIME]", help_heading = "Scenario")]
    pub(crate) rexmit: Option<Rexmit>,
}

/// Observations of a run to keep in addition to its results.
#[derive(Debug, ClapArgs)]
pub(crate) struct KeepArgs {
    /// Keep the observations of each run in a subdirectory: packets before and after the router's queues (entry.pcapng,
    /// exit.pcapng), connections (connections.json), queue statistics (queues.json), and the commands that set up the network
    /// (commands.sh)
    #[arg(long = "keep", value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Output")]
    pub(crate) directory: Option<PathBuf>,
}

/// Implementation of the schemes that Linux does not have.
#[derive(Debug, ClapArgs)]
pub(crate) struct PartsArgs {
    /// Implementation of gentle, spa, syn_prio, syn_fin_prio, gsp and redfavor: gentle's kernel modules (native) or
    /// qdiscs of the stock kernel (stock; not for gsp and redfavor); auto: modules if their source is found
    #[arg(long, value_name = "PARTS", default_value = "auto", value_parser = ["auto", "native", "stock"])]
    pub(crate) backing: String,
}

/// Virtual machine.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Machine")]
pub(crate) struct MachineArgs {
    /// Use the debugging kernel (lockdep, KASAN, kmemleak, UBSAN); its reports go to standard error
    #[arg(long)]
    pub(crate) debug: bool,

    /// Memory of the machine, 64mb to 64gb; a number without a unit is in MiB
    #[arg(long, value_name = "SIZE", default_value = "512mb", value_parser = mebibytes)]
    pub(crate) memory: u32,

    /// Build gentle's kernel modules and tc plug-ins from the source in DIR, and load them [default for scenarios: the
    /// directory kernel/ of this program's source or installation, or the DKMS source in /usr/src]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) modules: Option<PathBuf>,

    /// Run in real time instead of virtual time, which skips idle periods
    #[arg(long)]
    pub(crate) real_time: bool,

    /// Stop the machine after this wall-clock time, 1s to 7d; a number without a unit is in seconds
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = time_limit)]
    pub(crate) time_limit: Duration,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct GuestArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) stage: Vec<OsString>,
}

/// Reads a size and returns it in MiB, rounded up.
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

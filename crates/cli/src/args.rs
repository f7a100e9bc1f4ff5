//! Definitions of all flags; help, manual pages and completions are generated from them.

mod completion;
mod lab;
mod model;
mod names;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod qdisc;
mod reproduce;
#[cfg(target_os = "linux")]
mod rexmit;
mod sweep;
#[cfg(target_os = "linux")]
mod testbed;
mod values;
#[cfg(target_os = "linux")]
mod watch;

pub(crate) use lab::LabArgs;
pub(crate) use model::{FormName, ModelArgs};
pub(crate) use names::NamesArgs;
#[cfg(target_os = "linux")]
pub(crate) use probe::ProbeArgs;
#[cfg(target_os = "linux")]
pub(crate) use qdisc::{ApplyArgs, QdiscArgs, QdiscCommand, RemoveArgs, SetupArgs, ShowArgs};
pub(crate) use reproduce::{ALL as ALL_PAPERS, ReproduceArgs};
#[cfg(target_os = "linux")]
pub(crate) use rexmit::{
    DelayArgs, HandshakeArgs, RUN, RexmitArgs, RexmitCommand, RexmitKernelCommand, RexmitKernelInstallArgs,
    RexmitStatusArgs, RexmitWireArgs,
};
pub(crate) use sweep::SweepArgs;
#[cfg(target_os = "linux")]
pub(crate) use testbed::{
    BuildArgs, CheckArgs, DecisionsArgs, ExecArgs, MachineArgs, PartsArgs, TestbedArgs, TestbedCommand,
    TestbedCompareArgs, TestbedRunArgs, TestbedSweepArgs,
};

#[cfg(target_os = "linux")]
pub(crate) use watch::WatchArgs;

use crate::files::is_stdout;
use clap::builder::{NonEmptyStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Args as ClapArgs, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};
use gentle_aqm::{Spec, registry};
use gentle_experiment::{BUILTIN, DEFAULT_BINS};
use gentle_report::Column;
use gentle_tcp::Profile;
use gentle_trace::continuing::Continuing;
use gentle_trace::results::DirectionBy;
use gentle_trace::{Options, VantagePoint, When, prefix};
use gentle_units::{Instant, Nanos, Rate, format_size, parse_size, suggestion};
use ipnet::IpNet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use values::{rate, time, whole};

const EXIT_CODES: &str = "\
Start with: gentle compare --html report.html

Results go to standard output, progress and errors to standard error.

Exit codes:
  0    success
  1    failure, such as a file that is malformed or cannot be read or written
  2    usage error: an unknown option or name, a value out of range
  130  interrupted by Ctrl-C; results completed by then are printed and written
  143  likewise by SIGTERM (129: by SIGHUP)";

const ANALYZE_EXAMPLES: &str = "\
Examples:
  gentle analyze --example
  gentle analyze capture.pcap
  gentle analyze --html report.html --rate 100mbit --local 192.0.2.0/24 monday.pcapng.zst tuesday.pcapng.zst
  tcpdump -i eth0 -s 96 -w - tcp | gentle analyze -
  gentle analyze --json capture.pcap | jq .handshakes
  gentle analyze --record found --connections rows/ captures/*.pcap && gentle merge --full found
  gentle analyze --flows flows.csv capture.pcap && gentle compare --traffic flows.csv --rate 20mbit";

const COMPARE_EXAMPLES: &str = "\
Examples:
  gentle compare --html report.html
  gentle compare --from capture.pcap --rate 20mbit
  gentle compare --traffic short --scheme 'pfifo limit=50' --scheme 'codel target=20ms' --scheme spa
  gentle compare --rate 20mbit --load 95% --reference fq_codel
  gentle compare --traffic flows.csv --rate 20mbit --up-rate 2mbit --json | jq '.results[].loss.syn'
  gentle compare --duration 20s --seeds 1 --scheme codel --pcap codel.pcapng
  gentle compare --seeds 100 --store runs                # resumes an interrupted call";

/// Examples of a command, and the meaning of the columns of its tables.
fn with_columns(examples: &str, tables: Vec<(&str, Vec<Column>)>) -> String {
    let mut text = examples.to_owned();
    for (title, columns) in tables {
        text += &format!("\n\nColumns, {}:", title.to_lowercase());
        for Column { head, meaning } in columns {
            text += &format!("\n  {head}: {meaning}");
        }
    }
    text
}

const MERGE_EXAMPLES: &str = "\
Examples:
  gentle analyze --record a monday/*.pcap && gentle analyze --record a tuesday/*.pcap
  gentle merge --full a                                      # as gentle analyze --full monday/*.pcap tuesday/*.pcap";

/// Maximum number of seeds. All results of a comparison are kept in memory until its last run has ended.
const MAX_SEEDS: u32 = 10_000;
const MAX_THREADS: u16 = 1_024;
/// Maximum length of the lists of `--top`; longer ones can be made from `--connections`.
const MAX_LINES: u16 = 10_000;

/// Measure TCP handshake loss, and compare and deploy queue schemes that prevent it
///
/// A connection whose SYN or SYN/ACK is dropped waits for its initial RTO, one to three seconds. gentle measures in
/// packet captures how often that happens and how much time it costs, simulates what each queue scheme (a queue
/// discipline with its options) does to short connections on a congested link, verifies it on a Linux kernel, and sets
/// it up on a network device.
#[derive(Debug, Parser)]
#[command(name = "gentle", version, propagate_version = true, args_override_self = true)]
#[command(after_help = "Start with: gentle compare --html report.html", after_long_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure how often connections in a packet capture lose a SYN or SYN/ACK, and the time it costs
    Analyze(AnalyzeArgs),
    /// Simulate the same traffic under several queue schemes and compare response times, loss and delay
    Compare(CompareArgs),
    /// Combine the records of several gentle analyze --record calls into one analysis
    Merge(MergeArgs),
    /// Simulate one scenario and print every metric
    Sim(SimArgs),
    /// Run a grid of scenarios, schemes and seeds, and store every run
    #[command(after_long_help = sweep::EXAMPLES)]
    Sweep(SweepArgs),
    /// Set up a queue scheme on a network device, show its counters, remove it
    #[cfg(target_os = "linux")]
    Qdisc(QdiscArgs),
    /// Watch the handshakes of a network device: which are slow or fail, and why
    #[cfg(target_os = "linux")]
    Watch(Box<WatchArgs>),
    /// Connect to servers at a fixed rate, and count lost SYNs and lost SYN/ACKs separately
    #[cfg(target_os = "linux")]
    Probe(ProbeArgs),
    /// Retransmit lost SYNs and SYN/ACKs sooner than the initial RTO
    #[cfg(target_os = "linux")]
    Rexmit(RexmitArgs),
    /// Run scenarios and programs on a Linux kernel in virtual time
    #[cfg(target_os = "linux")]
    Testbed(TestbedArgs),
    /// Predict response times in closed form, and the cost of a lost SYN
    Model(ModelArgs),
    /// Recompute the figures, tables and claims of published papers, and compare them with what was published
    Reproduce(ReproduceArgs),
    /// Watch two queue schemes side by side in a browser, with the simulator in the page
    Lab(LabArgs),
    /// List the queue schemes, or the options of one
    Schemes(SchemesArgs),
    /// List the TCP profiles of end hosts, or the knobs of one
    Profiles(ProfilesArgs),
    /// Print the JSON Schema of a command's --json output
    Schema(SchemaArgs),
    /// Print a shell completion script
    Completions(CompletionsArgs),
    /// Write the manual pages
    Man(ManArgs),
}

#[derive(Debug, ClapArgs)]
#[command(after_long_help = with_columns(ANALYZE_EXAMPLES, gentle_report::analyze::columns()))]
pub(crate) struct AnalyzeArgs {
    /// Captures in pcap or pcapng, plain or compressed with gzip, zstd, xz or lz4; - for standard input
    ///
    /// Several captures are merged by time into one trace, unless --per-file is given.
    #[arg(value_name = "CAPTURE", required_unless_present = "example", value_hint = ValueHint::FilePath)]
    pub(crate) captures: Vec<PathBuf>,

    /// Analyse the built-in capture: 300 connections, some of which lose a SYN
    #[arg(long, conflicts_with_all = ["captures", "per_file", "record"])]
    pub(crate) example: bool,

    /// Write the capture of --example to this file in pcap, instead of analysing it
    #[arg(short = 'w', long, value_name = "FILE", requires = "example", conflicts_with = "captures", value_hint = ValueHint::FilePath)]
    pub(crate) write: Option<PathBuf>,

    /// Analyse each capture separately; --json then prints one line per capture
    #[arg(long, conflicts_with_all = ["connections", "flows"])]
    pub(crate) per_file: bool,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,

    #[command(flatten)]
    pub(crate) selection: SelectionArgs,

    /// Compare with a capture made after a change: what changed, with 95 % intervals
    ///
    /// The options apply to both. --json prints both analyses and the changes.
    #[arg(long, value_name = "CAPTURE", conflicts_with_all = ["per_file", "record", "connections", "flows", "html", "anonymize", "full"], value_hint = ValueHint::FilePath)]
    pub(crate) against: Option<PathBuf>,

    /// Evict a connection after this time without a packet, 1s to 3600s
    #[arg(long, value_name = "TIME", default_value = "900s", value_parser = idle_timeout)]
    pub(crate) idle_timeout: Nanos,

    /// Memory limit for connection state, at least 1mb; beyond it the longest idle connections are evicted, and the
    /// report counts them
    #[arg(long, value_name = "SIZE", default_value = "2gb", value_parser = memory_limit)]
    pub(crate) memory_limit: u64,

    #[command(flatten)]
    pub(crate) tasks: TaskArgs,

    #[command(flatten)]
    pub(crate) link: LinkArgs,

    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// Analysis of many captures, each separately.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Many captures")]
pub(crate) struct TaskArgs {
    /// Analyse each capture separately and in parallel, store one record per capture in this directory, and print the
    /// merged analysis
    ///
    /// Captures with a record in this directory are skipped, so the same command resumes an interrupted job. A record's
    /// name is a digest of the contents of its captures, the options and the version of gentle; the captures' names do
    /// not matter. --memory-limit applies to each capture separately.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["per_file", "flows"], value_hint = ValueHint::DirPath)]
    pub(crate) record: Option<PathBuf>,

    /// Captures to read as one trace, because connections continue from one to the next
    #[arg(long = "continue", id = "continue", value_name = "WHICH", default_value = "name", requires = "record", value_parser = continuing())]
    pub(crate) continuing: Continuing,

    /// Number of captures analysed at a time [default: one per core]
    #[arg(long, value_name = "N", requires = "record", value_parser = whole(1..=MAX_THREADS))]
    pub(crate) threads: Option<u16>,
}

/// Reading of captures.
#[derive(Debug, ClapArgs)]
pub(crate) struct ReadingArgs {
    /// Treat a damaged capture as an error [default: warn, and use the intact part]
    #[arg(long)]
    pub(crate) strict: bool,

    /// Analyse the packets inside tunnels: GRE, IP-in-IP, VXLAN, GENEVE, GTP-U, ERSPAN
    #[arg(long)]
    pub(crate) inner: bool,

    /// Interface of a pcapng file to analyse, by name or number; repeatable [default: all; for a capture written by
    /// --pcap, the entry interfaces]
    ///
    /// A packet captured at several interfaces counts once, at the first.
    #[arg(long = "interface", value_name = "NAME")]
    pub(crate) interfaces: Vec<String>,
}

/// Packets to analyse.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Packets to analyse")]
pub(crate) struct SelectionArgs {
    /// Only packets from or to this address or prefix, such as 192.0.2.7 or 2001:db8::/32; repeatable
    #[arg(long = "host", value_name = "PREFIX", value_parser = prefix)]
    pub(crate) hosts: Vec<IpNet>,

    /// Only packets from or to this TCP or UDP port; repeatable
    #[arg(long = "port", value_name = "PORT", value_parser = whole(1..=u16::MAX))]
    pub(crate) ports: Vec<u16>,

    /// Only packets from this time on: a time such as 2026-11-28T09:30:00Z, or a span such as 90s from the first packet
    #[arg(long, value_name = "TIME", value_parser = when)]
    pub(crate) since: Option<When>,

    /// Only packets before this time, as for --since
    #[arg(long, value_name = "TIME", value_parser = when)]
    pub(crate) until: Option<When>,
}

/// The link that was captured, and the capture point.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Link")]
pub(crate) struct LinkArgs {
    /// Addresses on the near side of the link, such as 192.0.2.0/24; directions are then out and in; repeatable
    #[arg(long, value_name = "PREFIX", value_parser = prefix)]
    pub(crate) local: Vec<IpNet>,

    /// How to split traffic into two directions [default: local if --local is given, else initiator]
    #[arg(long, value_name = "HOW", value_parser = direction(), requires_if("local", "local"))]
    pub(crate) direction: Option<DirectionBy>,

    /// Rate of the link, such as 100mbit; adds link utilisation to the report
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) rate: Option<Rate>,

    /// Position of the capture point [default: inferred; the report shows the evidence]
    #[arg(long, value_name = "PLACE", value_parser = vantage())]
    pub(crate) vantage: Option<VantagePoint>,
}

/// Contents and destinations of the report.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Output")]
pub(crate) struct ReportArgs {
    /// Print all tables instead of a summary
    #[arg(long, conflicts_with = "json")]
    pub(crate) full: bool,

    /// Print JSON instead of a report (fields: docs/reference/json.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Write a self-contained HTML page with plots
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,

    /// Write one row per connection, as CSV or Parquet by the file name's extension; with --record, Parquet files into
    /// a directory (a name that ends in /)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) connections: Option<TableFile>,

    /// Write the connections as a flow list for gentle compare --traffic
    #[arg(long, value_name = "FILE.csv", value_hint = ValueHint::FilePath)]
    pub(crate) flows: Option<FlowsFile>,

    /// Replace addresses, preserving common prefixes, with a random key or one derived from PASSPHRASE
    ///
    /// A passphrase gives the same replacements in every run. Anyone who knows the passphrase can reverse them.
    #[arg(long, value_name = "PASSPHRASE", conflicts_with = "names", num_args = 0..=1, require_equals = true, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) anonymize: Option<Option<String>>,

    /// Length of the lists of servers, clients and prefixes that lose the most time
    #[arg(long, value_name = "N", default_value = "10", value_parser = whole(0..=MAX_LINES))]
    pub(crate) top: u16,

    #[command(flatten)]
    pub(crate) names: NamesArgs,

    /// Hide the progress bar
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_long_help = with_columns(COMPARE_EXAMPLES, gentle_report::compare::columns()))]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) comparison: ComparisonArgs,

    #[command(flatten)]
    pub(crate) harm: HarmArgs,

    /// Scheme that the others are compared with, seed by seed [default: the first]
    #[arg(long, value_name = "SPEC")]
    pub(crate) reference: Option<Spec>,

    /// Replay the connections of a packet capture over a link of --rate; repeat to merge several captures
    ///
    /// Accepts the formats of gentle analyze; - is standard input. The report lists the assumptions and the omitted
    /// connections below the table. The link has the same rate in both directions unless --up-rate is given.
    #[arg(long, value_name = "CAPTURE", conflicts_with = "traffic", requires = "rate", value_hint = ValueHint::FilePath)]
    pub(crate) from: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) capture: CaptureArgs,

    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Traffic, the schemes to compare under it, and the number of runs of each.
#[derive(Debug, ClapArgs)]
pub(crate) struct ComparisonArgs {
    /// Connections to simulate: a built-in scenario, a scenario file (.toml) or a flow list (.csv)
    ///
    /// The built-in scenarios real, real-reverse, short and 10m have the links and traffic of Braud, Heusse and Duda,
    /// "The Virtue of Gentleness" (IFIP Networking 2018, Table III), with current Linux hosts unless --profile is
    /// given; home-evening, office, calls and rrul mix calls, games, pages and downloads. docs/reference/scenarios.md
    /// describes scenario files and flow lists.
    #[arg(long, value_name = "TYPE|FILE", default_value = BUILTIN[0], value_hint = ValueHint::FilePath)]
    pub(crate) traffic: Traffic,

    #[command(flatten)]
    pub(crate) schemes: SchemesToCompare,

    /// Number of runs per scheme, each with its own seed; confidence intervals need at least 2
    #[arg(long, value_name = "N", default_value = "5", value_parser = whole(1..=MAX_SEEDS))]
    pub(crate) seeds: u32,
}

/// Schemes to compare.
#[derive(Debug, ClapArgs)]
pub(crate) struct SchemesToCompare {
    /// Scheme to compare, with options if any, such as "codel target=20ms"; repeatable [default: the schemes of the
    /// scenario file, else the schemes of Braud et al. 2018, Table III, plus cake, dualpi2 and gentle]
    ///
    /// gentle schemes lists all schemes; gentle schemes NAME lists the options of one.
    #[arg(long = "scheme", value_name = "SPEC", id = "scheme")]
    pub(crate) schemes: Vec<Spec>,
}

/// Scenario to run under a single scheme, and the number of runs.
#[derive(Debug, ClapArgs)]
pub(crate) struct RunArgs {
    /// Built-in scenario (real, real-reverse, short, 10m, home-evening, office, calls, rrul), scenario file
    /// (docs/reference/scenarios.md) or flow list (.csv)
    #[arg(value_name = "TYPE|FILE", value_parser = scenario, value_hint = ValueHint::FilePath)]
    pub(crate) traffic: Traffic,

    /// Queue scheme of the link under test, such as "codel target=20ms" [default: the scenario's]
    #[arg(long, value_name = "SPEC")]
    pub(crate) scheme: Option<Spec>,

    /// Number of runs, each with its own seed
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole(1..=MAX_SEEDS))]
    pub(crate) seeds: u32,
}

/// Harm to the parts of the traffic.
#[derive(Debug, ClapArgs)]
pub(crate) struct HarmArgs {
    /// Also run each application and each group alone, and show how much the rest of the traffic harms it
    ///
    /// Harm is the share of a delay that other traffic causes, or the share of a rate that it takes (Ware et al.,
    /// HotNets 2019). Each application and each group adds as many runs as the comparison has.
    #[arg(long)]
    pub(crate) harm: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_long_help = MERGE_EXAMPLES)]
pub(crate) struct MergeArgs {
    /// Directories written by gentle analyze --record, or single record files
    ///
    /// All records must come from the same options and the same build of gentle. Their order does not matter;
    /// duplicates count once.
    #[arg(value_name = "DIR", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) records: Vec<PathBuf>,

    /// Print all tables instead of a summary
    #[arg(long, conflicts_with = "json")]
    pub(crate) full: bool,

    /// Rate of the link [default: the records' rate]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) rate: Option<Rate>,

    /// Length of the lists of servers, clients and prefixes that lose the most time [default: the records' length]
    #[arg(long, value_name = "N", value_parser = whole(0..=MAX_LINES))]
    pub(crate) top: Option<u16>,

    #[command(flatten)]
    pub(crate) names: NamesArgs,

    /// Print JSON instead of tables (fields: docs/reference/json.md)
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,

    /// Write a self-contained HTML page with plots
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
}

/// Reading of the captures of `--from`.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "With --from")]
pub(crate) struct CaptureArgs {
    /// Addresses behind the link: data sent to them crosses the link under test; repeatable [default: data sent by
    /// servers crosses it]
    #[arg(long, value_name = "PREFIX", value_parser = prefix)]
    pub(crate) local: Vec<IpNet>,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SimArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,

    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Changes to the scenario.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Scenario")]
pub(crate) struct ScenarioArgs {
    /// Length of the arrival process, such as 100s [default: the scenario's]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<Nanos>,

    /// TCP profile of the end hosts [default: the scenario file's, else linux-7.2]
    #[arg(long, value_name = "NAME", value_parser = profiles())]
    pub(crate) profile: Option<String>,

    /// Override a knob of the TCP profile, such as initial_rto=3s (see gentle profiles); repeatable
    #[arg(long = "tcp", value_name = "KNOB=VALUE", value_parser = knob)]
    pub(crate) knobs: Vec<(String, String)>,

    /// Rate of the link under test, such as 20mbit
    ///
    /// Scales the arrival rate and the buffer limits, so that the load stays the same. Flow lists, captures and the
    /// limits of schemes given with --scheme do not scale.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) rate: Option<Rate>,

    /// Rate of the reverse link [default: scaled with --rate]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) up_rate: Option<Rate>,

    /// Offered load of the link under test, in percent of its rate, such as 88% [default: the scenario's]
    #[arg(long, value_name = "PERCENT")]
    pub(crate) load: Option<Load>,

    /// First seed; the others are consecutive
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole(0..=u64::MAX))]
    pub(crate) first_seed: u64,
}

/// Destinations of results and packets.
#[derive(Debug, ClapArgs)]
pub(crate) struct OutputArgs {
    #[command(flatten)]
    pub(crate) results: ResultArgs,

    /// Write the packets of the first seed as pcapng; with several schemes, one file each (NAME-SCHEME.pcapng)
    ///
    /// Each direction has three interfaces: entry (packets offered to the queue), exit (packets sent) and drop (dropped
    /// packets, with the reason as a comment). Writing them simulates the run a second time.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) pcap: Option<PathBuf>,
}

/// Formats of results, and how they are computed.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Output")]
pub(crate) struct ResultArgs {
    /// Print JSON instead of a table (fields: docs/reference/json.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Write one CSV row per scheme and seed
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) csv: Option<PathBuf>,

    /// Write a self-contained HTML page with plots
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,

    /// Directory that stores all runs; stored runs are reused
    ///
    /// The same command resumes an interrupted comparison, and more seeds or schemes run only the new ones. Several
    /// commands may write to one directory at once; copy files to combine directories.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) store: Option<PathBuf>,

    /// Upper bounds of the size classes of connections, in segments
    #[arg(long, value_name = "N[,N...]", default_value_t = Bins(DEFAULT_BINS.to_vec()))]
    pub(crate) bins: Bins,

    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = whole(1..=MAX_THREADS))]
    pub(crate) threads: Option<u16>,

    /// Hide progress bars
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SchemesArgs {
    /// Show this scheme with its options
    #[arg(value_parser = PossibleValuesParser::new(registry::SCHEMES.iter().map(|scheme| PossibleValue::new(scheme.name).hide(!scheme.listed))))]
    pub(crate) name: Option<String>,

    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ProfilesArgs {
    /// Show this profile with its knobs
    #[arg(value_parser = profiles())]
    pub(crate) name: Option<String>,

    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SchemaArgs {
    /// Command whose output the schema describes
    #[arg(value_name = "COMMAND")]
    pub(crate) of: Output,
}

/// Outputs with a JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// gentle analyze; with --per-file, each line
    Analyze,
    /// gentle analyze --against
    AnalyzeAgainst,
    /// gentle compare, gentle sim, gentle testbed run and gentle testbed compare
    Compare,
    /// gentle model
    Model,
    /// gentle reproduce
    Reproduce,
    /// gentle reproduce --coverage
    ReproduceCoverage,
    /// gentle sweep
    Sweep,
    /// gentle probe: each line
    #[cfg(target_os = "linux")]
    Probe,
    /// gentle qdisc show; with --watch, each line
    #[cfg(target_os = "linux")]
    QdiscShow,
    /// gentle testbed check
    #[cfg(target_os = "linux")]
    TestbedCheck,
    /// gentle watch: each line
    #[cfg(target_os = "linux")]
    Watch,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CompletionsArgs {
    /// Shell that will source the script
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ManArgs {
    /// Directory for gentle.1, gentle-compare.1 and so on
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) directory: PathBuf,
}

/// Source of the connections to simulate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Traffic {
    /// Built-in scenario.
    Builtin(&'static str),
    /// Scenario file.
    Scenario(PathBuf),
    /// Flow list.
    Flows(PathBuf),
}

impl FromStr for Traffic {
    type Err = String;

    fn from_str(text: &str) -> Result<Traffic, String> {
        if let Some(name) = BUILTIN.iter().find(|name| **name == text) {
            return Ok(Traffic::Builtin(name));
        }
        match extension(text) {
            Some("toml") => Ok(Traffic::Scenario(text.into())),
            Some("csv") => Ok(Traffic::Flows(text.into())),
            _ => Err(format!(
                "expected {}, a scenario file ending in .toml or a flow list ending in .csv{}",
                BUILTIN.join(", "),
                suggestion(text, BUILTIN)
            )),
        }
    }
}

/// Like [`Traffic::from_str`], but accepts any existing file as a scenario file, whatever its extension.
fn scenario(text: &str) -> Result<Traffic, String> {
    match text.parse() {
        Err(_) if Path::new(text).exists() => Ok(Traffic::Scenario(text.into())),
        traffic => traffic,
    }
}

/// Destination and format of `--connections`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableFile {
    pub(crate) path: PathBuf,
    pub(crate) format: TableFormat,
}

/// Format of the rows of `--connections`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableFormat {
    Csv,
    Parquet,
    /// Directory of Parquet files, one for each task.
    Parts,
}

impl FromStr for TableFile {
    type Err = String;

    fn from_str(text: &str) -> Result<TableFile, String> {
        let format = match extension(text) {
            _ if is_stdout(Path::new(text)) => TableFormat::Csv,
            _ if text.ends_with(std::path::is_separator) => TableFormat::Parts,
            Some("csv") => TableFormat::Csv,
            Some("parquet") => TableFormat::Parquet,
            _ => {
                return Err(
                    "expected a file name that ends in .csv or .parquet, or with --record a directory that ends in /"
                        .to_owned(),
                );
            }
        };
        Ok(TableFile { path: text.into(), format })
    }
}

/// Destination of `--flows`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FlowsFile(pub(crate) PathBuf);

impl FromStr for FlowsFile {
    type Err = String;

    fn from_str(text: &str) -> Result<FlowsFile, String> {
        match extension(text) {
            _ if is_stdout(Path::new(text)) => Ok(FlowsFile(text.into())),
            Some("csv") => Ok(FlowsFile(text.into())),
            _ => Err("expected a file name that ends in .csv, as gentle compare --traffic requires".to_owned()),
        }
    }
}

fn extension(path: &str) -> Option<&str> {
    Path::new(path).extension().and_then(|extension| extension.to_str())
}

/// Upper bounds of size classes, in segments: ascending, the first at least 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bins(pub(crate) Vec<u64>);

impl FromStr for Bins {
    type Err = String;

    fn from_str(text: &str) -> Result<Bins, String> {
        let bins: Result<Vec<u64>, _> = text.split(',').map(|bin| bin.trim().parse()).collect();
        bins.ok()
            .filter(|bins| bins.first() != Some(&0) && bins.is_sorted_by(|a, b| a < b))
            .map(Bins)
            .ok_or_else(|| "expected sizes of at least 1 in ascending order, such as 3,10,100".to_owned())
    }
}

impl fmt::Display for Bins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bins: Vec<String> = self.0.iter().map(u64::to_string).collect();
        f.write_str(&bins.join(","))
    }
}

/// Offered load as a fraction of the rate of a link, 0.001 to 10.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Load(pub(crate) f64);

impl FromStr for Load {
    type Err = String;

    fn from_str(text: &str) -> Result<Load, String> {
        let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        percent
            .filter(|percent| (0.1..=1000.0).contains(percent))
            .map(|percent| Load(percent / 100.0))
            .ok_or_else(|| "expected a percentage of the rate, 0.1% to 1000%, such as 88%".to_owned())
    }
}

fn profiles() -> PossibleValuesParser {
    PossibleValuesParser::new(Profile::NAMES)
}

fn duration(text: &str) -> Result<Nanos, String> {
    time(text, Nanos(1)..=Nanos::from_secs(86_400))
}

fn idle_timeout(text: &str) -> Result<Nanos, String> {
    time(text, Nanos::from_secs(1)..=Options::LONGEST_IDLE_TIMEOUT)
}

/// Time of day with its zone (RFC 3339), or a span.
fn when(text: &str) -> Result<When, String> {
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        let nanoseconds = u64::try_from(time.as_nanosecond()).map_err(|_| "expected a time after 1970".to_owned())?;
        return Ok(When::At(Instant(nanoseconds)));
    }
    let span = text.parse::<Nanos>();
    span.map(When::After).map_err(|_| "expected a time such as 2026-11-28T09:30:00Z, or a span such as 90s".to_owned())
}

fn memory_limit(text: &str) -> Result<u64, String> {
    let size = parse_size(text).map_err(|error| format!("{error}"))?;
    if size < Options::LEAST_MEMORY {
        let least = format_size(Options::LEAST_MEMORY);
        return Err(format!("expected at least {least}"));
    }
    Ok(size)
}

fn continuing() -> impl TypedValueParser<Value = Continuing> {
    PossibleValuesParser::new([
        PossibleValue::new("name").help("Files named like the parts of one capture (dumpcap -b, tcpdump -C or -G)"),
        PossibleValue::new("directory").help("Files in the same directory"),
        PossibleValue::new("all").help("All files"),
        PossibleValue::new("none").help("No files"),
    ])
    .map(|name| match name.as_str() {
        "directory" => Continuing::Directory,
        "all" => Continuing::All,
        "none" => Continuing::None,
        _ => Continuing::ByName,
    })
}

fn direction() -> impl TypedValueParser<Value = DirectionBy> {
    PossibleValuesParser::new([
        PossibleValue::new("initiator").help("From the host that sent the SYN, and to it"),
        PossibleValue::new("interface").help("One direction per interface of the capture"),
        PossibleValue::new("local").help("From the addresses of --local, and to them"),
    ])
    .map(|name| match name.as_str() {
        "initiator" => DirectionBy::Initiator,
        "interface" => DirectionBy::Interface,
        _ => DirectionBy::Local,
    })
}

fn vantage() -> impl TypedValueParser<Value = VantagePoint> {
    let places = [VantagePoint::Client, VantagePoint::Server, VantagePoint::Middle];
    PossibleValuesParser::new(places.map(VantagePoint::name)).map(move |name| {
        let place = places.into_iter().find(|place| place.name() == name);
        place.expect("one of the possible values")
    })
}

fn knob(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| "expected KNOB=VALUE, such as initial_rto=3s".to_owned())?;
    // Checked here to make a mistake a usage error.
    Profile::default().set(name, value).map_err(|error| error.to_string())?;
    Ok((name.to_owned(), value.to_owned()))
}

/// The command with its subcommands, and with settings that clap's derive macros cannot express.
pub(crate) fn command() -> clap::Command {
    let command = Args::command();
    #[cfg(target_os = "linux")]
    let command = command.mut_subcommand("rexmit", rexmit::with_moved_options);
    refined(command)
}

fn refined(command: clap::Command) -> clap::Command {
    command.mut_args(|arg| completion::with_completer(with_negative_numbers(arg))).mut_subcommands(refined)
}

/// Value names of numbers.
const NUMBERS: [&str; 8] = ["RATE", "TIME", "SIZE", "GAP", "N", "N[,N...]", "PERCENT", "BYTES"];

/// Accepts a hyphen before a number, so that `--rate -5mbit` is reported as an invalid rate, not as an unknown option
/// `-5`.
fn with_negative_numbers(arg: Arg) -> Arg {
    let names = arg.get_value_names().unwrap_or_default();
    let number = matches!(names, [name] if NUMBERS.contains(&name.as_str()));
    arg.allow_hyphen_values(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_hold_together() {
        command().debug_assert();
    }

    #[test]
    fn the_defaults_of_an_analysis_are_those_of_the_library() {
        let Command::Analyze(args) = Args::parse_from(["gentle", "analyze", "x"]).command else {
            panic!("another command");
        };
        let options = Options::default();
        assert_eq!(args.idle_timeout, options.idle_timeout);
        assert_eq!(args.memory_limit, options.memory_limit);
        assert_eq!(usize::from(args.report.top), options.top);
    }
}

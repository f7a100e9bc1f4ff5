//! The flags, defined once: help, man pages and completions come from here.

mod completion;
#[cfg(target_os = "linux")]
mod qdisc;
#[cfg(target_os = "linux")]
mod rexmit;
#[cfg(target_os = "linux")]
mod testbed;
mod values;

#[cfg(target_os = "linux")]
pub(crate) use qdisc::{ApplyArgs, QdiscArgs, QdiscCommand, RemoveArgs, SetupArgs, ShowArgs};
#[cfg(target_os = "linux")]
pub(crate) use rexmit::{
    DelayArgs, HandshakeArgs, RUN, RexmitArgs, RexmitCommand, RexmitKernelCommand,
    RexmitKernelInstallArgs, RexmitStatusArgs, RexmitWireArgs, SeriesArgs,
};
#[cfg(target_os = "linux")]
pub(crate) use testbed::{
    BuildArgs, CheckArgs, DecisionsArgs, ExecArgs, MachineArgs, PartsArgs, TestbedArgs,
    TestbedCommand, TestbedCompareArgs, TestbedRunArgs,
};

use crate::files::is_stdout;
use clap::builder::{
    NonEmptyStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser,
};
use clap::{Arg, Args as ClapArgs, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};
use gentle_aqm::{Spec, registry};
use gentle_experiment::{BUILTIN, DEFAULT_BINS};
use gentle_tcp::Profile;
use gentle_trace::results::DirectionBy;
use gentle_trace::{Options, VantagePoint};
use gentle_units::{Nanos, Rate, format_size, parse_size, suggestion};
use ipnet::IpNet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use values::{prefix, rate, time, whole};

const EXIT_CODES: &str = "\
Start with: gentle compare --html report.html

Results go to standard output, progress and errors to standard error.

Exit codes:
  0    success
  1    failure: a file that cannot be read, is wrong in itself, or cannot be written
  2    wrong usage: an unknown option or name, a value out of range
  130  stopped by Ctrl-C; what had finished by then is printed and written
  143  the same, stopped by SIGTERM (129: by SIGHUP)";

const ANALYZE_EXAMPLES: &str = "\
Examples:
  gentle analyze capture.pcap
  gentle analyze --html report.html --rate 100mbit --local 192.0.2.0/24 monday.pcapng.zst tuesday.pcapng.zst
  tcpdump -i eth0 -s 96 -w - tcp | gentle analyze -
  gentle analyze --json capture.pcap | jq .handshakes
  gentle analyze --flows flows.csv capture.pcap && gentle compare --traffic flows.csv --rate 20mbit";

const COMPARE_EXAMPLES: &str = "\
Examples:
  gentle compare --html report.html
  gentle compare --from capture.pcap --rate 20mbit
  gentle compare --traffic short --scheme 'pfifo limit=50' --scheme 'codel target=20ms' --scheme spa
  gentle compare --rate 20mbit --load 95% --reference fq_codel
  gentle compare --traffic flows.csv --rate 20mbit --up-rate 2mbit --json | jq '.results[].loss.syn'
  gentle compare --duration 20s --seeds 1 --scheme codel --pcap codel.pcapng
  gentle compare --first-seed 6 --seeds 5 --record runs && gentle merge runs";

const MERGE_EXAMPLES: &str = "\
Examples:
  gentle compare --seeds 5 --record here                     # on one machine
  gentle compare --first-seed 6 --seeds 5 --record there     # on another
  gentle merge here there                                    # prints what gentle compare --seeds 10 prints";

/// More seeds than this would be a mistake: every run is kept until all have ended.
const MOST_SEEDS: u32 = 10_000;
const MOST_THREADS: u16 = 1_024;
/// More lines than this are what --connections is for.
const MOST_LINES: u16 = 10_000;

/// Handshake loss in queues: what it costs, and what each queue scheme would do about it.
///
/// When a router's queue drops a TCP SYN or SYN/ACK, the connection waits one to three seconds for its initial timeout.
/// gentle finds out from packet captures how often that happens and what it costs, and shows what each queue scheme does
/// to short connections on a congested link.
#[derive(Debug, Parser)]
#[command(
    name = "gentle",
    version,
    propagate_version = true,
    args_override_self = true
)]
#[command(after_help = "Start with: gentle compare --html report.html", after_long_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// How often connections in a packet capture lose a SYN or SYN/ACK, and what that costs them
    Analyze(AnalyzeArgs),
    /// One traffic, every queue scheme: response times, losses, delays side by side
    Compare(CompareArgs),
    /// Put the runs of several comparisons together, as if one had made them all
    Merge(MergeArgs),
    /// Run one scenario file as it stands
    Sim(SimArgs),
    /// Put a queue scheme on a network device, see what it does, take it off
    #[cfg(target_os = "linux")]
    Qdisc(QdiscArgs),
    /// Send lost SYNs and SYN/ACKs again sooner than the stack does
    #[cfg(target_os = "linux")]
    Rexmit(RexmitArgs),
    /// A real Linux kernel in virtual time: build it, run programs in it
    #[cfg(target_os = "linux")]
    Testbed(TestbedArgs),
    /// List the queue schemes, or show one with its options
    Schemes(SchemesArgs),
    /// List the TCP profiles of end hosts, or show one with its knobs
    Profiles(ProfilesArgs),
    /// Print the JSON Schema of what a command prints with --json
    Schema(SchemaArgs),
    /// Print a script that has a shell complete gentle's commands, options and values
    Completions(CompletionsArgs),
    /// Write the manual pages
    Man(ManArgs),
}

#[derive(Debug, ClapArgs)]
#[command(after_long_help = ANALYZE_EXAMPLES)]
pub(crate) struct AnalyzeArgs {
    /// Captures: pcap or pcapng, as they are or compressed with gzip, zstd, xz or lz4; - is standard input
    ///
    /// Several are one trace, put together in order of time, unless --per-file is given.
    #[arg(value_name = "CAPTURE", required = true, value_hint = ValueHint::FilePath)]
    pub(crate) captures: Vec<PathBuf>,

    /// Analyse each capture on its own; --json then prints one line for each
    #[arg(long, conflicts_with_all = ["connections", "flows"])]
    pub(crate) per_file: bool,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,

    /// Forget connections after this long without a packet, 1s to 3600s
    #[arg(long, value_name = "TIME", default_value = "900s", value_parser = idle_timeout)]
    pub(crate) idle_timeout: Nanos,

    /// Most memory for connections, at least 1mb; beyond it those idle longest are forgotten, and counted
    #[arg(long, value_name = "SIZE", default_value = "2gb", value_parser = memory_limit)]
    pub(crate) memory_limit: u64,

    #[command(flatten)]
    pub(crate) link: LinkArgs,

    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// How captures are read.
#[derive(Debug, ClapArgs)]
pub(crate) struct ReadingArgs {
    /// Take damage in a capture for an error instead of warning and using what is before it
    #[arg(long)]
    pub(crate) strict: bool,

    /// Look into tunnels: GRE, IP-in-IP, VXLAN, GENEVE, GTP-U, ERSPAN
    #[arg(long)]
    pub(crate) inner: bool,
}

/// What is known of the link and the place.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Link")]
pub(crate) struct LinkArgs {
    /// Addresses on this side of the link, as in 192.0.2.0/24; directions are then out and in; repeat for more
    #[arg(long, value_name = "PREFIX", value_parser = prefix)]
    pub(crate) local: Vec<IpNet>,

    /// How to tell directions apart [default: local if --local is given, else initiator]
    #[arg(long, value_name = "HOW", value_parser = direction(), requires_if("local", "local"))]
    pub(crate) direction: Option<DirectionBy>,

    /// Rate of the link: with it the report says how much of the link was used
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) rate: Option<Rate>,

    /// Where the capture was taken [default: a guess, shown with its reasons]
    #[arg(long, value_name = "PLACE", value_parser = vantage())]
    pub(crate) vantage: Option<VantagePoint>,
}

/// What is reported, and where to.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Output")]
pub(crate) struct ReportArgs {
    /// Show every table, not only what to act on
    #[arg(long, conflicts_with = "json")]
    pub(crate) full: bool,

    /// Print JSON instead of a report (schema: docs/analyze-json.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Write a page with plots that opens without a network
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,

    /// Write a row for each connection; the name ends in .csv or .parquet
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) connections: Option<TableFile>,

    /// Write the connections as a list that gentle compare --traffic replays
    #[arg(long, value_name = "FILE.csv", value_hint = ValueHint::FilePath)]
    pub(crate) flows: Option<FlowsFile>,

    /// Replace addresses by others with the same prefixes in common: with a key of this run, or one made of PASSPHRASE
    ///
    /// The same passphrase gives the same addresses, in other runs too, and whoever knows it can undo them.
    #[arg(long, value_name = "PASSPHRASE", num_args = 0..=1, require_equals = true, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) anonymize: Option<Option<String>>,

    /// Lines in each list of those who lose most
    #[arg(long, value_name = "N", default_value = "10", value_parser = whole(0..=MOST_LINES))]
    pub(crate) top: u16,

    /// No progress bar
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_long_help = COMPARE_EXAMPLES)]
pub(crate) struct CompareArgs {
    /// The connections: one of the paper's types, a scenario file (.toml) or a list of flows (.csv)
    ///
    /// real, real-reverse, short and 10m are the types of traffic in Braud, Heusse and Duda, "The Virtue of Gentleness"
    /// (IFIP Networking 2018, Table III), with their links. They run between today's hosts unless --profile says otherwise; a
    /// scenario file keeps the hosts it names.
    #[arg(long, value_name = "TYPE|FILE", default_value = BUILTIN[0], value_hint = ValueHint::FilePath)]
    pub(crate) traffic: Traffic,

    /// The connections of a packet capture, over a link of --rate both ways; repeat for several captures of one trace
    ///
    /// Any capture that gentle analyze reads; - is standard input. What was inferred, and what could not be used, is said
    /// below the table.
    #[arg(long, value_name = "CAPTURE", conflicts_with = "traffic", requires = "rate", value_hint = ValueHint::FilePath)]
    pub(crate) from: Vec<PathBuf>,

    /// A scheme with options, as in "codel target=20ms"; repeat for more [default: those that the paper compares]
    ///
    /// gentle schemes lists them. A scenario file may bring a list of its own, which is then the default.
    #[arg(long = "scheme", value_name = "SPEC")]
    pub(crate) schemes: Vec<Spec>,

    /// The scheme that the others are compared with, seed by seed [default: the first]
    #[arg(long, value_name = "SPEC")]
    pub(crate) reference: Option<Spec>,

    /// How many seeds to run each scheme with
    #[arg(long, value_name = "N", default_value = "5", value_parser = whole(1..=MOST_SEEDS))]
    pub(crate) seeds: u32,

    #[command(flatten)]
    pub(crate) capture: CaptureArgs,

    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,

    #[command(flatten)]
    pub(crate) record: RecordArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Where records of runs go.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Output")]
pub(crate) struct RecordArgs {
    /// Write a file for each run into this folder, for gentle merge
    #[arg(long = "record", value_name = "DIR", value_hint = ValueHint::DirPath, id = "record")]
    pub(crate) directory: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
#[command(after_long_help = MERGE_EXAMPLES)]
pub(crate) struct MergeArgs {
    /// Folders that --record wrote, or single files of them
    ///
    /// The runs have to be of one scenario, made by the same version of gentle. Their order does not matter, and a run that is
    /// there twice counts once.
    #[arg(value_name = "DIR", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) records: Vec<PathBuf>,

    /// The scheme that the others are compared with, seed by seed [default: that of the comparisons]
    #[arg(long, value_name = "SPEC")]
    pub(crate) reference: Option<Spec>,

    #[command(flatten)]
    pub(crate) form: FormArgs,
}

/// How connections are taken from a capture.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "With --from")]
pub(crate) struct CaptureArgs {
    /// Addresses behind the link; data towards them goes down [default: data from servers goes down]
    #[arg(long, value_name = "PREFIX", value_parser = prefix)]
    pub(crate) local: Vec<IpNet>,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SimArgs {
    /// The scenario: one of the paper's types, a scenario file (docs/scenarios.md) or a list of flows (.csv)
    #[arg(value_name = "TYPE|FILE", value_parser = scenario, value_hint = ValueHint::FilePath)]
    pub(crate) traffic: Traffic,

    /// The queue under test, in place of the one that the file names
    #[arg(long, value_name = "SPEC")]
    pub(crate) scheme: Option<Spec>,

    /// How many seeds to run it with
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole(1..=MOST_SEEDS))]
    pub(crate) seeds: u32,

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
    #[arg(long, value_name = "NAME", value_parser = profiles())]
    pub(crate) profile: Option<String>,

    /// Override a knob of the TCP profile, as in initial_rto=3s (see gentle profiles); repeat for more
    #[arg(long = "tcp", value_name = "KNOB=VALUE", value_parser = knob)]
    pub(crate) knobs: Vec<(String, String)>,

    /// Rate of the link under test, as in 20mbit
    ///
    /// Arrivals come as much faster, so that the load of the link stays, and the limits of buffers grow with it, except of
    /// schemes given with --scheme. Lists of flows and captures stay as they are.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) rate: Option<Rate>,

    /// Rate of the way back [default: in proportion to --rate]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) up_rate: Option<Rate>,

    /// What arrivals ask of the link under test, in percent of its rate, as in 88% [default: what the scenario has]
    #[arg(long, value_name = "PERCENT")]
    pub(crate) load: Option<Load>,

    /// Number of the first seed
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole(0..=u64::MAX))]
    pub(crate) first_seed: u64,
}

/// Where results and packets go.
#[derive(Debug, ClapArgs)]
pub(crate) struct OutputArgs {
    #[command(flatten)]
    pub(crate) results: ResultArgs,

    /// Write the packets of the first seed as pcapng; of several schemes, one file each (NAME-SCHEME.pcapng)
    ///
    /// Each direction has three interfaces: entry (offered to the queue), exit (sent) and drop (with a comment that says
    /// why). The first seed is simulated once more for it, with the same outcome.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) pcap: Option<PathBuf>,
}

/// Forms of results.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Output")]
pub(crate) struct FormArgs {
    /// Print JSON instead of a table (schema: docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Write a row for each scheme and seed
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) csv: Option<PathBuf>,

    /// Write a page with plots that opens without a network
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
}

/// Where results go.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Output")]
pub(crate) struct ResultArgs {
    #[command(flatten)]
    pub(crate) form: FormArgs,

    /// Upper ends of the ranges of connection sizes, in segments
    #[arg(long, value_name = "N[,N...]", default_value_t = Bins(DEFAULT_BINS.to_vec()))]
    pub(crate) bins: Bins,

    /// How many threads to use [default: one for each core]
    #[arg(long, value_name = "N", value_parser = whole(1..=MOST_THREADS))]
    pub(crate) threads: Option<u16>,

    /// No progress bars
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SchemesArgs {
    /// Show this one with its options
    #[arg(value_parser = PossibleValuesParser::new(registry::SCHEMES.iter().map(|scheme| scheme.name)))]
    pub(crate) name: Option<String>,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ProfilesArgs {
    /// Show this one with its knobs
    #[arg(value_parser = profiles())]
    pub(crate) name: Option<String>,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SchemaArgs {
    /// Of which command
    #[arg(value_name = "COMMAND")]
    pub(crate) of: Output,
}

/// What has a JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// gentle analyze; with --per-file each line
    Analyze,
    /// gentle compare, gentle sim, gentle testbed run and gentle testbed compare
    Compare,
    /// gentle qdisc show; with --watch each line
    #[cfg(target_os = "linux")]
    QdiscShow,
    /// gentle testbed check
    #[cfg(target_os = "linux")]
    TestbedCheck,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CompletionsArgs {
    /// For which shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ManArgs {
    /// The folder to write gentle.1, gentle-compare.1 and so on into
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) directory: PathBuf,
}

/// What `--traffic` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Traffic {
    /// One of the scenarios that come with the program.
    Builtin(&'static str),
    /// A scenario file.
    Scenario(PathBuf),
    /// A list of flows.
    Flows(PathBuf),
}

impl FromStr for Traffic {
    type Err = String;

    fn from_str(text: &str) -> Result<Traffic, String> {
        if let Some(name) = BUILTIN.iter().find(|name| **name == text) {
            return Ok(Traffic::Builtin(name));
        }
        match ending(text) {
            Some("toml") => Ok(Traffic::Scenario(text.into())),
            Some("csv") => Ok(Traffic::Flows(text.into())),
            _ => Err(format!(
                "expected {}, a scenario file ending in .toml or a list of flows ending in .csv{}",
                BUILTIN.join(", "),
                suggestion(text, BUILTIN)
            )),
        }
    }
}

/// What `gentle sim` runs: a scenario file may have any name there.
fn scenario(text: &str) -> Result<Traffic, String> {
    match text.parse() {
        Err(_) if Path::new(text).exists() => Ok(Traffic::Scenario(text.into())),
        traffic => traffic,
    }
}

/// Where `--connections` goes, and in which format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableFile {
    pub(crate) path: PathBuf,
    pub(crate) format: TableFormat,
}

/// The formats that a row for each connection can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableFormat {
    Csv,
    Parquet,
}

impl FromStr for TableFile {
    type Err = String;

    fn from_str(text: &str) -> Result<TableFile, String> {
        let format = match ending(text) {
            _ if is_stdout(Path::new(text)) => TableFormat::Csv,
            Some("csv") => TableFormat::Csv,
            Some("parquet") => TableFormat::Parquet,
            _ => return Err("expected a name that ends in .csv or .parquet".to_owned()),
        };
        Ok(TableFile {
            path: text.into(),
            format,
        })
    }
}

/// Where `--flows` goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FlowsFile(pub(crate) PathBuf);

impl FromStr for FlowsFile {
    type Err = String;

    fn from_str(text: &str) -> Result<FlowsFile, String> {
        match ending(text) {
            _ if is_stdout(Path::new(text)) => Ok(FlowsFile(text.into())),
            Some("csv") => Ok(FlowsFile(text.into())),
            _ => Err(
                "expected a name that ends in .csv, as gentle compare --traffic does".to_owned(),
            ),
        }
    }
}

fn ending(path: &str) -> Option<&str> {
    Path::new(path)
        .extension()
        .and_then(|ending| ending.to_str())
}

/// Upper ends of ranges of sizes, ascending, from 1 on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bins(pub(crate) Vec<u64>);

impl FromStr for Bins {
    type Err = String;

    fn from_str(text: &str) -> Result<Bins, String> {
        let bins: Result<Vec<u64>, _> = text.split(',').map(|bin| bin.trim().parse()).collect();
        bins.ok()
            .filter(|bins| bins.first() != Some(&0) && bins.is_sorted_by(|a, b| a < b))
            .map(Bins)
            .ok_or_else(|| {
                "expected sizes in ascending order, from 1 on, such as 3,10,100".to_owned()
            })
    }
}

impl fmt::Display for Bins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bins: Vec<String> = self.0.iter().map(u64::to_string).collect();
        f.write_str(&bins.join(","))
    }
}

/// A share of the rate of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Load(pub(crate) f64);

impl FromStr for Load {
    type Err = String;

    fn from_str(text: &str) -> Result<Load, String> {
        let percent = text
            .strip_suffix('%')
            .and_then(|number| number.trim().parse::<f64>().ok());
        percent
            .filter(|percent| (0.1..=1000.0).contains(percent))
            .map(|percent| Load(percent / 100.0))
            .ok_or_else(|| {
                "expected a share of the rate in percent, 0.1% to 1000%, as in 88%".to_owned()
            })
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

fn memory_limit(text: &str) -> Result<u64, String> {
    let size = parse_size(text).map_err(|error| format!("{error}"))?;
    if size < Options::LEAST_MEMORY {
        let least = format_size(Options::LEAST_MEMORY);
        return Err(format!("expected at least {least}"));
    }
    Ok(size)
}

fn direction() -> impl TypedValueParser<Value = DirectionBy> {
    PossibleValuesParser::new([
        PossibleValue::new("initiator").help("From the side that sent the SYN, and towards it"),
        PossibleValue::new("interface").help("By the interface of the capture"),
        PossibleValue::new("local").help("From the addresses of --local, and towards them"),
    ])
    .map(|name| match name.as_str() {
        "initiator" => DirectionBy::Initiator,
        "interface" => DirectionBy::Interface,
        _ => DirectionBy::Local,
    })
}

fn vantage() -> impl TypedValueParser<Value = VantagePoint> {
    let places = [
        VantagePoint::Client,
        VantagePoint::Server,
        VantagePoint::Middle,
    ];
    PossibleValuesParser::new(places.map(VantagePoint::name)).map(move |name| {
        let place = places.into_iter().find(|place| place.name() == name);
        place.expect("one of the possible values")
    })
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

/// The command as it is parsed and completed.
pub(crate) fn command() -> clap::Command {
    refined(Args::command())
}

fn refined(command: clap::Command) -> clap::Command {
    command
        .mut_args(|arg| completion::completed(with_quantity(arg)))
        .mut_subcommands(refined)
}

/// Names of values that are numbers.
const NUMBERS: [&str; 8] = [
    "RATE", "TIME", "SIZE", "GAP", "N", "N[,N...]", "PERCENT", "BYTES",
];

/// `--rate -5mbit` is a mistake about a rate, not an unknown option `-5`.
fn with_quantity(arg: Arg) -> Arg {
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

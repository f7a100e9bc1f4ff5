//! The flags of `gentle rexmit`.

use super::values::{prefix, whole};
use clap::{ArgGroup, Args as ClapArgs, Subcommand, ValueHint};
use gentle_rexmit::{Ports, Timing};
use gentle_units::Nanos;
use ipnet::IpNet;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  gentle rexmit -d 200 -r 3 -c -p 80      the tool of handshake-2009, section 4, as it was
  gentle rexmit -c                        what this host opens, with a delay learned for each network
  gentle rexmit -c --dry-run              only say what it would do and save
  gentle rexmit -c -s --edge -i wan0      a router, for both directions
  gentle rexmit kernel install -c -d 200  this host's own connections, inside the kernel
  gentle rexmit kernel remove
  gentle rexmit status

Options without a command are those of gentle rexmit wire. It ends on Ctrl-C or SIGTERM and leaves nothing behind. It
needs CAP_NET_RAW, and gives up all capabilities, root and the file system but for its own files once it listens.

Exit codes: 0 stopped by SIGTERM or Ctrl-C, 1 failure, 2 wrong usage.";

const KERNEL_HELP: &str = "\
A BPF program on a control group gives TCP another initial RTO. It stays until it is removed or the system boots. It needs
CAP_BPF and CAP_NET_ADMIN. How often TCP repeats a packet is set by net.ipv4.tcp_syn_retries and
net.ipv4.tcp_synack_retries.";

#[derive(Debug, ClapArgs)]
#[command(after_long_help = EXAMPLES)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct RexmitArgs {
    #[command(subcommand)]
    pub(crate) command: Option<RexmitCommand>,

    #[command(flatten)]
    pub(crate) wire: RexmitWireArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RexmitCommand {
    /// Watch handshakes on a network device and send copies of packets that nothing answers (the default)
    Wire(Box<RexmitWireArgs>),
    /// Have this host's TCP send lost SYNs and SYN/ACKs again sooner
    #[command(subcommand)]
    Kernel(RexmitKernelCommand),
    /// Show what both engines do: what was learned, sent and saved, what is installed
    Status(RexmitStatusArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum RexmitKernelCommand {
    /// Install it, or replace what is installed
    #[command(after_long_help = KERNEL_HELP)]
    Install(RexmitKernelInstallArgs),
    /// Show what is installed
    Status(RexmitKernelStatusArgs),
    /// Remove it
    Remove(RexmitKernelRemoveArgs),
}

/// The wire engine.
#[derive(Debug, ClapArgs)]
pub(crate) struct RexmitWireArgs {
    #[command(flatten)]
    pub(crate) handshakes: HandshakeArgs,

    /// Packets with data (TCP Fast Open) too
    #[arg(long)]
    pub(crate) with_data: bool,

    #[command(flatten)]
    pub(crate) delay: DelayArgs,

    #[command(flatten)]
    pub(crate) series: SeriesArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,

    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RexmitKernelInstallArgs {
    #[command(flatten)]
    pub(crate) handshakes: HandshakeArgs,

    #[command(flatten)]
    pub(crate) delay: DelayArgs,

    /// The control group whose sockets are served [default: the root, all sockets of this host]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Place")]
    pub(crate) cgroup: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RexmitKernelStatusArgs {
    /// Print JSON instead of tables (schema: docs/rexmit.md)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RexmitKernelRemoveArgs {
    /// Only from this control group [default: from all]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cgroup: Option<PathBuf>,
}

/// Which packets.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Which handshakes")]
#[command(group = ArgGroup::new("sides").multiple(true).required(true).args(["client", "server"]))]
pub(crate) struct HandshakeArgs {
    /// The client's side: SYNs that leave
    #[arg(long, short)]
    pub(crate) client: bool,

    /// The server's side: SYN/ACKs that leave
    #[arg(long, short)]
    pub(crate) server: bool,

    /// Ports of servers, as in 80,443 or 8000-8099; repeat for more [default: all]
    #[arg(
        id = "port",
        long = "port",
        short = 'p',
        value_name = "PORT",
        value_delimiter = ','
    )]
    pub(crate) ports: Vec<Ports>,

    /// Only with these addresses at the other end, as in 192.0.2.0/24; repeat for more
    #[arg(long, value_name = "PREFIX", value_parser = prefix)]
    pub(crate) only: Vec<IpNet>,

    /// Not with these, whatever else is said; repeat for more
    #[arg(long, value_name = "PREFIX", value_parser = prefix)]
    pub(crate) except: Vec<IpNet>,
}

/// After which delay. Bounds that are not given are those of [`Timing::LEARNED`].
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Delay")]
pub(crate) struct DelayArgs {
    /// Always wait this long for an answer, in milliseconds, or with a unit [default: learned for each network]
    #[arg(long, short, value_name = "TIME", value_parser = milliseconds)]
    pub(crate) delay: Option<Nanos>,

    #[arg(long, value_name = "TIME", value_parser = milliseconds, conflicts_with = "delay")]
    #[arg(help = format!("Where nothing has been learned yet [default: {}]", Timing::LEARNED.initial))]
    pub(crate) initial: Option<Nanos>,

    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    #[arg(help = format!("Never less than this, where it is learned [default: {}]", Timing::LEARNED.min))]
    pub(crate) min: Option<Nanos>,

    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    #[arg(help = format!("Never more than this [default: {}]", Timing::LEARNED.max))]
    pub(crate) max: Option<Nanos>,

    /// More careful, for a gateway that all traffic of a network passes: longer delays, also than --delay where that was learned
    #[arg(long)]
    pub(crate) edge: bool,

    /// What a wire engine has learned, from run to run: it keeps this file, the kernel engine takes its delays from it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) learned: Option<PathBuf>,
}

/// The copies of one packet after each other, and how long learned delays hold.
#[derive(Debug, ClapArgs)]
pub(crate) struct SeriesArgs {
    /// Each copy waits so many times as long as the one before [default: 1 with --delay, else 2]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=8))]
    pub(crate) backoff: Option<u32>,

    /// Up to so many per cent longer, by chance [default: 0 with --delay, else 10]
    #[arg(long, value_name = "PERCENT", value_parser = whole::<u8>(0..=100))]
    pub(crate) jitter: Option<u8>,

    /// Forget what was learned of a network after this long without a new handshake
    #[arg(long, value_name = "TIME", default_value = "3600s", value_parser = age)]
    pub(crate) age: Nanos,
}

/// How much.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Copies of a packet at most, 0 to 10 [default: 3]
    #[arg(id = "retries", long = "retries", short = 'r', value_name = "N", value_parser = whole::<u32>(0..=10))]
    pub(crate) copies: Option<u32>,

    /// Send every packet twice, the second after this gap, on top of the copies
    #[arg(long, value_name = "GAP", value_parser = milliseconds)]
    pub(crate) duplicate: Option<Nanos>,

    /// Copies and duplicates per second at most
    #[arg(long, value_name = "N", default_value = "1000", value_parser = whole::<u32>(1..=1_000_000))]
    pub(crate) budget: u32,

    /// Copies per hundred handshakes at most, after the first hundred copies
    #[arg(long, value_name = "PERCENT", default_value = "25", value_parser = whole::<u32>(1..=1_000))]
    pub(crate) share: u32,

    /// Leave a host alone after so many handshakes in a row without an answer, until it answers; 0: never
    #[arg(long, value_name = "N", default_value = "5", value_parser = whole::<u32>(0..=u32::MAX))]
    pub(crate) give_up: u32,

    /// Handshakes remembered at a time; beyond them the oldest is forgotten, and counted
    #[arg(long, value_name = "N", default_value = "65536", value_parser = whole::<u32>(1..=16_777_216))]
    pub(crate) table: u32,

    /// Send nothing; count what would have been sent and saved
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// After which time the stack sends a packet again itself: what savings are measured by
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = milliseconds)]
    pub(crate) stack_rto: Nanos,
}

/// Where, and what is reported.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Place and output")]
pub(crate) struct PlaceArgs {
    /// The network device on which the packets leave [default: that of the default route]
    #[arg(long, short, value_name = "DEV")]
    pub(crate) interface: Option<String>,

    /// A JSON object a line on standard output for every copy and what came of it (schema: docs/rexmit-wire.md)
    #[arg(long)]
    pub(crate) log_json: bool,

    /// Write counters for Prometheus (node_exporter's textfile collector) every ten seconds; removed at the end
    #[arg(long, value_name = "FILE.prom", value_hint = ValueHint::FilePath)]
    pub(crate) metrics: Option<PathBuf>,

    /// Where it can be asked for its status
    #[arg(long, value_name = "DIR", default_value = RUN, value_hint = ValueHint::DirPath)]
    pub(crate) run_dir: PathBuf,

    /// Run as this user once it listens; the files that it writes have to be theirs [default: nobody where root starts it]
    #[arg(long, value_name = "USER", value_hint = ValueHint::Username)]
    pub(crate) user: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RexmitStatusArgs {
    /// Only the one on this network device
    #[arg(long, short, value_name = "DEV")]
    pub(crate) interface: Option<String>,

    /// Print JSON instead of tables (schema: docs/rexmit.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// The --run-dir of those that run [default: /run/gentle-rexmit, and those of services]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) run_dir: Option<PathBuf>,
}

pub(crate) const RUN: &str = "/run/gentle-rexmit";

/// A time; a number without a unit is in milliseconds, as in the paper's call.
fn milliseconds(text: &str) -> Result<Nanos, String> {
    let time = match text.parse::<u32>() {
        Ok(number) => Nanos::from_millis(number.into()),
        Err(_) => text.parse().map_err(|error| format!("{error}"))?,
    };
    let (least, most) = (Nanos::from_millis(1), Nanos::from_secs(60));
    if !(least..=most).contains(&time) {
        return Err(format!("expected {least} to {most}"));
    }
    Ok(time)
}

fn age(text: &str) -> Result<Nanos, String> {
    let time: Nanos = text.parse().map_err(|error| format!("{error}"))?;
    let (least, most) = (Nanos::from_secs(1), Nanos::from_secs(30 * 86_400));
    if !(least..=most).contains(&time) {
        return Err(format!("expected {least} to {most}"));
    }
    Ok(time)
}

//! The flags of `gentle rexmit`.

use super::values::whole;
use clap::{Arg, ArgGroup, Args as ClapArgs, Command, Subcommand, ValueHint};
use gentle_rexmit::{Ports, Timing};
use gentle_trace::prefix;
use gentle_units::Nanos;
use ipnet::IpNet;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  gentle rexmit -c                        SYNs of this host, with a delay learned for each network
  gentle rexmit -c --dry-run              the same, but sends nothing and reports the time it would have saved
  gentle rexmit -c -s --edge -i wan0      on a router, SYNs and SYN/ACKs in both directions
  gentle rexmit -d 200 -r 3 -c -p 80      the syn_optimizer call of Damjanovic et al. 2009, section 4
  gentle rexmit kernel install -c -d 200  SYNs of this host, retransmitted by the kernel itself
  gentle rexmit kernel remove
  gentle rexmit status

Without a command, gentle rexmit runs gentle rexmit wire. It runs until Ctrl-C or SIGTERM and changes nothing on the
system. It needs CAP_NET_RAW to start; once its socket is open it drops all capabilities and root, and restricts
itself to its own files.

Exit codes: 0 stopped by SIGTERM or Ctrl-C, 1 failure, 2 usage error.";

const KERNEL_HELP: &str = "\
A BPF program attached to a control group sets the initial RTO of TCP. It stays until it is removed or the system
reboots. Installing it needs CAP_BPF and CAP_NET_ADMIN. The number of retransmissions stays as set in
net.ipv4.tcp_syn_retries and net.ipv4.tcp_synack_retries.";

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
    /// Watch handshakes on a network device and retransmit unanswered packets (the default)
    Wire(Box<RexmitWireArgs>),
    /// Lower the initial RTO of this host's TCP by a BPF program
    #[command(subcommand)]
    Kernel(RexmitKernelCommand),
    /// Show the status of both engines: learned delays, packets sent, time saved, installed programs
    Status(RexmitStatusArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum RexmitKernelCommand {
    /// Install the BPF program, or replace the one installed
    #[command(after_long_help = KERNEL_HELP)]
    Install(RexmitKernelInstallArgs),
    /// Show the installed programs
    Status(RexmitKernelStatusArgs),
    /// Remove the installed programs
    Remove(RexmitKernelRemoveArgs),
}

/// The wire engine.
#[derive(Debug, ClapArgs)]
pub(crate) struct RexmitWireArgs {
    #[command(flatten)]
    pub(crate) handshakes: HandshakeArgs,

    /// Also retransmit packets with data (TCP Fast Open)
    #[arg(long)]
    pub(crate) with_data: bool,

    #[command(flatten)]
    pub(crate) delay: DelayArgs,

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

    /// Control group whose sockets are affected [default: the root group, all sockets of this host]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Place")]
    pub(crate) cgroup: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RexmitKernelStatusArgs {
    /// Print JSON instead of tables (fields: docs/reference/rexmit.md)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RexmitKernelRemoveArgs {
    /// Remove only from this control group [default: from all]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cgroup: Option<PathBuf>,
}

/// Packets to retransmit.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Which handshakes")]
#[command(group = ArgGroup::new("sides").multiple(true).required(true).args(["client", "server"]))]
pub(crate) struct HandshakeArgs {
    /// Retransmit outgoing SYNs (client side)
    #[arg(long, short)]
    pub(crate) client: bool,

    /// Retransmit outgoing SYN/ACKs (server side)
    #[arg(long, short)]
    pub(crate) server: bool,

    /// Server ports, such as 80,443 or 8000-8099; repeatable [default: all]
    #[arg(id = "port", long = "port", short = 'p', value_name = "PORT", value_delimiter = ',')]
    pub(crate) ports: Vec<Ports>,

    /// Only handshakes with these remote addresses, such as 192.0.2.0/24; repeatable
    #[arg(long, value_name = "PREFIX", value_parser = prefix)]
    pub(crate) only: Vec<IpNet>,

    /// No handshakes with these remote addresses; overrides all other selections; repeatable
    #[arg(long, value_name = "PREFIX", value_parser = prefix)]
    pub(crate) except: Vec<IpNet>,
}

/// Delay before a retransmission. Bounds default to [`Timing::LEARNED`].
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Delay")]
pub(crate) struct DelayArgs {
    /// Fixed delay before a retransmission, in milliseconds or with a unit [default: learned for each network]
    #[arg(long, short, value_name = "TIME", value_parser = milliseconds)]
    pub(crate) delay: Option<Nanos>,

    #[arg(long, value_name = "TIME", value_parser = milliseconds, conflicts_with = "delay")]
    #[arg(help = format!("Delay for networks without measurements [default: {}]", Timing::LEARNED.initial))]
    pub(crate) initial: Option<Nanos>,

    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    #[arg(help = format!("Lower bound of learned delays [default: {}]", Timing::LEARNED.min))]
    pub(crate) min: Option<Nanos>,

    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    #[arg(help = format!("Upper bound of all delays [default: {}]", Timing::LEARNED.max))]
    pub(crate) max: Option<Nanos>,

    /// Use longer delays, for a gateway that carries all traffic of a network; a longer learned delay overrides --delay
    #[arg(long)]
    pub(crate) edge: bool,

    /// File of learned delays: the wire engine reads and updates it, the kernel engine only reads it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) learned: Option<PathBuf>,
}

/// Limits.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Maximum number of retransmissions of a packet, 0 to 10 [default: 3]
    #[arg(id = "retries", long = "retries", short = 'r', value_name = "N", value_parser = whole::<u32>(0..=10))]
    pub(crate) copies: Option<u32>,

    /// Send nothing; count what would have been sent, and the time it would have saved
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Settings file: further limits, backoff, jitter (keys: docs/reference/rexmit.md)
    #[arg(long, value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    pub(crate) settings: Option<PathBuf>,
}

/// Network device, and reporting.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Place and output")]
pub(crate) struct PlaceArgs {
    /// Network device on which the packets leave [default: the device of the default route]
    #[arg(long, short, value_name = "DEV")]
    pub(crate) interface: Option<String>,

    /// Print a JSON line for every retransmission and its outcome (fields: docs/reference/rexmit.md)
    #[arg(long)]
    pub(crate) log_json: bool,

    /// Write counters for Prometheus (node_exporter's textfile collector) every ten seconds; removed on exit
    #[arg(long, value_name = "FILE.prom", value_hint = ValueHint::FilePath)]
    pub(crate) metrics: Option<PathBuf>,

    /// Directory of the status socket
    #[arg(long, value_name = "DIR", default_value = RUN, value_hint = ValueHint::DirPath)]
    pub(crate) run_dir: PathBuf,

    /// User to switch to once the socket is open; must be able to write the files named above [default: nobody if started
    /// by root]
    #[arg(long, value_name = "USER", value_hint = ValueHint::Username)]
    pub(crate) user: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RexmitStatusArgs {
    /// Show only the engine on this network device
    #[arg(long, short, value_name = "DEV")]
    pub(crate) interface: Option<String>,

    /// Print JSON instead of tables (fields: docs/reference/rexmit.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Directory given to the engines with --run-dir [default: /run/gentle-rexmit, and the directories of the systemd
    /// units]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) run_dir: Option<PathBuf>,
}

pub(crate) const RUN: &str = "/run/gentle-rexmit";

/// Reads a time of 1 ms to 60 s; a number without a unit is in milliseconds, as for `syn_optimizer` (Damjanovic et al.
/// 2009, section 4).
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

/// Former options that are now keys of the settings file.
const MOVED: [&str; 9] = ["backoff", "jitter", "age", "duplicate", "budget", "share", "give-up", "table", "stack-rto"];

/// Rejects options of earlier versions; the error names the key that replaces each.
pub(super) fn with_moved_options(command: Command) -> Command {
    let moved = |name| {
        let sentence = format!("now the key {name} of the --settings file (docs/reference/rexmit.md)");
        Arg::new(name).long(name).hide(true).value_parser(move |_: &str| Err::<String, _>(sentence.clone()))
    };
    command.args(MOVED.map(moved)).mut_subcommand("wire", |wire| wire.args(MOVED.map(moved)))
}

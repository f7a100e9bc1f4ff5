//! Options of `gentle watch`.

use super::probe::endpoint;
use super::values::{time, whole};
use super::{NamesArgs, memory_limit, vantage};
use clap::{Args as ClapArgs, ValueHint};
use gentle_trace::{VantagePoint, prefix};
use gentle_units::{Nanos, format_size, parse_size};
use gentle_watch::LEAST_RING;
use ipnet::IpNet;
use std::net::SocketAddr;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  gentle watch                                   the device of the default route, in a terminal view
  gentle watch -i any --port 443                 all devices, one port
  gentle watch --plain | tee slow.log            a line per slow or failed attempt, and a summary every 10 s
  gentle watch --json | jq 'select(.type == \"attempt\" and .waited_s > 1)'
  gentle watch --plain --listen 127.0.0.1:9781   metrics for Prometheus
  kubectl get services,pods,endpointslices -A -o json | gentle watch --names - -i any   names of services and pods
  gentle watch --ring /var/log/gentle            keeps the packets around each slow or failed attempt

An attempt counts when its handshake has been quiet for 3.5 s. Causes are those of gentle analyze.

gentle watch needs CAP_NET_RAW and sends nothing. As root, it also counts the kernel's reasons for dropped packets, in a \
tracefs instance that it removes at the end. The rules, fields, metrics and limits are in docs/reference/watch.md.

Keys of the view: q quits, 1 2 3 choose the window, arrows a cause, Enter explains it, Tab changes the list, ? helps.

Exit codes: 0 stopped by q, Ctrl-C or SIGTERM, 1 failure, 2 usage error.";

#[derive(Debug, ClapArgs)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct WatchArgs {
    /// Network device, or "any" for all [default: the device of the default route]
    #[arg(long, short, value_name = "DEV")]
    pub(crate) interface: Option<String>,

    /// Only packets from or to this address or prefix; repeatable
    #[arg(long = "host", value_name = "PREFIX", value_parser = prefix)]
    pub(crate) hosts: Vec<IpNet>,

    /// Only packets from or to this port; repeatable
    #[arg(long = "port", short, value_name = "PORT", value_parser = whole(1..=u16::MAX))]
    pub(crate) ports: Vec<u16>,

    /// Position of this device [default: inferred for each connection]
    #[arg(long, value_name = "PLACE", value_parser = vantage())]
    pub(crate) vantage: Option<VantagePoint>,

    #[command(flatten)]
    pub(crate) names: NamesArgs,

    /// Print lines instead of the terminal view; the default if standard output is no terminal
    #[arg(long)]
    pub(crate) plain: bool,

    /// Print JSON lines: attempts, summaries, counters of the host (fields: gentle schema watch)
    #[arg(long, conflicts_with = "plain")]
    pub(crate) json: bool,

    /// Interval of summaries in lines, 1s to 3600s
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = interval)]
    pub(crate) interval: Nanos,

    /// Length of the lists of servers, prefixes and ports
    #[arg(long, value_name = "N", default_value = "10", value_parser = whole::<u16>(1..=1000))]
    pub(crate) top: u16,

    /// Serve metrics at http://ADDR:PORT/metrics, in the OpenMetrics text format
    #[arg(long, value_name = "ADDR:PORT", value_parser = endpoint)]
    pub(crate) listen: Option<SocketAddr>,

    /// Keep the packets around each slow or failed attempt in pcapng files in this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) ring: Option<PathBuf>,

    /// Maximum size of all files in the directory of --ring; the oldest are removed
    #[arg(long, value_name = "SIZE", default_value = "64mb", value_parser = ring_size, requires = "ring")]
    pub(crate) ring_size: u64,

    /// Memory for connections and statistics
    #[arg(long, value_name = "SIZE", default_value = "64mb", value_parser = memory_limit)]
    pub(crate) memory_limit: u64,
}

fn interval(text: &str) -> Result<Nanos, String> {
    time(text, Nanos::from_secs(1)..=Nanos::from_secs(3_600))
}

fn ring_size(text: &str) -> Result<u64, String> {
    let size = parse_size(text).map_err(|error| format!("{error}"))?;
    match size < LEAST_RING {
        true => Err(format!("expected at least {}", format_size(LEAST_RING))),
        false => Ok(size),
    }
}

//! Options of `gentle probe`.

use super::values::{time, whole};
use clap::Args as ClapArgs;
use gentle_probe::Target;
use gentle_units::Nanos;
use std::net::SocketAddr;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  gentle probe example.com:443                      one connect per second until Ctrl-C
  gentle probe -c 600 --rate 10 example.com:443     600 connects in a minute
  gentle probe -4 web.example:443 mail.example:25 '[2001:db8::1]:22'
  gentle probe --json -c 60 example.com:443 | jq 'select(.lost_syns > 0)'
  gentle probe -q --listen 127.0.0.1:9780 example.com:443   metrics for Prometheus

A name is probed at its first IPv4 and its first IPv6 address. Servers see connections that send nothing. SYN lost: on
the path, or ignored by the server, as servers with a full listen queue do. The rules are in docs/reference/probe.md.

Exit codes: 0 every target was reached at least once, 1 a target never was, or a failure, 2 usage error, 130 stopped by
Ctrl-C before the connects of --count had ended (143: by SIGTERM). Without --count, Ctrl-C is the normal end.";

/// Range of `--rate`, connects per second. Above, closed connections to one address and port would use up the local ports: each
/// keeps one for a minute, and 28,232 are available by default.
const RATES: (f64, f64) = (0.001, 400.0);

#[derive(Debug, ClapArgs)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ProbeArgs {
    /// Host and port to connect to, such as example.com:443; an IPv6 address in brackets
    #[arg(value_name = "HOST:PORT", required = true)]
    pub(crate) targets: Vec<Target>,

    /// Connects per second to each address, 0.001 to 400; at most 1000 to all addresses together
    #[arg(long, short, value_name = "N", default_value = "1", value_parser = connects_per_second)]
    pub(crate) rate: f64,

    /// Number of connects to each address [default: until Ctrl-C]
    #[arg(long, short, value_name = "N", value_parser = whole::<u64>(1..=1_000_000_000))]
    pub(crate) count: Option<u64>,

    /// Time after which a connect has failed, 100ms to 120s; the default covers SYNs after 1, 3 and 7 s
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = timeout)]
    pub(crate) timeout: Duration,

    /// Probe IPv4 addresses only
    #[arg(long, short = '4', conflicts_with = "ipv6")]
    pub(crate) ipv4: bool,

    /// Probe IPv6 addresses only
    #[arg(long, short = '6')]
    pub(crate) ipv6: bool,

    /// Serve metrics at http://ADDR:PORT/metrics, in the OpenMetrics text format
    #[arg(long, value_name = "ADDR:PORT", value_parser = endpoint)]
    pub(crate) listen: Option<SocketAddr>,

    /// Print a JSON line for each connect, and last the summary (fields: gentle schema probe)
    #[arg(long)]
    pub(crate) json: bool,

    /// Print only the summary
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

fn connects_per_second(text: &str) -> Result<f64, String> {
    let (least, most) = RATES;
    let rate = text.parse().ok().filter(|rate| (least..=most).contains(rate));
    rate.ok_or_else(|| format!("expected connects per second, {least} to {most}"))
}

fn timeout(text: &str) -> Result<Duration, String> {
    let time = time(text, Nanos::from_millis(100)..=Nanos::from_secs(120))?;
    Ok(Duration::from_nanos(time.0))
}

pub(super) fn endpoint(text: &str) -> Result<SocketAddr, String> {
    let address = text.parse().ok().filter(|address: &SocketAddr| address.port() > 0);
    address.ok_or_else(|| "expected an address of this host and a port, such as 127.0.0.1:9780".to_owned())
}

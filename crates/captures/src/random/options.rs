//! Command-line options.

use crate::file::Format;
use crate::network::Place;
use clap::Parser;
use gentle_units::Nanos;
use std::path::PathBuf;

/// Write a synthetic capture of TCP connections that lose packets.
#[derive(Debug, Parser)]
#[command(name = "generate")]
pub struct Options {
    /// Capture to write; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
    /// File for the truth about the capture, as JSON; standard error if absent
    #[arg(long, value_name = "FILE")]
    pub truth: Option<PathBuf>,
    /// Format
    #[arg(long, value_enum, default_value_t = Format::Pcap)]
    pub format: Format,
    /// Bytes kept of each frame
    #[arg(long, value_name = "BYTES", default_value_t = 96, value_parser = clap::value_parser!(u32).range(64..=65_535))]
    pub snaplen: u32,
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Connections, with a metric suffix if you like: 400k
    #[arg(long, value_name = "N", default_value = "10k", value_parser = count)]
    pub connections: u64,
    /// Packets to aim at, by the sizes of the connections; hit to within some percent
    #[arg(long, value_name = "N", default_value = "150k", value_parser = count)]
    pub packets: u64,
    /// Time over which connections start
    #[arg(long, value_name = "TIME", default_value = "300s")]
    pub span: Nanos,
    /// Hosts that connect
    #[arg(long, value_name = "N", default_value = "20k", value_parser = count)]
    pub clients: u64,
    /// Hosts that listen
    #[arg(long, value_name = "N", default_value = "2k", value_parser = count)]
    pub servers: u64,
    /// Share of servers that speak IPv6
    #[arg(long, value_name = "SHARE", default_value_t = 0.15, value_parser = share)]
    pub ipv6: f64,
    /// 802.1Q tag on every frame
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u16).range(1..=4094))]
    pub vlan: Option<u16>,
    /// Probability that a SYN is lost: in the middle, in half of the cases before it is captured
    #[arg(long, value_name = "SHARE", default_value_t = 0.01, value_parser = share)]
    pub syn_loss: f64,
    /// Probability that a SYN/ACK is lost, likewise
    #[arg(long, value_name = "SHARE", default_value_t = 0.01, value_parser = share)]
    pub synack_loss: f64,
    /// Probability that a segment with data or FIN is lost, likewise
    #[arg(long, value_name = "SHARE", default_value_t = 0.005, value_parser = share)]
    pub data_loss: f64,
    /// Probability that any other segment is lost, likewise
    #[arg(long, value_name = "SHARE", default_value_t = 0.002, value_parser = share)]
    pub ack_loss: f64,
    /// Probability that a segment with data is delayed by 1 to 5 ms before it is captured
    #[arg(long, value_name = "SHARE", default_value_t = 0.0005, value_parser = share)]
    pub reorder: f64,
    /// Share of attempts that nobody answers
    #[arg(long, value_name = "SHARE", default_value_t = 0.005, value_parser = share)]
    pub unanswered: f64,
    /// Share of attempts that are answered by an RST
    #[arg(long, value_name = "SHARE", default_value_t = 0.01, value_parser = share)]
    pub refused: f64,
    /// Share of attempts that a router before the server answers by an ICMP message
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    pub rejected: f64,
    /// Share of attempts in which all packets of one side vanish, though the server is alive
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    pub blackholed: f64,
    /// Share of connections with 1.1 to 2.2 s more delay in one direction, as through a bloated queue
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    pub late: f64,
    /// Share of connections whose server's packets are not captured
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    pub one_sided: f64,
    /// Share of connections without TCP timestamps
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    pub no_timestamps: f64,
    /// Vantage point of the capture
    #[arg(long, value_enum, default_value_t = Place::Middle)]
    pub vantage: Place,
    /// Share of clients that close with an RST
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, value_parser = share)]
    pub aborted: f64,
    /// Share of connections whose client sends the data, not the server
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, value_parser = share)]
    pub uploads: f64,
    /// Probability that a frame is captured twice
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    pub capture_duplicates: f64,
    /// Time from a frame to its copy, give or take 5 %; 1 to 50 µs if absent
    #[arg(long, value_name = "TIME", requires = "capture_duplicates")]
    pub copy_delay: Option<Nanos>,
    /// Write this many distinct SYNs, 1 µs apart, and nothing else
    #[arg(long, value_name = "N", value_parser = count)]
    pub syn_flood: Option<u64>,
}

fn share(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "expected a number".to_string())?;
    if (0.0..=1.0).contains(&value) { Ok(value) } else { Err("expected 0 to 1".to_string()) }
}

/// Parses a number with an optional suffix k, M or G: `5.4M`.
fn count(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.strip_suffix(['k', 'M', 'G']) {
        Some(digits) if text.ends_with('k') => (digits, 1e3),
        Some(digits) if text.ends_with('M') => (digits, 1e6),
        Some(digits) => (digits, 1e9),
        None => (text, 1.0),
    };
    let value = digits.parse::<f64>().map_or(f64::NAN, |value| value * factor);
    if (1.0..=1e12).contains(&value.round()) {
        Ok(value.round() as u64)
    } else {
        Err("expected a number from 1 to 1000G, such as 400k or 5.4M".to_string())
    }
}

//! SYN flood: SYNs of distinct attempts, without any answer.

use super::options::Options;
use crate::connection::{CLIENT, Host};
use crate::frame;
use crate::network::Packet;
use anyhow::{Result, ensure};
use gentle_tcp::{Flags, Options as TcpOptions, Segment, Seq};
use gentle_units::{Instant, Nanos};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};

// Offsets of the fields that vary, in Ethernet, IPv4 and TCP headers.
const IP_ID: usize = 18;
const SOURCE: usize = 26;
const SOURCE_PORT: usize = 34;
const SEQ: usize = 38;

const GAP: Nanos = Nanos::from_micros(1);

/// Writes `count` SYNs to one server, from random addresses and ports, into the file of the options; only the first has
/// correct checksums.
///
/// One frame is built and then changed in place, so that the generator is faster than what it is piped into.
///
/// # Errors
/// If `count` is more than 2^32, or the file cannot be written.
pub fn generate_flood(count: u64, options: &Options) -> Result<()> {
    ensure!(count <= 1 << 32, "only 2^32 sequence numbers can distinguish SYNs; expected at most that many");
    let mut capture = super::create(options)?;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(options.seed);
    let host = |address: [u8; 4], port| Host {
        address: IpAddr::V4(Ipv4Addr::from(address)),
        port,
        ttl: 52,
        clock: 0,
        delay: Nanos::ZERO,
    };
    let hosts = [host([10, 0, 0, 1], 1024), host([198, 18, 0, 1], 443)];
    let mut syn = Segment::new(Seq(0), Flags::SYN);
    syn.mss = 1448;
    syn.options |= TcpOptions::TIMESTAMPS;
    syn.options |= TcpOptions::SACK_PERMITTED;
    syn.window = 64_240;
    let mut bytes = Vec::new();
    let snaplen = options.snaplen as usize;
    let whole = frame::write(&Packet::new(CLIENT, syn, 0), hosts.each_ref(), None, snaplen, &mut bytes);
    for number in 0..count {
        let [random, ports] = [rng.random::<u32>(), rng.random::<u32>()];
        bytes[IP_ID..][..2].copy_from_slice(&(ports as u16).to_be_bytes());
        bytes[SOURCE..][..4].copy_from_slice(&random.to_be_bytes());
        bytes[SOURCE_PORT..][..2].copy_from_slice(&((ports >> 16) as u16).to_be_bytes());
        // Multiplication by an odd factor keeps the numbers distinct.
        let seq = (number as u32).wrapping_mul(0x9e37_79b1);
        bytes[SEQ..][..4].copy_from_slice(&seq.to_be_bytes());
        capture.frame(Instant(number * GAP.0), whole, &bytes)?;
    }
    capture.into_inner().flush()?;
    Ok(())
}

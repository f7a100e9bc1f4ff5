//! Speed and memory of the live analysis without its socket: synthetic packets on one thread.
//!
//! ```text
//! throughput new PACKETS              connections of six packets each, 10,000 per second of the packets' time
//! throughput old PACKETS [FLOWS]      data and acknowledgements of connections that stay open
//! throughput day CONNECTIONS          connections of six packets each, spread over 24 hours of the packets' time
//! ```
//!
//! Prints one JSON object: packets, seconds, packets per second, connections decided, and the process's peak memory.

use gentle_capture::RawPacket;
use gentle_trace::Options;
use gentle_trace::live::{Live, Span};
use gentle_units::{Instant, Nanos};
use gentle_wire::LinkType;
use std::process::ExitCode;

/// Memory limit of `gentle watch`.
const MEMORY: u64 = 64_000_000;
/// Time between two calls of [`Live::advance`].
const STEP: Nanos = Nanos::from_millis(100);
/// IPv4 header and TCP header with timestamps, bytes.
const HEADERS: usize = 52;
const FIN: u8 = 1;
const SYN: u8 = 2;
const ACK: u8 = 16;

/// Packets of one connection, as `gentle watch` receives them.
struct Packets {
    bytes: [u8; HEADERS],
    live: Live,
    now: Instant,
    advanced: Instant,
    packets: u64,
    decided: u64,
}

impl Packets {
    fn new() -> Packets {
        let mut bytes = [0; HEADERS];
        bytes[0] = 0x45;
        bytes[8] = 64;
        bytes[9] = 6;
        bytes[32] = 0x80;
        bytes[40..44].copy_from_slice(&[1, 1, 8, 10]);
        let now = Instant::ZERO + Nanos::from_secs(1_800_000_000);
        let options = Options { memory_limit: MEMORY, ..Options::default() };
        Packets { bytes, live: Live::new(&options, now), now, advanced: now, packets: 0, decided: 0 }
    }

    /// Sends a segment of connection number `connection`, from the client if `up`.
    fn send(&mut self, connection: u64, up: bool, flags: u8, seq: u32, ack: u32, payload: u16) {
        // 2^16 clients with 2^15 ports at four servers: numbers repeat after 2^31 connections.
        let client = (connection & 0xffff) as u16;
        let port = 32_768 | (connection >> 16 & 0x7fff) as u16;
        let (clients, servers) = ([10, 1, (client >> 8) as u8, client as u8], [10, 2, 0, (connection & 3) as u8]);
        let ends = if up { [(clients, port), (servers, 443)] } else { [(servers, 443), (clients, port)] };
        let length = HEADERS as u16 + payload;
        let bytes = &mut self.bytes;
        bytes[2..4].copy_from_slice(&length.to_be_bytes());
        bytes[4..6].copy_from_slice(&(self.packets as u16).to_be_bytes());
        bytes[12..16].copy_from_slice(&ends[0].0);
        bytes[16..20].copy_from_slice(&ends[1].0);
        bytes[20..22].copy_from_slice(&ends[0].1.to_be_bytes());
        bytes[22..24].copy_from_slice(&ends[1].1.to_be_bytes());
        bytes[24..28].copy_from_slice(&seq.to_be_bytes());
        bytes[28..32].copy_from_slice(&ack.to_be_bytes());
        bytes[33] = flags;
        bytes[34..36].copy_from_slice(&[0xff; 2]);
        let stamp = self.now.since_origin().as_millis() as u32;
        bytes[44..48].copy_from_slice(&stamp.to_be_bytes());
        let packet = RawPacket {
            time: self.now,
            interface: 2,
            link: LinkType::RAW,
            original_len: u32::from(length),
            data: bytes,
        };
        self.packets += 1;
        let decided = &mut self.decided;
        self.live.packet(&packet, &mut |_| *decided += 1);
        if self.now >= self.advanced + STEP {
            self.advanced = self.now;
            self.live.advance(self.now, &mut |_| *decided += 1);
        }
    }

    /// Six packets of a whole connection, each `apart` after the other.
    fn connection(&mut self, connection: u64, apart: Nanos) {
        let isn = connection as u32;
        let segments = [
            (true, SYN, isn, 0),
            (false, SYN | ACK, 7, isn.wrapping_add(1)),
            (true, ACK, isn.wrapping_add(1), 8),
            (true, FIN | ACK, isn.wrapping_add(1), 8),
            (false, FIN | ACK, 8, isn.wrapping_add(2)),
            (true, ACK, isn.wrapping_add(2), 9),
        ];
        for (up, flags, seq, ack) in segments {
            self.send(connection, up, flags, seq, ack, 0);
            self.now += apart;
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<u64>().ok());
    let (Some(mode), Some(count)) = (arguments.first(), number(1)) else {
        eprintln!("usage: throughput new|old PACKETS, or throughput day CONNECTIONS");
        return ExitCode::from(2);
    };
    let mut packets = Packets::new();
    let began = std::time::Instant::now();
    match mode.as_str() {
        "new" => {
            let apart = Nanos(1_000_000_000 / 60_000);
            (0..count / 6).for_each(|number| packets.connection(number, apart));
        }
        "old" => {
            let flows = number(2).unwrap_or(1_000);
            for flow in 0..flows {
                packets.send(flow, true, SYN, 0, 0, 0);
                packets.send(flow, false, SYN | ACK, 0, 1, 0);
                packets.send(flow, true, ACK, 1, 1, 0);
            }
            for number in 0..count {
                let (flow, round) = (number / 3 % flows, (number / 3 / flows) as u32);
                let end = round.wrapping_mul(2_896).wrapping_add(1);
                match number % 3 {
                    0 => packets.send(flow, false, ACK, end, 1, 1_448),
                    1 => packets.send(flow, false, ACK, end.wrapping_add(1_448), 1, 1_448),
                    _ => packets.send(flow, true, ACK, 1, end.wrapping_add(2_896), 0),
                }
                packets.now += Nanos(1_000);
            }
        }
        "day" => {
            let apart = Nanos(86_400_000_000_000 / count / 6);
            (0..count).for_each(|number| packets.connection(number, apart));
        }
        _ => {
            eprintln!("unknown mode '{mode}'");
            return ExitCode::from(2);
        }
    }
    let took = began.elapsed().as_secs_f64();
    let window = packets.live.window(Span::Hour, 10);
    println!(
        "{{\"packets\": {}, \"seconds\": {took:.3}, \"packets_per_s\": {:.0}, \"decided\": {}, \"forgotten\": {}, \
         \"hour\": {}, \"failed\": {}, \"peak_mb\": {:.1}}}",
        packets.packets,
        packets.packets as f64 / took,
        packets.decided,
        packets.live.forgotten(),
        window.attempts,
        window.failed,
        peak_memory_mb(),
    );
    ExitCode::SUCCESS
}

/// Peak of the process's resident memory, MB; zero if unknown.
fn peak_memory_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok());
    kib.unwrap_or(0.0) * 1_024.0 / 1e6
}

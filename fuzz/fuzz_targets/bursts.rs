//! Fuzz target for more connections than fit into the minimum memory: bursts of equal segments from many clients.

#![no_main]

use arbitrary::Arbitrary;
use gentle_fuzz::analysis::analyze_and_check;
use gentle_fuzz::build::{Ip, PcapFile, time_step};
use gentle_trace::Options;
use gentle_units::Nanos;
use libfuzzer_sys::fuzz_target;
use std::net::Ipv4Addr;

/// Maximum number of packets of an input, to bound its run time.
const MOST_PACKETS: usize = 9_000;
const CLIENTS: u16 = 4_096;

/// A segment of each of several consecutive connections.
#[derive(Debug, Arbitrary)]
struct Burst {
    first: u16,
    connections: u16,
    /// Bit 0: from the server; three bits: time before the burst; four bits: time between its segments.
    control: u8,
    flags: u8,
    seq: u8,
    ack: u8,
    payload_len: u8,
}

impl Burst {
    fn clients(&self) -> impl Iterator<Item = u16> {
        let first = self.first % CLIENTS;
        first..CLIENTS.min(first.saturating_add(self.connections))
    }

    fn segment(&self, client: u16) -> ([Ipv4Addr; 2], Vec<u8>) {
        let [high, low] = client.to_be_bytes();
        // Every four consecutive clients share an address.
        let mut addresses = [Ipv4Addr::new(10, high, low & !3, 1), Ipv4Addr::new(192, 0, 2, 9)];
        let mut ports = [40_000 + client, 443];
        let mut numbers = [0, 1 << 20].map(|side| side + (u32::from(client) << 4));
        if self.control & 1 == 1 {
            addresses.reverse();
            ports.reverse();
            numbers.reverse();
        }
        let mut tcp = ports.map(u16::to_be_bytes).concat();
        tcp.extend((numbers[0] + u32::from(self.seq)).to_be_bytes());
        tcp.extend((numbers[1] + u32::from(self.ack)).to_be_bytes());
        tcp.extend([5 << 4, self.flags, 0xff, 0xff, 0, 0, 0, 0]);
        (addresses, tcp)
    }
}

fuzz_target!(|input: (bool, Vec<Burst>)| {
    let (short_timeout, bursts) = input;
    let mut file = PcapFile::default();
    let mut time = 1_000_000_000;
    let mut packets = 0;
    'bursts: for burst in &bursts {
        time += time_step((burst.control >> 1 & 7) * 2);
        for client in burst.clients() {
            if packets == MOST_PACKETS {
                break 'bursts;
            }
            packets += 1;
            time += time_step(burst.control >> 4) / 64;
            let (addresses, tcp) = burst.segment(client);
            let ip = Ip { addresses: addresses.map(Into::into), id: packets as u16, ttl: 64, protocol: 6 };
            file.packet(time, &ip, &tcp, burst.payload_len.into());
        }
    }
    let options = Options {
        memory_limit: Options::LEAST_MEMORY,
        idle_timeout: Nanos::from_secs(if short_timeout { 1 } else { 900 }),
        ..Options::default()
    };
    let analysis = analyze_and_check(&[&file.finish()], &options, None).expect("a capture");
    assert_eq!(analysis.captures[0].tcp_segments, packets as u64);
});

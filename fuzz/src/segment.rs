//! TCP segments between a server and a few clients, generated from fuzzer input.

use crate::build::{Ip, PcapFile, end};
use arbitrary::Arbitrary;
use std::net::IpAddr;

const TCP: u8 = 6;

/// A segment. Numbers are small, so that segments relate to each other.
#[derive(Debug, Arbitrary)]
pub struct Segment {
    /// Time since the previous segment: three bits of mantissa, five of exponent.
    gap: u8,
    /// Bit field: from the server; client (two bits); IPv6; sequence numbers wrap around; TTLs of other paths.
    ends: u8,
    flags: u8,
    /// Two bits: number of SACK blocks; the other bits: start of the first block.
    sack: u8,
    /// Sequence number relative to the initial one of its side.
    seq: u16,
    ack: u16,
    payload_len: u16,
    /// Identification of the IP packet.
    id: u8,
    /// Four bits of timestamp, four of its echo; zero: no timestamps.
    stamp: u8,
}

impl Segment {
    fn gap_ns(&self) -> u64 {
        (64 + 64 * u64::from(self.gap & 7)) << (self.gap >> 3)
    }

    /// Source and destination of the segment, with their initial sequence numbers.
    fn ends(&self) -> [(IpAddr, u16, u32); 2] {
        let client = self.ends >> 1 & 3;
        let initial = match self.ends >> 4 & 1 {
            0 => 1_000,
            _ => u32::MAX - 1_000,
        };
        let mut ends = [
            (end(4 | client, self.ends >> 1), 40_000 + u16::from(client), initial),
            (end(8, self.ends >> 1), 443, initial / 2),
        ];
        if self.ends & 1 == 1 {
            ends.reverse();
        }
        ends
    }

    fn options(&self, ack: u32) -> Vec<u8> {
        let mut options = Vec::new();
        if self.stamp != 0 {
            options.extend([1, 1, 8, 10]);
            options.extend(u32::from(self.stamp & 15).to_be_bytes());
            options.extend(u32::from(self.stamp >> 4).to_be_bytes());
        }
        let blocks = self.sack >> 6;
        if blocks > 0 {
            options.extend([1, 1, 5, 2 + 8 * blocks]);
        }
        for block in 0..u32::from(blocks) {
            let left = ack.wrapping_add(u32::from(self.sack & 63) * 100 + block * 500).wrapping_sub(3_000);
            options.extend(left.to_be_bytes());
            options.extend(left.wrapping_add(300).to_be_bytes());
        }
        options
    }

    fn add_to(&self, file: &mut PcapFile, time: u64) {
        let ends = self.ends();
        let seq = ends[0].2.wrapping_add(self.seq.into());
        let ack = ends[1].2.wrapping_add(self.ack.into());
        let options = self.options(ack);
        let mut header = Vec::new();
        header.extend(ends[0].1.to_be_bytes());
        header.extend(ends[1].1.to_be_bytes());
        header.extend(seq.to_be_bytes());
        header.extend(ack.to_be_bytes());
        header.extend([((5 + options.len() / 4) << 4) as u8, self.flags]);
        header.extend([0xff, 0xff, 0, 0, 0, 0]);
        header.extend(options);
        let ip =
            Ip { addresses: [ends[0].0, ends[1].0], id: self.id.into(), ttl: 64 - (self.ends >> 5), protocol: TCP };
        file.packet(time, &ip, &header, self.payload_len % 60_000);
    }
}

/// Builds a capture of the segments.
pub fn capture(segments: &[Segment]) -> Vec<u8> {
    let mut file = PcapFile::default();
    let mut time = 1_000_000_000;
    for segment in segments {
        time += segment.gap_ns();
        segment.add_to(&mut file, time);
    }
    file.finish()
}

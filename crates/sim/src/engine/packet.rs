//! Packets of a simulation.

use gentle_aqm::{Ecn, Handshake, Hosts, TcpHeader};
use gentle_experiment::application::datagram::Datagram;
use gentle_experiment::{Class, Direction, IP_HEADER};
use gentle_tcp::{Ect, Flags, Options, Segment, Seq};
use gentle_units::{Instant, Nanos};
use std::mem::offset_of;

/// Place of packets without a connection; no connection gets it.
pub(crate) const NO_CONNECTION: u32 = u32::MAX;

/// Sources of a flood are numbered apart from hosts.
const FORGED: u64 = 1 << 33;
/// Kind of flow, in its number, of tunnels.
const TUNNELS: u64 = 3;

/// Values of the ECN field (RFC 3168, section 5).
const NOT_ECT: u8 = 0;
const ECT_1: u8 = 1;
const ECT_0: u8 = 2;
const CE: u8 = 3;

/// Connection of a packet, and its path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path {
    /// Place of the connection in the table.
    pub(crate) place: u32,
    /// Number of the connection.
    pub(crate) serial: u32,
    /// Host of the connection, on either side.
    pub(crate) host: u16,
    /// Delay on top of each link's own.
    pub(crate) extra_delay: Nanos,
    /// Differentiated services codepoint.
    pub(crate) dscp: u8,
    /// Number of its tunnel; 0: none.
    pub(crate) tunnel: u8,
    /// Number of its group from 1; 0: none.
    pub(crate) group: u8,
}

/// A TCP segment or a UDP datagram with what the simulator has to know of it.
// A packet waits long in a queue and on a wire, and is not in the fastest cache any more when it is touched again. What is
// needed of every packet is therefore in one cache line, which ends before the SACK blocks.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct Packet {
    arrived: Instant,
    /// Delay on top of the link's.
    pub(crate) extra_delay: Nanos,
    /// Place of the connection in the table.
    pub(crate) place: u32,
    /// Number of the connection, which no other has; guards against packets that outlive it.
    pub(crate) serial: u32,
    /// Length on the link.
    bytes: u32,
    pub(crate) direction: Direction,
    /// DS field (RFC 2474, RFC 3168): codepoint and ECN field.
    ds: u8,
    pub(crate) class: Class,
    /// Whether it entered its queue after the warm-up.
    pub(crate) counts: bool,
    pub(crate) segment: Segment,
    /// Length of the IP packet.
    ip_bytes: u32,
    /// The host that sends it, on its side of the bottleneck.
    pub(crate) host: u16,
    /// Number of the tunnel that hides the packet from queues; 0: none.
    tunnel: u8,
    /// Number of the group that the packet counts for, from 1; 0: none.
    group: u8,
    /// Payload bytes that the end point had not got acknowledged when it sent the segment, this one's included.
    unacked: u64,
}

const _: () = assert!(offset_of!(Packet, segment) + offset_of!(Segment, sack) <= 64);

impl Packet {
    /// A TCP segment.
    #[cfg(test)]
    pub(crate) fn tcp(segment: &Segment, path: &Path, direction: Direction, overhead: u32, unacked: u64) -> Packet {
        let mut packet = *Packet::blank();
        packet.segment = *segment;
        packet.address(path, direction, overhead, unacked);
        packet
    }

    /// Makes it a packet of the connection with `path` that carries the segment it has. `overhead` is what the link layer adds
    /// to an IP packet; `unacked` is the number of payload bytes that the end point has queued and not got acknowledged.
    #[inline(always)]
    pub(crate) fn address(&mut self, path: &Path, direction: Direction, overhead: u32, unacked: u64) {
        let segment = &self.segment;
        let flags = segment.flags;
        self.class = if flags.contains(Flags::SYN) {
            if flags.contains(Flags::ACK) { Class::SynAck } else { Class::Syn }
        } else if segment.len > 0 {
            Class::Data
        } else {
            Class::Other
        };
        self.ip_bytes = IP_HEADER + segment.header_bytes() + segment.len;
        self.bytes = overhead + self.ip_bytes;
        self.ds = path.dscp << 2
            | match segment.ect {
                Ect::Not => NOT_ECT,
                Ect::Zero => ECT_0,
                Ect::One => ECT_1,
            };
        self.arrived = Instant::ZERO;
        self.place = path.place;
        self.serial = path.serial;
        self.host = path.host;
        self.tunnel = path.tunnel;
        self.group = path.group;
        self.extra_delay = path.extra_delay;
        self.unacked = unacked;
        self.direction = direction;
        self.counts = false;
    }

    /// A UDP datagram, the `number`th of its flow, sent by `host`: an IP packet of `ip_bytes`, to which the link layer
    /// adds `overhead`.
    pub(crate) fn udp(flow: u32, number: u64, host: u16, direction: Direction, ip_bytes: u32, overhead: u32) -> Packet {
        let bytes = ip_bytes + overhead;
        let mut segment = Segment::new(gentle_tcp::Seq(number as u32), Flags::NONE);
        segment.len = bytes;
        Packet {
            segment,
            arrived: Instant::ZERO,
            place: NO_CONNECTION,
            serial: flow,
            host,
            extra_delay: Nanos::ZERO,
            unacked: 0,
            bytes,
            ip_bytes,
            direction,
            ds: NOT_ECT,
            tunnel: 0,
            group: 0,
            class: Class::Data,
            counts: false,
        }
    }

    /// A datagram of an application, which takes `path`.
    pub(crate) fn of_application(datagram: &Datagram, path: &Path, direction: Direction, overhead: u32) -> Packet {
        let (number, bytes) = (u64::from(datagram.number), datagram.ip_bytes);
        let packet = Packet::udp(path.serial, number, path.host, direction, bytes, overhead);
        let mut packet = packet.with_dscp(path.dscp).in_tunnel(path.tunnel).in_group(path.group);
        packet.extra_delay = path.extra_delay;
        // The header takes fields that mean nothing without TCP, so that packets do not grow.
        let [a, b, c, d, e, f, g, h] = datagram.to_words();
        let segment = &mut packet.segment;
        segment.sack = [(a, b), (c, d), (e, f)].map(|(left, right)| (Seq(left), Seq(right)));
        (segment.ts_val, segment.ts_ecr) = (g, h);
        packet
    }

    /// The datagram of an application that the packet carries.
    pub(crate) fn application_datagram(&self) -> Option<Datagram> {
        let [(a, b), (c, d), (e, f)] = self.segment.sack.map(|(left, right)| (left.0, right.0));
        let words = [a, b, c, d, e, f, self.segment.ts_val, self.segment.ts_ecr];
        Datagram::from_words(&words, self.ip_bytes)
    }

    /// A SYN of a flood, its `number`th: an IP packet of `ip_bytes`, to which the link layer adds `overhead`.
    pub(crate) fn flood(number: u64, host: u16, direction: Direction, ip_bytes: u32, overhead: u32) -> Packet {
        let mut packet = Packet::udp(number as u32, number, host, direction, ip_bytes, overhead);
        packet.segment.flags = Flags::SYN;
        packet.segment.len = 0;
        packet.class = Class::Other;
        packet
    }

    /// The packet with the codepoint `dscp`.
    pub(crate) fn with_dscp(mut self, dscp: u8) -> Packet {
        self.ds = dscp << 2 | self.ds & CE;
        self
    }

    /// The packet in the tunnel with the number `tunnel`; 0: in none.
    pub(crate) fn in_tunnel(mut self, tunnel: u8) -> Packet {
        self.tunnel = tunnel;
        self
    }

    /// The packet for the group with the number `group`; 0: for none.
    pub(crate) fn in_group(mut self, group: u8) -> Packet {
        self.group = group;
        self
    }

    /// Index of the group for which a packet with payload counts.
    #[inline]
    pub(crate) fn counted_group(&self) -> Option<usize> {
        let has_payload = self.class == Class::Data && self.group > 0;
        has_payload.then(|| usize::from(self.group) - 1)
    }

    /// DS field (RFC 2474) as it stands.
    pub(crate) fn ds_field(&self) -> u8 {
        self.ds
    }

    /// A new box for a packet.
    #[cold]
    pub(crate) fn blank() -> Box<Packet> {
        Box::new(Packet::udp(0, 0, 0, Direction::Down, 0, 0))
    }

    /// The TCP segment; of a datagram only its length is of use.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// Number of the connection that the packet belongs to; `None`: it is a datagram or a SYN of a flood.
    pub fn connection(&self) -> Option<u32> {
        (self.place != NO_CONNECTION).then_some(self.serial)
    }

    /// The link that carries the packet.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Kind of the packet.
    pub fn class(&self) -> Class {
        self.class
    }

    /// Whether it is a datagram.
    #[inline]
    pub fn is_udp(&self) -> bool {
        self.place == NO_CONNECTION && !self.is_of_flood()
    }

    /// Whether it is a SYN to which no connection belongs.
    #[inline]
    pub fn is_of_flood(&self) -> bool {
        self.place == NO_CONNECTION && self.segment.flags.contains(Flags::SYN)
    }

    /// Whether a queue marked it with ECN's Congestion Experienced (RFC 3168).
    pub fn congestion_experienced(&self) -> bool {
        self.ds & CE == CE
    }
}

impl gentle_aqm::Packet for Packet {
    #[inline]
    fn bytes(&self) -> u32 {
        self.bytes
    }

    #[inline]
    fn ip_bytes(&self) -> u32 {
        self.ip_bytes
    }

    #[inline]
    fn flow(&self) -> u64 {
        // Tunnels, UDP flows and the packets of a flood, each a separate flow, are numbered apart from connections.
        if self.tunnel != 0 {
            return TUNNELS << 33 | u64::from(self.tunnel) << 1 | self.direction as u64;
        }
        let apart = match self.place {
            NO_CONNECTION => 1 + u64::from(self.is_of_flood()),
            _ => 0,
        };
        apart << 33 | u64::from(self.serial) << 1 | self.direction as u64
    }

    /// Both ends of a connection have the same number, each on its side of the bottleneck. The two ends of a tunnel are
    /// separate hosts, and each SYN of a flood has a separate source.
    #[inline]
    fn hosts(&self) -> Hosts {
        let host = match self.tunnel {
            0 => u64::from(self.host),
            tunnel => u64::from(u16::MAX) + u64::from(tunnel),
        };
        let host = host << 1;
        let side = self.direction as u64;
        let source = match self.is_of_flood() {
            true => FORGED | u64::from(self.serial) << 1,
            false => host,
        };
        Hosts { source: source | side, destination: host | (side ^ 1) }
    }

    fn remaining(&self) -> Option<u64> {
        self.connection().map(|_| self.unacked)
    }

    fn tcp(&self) -> Option<TcpHeader> {
        if self.is_udp() || self.tunnel != 0 {
            return None;
        }
        let segment = &self.segment;
        let timestamps = segment.options.contains(Options::TIMESTAMPS);
        let mut sack = TcpHeader::default().sack;
        for (to, (left, right)) in sack.iter_mut().zip(segment.sack) {
            *to = (left.0, right.0);
        }
        Some(TcpHeader {
            flags: segment.flags.bits(),
            ack: segment.ack.0,
            has_payload: segment.len > 0,
            timestamps: timestamps.then_some((segment.ts_val, segment.ts_ecr)),
            sack,
            sack_count: segment.sack_count,
            has_other_options: segment.flags.contains(Flags::SYN),
        })
    }

    #[inline]
    fn handshake(&self) -> Handshake {
        if self.tunnel != 0 {
            return Handshake::default();
        }
        Handshake { syn: self.segment.flags.contains(Flags::SYN), fin: self.segment.flags.contains(Flags::FIN) }
    }

    #[inline]
    fn dscp(&self) -> u8 {
        self.ds >> 2
    }

    #[inline]
    fn clear_dscp(&mut self) {
        self.ds &= CE;
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        match self.ds & CE {
            NOT_ECT => Ecn::NotEct,
            ECT_0 => Ecn::Ect0,
            ECT_1 => Ecn::Ect1,
            _ => Ecn::Ce,
        }
    }

    #[inline]
    fn set_ce(&mut self) {
        self.ds |= CE;
    }

    #[inline]
    fn arrived(&self) -> Instant {
        self.arrived
    }

    #[inline]
    fn set_arrived(&mut self, now: Instant) {
        self.arrived = now;
    }
}

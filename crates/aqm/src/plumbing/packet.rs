//! Packet properties that queue disciplines use.

use gentle_units::Instant;

/// The two ECN bits of the IP header (RFC 3168, section 5).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// Not ECN-capable transport: congestion is signalled by dropping.
    #[default]
    NotEct,
    /// ECN-capable transport, ECT(0).
    Ect0,
    /// ECN-capable transport, ECT(1).
    Ect1,
    /// Congestion experienced.
    Ce,
}

/// TCP flags that identify handshake packets; both false for packets of other protocols.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Handshake {
    /// SYN is set: a SYN or a SYN/ACK.
    pub syn: bool,
    /// FIN is set.
    pub fin: bool,
}

/// Source and destination of a packet: values that are equal for packets of one host and differ between hosts. They
/// need not be uniformly distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hosts {
    /// Sending host.
    pub source: u64,
    /// Receiving host.
    pub destination: u64,
}

/// TCP header of a packet, as far as an ACK filter reads it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct TcpHeader {
    /// The control bits: byte 13 of the header and, in bits 8 to 11, the low half of byte 12 (RFC 9293, section 3.1).
    pub flags: u16,
    /// Acknowledgment number.
    pub ack: u32,
    /// True if the segment has payload.
    pub has_payload: bool,
    /// Timestamp value and echo reply (RFC 7323).
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks as left and right edge (RFC 2018); the first [`TcpHeader::sack_count`] are valid.
    pub sack: [(u32, u32); 4],
    /// Number of valid SACK blocks, 0 to 4.
    pub sack_count: u8,
    /// True if the header has options other than timestamps, SACK blocks and MD5 signatures.
    pub has_other_options: bool,
}

impl TcpHeader {
    /// Flag SYN.
    pub const SYN: u16 = 0x02;
    /// Flag ACK.
    pub const ACK: u16 = 0x10;
    /// Flag ECE (RFC 3168).
    pub const ECE: u16 = 0x40;
    /// Flag CWR (RFC 3168).
    pub const CWR: u16 = 0x80;

    /// The SACK blocks.
    pub fn sack_blocks(&self) -> &[(u32, u32)] {
        &self.sack[..usize::from(self.sack_count).min(self.sack.len())]
    }
}

/// Priority that Linux gives a forwarded IPv4 packet with the codepoint `dscp` (`ip_forward`, `rt_tos2priority`). It reads
/// the three bits of the DS field that were the type of service in RFC 1349: EF has "minimise delay" and "maximise
/// throughput", CS6 has none.
pub fn priority_of(dscp: u8) -> u8 {
    // `TC_PRIO_BESTEFFORT`, `TC_PRIO_BULK`, `TC_PRIO_INTERACTIVE`, `TC_PRIO_INTERACTIVE_BULK` (linux/pkt_sched.h).
    const PRIORITIES: [u8; 4] = [0, 2, 6, 4];
    PRIORITIES[usize::from(dscp >> 1 & 3)]
}

/// A packet as seen by a queue discipline (Linux: `sk_buff` with its control block).
pub trait Packet {
    /// Length in bytes for accounting, link-layer header included (Linux: `qdisc_pkt_len`).
    fn bytes(&self) -> u32;

    /// Length in bytes of the IP packet, without link-layer headers, tags and tunnels (VLAN, PPPoE, MPLS).
    fn ip_bytes(&self) -> u32;

    /// Flow identifier: equal for packets of one direction of one 5-tuple, different for other flows.
    ///
    /// It need not be uniformly distributed: queue disciplines hash it with their own key.
    fn flow(&self) -> u64;

    /// Source and destination host. The default implementation assigns a separate pair of hosts to each flow.
    fn hosts(&self) -> Hosts {
        let flow = self.flow() << 1;
        Hosts { source: flow, destination: flow | 1 }
    }

    /// Differentiated services codepoint, 0 to 63: the upper six bits of the DS field (RFC 2474, section 3). The
    /// default implementation returns 0, best effort.
    fn dscp(&self) -> u8 {
        0
    }

    /// Sets the codepoint of [`Packet::dscp`] to 0. The default implementation does nothing, for packets without a
    /// codepoint.
    fn clear_dscp(&mut self) {}

    /// Priority of the packet in a router, 0 to 15 (Linux: `skb->priority`). The default implementation derives it from
    /// the DS field, as Linux does for the IPv4 packets that it forwards.
    fn priority(&self) -> u8 {
        priority_of(self.dscp())
    }

    /// The TCP header, with which an ACK filter recognises ACKs that a later one makes redundant. The default
    /// implementation returns `None`, as for packets of other protocols: none of them is filtered.
    fn tcp(&self) -> Option<TcpHeader> {
        None
    }

    /// Payload bytes that the sender of the flow had yet to deliver when it sent the packet, the packet's own included. Only
    /// a simulator can know; the default implementation returns `None`: unknown.
    fn remaining(&self) -> Option<u64> {
        None
    }

    /// The SYN and FIN flags.
    fn handshake(&self) -> Handshake;

    /// The ECN codepoint.
    fn ecn(&self) -> Ecn;

    /// Sets the codepoint [`Ecn::Ce`]. Called only if [`Packet::ecn`] is not [`Ecn::NotEct`].
    fn set_ce(&mut self);

    /// Time at which the packet was enqueued, as last passed to [`Packet::set_arrived`] (Linux: in `skb->cb`).
    fn arrived(&self) -> Instant;

    /// Stores the time at which the packet is enqueued.
    fn set_arrived(&mut self, now: Instant);

    /// Marks the packet if it is ECN-capable (Linux: `INET_ECN_set_ce`); true if it carries CE afterwards.
    fn mark(&mut self) -> bool {
        match self.ecn() {
            Ecn::NotEct => false,
            _ => {
                self.set_ce();
                true
            }
        }
    }
}

/// A boxed packet: queues move the pointer instead of the packet.
impl<P: Packet> Packet for Box<P> {
    fn bytes(&self) -> u32 {
        (**self).bytes()
    }
    fn ip_bytes(&self) -> u32 {
        (**self).ip_bytes()
    }
    fn flow(&self) -> u64 {
        (**self).flow()
    }
    fn hosts(&self) -> Hosts {
        (**self).hosts()
    }
    fn dscp(&self) -> u8 {
        (**self).dscp()
    }
    fn clear_dscp(&mut self) {
        (**self).clear_dscp();
    }
    fn priority(&self) -> u8 {
        (**self).priority()
    }
    fn tcp(&self) -> Option<TcpHeader> {
        (**self).tcp()
    }
    fn remaining(&self) -> Option<u64> {
        (**self).remaining()
    }
    fn handshake(&self) -> Handshake {
        (**self).handshake()
    }
    fn ecn(&self) -> Ecn {
        (**self).ecn()
    }
    fn set_ce(&mut self) {
        (**self).set_ce();
    }
    fn arrived(&self) -> Instant {
        (**self).arrived()
    }
    fn set_arrived(&mut self, now: Instant) {
        (**self).set_arrived(now);
    }
}

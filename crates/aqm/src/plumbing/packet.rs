//! What a queue discipline may know about a packet.

use gentle_units::Nanos;

/// The two ECN bits of the IP header (RFC 3168, section 5).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// The sender does not speak ECN: congestion is told by dropping.
    #[default]
    NotEct,
    /// ECN-capable transport, codepoint 0.
    Ect0,
    /// ECN-capable transport, codepoint 1.
    Ect1,
    /// Congestion experienced.
    Ce,
}

/// The TCP flags that set a handshake packet apart; both false for anything that is not TCP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Handshake {
    /// SYN is set: a SYN or a SYN/ACK.
    pub syn: bool,
    /// FIN is set.
    pub fin: bool,
}

/// The addresses of a packet, as values that are equal for packets of one host and differ between hosts. Like
/// [`Packet::flow`] they need not be well mixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hosts {
    /// The host that sends it.
    pub source: u64,
    /// The host that it is for.
    pub destination: u64,
}

/// A packet as a queue discipline sees it: the kernel's `sk_buff` and its control block, reduced to what is used.
pub trait Packet {
    /// Length in bytes as the qdisc accounts for it (Linux: `qdisc_pkt_len`, link-layer header included).
    fn bytes(&self) -> u32;

    /// Length of the IP packet in bytes: without the link layer, and without tags and tunnels of the link layer (VLAN,
    /// PPPoE, MPLS).
    fn ip_bytes(&self) -> u32;

    /// A value that is equal for packets of one flow (one direction of one five-tuple) and differs between flows.
    ///
    /// It need not be well mixed: queue disciplines that hash do it themselves, with a key of their own.
    fn flow(&self) -> u64;

    /// The hosts between which it travels. By default every flow has two of its own.
    fn hosts(&self) -> Hosts {
        let flow = self.flow() << 1;
        Hosts {
            source: flow,
            destination: flow | 1,
        }
    }

    /// The differentiated services codepoint, the upper six bits of the DS field (RFC 2474, section 3). By default 0, best
    /// effort; the lower two bits are [`Packet::ecn`].
    fn dscp(&self) -> u8 {
        0
    }

    /// SYN and FIN.
    fn handshake(&self) -> Handshake;

    /// The ECN codepoint.
    fn ecn(&self) -> Ecn;

    /// Sets congestion experienced. Called only where [`Packet::ecn`] is not [`Ecn::NotEct`].
    fn set_ce(&mut self);

    /// When the packet entered the queue, as last given to [`Packet::set_arrived`] (the kernel keeps it in `skb->cb`).
    fn arrived(&self) -> Nanos;

    /// Stamps the packet on entry into the queue.
    fn set_arrived(&mut self, now: Nanos);

    /// Marks the packet if its sender speaks ECN (Linux: `INET_ECN_set_ce`); returns whether it is now marked.
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

/// A packet that stays where it is while queues pass it on.
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
    fn handshake(&self) -> Handshake {
        (**self).handshake()
    }
    fn ecn(&self) -> Ecn {
        (**self).ecn()
    }
    fn set_ce(&mut self) {
        (**self).set_ce();
    }
    fn arrived(&self) -> Nanos {
        (**self).arrived()
    }
    fn set_arrived(&mut self, now: Nanos) {
        (**self).set_arrived(now);
    }
}

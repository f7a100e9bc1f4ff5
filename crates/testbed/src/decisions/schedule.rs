//! What is asked of a queue, and when.

use gentle_aqm::{Ecn, Handshake};
use gentle_units::Nanos;

/// Arrivals and departures in the order of time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Times do not run back. The first is at least [`Schedule::FIRST`].
    pub steps: Vec<Step>,
}

impl Schedule {
    /// Before it the queue is only being set up.
    pub const FIRST: Nanos = Nanos::from_millis(1);

    /// Every packet offered, in order; its place is its number.
    pub fn offers(&self) -> impl Iterator<Item = &Offer> {
        self.steps.iter().filter_map(|step| match &step.call {
            Call::Enqueue(offer) => Some(offer),
            Call::Dequeue | Call::PeekDequeue => None,
        })
    }
}

/// One call of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// When.
    pub at: Nanos,
    /// Which.
    pub call: Call,
}

/// A call of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// A packet arrives.
    Enqueue(Offer),
    /// The link asks for one.
    Dequeue,
    /// A shaper looks at the next packet before it takes it; to `gentle-aqm`, the same as [`Call::Dequeue`].
    PeekDequeue,
}

/// A packet as it is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Which of up to 2^24 flows it belongs to.
    pub flow: u32,
    /// Length of the frame; at least [`Offer::shortest`].
    pub bytes: u32,
    /// What carries it.
    pub headers: Headers,
    /// Its ECN codepoint.
    pub ecn: Ecn,
}

impl Offer {
    /// Bytes that the headers take.
    pub fn shortest(&self) -> u32 {
        let end = match self.headers.transport {
            Transport::Tcp(_) => 20,
            Transport::Udp => 8,
        };
        self.bytes_before_transport() + end
    }

    /// Bytes of the headers of link and network.
    pub(super) fn bytes_before_transport(&self) -> u32 {
        let network = match self.headers.ip {
            Ip::V4 => 20,
            Ip::V6 => 40,
        };
        self.bytes_of_link() + network
    }

    /// Bytes of the frame before its IP header.
    pub(super) fn bytes_of_link(&self) -> u32 {
        match self.headers.tag {
            Tag::None | Tag::Beside => 14,
            Tag::InLine | Tag::Both => 18,
        }
    }

    /// Whether it is a SYN or a FIN.
    pub fn handshake(&self) -> Handshake {
        match self.headers.transport {
            Transport::Tcp(flags) => Handshake {
                syn: flags & Transport::SYN != 0,
                fin: flags & Transport::FIN != 0,
            },
            Transport::Udp => Handshake::default(),
        }
    }
}

/// The headers of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headers {
    /// Network layer.
    pub ip: Ip,
    /// VLAN tags.
    pub tag: Tag,
    /// Transport layer.
    pub transport: Transport,
}

/// A version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Ip {
    V4,
    V6,
}

/// Where a packet has VLAN tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// It has none.
    None,
    /// Beside the packet, as on a VLAN device.
    Beside,
    /// In the packet.
    InLine,
    /// One in the packet, one beside it.
    Both,
}

/// A transport protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// TCP with these flags, those of byte 13 of its header.
    Tcp(u8),
    /// UDP, whose bytes must not be read as flags.
    Udp,
}

impl Transport {
    /// The flag FIN.
    pub const FIN: u8 = 0x01;
    /// The flag SYN.
    pub const SYN: u8 = 0x02;
    /// The flag RST.
    pub const RST: u8 = 0x04;
    /// The flag ACK.
    pub const ACK: u8 = 0x10;
}

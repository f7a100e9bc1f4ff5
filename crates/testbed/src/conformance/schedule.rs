//! Schedule of calls of a queue.

use gentle_aqm::{Ecn, Handshake};
use gentle_units::Instant;
use gentle_wire::EthernetHeader;

/// Arrivals and departures in order of time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Calls. Times do not decrease; the first is at least [`Schedule::FIRST`].
    pub steps: Vec<Step>,
}

impl Schedule {
    /// Earliest time of a call; the queue is set up before.
    pub const FIRST: Instant = Instant::from_millis(1);

    /// Packets offered, in order. The position of a packet is its number.
    pub fn offers(&self) -> impl Iterator<Item = &Offer> {
        self.steps.iter().filter_map(|step| match &step.call {
            Call::Enqueue(offer) => Some(offer),
            Call::Dequeue | Call::PeekDequeue => None,
        })
    }
}

/// A call of the queue with its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Time since the start of the schedule.
    pub at: Instant,
    /// Call.
    pub call: Call,
}

/// A call of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// A packet arrives.
    Enqueue(Offer),
    /// The link requests a packet.
    Dequeue,
    /// A shaper peeks at the next packet before it dequeues it; to `gentle-aqm`, this equals [`Call::Dequeue`].
    PeekDequeue,
}

/// A packet offered to the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Number of the packet's flow, below 2^24.
    pub flow: u32,
    /// Length of the Ethernet frame, bytes; at least [`Offer::shortest`].
    pub bytes: u32,
    /// Headers.
    pub headers: Headers,
    /// ECN codepoint.
    pub ecn: Ecn,
    /// Differentiated services codepoint, 0 to 63.
    pub dscp: u8,
    /// Numbers of the source host and of the destination host. The packet's addresses belong to its flow; schemes that
    /// distinguish hosts get hashes of these numbers.
    pub hosts: [u32; 2],
    /// Acknowledgement of a TCP segment.
    pub acknowledgment: Acknowledgment,
}

/// Acknowledgment number and options of a TCP segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Acknowledgment {
    /// Acknowledgment number.
    pub number: u32,
    /// Timestamp value and echo reply.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks as left and right edge; the first [`Acknowledgment::sack_count`] are valid.
    pub sack: [(u32, u32); Acknowledgment::MAX_SACK],
    /// Number of valid SACK blocks.
    pub sack_count: u8,
    /// Whether the header has another option, of 4 bytes; next to timestamps and three SACK blocks there is no space.
    pub other_option: bool,
}

impl Acknowledgment {
    /// Maximum number of SACK blocks.
    pub const MAX_SACK: usize = 3;

    /// Length of the options, bytes.
    fn options_len(&self) -> u32 {
        let sack = match self.sack_count {
            0 => 0,
            count => 4 + 8 * u32::from(count),
        };
        let timestamps = if self.timestamps.is_some() { 12 } else { 0 };
        sack + timestamps + if self.other_option { 4 } else { 0 }
    }
}

impl Offer {
    /// Length of all headers, bytes.
    pub fn shortest(&self) -> u32 {
        let transport = match self.headers.transport {
            Transport::Tcp(_) => 20 + self.acknowledgment.options_len(),
            Transport::Udp => 8,
        };
        self.bytes_before_transport() + transport
    }

    /// Length of the link and network headers, bytes.
    pub(super) fn bytes_before_transport(&self) -> u32 {
        let network = match self.headers.ip {
            Ip::V4 => 20,
            Ip::V6 => 40,
        };
        self.bytes_of_link() + network
    }

    /// Length of the frame before its IP header, bytes.
    pub(super) fn bytes_of_link(&self) -> u32 {
        const UNTAGGED: u32 = EthernetHeader::UNTAGGED_LEN as u32;
        match self.headers.tag {
            Tag::None | Tag::Metadata => UNTAGGED,
            Tag::InFrame | Tag::Both => UNTAGGED + 4,
        }
    }

    /// SYN and FIN flags of the packet.
    pub fn handshake(&self) -> Handshake {
        match self.headers.transport {
            Transport::Tcp(flags) => Handshake { syn: flags & Transport::SYN != 0, fin: flags & Transport::FIN != 0 },
            Transport::Udp => Handshake::default(),
        }
    }
}

/// Headers of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headers {
    /// Network layer.
    pub ip: Ip,
    /// VLAN tags.
    pub tag: Tag,
    /// Transport layer.
    pub transport: Transport,
}

/// Version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Ip {
    V4,
    V6,
}

/// Place of a packet's VLAN tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// No tag.
    None,
    /// A tag in the packet's metadata (Linux: `skb->vlan_tci`), as on a VLAN device.
    Metadata,
    /// A tag in the frame.
    InFrame,
    /// A tag in the frame and one in the metadata.
    Both,
}

/// Transport protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// TCP with the flags of byte 13 of its header.
    Tcp(u8),
    /// UDP, whose bytes must not be read as flags.
    Udp,
}

impl Transport {
    /// Flag FIN.
    pub const FIN: u8 = 0x01;
    /// Flag SYN.
    pub const SYN: u8 = 0x02;
    /// Flag RST.
    pub const RST: u8 = 0x04;
    /// Flag ACK.
    pub const ACK: u8 = 0x10;
    /// Flag ECE.
    pub const ECE: u8 = 0x40;
}

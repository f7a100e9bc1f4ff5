//! Events of a session as rows of numbers, which a page reads from one array.

use gentle_experiment::{Class, Direction};
use gentle_sim::{DropCause, Packet};
use gentle_tcp::Flags;

/// Numbers in a row: kind of event, time in seconds, direction (0 down, 1 up), number of the packet, number of the
/// connection (−1: none), kind of packet, length in bytes, detail.
///
/// The detail of an offered packet is its first sequence number relative to the start of the connection, of a dropped
/// one the index of its cause, of one that leaves the queue its sojourn time in seconds. A timer has 1 for the responder
/// in place of a packet. The row of an end has the size in segments in place of a packet (0: long-lived), the outcome in
/// place of its kind (0 completed, 1 failed, 2 unfinished), and the response time in seconds as detail.
pub const ROW: usize = 8;

/// Kinds of events. Those up to `Delivered`, and `Marked`, are a packet's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The packet was offered to the queue.
    Offered = 0,
    /// The packet left the queue, and its transmission begins.
    Dequeued = 1,
    /// The link has sent the packet's last bit.
    Sent = 2,
    /// The packet was dropped.
    Dropped = 3,
    /// The packet reached the receiving host.
    Delivered = 4,
    /// A timer of an end point fired.
    Timer = 5,
    /// A connection ended.
    Ended = 6,
    /// The queue marked the packet with ECN.
    Marked = 7,
}

/// Kinds of packets that the page distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Shape {
    /// SYN.
    Syn = 0,
    /// SYN/ACK.
    SynAck = 1,
    /// Data among the first [`YOUNG`] bytes of a connection.
    Young = 2,
    /// Later data.
    Old = 3,
    /// ACK without payload.
    Ack = 4,
    /// FIN without payload, RST.
    End = 5,
    /// UDP datagram.
    Datagram = 6,
    /// SYN of a flood.
    Flood = 7,
}

/// Added to a [`Shape`] if the packet was sent before.
pub const AGAIN: u8 = 16;

/// Bytes from the start of a connection that count as young: the initial window of ten segments (RFC 6928).
pub const YOUNG: u32 = 14_600;

/// Kind of a packet whose data begin at `offset` of its connection.
pub(crate) fn shape(packet: &Packet, offset: u32) -> Shape {
    if packet.is_of_flood() {
        return Shape::Flood;
    }
    if packet.is_udp() {
        return Shape::Datagram;
    }
    let flags = packet.segment().flags;
    match packet.class() {
        Class::Syn => Shape::Syn,
        Class::SynAck => Shape::SynAck,
        Class::Data if offset < YOUNG => Shape::Young,
        Class::Data => Shape::Old,
        Class::Other if flags.contains(Flags::FIN) || flags.contains(Flags::RST) => Shape::End,
        Class::Other => Shape::Ack,
    }
}

/// Number of a direction.
pub(crate) fn side(direction: Direction) -> f64 {
    direction.index() as f64
}

/// Names of the causes of drops, in the order of their indices.
pub fn causes() -> Vec<&'static str> {
    let queue = gentle_aqm::DropReason::ALL.map(|reason| DropCause::Queue(reason).name());
    queue.into_iter().chain([DropCause::Loss.name(), DropCause::Request.name()]).collect()
}

/// Index of a cause in [`causes`].
pub(crate) fn cause(cause: DropCause) -> usize {
    match cause {
        DropCause::Queue(reason) => reason as usize,
        DropCause::Loss => gentle_aqm::DropReason::ALL.len(),
        DropCause::Request => gentle_aqm::DropReason::ALL.len() + 1,
    }
}

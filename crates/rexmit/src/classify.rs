//! What a frame means to the handshakes that are watched.

use crate::frame::{Connection, Direction, Frame, Kind};
use crate::quoted;
use crate::select::Selection;
use gentle_wire::{Packet, Skip, Tcp, TcpFlags, Transport, Tunnels, dissect};

/// What it is.
#[derive(Debug)]
pub(crate) enum Seen<'a> {
    /// A SYN or SYN/ACK leaves.
    Opening(Opening<'a>),
    /// An answer to one arrives.
    Answer(Answer),
    /// The end that has opened this connection, or accepted it, sends more: it has seen an answer.
    Confirmed { connection: Connection, seq: u32 },
    /// A reset arrives for this connection.
    Refused(Connection),
    /// A reset of this connection leaves.
    Abandoned(Connection),
    /// The network gives a packet back.
    Undeliverable { connection: Connection, seq: u32 },
    /// A contradiction in itself.
    Malformed,
    /// None of this, or not selected.
    Other,
}

/// What arrives for a SYN or SYN/ACK.
#[derive(Debug)]
pub(crate) struct Answer {
    /// That of the packet that it answers.
    pub(crate) connection: Connection,
    /// What kind of packet it answers.
    pub(crate) to: Kind,
    pub(crate) ack: u32,
    /// The timestamp that it echoes (RFC 7323, section 3).
    pub(crate) echo: Option<u32>,
    /// It has no data.
    pub(crate) bare: bool,
}

/// A packet that opens a connection.
#[derive(Debug)]
pub(crate) struct Opening<'a> {
    pub(crate) kind: Kind,
    pub(crate) connection: Connection,
    pub(crate) tcp: Tcp<'a>,
    pub(crate) packet: Packet<'a>,
}

pub(crate) fn classify<'a>(
    frame: &Frame<'a>,
    direction: Direction,
    selection: &Selection,
) -> Seen<'a> {
    let packet = match dissect(frame.link, frame.bytes, frame.original_len, Tunnels::Outer) {
        Ok(packet) => packet,
        Err(Skip::Malformed | Skip::Truncated) => return Seen::Malformed,
        Err(Skip::NotIp | Skip::UnknownLink | Skip::Encrypted) => return Seen::Other,
    };
    // Nobody fragments a SYN but to get past a filter.
    if packet.ip.fragment.is_some() {
        return Seen::Other;
    }
    let tcp = match packet.transport {
        Transport::Tcp(tcp) => tcp,
        Transport::Other if direction == Direction::In => {
            return match quoted::segment(packet.ip.protocol, packet.payload) {
                Some((connection, seq)) => Seen::Undeliverable { connection, seq },
                None => Seen::Other,
            };
        }
        _ => return Seen::Other,
    };
    let connection = Connection {
        src: (packet.ip.src, tcp.src_port),
        dst: (packet.ip.dst, tcp.dst_port),
    };
    let (syn, ack) = (tcp.flags.any(TcpFlags::SYN), tcp.flags.any(TcpFlags::ACK));
    if syn && tcp.flags.any(TcpFlags(TcpFlags::FIN.0 | TcpFlags::RST.0)) {
        return Seen::Malformed;
    }
    if tcp.flags.any(TcpFlags::RST) {
        return match direction {
            Direction::In => Seen::Refused(connection.reversed()),
            Direction::Out => Seen::Abandoned(connection),
        };
    }
    match (direction, syn, ack) {
        (Direction::Out, true, _) => {
            let (kind, wanted, port) = match ack {
                false => (Kind::Syn, selection.client, tcp.dst_port),
                true => (Kind::SynAck, selection.server, tcp.src_port),
            };
            if !wanted || !selection.port(port) || !selection.peer(packet.ip.dst) {
                return Seen::Other;
            }
            Seen::Opening(Opening {
                kind,
                connection,
                tcp,
                packet,
            })
        }
        (Direction::In, _, true) => Seen::Answer(Answer {
            connection: connection.reversed(),
            to: if syn { Kind::Syn } else { Kind::SynAck },
            ack: tcp.ack,
            echo: tcp.timestamps().map(|(_, echo)| echo),
            bare: tcp.payload_len == 0,
        }),
        (Direction::Out, false, true) => Seen::Confirmed {
            connection,
            seq: tcp.seq,
        },
        _ => Seen::Other,
    }
}

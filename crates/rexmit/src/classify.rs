//! Classification of frames by their meaning for the watched handshakes.

use crate::frame::{Connection, Direction, Frame, Kind};
use crate::quoted;
use crate::select::Selection;
use gentle_wire::{Packet, Skip, Tcp, TcpFlags, Transport, Tunnels, dissect};

/// Meaning of a frame.
#[derive(Debug)]
pub(crate) enum Seen<'a> {
    /// Outgoing SYN or SYN/ACK.
    Opening(Opening<'a>),
    /// Incoming answer to a SYN or SYN/ACK.
    Answer(Answer),
    /// Further packet from the local end of the connection, which therefore has seen an answer.
    Confirmed { connection: Connection, seq: u32 },
    /// Incoming reset for this connection.
    Refused(Connection),
    /// Outgoing reset of this connection.
    Abandoned(Connection),
    /// Incoming ICMP error that quotes a packet of this connection.
    Undeliverable { connection: Connection, seq: u32 },
    /// Frame whose headers contradict themselves, or that is truncated.
    Malformed,
    /// Any other frame, or one that is not selected.
    Other,
}

/// Incoming answer to a SYN or SYN/ACK.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Connection of the packet that is answered, in that packet's direction.
    pub(crate) connection: Connection,
    /// Kind of the packet that is answered.
    pub(crate) to: Kind,
    pub(crate) ack: u32,
    /// Timestamp echo reply, TSecr (RFC 7323, section 3).
    pub(crate) echo: Option<u32>,
    /// Whether the answer carries no data.
    pub(crate) bare: bool,
}

/// Packet that opens a connection.
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
    // SYNs are fragmented only to evade filters.
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

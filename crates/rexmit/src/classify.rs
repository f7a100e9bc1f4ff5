//! Classification of frames by the role that they play in the watched handshakes.

use crate::frame::{Connection, Direction, Frame, Kind};
use crate::quoted;
use crate::select::Selection;
use gentle_wire::{Packet, Skip, Tcp, TcpFlags, Transport, Tunnels, dissect};

/// Role of a frame in the watched handshakes.
#[derive(Debug)]
pub(crate) enum FrameClass<'a> {
    /// Outgoing SYN or SYN/ACK.
    Opening(Opening<'a>),
    /// Incoming answer to a SYN or SYN/ACK.
    Answer(Answer),
    /// Later packet from the local end of the connection, which therefore has received an answer.
    LocalProgress { connection: Connection, seq: u32 },
    /// Incoming reset for this connection.
    IncomingReset(Connection),
    /// Outgoing reset of this connection.
    OutgoingReset(Connection),
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
    /// Whether the answer carries neither data nor a FIN.
    pub(crate) without_data: bool,
}

/// Packet that opens a connection.
#[derive(Debug)]
pub(crate) struct Opening<'a> {
    pub(crate) kind: Kind,
    pub(crate) connection: Connection,
    pub(crate) tcp: Tcp<'a>,
    pub(crate) packet: Packet<'a>,
}

pub(crate) fn classify<'a>(frame: &Frame<'a>, direction: Direction, selection: &Selection) -> FrameClass<'a> {
    let packet = match dissect(frame.link, frame.bytes, frame.original_len, Tunnels::Outer) {
        Ok(packet) => packet,
        Err(Skip::Malformed | Skip::Truncated) => return FrameClass::Malformed,
        Err(Skip::NotIp | Skip::UnknownLink | Skip::Encrypted) => return FrameClass::Other,
    };
    // SYNs are fragmented only to evade filters.
    if packet.ip.fragment.is_some() {
        return FrameClass::Other;
    }
    let tcp = match packet.transport {
        Transport::Tcp(tcp) => tcp,
        Transport::Other if direction == Direction::In => {
            return match quoted::segment(packet.ip.protocol, packet.payload) {
                Some((connection, seq)) => FrameClass::Undeliverable { connection, seq },
                None => FrameClass::Other,
            };
        }
        _ => return FrameClass::Other,
    };
    let connection = Connection { src: (packet.ip.src, tcp.src_port), dst: (packet.ip.dst, tcp.dst_port) };
    let (syn, ack) = (tcp.flags.any(TcpFlags::SYN), tcp.flags.any(TcpFlags::ACK));
    if syn && tcp.flags.any(TcpFlags::FIN | TcpFlags::RST) {
        return FrameClass::Malformed;
    }
    if tcp.flags.any(TcpFlags::RST) {
        return match direction {
            Direction::In => FrameClass::IncomingReset(connection.reversed()),
            Direction::Out => FrameClass::OutgoingReset(connection),
        };
    }
    match (direction, syn, ack) {
        (Direction::Out, true, _) => {
            let (kind, wanted, port) = match ack {
                false => (Kind::Syn, selection.client, tcp.dst_port),
                true => (Kind::SynAck, selection.server, tcp.src_port),
            };
            if !wanted || !selection.port(port) || !selection.peer(packet.ip.dst) {
                return FrameClass::Other;
            }
            FrameClass::Opening(Opening { kind, connection, tcp, packet })
        }
        (Direction::In, _, true) => FrameClass::Answer(Answer {
            connection: connection.reversed(),
            to: if syn { Kind::Syn } else { Kind::SynAck },
            ack: tcp.ack,
            echo: tcp.timestamps().map(|(_, echo)| echo),
            without_data: tcp.payload_len == 0 && !tcp.flags.any(TcpFlags::FIN),
        }),
        (Direction::Out, false, true) => FrameClass::LocalProgress { connection, seq: tcp.seq },
        _ => FrameClass::Other,
    }
}

//! Connection: two end points and the programs that use them.

use super::path::Host;
use super::vantage::Seen;
use crate::event_loop::Side;
use gentle_tcp::{Endpoint, Flags, Profile, Segment, Seq};
use gentle_units::{Instant, Nanos};
use std::sync::Arc;

/// Size of the client's request for data: one small segment, bytes.
const REQUEST_BYTES: u32 = 300;

/// The client opens the connection.
pub const CLIENT: Side = Side::Initiator;
/// The server is the responder.
pub const SERVER: Side = Side::Responder;

/// Answer to an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The server accepts the connection.
    Accept,
    /// The server refuses it by an RST.
    Refuse,
    /// A router before the server answers by ICMP that it is unreachable.
    Reject,
    /// Nobody answers.
    None,
}

/// Part of the path where a fault happens to all packets of one side.
#[derive(Debug, Clone, Copy)]
pub struct PathPart {
    /// Sender of the packets.
    pub from: Side,
    /// Whether the fault is before the vantage point, else behind it.
    pub before: bool,
}

/// Planned course of a connection.
#[derive(Debug)]
pub struct Plan {
    /// Answer to the SYN.
    pub answer: Answer,
    /// The client sends the data, else the server.
    pub upload: bool,
    /// The client closes with an RST.
    pub abort: bool,
    /// Bytes of data.
    pub bytes: u64,
    /// Part of the path where all packets vanish.
    pub swallowed: Option<PathPart>,
    /// Part of the path where all packets take longer, and by how much.
    pub late: Option<(PathPart, Nanos)>,
    /// The server's packets are not captured.
    pub one_sided: bool,
}

/// One side of a connection: a host with its end point and program.
#[derive(Debug)]
pub struct Peer {
    /// The host.
    pub host: Host,
    pub(crate) profile: Arc<Profile>,
    pub(crate) isn: Seq,
    /// End point; `None` before a SYN has arrived and after an RST was sent.
    pub(crate) end: Option<Endpoint>,
    /// IP identification of the next packet.
    pub(crate) ip_id: u16,
    /// Time at which everything sent has left the host.
    pub(crate) free_at: Instant,
    spoken: bool,
    closed: bool,
}

impl Peer {
    pub(crate) fn new(host: Host, profile: Arc<Profile>, isn: Seq, ip_id: u16) -> Peer {
        Peer { host, profile, isn, end: None, ip_id, free_at: Instant::ZERO, spoken: false, closed: false }
    }

    fn is_over(&self) -> bool {
        self.end.as_ref().is_none_or(|end| end.is_failed() || end.is_closed())
    }
}

/// Connection with its state.
#[derive(Debug)]
pub struct Connection {
    /// Client and server, by [`Side::index`].
    pub peers: [Peer; 2],
    /// Planned course.
    pub plan: Plan,
    /// Time that a byte takes on the slowest link, picoseconds.
    pub(crate) picos_per_byte: u64,
    /// Number of packets in flight.
    pub(crate) in_flight: u32,
    pub(crate) seen: Seen,
    /// Fate of its SYNs and SYN/ACKs.
    pub opening: Opening,
}

/// Events of SYNs and SYN/ACKs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Opening {
    /// Some were lost, those that vanish or are swallowed aside.
    pub lost: bool,
    /// Some were sent again.
    pub again: bool,
    /// Some were captured twice.
    pub copied: bool,
}

impl Connection {
    /// Whether a SYN was captured.
    pub const fn has_captured_syn(&self) -> bool {
        self.seen.syns > 0
    }

    /// Host, end point and program of one side.
    #[inline]
    pub(crate) fn peer(&mut self, side: Side) -> &mut Peer {
        &mut self.peers[side.index()]
    }

    /// Sends the first SYN to `out`.
    pub(crate) fn open(&mut self, now: Instant, out: &mut Vec<Segment>) {
        let client = self.peer(CLIENT);
        let profile = Arc::clone(&client.profile);
        client.end = Some(Endpoint::connect(profile, client.isn, now, out));
    }

    /// Delivers a segment to a side; its replies go into `out`.
    pub(crate) fn deliver(&mut self, now: Instant, to: Side, segment: &Segment, out: &mut Vec<Segment>) {
        if to == SERVER && matches!(self.plan.answer, Answer::None | Answer::Reject) {
            return;
        }
        let side = &mut self.peers[to.index()];
        let is_syn = segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK);
        match &mut side.end {
            Some(end) if !end.is_failed() => {
                end.on_segment(now, segment, false, out);
                self.act(now, to, out);
            }
            None if is_syn && self.plan.answer == Answer::Accept => {
                let profile = Arc::clone(&side.profile);
                let end = Endpoint::accept(profile, side.isn, now, segment, false, out);
                side.end = Some(end);
            }
            // A closed port replies as in RFC 9293, section 3.10.7.1.
            _ if segment.flags.contains(Flags::RST) => {}
            _ if is_syn => {
                let mut reset = Segment::new(Seq(0), Flags::RST | Flags::ACK);
                reset.ack = Seq(segment.seq.0.wrapping_add(1));
                out.push(reset);
            }
            _ => out.push(Segment::new(segment.ack, Flags::RST)),
        }
    }

    /// Runs the program on one side after a change.
    fn act(&mut self, now: Instant, who: Side, out: &mut Vec<Segment>) {
        let plan = &self.plan;
        let side = &mut self.peers[who.index()];
        let Some(end) = &mut side.end else {
            return;
        };
        let sends = plan.upload == (who == CLIENT);
        let may_speak = match who {
            CLIENT => end.is_established(),
            SERVER => sends && end.received() >= u64::from(REQUEST_BYTES),
        };
        if may_speak && !side.spoken {
            side.spoken = true;
            if sends {
                end.write(now, plan.bytes, out);
                end.close(now, out);
                side.closed = true;
            } else {
                end.write(now, u64::from(REQUEST_BYTES), out);
            }
        }
        if !end.peer_closed() || side.closed {
            return;
        }
        side.closed = true;
        if plan.abort && who == CLIENT {
            let next = side.isn.0.wrapping_add(1 + REQUEST_BYTES);
            out.push(Segment::new(Seq(next), Flags::RST));
            side.end = None;
        } else {
            end.close(now, out);
        }
    }

    /// Whether no packets are in flight and both sides are over.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.in_flight == 0 && self.peers.iter().all(Peer::is_over)
    }
}

//! Connection: two end points and the programs that use them.

use crate::event_loop::Side;
use gentle_tcp::{Endpoint, Flags, Profile, Segment, Seq};
use gentle_units::{Instant, Nanos};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// The client opens the connection.
pub const CLIENT: Side = Side::Initiator;
/// The server is the responder.
pub const SERVER: Side = Side::Responder;

/// Host at one end of a connection, and its part of the path.
#[derive(Debug, Clone, Copy)]
pub struct Host {
    /// Address.
    pub address: IpAddr,
    /// Port.
    pub port: u16,
    /// TTL left where frames are captured.
    pub ttl: u8,
    /// Offset of the host's timestamps from the time since the capture began, ms.
    pub clock: u32,
    /// Delay between the host and the middle of the path, in each direction.
    pub delay: Nanos,
}

impl Host {
    /// Address and port.
    pub const fn socket(&self) -> SocketAddr {
        SocketAddr::new(self.address, self.port)
    }
}

/// Answer to an attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Answer {
    /// The server accepts the connection.
    #[default]
    Accept,
    /// The server refuses it by an RST.
    Refuse,
    /// A router before the server answers by ICMP that it is unreachable.
    Reject,
    /// Nobody answers.
    None,
}

/// Kind of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// SYN.
    Syn,
    /// SYN/ACK.
    SynAck,
    /// Segment with data.
    Data,
    /// Segment with FIN, without data.
    Fin,
    /// All others: mostly pure ACKs.
    Ack,
}

impl Kind {
    /// Kind of `segment`.
    pub fn of(segment: &Segment) -> Kind {
        let has = |flags| segment.flags.contains(flags);
        match segment.len {
            _ if has(Flags::SYN | Flags::ACK) => Kind::SynAck,
            _ if has(Flags::SYN) => Kind::Syn,
            1.. => Kind::Data,
            0 if has(Flags::FIN) => Kind::Fin,
            0 => Kind::Ack,
        }
    }
}

/// Probabilities of loss by kind of packet.
#[derive(Debug, Clone, Copy, Default)]
pub struct Loss {
    /// SYN.
    pub syn: f64,
    /// SYN/ACK.
    pub synack: f64,
    /// Segments with data or FIN.
    pub data: f64,
    /// All others.
    pub ack: f64,
}

impl Loss {
    /// One probability for SYNs and SYN/ACKs, and one for all other packets.
    pub const fn new(handshake: f64, other: f64) -> Loss {
        Loss { syn: handshake, synack: handshake, data: other, ack: other }
    }

    pub(crate) fn of(&self, segment: &Segment) -> f64 {
        match Kind::of(segment) {
            Kind::Syn => self.syn,
            Kind::SynAck => self.synack,
            Kind::Data | Kind::Fin => self.data,
            Kind::Ack => self.ack,
        }
    }
}

/// Part of the path where a fault happens to all packets of one side.
#[derive(Debug, Clone, Copy)]
pub struct PathPart {
    /// Sender of the packets.
    pub from: Side,
    /// Whether the fault is before the middle, else behind it.
    pub before: bool,
}

/// Planned course of a connection; by default without faults or limits of rate.
#[derive(Debug, Default)]
pub struct Course {
    /// Answer to the SYN.
    pub answer: Answer,
    /// Size of the client's request, bytes.
    pub request: u32,
    /// Bytes of data.
    pub bytes: u64,
    /// The client sends the data, else the server.
    pub upload: bool,
    /// The client closes with an RST.
    pub abort: bool,
    /// Losses of the client's and the server's packets.
    pub loss: [Loss; 2],
    /// Number of first SYNs and SYN/ACKs that are lost in any case.
    pub lost_first: [u32; 2],
    /// Time that a byte takes on the slowest link, picoseconds.
    pub picos_per_byte: u64,
    /// Longest time that a packet waits in the server before it is processed.
    pub busy: Nanos,
    /// Part of the path where all packets vanish.
    pub blackholed: Option<PathPart>,
    /// Part of the path where all packets take longer, and by how much.
    pub late: Option<(PathPart, Nanos)>,
    /// A host whose end point has given up does not answer, else by an RST.
    pub silent: bool,
    /// The server's packets are not captured.
    pub one_sided: bool,
    /// Each frame is captured twice at the hosts.
    pub copied: bool,
}

/// One side of a connection: a host with its end point and program.
#[derive(Debug)]
pub struct Peer {
    /// The host.
    pub host: Host,
    profile: Arc<Profile>,
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

/// Connection with its state, and the `notes` of its observers.
#[derive(Debug)]
pub struct Connection<T> {
    /// Client and server, by [`Side::index`].
    pub peers: [Peer; 2],
    /// Planned course.
    pub course: Course,
    /// Fate of its handshake.
    pub opening: Opening,
    pub(crate) opened: Instant,
    /// Time at which the client had the whole answer.
    pub(crate) answered: Option<Instant>,
    /// Number of packets in flight.
    pub(crate) in_flight: u32,
    /// Time until which the server has packets to process.
    pub(crate) busy_until: Instant,
    /// Notes of the observers.
    pub notes: T,
}

/// Events of a handshake.
#[derive(Debug, Clone, Copy, Default)]
pub struct Opening {
    /// SYNs and SYN/ACKs sent.
    pub sent: [u32; 2],
    /// SYNs and SYN/ACKs lost, except vanishing and blackholed ones.
    pub lost: [u32; 2],
    /// Some SYNs or SYN/ACKs were sent again.
    pub again: bool,
    /// Some SYNs or SYN/ACKs were captured twice.
    pub copied: bool,
    /// SYN/ACKs that reached the client.
    pub synacks_received: u32,
    /// Whether the handshake's ACK was lost; `None` before it is sent.
    pub ack_lost: Option<bool>,
}

impl Opening {
    pub(crate) fn count(&mut self, from: Side, segment: &Segment, lost: bool) {
        if segment.flags.contains(Flags::SYN) {
            self.sent[from.index()] += 1;
            self.lost[from.index()] += u32::from(lost);
            self.again |= segment.retransmitted;
        } else if from == CLIENT {
            self.ack_lost.get_or_insert(lost);
        }
    }
}

impl<T> Connection<T> {
    /// Opens a connection: the client's first SYN goes to `out`.
    pub(crate) fn open(
        peers: [Peer; 2],
        course: Course,
        notes: T,
        now: Instant,
        out: &mut Vec<Segment>,
    ) -> Box<Connection<T>> {
        let mut connection = Box::new(Connection {
            peers,
            course,
            opening: Opening::default(),
            opened: now,
            answered: None,
            in_flight: 0,
            busy_until: Instant::ZERO,
            notes,
        });
        let client = connection.peer(CLIENT);
        client.end = Some(Endpoint::connect(Arc::clone(&client.profile), client.isn, now, out));
        connection
    }

    /// Client and server.
    pub fn hosts(&self) -> [&Host; 2] {
        self.peers.each_ref().map(|peer| &peer.host)
    }

    /// Host, end point and program of one side.
    #[inline]
    pub(crate) fn peer(&mut self, side: Side) -> &mut Peer {
        &mut self.peers[side.index()]
    }

    /// Delivers a segment to a side; its replies go into `out`.
    pub(crate) fn deliver(&mut self, now: Instant, to: Side, segment: &Segment, out: &mut Vec<Segment>) {
        if to == SERVER && matches!(self.course.answer, Answer::None | Answer::Reject) {
            return;
        }
        let side = &mut self.peers[to.index()];
        let is_syn = Kind::of(segment) == Kind::Syn;
        self.opening.synacks_received += u32::from(to == CLIENT && segment.flags.contains(Flags::SYN));
        match &mut side.end {
            Some(end) if !end.is_failed() => {
                end.on_segment(now, segment, false, out);
                self.act(now, to, out);
            }
            Some(_) if self.course.silent => {}
            None if is_syn && self.course.answer == Answer::Accept => {
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
        let course = &self.course;
        let side = &mut self.peers[who.index()];
        let Some(end) = &mut side.end else {
            return;
        };
        let request = u64::from(course.request);
        let sends = course.upload == (who == CLIENT);
        let may_speak = match who {
            CLIENT => end.is_established(),
            SERVER => sends && end.received() >= request,
        };
        if may_speak && !side.spoken {
            side.spoken = true;
            if sends {
                end.write(now, course.bytes, out);
                end.close(now, out);
                side.closed = true;
            } else {
                end.write(now, request, out);
            }
        }
        if !end.peer_closed() || side.closed {
            return;
        }
        side.closed = true;
        if who == CLIENT {
            self.answered = Some(now);
        }
        if course.abort && who == CLIENT {
            let next = side.isn.0.wrapping_add(1 + course.request);
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

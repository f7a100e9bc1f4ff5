//! What is remembered of one connection: 152 bytes, and more only while it has segments in flight or once something went
//! wrong.

use super::clock::Span;
use super::flight::{Bare, Sent};
use super::table::NONE;
use super::trouble::Trouble;
use super::window::Windows;
use crate::segment::Segment;
use gentle_units::Nanos;

/// One side of a connection.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Half {
    /// The sequence number after the highest seen.
    pub(crate) next: u32,
    /// The highest acknowledgement number that the other side sent.
    pub(crate) acked: u32,
    /// How the newest was sent, which ends at `next`; what came before it and is not acknowledged is in the [`Windows`].
    pub(crate) recent: Sent,
    /// The last segment that took no sequence numbers.
    pub(crate) bare: Bare,
    pub(crate) state: HalfState,
    /// Direction of its segments.
    pub(crate) direction: u8,
}

/// Facts about one side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HalfState(u8);

impl HalfState {
    /// A segment that takes sequence numbers was seen: `next` and `recent` mean something.
    pub(crate) const SENT: HalfState = HalfState(1);
    /// An acknowledgement from the other side was seen: `acked` means something.
    pub(crate) const ACKED: HalfState = HalfState(2);
    /// It sent FIN.
    pub(crate) const FIN: HalfState = HalfState(4);
    /// The other side has acknowledged the FIN.
    pub(crate) const FIN_ACKED: HalfState = HalfState(8);
    /// Its last segment offered no window.
    pub(crate) const CLOSED_WINDOW: HalfState = HalfState(16);
    /// `direction` is set.
    pub(crate) const DIRECTED: HalfState = HalfState(32);
    /// `recent` is its SYN or SYN/ACK: it has sent nothing after it.
    pub(crate) const OPENING: HalfState = HalfState(64);
    /// `recent` is one new byte against a closed window, which the other side need not have taken.
    pub(crate) const PROBING: HalfState = HalfState(128);
    /// What is not so any more when it sends on.
    pub(crate) const OPENING_OR_PROBING: HalfState = HalfState(64 | 128);

    #[inline]
    pub(crate) fn has(self, flag: HalfState) -> bool {
        self.0 & flag.0 != 0
    }
    /// Adds it if that is so, without a branch: the processor could only guess.
    #[inline]
    pub(crate) fn add_if(&mut self, flag: HalfState, is_so: bool) {
        self.0 |= flag.0 * u8::from(is_so);
    }
    #[inline]
    pub(crate) fn set(&mut self, flag: HalfState, value: bool) {
        if value {
            self.0 |= flag.0;
        } else {
            self.0 &= !flag.0;
        }
    }
}

/// Facts about a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct State(u32);

impl State {
    /// The SYN was seen: it is an attempt.
    pub(crate) const SYN: State = State(1);
    /// A SYN/ACK that acknowledges the SYN was seen.
    pub(crate) const SYNACK: State = State(2);
    /// A SYN/ACK and the acknowledgement of it were seen: with the SYN, a success.
    pub(crate) const ESTABLISHED: State = State(4);
    /// RST was seen.
    pub(crate) const RST: State = State(8);
    /// RST answered the SYN.
    pub(crate) const REFUSED: State = State(16);
    /// An interval between its SYNs belongs to no backoff series.
    pub(crate) const OUTSIDE: State = State(32);
    /// Its addresses are IPv6.
    pub(crate) const WIDE: State = State(64);
    /// The place in the table is free.
    pub(crate) const VACANT: State = State(128);
    /// The time of the first SYN/ACK or the ACK is not a round-trip time: a segment of the handshake came again.
    pub(crate) const HANDSHAKE_AGAIN: State = State(256);
    /// Its [`Trouble`] is counted in the memory in use.
    pub(crate) const TROUBLED: State = State(512);
    /// The capture or a switch copied segments of it.
    pub(crate) const COPIED: State = State(1024);
    /// The client is the upper of its ends.
    pub(crate) const FROM_UPPER: State = State(2048);
    /// It is not the newest with its ends, or was not at some time.
    pub(crate) const OVERTAKEN: State = State(4096);
    /// A segment of either side shows that the client got an answer and went on: the handshake was completed, whether or not
    /// all of it was captured.
    pub(crate) const WENT_ON: State = State(8192);
    /// An ICMP message says that the SYN was not delivered.
    pub(crate) const REJECTED: State = State(16384);
    /// An RST or an ICMP message came since the last SYN.
    pub(crate) const TURNED_AWAY: State = State(32768);

    #[inline]
    pub(crate) fn has(self, flag: State) -> bool {
        self.0 & flag.0 != 0
    }
    #[inline]
    pub(crate) fn add(&mut self, flag: State) {
        self.0 |= flag.0;
    }
    /// Whether something of the handshake was seen, but not all of it.
    #[inline]
    pub(crate) fn is_opening(self) -> bool {
        let seen = self.0 & (State::SYN.0 | State::SYNACK.0 | State::ESTABLISHED.0);
        seen != 0 && seen < State::ESTABLISHED.0
    }
    /// Removes it; whether it was there.
    pub(crate) fn take(&mut self, flag: State) -> bool {
        let had = self.has(flag);
        self.0 &= !flag.0;
        had
    }
}

/// The initiator's side of a connection, in arrays of two.
pub(crate) const CLIENT: usize = 0;
/// The other side.
pub(crate) const SERVER: usize = 1;

/// One connection, or one attempt at one.
#[derive(Debug)]
pub(crate) struct Connection {
    /// As in [`Ends`](super::Ends): client and server, in the order that [`State::FROM_UPPER`] says; IPv6 addresses are in
    /// the table.
    pub(crate) addresses: u64,
    pub(crate) ports: [u16; 2],
    /// Times of its first and last segment.
    pub(crate) first: Nanos,
    pub(crate) last: Nanos,
    /// Payload of each side's stream seen, each byte once. This and `segments` are outside of the halves, whose 24 bytes
    /// are found with fewer instructions than 28 or 36.
    pub(crate) bytes: [u64; 2],
    /// Segments of each side, copies made by the capture aside.
    pub(crate) segments: [u32; 2],
    pub(crate) halves: [Half; 2],
    pub(crate) windows: Option<Box<Windows>>,
    pub(crate) trouble: Option<Box<Trouble>>,
    /// The connection before this one with the same addresses and ports, in either direction.
    pub(crate) older: u32,
    /// Initial sequence numbers.
    pub(crate) isn: [u32; 2],
    /// What the first SYN/ACK acknowledges.
    pub(crate) synack_acks: u32,
    /// First SYN to first SYN/ACK, and to the acknowledgement of it.
    pub(crate) synack_at: Span,
    pub(crate) ack_at: Span,
    /// And to the acknowledgement of the client's FIN.
    pub(crate) response: Span,
    /// SYNs and SYN/ACKs seen, copies included.
    pub(crate) syns: u16,
    pub(crate) synacks: u16,
    pub(crate) state: State,
}

const _: () = assert!(size_of::<Half>() == 24 && size_of::<Connection>() <= 152);

impl Connection {
    /// A connection of which `segment`, sent by `side`, is the first to be seen.
    pub(crate) fn new(segment: &Segment, side: usize) -> Connection {
        let mut state = State::default();
        if segment.is_forward() != (side == CLIENT) {
            state.add(State::FROM_UPPER);
        }
        Connection {
            addresses: segment.ends.addresses,
            ports: segment.ends.ports,
            first: segment.time,
            last: segment.time,
            bytes: [0; 2],
            segments: [0; 2],
            halves: [Half::default(); 2],
            windows: None,
            trouble: None,
            older: NONE,
            isn: [0; 2],
            synack_acks: 0,
            synack_at: Span::NONE,
            ack_at: Span::NONE,
            response: Span::NONE,
            syns: 0,
            synacks: 0,
            state,
        }
    }

    /// Which side sent `segment`, which has the same ends.
    #[inline]
    pub(crate) fn side(&self, segment: &Segment) -> usize {
        usize::from(segment.is_forward() == self.state.has(State::FROM_UPPER))
    }

    /// Ports of client and server.
    pub(crate) fn ports(&self) -> [u16; 2] {
        let [lower, upper] = self.ports;
        if self.state.has(State::FROM_UPPER) {
            [upper, lower]
        } else {
            [lower, upper]
        }
    }

    /// The notes on what went wrong, begun if there are none.
    pub(crate) fn trouble(&mut self) -> &mut Trouble {
        self.trouble.get_or_insert_default()
    }

    /// Retransmitted SYNs or SYN/ACKs, copies aside.
    pub(crate) fn handshake_retransmissions(&self, side: usize) -> u32 {
        self.trouble
            .as_ref()
            .map_or(0, |trouble| trouble.sides[side].handshake)
    }

    /// Copies of SYNs and SYN/ACKs made by the capture or a switch.
    pub(crate) fn handshake_copies(&self) -> u32 {
        self.trouble.as_ref().map_or(0, |trouble| {
            let sides = trouble.sides.iter().map(|side| side.handshake_copies);
            sides.fold(0, u32::saturating_add)
        })
    }

    /// Retransmitted segments, SYN and SYN/ACK included, copies aside.
    pub(crate) fn retransmissions(&self, side: usize) -> u64 {
        self.trouble.as_ref().map_or(0, |trouble| {
            let side = &trouble.sides[side];
            u64::from(side.handshake) + u64::from(side.retransmitted) + u64::from(side.late)
        })
    }

    /// Time that retransmissions took, those of SYN and SYN/ACK and the others.
    pub(crate) fn delays(&self, side: usize) -> (Nanos, Nanos) {
        self.trouble
            .as_ref()
            .map_or_else(Default::default, |trouble| {
                let side = &trouble.sides[side];
                (side.handshake_delay, side.delay)
            })
    }

    /// The round trip of the handshake between client and server, if nothing of it came again.
    pub(crate) fn round_trip(&self) -> Option<Nanos> {
        if self.state.has(State::HANDSHAKE_AGAIN) || !self.state.has(State::SYN) {
            return None;
        }
        self.ack_at.get()
    }

    /// Nothing more is expected of it.
    pub(crate) fn is_closed(&self) -> bool {
        self.state.has(State::RST)
            || self
                .halves
                .iter()
                .all(|half| half.state.has(HalfState::FIN))
    }

    /// Nothing more is expected of it, not even a FIN that comes again.
    pub(crate) fn is_over(&self) -> bool {
        self.state.has(State::RST)
            || self
                .halves
                .iter()
                .all(|half| half.state.has(HalfState::FIN_ACKED))
    }
}

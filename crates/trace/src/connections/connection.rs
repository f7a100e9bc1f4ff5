//! State of one connection: 152 bytes, and more only while segments are in flight or after a loss.

use super::clock::Span;
use super::flight::{Bare, Sent};
use super::table::NONE;
use super::trouble::Trouble;
use super::window::Windows;
use crate::segment::Segment;
use gentle_units::Nanos;

/// State of one side of a connection.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Half {
    /// Sequence number after the highest one seen.
    pub(crate) next: u32,
    /// Highest acknowledgement number sent by the other side.
    pub(crate) acked: u32,
    /// Newest transmission, which ends at `next`; earlier ones that are not acknowledged are in the [`Windows`].
    pub(crate) recent: Sent,
    /// Last segment without sequence numbers.
    pub(crate) bare: Bare,
    pub(crate) state: HalfState,
    /// Direction of the side's segments.
    pub(crate) direction: u8,
}

/// Flags of one side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HalfState(u8);

impl HalfState {
    /// A segment with sequence numbers was seen: `next` and `recent` are valid.
    pub(crate) const SENT: HalfState = HalfState(1);
    /// An acknowledgement from the other side was seen: `acked` is valid.
    pub(crate) const ACKED: HalfState = HalfState(2);
    /// This side sent a FIN.
    pub(crate) const FIN: HalfState = HalfState(4);
    /// The other side has acknowledged the FIN.
    pub(crate) const FIN_ACKED: HalfState = HalfState(8);
    /// The last segment of this side announced a zero window.
    pub(crate) const CLOSED_WINDOW: HalfState = HalfState(16);
    /// `direction` is valid.
    pub(crate) const DIRECTED: HalfState = HalfState(32);
    /// `recent` is the SYN or SYN/ACK; nothing was sent after it.
    pub(crate) const OPENING: HalfState = HalfState(64);
    /// `recent` is one new byte sent into a zero window, which the receiver may have discarded.
    pub(crate) const PROBING: HalfState = HalfState(128);
    /// Flags cleared when the side sends on.
    pub(crate) const OPENING_OR_PROBING: HalfState = HalfState(64 | 128);

    #[inline]
    pub(crate) fn has(self, flag: HalfState) -> bool {
        self.0 & flag.0 != 0
    }
    /// Sets the flag if `is_so`, without a branch, which the processor could not predict.
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

/// Flags of a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct State(u32);

impl State {
    /// The SYN was seen.
    pub(crate) const SYN: State = State(1);
    /// A SYN/ACK that acknowledges the SYN was seen.
    pub(crate) const SYNACK: State = State(2);
    /// A SYN/ACK and its acknowledgement were seen; with the SYN, the handshake was successful.
    pub(crate) const ESTABLISHED: State = State(4);
    /// An RST was seen.
    pub(crate) const RST: State = State(8);
    /// An RST answered the SYN.
    pub(crate) const REFUSED: State = State(16);
    /// An interval between SYNs fits no known backoff series.
    pub(crate) const OUTSIDE: State = State(32);
    /// The addresses are IPv6.
    pub(crate) const WIDE: State = State(64);
    /// The place in the table is free.
    pub(crate) const VACANT: State = State(128);
    /// A handshake segment was repeated, so the times of the first SYN/ACK and ACK give no round-trip time.
    pub(crate) const HANDSHAKE_AGAIN: State = State(256);
    /// The [`Trouble`] is included in the memory in use.
    pub(crate) const TROUBLED: State = State(512);
    /// The capture or a switch duplicated segments of the connection.
    pub(crate) const COPIED: State = State(1024);
    /// The client is the upper end.
    pub(crate) const FROM_UPPER: State = State(2048);
    /// A newer connection with the same ends exists or existed.
    pub(crate) const OVERTAKEN: State = State(4096);
    /// A segment of either side shows that the client received an answer and went on: the handshake completed, even if not
    /// all of it was captured.
    pub(crate) const WENT_ON: State = State(8192);
    /// An ICMP message reported that the SYN was not delivered.
    pub(crate) const REJECTED: State = State(16384);
    /// An RST or an ICMP message answered the last SYN.
    pub(crate) const TURNED_AWAY: State = State(32768);

    #[inline]
    pub(crate) fn has(self, flag: State) -> bool {
        self.0 & flag.0 != 0
    }
    #[inline]
    pub(crate) fn add(&mut self, flag: State) {
        self.0 |= flag.0;
    }
    /// Whether the handshake has begun and is not known to be complete.
    #[inline]
    pub(crate) fn is_opening(self) -> bool {
        let seen = self.0 & (State::SYN.0 | State::SYNACK.0 | State::ESTABLISHED.0);
        seen != 0 && seen < State::ESTABLISHED.0
    }
    /// Clears the flag; returns whether it was set.
    pub(crate) fn take(&mut self, flag: State) -> bool {
        let had = self.has(flag);
        self.0 &= !flag.0;
        had
    }
}

/// Index of the initiator's side.
pub(crate) const CLIENT: usize = 0;
/// Index of the responder's side.
pub(crate) const SERVER: usize = 1;

/// One connection or connection attempt.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Addresses as in [`Ends`](super::Ends), lower end first ([`State::FROM_UPPER`] tells which is the client); for IPv6, an
    /// index into the table.
    pub(crate) addresses: u64,
    pub(crate) ports: [u16; 2],
    /// Time of the first segment; `last`: of the last one.
    pub(crate) first: Nanos,
    pub(crate) last: Nanos,
    /// Payload bytes of each side's stream, each counted once. Kept outside of `halves`, like `segments`: indexing elements
    /// of 24 bytes takes fewer instructions than 28 or 36.
    pub(crate) bytes: [u64; 2],
    /// Segments of each side, without copies made by the capture.
    pub(crate) segments: [u32; 2],
    pub(crate) halves: [Half; 2],
    pub(crate) windows: Option<Box<Windows>>,
    pub(crate) trouble: Option<Box<Trouble>>,
    /// Place of the previous connection with the same addresses and ports, in either direction.
    pub(crate) older: u32,
    /// Initial sequence numbers.
    pub(crate) isn: [u32; 2],
    /// Acknowledgement number of the first SYN/ACK.
    pub(crate) synack_acks: u32,
    /// Time from the first SYN to the first SYN/ACK; `ack_at`: to the acknowledgement of the SYN/ACK.
    pub(crate) synack_at: Span,
    pub(crate) ack_at: Span,
    /// Time from the first SYN to the acknowledgement of the client's FIN.
    pub(crate) response: Span,
    /// Number of SYNs seen, including copies; `synacks` likewise.
    pub(crate) syns: u16,
    pub(crate) synacks: u16,
    pub(crate) state: State,
}

const _: () = assert!(size_of::<Half>() == 24 && size_of::<Connection>() <= 152);

impl Connection {
    /// Creates a connection from its first segment seen, which `side` sent.
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

    /// Side that sent `segment`, a segment with the connection's ends.
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

    /// The loss state, created if there is none.
    pub(crate) fn trouble(&mut self) -> &mut Trouble {
        self.trouble.get_or_insert_default()
    }

    /// Retransmitted SYNs or SYN/ACKs, without copies.
    pub(crate) fn handshake_retransmissions(&self, side: usize) -> u32 {
        self.trouble
            .as_ref()
            .map_or(0, |trouble| trouble.sides[side].handshake)
    }

    /// SYNs and SYN/ACKs duplicated by the capture or a switch.
    pub(crate) fn handshake_copies(&self) -> u32 {
        self.trouble.as_ref().map_or(0, |trouble| {
            let sides = trouble.sides.iter().map(|side| side.handshake_copies);
            sides.fold(0, u32::saturating_add)
        })
    }

    /// Retransmitted segments including SYN and SYN/ACK, without copies.
    pub(crate) fn retransmissions(&self, side: usize) -> u64 {
        self.trouble.as_ref().map_or(0, |trouble| {
            let side = &trouble.sides[side];
            u64::from(side.handshake) + u64::from(side.retransmitted) + u64::from(side.late)
        })
    }

    /// Sums of the delays of retransmissions: of SYN or SYN/ACK, and of all others.
    pub(crate) fn delays(&self, side: usize) -> (Nanos, Nanos) {
        self.trouble
            .as_ref()
            .map_or_else(Default::default, |trouble| {
                let side = &trouble.sides[side];
                (side.handshake_delay, side.delay)
            })
    }

    /// Round-trip time between client and server from the handshake; `None` if a handshake segment was repeated.
    pub(crate) fn round_trip(&self) -> Option<Nanos> {
        if self.state.has(State::HANDSHAKE_AGAIN) || !self.state.has(State::SYN) {
            return None;
        }
        self.ack_at.get()
    }

    /// Whether RST or the FINs of both sides were seen.
    pub(crate) fn is_closed(&self) -> bool {
        self.state.has(State::RST)
            || self
                .halves
                .iter()
                .all(|half| half.state.has(HalfState::FIN))
    }

    /// Whether the connection is closed and nothing more is expected, not even a retransmitted FIN.
    pub(crate) fn is_over(&self) -> bool {
        self.state.has(State::RST)
            || self
                .halves
                .iter()
                .all(|half| half.state.has(HalfState::FIN_ACKED))
    }
}

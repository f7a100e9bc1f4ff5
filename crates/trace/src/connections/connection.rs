//! State of one connection: 152 bytes, and more only while segments are in flight or after a loss.

use super::compact_time::CompactDuration;
use super::exchange::{CLIENT, Reply, SERVER};
use super::flight::{PureAck, Sent};
use super::loss_state::LossState;
use super::paths::PathState;
use super::window::Windows;
use crate::segment::{Segment, SynExtras};
use gentle_units::{Instant, Nanos};

/// State of one endpoint of a connection.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EndpointState {
    /// Sequence number after the highest one seen.
    pub(crate) next: u32,
    /// Highest acknowledgement number sent by the other endpoint.
    pub(crate) acked: u32,
    /// Newest transmission, which ends at `next`; earlier ones that are not acknowledged are in the [`Windows`].
    pub(crate) recent: Sent,
    /// Last segment that took no sequence numbers.
    pub(crate) pure_ack: PureAck,
    pub(crate) flags: EndpointFlags,
    /// Direction of the endpoint's segments.
    pub(crate) direction: u8,
}

/// Flags of one endpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct EndpointFlags(u8);

impl EndpointFlags {
    /// A segment with sequence numbers was seen: `next` and `recent` are valid.
    pub(crate) const SENT: EndpointFlags = EndpointFlags(1);
    /// An acknowledgement from the other endpoint was seen: `acked` is valid.
    pub(crate) const ACKED: EndpointFlags = EndpointFlags(2);
    /// The endpoint sent a FIN.
    pub(crate) const FIN: EndpointFlags = EndpointFlags(4);
    /// The other endpoint has acknowledged the FIN.
    pub(crate) const FIN_ACKED: EndpointFlags = EndpointFlags(8);
    /// The endpoint's last segment announced a zero window.
    pub(crate) const ZERO_WINDOW: EndpointFlags = EndpointFlags(16);
    /// `direction` is valid.
    pub(crate) const DIRECTED: EndpointFlags = EndpointFlags(32);
    /// `recent` is the SYN or SYN/ACK; nothing was sent after it.
    pub(crate) const OPENING: EndpointFlags = EndpointFlags(64);
    /// `recent` is one new byte sent into a zero window, which the receiver may have discarded.
    pub(crate) const PROBING: EndpointFlags = EndpointFlags(128);
    /// Flags that are cleared by the next transmission.
    pub(crate) const OPENING_OR_PROBING: EndpointFlags = EndpointFlags(64 | 128);

    /// Whether the flag is set.
    #[inline]
    pub(crate) fn has(self, flag: EndpointFlags) -> bool {
        self.0 & flag.0 != 0
    }
    /// Sets the flag if `is_so`, without a branch, which the processor could not predict.
    #[inline]
    pub(crate) fn add_if(&mut self, flag: EndpointFlags, is_so: bool) {
        self.0 |= flag.0 * u8::from(is_so);
    }
    /// Sets or clears the flag.
    #[inline]
    pub(crate) fn set(&mut self, flag: EndpointFlags, value: bool) {
        if value {
            self.0 |= flag.0;
        } else {
            self.0 &= !flag.0;
        }
    }
}

/// Flags of a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ConnectionFlags(u32);

impl ConnectionFlags {
    /// The SYN was seen.
    pub(crate) const SYN: ConnectionFlags = ConnectionFlags(1);
    /// A SYN/ACK that acknowledges the SYN was seen.
    pub(crate) const SYNACK: ConnectionFlags = ConnectionFlags(2);
    /// A SYN/ACK and its acknowledgement were seen; with the SYN, the handshake was successful.
    pub(crate) const ESTABLISHED: ConnectionFlags = ConnectionFlags(4);
    /// An RST was seen.
    pub(crate) const RST: ConnectionFlags = ConnectionFlags(8);
    /// An RST answered the SYN.
    pub(crate) const REFUSED: ConnectionFlags = ConnectionFlags(16);
    /// An interval between SYNs fits no known backoff series.
    pub(crate) const OUTSIDE: ConnectionFlags = ConnectionFlags(32);
    /// The addresses are IPv6.
    pub(crate) const V6: ConnectionFlags = ConnectionFlags(64);
    /// The place in the table is free.
    pub(crate) const VACANT: ConnectionFlags = ConnectionFlags(128);
    /// A handshake segment was repeated, so the times of the first SYN/ACK and ACK give no round-trip time.
    pub(crate) const HANDSHAKE_REPEATED: ConnectionFlags = ConnectionFlags(256);
    /// The [`LossState`] is included in the memory in use.
    pub(crate) const HAS_LOSS_STATE: ConnectionFlags = ConnectionFlags(512);
    /// The capture or a switch duplicated segments of the connection.
    pub(crate) const COPIED: ConnectionFlags = ConnectionFlags(1024);
    /// The client is the upper endpoint of the flow key.
    pub(crate) const CLIENT_IS_UPPER: ConnectionFlags = ConnectionFlags(2048);
    /// A newer connection with the same flow key exists or existed.
    pub(crate) const SUPERSEDED: ConnectionFlags = ConnectionFlags(4096);
    /// A segment of either endpoint shows that the client received an answer and went on: the handshake completed, even
    /// if not all of it was captured.
    pub(crate) const WENT_ON: ConnectionFlags = ConnectionFlags(8192);
    /// An ICMP message reported that the SYN was not delivered.
    pub(crate) const REJECTED: ConnectionFlags = ConnectionFlags(16384);
    /// An RST or an ICMP message answered the last SYN.
    pub(crate) const TURNED_AWAY: ConnectionFlags = ConnectionFlags(32768);
    /// A SYN was answered by an acknowledgement of another connection ([`Reply::Challenge`]). Of a connection without SYN: its
    /// SYN/ACK was that answer.
    pub(crate) const CHALLENGED: ConnectionFlags = ConnectionFlags(1 << 16);
    /// The last SYN was.
    pub(crate) const CHALLENGED_LAST: ConnectionFlags = ConnectionFlags(1 << 17);
    /// The client answered a SYN/ACK with an RST ([`Reply::Reset`]).
    pub(crate) const RESET: ConnectionFlags = ConnectionFlags(1 << 18);
    /// It did so after the last SYN.
    pub(crate) const RESET_LAST: ConnectionFlags = ConnectionFlags(1 << 19);
    /// A segment of the client shows that it had received an answer.
    pub(crate) const CLIENT_WENT_ON: ConnectionFlags = ConnectionFlags(1 << 20);
    /// The connection was captured before, with other addresses ([`views`](super::views)).
    pub(crate) const LATER_VIEW: ConnectionFlags = ConnectionFlags(1 << 21);
    /// There is some evidence of that.
    pub(crate) const MAYBE_LATER_VIEW: ConnectionFlags = ConnectionFlags(1 << 22);
    /// The SYN was answered under other addresses.
    pub(crate) const ANSWERED_ELSEWHERE: ConnectionFlags = ConnectionFlags(1 << 23);
    /// Lowest of the bits that hold the low bits of the time to live of the newest SYN and SYN/ACK, two each.
    const OPENING_TTL: u32 = 24;
    /// Lowest of the bits that hold [`SynExtras`] of the first SYN.
    const EXTRAS: u32 = 28;

    /// Whether the flag is set.
    #[inline]
    pub(crate) fn has(self, flag: ConnectionFlags) -> bool {
        self.0 & flag.0 != 0
    }
    /// Sets the flag.
    #[inline]
    pub(crate) fn add(&mut self, flag: ConnectionFlags) {
        self.0 |= flag.0;
    }
    /// Whether the handshake has begun and is not known to be complete.
    #[inline]
    pub(crate) fn is_opening(self) -> bool {
        let seen = self.0 & (ConnectionFlags::SYN.0 | ConnectionFlags::SYNACK.0 | ConnectionFlags::ESTABLISHED.0);
        seen != 0 && seen < ConnectionFlags::ESTABLISHED.0
    }
    /// Parts of the first SYN for which middleboxes may drop it.
    pub(crate) fn extras(self) -> SynExtras {
        SynExtras::from_bits(self.0 >> ConnectionFlags::EXTRAS)
    }
    /// Records the low bits of the time to live of the newest SYN (client) or SYN/ACK (server).
    pub(super) fn set_opening_ttl(&mut self, side: usize, ttl: u8) {
        let shift = ConnectionFlags::OPENING_TTL + 2 * side as u32;
        self.0 = self.0 & !(3 << shift) | u32::from(ttl & 3) << shift;
    }
    /// Whether `ttl` differs from the one recorded; not noticed if by a multiple of 4.
    pub(super) fn differs_in_ttl(self, side: usize, ttl: u8) -> bool {
        let shift = ConnectionFlags::OPENING_TTL + 2 * side as u32;
        self.0 >> shift & 3 != u32::from(ttl & 3)
    }
    /// Records the parts of the first SYN.
    pub(crate) fn add_extras(&mut self, extras: SynExtras) {
        self.0 |= extras.bits() << ConnectionFlags::EXTRAS;
    }
    /// Clears the flag; returns whether it was set.
    pub(crate) fn take(&mut self, flag: ConnectionFlags) -> bool {
        let had = self.has(flag);
        self.0 &= !flag.0;
        had
    }
}

/// Lost data segments of one side of a connection.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DataLoss {
    pub(crate) lost: u64,
    /// Segments in `lost` that follow another lost one.
    pub(crate) in_a_row: u64,
    /// Retransmissions of the client's first data, which do not count in `lost`: a server with a full listen queue drops the
    /// client's ACK and data.
    pub(crate) first: u64,
}

/// Place of no connection.
pub(crate) const NONE: u32 = u32::MAX;

/// One connection or connection attempt.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Addresses as in [`FlowKey`](crate::flow_key::FlowKey), lower endpoint first
    /// ([`ConnectionFlags::CLIENT_IS_UPPER`] shows which is the client); for IPv6, an index into the table.
    pub(crate) addresses: u64,
    pub(crate) ports: [u16; 2],
    /// Time of the first segment; `last`: of the last one.
    pub(crate) first: Instant,
    pub(crate) last: Instant,
    /// Payload bytes of each endpoint's stream, each counted once. Kept outside of `endpoints`, like `segments`:
    /// indexing elements of 24 bytes takes fewer instructions than 28 or 36.
    pub(crate) bytes: [u64; 2],
    /// Segments of each endpoint, without copies made by the capture.
    pub(crate) segments: [u32; 2],
    pub(crate) endpoints: [EndpointState; 2],
    pub(crate) windows: Option<Box<Windows>>,
    pub(crate) loss_state: Option<Box<LossState>>,
    /// Place of the previous connection with the same addresses and ports, in either direction.
    pub(crate) older: u32,
    /// Initial sequence numbers.
    pub(crate) isn: [u32; 2],
    /// Acknowledgement number of the first SYN/ACK.
    pub(crate) synack_acks: u32,
    /// Time from the first SYN to the first SYN/ACK; `ack_at`: to the acknowledgement of the SYN/ACK.
    pub(crate) synack_at: CompactDuration,
    pub(crate) ack_at: CompactDuration,
    /// Time from the first SYN to the acknowledgement of the client's FIN.
    pub(crate) response: CompactDuration,
    /// Number of SYNs seen, including copies; `synacks` likewise.
    pub(crate) syns: u16,
    pub(crate) synacks: u16,
    pub(crate) flags: ConnectionFlags,
}

const _: () = assert!(size_of::<EndpointState>() == 24 && size_of::<Connection>() <= 152);

impl Connection {
    /// Creates a connection from its first segment seen, which `side` sent.
    pub(crate) fn new(segment: &Segment, side: usize) -> Connection {
        let mut flags = ConnectionFlags::default();
        if segment.is_forward() != (side == CLIENT) {
            flags.add(ConnectionFlags::CLIENT_IS_UPPER);
        }
        Connection {
            addresses: segment.key.addresses,
            ports: segment.key.ports,
            first: segment.time,
            last: segment.time,
            bytes: [0; 2],
            segments: [0; 2],
            endpoints: [EndpointState::default(); 2],
            windows: None,
            loss_state: None,
            older: NONE,
            isn: [0; 2],
            synack_acks: 0,
            synack_at: CompactDuration::NONE,
            ack_at: CompactDuration::NONE,
            response: CompactDuration::NONE,
            syns: 0,
            synacks: 0,
            flags,
        }
    }

    /// Side that sent `segment`, a segment with the connection's flow key.
    #[inline]
    pub(crate) fn side(&self, segment: &Segment) -> usize {
        usize::from(segment.is_forward() == self.flags.has(ConnectionFlags::CLIENT_IS_UPPER))
    }

    /// Takes the answer to the last SYN other than a SYN/ACK.
    pub(super) fn take_reply(&mut self) -> Reply {
        let replies = [
            (ConnectionFlags::RESET_LAST, Reply::Reset),
            (ConnectionFlags::CHALLENGED_LAST, Reply::Challenge),
            (ConnectionFlags::TURNED_AWAY, Reply::Refusal),
        ];
        let mut reply = Reply::None;
        for (flag, of_flag) in replies {
            if self.flags.take(flag) && reply == Reply::None {
                reply = of_flag;
            }
        }
        reply
    }

    /// Whether the last SYN was answered with anything other than a SYN/ACK.
    pub(super) fn has_reply(&self) -> bool {
        self.flags.has(ConnectionFlags::RESET_LAST)
            || self.flags.has(ConnectionFlags::CHALLENGED_LAST)
            || self.flags.has(ConnectionFlags::TURNED_AWAY)
    }

    /// Ports of client and server.
    pub(crate) fn ports(&self) -> [u16; 2] {
        let [lower, upper] = self.ports;
        if self.flags.has(ConnectionFlags::CLIENT_IS_UPPER) { [upper, lower] } else { [lower, upper] }
    }

    /// The loss state, created if missing.
    pub(crate) fn loss_state(&mut self) -> &mut LossState {
        self.loss_state.get_or_insert_default()
    }

    /// If `side` repeated its SYN or SYN/ACK at `now`: the time since the previous one, and the place for the state of its path.
    pub(super) fn path_of_repetition(&mut self, side: usize, now: Instant) -> Option<(Nanos, &mut PathState)> {
        self.loss_state.as_mut()?.exchange.repetition(side, now)
    }

    /// Retransmitted SYNs or SYN/ACKs, without copies.
    pub(crate) fn handshake_retransmissions(&self, side: usize) -> u32 {
        self.loss_state.as_ref().map_or(0, |loss_state| loss_state.sides[side].handshake)
    }

    /// SYNs and SYN/ACKs duplicated by the capture or a switch.
    pub(crate) fn handshake_copies(&self) -> u32 {
        self.loss_state.as_ref().map_or(0, |loss_state| {
            let sides = loss_state.sides.iter().map(|side| side.handshake_copies);
            sides.fold(0, u32::saturating_add)
        })
    }

    /// Lost data segments, by half of the path and side.
    pub(crate) fn data_losses(&self) -> [[DataLoss; 2]; 2] {
        let Some(loss_state) = &self.loss_state else {
            return Default::default();
        };
        let of = |half: usize, side: usize| {
            let it = &loss_state.sides[side];
            // A segment seen before was lost beyond the capture point, one that was not before it.
            let lost = if half == side { it.late } else { it.retransmitted.saturating_sub(it.spurious) };
            let first = if side == CLIENT { it.unacknowledged.min(lost) } else { 0 };
            DataLoss { lost: (lost - first).into(), in_a_row: it.in_a_row.min(lost).into(), first: first.into() }
        };
        [CLIENT, SERVER].map(|half| [CLIENT, SERVER].map(|side| of(half, side)))
    }

    /// Retransmitted segments including SYN and SYN/ACK, without copies.
    pub(crate) fn retransmissions(&self, side: usize) -> u64 {
        self.loss_state.as_ref().map_or(0, |loss_state| {
            let side = &loss_state.sides[side];
            u64::from(side.handshake) + u64::from(side.retransmitted) + u64::from(side.late)
        })
    }

    /// Sums of the delays of the retransmissions of `side`: of SYN or SYN/ACK, and of all others.
    pub(crate) fn delay_sums(&self, side: usize) -> (Nanos, Nanos) {
        self.loss_state.as_ref().map_or_else(Default::default, |loss_state| {
            let side = &loss_state.sides[side];
            (side.handshake_delay, side.delay)
        })
    }

    /// Time that `side` waited for its retransmissions, each moment counted once.
    pub(crate) fn waited(&self, side: usize) -> Nanos {
        let loss_state = self.loss_state.as_ref();
        loss_state.map_or(Nanos::ZERO, |it| it.sides[side].waited.total())
    }

    /// Time that either side waited for retransmissions other than of SYN and SYN/ACK.
    pub(crate) fn waited_for_data(&self) -> Nanos {
        let loss_state = self.loss_state.as_ref();
        loss_state.map_or(Nanos::ZERO, |it| it.waited_for_data.total())
    }

    /// Round-trip time between client and server from the handshake; `None` if a handshake segment was repeated.
    pub(crate) fn round_trip(&self) -> Option<Nanos> {
        if self.flags.has(ConnectionFlags::HANDSHAKE_REPEATED) || !self.flags.has(ConnectionFlags::SYN) {
            return None;
        }
        self.ack_at.get()
    }

    /// Time from the first SYN until the handshake was complete at the capture point, or until its SYN/ACK if the
    /// acknowledgement was not captured.
    pub(crate) fn connect_time(&self) -> Option<Nanos> {
        self.ack_at.get().or(self.synack_at.get())
    }

    /// Whether RST or the FINs of both sides were seen.
    pub(crate) fn is_closed(&self) -> bool {
        self.flags.has(ConnectionFlags::RST)
            || self.endpoints.iter().all(|endpoint| endpoint.flags.has(EndpointFlags::FIN))
    }

    /// Whether the connection is closed and nothing more is expected, not even a retransmitted FIN.
    pub(crate) fn is_over(&self) -> bool {
        self.flags.has(ConnectionFlags::RST)
            || self.endpoints.iter().all(|endpoint| endpoint.flags.has(EndpointFlags::FIN_ACKED))
    }
}

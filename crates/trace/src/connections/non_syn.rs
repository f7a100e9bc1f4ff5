//! Segments other than SYN and SYN/ACK.

use super::Connections;
use super::compact_time::CompactDuration;
use super::connection::{Connection, ConnectionFlags, EndpointFlags, NONE};
use super::exchange::{CLIENT, SERVER};
use super::paths::Of;
use super::table::{CHAIN_SCAN, Table};
use super::window::Pool;
use crate::segment::{Segment, distance};
use crate::tally::{SegmentKind, Tally};
use gentle_units::Nanos;
use gentle_wire::{Address, TcpFlags};

impl Connections {
    /// Handles a segment without SYN that has no connection yet or may belong to several. Returns the connection and
    /// the sending side.
    pub(super) fn non_syn_of_several(
        &mut self,
        segment: &Segment,
        v6: Option<[Address; 2]>,
        newest: u32,
        tally: &mut Tally,
    ) -> (u32, usize) {
        let at = if newest == NONE {
            self.begin(segment, v6, NONE, CLIENT)
        } else {
            let flags = segment.flags();
            if flags.any(TcpFlags::ACK) && !flags.any(TcpFlags::RST) {
                self.establish_any(newest, segment, v6);
            }
            let nearest = self.nearest(newest, segment);
            if nearest != newest {
                self.challenge_newest(newest, nearest, segment);
            }
            nearest
        };
        let observed = self.table.get_mut(at).observe_non_syn(segment, tally, &mut self.pool);
        self.note_path(segment, v6, &observed);
        (at, observed.side)
    }

    /// Establishes each connection with the same flow key whose handshake `segment` completes. There may be more than
    /// the one it belongs to, as when both sides open at the same time (RFC 9293, 3.5).
    fn establish_any(&mut self, newest: u32, segment: &Segment, v6: Option<[Address; 2]>) {
        let establish = |table: &mut Table, at: u32| {
            let connection = table.get_mut(at);
            if !connection.flags.has(ConnectionFlags::ESTABLISHED) && connection.side(segment) == CLIENT {
                connection.establish(segment);
            }
            connection.older
        };
        let mut next = newest;
        for _ in 0..CHAIN_SCAN {
            if next == NONE {
                return;
            }
            next = establish(&mut self.table, next);
        }
        let isn = segment.seq.wrapping_sub(1);
        if let Some(at) = self.table.find_by_isn(segment, v6, isn) {
            establish(&mut self.table, at);
        }
    }

    /// Records that the newest connection is an attempt whose SYN met another one that the server still has, `older`, to
    /// which `segment` belongs: an acknowledgement without news from the server, or the client's RST that answers it.
    fn challenge_newest(&mut self, newest: u32, older: u32, segment: &Segment) {
        let older = self.table.get(older);
        let acknowledged = &older.endpoints[1 - older.side(segment)];
        let is_news = acknowledged.flags.has(EndpointFlags::ACKED) && distance(segment.ack, acknowledged.acked) > 0;
        let attempt = self.table.get_mut(newest);
        let flags = segment.flags();
        let met = match (attempt.side(segment), flags.any(TcpFlags::RST)) {
            (CLIENT, true) => attempt.answers_challenge(segment),
            (SERVER, false) => flags.any(TcpFlags::ACK) && !is_news && attempt.is_challenge(segment),
            _ => false,
        };
        if met {
            attempt.challenge();
        }
    }

    /// Connection, among several with the same flow key, whose sequence numbers are nearest to the segment's.
    fn nearest(&self, newest: u32, segment: &Segment) -> u32 {
        let distance = |&at: &u32| {
            let connection = self.table.get(at);
            let side = connection.side(segment);
            let endpoint = &connection.endpoints[side];
            let other = &connection.endpoints[1 - side];
            let near = |known: bool, number: u32, to: u32| {
                if known { distance(number, to).unsigned_abs() } else { u32::MAX / 2 }
            };
            near(endpoint.flags.has(EndpointFlags::SENT), segment.seq, endpoint.next).min(
                if segment.flags().any(TcpFlags::ACK) {
                    near(other.flags.has(EndpointFlags::SENT), segment.ack, other.next)
                } else {
                    u32::MAX
                },
            )
        };
        self.table.chain(newest).take(CHAIN_SCAN).min_by_key(distance).unwrap_or(newest)
    }
}

/// Place of a segment without SYN in its connection.
pub(super) struct Observed {
    /// Side that sent it.
    pub(super) side: usize,
    pub(super) kind: SegmentKind,
    /// Round-trip time to `side`, if the segment shows it, and what it acknowledges.
    pub(super) round_trip: Option<(Of, Nanos)>,
}

impl Connection {
    /// Handles a segment without SYN.
    #[inline(always)]
    pub(super) fn observe_non_syn(&mut self, segment: &Segment, tally: &mut Tally, pool: &mut Pool) -> Observed {
        let rst = segment.flags().any(TcpFlags::RST);
        let ack = segment.flags().any(TcpFlags::ACK);
        let side = self.side(segment);
        // Here and below, conditions that are rarely true come first: the processor cannot predict which side sends
        // next.
        let mut acknowledges = ack;
        let mut round_trip = None;
        if self.flags.is_opening() && ack && !rst {
            acknowledges = !self.acknowledged(side, segment);
            round_trip = self.round_trip_of_synack().map(|it| (Of::Handshake, it));
        }
        if self.loss_state.is_some() {
            self.observe_with_loss_state(side, segment, tally);
        }
        let kind = if segment.is_marked_duplicate() {
            SegmentKind::CaptureDuplicate
        } else if segment.seq_len() > 0 && !rst {
            let kind = self.data(side, segment, tally, pool);
            tally.retransmissions.data_segments += u64::from(kind != SegmentKind::CaptureDuplicate);
            kind
        } else if self.is_pure_ack_copy(side, segment) {
            SegmentKind::CaptureDuplicate
        } else {
            SegmentKind::New
        };
        let is_duplicate = kind == SegmentKind::CaptureDuplicate;
        if is_duplicate {
            self.flags.add(ConnectionFlags::COPIED);
        }
        tally.data(segment.time, kind);
        if acknowledges {
            let shown = self.acknowledge(side, segment, tally, pool);
            round_trip = round_trip.or(shown.map(|it| (Of::Data, it)));
            if self.endpoints[CLIENT].flags.has(EndpointFlags::FIN_ACKED)
                && self.response == CompactDuration::NONE
                && self.flags.has(ConnectionFlags::SYN)
                && side == SERVER
            {
                self.response = CompactDuration::new(segment.time.saturating_since(self.first));
            }
        }
        self.segments[side] += u32::from(!is_duplicate);
        self.endpoints[side].flags.set(EndpointFlags::ZERO_WINDOW, segment.window == 0 && !rst);
        if rst {
            self.reset(side, segment, pool);
        }
        Observed { side, kind, round_trip }
    }

    /// Time from the SYN/ACK to the client's ACK, if that is the segment just handled and neither was repeated.
    fn round_trip_of_synack(&self) -> Option<Nanos> {
        let acked = self.flags.has(ConnectionFlags::ESTABLISHED);
        let both = self.round_trip().filter(|_| acked)?;
        Some(both.saturating_sub(self.synack_at.get()?))
    }

    /// Handles a segment of `side` with RST.
    #[inline(never)]
    fn reset(&mut self, side: usize, segment: &Segment, pool: &mut Pool) {
        if side == CLIENT && self.answers_challenge(segment) {
            // It ends the other connection.
            self.challenge();
            return;
        }
        self.flags.add(ConnectionFlags::RST);
        let is_attempt = self.flags.has(ConnectionFlags::SYN);
        if side == CLIENT && self.follows_data(segment) {
            self.flags.add(ConnectionFlags::CLIENT_WENT_ON);
            self.flags.add(ConnectionFlags::WENT_ON);
        }
        let went_on = self.flags.has(ConnectionFlags::WENT_ON) || self.flags.has(ConnectionFlags::ESTABLISHED);
        if side == SERVER && is_attempt && !went_on {
            // After a SYN/ACK, it is still an answer.
            self.flags.add(ConnectionFlags::TURNED_AWAY);
        }
        if side == SERVER && is_attempt && !self.flags.has(ConnectionFlags::SYNACK) {
            self.flags.add(ConnectionFlags::REFUSED);
        }
        if side == CLIENT && is_attempt && self.synacks > 0 && !went_on {
            self.flags.add(ConnectionFlags::RESET);
            self.flags.add(ConnectionFlags::RESET_LAST);
            if self.ack_at == CompactDuration::NONE {
                // Sent at once, as the ACK would be.
                self.ack_at = CompactDuration::new(segment.time.saturating_since(self.first));
            }
        }
        pool.take_back(&mut self.windows);
    }

    /// Handles a segment of `side` without SYN on a connection with loss state.
    #[inline(never)]
    fn observe_with_loss_state(&mut self, side: usize, segment: &Segment, tally: &mut Tally) {
        tally.retransmissions.spurious += u64::from(self.shows_spurious(side, segment));
        let isn = self.isn;
        if let Some(loss_state) = &mut self.loss_state
            && loss_state.exchange.is_used()
            && !segment.flags().any(TcpFlags::RST)
        {
            loss_state.exchange.record_other(side, segment, isn);
        }
    }

    /// Updates the state that any segment of `side` changes: time and direction. Returns 1 if the connection got its
    /// loss state with this segment, else 0.
    #[inline(always)]
    pub(super) fn seen(&mut self, side: usize, segment: &Segment, by_initiator: bool) -> usize {
        self.last = self.last.max(segment.time);
        let endpoint = &mut self.endpoints[side];
        if !endpoint.flags.has(EndpointFlags::DIRECTED) {
            endpoint.flags.set(EndpointFlags::DIRECTED, true);
            endpoint.direction = if by_initiator { side as u8 } else { segment.direction };
        }
        let is_new = self.loss_state.is_some() && !self.flags.has(ConnectionFlags::HAS_LOSS_STATE);
        if is_new {
            self.flags.add(ConnectionFlags::HAS_LOSS_STATE);
        }
        usize::from(is_new)
    }
}

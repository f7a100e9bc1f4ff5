//! Handshake segments: SYN, SYN/ACK and the completing ACK, by the definitions of handshake-2009, section 3.

use super::Connections;
use super::clock::{Span, Tick};
use super::connection::{CLIENT, Connection, HalfState, SERVER, State};
use super::exchange::Transmission;
use super::flight::Sent;
use super::seq::{after, distance};
use super::table::SAME_ENDS;
use super::trouble::Trouble;
use crate::measure::Tally;
use crate::measure::backoff::Candidates;
use crate::segment::Segment;
use gentle_units::Nanos;
use gentle_wire::{Address, TcpFlags};

/// Range of sequence numbers above the initial one for the first segments after a handshake: larger than any initial
/// window, and small enough that a segment of an older connection falls into it with a probability of 1/4096.
const FURTHEST: i32 = 1 << 20;

impl Connections {
    /// Handles a SYN without ACK: a new attempt or a repeated SYN. Returns the connection and the sending side.
    pub(super) fn syn(
        &mut self,
        segment: &Segment,
        wide: Option<[Address; 2]>,
        newest: u32,
        tally: &mut Tally,
    ) -> (u32, usize) {
        let is_it = |at: &u32| {
            let connection = self.table.get(*at);
            connection.isn[CLIENT] == segment.seq
                && connection.is_attempt()
                && connection.side(segment) == CLIENT
        };
        let of_crowd = || self.table.of_crowd(segment, wide, segment.seq);
        let known = self.table.chain(newest).take(SAME_ENDS).find(is_it);
        let at = match known.or_else(|| of_crowd().filter(is_it)) {
            Some(at) => at,
            None => {
                let at = self.begin(segment, wide, newest, CLIENT);
                self.table.get_mut(at).isn[CLIENT] = segment.seq;
                self.table.isn_known(at, segment.ends.hash);
                at
            }
        };
        let connection = self.table.get_mut(at);
        if connection.state.has(State::SYN) {
            connection.syn_again(segment, tally);
        } else {
            connection.state.add(State::SYN);
            if connection.synacks > 0 {
                // Captured in the wrong order: the times give no round-trip time.
                connection.state.add(State::HANDSHAKE_AGAIN);
                tally.order.answered_before(connection.first, segment.time);
            }
            connection.syns = 1;
            connection.opens(CLIENT, segment);
            tally.attempts += 1;
            tally.syn_with_data += u64::from(segment.payload_len > 0);
            tally.vantage.ttl(CLIENT, segment.ttl);
            tally.timeline.at(segment.time).attempts += 1;
        }
        (at, CLIENT)
    }

    /// Handles a SYN/ACK, first or repeated. Returns the connection and the sending side.
    pub(super) fn synack(
        &mut self,
        segment: &Segment,
        wide: Option<[Address; 2]>,
        newest: u32,
        tally: &mut Tally,
    ) -> (u32, usize) {
        let isn = segment.ack.wrapping_sub(1);
        let answers = |at: &u32| {
            let connection = self.table.get(*at);
            // A simultaneous open with itself: the program answers its own SYN (RFC 9293, 3.5).
            connection.is_attempt()
                && (connection.side(segment) == SERVER || segment.is_to_itself(wide))
        };
        let by_isn = |at: &u32| self.table.get(*at).isn[CLIENT] == isn;
        // A SYN with data (RFC 7413) is acknowledged together with its data.
        let by_data = |at: &u32| {
            let client = &self.table.get(*at).halves[CLIENT];
            client.state.has(HalfState::OPENING) && client.next == segment.ack
        };
        let chain = || self.table.chain(newest).take(SAME_ENDS).filter(answers);
        let of_crowd = || self.table.of_crowd(segment, wide, isn);
        let known = chain()
            .find(by_isn)
            .or_else(|| of_crowd().filter(|at| answers(at) && by_isn(at)))
            .or_else(|| chain().find(by_data));
        let at = match known {
            Some(at) => at,
            None => {
                let at = self.begin(segment, wide, newest, SERVER);
                self.table.get_mut(at).isn[CLIENT] = isn;
                self.table.isn_known(at, segment.ends.hash);
                tally.synack_without_syn += 1;
                at
            }
        };
        let connection = self.table.get_mut(at);
        connection.synack(segment, tally);
        connection.acknowledge(SERVER, segment, tally, &mut self.pool);
        (at, SERVER)
    }

    /// Handles an ICMP message that `segment` was not delivered: an attempt with this SYN was rejected.
    pub(super) fn undelivered(&mut self, segment: &Segment, newest: u32) {
        let attempt = self.table.chain(newest).find(|&at| {
            let connection = self.table.get(at);
            connection.isn[CLIENT] == segment.seq
                && connection.state.has(State::SYN)
                && connection.side(segment) == CLIENT
        });
        if let Some(at) = attempt {
            let state = &mut self.table.get_mut(at).state;
            state.add(State::REJECTED);
            state.add(State::TURNED_AWAY);
        }
    }
}

impl Connection {
    /// Whether a segment of the handshake was seen, so that the initiator is known.
    pub(crate) fn is_attempt(&self) -> bool {
        self.state.has(State::SYN) || self.synacks > 0
    }

    /// Records the first SYN or SYN/ACK of a side, which opens its sequence space.
    fn opens(&mut self, side: usize, segment: &Segment) {
        let end = segment.seq.wrapping_add(segment.span());
        self.bytes[side] += u64::from(segment.payload_len);
        let half = &mut self.halves[side];
        self.segments[side] += 1;
        if !half.state.has(HalfState::SENT) {
            half.state.set(HalfState::SENT, true);
            half.state.set(HalfState::OPENING, true);
            half.next = end;
            half.recent = Sent::new(segment);
        }
    }

    /// Previous transmission of the side's SYN or SYN/ACK; `None` if the side has sent anything after it.
    fn previous_open(&mut self, side: usize) -> Option<&mut Sent> {
        let half = &mut self.halves[side];
        half.state
            .has(HalfState::OPENING)
            .then_some(&mut half.recent)
    }

    fn syn_again(&mut self, segment: &Segment, tally: &mut Tally) {
        self.syns = self.syns.saturating_add(1);
        tally.duplicate_syn += 1;
        let Some(interval) = self.handshake_again(CLIENT, segment, tally) else {
            return;
        };
        let settled = self.state.take(State::TURNED_AWAY);
        self.pass(CLIENT, segment, settled, false);
        if self.state.has(State::SYNACK) {
            tally.vantage.syn_after_synack += 1;
        } else {
            tally.vantage.syn_before_synack += 1;
        }
        if !tally.intervals.record(CLIENT, interval) {
            self.state.add(State::OUTSIDE);
        }
        if !self.state.has(State::ESTABLISHED) {
            self.trouble().syn_pending = true;
        }
    }

    fn synack(&mut self, segment: &Segment, tally: &mut Tally) {
        let answers_syn = self.isn[CLIENT].wrapping_add(1) == segment.ack;
        if self.synacks == 0 {
            self.synacks = 1;
            let server = &self.halves[SERVER];
            if server.state.has(HalfState::ACKED)
                && !after(segment.seq.wrapping_add(1), server.acked)
            {
                // The time of the segment that acknowledged it is not kept; it is not after the last segment.
                tally.order.answered_before(self.last, segment.time);
            }
            self.isn[SERVER] = segment.seq;
            self.synack_acks = segment.ack;
            self.opens(SERVER, segment);
            tally.vantage.ttl(SERVER, segment.ttl);
            if self.state.has(State::SYN) {
                self.synack_at = Span::new(segment.time.saturating_sub(self.first));
            }
            if answers_syn {
                self.state.add(State::SYNACK);
            }
            if let Some(trouble) = &mut self.trouble {
                trouble.syn_pending = false;
                if trouble.exchange.is_used() {
                    self.pass(SERVER, segment, false, true);
                }
            }
            return;
        }
        if answers_syn {
            self.state.add(State::SYNACK);
        }
        if (segment.seq, segment.ack) != (self.isn[SERVER], self.synack_acks) {
            // Another initial sequence number: a recomputed SYN cookie, or another host's answer. Or another acknowledgement
            // number: of the SYN with its data, and of the SYN alone (RFC 7413).
            let others = &mut self.trouble().other_synacks;
            let other = (segment.seq, segment.ack);
            if !others.contains(&other) {
                if others.len() == Trouble::OTHER_SYNACKS {
                    others.remove(0);
                }
                others.push(other);
                self.segments[SERVER] += 1;
                self.trouble().syn_pending = false;
                self.begin_exchange();
                self.pass(SERVER, segment, self.state.has(State::WENT_ON), true);
                return;
            }
        }
        self.synacks = self.synacks.saturating_add(1);
        tally.duplicate_synack += 1;
        let Some(interval) = self.handshake_again(SERVER, segment, tally) else {
            return;
        };
        if self.state.has(State::ESTABLISHED) {
            tally.vantage.synack_after_ack += 1;
        } else {
            tally.vantage.synack_before_ack += 1;
        }
        tally.intervals.record(SERVER, interval);
        let asked_for = std::mem::take(&mut self.trouble().syn_pending);
        let went_on = self.state.has(State::WENT_ON);
        self.pass(SERVER, segment, went_on, asked_for);
        if went_on && !asked_for {
            let client = &self.halves[CLIENT];
            let spoken = self.bytes.iter().any(|&bytes| bytes > 0);
            let waits = self.bytes[CLIENT] > 0
                && (!client.state.has(HalfState::ACKED) || after(client.next, client.acked));
            self.trouble().exchange.put_off(spoken, waits);
        }
    }

    /// Starts the record of the exchange at the first retransmission, from what is still known of earlier segments.
    fn begin_exchange(&mut self) {
        if self.trouble().exchange.is_used() {
            return;
        }
        let opening = [CLIENT, SERVER].map(|side| self.previous_open(side).copied());
        let first = Tick::at(self.first);
        let seen = |sent: Option<Sent>, at: Tick| Transmission {
            at: sent.map_or(at, |sent| sent.at),
            stamp: sent.map_or(0, |sent| sent.stamp),
            ..Transmission::default()
        };
        let after_first = |span: Span| {
            let at = self.first.saturating_add(span.get().unwrap_or_default());
            Tick::at(at)
        };
        let syn = self
            .state
            .has(State::SYN)
            .then(|| seen(opening[CLIENT], first));
        let synack = (self.synacks > 0).then(|| seen(opening[SERVER], after_first(self.synack_at)));
        let answered = self
            .state
            .has(State::WENT_ON)
            .then(|| after_first(self.ack_at));
        let exchange = &mut self.trouble().exchange;
        if let Some(syn) = syn {
            exchange.sent(CLIENT, syn);
        }
        if let Some(synack) = synack {
            exchange.sent(SERVER, synack);
        }
        if let Some(at) = answered {
            exchange.answered(at, 0);
        }
    }

    /// Records a SYN or SYN/ACK; `settled` and `asked_for` as in [`Transmission`].
    fn pass(&mut self, side: usize, segment: &Segment, settled: bool, asked_for: bool) {
        self.trouble().exchange.sent(
            side,
            Transmission {
                at: Tick::at(segment.time),
                stamp: segment.timestamp.0 as u16,
                echo: segment.timestamp.1 as u16,
                others_before: 0,
                settled,
                asked_for,
            },
        );
    }

    /// Records a repeated SYN or SYN/ACK. Returns the time since the previous one; `None` for a copy made by the capture.
    fn handshake_again(
        &mut self,
        side: usize,
        segment: &Segment,
        tally: &mut Tally,
    ) -> Option<Nanos> {
        let previous = self.previous_open(side).copied();
        // After a repeated SYN, the answer to it and a retransmission by timer may follow each other almost immediately, because
        // both sides start their timers within one round trip. Only the IP identification tells them apart, which most hosts
        // leave zero in SYN/ACKs; a capture that makes copies has also copied some SYNs.
        let answers_again = side == SERVER
            && self.trouble.as_ref().is_some_and(|trouble| {
                trouble.syn_pending
                    || (trouble.sides[CLIENT].handshake > 0
                        && segment.ip_id == 0
                        && !self.state.has(State::COPIED))
            });
        let known_original = segment.ip_id == 0 && segment.is_marked_original();
        let is_copy = segment.is_marked_copy()
            || (!answers_again
                && !known_original
                && previous.is_some_and(|sent| sent.is_copy(segment)));
        if is_copy {
            self.state.add(State::COPIED);
            self.trouble().sides[side].handshake_copies += 1;
            let copies = &mut tally.capture_duplicates;
            *(if side == CLIENT {
                &mut copies.syn
            } else {
                &mut copies.synack
            }) += 1;
            return None;
        }
        self.begin_exchange();
        let interval = previous.map_or(Nanos::ZERO, |sent| Tick::at(segment.time).since(sent.at));
        if let Some(sent) = self.previous_open(side) {
            *sent = Sent::new(segment);
        }
        self.segments[side] += 1;
        self.state.add(State::HANDSHAKE_AGAIN);
        let trouble = self.trouble();
        trouble.sides[side].handshake += 1;
        let delay = &mut trouble.sides[side].handshake_delay;
        *delay = delay.saturating_add(interval);
        let series = trouble.series[side].unwrap_or_else(Candidates::all);
        trouble.series[side] = Some(series.then(interval));
        tally.timeline.at(segment.time).handshake_retransmissions += 1;
        Some(interval)
    }

    /// Handles a segment with ACK, without SYN and RST, of a connection whose handshake is not known to be complete.
    #[inline(never)]
    pub(super) fn acknowledged(&mut self, side: usize, segment: &Segment) {
        if !self.state.has(State::WENT_ON) && self.shows_answer(side, segment) {
            self.state.add(State::WENT_ON);
            if let Some(trouble) = &mut self.trouble
                && trouble.exchange.is_used()
            {
                let echo = if side == CLIENT {
                    segment.timestamp.1 as u16
                } else {
                    0
                };
                trouble.exchange.answered(Tick::at(segment.time), echo);
            }
        }
        if side == CLIENT {
            self.establish(segment);
        }
    }

    /// Whether a segment with ACK, without SYN and RST, proves that the client got an answer: its sequence number continues the
    /// SYN's, or SYN/ACK's, and so does its acknowledgement number.
    fn shows_answer(&self, side: usize, segment: &Segment) -> bool {
        let other = 1 - side;
        let opened = |side: usize| match side {
            CLIENT => self.is_attempt(),
            _ => self.synacks > 0,
        };
        let beyond = |number: u32, side: usize| {
            let beyond = distance(number, self.isn[side]);
            opened(side).then_some((1..=FURTHEST).contains(&beyond))
        };
        // A server may acknowledge a SYN before its own SYN/ACK is answered.
        let is_new = side == CLIENT
            || segment.span() > 0
            || distance(segment.ack, self.isn[CLIENT].wrapping_add(1)) > 0;
        match (beyond(segment.seq, side), beyond(segment.ack, other)) {
            (None, None) => false,
            (own, others) => is_new && own.unwrap_or(true) && others.unwrap_or(true),
        }
    }

    /// Handles a segment of the client with ACK, without SYN and RST: by the definition, the handshake is complete if it
    /// acknowledges a SYN/ACK.
    pub(super) fn establish(&mut self, segment: &Segment) {
        if !self.state.has(State::SYNACK) {
            return;
        }
        debug_assert!(segment.flags().any(TcpFlags::ACK));
        let completed = (
            segment.ack.wrapping_sub(1),
            self.isn[CLIENT].wrapping_add(1),
        );
        let of_another = self
            .trouble
            .as_ref()
            .is_some_and(|trouble| trouble.other_synacks.contains(&completed));
        if completed != (self.isn[SERVER], self.synack_acks) && !of_another {
            return;
        }
        self.state.add(State::ESTABLISHED);
        if self.state.has(State::SYN) {
            // Otherwise the SYN may still come, if the capture is out of order.
            self.ack_at = Span::new(segment.time.saturating_sub(self.first));
        }
    }
}

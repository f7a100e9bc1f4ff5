//! SYN, SYN/ACK, and the ACK that completes the handshake, by the definitions of handshake-2009 (papers.md 3.1).

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

/// Sequence numbers beyond the initial one in which the first segments after a handshake may be: enough for any initial
/// window, and so few that a segment of an older connection is in them one time in 4,096.
const FURTHEST: i32 = 1 << 20;

impl Connections {
    /// A SYN without ACK: an attempt, or a duplicate.
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
                // Captured in the wrong order: no round-trip time follows from it.
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

    /// A SYN/ACK: the answer to an attempt, or a duplicate of it.
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
            // A program that has connected to itself answers itself (RFC 9293, 3.5).
            connection.is_attempt()
                && (connection.side(segment) == SERVER || segment.is_to_itself(wide))
        };
        let by_isn = |at: &u32| self.table.get(*at).isn[CLIENT] == isn;
        // A SYN with data (RFC 7413) is acknowledged together with them.
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

    /// An ICMP message says that `segment` was not delivered: if that is the SYN of an attempt, the attempt was rejected.
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
    /// Whether something of its handshake was seen, so that its initiator is known.
    pub(crate) fn is_attempt(&self) -> bool {
        self.state.has(State::SYN) || self.synacks > 0
    }

    /// The first SYN or SYN/ACK of a side opens its sequence space.
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

    /// The previous transmission of the side's SYN or SYN/ACK, unless it has sent more since.
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
                // Of what acknowledged it no time is kept: at the latest it was the last segment.
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
            // Another initial sequence number: a SYN cookie made again, or someone else's answer. Or another
            // acknowledgement: of the SYN with its data, and of the SYN alone (RFC 7413).
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

    /// Something of the handshake comes again: what is still known of what passed before is written down.
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

    /// A SYN or SYN/ACK passes, of which `settled` and `asked_for` are as in [`Transmission`].
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

    /// A SYN or SYN/ACK came again. The time since it came before; `None` if it is a copy made by the capture.
    fn handshake_again(
        &mut self,
        side: usize,
        segment: &Segment,
        tally: &mut Tally,
    ) -> Option<Nanos> {
        let previous = self.previous_open(side).copied();
        // When a SYN came again, the answer to it and a retransmission by timer may follow each other within no time (both
        // sides count their seconds from the same round trip). Only the IP identification tells them apart, which most
        // hosts leave out of SYN/ACKs; where the capture makes copies, it has made some of the SYN, too.
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

    /// A segment with ACK, without SYN and RST, of a connection whose handshake is not known to be complete.
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

    /// Whether a segment with ACK, without SYN and RST, can only be there because the client got an answer: it goes on where
    /// the SYN ended, and so does what it acknowledges.
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
        // A server may acknowledge a SYN without having got the answer to its own.
        let is_new = side == CLIENT
            || segment.span() > 0
            || distance(segment.ack, self.isn[CLIENT].wrapping_add(1)) > 0;
        match (beyond(segment.seq, side), beyond(segment.ack, other)) {
            (None, None) => false,
            (own, others) => is_new && own.unwrap_or(true) && others.unwrap_or(true),
        }
    }

    /// A segment of the client with ACK, without SYN and RST: by the definition, the handshake is complete if it acknowledges
    /// a SYN/ACK.
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
            // Else it may still come, if the capture is out of order.
            self.ack_at = Span::new(segment.time.saturating_sub(self.first));
        }
    }
}

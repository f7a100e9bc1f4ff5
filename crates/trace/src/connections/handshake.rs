//! SYN, SYN/ACK, and the ACK that completes the handshake, by the definitions of handshake-2009 (papers.md 3.1).

use super::clock::{Span, Tick};
use super::connection::{CLIENT, Connection, HalfState, SERVER, State};
use super::flight::Sent;
use super::trouble::Trouble;
use super::{Connections, Farewell};
use crate::measure::Tally;
use crate::measure::backoff::Candidates;
use crate::segment::Segment;
use gentle_units::Nanos;
use gentle_wire::{Address, TcpFlags};

impl Connections {
    /// A SYN without ACK: an attempt, or a duplicate.
    pub(super) fn syn<F: Farewell>(
        &mut self,
        segment: &Segment,
        wide: Option<[Address; 2]>,
        newest: u32,
        tally: &mut Tally,
        farewell: &mut F,
    ) -> Result<(u32, usize), F::Error> {
        let known = self.table.chain(newest).find(|&at| {
            let connection = self.table.get(at);
            connection.isn[CLIENT] == segment.seq
                && connection.is_attempt()
                && connection.side(segment) == CLIENT
        });
        let at = match known {
            Some(at) => at,
            None => self.begin(segment, wide, newest, CLIENT, farewell)?,
        };
        let connection = self.table.get_mut(at);
        if connection.state.has(State::SYN) {
            connection.syn_again(segment, tally);
        } else {
            connection.state.add(State::SYN);
            if connection.synacks > 0 {
                // Captured in the wrong order: no round-trip time follows from it.
                connection.state.add(State::HANDSHAKE_AGAIN);
            }
            connection.isn[CLIENT] = segment.seq;
            connection.syns = 1;
            connection.opens(CLIENT, segment);
            tally.attempts += 1;
            tally.syn_with_data += u64::from(segment.payload_len > 0);
            tally.vantage.ttl(CLIENT, segment.ttl);
            tally.timeline.at(segment.time).attempts += 1;
        }
        Ok((at, CLIENT))
    }

    /// A SYN/ACK: the answer to an attempt, or a duplicate of it.
    pub(super) fn synack<F: Farewell>(
        &mut self,
        segment: &Segment,
        wide: Option<[Address; 2]>,
        newest: u32,
        tally: &mut Tally,
        farewell: &mut F,
    ) -> Result<(u32, usize), F::Error> {
        let isn = segment.ack.wrapping_sub(1);
        let answers = |at: &u32| {
            let connection = self.table.get(*at);
            connection.is_attempt() && connection.side(segment) == SERVER
        };
        let by_isn = |at: &u32| self.table.get(*at).isn[CLIENT] == isn;
        // A SYN with data (RFC 7413) is acknowledged together with them.
        let by_data = |at: &u32| {
            let client = &self.table.get(*at).halves[CLIENT];
            client.state.has(HalfState::OPENING) && client.next == segment.ack
        };
        let chain = || self.table.chain(newest).filter(answers);
        let known = chain().find(by_isn).or_else(|| chain().find(by_data));
        let at = match known {
            Some(at) => at,
            None => {
                let at = self.begin(segment, wide, newest, SERVER, farewell)?;
                self.table.get_mut(at).isn[CLIENT] = isn;
                tally.synack_without_syn += 1;
                at
            }
        };
        let connection = self.table.get_mut(at);
        connection.synack(segment, tally);
        connection.acknowledge(SERVER, segment, &mut self.pool);
        Ok((at, SERVER))
    }
}

impl Connection {
    /// Whether something of its handshake was seen, so that its initiator is known.
    fn is_attempt(&self) -> bool {
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
        if self.state.has(State::SYNACK) {
            tally.vantage.syn_after_synack += 1;
        } else {
            tally.vantage.syn_before_synack += 1;
        }
        if !tally.intervals.record(CLIENT, interval) {
            self.state.add(State::OUTSIDE);
        }
        if !self.state.has(State::ESTABLISHED) {
            let now = segment.time;
            let trouble = self.trouble();
            trouble.wait(now.saturating_sub(interval), now);
            trouble.syn_pending = true;
        }
    }

    fn synack(&mut self, segment: &Segment, tally: &mut Tally) {
        let answers_syn = self.isn[CLIENT].wrapping_add(1) == segment.ack;
        if self.synacks == 0 {
            self.synacks = 1;
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
        // The answer to a SYN that came again made nobody wait: the SYN had.
        let answers_again = std::mem::take(&mut self.trouble().syn_pending);
        if !answers_again && !self.state.has(State::ESTABLISHED) {
            let now = segment.time;
            self.trouble().wait(now.saturating_sub(interval), now);
        }
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
        if !answers_again && previous.is_some_and(|sent| sent.is_copy(segment)) {
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

    /// A segment of the client with ACK, without SYN and RST: the handshake is complete if it acknowledges a SYN/ACK.
    pub(super) fn establish(&mut self, segment: &Segment, tally: &mut Tally) {
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
        if !self.state.has(State::SYN) {
            // It may still come, if the capture is out of order.
            return;
        }
        self.ack_at = Span::new(segment.time.saturating_sub(self.first));
        if self.state.has(State::HANDSHAKE_AGAIN) {
            tally.timeline.at(segment.time).time_lost_s += self.handshake_delay().as_secs_f64();
        }
    }
}

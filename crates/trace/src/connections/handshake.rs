//! Handshake segments: SYN, SYN/ACK and the completing ACK, by the definitions of handshake-2009, section 3.

use super::Connections;
use super::compact_time::{CompactDuration, CompactTime};
use super::connection::{Connection, ConnectionFlags, EndpointFlags};
use super::exchange::{CLIENT, SERVER, Transmission};
use super::flight::{LONGEST_COPY_GAP, SHORTEST_TIMER, Sent};
use super::loss_state::LossState;
use super::table::CHAIN_SCAN;
use crate::segment::{Segment, SynExtras, after, distance};
use crate::tally::{Candidates, Tally};
use gentle_units::Nanos;
use gentle_wire::{Address, TcpFlags};

/// Range of sequence numbers above the initial one for the first segments after a handshake: larger than any initial
/// window, and small enough that a segment of an older connection falls into it with a probability of 1/4096.
const FIRST_WINDOW: i32 = 1 << 20;

impl Connections {
    /// Handles a SYN without ACK: a new attempt or a repeated SYN. Returns the connection and the sending side.
    pub(super) fn syn(
        &mut self,
        segment: &Segment,
        v6: Option<[Address; 2]>,
        newest: u32,
        tally: &mut Tally,
    ) -> (u32, usize) {
        let is_it = |at: &u32| {
            let connection = self.table.get(*at);
            connection.isn[CLIENT] == segment.seq
                && connection.is_attempt()
                && connection.side(segment) == CLIENT
                && !self.eviction.has_expired(connection, segment.time)
        };
        let in_index = || self.table.find_by_isn(segment, v6, segment.seq);
        let known = self.table.chain(newest).take(CHAIN_SCAN).find(is_it);
        let at = match known.or_else(|| in_index().filter(is_it)) {
            Some(at) => at,
            None => {
                let at = self.begin(segment, v6, newest, CLIENT);
                self.table.get_mut(at).isn[CLIENT] = segment.seq;
                self.table.index_isn(at, segment.key.hash);
                at
            }
        };
        let connection = self.table.get_mut(at);
        if connection.flags.has(ConnectionFlags::SYN) {
            let newest = self.recent_syns.newest_of(at, segment.seq);
            connection.syn_repeated(segment, newest, tally);
        } else {
            connection.flags.add(ConnectionFlags::SYN);
            if connection.synacks > 0 {
                // Captured in the wrong order: the times give no round-trip time.
                connection.flags.add(ConnectionFlags::HANDSHAKE_REPEATED);
                tally.order.answered_before(connection.first, segment.time);
            }
            connection.syns = 1;
            connection.flags.add_extras(segment.syn_extras());
            connection.open(CLIENT, segment);
            tally.attempts += 1;
            tally.syn_with_data += u64::from(segment.payload_len > 0);
            tally.vantage.ttl(CLIENT, segment.ttl);
            tally.timeline.at(segment.time).attempts += 1;
        }
        self.syn_in_view(at, segment);
        (at, CLIENT)
    }

    /// Handles a SYN/ACK, first or repeated. Returns the connection and the sending side.
    pub(super) fn synack(
        &mut self,
        segment: &Segment,
        v6: Option<[Address; 2]>,
        newest: u32,
        tally: &mut Tally,
    ) -> (u32, usize) {
        let isn = segment.ack.wrapping_sub(1);
        let answers = |at: &u32| {
            let connection = self.table.get(*at);
            // A simultaneous open with itself: the program answers its own SYN (RFC 9293, 3.5).
            connection.is_attempt()
                && (connection.side(segment) == SERVER || segment.is_to_itself(v6))
                && !self.eviction.has_expired(connection, segment.time)
        };
        let by_isn = |at: &u32| self.table.get(*at).isn[CLIENT] == isn;
        // A SYN with data (RFC 7413) is acknowledged together with its data.
        let by_data = |at: &u32| {
            let client = &self.table.get(*at).endpoints[CLIENT];
            client.flags.has(EndpointFlags::OPENING) && client.next == segment.ack
        };
        let chain = || self.table.chain(newest).take(CHAIN_SCAN).filter(answers);
        let in_index = || self.table.find_by_isn(segment, v6, isn);
        let known = chain()
            .find(by_isn)
            .or_else(|| in_index().filter(|at| answers(at) && by_isn(at)))
            .or_else(|| chain().find(by_data));
        let at = match known {
            Some(at) => at,
            None => {
                let at = self.begin(segment, v6, newest, SERVER);
                self.table.get_mut(at).isn[CLIENT] = isn;
                self.table.index_isn(at, segment.key.hash);
                tally.synack_without_syn += 1;
                at
            }
        };
        if !self.table.get(at).flags.has(ConnectionFlags::SYN) {
            self.challenge_by_synack(newest, at, segment);
        }
        self.synack_in_view(at, segment);
        let connection = self.table.get_mut(at);
        connection.record_synack(segment, tally);
        connection.acknowledge(SERVER, segment, tally, &mut self.pool);
        (at, SERVER)
    }

    /// Records that `segment`, a SYN/ACK of the connection at `other`, whose SYN was not captured, answers the newest attempt
    /// with the same flow key, if that still has no answer: it acknowledges an older SYN (RFC 9293, 3.5, figure 9).
    fn challenge_by_synack(&mut self, newest: u32, other: u32, segment: &Segment) {
        let is_attempt = |at: &u32| self.table.get(*at).flags.has(ConnectionFlags::SYN);
        let attempt = (self.table.chain(newest).take(CHAIN_SCAN)).find(is_attempt);
        let is_met = |at: &u32| {
            let attempt = self.table.get(*at);
            attempt.side(segment) == SERVER
                && attempt.acknowledges_other(segment)
                && !self.eviction.has_expired(attempt, segment.time)
        };
        if let Some(at) = attempt.filter(is_met) {
            self.table.get_mut(at).challenge();
            let flags = &mut self.table.get_mut(other).flags;
            flags.add(ConnectionFlags::CHALLENGED);
        }
    }

    /// Handles an ICMP message that `segment` was not delivered: an attempt with this SYN was rejected.
    pub(super) fn undelivered(&mut self, segment: &Segment, newest: u32) {
        let attempt = self.table.chain(newest).find(|&at| {
            let connection = self.table.get(at);
            connection.isn[CLIENT] == segment.seq
                && connection.flags.has(ConnectionFlags::SYN)
                && connection.side(segment) == CLIENT
        });
        if let Some(at) = attempt {
            let state = &mut self.table.get_mut(at).flags;
            state.add(ConnectionFlags::REJECTED);
            state.add(ConnectionFlags::TURNED_AWAY);
        }
    }
}

impl Connection {
    /// Whether a segment of the handshake was seen, so that the initiator is known.
    pub(crate) fn is_attempt(&self) -> bool {
        self.flags.has(ConnectionFlags::SYN) || self.synacks > 0
    }

    /// Records the first SYN or SYN/ACK of `side`, which opens its sequence space.
    fn open(&mut self, side: usize, segment: &Segment) {
        let end = segment.seq.wrapping_add(segment.seq_len());
        self.bytes[side] += u64::from(segment.payload_len);
        self.flags.set_opening_ttl(side, segment.ttl);
        let endpoint = &mut self.endpoints[side];
        self.segments[side] += 1;
        if !endpoint.flags.has(EndpointFlags::SENT) {
            endpoint.flags.set(EndpointFlags::SENT, true);
            endpoint.flags.set(EndpointFlags::OPENING, true);
            endpoint.next = end;
            endpoint.recent = Sent::new(segment);
        }
    }

    /// Previous transmission of the side's SYN or SYN/ACK; `None` if the side has sent anything after it.
    fn previous_open(&mut self, side: usize) -> Option<&mut Sent> {
        let endpoint = &mut self.endpoints[side];
        endpoint.flags.has(EndpointFlags::OPENING).then_some(&mut endpoint.recent)
    }

    /// Records a repeated SYN; `newest` is the one before it, if that is remembered.
    fn syn_repeated(&mut self, segment: &Segment, newest: Option<Sent>, tally: &mut Tally) {
        self.syns = self.syns.saturating_add(1);
        tally.duplicate_syn += 1;
        let Some(interval) = self.handshake_repeated(CLIENT, segment, newest, tally) else {
            return;
        };
        let reply = self.take_reply();
        // The attempt continues.
        self.flags.take(ConnectionFlags::RST);
        let syn = Transmission {
            reply,
            extras: segment.syn_extras(),
            settled: self.has_gone_on(CLIENT),
            ..Transmission::of(segment)
        };
        self.loss_state().exchange.record_handshake(CLIENT, syn);
        if self.flags.has(ConnectionFlags::SYNACK) {
            tally.vantage.syn_after_synack += 1;
        } else {
            tally.vantage.syn_before_synack += 1;
        }
        if !tally.intervals.record(CLIENT, interval) {
            self.flags.add(ConnectionFlags::OUTSIDE);
        }
        self.loss_state().syn_pending = true;
    }

    /// Records a SYN/ACK, first or repeated.
    fn record_synack(&mut self, segment: &Segment, tally: &mut Tally) {
        let answers_syn = self.isn[CLIENT].wrapping_add(1) == segment.ack;
        if self.synacks == 0 {
            self.synacks = 1;
            let server = &self.endpoints[SERVER];
            if server.flags.has(EndpointFlags::ACKED) && !after(segment.seq.wrapping_add(1), server.acked) {
                // The time of the segment that acknowledged it is not kept; it is not after the last segment.
                tally.order.answered_before(self.last, segment.time);
            }
            let answered = answers_syn
                && self.flags.has(ConnectionFlags::CLIENT_WENT_ON)
                && server.flags.has(EndpointFlags::ACKED)
                && server.acked == segment.seq.wrapping_add(1);
            self.isn[SERVER] = segment.seq;
            self.synack_acks = segment.ack;
            self.open(SERVER, segment);
            tally.vantage.ttl(SERVER, segment.ttl);
            if self.flags.has(ConnectionFlags::SYN) {
                self.synack_at = CompactDuration::new(segment.time.saturating_since(self.first));
            }
            if answers_syn {
                self.flags.add(ConnectionFlags::SYNACK);
                self.forget_data_of_syn();
            }
            if answered {
                // Packets of several receive queues are not always captured in their order.
                self.flags.add(ConnectionFlags::ESTABLISHED);
                self.ack_at = self.synack_at;
            }
            if let Some(loss_state) = &mut self.loss_state {
                loss_state.syn_pending = false;
                if loss_state.exchange.is_used() {
                    self.record_synack_transmission(segment, false, true);
                }
            }
            return;
        }
        if answers_syn {
            self.flags.add(ConnectionFlags::SYNACK);
        }
        if (segment.seq, segment.ack) != (self.isn[SERVER], self.synack_acks) {
            // Another initial sequence number: a recomputed SYN cookie, or another host's answer. Or another
            // acknowledgement number: of the SYN with its data, and of the SYN alone (RFC 7413).
            let others = &mut self.loss_state().other_synacks;
            let other = (segment.seq, segment.ack);
            if !others.contains(&other) {
                if others.len() == LossState::OTHER_SYNACKS {
                    others.remove(0);
                }
                others.push(other);
                self.segments[SERVER] += 1;
                self.loss_state().syn_pending = false;
                self.begin_exchange(None);
                let went_on = self.flags.has(ConnectionFlags::WENT_ON);
                self.record_synack_transmission(segment, went_on, true);
                if let Some(sent) = self.previous_open(SERVER) {
                    *sent = Sent::new(segment);
                }
                return;
            }
        }
        self.synacks = self.synacks.saturating_add(1);
        tally.duplicate_synack += 1;
        let Some(interval) = self.handshake_repeated(SERVER, segment, None, tally) else {
            return;
        };
        if self.flags.has(ConnectionFlags::ESTABLISHED) {
            tally.vantage.synack_after_ack += 1;
        } else {
            tally.vantage.synack_before_ack += 1;
        }
        tally.intervals.record(SERVER, interval);
        let asked_for = std::mem::take(&mut self.loss_state().syn_pending);
        let went_on = self.flags.has(ConnectionFlags::WENT_ON);
        self.record_synack_transmission(segment, went_on, asked_for);
        if went_on && !asked_for {
            let client = &self.endpoints[CLIENT];
            let data_seen = self.bytes.iter().any(|&bytes| bytes > 0);
            let waits =
                self.bytes[CLIENT] > 0 && (!client.flags.has(EndpointFlags::ACKED) || after(client.next, client.acked));
            self.loss_state().exchange.deferred(data_seen, waits);
        }
    }

    /// Forgets the data of the client's SYN, of which the server has acknowledged only the SYN: the client sends them again
    /// without a timer (RFC 7413, 4.2.2), so they are no retransmission.
    fn forget_data_of_syn(&mut self) {
        let next = self.isn[CLIENT].wrapping_add(1);
        let client = &mut self.endpoints[CLIENT];
        if client.flags.has(EndpointFlags::OPENING) && after(client.next, next) {
            let data = client.next.wrapping_sub(next);
            self.bytes[CLIENT] = self.bytes[CLIENT].saturating_sub(data.into());
            client.next = next;
        }
    }

    /// Starts the record of the exchange at the first retransmission, from what is still known of earlier segments;
    /// `syn` is the newest SYN, if the connection does not have it any more.
    fn begin_exchange(&mut self, syn: Option<Sent>) {
        if self.loss_state().exchange.is_used() {
            return;
        }
        let [of_client, of_server] = [CLIENT, SERVER].map(|side| self.previous_open(side).copied());
        let opening = [of_client.or(syn), of_server];
        let first = CompactTime::at(self.first);
        let seen = |sent: Option<Sent>, at: CompactTime| Transmission {
            at: sent.map_or(at, |sent| sent.at),
            stamp: sent.map_or(0, |sent| sent.stamp),
            ..Transmission::default()
        };
        let after_first = |span: CompactDuration| {
            let at = self.first + span.get().unwrap_or_default();
            CompactTime::at(at)
        };
        let extras = self.flags.extras();
        let syn = self.flags.has(ConnectionFlags::SYN).then(|| Transmission { extras, ..seen(opening[CLIENT], first) });
        let synack = (self.synacks > 0).then(|| seen(opening[SERVER], after_first(self.synack_at)));
        let answered = self.flags.has(ConnectionFlags::WENT_ON).then(|| after_first(self.ack_at));
        let exchange = &mut self.loss_state().exchange;
        if let Some(syn) = syn {
            exchange.record_handshake(CLIENT, syn);
        }
        if let Some(synack) = synack {
            exchange.record_handshake(SERVER, synack);
        }
        if let Some(at) = answered {
            exchange.record_answer(at, 0, false);
        }
    }

    /// Records a SYN/ACK; `settled` and `asked_for` as in [`Transmission`].
    fn record_synack_transmission(&mut self, segment: &Segment, settled: bool, asked_for: bool) {
        let synack = Transmission { settled, asked_for, ..Transmission::of(segment) };
        self.loss_state().exchange.record_handshake(SERVER, synack);
    }

    /// Records a repeated SYN or SYN/ACK; `newest` is the one before it, if the connection does not have that any more.
    /// Returns the time since the previous one; `None` for a copy made by the capture.
    fn handshake_repeated(
        &mut self,
        side: usize,
        segment: &Segment,
        newest: Option<Sent>,
        tally: &mut Tally,
    ) -> Option<Nanos> {
        let previous = self.previous_open(side).copied().or(newest);
        // After a repeated SYN, the answer to it and a retransmission by timer may follow each other almost
        // immediately, because both sides start their timers within one round trip. Only the IP identification shows
        // them apart, which most hosts leave zero in SYN/ACKs; a capture that makes copies has also copied some SYNs.
        let loss_state = self.loss_state.as_ref().filter(|_| side == SERVER);
        let after_syns = segment.ip_id == 0 && loss_state.is_some_and(|it| it.sides[CLIENT].handshake > 0);
        let answers_again = loss_state.is_some_and(|it| it.syn_pending)
            || (after_syns && (!self.flags.has(ConnectionFlags::COPIED) || segment.is_marked_original()));
        let longest = if side == CLIENT && self.has_reply() {
            // A packet in between may have made the client send again at once.
            Sent::longest_copy_gap(segment)
        } else if segment.has_timestamp() && self.flags.differs_in_ttl(side, segment.ttl) {
            // Sent in one tick of the sender's clock, and on its way over more hops.
            LONGEST_COPY_GAP
        } else {
            Sent::longest_copy_gap(segment).max(SHORTEST_TIMER)
        };
        let is_copy = segment.is_marked_duplicate()
            || match self.has_gone_on(side) {
                true => {
                    let is_answer = loss_state.is_some_and(|it| it.exchange.lacks_answers());
                    !is_answer && !previous.is_some_and(|sent| self.came_with(side, sent, segment))
                }
                false => !answers_again && previous.is_some_and(|sent| sent.is_copy_within(segment, longest)),
            };
        if is_copy {
            self.flags.add(ConnectionFlags::COPIED);
            self.loss_state().sides[side].handshake_copies += 1;
            let copies = &mut tally.capture_duplicates;
            *(if side == CLIENT { &mut copies.syn } else { &mut copies.synack }) += 1;
            return None;
        }
        self.begin_exchange(newest);
        let interval = previous.map_or(Nanos::ZERO, |sent| CompactTime::at(segment.time).since(sent.at));
        if let Some(sent) = self.previous_open(side) {
            *sent = Sent::new(segment);
        }
        self.flags.set_opening_ttl(side, segment.ttl);
        self.segments[side] += 1;
        self.flags.add(ConnectionFlags::HANDSHAKE_REPEATED);
        let loss_state = self.loss_state();
        loss_state.sides[side].handshake += 1;
        loss_state.add_handshake_delay(side, interval, segment.time);
        let series = loss_state.series[side].unwrap_or_else(Candidates::all);
        loss_state.series[side] = Some(series.then(interval));
        tally.timeline.at(segment.time).handshake_retransmissions += 1;
        Some(interval)
    }

    /// Handles a segment with ACK, without SYN and RST, of a connection whose handshake is not known to be complete.
    /// Returns whether its acknowledgement number is of another connection.
    #[inline(never)]
    pub(super) fn acknowledged(&mut self, side: usize, segment: &Segment) -> bool {
        if side == SERVER && self.is_challenge(segment) {
            self.challenge();
            return true;
        }
        self.adopt_synack(if side == CLIENT { segment.ack } else { segment.seq });
        let shown = match side {
            CLIENT => ConnectionFlags::CLIENT_WENT_ON,
            _ => ConnectionFlags::WENT_ON,
        };
        if !self.flags.has(shown) && self.shows_answer(side, segment) {
            self.flags.add(shown);
            self.flags.add(ConnectionFlags::WENT_ON);
            if let Some(loss_state) = &mut self.loss_state
                && loss_state.exchange.is_used()
            {
                let echo = if side == CLIENT { segment.timestamp.1 as u16 } else { 0 };
                loss_state.exchange.record_answer(CompactTime::at(segment.time), echo, segment.seq_len() == 0);
            }
        }
        if side == CLIENT {
            self.establish(segment);
        }
        false
    }

    /// Whether `side` has sent a segment which shows that it needs no answer to its SYN or SYN/ACK any more, so that an
    /// equal one captured later is a copy, unless it [came with](Self::came_with) another. A server with Fast Open sends
    /// data before (RFC 7413, 4.2).
    fn has_gone_on(&self, side: usize) -> bool {
        let [client, server] = &self.endpoints;
        match side {
            CLIENT => self.flags.has(ConnectionFlags::ESTABLISHED) || self.flags.has(ConnectionFlags::CLIENT_WENT_ON),
            _ => {
                client.flags.has(EndpointFlags::ACKED) && after(client.acked, self.synack_acks)
                    || server.flags.has(EndpointFlags::SENT)
                        && !server.flags.has(EndpointFlags::OPENING)
                        && !self.flags.extras().has(SynExtras::DATA)
            }
        }
    }

    /// Whether `segment`, a SYN or SYN/ACK of `side`, is another packet than `previous`, and follows it so soon that something
    /// held both up on their way: the answer to the first may be captured between them.
    fn came_with(&self, side: usize, previous: Sent, segment: &Segment) -> bool {
        let longest = match side {
            CLIENT => LONGEST_COPY_GAP,
            _ => SHORTEST_TIMER,
        };
        let now = Sent::new(segment);
        let is_other = (now.ip_id, now.stamp) != (previous.ip_id, previous.stamp);
        let exchange = self.loss_state.as_ref().map(|it| &it.exchange);
        let is_known = exchange.is_some_and(|it| it.has_stamp(side, now.stamp));
        is_other && !is_known && now.at.since(previous.at) <= longest
    }

    /// Whether `segment` of the server, with ACK and without SYN and RST, acknowledges something other than the SYN to
    /// which it is the answer: the server still has another connection with these addresses and ports (RFC 9293,
    /// 3.10.7.4; RFC 5961, 4), open or in TIME-WAIT.
    pub(super) fn is_challenge(&self, segment: &Segment) -> bool {
        segment.seq_len() == 0 && self.acknowledges_other(segment)
    }

    /// Whether `segment` of the server, with ACK and without RST, acknowledges something other than the SYN, which still has no
    /// answer.
    fn acknowledges_other(&self, segment: &Segment) -> bool {
        let acked = distance(segment.ack, self.isn[CLIENT]);
        self.awaits_answer() && !(1..=self.opening_len()).contains(&acked)
    }

    /// Whether `segment` of the client, with RST, is its answer to an acknowledgement of another connection: that was the
    /// answer to the SYN, or the RST has its sequence number (RFC 9293, 3.10.7.3).
    pub(super) fn answers_challenge(&self, segment: &Segment) -> bool {
        let from = distance(segment.seq, self.isn[CLIENT]);
        let is_of_other =
            !segment.flags().any(TcpFlags::ACK) && segment.seq != 0 && !(0..=FIRST_WINDOW).contains(&from);
        self.awaits_answer() && (is_of_other || self.flags.has(ConnectionFlags::CHALLENGED_LAST))
    }

    /// Whether the client has sent nothing but SYNs, and no SYN/ACK was captured.
    fn awaits_answer(&self) -> bool {
        self.flags.has(ConnectionFlags::SYN)
            && !self.flags.has(ConnectionFlags::WENT_ON)
            && self.synacks == 0
            && self.endpoints[CLIENT].flags.has(EndpointFlags::OPENING)
    }

    /// Whether `segment` of the client, with RST, comes after data that it sent after a SYN/ACK, captured or not.
    pub(super) fn follows_data(&self, segment: &Segment) -> bool {
        let from = distance(segment.seq, self.isn[CLIENT]);
        self.synacks > 0 && (self.opening_len().max(1) + 1..=FIRST_WINDOW).contains(&from)
    }

    /// Sequence numbers of the SYN and its data.
    fn opening_len(&self) -> i32 {
        distance(self.endpoints[CLIENT].next, self.isn[CLIENT])
    }

    /// Records that the last SYN was answered by an acknowledgement of another connection.
    pub(super) fn challenge(&mut self) {
        self.flags.add(ConnectionFlags::CHALLENGED);
        self.flags.add(ConnectionFlags::CHALLENGED_LAST);
    }

    /// Makes the SYN/ACK that `number`, sent or acknowledged after it, follows the one of the connection, if that is one
    /// with another initial sequence number than the first: the client has accepted it.
    fn adopt_synack(&mut self, number: u32) {
        let follows = |isn: u32| Some(distance(number, isn)).filter(|it| (1..=FIRST_WINDOW).contains(it));
        let server = &mut self.endpoints[SERVER];
        let Some(loss_state) = &mut self.loss_state else {
            return;
        };
        let others = loss_state.other_synacks.iter_mut();
        let others = others.filter_map(|other| Some((follows(other.0)?, other)));
        let Some((gap, other)) = others.min_by_key(|(gap, _)| *gap) else {
            return;
        };
        let is_nearer = follows(self.isn[SERVER]).is_none_or(|current| gap < current);
        if is_nearer && server.flags.has(EndpointFlags::OPENING) {
            std::mem::swap(&mut self.isn[SERVER], &mut other.0);
            std::mem::swap(&mut self.synack_acks, &mut other.1);
            server.next = self.isn[SERVER].wrapping_add(1);
            server.flags.set(EndpointFlags::ACKED, false);
        }
    }

    /// Whether a segment with ACK, without SYN and RST, proves that the client got an answer: its sequence number
    /// continues the SYN's, or SYN/ACK's, and so does its acknowledgement number.
    fn shows_answer(&self, side: usize, segment: &Segment) -> bool {
        let other = 1 - side;
        let opened = |side: usize| match side {
            CLIENT => self.is_attempt(),
            _ => self.synacks > 0,
        };
        let beyond = |number: u32, side: usize| {
            let beyond = distance(number, self.isn[side]);
            opened(side).then_some((1..=FIRST_WINDOW).contains(&beyond))
        };
        // A server may acknowledge a SYN before its own SYN/ACK is answered.
        let is_new =
            side == CLIENT || segment.seq_len() > 0 || distance(segment.ack, self.isn[CLIENT].wrapping_add(1)) > 0;
        match (beyond(segment.seq, side), beyond(segment.ack, other)) {
            (None, None) => false,
            (own, others) => is_new && own.unwrap_or(true) && others.unwrap_or(true),
        }
    }

    /// Handles a segment of the client with ACK, without SYN and RST: by the definition, the handshake is complete if
    /// it acknowledges a SYN/ACK.
    pub(super) fn establish(&mut self, segment: &Segment) {
        if !self.flags.has(ConnectionFlags::SYNACK) {
            return;
        }
        debug_assert!(segment.flags().any(TcpFlags::ACK));
        let completed = (segment.ack.wrapping_sub(1), self.isn[CLIENT].wrapping_add(1));
        let acks_other =
            self.loss_state.as_ref().is_some_and(|loss_state| loss_state.other_synacks.contains(&completed));
        if completed != (self.isn[SERVER], self.synack_acks) && !acks_other {
            return;
        }
        self.flags.add(ConnectionFlags::ESTABLISHED);
        // A client may send its FIN long after an acknowledgement that was not captured.
        if self.flags.has(ConnectionFlags::SYN) && !segment.flags().any(TcpFlags::FIN) {
            // Otherwise the SYN may still come, if the capture is out of order.
            self.ack_at = CompactDuration::new(segment.time.saturating_since(self.first));
        }
    }
}

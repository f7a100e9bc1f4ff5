//! Inference of why SYNs and SYN/ACKs were retransmitted and how an attempt ended, by the rules in `docs/reference/analysis.md`.
//! The counts by the definitions of handshake-2009 do not depend on it.

use super::compact_time::CompactTime;
use super::connection::{Connection, ConnectionFlags};
use super::exchange::{CLIENT, Exchange, Reply, SERVER, Transmission, before};
use super::flight::{SHORTEST_RTO, SHORTEST_TIMER};
use super::trouble::{LostPackets, Trouble};
use super::waited::Waited;
use crate::VantagePoint;
use crate::results::LossDirection;
use crate::row::Outcome;
use crate::segment::SynExtras;
use gentle_units::{Instant, Nanos};

/// Retransmitted SYNs or SYN/ACKs by cause, without copies made by the capture and without SYN/ACKs that answer a
/// repeated SYN.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Repeats {
    /// The previous transmission or its answer was lost.
    pub(crate) lost: u32,
    /// The previous transmission had arrived, and the answer was under way.
    pub(crate) late: u32,
    /// An RST or an ICMP message had answered the previous SYN.
    pub(crate) rejected: u32,
    /// The server deferred the client: SYNs it left unanswered, and SYN/ACKs after the client's ACK.
    pub(crate) deferred: u32,
    /// The server acknowledged another connection with the same addresses and ports instead of the previous SYN.
    pub(crate) challenged: u32,
    /// The client answered the previous SYN/ACK with an RST.
    pub(crate) reset: u32,
    /// The SYN came with the previous one, both held up before the capture point.
    pub(crate) held: u32,
    /// The handshake never completed.
    pub(crate) failed: u32,
}

impl Repeats {
    /// Whether there are some, and all because an answer was late: then nothing was lost.
    pub(crate) fn are_late(&self) -> bool {
        let late = self.late;
        late > 0 && *self == Repeats { late, ..Repeats::default() }
    }
}

/// Inferred outcome of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Classification {
    pub(crate) outcome: Outcome,
    pub(crate) repeats: Repeats,
    /// Time that the client waited because of retransmissions that were not spurious; each moment counts once.
    pub(crate) waited: Nanos,
    /// Part of `waited` that is due to losses.
    pub(crate) waited_for_loss: Nanos,
    /// Part of `waited` in which the server deferred the client.
    pub(crate) waited_for_deferral: Nanos,
    /// Part of `waited` that is due to challenge ACKs.
    pub(crate) waited_for_challenge: Nanos,
    /// Part of `waited` that is due to RSTs of the server and ICMP messages.
    pub(crate) waited_for_refusal: Nanos,
    /// Part of `waited` that is due to SYN/ACKs that the client reset.
    pub(crate) waited_for_reset: Nanos,
    /// Time between SYN/ACKs after the client's ACK while the client's data waited; included in the delays of that
    /// data, too.
    pub(crate) waited_with_data: Nanos,
    /// The client repeated its SYN after an answer and never went on: no SYN/ACK reached it.
    pub(crate) blackholed: bool,
    /// The only answer came under other addresses.
    pub(crate) elsewhere: bool,
    /// The client answered a SYN/ACK with an RST and never went on.
    pub(crate) reset: bool,
    /// Time for which SYNs were held up before the capture point, if their timestamps tick in milliseconds.
    pub(crate) held: Nanos,
    /// Parts that all lost SYNs had and the answered one had not; none without a loss.
    pub(crate) dropped_for: SynExtras,
    /// Parts of the SYN that was answered.
    pub(crate) answered_extras: SynExtras,
    /// Main reason for which the attempt was slow.
    pub(crate) trouble: Option<Trouble>,
    /// Half of the path in which most of its packets were lost.
    pub(crate) lost_half: usize,
    /// Direction in which they were lost, as far as the attempt shows it.
    pub(crate) lost_direction: Option<LossDirection>,
}

impl Classification {
    /// Whether the handshake took longer than without retransmissions.
    pub(crate) fn is_slow(&self) -> bool {
        self.trouble.is_some()
    }

    /// Whether a handshake packet was lost and later answered.
    pub(crate) fn has_loss(&self) -> bool {
        let answered = self.outcome.is_complete() || self.outcome == Outcome::HalfOpen;
        answered && !self.blackholed && self.repeats.lost > 0
    }
}

/// Longest time in which a server next to the capture point answers.
const LONGEST_REPLY: Nanos = Nanos::from_millis(1);
/// Inverse of the largest share of the round-trip time on the server's side at which the server is near.
const NEAR: u64 = 20;

impl Connection {
    /// Outcome of the attempt, as far as the capture shows.
    pub(crate) fn outcome(&self) -> Outcome {
        let has = |flag| self.flags.has(flag);
        if has(ConnectionFlags::WENT_ON) || has(ConnectionFlags::ESTABLISHED) {
            if self.synacks > 0 { Outcome::Succeeded } else { Outcome::OneSided }
        } else if self.synacks > 0 {
            Outcome::HalfOpen
        } else if has(ConnectionFlags::REFUSED) {
            Outcome::Refused
        } else if has(ConnectionFlags::REJECTED) {
            Outcome::Rejected
        } else if has(ConnectionFlags::CHALLENGED) {
            Outcome::Challenged
        } else {
            Outcome::Unanswered
        }
    }

    /// Infers outcome and causes; `vantage` is the position of the capture point, if given.
    pub(crate) fn classify(&self, vantage: Option<VantagePoint>) -> Classification {
        let outcome = self.outcome();
        let mut class = Classification {
            outcome,
            repeats: Repeats::default(),
            waited: Nanos::ZERO,
            waited_for_loss: Nanos::ZERO,
            waited_for_deferral: Nanos::ZERO,
            waited_for_challenge: Nanos::ZERO,
            waited_for_refusal: Nanos::ZERO,
            waited_for_reset: Nanos::ZERO,
            waited_with_data: Nanos::ZERO,
            blackholed: false,
            elsewhere: outcome == Outcome::Unanswered && self.flags.has(ConnectionFlags::ANSWERED_ELSEWHERE),
            reset: outcome == Outcome::HalfOpen && self.flags.has(ConnectionFlags::RESET),
            held: Nanos::ZERO,
            dropped_for: SynExtras::default(),
            answered_extras: self.flags.extras(),
            trouble: None,
            lost_half: SERVER,
            lost_direction: None,
        };
        let Some(loss_state) = &self.loss_state else {
            return class;
        };
        if loss_state.exchange.is_used() {
            Classifier {
                exchange: &loss_state.exchange,
                at_server: self.is_at_server(&loss_state.exchange, vantage),
                class: &mut class,
                waits: Vec::new(),
                lost_extras: SynExtras::ALL,
                lost: LostPackets::default(),
            }
            .run();
        }
        class
    }

    /// Whether the capture point is so near to the server that nothing is lost in between.
    fn is_at_server(&self, exchange: &Exchange, vantage: Option<VantagePoint>) -> bool {
        if let Some(side) = vantage {
            return side == VantagePoint::Server;
        }
        if !self.flags.has(ConnectionFlags::V6) && self.addresses >> 32 == self.addresses & 0xffff_ffff {
            // Client and server are the same host.
            return true;
        }
        let synacks = exchange.sent[SERVER].kept();
        let (Some(synack), Some(answer)) = (synacks.first(), exchange.answer) else {
            return false;
        };
        let Some(syn) = before(exchange.sent[CLIENT].kept(), synack.others_before) else {
            return false;
        };
        let server = synack.at.since(syn.at);
        // The client answered the last SYN/ACK before its ACK, unless a round trip says more: between the first one and the
        // ACK there may have been timeouts.
        let last = synacks.iter().rev().find(|synack| !synack.settled);
        let client = exchange.round_trip(SERVER).unwrap_or_else(|| answer.at.since(last.unwrap_or(synack).at));
        (server <= LONGEST_REPLY && server <= client) || server.0 * NEAR <= server.0 + client.0
    }
}

/// Index of the transmission that `echo` refers to, if only one of `sent` has that timestamp.
fn echoed(sent: &[Transmission], echo: u16) -> Option<usize> {
    let mut same = sent.iter().enumerate().filter(|(_, transmission)| echo != 0 && transmission.stamp == echo);
    let found = same.next()?.0;
    same.next().is_none().then_some(found)
}

/// Time that a busy client takes to acknowledge a SYN/ACK, which it does at once: some scheduling intervals.
const PROMPT: Nanos = Nanos::from_millis(20);

/// Whether an answer was late: it came `took` after the first transmission it may belong to, and does not answer the
/// last one, which was sent `since_last` before it.
///
/// `indicated` means that a timestamp or a second answer suggests so. That is not sufficient: Linux echoes the
/// timestamp of the first SYN that arrived, whichever it answers (`tcp_check_req`), and likewise of the first SYN/ACK.
/// So a measured round-trip time over the same part of the path decides, if there is one: the answer was late if a
/// round trip can take as long as `took`, and if that is indicated or the last transmission was too recent to be
/// answered.
fn is_late(indicated: bool, took: Nanos, since_last: Nanos, round_trip: Option<Nanos>) -> bool {
    match round_trip {
        Some(round_trip) => round_trip.0 * 2 >= took.0 && (indicated || since_last.0 * 2 < round_trip.0),
        None => indicated,
    }
}

/// Time for which the path held up `earlier`, if `later` arrived sooner after it than any timer sends: the distance of their
/// timestamps without the difference of their arrivals. Zero without timestamps. `None` if the timestamps show that
/// they were sent as they arrived.
fn held(earlier: &Transmission, later: &Transmission) -> Option<Nanos> {
    let apart = later.at.since(earlier.at);
    if apart >= SHORTEST_TIMER {
        return None;
    }
    let ticks = match (earlier.stamp, later.stamp) {
        (0, _) | (_, 0) => 0,
        (earlier, later) => (later.wrapping_sub(earlier) as i16).max(0) as u64,
    };
    let longer = Nanos::from_millis(ticks).saturating_sub(apart);
    // A clock that ticks in milliseconds may be one off.
    (ticks == 0 || longer > Nanos::from_millis(1)).then_some(longer)
}

/// Reason for which a client waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    Loss,
    Deferral,
    Challenge,
    Refusal,
    Reset,
}

/// Longest first interval of a timer for SYN/ACKs: the initial RTO is 1 s (RFC 6298, 2.1).
const LONGEST_FIRST_TIMER: Nanos = Nanos::from_millis(1_700);

/// Classifies the transmissions of one handshake.
struct Classifier<'a> {
    exchange: &'a Exchange,
    at_server: bool,
    class: &'a mut Classification,
    /// Intervals in which the client waited, begin and end on a clock whose origin is the first SYN.
    waits: Vec<(Instant, Instant, Cause)>,
    /// Parts that all SYNs found lost so far have; none after a loss of anything else.
    lost_extras: SynExtras,
    lost: LostPackets,
}

impl Classifier<'_> {
    fn run(mut self) {
        let syns = self.exchange.sent[CLIENT].kept();
        for at in 1..syns.len() {
            let weight = self.exchange.sent[CLIENT].weight(at);
            self.syn(at, weight);
        }
        for at in 1..self.exchange.sent[SERVER].kept().len() {
            let weight = self.exchange.sent[SERVER].weight(at);
            self.synack(at, weight);
        }
        if !syns.is_empty() {
            let answered = self.first_syns().last().map(|syn| syn.extras);
            self.class.answered_extras = answered.unwrap_or_default();
            if self.class.repeats.lost > 0 {
                self.class.dropped_for = self.lost_extras.without(self.class.answered_extras);
            }
        }
        self.waits.sort_unstable();
        let waited = |is: &dyn Fn(Cause) -> bool| {
            let mut waited = Waited::default();
            for (from, to, _) in self.waits.iter().filter(|(_, _, cause)| is(*cause)) {
                waited.add(to.saturating_since(*from), *to);
            }
            waited.total()
        };
        self.class.waited = waited(&|_| true);
        self.class.waited_for_loss = waited(&|cause| cause == Cause::Loss);
        self.class.waited_for_deferral = waited(&|cause| cause == Cause::Deferral);
        self.class.waited_for_challenge = waited(&|cause| cause == Cause::Challenge);
        self.class.waited_for_refusal = waited(&|cause| cause == Cause::Refusal);
        self.class.waited_for_reset = waited(&|cause| cause == Cause::Reset);
        self.class.trouble = self.trouble();
        if self.class.trouble.is_some_and(Trouble::is_loss) {
            self.class.lost_half = self.lost.half();
            self.class.lost_direction = self.lost.direction();
        }
    }

    /// The reason for which the client waited longest; if it did not wait, a retransmission that nothing needed.
    fn trouble(&self) -> Option<Trouble> {
        let class = &*self.class;
        let repeats = &class.repeats;
        let lost = self.lost.trouble().unwrap_or(Trouble::Lost);
        let reasons = [
            (repeats.lost, class.waited_for_loss, lost),
            (repeats.deferred, class.waited_for_deferral + class.waited_with_data, self.deferral()),
            (repeats.challenged, class.waited_for_challenge, Trouble::PortReuse),
            (repeats.rejected, class.waited_for_refusal, Trouble::Refused),
            (repeats.reset, class.waited_for_reset, Trouble::Reset),
            (repeats.late, Nanos::ZERO, Trouble::LateAnswer),
            (repeats.held, Nanos::ZERO, Trouble::HeldUp),
        ];
        let found = reasons.into_iter().rev().filter(|(repeats, ..)| *repeats > 0);
        found.max_by_key(|(_, waited, _)| *waited).map(|(.., trouble)| trouble)
    }

    /// The reason for which the server deferred the client. A server with a full listen queue ignores SYNs, and ACKs and data
    /// after its SYN/ACK, which its timer repeats (`tcp_check_req`, net/ipv4/tcp_minisocks.c). A server that waits for data
    /// repeats its SYN/ACK once, at the end of that time (`syn_ack_recalc`, net/ipv4/inet_connection_sock.c). A lost ACK
    /// looks like the first, unless the client had sent data as well.
    fn deferral(&self) -> Trouble {
        let synacks = self.synacks();
        let first_after = (1..synacks.len()).find(|&at| synacks[at].settled);
        let Some(at) = first_after else {
            return Trouble::IgnoredSyn;
        };
        let apart = synacks[at].at.since(synacks[at - 1].at);
        let is_timer = apart < LONGEST_FIRST_TIMER;
        let path = synacks[at].path;
        match self.exchange.client_waits || self.at_server || self.is_acknowledged_in_vain() {
            _ if !is_timer && !self.exchange.client_waits => Trouble::DeferredAccept,
            _ if !self.at_server && path.queue == Some(true) => Trouble::LostInQueue,
            _ if !self.at_server && path.lost > 0 => Trouble::Deferred,
            true => Trouble::ListenQueue,
            false => Trouble::Deferred,
        }
    }

    /// SYN/ACKs, in the order seen.
    fn synacks(&self) -> &[Transmission] {
        self.exchange.sent[SERVER].kept()
    }

    /// Index of the SYN/ACK that the client accepted; `None` if it accepted none or that is unknown.
    fn accepted_synack(&self) -> Option<usize> {
        echoed(self.synacks(), self.exchange.answer?.echo)
    }

    /// Records that the client waited from the transmission before number `at` of `side` until number `at`.
    fn record_wait(&mut self, side: usize, at: usize, cause: Cause) {
        let sent = self.exchange.sent[side].kept();
        let begin = self.exchange.sent[CLIENT].kept().first().unwrap_or(&sent[0]).at;
        let on_clock = |at: CompactTime| Instant::ZERO + at.since(begin);
        self.waits.push((on_clock(sent[at - 1].at), on_clock(sent[at].at), cause));
    }

    /// Classifies SYN number `at`, which stands for `weight` SYNs.
    fn syn(&mut self, at: usize, weight: u32) {
        let syns = self.exchange.sent[CLIENT].kept();
        let syn = syns[at];
        let answered = self.class.outcome.is_complete();
        if let Some((repeats, cause)) = self.repeats_because(at) {
            *repeats += weight;
            self.record_wait(CLIENT, at, cause);
        } else if let Some(held) = held(&syns[at - 1], &syn) {
            self.class.repeats.held += weight;
            self.class.held += held;
        } else if syn.settled {
            // Overtaken by the client's ACK of an earlier answer.
            self.class.repeats.late += weight;
        } else if !answered && syn.others_before > 0 {
            self.class.repeats.failed += weight;
            self.class.blackholed = true;
        } else if !answered && self.class.outcome == Outcome::Unanswered {
            self.class.repeats.failed += weight;
        } else if match syn.others_before {
            0 => self.is_late_before_answer(at),
            others => self.is_late_after_answer(at, usize::from(others)),
        } {
            self.class.repeats.late += weight;
        } else {
            let (repeats, cause) = match answered && self.is_left_unanswered(at) {
                true => (&mut self.class.repeats.deferred, Cause::Deferral),
                false => (&mut self.class.repeats.lost, Cause::Loss),
            };
            *repeats += weight;
            let lost = match syn.others_before {
                0 => syns[at - 1].extras,
                _ => SynExtras::default(),
            };
            self.lost_extras = self.lost_extras.and(lost);
            if cause == Cause::Loss {
                let is_before = syn.others_before == 0 || self.first_answer_was_lost(at);
                let (half, to) = match is_before {
                    true => (SERVER, self.lost_to(at)),
                    false => (CLIENT, Some(CLIENT)),
                };
                self.lost.add(half, to, syn.path, weight);
            }
            self.record_wait(CLIENT, at, cause);
        }
    }

    /// The count of SYNs sent again because of what answered the one before number `at`, if it was something other than
    /// a SYN/ACK, and the cause of the wait.
    fn repeats_because(&mut self, at: usize) -> Option<(&mut u32, Cause)> {
        let syns = self.exchange.sent[CLIENT].kept();
        let replies = |reply: Reply| match reply {
            // Each SYN/ACK has its own.
            Reply::None | Reply::Reset => false,
            // One message is enough: routers and hosts limit their rate (RFC 1812, 4.3.2.8; RFC 5961, 7).
            Reply::Refusal | Reply::Challenge => true,
        };
        let earlier = || {
            let answered = self.class.outcome.is_complete();
            let before = syns[..at].iter().rev().filter(|_| !answered);
            before.map(|syn| syn.reply).find(|&reply| replies(reply))
        };
        let reply = match syns[at].reply {
            Reply::None => earlier().unwrap_or_default(),
            reply => reply,
        };
        let repeats = &mut self.class.repeats;
        match reply {
            Reply::None => None,
            Reply::Refusal => Some((&mut repeats.rejected, Cause::Refusal)),
            Reply::Challenge => Some((&mut repeats.challenged, Cause::Challenge)),
            Reply::Reset => Some((&mut repeats.reset, Cause::Reset)),
        }
    }

    /// Whether the SYNs before number `at` reached the server, which left them unanswered: without loss on the way, its
    /// queue was full. A SYN whose timestamp the answer echoes was accepted.
    fn is_left_unanswered(&self, at: usize) -> bool {
        let first_syns = self.first_syns();
        let accepted = self.synacks().first().and_then(|first| echoed(first_syns, first.echo));
        self.at_server && at < first_syns.len() && accepted.is_none_or(|accepted| accepted >= at)
    }

    /// Side to which a packet was lost that SYN number `at`, sent before any SYN/ACK, replaces: the SYN before it or the answer to
    /// that. The first SYN/ACK echoes the timestamp of the SYN that arrived first (`tcp_check_req`,
    /// net/ipv4/tcp_minisocks.c).
    fn lost_to(&self, at: usize) -> Option<usize> {
        let first = self.synacks().first()?;
        let arrived = echoed(self.first_syns(), first.echo)?;
        Some(if at <= arrived { SERVER } else { CLIENT })
    }

    /// SYNs before the first SYN/ACK.
    fn first_syns(&self) -> &[Transmission] {
        let syns = self.exchange.sent[CLIENT].kept();
        match self.synacks().first() {
            Some(first) => &syns[..usize::from(first.others_before).clamp(1, syns.len())],
            None => syns,
        }
    }

    /// Time for which the path held up the first SYN/ACK and those that came with it, by their timestamps if these tick in
    /// milliseconds.
    fn answers_held(&self) -> Nanos {
        let pairs = self.synacks().windows(2);
        let together = pairs.map_while(|pair| held(&pair[0], &pair[1]).filter(|longer| *longer >= SHORTEST_RTO));
        together.sum()
    }

    /// Whether as many SYN/ACKs came together as there were SYNs: each SYN was answered, and the path held up the answers. Two
    /// can also be the answer to a repeated SYN and a retransmission by the server's timer, unless the answer took longer than
    /// a round trip does; with timestamps, [`answers_held`](Self::answers_held) decides.
    fn is_each_answered_at_once(&self) -> bool {
        let pairs = self.synacks().windows(2);
        let together = pairs.take_while(|pair| pair[1].at.since(pair[0].at) < SHORTEST_TIMER);
        let syns = self.first_syns();
        let first = &self.synacks()[0];
        let is_longer = |round_trip: Nanos| round_trip.0 * 2 < first.at.since(syns[1].at).0;
        together.count() + 1 >= syns.len()
            && match syns.len() {
                0 | 1 => false,
                2 if first.stamp != 0 => false,
                2 => self.exchange.round_trip(CLIENT).is_none_or(is_longer),
                _ => true,
            }
    }

    /// Whether SYN number `at`, sent before any SYN/ACK, was spurious: an earlier one had arrived, and the answer took
    /// longer than the client waited.
    fn is_late_before_answer(&self, at: usize) -> bool {
        let synacks = self.synacks();
        let Some(first) = synacks.first() else {
            return false;
        };
        let syns = self.exchange.sent[CLIENT].kept();
        let first_syns = self.first_syns();
        let last = first_syns.len() - 1;
        let echoed = echoed(first_syns, first.echo);
        if echoed.is_some_and(|echoed| at <= echoed) {
            return false;
        }
        if first.at.since(syns[at].at) < self.answers_held() || self.is_each_answered_at_once() {
            return true;
        }
        let arrived = &first_syns[echoed.unwrap_or(0)];
        // Each SYN was answered: the answers are as far apart as the SYNs.
        let second = synacks
            .get(1)
            .is_some_and(|second| second.at.since(first.at).0 * 2 >= first_syns[last].at.since(arrived.at).0);
        is_late(
            echoed.is_some_and(|echoed| echoed < last) || second,
            first.at.since(arrived.at),
            first.at.since(first_syns[last].at),
            self.exchange.round_trip(CLIENT),
        )
    }

    /// Whether a SYN after `others` SYN/ACKs was spurious: one of them was under way to the client.
    fn is_late_after_answer(&self, at: usize, others: usize) -> bool {
        let late = match self.accepted_synack() {
            Some(accepted) => accepted < others,
            None => self.is_answered_twice(),
        };
        late && !self.first_answer_was_lost(at) && !self.contradicts_late_answer()
    }

    /// Whether the first SYN/ACK seen before SYN number `at` was a retransmission of one lost before the capture point:
    /// it took about as long as the client waited, and far longer than the round-trip time to the server.
    fn first_answer_was_lost(&self, at: usize) -> bool {
        let syns = self.exchange.sent[CLIENT].kept();
        let (Some(first), Some(round_trip)) = (self.synacks().first(), self.exchange.round_trip(CLIENT)) else {
            return false;
        };
        let asked = before(syns, first.others_before).unwrap_or(&syns[0]);
        let took = first.at.since(asked.at).0;
        took * 2 >= syns[at].at.since(asked.at).0 && round_trip.0 * 2 < took
    }

    /// Whether the client answered two SYN/ACKs, about as far apart as they were.
    fn is_answered_twice(&self) -> bool {
        let synacks = self.synacks();
        let (Some(first), Some(last), Some(answer)) = (synacks.first(), synacks.last(), self.exchange.answer) else {
            return false;
        };
        answer
            .again
            .is_some_and(|again| last.at != first.at && again.since(answer.at).0 * 2 >= last.at.since(first.at).0)
    }

    /// Whether the round-trip time to the client rules out that it answered the SYN/ACK whose timestamp it echoes.
    fn contradicts_late_answer(&self) -> bool {
        let (Some(answer), Some(round_trip)) = (self.exchange.answer, self.exchange.round_trip(SERVER)) else {
            return false;
        };
        if self.exchange.is_each_synack_acknowledged() {
            return false;
        }
        let answered = self.synacks()[self.accepted_synack().unwrap_or(0)];
        round_trip.0 * 2 < answer.at.since(answered.at).0 && self.may_answer_last(round_trip)
    }

    /// Whether the client's first acknowledgement may acknowledge the last SYN/ACK before it, given the round-trip time
    /// to the client measured later. If not, that time was another one during the handshake, as in front of a queue
    /// that has drained since, and decides nothing.
    fn may_answer_last(&self, round_trip: Nanos) -> bool {
        let last = self.synacks().iter().rev().find(|synack| !synack.settled);
        let (Some(answer), Some(last)) = (self.exchange.answer, last) else {
            return true;
        };
        let longest = Nanos(round_trip.0 * 2) + PROMPT;
        !answer.is_plain || answer.at.since(last.at) <= longest
    }

    /// Classifies SYN/ACK number `at`, which stands for `weight` SYN/ACKs.
    fn synack(&mut self, at: usize, weight: u32) {
        let synacks = self.exchange.sent[SERVER].kept();
        let synack = synacks[at];
        // A SYN/ACK that answers a repeated SYN, for which any loss has been counted, unless a timer of the server has sent it:
        // it comes late, answers the same SYN by its timestamp, and the client would have answered the previous one by now.
        let is_later = || {
            let previous = synacks[at - 1];
            let apart = synack.at.since(previous.at);
            let round_trip = self.exchange.round_trip(SERVER);
            !synack.settled
                && apart >= SHORTEST_RTO
                && synack.echo == previous.echo
                && round_trip.is_some_and(|it| it.0 * 2 < apart.0)
        };
        if synack.asked_for || usize::from(synack.others_before) > at && !is_later() {
            return;
        }
        if !self.class.outcome.is_complete() {
            self.class.repeats.failed += weight;
        } else if held(&synacks[at - 1], &synack).is_some() {
            self.class.repeats.held += weight;
        } else if synack.settled {
            self.synack_after_ack(at, weight);
        } else if self.is_synack_late(at) {
            self.class.repeats.late += weight;
        } else {
            self.class.repeats.lost += weight;
            self.lost_extras = SynExtras::default();
            // Either the SYN/ACK was lost, or the client's ACK before the capture point.
            self.lost.add(CLIENT, None, synack.path, weight);
            self.record_wait(SERVER, at, Cause::Loss);
        }
    }

    /// Whether SYN/ACK number `at`, sent before any ACK, was spurious.
    fn is_synack_late(&self, at: usize) -> bool {
        let synacks = self.synacks();
        let Some(answer) = self.exchange.answer else {
            return false;
        };
        let accepted = self.accepted_synack();
        if accepted.is_some_and(|accepted| at <= accepted) {
            return false;
        }
        if self.exchange.is_each_synack_acknowledged() {
            return true;
        }
        let sent = synacks.iter().rev().find(|synack| !synack.settled);
        is_late(
            accepted.is_some() || self.is_answered_twice(),
            answer.at.since(synacks[accepted.unwrap_or(0)].at),
            sent.map_or(Nanos::ZERO, |last| answer.at.since(last.at)),
            (self.exchange.round_trip(SERVER)).filter(|it| self.may_answer_last(*it)),
        )
    }

    /// Classifies a SYN/ACK retransmitted after the client's ACK: both crossed on the path; or the server deferred the
    /// client (full listen queue, or `TCP_DEFER_ACCEPT`, which waits for data); or the ACK was lost beyond the capture
    /// point.
    fn synack_after_ack(&mut self, at: usize, weight: u32) {
        let synacks = self.exchange.sent[SERVER].kept();
        let server_first = self.exchange.first_sender == Some(SERVER as u8);
        let acked_at = self.exchange.answer.map(|answer| answer.at);
        if !self.at_server && self.crossed(acked_at, &synacks[at]) {
            self.class.repeats.late += weight;
            return;
        }
        let cause = if !self.at_server && server_first && !self.is_acknowledged_in_vain() {
            // The server did not wait for data; and with a full queue the client would usually have sent data first.
            self.class.repeats.lost += weight;
            self.lost_extras = SynExtras::default();
            self.lost.add(SERVER, Some(SERVER), synacks[at].path, weight);
            Cause::Loss
        } else {
            self.class.repeats.deferred += weight;
            Cause::Deferral
        };
        if server_first {
            self.record_wait(SERVER, at, cause);
        } else if self.exchange.client_waits {
            self.class.waited_with_data += synacks[at].at.since(synacks[at - 1].at);
        }
    }

    /// Whether the server sent its last SYN/ACK after two ACKs of the client: that both were lost is less likely than a full
    /// listen queue or a server that waits for data.
    fn is_acknowledged_in_vain(&self) -> bool {
        let again = self.exchange.answer.and_then(|answer| answer.again);
        let last = &self.synacks()[self.synacks().len() - 1];
        again.is_some() && !self.crossed(again, last)
    }

    /// Whether an ACK of the client, seen at `acked_at`, cannot have reached the server when the server sent `synack`.
    fn crossed(&self, acked_at: Option<CompactTime>, synack: &Transmission) -> bool {
        let synacks = self.exchange.sent[SERVER].kept();
        let syns = self.exchange.sent[CLIENT].kept();
        let (Some(acked_at), Some(syn)) = (acked_at, before(syns, synacks[0].others_before).or(syns.first())) else {
            return false;
        };
        // The handshake may have taken longer than a later round trip, unless it waited for a retransmission.
        let of_handshake = synacks[0].at.since(syn.at);
        let to_server = match self.exchange.round_trip(CLIENT) {
            Some(later) if later.0 * 2 < of_handshake.0 => later,
            later => later.map_or(of_handshake, |later| later.max(of_handshake)),
        };
        acked_at.since(synacks[0].at) + to_server >= synack.at.since(synacks[0].at)
    }
}

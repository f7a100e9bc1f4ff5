//! Statistics of closed connections.

use super::causes::{CauseCounts, Evidence};
use super::cost::CostCounts;
use super::failures::{Failures, Reason};
use super::parties::PartyCounts;
use super::sample::Sample;
use crate::connections::{CLIENT, Classification, ClosedConnection, Connection, ConnectionFlags, SERVER};
use crate::options::{Options, VantagePoint};
use crate::results::{self, Cause, Closes, ExpectedCost, HandshakeRtt, Handshakes, Repeats, Retransmissions, Waiting};
use crate::row::{Close, Outcome};
use crate::sum::{Sum, sum};
use crate::tally::Distribution;
use crate::tally::SeriesCounts;
use crate::tally::Tally;
use gentle_units::Nanos;
use gentle_wire::Address;
use serde::{Deserialize, Serialize};

/// Counts of handshake-2009 that are known when a connection is closed.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HandshakeCounts {
    successes: u64,
    failures: u64,
    attempts_with_duplicate_syn: u64,
    successes_with_duplicate_syn: u64,
    failures_with_duplicate_syn: u64,
    outside_standard_intervals: u64,
    attempts_with_retransmission: u64,
    successes_with_retransmission: u64,
    syns_of_successes: u64,
}

/// Counts of inferred outcomes that are known when a connection is closed.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OutcomeCounts {
    completed: u64,
    one_sided: u64,
    completed_with_loss: u64,
    late: u64,
    deferred: u64,
    completed_after_challenge: u64,
    completed_after_refusal: u64,
    completed_after_reset: u64,
    held: u64,
    seen_twice: u64,
    without_syn: u64,
    without_syn_again: u64,
    repeats: Repeats,
}

/// Sums of times.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Times {
    waited: Nanos,
    waited_with_loss: Nanos,
    waited_for_data: Nanos,
    deferred: Nanos,
    completed_after_challenge: Nanos,
    completed_after_refusal: Nanos,
    completed_after_reset: Nanos,
    held: Nanos,
    failed: Nanos,
}

/// Statistics of closed connections.
///
/// Memory grows with the number of addresses and failures, up to a sixteenth of the memory limit; beyond, only the
/// largest entries are kept.
///
/// Aligned to separate cache lines, as `Decoder` is.
#[repr(align(128))]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Outcomes {
    handshakes: HandshakeCounts,
    inferred: OutcomeCounts,
    failures: Failures,
    pub(crate) parties: PartyCounts,
    pub(crate) series: SeriesCounts,
    cost: CostCounts,
    pub(crate) closes: Closes,
    /// Round-trip times: server half, client half, sum.
    round_trips: [Distribution; 3],
    times: Times,
    causes: CauseCounts,
    /// Of this trace only: samples are not added up.
    pub(crate) sample: Sample,
    #[serde(skip)]
    vantage: Option<VantagePoint>,
    #[serde(skip)]
    memory_limit: usize,
    #[serde(skip)]
    peak_bytes: usize,
}

sum! {
    HandshakeCounts {
        successes, failures, attempts_with_duplicate_syn, successes_with_duplicate_syn, failures_with_duplicate_syn,
        outside_standard_intervals, attempts_with_retransmission, successes_with_retransmission, syns_of_successes,
    }
    OutcomeCounts {
        completed, one_sided, completed_with_loss, late, deferred, completed_after_challenge, completed_after_refusal,
        completed_after_reset, held, seen_twice, without_syn, without_syn_again, repeats,
    }
    Times {
        waited, waited_with_loss, waited_for_data, deferred, completed_after_challenge, completed_after_refusal,
        completed_after_reset, held, failed,
    }
    Repeats { lost, late, rejected, deferred, challenged, reset, held, failed }
    Closes { fin, rst, silent, open, never_established }
    Outcomes {
        handshakes, inferred, failures, parties, series, cost, closes, round_trips, times, causes,
        sample own, vantage own, memory_limit own, peak_bytes max,
    }
}

impl Outcomes {
    pub(crate) fn new(options: &Options) -> Outcomes {
        Outcomes {
            handshakes: HandshakeCounts::default(),
            inferred: OutcomeCounts::default(),
            failures: Failures::default(),
            parties: PartyCounts::default(),
            series: SeriesCounts::default(),
            cost: CostCounts::default(),
            closes: Closes::default(),
            round_trips: Default::default(),
            times: Times::default(),
            causes: CauseCounts::default(),
            sample: Sample::default(),
            vantage: options.vantage,
            memory_limit: options.memory() / 16,
            peak_bytes: 0,
        }
    }

    /// Like [`Outcomes::new`], with percentiles to two significant digits, for many short spans of time.
    pub(crate) fn coarse(options: &Options) -> Outcomes {
        let round_trips = std::array::from_fn(|_| Distribution::coarse());
        Outcomes { round_trips, ..Outcomes::new(options) }
    }

    /// Records a closed connection.
    pub(crate) fn record(&mut self, closed: &ClosedConnection) {
        let ClosedConnection { connection, close, .. } = closed;
        if !connection.flags.has(ConnectionFlags::LATER_VIEW) {
            let data = &mut self.times.waited_for_data;
            *data += connection.waited_for_data();
        }
        if connection.flags.has(ConnectionFlags::SYN) {
            match connection.flags.has(ConnectionFlags::ESTABLISHED) {
                true => self.close(*close),
                false => self.closes.never_established += 1,
            }
            self.attempt(connection, closed.addresses);
            self.data(connection, closed.addresses);
        } else {
            self.close(*close);
            let is_older = connection.flags.has(ConnectionFlags::CHALLENGED);
            if connection.is_attempt() && !is_older {
                self.inferred.without_syn += 1;
                let again = connection.handshake_retransmissions(SERVER) > 0;
                self.inferred.without_syn_again += u64::from(again);
            }
        }
    }

    /// Records an attempt, and returns its classification.
    pub(crate) fn attempt(&mut self, connection: &Connection, addresses: [Address; 2]) -> Classification {
        if connection.synacks > 0 {
            self.sample.record(connection.isn, connection.ports());
        }
        if let Some(loss_state) = &connection.loss_state {
            self.series.record(&loss_state.series);
        }
        let handshakes = &mut self.handshakes;
        let success = connection.flags.has(ConnectionFlags::ESTABLISHED);
        let again = connection.syns > 1;
        let sent_again =
            connection.handshake_retransmissions(CLIENT) > 0 || connection.handshake_retransmissions(SERVER) > 0;
        handshakes.attempts_with_duplicate_syn += u64::from(again);
        handshakes.attempts_with_retransmission += u64::from(sent_again);
        handshakes.outside_standard_intervals += u64::from(connection.flags.has(ConnectionFlags::OUTSIDE));
        if success {
            handshakes.successes += 1;
            handshakes.successes_with_duplicate_syn += u64::from(again);
            handshakes.successes_with_retransmission += u64::from(sent_again);
            handshakes.syns_of_successes += u64::from(connection.syns);
        } else {
            handshakes.failures += 1;
            handshakes.failures_with_duplicate_syn += u64::from(again);
        }
        let class = connection.classify(self.vantage);
        if success || class.reset {
            self.record_round_trip(connection, &class);
        }
        if connection.flags.has(ConnectionFlags::LATER_VIEW) {
            self.inferred.seen_twice += 1;
        } else {
            self.infer(connection, addresses, &class);
        }
        self.limit_memory();
        class
    }

    /// Records the data of the connection of an attempt.
    pub(crate) fn data(&mut self, connection: &Connection, addresses: [Address; 2]) {
        if !connection.flags.has(ConnectionFlags::LATER_VIEW) {
            self.parties.record_data(connection, addresses[SERVER]);
        }
    }

    /// Records the round-trip times of a handshake, if its packets show them: none was repeated, or only because the
    /// answers were late.
    fn record_round_trip(&mut self, connection: &Connection, class: &Classification) {
        let both = match class.repeats.are_late() {
            true => connection.ack_at.get(),
            false => connection.round_trip(),
        };
        if let (Some(both), Some(server)) = (both, connection.synack_at.get()) {
            let halves = [server, both.saturating_sub(server), both];
            for (distribution, time) in self.round_trips.iter_mut().zip(halves) {
                distribution.record(time);
            }
        }
    }

    /// Records the inferred outcome of an attempt.
    fn infer(&mut self, connection: &Connection, addresses: [Address; 2], class: &Classification) {
        let mut failed = Nanos::ZERO;
        let counts = &mut self.inferred;
        let repeats = &mut counts.repeats;
        repeats.lost += u64::from(class.repeats.lost);
        repeats.late += u64::from(class.repeats.late);
        repeats.rejected += u64::from(class.repeats.rejected);
        repeats.deferred += u64::from(class.repeats.deferred);
        repeats.challenged += u64::from(class.repeats.challenged);
        repeats.reset += u64::from(class.repeats.reset);
        repeats.held += u64::from(class.repeats.held);
        repeats.failed += u64::from(class.repeats.failed);
        if class.outcome.is_complete() {
            let has_loss = class.has_loss();
            let series = connection.loss_state.as_ref().map_or([None; 2], |loss_state| loss_state.series);
            let [from_client, from_server] = connection.bytes;
            self.cost.record(class, series, from_client.max(from_server));
            counts.completed += 1;
            counts.one_sided += u64::from(class.outcome == Outcome::OneSided);
            counts.completed_with_loss += u64::from(has_loss);
            counts.late += u64::from(!has_loss && class.repeats.late > 0);
            let times = &mut self.times;
            times.waited += class.waited;
            if has_loss {
                times.waited_with_loss += class.waited_for_loss;
            }
            if class.repeats.deferred > 0 {
                counts.deferred += 1;
                let waited = class.waited_for_deferral + class.waited_with_data;
                times.deferred += waited;
            }
            if class.repeats.challenged > 0 {
                counts.completed_after_challenge += 1;
                let waited = &mut times.completed_after_challenge;
                *waited += class.waited_for_challenge;
            }
            counts.completed_after_refusal += u64::from(class.repeats.rejected > 0);
            let waited = &mut times.completed_after_refusal;
            *waited += class.waited_for_refusal;
            counts.completed_after_reset += u64::from(class.repeats.reset > 0);
            let waited = &mut times.completed_after_reset;
            *waited += class.waited_for_reset;
            if class.repeats.held > 0 {
                counts.held += 1;
                times.held += class.held;
            }
            self.causes.record(class, (addresses[SERVER], connection.ports()[SERVER]));
        } else {
            failed = connection.delay_sums(CLIENT).0;
            self.times.failed += failed;
            let copies =
                connection.loss_state.as_ref().map_or(0, |loss_state| loss_state.sides[CLIENT].handshake_copies);
            let once = u32::from(connection.syns).saturating_sub(copies) <= 1;
            let port = connection.ports()[1];
            self.failures.record(addresses, port, class, once, connection.first, failed);
        }
        self.parties.record(connection, addresses, class, failed);
    }

    fn close(&mut self, close: Close) {
        *match close {
            Close::Fin => &mut self.closes.fin,
            Close::Rst => &mut self.closes.rst,
            Close::Silent => &mut self.closes.silent,
            Close::Open => &mut self.closes.open,
        } += 1;
    }

    /// Adds the connections of another trace.
    pub(crate) fn add(&mut self, other: Outcomes) {
        Sum::add(self, other);
        self.limit_memory();
    }

    /// Replaces all addresses.
    pub(crate) fn replace(&mut self, replacement: impl Fn(Address) -> Address) {
        self.parties.replace(&replacement);
        self.failures.replace(&replacement);
        self.causes.replace(&replacement);
    }

    /// Counts `connections` that were open at the end of their trace as idle, since the whole trace continues.
    pub(crate) fn expire(&mut self, connections: u64) {
        self.closes.open = self.closes.open.saturating_sub(connections);
        self.closes.silent = self.closes.silent.saturating_add(connections);
    }

    /// Memory of addresses and failures after one more attempt, bytes.
    pub(crate) fn bytes_with_one_more(&self) -> usize {
        self.parties.bytes_with_one_more() + self.failures.bytes_with_one_more() + self.causes.bytes_with_one_more()
    }

    fn limit_memory(&mut self) {
        let bytes = self.bytes_with_one_more();
        if bytes > self.memory_limit {
            self.parties.update_alive();
            self.failures.decide_early(&self.parties);
            self.causes.keep_most();
            // Both tables may double before the limit is next reached, after as many connections as were kept.
            self.parties.keep_largest(self.memory_limit / 2);
        } else {
            self.peak_bytes = self.peak_bytes.max(bytes);
        }
    }

    /// Peak of the memory in use or about to be used, bytes.
    pub(crate) fn peak_bytes(&self) -> usize {
        self.peak_bytes
    }

    /// The table of handshake-2009.
    pub(crate) fn handshakes(&self, tally: &Tally) -> Handshakes {
        let counts = &self.handshakes;
        let per = |whole: u64, part: u64| (part > 0).then(|| whole as f64 / part as f64);
        Handshakes {
            attempts: tally.attempts,
            duplicate_syn: tally.duplicate_syn,
            duplicate_synack: tally.duplicate_synack,
            capture_duplicates: tally.capture_duplicates,
            synack_without_syn: tally.synack_without_syn,
            syn_with_data: tally.syn_with_data,
            successes: counts.successes,
            failures: counts.failures,
            attempts_with_duplicate_syn: counts.attempts_with_duplicate_syn,
            successes_with_duplicate_syn: counts.successes_with_duplicate_syn,
            failures_with_duplicate_syn: counts.failures_with_duplicate_syn,
            outside_standard_intervals: counts.outside_standard_intervals,
            attempts_with_retransmission: counts.attempts_with_retransmission,
            successes_with_retransmission: counts.successes_with_retransmission,
            syn_per_success: per(counts.syns_of_successes, counts.successes),
            attempts_per_duplicate: per(tally.attempts, counts.attempts_with_duplicate_syn),
            rtt_s: self.round_trips(),
        }
    }

    /// Round-trip times of handshakes.
    pub(crate) fn round_trips(&self) -> HandshakeRtt {
        let [server_side, client_side, both] = self.round_trips.each_ref().map(Distribution::quantiles);
        HandshakeRtt { server_side, client_side, both }
    }

    /// Server half and client half of the round-trip time.
    pub(crate) fn round_trip_halves(&self) -> [&Distribution; 2] {
        [&self.round_trips[0], &self.round_trips[1]]
    }

    /// Assigns a reason to each attempt that was not completed, once all connections are recorded.
    pub(crate) fn decide(&mut self) {
        self.parties.update_alive();
        self.failures.decide(&self.parties);
    }

    /// Outcomes of the attempts; call [`decide`](Outcomes::decide) first. `show` formats an address, `show_server` one
    /// with its port.
    pub(crate) fn result(
        &self,
        show: impl Fn(Address) -> String,
        show_server: impl Fn(Address, u16) -> String,
    ) -> results::Outcomes {
        let failures = &self.failures;
        let server = |reason| failures.group(reason).result(&show_server);
        let counts = self.inferred;
        let answered = counts.completed.saturating_add(failures.half_open);
        let with_loss = counts.completed_with_loss.saturating_add(failures.half_open_with_loss);
        results::Outcomes {
            answered,
            completed: counts.completed,
            one_sided: counts.one_sided,
            half_open: failures.half_open,
            with_loss,
            loss: (answered > 0).then(|| with_loss as f64 / answered as f64),
            completed_with_loss: counts.completed_with_loss,
            late: counts.late,
            deferred: counts.deferred,
            deferred_s: self.times.deferred.as_secs_f64(),
            completed_after_challenge: counts.completed_after_challenge,
            completed_after_challenge_s: self.times.completed_after_challenge.as_secs_f64(),
            completed_after_refusal: counts.completed_after_refusal,
            completed_after_refusal_s: self.times.completed_after_refusal.as_secs_f64(),
            completed_after_reset: counts.completed_after_reset,
            completed_after_reset_s: self.times.completed_after_reset.as_secs_f64(),
            held: counts.held,
            held_s: self.times.held.as_secs_f64(),
            reset: server(Reason::Reset),
            abandoned: server(Reason::Abandoned),
            dropped_for: self.causes.dropped_for(&self.parties),
            blackholed: server(Reason::Blackholed),
            dead: server(Reason::Dead),
            refused: server(Reason::Refused),
            rejected: server(Reason::Rejected),
            challenged: server(Reason::Challenged),
            elsewhere: server(Reason::Elsewhere),
            scans: failures.group(Reason::Scan).result(|client, _| show(client)),
            floods: server(Reason::Flood),
            unseen: server(Reason::Unseen),
            seen_twice: counts.seen_twice,
            without_syn: counts.without_syn,
            without_syn_again: counts.without_syn_again,
            repeats: counts.repeats,
            judged_early: failures.decided_early,
        }
    }

    /// Causes of slow and failed attempts, longest wait first; `has_overflowed`: the listen queue of the server has, by its host's
    /// counters; other arguments as for [`result`](Outcomes::result).
    pub(crate) fn causes(
        &self,
        attempts: u64,
        has_overflowed: impl Fn((Address, u16)) -> bool,
        show: impl Fn(Address) -> String,
        show_server: impl Fn(Address, u16) -> String,
    ) -> Vec<Cause> {
        self.causes.result(&Evidence {
            attempts,
            failures: &self.failures,
            parties: &self.parties,
            has_overflowed: &has_overflowed,
            show: &show,
            show_server: &show_server,
        })
    }

    /// Cost of handshake loss by the response-time model; `None` if no completed attempt had a loss.
    pub(crate) fn expected_cost(&self, retransmissions: &Retransmissions) -> Option<ExpectedCost> {
        self.cost.result(&self.round_trips[2].quantiles(), retransmissions, self.causes.has_middlebox(&self.parties))
    }

    /// Time lost by waiting for retransmissions.
    pub(crate) fn waiting(&self) -> Waiting {
        let handshake_s = self.times.waited.as_secs_f64();
        let loss_s = self.times.waited_with_loss.as_secs_f64();
        let data_s = self.times.waited_for_data.as_secs_f64();
        let all = handshake_s + data_s;
        let with_loss = self.inferred.completed_with_loss;
        Waiting {
            handshake_s,
            loss_s,
            loss_mean_s: (with_loss > 0).then(|| loss_s / with_loss as f64),
            data_s,
            handshake_share: (all > 0.0).then(|| handshake_s / all),
            failed_s: self.times.failed.as_secs_f64(),
        }
    }
}

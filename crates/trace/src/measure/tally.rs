//! Everything that is counted of TCP.

use super::flood::Filters;
use super::intervals::IntervalCounts;
use super::parties::PartyCounts;
use super::rate::Meter;
use super::spread::Spread;
use super::timeline::TimelineCounts;
use super::vantage::VantageCounts;
use crate::connections::{CLIENT, Connection, Kind, SERVER, State};
use crate::results::{Closes, HandshakeRtt, Handshakes, Retransmissions, Waiting};
use crate::row::Close;
use gentle_units::Nanos;
use gentle_wire::Address;

/// Counts of a trace, TCP only.
#[derive(Debug)]
pub(crate) struct Tally {
    /// Counts that are complete at once; the others are filled in by [`Tally::handshakes`].
    pub(crate) handshakes: Handshakes,
    pub(crate) retransmissions: Retransmissions,
    pub(crate) intervals: IntervalCounts,
    pub(crate) vantage: VantageCounts,
    pub(crate) timeline: TimelineCounts,
    /// From and to the initiator, where directions are those.
    pub(crate) meters: [Meter; 2],
    pub(crate) filters: Filters,
    pub(crate) parties: PartyCounts,
    pub(crate) closes: Closes,
    /// Halves of the round trip: the server's, the client's, both.
    round_trips: [Spread; 3],
    waited: Nanos,
    waited_for_data: Nanos,
    failed: Nanos,
    syns_of_successes: u64,
}

impl Tally {
    /// `start` is the time of the first packet.
    pub(crate) fn new(start: Nanos) -> Tally {
        Tally {
            handshakes: Handshakes::default(),
            retransmissions: Retransmissions::default(),
            intervals: IntervalCounts::default(),
            vantage: VantageCounts::default(),
            timeline: TimelineCounts::new(start),
            meters: [Meter::default(); 2],
            filters: Filters::default(),
            parties: PartyCounts::default(),
            closes: Closes::default(),
            round_trips: Default::default(),
            waited: Nanos::ZERO,
            waited_for_data: Nanos::ZERO,
            failed: Nanos::ZERO,
            syns_of_successes: 0,
        }
    }

    /// A handshake in which nothing came again was completed.
    pub(crate) fn round_trip(&mut self, server: Nanos, client: Nanos, both: Nanos) {
        for (spread, time) in self.round_trips.iter_mut().zip([server, client, both]) {
            spread.record(time);
        }
    }

    /// What a segment other than SYN and SYN/ACK turned out to be.
    pub(crate) fn data(&mut self, time: Nanos, kind: Kind) {
        let counts = &mut self.retransmissions;
        match kind {
            Kind::New => return,
            Kind::Retransmitted(_) => counts.retransmitted += 1,
            Kind::Late(_) => counts.late += 1,
            Kind::Reordered => counts.reordered += 1,
            Kind::Probe => counts.probes += 1,
            Kind::Copy => self.handshakes.capture_duplicates.other += 1,
        }
        if let Kind::Retransmitted(_) | Kind::Late(_) = kind {
            self.timeline.at(time).other_retransmissions += 1;
        }
    }

    /// A connection is over.
    pub(crate) fn finish(&mut self, connection: &Connection, ends: [Address; 2], close: Close) {
        self.filters.record(connection, ends);
        for side in [CLIENT, SERVER] {
            self.waited_for_data = self
                .waited_for_data
                .saturating_add(connection.delays(side).1);
        }
        if !connection.state.has(State::SYN) {
            self.close(close);
            return;
        }
        self.intervals.finish(connection);
        let handshakes = &mut self.handshakes;
        let success = connection.state.has(State::ESTABLISHED);
        let again = connection.syns > 1;
        let lost = connection.handshake_retransmissions(CLIENT) > 0
            || connection.handshake_retransmissions(SERVER) > 0;
        handshakes.attempts_with_duplicate_syn += u64::from(again);
        handshakes.attempts_with_loss += u64::from(lost);
        handshakes.outside_standard_intervals += u64::from(connection.state.has(State::OUTSIDE));
        let mut failed = Nanos::ZERO;
        if success {
            handshakes.successes += 1;
            handshakes.successes_with_duplicate_syn += u64::from(again);
            handshakes.successes_with_loss += u64::from(lost);
            self.syns_of_successes += u64::from(connection.syns);
            self.waited = self.waited.saturating_add(connection.handshake_delay());
            self.close(close);
        } else {
            handshakes.failures += 1;
            handshakes.failures_with_duplicate_syn += u64::from(again);
            if connection.state.has(State::SYNACK) {
                handshakes.half_open += 1;
            } else if connection.state.has(State::REFUSED) {
                handshakes.refused += 1;
            } else {
                handshakes.unanswered += 1;
            }
            failed = connection.delays(CLIENT).0;
            self.failed = self.failed.saturating_add(failed);
            self.closes.never_established += 1;
        }
        self.parties.record(connection, ends, failed);
    }

    fn close(&mut self, close: Close) {
        *match close {
            Close::Fin => &mut self.closes.fin,
            Close::Rst => &mut self.closes.rst,
            Close::Silent => &mut self.closes.silent,
            Close::Open => &mut self.closes.open,
        } += 1;
    }

    /// Memory that grows with what was seen, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.filters.bytes() + self.parties.bytes()
    }

    /// Memory is short: keeps what fits into `bytes`.
    pub(crate) fn settle(&mut self, bytes: usize) {
        self.filters.settle();
        self.parties.settle(bytes);
    }

    /// The table of handshake-2009.
    pub(crate) fn handshakes(&self) -> Handshakes {
        let counts = &self.handshakes;
        let per = |whole: u64, part: u64| (part > 0).then(|| whole as f64 / part as f64);
        Handshakes {
            syn_per_success: per(self.syns_of_successes, counts.successes),
            attempts_per_duplicate: per(counts.attempts, counts.attempts_with_duplicate_syn),
            rtt_s: HandshakeRtt {
                server_side: self.round_trips[0].quantiles(),
                client_side: self.round_trips[1].quantiles(),
                both: self.round_trips[2].quantiles(),
            },
            ..counts.clone()
        }
    }

    /// The halves of the round trip.
    pub(crate) fn halves(&self) -> [&Spread; 2] {
        [&self.round_trips[0], &self.round_trips[1]]
    }

    /// What lost packets cost.
    pub(crate) fn waiting(&self) -> Waiting {
        let counts = &self.handshakes;
        let handshake_s = self.waited.as_secs_f64();
        let data_s = self.waited_for_data.as_secs_f64();
        let all = handshake_s + data_s;
        Waiting {
            attempts_with_loss: (counts.attempts > 0)
                .then(|| counts.attempts_with_loss as f64 / counts.attempts as f64),
            handshake_s,
            handshake_mean_s: (counts.successes_with_loss > 0)
                .then(|| handshake_s / counts.successes_with_loss as f64),
            data_s,
            handshake_share: (all > 0.0).then(|| handshake_s / all),
            failed_s: self.failed.as_secs_f64(),
        }
    }
}

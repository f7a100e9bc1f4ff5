//! What connections came to, counted when each is over.

use super::intervals::SeriesCounts;
use super::parties::PartyCounts;
use super::spread::Spread;
use super::tally::Tally;
use crate::connections::{CLIENT, Departure, SERVER, State};
use crate::options::Options;
use crate::results::{Closes, HandshakeRtt, Handshakes, Waiting};
use crate::row::Close;
use gentle_units::Nanos;

/// Counts of connections that are over.
///
/// It grows with what was seen, so it has its part of the memory limit: a sixteenth. Beyond, it keeps what fits.
///
/// On cache lines of its own, as `Decoder` is.
#[repr(align(128))]
#[derive(Debug)]
pub(crate) struct Outcomes {
    /// Those of its fields that follow from how attempts ended.
    handshakes: Handshakes,
    pub(crate) parties: PartyCounts,
    pub(crate) series: SeriesCounts,
    pub(crate) closes: Closes,
    /// Halves of the round trip: the server's, the client's, both.
    round_trips: [Spread; 3],
    waited: Nanos,
    waited_for_data: Nanos,
    failed: Nanos,
    syns_of_successes: u64,
    memory_limit: usize,
    peak_bytes: usize,
}

impl Outcomes {
    pub(crate) fn new(options: &Options) -> Outcomes {
        Outcomes {
            handshakes: Handshakes::default(),
            parties: PartyCounts::default(),
            series: SeriesCounts::default(),
            closes: Closes::default(),
            round_trips: Default::default(),
            waited: Nanos::ZERO,
            waited_for_data: Nanos::ZERO,
            failed: Nanos::ZERO,
            syns_of_successes: 0,
            memory_limit: options.memory() / 16,
            peak_bytes: 0,
        }
    }

    /// A connection is over.
    pub(crate) fn record(&mut self, departure: &Departure) {
        let Departure {
            connection, close, ..
        } = departure;
        for side in [CLIENT, SERVER] {
            self.waited_for_data = self
                .waited_for_data
                .saturating_add(connection.delays(side).1);
        }
        if connection.state.has(State::SYN) {
            self.attempt(departure);
        } else {
            self.close(*close);
        }
        self.limit_memory();
    }

    /// An attempt at a connection is over.
    fn attempt(&mut self, departure: &Departure) {
        let Departure {
            connection,
            ends,
            close,
        } = departure;
        self.series.record(connection);
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
            if let (Some(both), Some(server)) =
                (connection.round_trip(), connection.synack_at.get())
            {
                let halves = [server, both.saturating_sub(server), both];
                for (spread, time) in self.round_trips.iter_mut().zip(halves) {
                    spread.record(time);
                }
            }
            self.close(*close);
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
        self.parties.record(connection, *ends, failed);
    }

    fn close(&mut self, close: Close) {
        *match close {
            Close::Fin => &mut self.closes.fin,
            Close::Rst => &mut self.closes.rst,
            Close::Silent => &mut self.closes.silent,
            Close::Open => &mut self.closes.open,
        } += 1;
    }

    fn limit_memory(&mut self) {
        let bytes = self.parties.bytes_with_one_more();
        if bytes > self.memory_limit {
            // Both tables may double before this is next to do: after as many connections as were kept.
            self.parties.settle(self.memory_limit / 2);
        } else {
            self.peak_bytes = self.peak_bytes.max(bytes);
        }
    }

    /// Most memory that was in use or about to be, bytes.
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
            syn_per_success: per(self.syns_of_successes, counts.successes),
            attempts_per_duplicate: per(tally.attempts, counts.attempts_with_duplicate_syn),
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

    /// What lost packets cost; `attempts` are those of the trace.
    pub(crate) fn waiting(&self, attempts: u64) -> Waiting {
        let counts = &self.handshakes;
        let handshake_s = self.waited.as_secs_f64();
        let data_s = self.waited_for_data.as_secs_f64();
        let all = handshake_s + data_s;
        Waiting {
            attempts_with_loss: (attempts > 0)
                .then(|| counts.attempts_with_loss as f64 / attempts as f64),
            handshake_s,
            handshake_mean_s: (counts.successes_with_loss > 0)
                .then(|| handshake_s / counts.successes_with_loss as f64),
            data_s,
            handshake_share: (all > 0.0).then(|| handshake_s / all),
            failed_s: self.failed.as_secs_f64(),
        }
    }
}

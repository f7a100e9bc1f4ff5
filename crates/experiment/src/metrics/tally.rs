//! Counts and times of connections: of all connections of a run, or of one group of workloads.

use super::bins::Bins;
use super::histogram::TimeHistogram;
use gentle_tcp::{Stats, Waits};
use gentle_units::{Instant, Nanos};
use serde::{Deserialize, Serialize};

/// Sum and number of values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sum {
    pub(crate) n: u64,
    pub(crate) total: f64,
}

impl Sum {
    pub(crate) fn record(&mut self, value: f64) {
        self.n += 1;
        self.total += value;
    }

    pub(crate) fn mean(&self) -> Option<f64> {
        (self.n > 0).then(|| self.total / self.n as f64)
    }
}

/// Response times by size of the connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BySize {
    pub(crate) bins: Bins,
    pub(crate) sums: Vec<Sum>,
    /// Connections that did not complete, by range.
    pub(crate) open: Vec<u64>,
}

impl BySize {
    fn new(bins: Bins) -> BySize {
        let sums = vec![Sum::default(); bins.len()];
        let open = vec![0; bins.len()];
        BySize { bins, sums, open }
    }

    /// True if the ranges are `bins` and the lists have matching lengths.
    fn fits(&self, bins: &Bins) -> bool {
        self.bins == *bins && self.sums.len() == bins.len() && self.open.len() == bins.len()
    }

    fn record(&mut self, segments: u64, time: Nanos) {
        self.sums[self.bins.of(segments)].record(time.as_secs_f64());
    }

    fn leave_open(&mut self, segments: u64) {
        self.open[self.bins.of(segments)] += 1;
    }
}

/// Outcome of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The connection completed, with this response time.
    Completed(Nanos),
    /// TCP aborted the connection.
    Failed,
    /// The connection was open at the end of the run.
    Unfinished,
}

/// Retransmission delay of a connection: the time until it ended in which either end waited for a retransmission. Each
/// moment counts once, so it is at most the response time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waited {
    pub(crate) total: Nanos,
    /// The part in which a SYN or SYN/ACK was awaited.
    pub(crate) syn_part: Nanos,
}

impl Waited {
    /// The delay of a connection that started at `started`.
    pub(crate) fn of(started: Instant, ending: Ending, ends: &[&Stats]) -> Waited {
        let until = match ending {
            Ending::Completed(time) => started + time,
            Ending::Failed | Ending::Unfinished => Instant::NEVER,
        };
        let waits = || ends.iter().map(|stats| &stats.waits);
        Waited { total: Waits::total(waits(), until), syn_part: Waits::handshake(waits(), until) }
    }
}

/// Counts and times of connections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tally {
    pub(crate) connections: u64,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) unfinished: u64,
    pub(crate) response: TimeHistogram,
    pub(crate) handshake: TimeHistogram,
    pub(crate) by_size: BySize,
    pub(crate) by_size_fine: BySize,
    /// Segments sent; this and the following counters of TCP include long-lived connections.
    pub(crate) segments_sent: u64,
    pub(crate) segments_retransmitted: u64,
    pub(crate) syn_sent: u64,
    pub(crate) syn_retransmitted: u64,
    pub(crate) rtt: Sum,
    /// Retransmission delay per connection, without long-lived connections: see [`Waited`].
    pub(crate) delay: Sum,
    pub(crate) delay_syn_part: Sum,
    pub(crate) delay_with_syn_loss: Sum,
    pub(crate) delay_without_syn_loss: Sum,
    /// Sums over the retransmissions of a connection, as spa-2018 has them: see [`Waits::sum`].
    pub(crate) delay_sum: Sum,
    pub(crate) delay_sum_syn_part: Sum,
}

impl Tally {
    pub(crate) fn new(bins: &[u64]) -> Tally {
        Tally {
            connections: 0,
            completed: 0,
            failed: 0,
            unfinished: 0,
            response: TimeHistogram::default(),
            handshake: TimeHistogram::default(),
            by_size: BySize::new(Bins::new(bins)),
            by_size_fine: BySize::new(Bins::fine()),
            segments_sent: 0,
            segments_retransmitted: 0,
            syn_sent: 0,
            syn_retransmitted: 0,
            rtt: Sum::default(),
            delay: Sum::default(),
            delay_syn_part: Sum::default(),
            delay_with_syn_loss: Sum::default(),
            delay_without_syn_loss: Sum::default(),
            delay_sum: Sum::default(),
            delay_sum_syn_part: Sum::default(),
        }
    }

    /// True if the ranges of sizes are those with the upper ends `bins` and the fine ranges of plots.
    pub(crate) fn fits(&self, bins: &[u64]) -> bool {
        self.by_size.fits(&Bins::new(bins)) && self.by_size_fine.fits(&Bins::fine())
    }

    /// Ends recording: see [`TimeHistogram::compact`].
    pub(crate) fn compact(&mut self) {
        self.response.compact();
        self.handshake.compact();
    }

    /// Adds TCP's counters of one end of a connection; `before` are their values at the end of the warm-up.
    pub(crate) fn endpoint(&mut self, stats: &Stats, before: &Stats) {
        let grown = |counter: fn(&Stats) -> u32| u64::from(counter(stats) - counter(before));
        self.segments_sent += grown(|s| s.segments_sent);
        self.segments_retransmitted += grown(|s| s.segments_retransmitted);
        self.syn_sent += grown(|s| s.syn_sent);
        self.syn_retransmitted += grown(|s| s.syn_retransmitted);
        self.rtt.n += grown(|s| s.rtt_samples);
        self.rtt.total += (stats.rtt_sum - before.rtt_sum).as_secs_f64();
    }

    /// Counts a connection of known size that has ended, or is open at the end of the run.
    pub(crate) fn connection(
        &mut self,
        segments: u64,
        ending: Ending,
        handshake: Option<Nanos>,
        waited: Waited,
        ends: &[&Stats],
    ) {
        self.connections += 1;
        match ending {
            Ending::Completed(time) => {
                self.completed += 1;
                self.response.record(time);
                self.by_size.record(segments, time);
                self.by_size_fine.record(segments, time);
            }
            Ending::Failed => self.failed += 1,
            Ending::Unfinished => self.unfinished += 1,
        }
        if !matches!(ending, Ending::Completed(_)) {
            self.by_size.leave_open(segments);
            self.by_size_fine.leave_open(segments);
        }
        if let Some(time) = handshake {
            self.handshake.record(time);
        }
        let delay = waited.total.as_secs_f64();
        self.delay.record(delay);
        self.delay_syn_part.record(waited.syn_part.as_secs_f64());
        if ends.iter().any(|s| s.syn_retransmitted > 0) {
            self.delay_with_syn_loss.record(delay);
        } else {
            self.delay_without_syn_loss.record(delay);
        }
        let sum = |of: fn(&Waits) -> Nanos| {
            let sums = ends.iter().map(|stats| of(&stats.waits));
            sums.sum::<Nanos>().as_secs_f64()
        };
        self.delay_sum.record(sum(Waits::sum));
        self.delay_sum_syn_part.record(sum(Waits::handshake_sum));
    }
}

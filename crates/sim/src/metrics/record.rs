//! What one run counts.

use super::bins::Bins;
use super::spread::Spread;
use super::timeline::Timeline;
use crate::direction::Direction;
use crate::engine::packet::{Class, Packet};
use crate::engine::tap::{LOSS, Reason};
use gentle_aqm::DropReason;
use gentle_tcp::Stats;
use gentle_units::Nanos;

/// The reasons for which a packet does not arrive: the queue's, then loss on the link.
pub(crate) const REASONS: [Reason; DropReason::ALL.len() + 1] = {
    let mut reasons = [LOSS; DropReason::ALL.len() + 1];
    let mut i = 0;
    while i < DropReason::ALL.len() {
        reasons[i] = DropReason::ALL[i].name();
        i += 1;
    }
    reasons
};

/// Where a reason stands in [`REASONS`]; `None`: random loss.
fn reason_index(reason: Option<DropReason>) -> usize {
    reason.map_or(DropReason::ALL.len(), |reason| reason as usize)
}

/// One direction of the bottleneck.
#[derive(Debug, Clone, Default)]
pub(crate) struct LinkRecord {
    pub(crate) offered: [u64; Class::COUNT],
    pub(crate) dropped: [u64; Class::COUNT],
    pub(crate) reasons: [u64; REASONS.len()],
    pub(crate) sent: u64,
    /// Time spent sending while measuring.
    pub(crate) busy: Nanos,
    pub(crate) queue_delay: Spread,
    /// Packets marked with ECN since the end of the warm-up.
    pub(crate) marked: u64,
}

/// Sum and number.
#[derive(Debug, Clone, Copy, Default)]
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

/// Response times by size.
#[derive(Debug, Clone)]
pub(crate) struct BySize {
    pub(crate) bins: Bins,
    pub(crate) sums: Vec<Sum>,
}

impl BySize {
    fn new(bins: Bins) -> BySize {
        let sums = vec![Sum::default(); bins.len()];
        BySize { bins, sums }
    }

    fn record(&mut self, segments: u64, time: Nanos) {
        self.sums[self.bins.of(segments)].record(time.as_secs_f64());
    }
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It completed after this time.
    Completed(Nanos),
    /// TCP gave it up.
    Failed,
    /// It was still open when the run ended.
    Unfinished,
}

/// Everything counted in one run. Connections count if they start after the warm-up, packets if they are offered after
/// it; queueing delay and utilisation stop at the last arrival, the rest goes on while the run drains.
#[derive(Debug, Clone)]
pub(crate) struct RunRecord {
    pub(crate) seed: u64,
    /// From the end of the warm-up to the last arrival.
    pub(crate) window: (Nanos, Nanos),
    pub(crate) connections: u64,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) unfinished: u64,
    pub(crate) response: Spread,
    pub(crate) handshake: Spread,
    pub(crate) by_size: BySize,
    pub(crate) by_size_fine: BySize,
    /// TCP's own counters, of all connections, long-lived ones included.
    pub(crate) segments_sent: u64,
    pub(crate) segments_retransmitted: u64,
    pub(crate) syn_sent: u64,
    pub(crate) syn_retransmitted: u64,
    pub(crate) rtt: Sum,
    /// Retransmission delay per connection, long-lived ones left out.
    pub(crate) delay: Sum,
    pub(crate) delay_syn_part: Sum,
    pub(crate) delay_with_syn_loss: Sum,
    pub(crate) delay_without_syn_loss: Sum,
    /// Goodput of each long-lived flow while measuring, bytes per second.
    pub(crate) long_goodput: Vec<f64>,
    pub(crate) links: [LinkRecord; 2],
    pub(crate) timeline: Timeline,
}

impl RunRecord {
    pub(crate) fn new(seed: u64, warmup: Nanos, duration: Nanos, bins: &[u64]) -> RunRecord {
        RunRecord {
            seed,
            window: (warmup, duration),
            connections: 0,
            completed: 0,
            failed: 0,
            unfinished: 0,
            response: Spread::default(),
            handshake: Spread::default(),
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
            long_goodput: Vec::new(),
            links: [LinkRecord::default(), LinkRecord::default()],
            timeline: Timeline::new(duration),
        }
    }

    /// A packet is offered to its queue. From here on it counts, or not: what entered before the end of the warm-up is
    /// left out wherever it ends.
    #[inline]
    pub(crate) fn offered(&mut self, now: Nanos, packet: &mut Packet) {
        packet.counts = self.offer(now, packet.direction, packet.class);
    }

    /// The same for a packet that is not the simulator's; says whether it counts.
    #[inline]
    pub(crate) fn offer(&mut self, now: Nanos, direction: Direction, class: Class) -> bool {
        let counts = now >= self.window.0;
        if counts {
            self.links[direction.index()].offered[class as usize] += 1;
        }
        counts
    }

    pub(crate) fn dropped(&mut self, packet: &Packet, reason: Option<DropReason>) {
        if packet.counts {
            self.count_drop(packet.direction, packet.class, reason);
        }
    }

    pub(crate) fn count_drop(
        &mut self,
        direction: Direction,
        class: Class,
        reason: Option<DropReason>,
    ) {
        let link = &mut self.links[direction.index()];
        link.dropped[class as usize] += 1;
        link.reasons[reason_index(reason)] += 1;
    }

    /// A packet left the queue of `direction` after `delay`; sending it lasts until `done`.
    #[inline]
    pub(crate) fn left_queue(
        &mut self,
        now: Nanos,
        direction: Direction,
        delay: Nanos,
        done: Nanos,
    ) {
        if direction == Direction::Down {
            self.timeline.record(now, delay);
        }
        let (from, to) = self.window;
        let link = &mut self.links[direction.index()];
        if now < from {
            link.busy += done.min(to).saturating_sub(from);
        } else if now < to {
            link.busy += done.min(to) - now;
            link.queue_delay.record(delay);
        }
    }

    #[inline]
    pub(crate) fn sent(&mut self, packet: &Packet) {
        if packet.counts {
            self.count_sent(packet.direction);
        }
    }

    #[inline]
    pub(crate) fn count_sent(&mut self, direction: Direction) {
        self.links[direction.index()].sent += 1;
    }

    /// TCP's counters of one end of a connection; `before`: what they were at the end of the warm-up.
    pub(crate) fn endpoint(&mut self, stats: &Stats, before: &Stats) {
        let grown = |counter: fn(&Stats) -> u32| u64::from(counter(stats) - counter(before));
        self.segments_sent += grown(|s| s.segments_sent);
        self.segments_retransmitted += grown(|s| s.segments_retransmitted);
        self.syn_sent += grown(|s| s.syn_sent);
        self.syn_retransmitted += grown(|s| s.syn_retransmitted);
        self.rtt.n += grown(|s| s.rtt_samples);
        self.rtt.total += (stats.rtt_sum - before.rtt_sum).as_secs_f64();
    }

    /// A long-lived flow that began at `started` was over at `until` and has received so many bytes while measured.
    pub(crate) fn goodput(&mut self, bytes: u64, started: Nanos, until: Nanos) {
        let span = until.saturating_sub(started.max(self.window.0));
        if span > Nanos::ZERO {
            self.long_goodput.push(bytes as f64 / span.as_secs_f64());
        }
    }

    /// To be called when the run is over, before anything is read.
    pub(crate) fn settle(&mut self) {
        self.response.settle();
        self.handshake.settle();
        for link in &mut self.links {
            link.queue_delay.settle();
        }
    }

    /// A connection of a known size has ended, or the run has.
    pub(crate) fn connection(
        &mut self,
        segments: u64,
        ending: Ending,
        handshake: Option<Nanos>,
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
        if let Some(time) = handshake {
            self.handshake.record(time);
        }
        let delay: Nanos = ends.iter().map(|s| s.retransmission_delay).sum();
        let syn_part: Nanos = ends.iter().map(|s| s.syn_retransmission_delay).sum();
        self.delay.record(delay.as_secs_f64());
        self.delay_syn_part.record(syn_part.as_secs_f64());
        if ends.iter().any(|s| s.syn_retransmitted > 0) {
            self.delay_with_syn_loss.record(delay.as_secs_f64());
        } else {
            self.delay_without_syn_loss.record(delay.as_secs_f64());
        }
    }
}

//! Loss, jitter and reordering of packets on a link, behind the queue.

use gentle_experiment::draw::Stream;
use gentle_experiment::{GilbertElliott, LinkConfig};
use gentle_units::{Instant, Nanos};
use rand::RngExt;

/// Loss, jitter and reordering as `netem` has them (Linux: `net/sched/sch_netem.c`).
pub(crate) struct Disturbance {
    loss: f64,
    bursts: Option<GilbertElliott>,
    is_bad: bool,
    jitter: Nanos,
    reorder: f64,
    /// Arrival of the last packet that was not reordered, without its extra delay.
    last_at: Instant,
    rng: Stream,
}

impl Disturbance {
    /// `None` if the link only delays.
    pub(crate) fn new(config: &LinkConfig, rng: Stream) -> Option<Disturbance> {
        let quiet =
            config.loss == 0.0 && config.bursts.is_none() && config.jitter == Nanos::ZERO && config.reorder == 0.0;
        (!quiet).then_some(Disturbance {
            loss: config.loss,
            bursts: config.bursts,
            is_bad: false,
            jitter: config.jitter,
            reorder: config.reorder,
            last_at: Instant::ZERO,
            rng,
        })
    }

    fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.rng.random::<f64>() < probability
    }

    /// Whether the packet gets lost.
    pub(crate) fn loses(&mut self) -> bool {
        if self.happens(self.loss) {
            return true;
        }
        let Some(bursts) = self.bursts else {
            return false;
        };
        // The packet at which the state changes still has the loss of the state before (`loss_gilb_ell`).
        let (change, loss) = match self.is_bad {
            false => (bursts.p, bursts.good),
            true => (bursts.r, bursts.bad),
        };
        self.is_bad ^= self.happens(change);
        self.happens(loss)
    }

    /// When a packet that has been sent at `now`, in the time `sending`, arrives after `delay`. Without reordering, a packet
    /// arrives after the one before it, by the time that the link needs to send it (`netem_enqueue` with a rate).
    pub(crate) fn arrival(&mut self, now: Instant, sending: Nanos, delay: Nanos, extra: Nanos) -> Instant {
        if self.happens(self.reorder) {
            return now;
        }
        let mut at = now + delay;
        if self.jitter > Nanos::ZERO {
            at = at - self.jitter + Nanos(self.rng.random_range(0..2 * self.jitter.0));
            at = at.max(self.last_at + sending);
            self.last_at = at;
        }
        at + extra
    }
}

//! The proportional integral controller of PI2 (De Schepper et al., CoNEXT 2016; RFC 9332, appendix A) in the arithmetic
//! of Linux (`net/sched/sch_dualpi2.c`).
//!
//! The probability is a fraction of 2^32 - 1, times are nanoseconds. Differences are in 64 bits and sums modulo 2^32, as
//! in C, so that overflow has the same effect as in the kernel.

use gentle_units::{Instant, Nanos};

/// Probability 1.
pub(crate) const MAX_PROB: u32 = u32::MAX;

/// Units of the options `alpha` and `beta` per hertz.
pub(crate) const WEIGHT_SCALE: f64 = 256.0;

/// Fractional bits of a weight in units of probability per nanosecond: it counts probability per 64 ns.
const GRANULARITY: u32 = 6;

/// Parameters of the controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Params {
    target: i64,
    tupdate: u64,
    alpha: i64,
    beta: i64,
    most: u32,
}

impl Params {
    /// Parameters with the weights `alpha` and `beta` in 1/256 Hz. The probability grows to `most` only. `tupdate` must
    /// not be zero.
    pub(crate) fn new(target: Nanos, tupdate: Nanos, alpha: u32, beta: u32, most: u32) -> Self {
        Params { target: target.0.cast_signed(), tupdate: tupdate.0, alpha: weight(alpha), beta: weight(beta), most }
    }
}

/// Probability per 64 ns, of a weight in 1/256 Hz (Linux: `dualpi2_scale_alpha_beta`).
fn weight(param: u32) -> i64 {
    let scaled = (u64::from(param) * u64::from(MAX_PROB)) >> (8 - GRANULARITY);
    (scaled / 1_000_000_000).cast_signed()
}

/// State of the controller, with its timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Controller {
    prob: u32,
    last_qdelay: i64,
    /// Time of the next calculation, ns.
    next: u64,
}

impl Controller {
    /// A controller created at time zero.
    pub(crate) fn new(params: &Params) -> Self {
        Controller { prob: 0, last_qdelay: 0, next: params.tupdate }
    }

    /// The base probability p' (RFC 9332, section 2.5).
    #[inline]
    pub(crate) fn probability(&self) -> u32 {
        self.prob
    }

    /// Performs the calculations that were due until `now`, while the oldest packet at the head of a queue was one that
    /// had arrived at `oldest`.
    #[inline]
    pub(crate) fn catch_up(&mut self, params: &Params, now: Instant, oldest: Option<Instant>) {
        if self.next <= now.0 {
            self.calculate_until(params, now.0, oldest);
        }
    }

    #[cold]
    fn calculate_until(&mut self, params: &Params, now: u64, oldest: Option<Instant>) {
        while self.next <= now {
            let before = self.prob;
            let at_rest = (before, self.last_qdelay);
            let delay = |at: u64| oldest.map_or(0, |head| at.saturating_sub(head.0).cast_signed());
            self.update(params, delay(self.next));
            let left = (now - self.next) / params.tupdate;
            let last = self.next + left * params.tupdate;
            let rests = match oldest {
                None => (self.prob, self.last_qdelay) == at_rest,
                // The delay of a waiting packet grows, and with it the change.
                Some(_) => {
                    self.prob == before
                        && self.prob == params.most
                        && params.stays_positive(delay(self.next), delay(last))
                }
            };
            if rests {
                self.last_qdelay = delay(last);
                self.next = last;
            }
            self.next = self.next.saturating_add(params.tupdate);
        }
    }

    /// Calculates the probability for a queueing delay of `qdelay` ns (Linux: `calculate_probability`).
    fn update(&mut self, params: &Params, qdelay: i64) {
        let integral = (qdelay - params.target).wrapping_mul(params.alpha);
        let proportional = (qdelay - self.last_qdelay).wrapping_mul(params.beta);
        let delta = integral.wrapping_add(proportional);
        self.last_qdelay = qdelay;
        let change = (delta.unsigned_abs() >> GRANULARITY) as u32;
        self.prob = if delta > 0 {
            let sum = self.prob.wrapping_add(change);
            if sum < self.prob { MAX_PROB } else { sum }
        } else {
            let rest = self.prob.wrapping_sub(change);
            if rest > self.prob { 0 } else { rest }
        }
        .min(params.most);
    }
}

impl Params {
    /// True if every calculation after one for a delay of `from`, up to one for `to`, finds a positive change.
    fn stays_positive(&self, from: i64, to: i64) -> bool {
        let change = |delay: i64| {
            let integral = i128::from(delay - self.target) * i128::from(self.alpha);
            integral + i128::from(self.tupdate) * i128::from(self.beta)
        };
        change(from) > 0 && change(to) <= i128::from(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The defaults of Linux.
    fn params() -> Params {
        Params::new(Nanos::from_millis(15), Nanos::from_millis(16), 41, 819, MAX_PROB)
    }

    #[test]
    fn the_weights_are_those_of_rfc_9332() {
        // 0.16 Hz and 3.2 Hz: alpha = 0.1 Tupdate / RTT_max^2 and beta = 0.3 / RTT_max of 100 ms.
        let Params { alpha, beta, .. } = params();
        let hertz = |weight: i64| weight as f64 / 64.0 * 1e9 / f64::from(MAX_PROB);
        assert!((hertz(alpha) - 0.16).abs() < 0.005, "{}", hertz(alpha));
        assert!((hertz(beta) - 3.2).abs() < 0.005, "{}", hertz(beta));
    }

    #[test]
    fn a_delay_at_the_target_holds_the_probability() {
        let params = params();
        let mut law = Controller::new(&params);
        (law.prob, law.last_qdelay) = (1 << 30, 15_000_000);
        law.update(&params, 15_000_000);
        assert_eq!(law.prob, 1 << 30);
        // 10 ms above: 0.16 Hz for 10 ms, and 3.2 Hz for the change of 10 ms.
        law.update(&params, 25_000_000);
        let change = f64::from(law.prob - (1 << 30)) / f64::from(MAX_PROB);
        assert!((change - 0.0336).abs() < 0.0001, "{change}");
    }

    /// Each calculation in turn gives the same as all at once.
    #[test]
    fn what_is_skipped_changes_nothing() {
        for (most, target) in [(MAX_PROB, 15), (MAX_PROB / 2, 15), (MAX_PROB, 0)] {
            let params = Params::new(Nanos::from_millis(target), Nanos::from_millis(16), 41, 819, most);
            for oldest in [None, Some(Instant::from_millis(300))] {
                let mut lazy = Controller::new(&params);
                lazy.prob = MAX_PROB / 3;
                let mut every = lazy;
                for ms in 300..200_000 {
                    every.catch_up(&params, Instant::from_millis(ms), oldest);
                }
                lazy.catch_up(&params, Instant::from_millis(199_999), oldest);
                assert_eq!(lazy, every, "{most} {target} {oldest:?}");
            }
        }
    }
}

//! PIE's control law (RFC 8033) in the arithmetic of Linux (`include/net/pie.h`, `net/sched/sch_pie.c`), independent of
//! the storage of packets: `pie` applies it to its only queue, `fq_pie` to the queue of each flow.
//!
//! Probabilities are fractions of 2^56, times are in units of 64 ns. Differences are modulo 2^64 as in C, so that
//! overflow has the same effect as in the kernel.

use crate::plumbing::linux;
use crate::plumbing::options::{Kind, OptionSpec, Options};
use gentle_units::{Instant, Nanos};
use rand::Rng;

/// Longest time that `tc` passes to the kernel: microseconds in 32 bits.
const LONGEST: Nanos = Nanos::from_micros(u32::MAX as u64);

pub(crate) const TARGET: OptionSpec = OptionSpec {
    name: "target",
    kind: Kind::Time(Nanos::ZERO, LONGEST),
    default: Some("15ms"),
    help: "target queueing delay",
};

pub(crate) const TUPDATE: OptionSpec = OptionSpec {
    name: "tupdate",
    // Linux rounds up to jiffies, the shortest of which is a millisecond.
    kind: Kind::Time(Nanos::from_millis(1), LONGEST),
    default: Some("15ms"),
    help: "period of the calculation of the drop probability",
};

pub(crate) const ALPHA: OptionSpec = OptionSpec {
    name: "alpha",
    kind: Kind::Count(0, 32),
    default: Some("2"),
    help: "weight of the delay's distance from target, in sixteenths per second",
};

pub(crate) const BETA: OptionSpec = OptionSpec {
    name: "beta",
    kind: Kind::Count(0, 32),
    default: Some("20"),
    help: "weight of the delay's change, in sixteenths per second",
};

pub(crate) const ECN: OptionSpec = OptionSpec {
    name: "ecn",
    kind: Kind::Flag,
    default: Some("off"),
    help: "mark ECN-capable packets instead of dropping them while the probability is low",
};

pub(crate) const BYTEMODE: OptionSpec = OptionSpec {
    name: "bytemode",
    kind: Kind::Flag,
    default: Some("off"),
    help: "scale the drop probability by packet size",
};

pub(crate) const DQ_RATE_ESTIMATOR: OptionSpec = OptionSpec {
    name: "dq_rate_estimator",
    kind: Kind::Flag,
    default: Some("off"),
    help: "estimate the delay from backlog and departure rate instead of timestamps",
};

/// Option of `pie` alone: `fq_pie` came with Linux 5.6.
pub(crate) const BEFORE_5_1: OptionSpec = OptionSpec {
    name: "before_5_1",
    kind: Kind::Flag,
    default: Some("off"),
    help: "drop as Linux before 5.1 did, with dq_rate_estimator: independently, other steps of tuning, a burst of 100 ms; for \
        simulations only",
};

/// Options that `tc` does not have, with advice.
pub(crate) const TC_REFUSED: &[(&str, &str)] = &[(BEFORE_5_1.name, "Linux behaved so until 2019; leave it out")];

/// Words of `tc` that turn flags off.
pub(crate) const TC_NEGATIONS: &[(&str, &str)] =
    &[(ECN.name, "noecn"), (BYTEMODE.name, "nobytemode"), (DQ_RATE_ESTIMATOR.name, "no_dq_rate_estimator")];

/// PIE's parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Target queueing delay (RFC 8033: `QDELAY_REF`). Linux: 15 ms.
    pub target: Nanos,
    /// Period of the calculation of the drop probability (RFC 8033: `T_UPDATE`), not zero. Linux: 15 ms.
    pub tupdate: Nanos,
    /// Weight of the delay's distance from `target`, in 1/16 per second. Linux: 2.
    pub alpha: u32,
    /// Weight of the delay's change, in 1/16 per second. Linux: 20.
    pub beta: u32,
    /// Mark ECN-capable packets instead of dropping them while the probability is low.
    pub ecn: bool,
    /// Scale the probability by packet size.
    pub bytemode: bool,
    /// Estimate the delay by Little's law instead of timestamps (RFC 8033, section 5.2).
    pub dq_rate_estimator: bool,
    /// The law of Linux 3.14 to 5.0 (`net/sched/sch_pie.c`), which always estimates the delay by Little's law: packets are dropped
    /// independently of each other, the weights have two steps, the burst allowance is 100 ms, a measurement of the departure rate
    /// takes 10,000 bytes, and an idle probability falls by 2 %.
    pub before_5_1: bool,
}

impl Config {
    pub(crate) fn from_options(options: &Options) -> Config {
        Config {
            target: options.time(TARGET.name),
            tupdate: options.time(TUPDATE.name),
            alpha: options.count(ALPHA.name) as u32,
            beta: options.count(BETA.name) as u32,
            ecn: options.flag(ECN.name),
            bytemode: options.flag(BYTEMODE.name),
            dq_rate_estimator: options.flag(DQ_RATE_ESTIMATOR.name),
            before_5_1: false,
        }
    }
}

/// Time of the first calculation; the qdisc is created at time zero (Linux: `HZ / 2`).
pub(crate) const FIRST_UPDATE: Instant = Instant::from_millis(500);

/// Probability 1.
const MAX_PROB: u64 = u64::MAX >> 8;

/// Ticks per second.
const TICKS_PER_SEC: u64 = ticks(Nanos::from_secs(1));

/// Burst allowance (RFC 8033, section 4.4: `MAX_BURST`).
const MAX_BURST: u64 = ticks(Nanos::from_millis(150));

/// Burst allowance before Linux 5.1.
const MAX_BURST_BEFORE: u64 = ticks(Nanos::from_millis(100));

/// Delay above which each calculation adds 2 % to the probability (RFC 8033, section 4.2, step 5 of the example).
const HIGH_DELAY: u64 = ticks(Nanos::from_millis(250));

/// Bytes per measurement of the departure rate (RFC 8033, section 5.2: `DQ_THRESHOLD`).
const DQ_THRESHOLD: u64 = 16_384;

/// Bytes per measurement of the departure rate before Linux 5.1.
const DQ_THRESHOLD_BEFORE: u64 = 10_000;

/// Fractional bits of the departure rate in bytes per tick.
const RATE_SCALE: u32 = 8;

/// Auto-tuning steps (RFC 8033, section 4.2): below each of them the weights are divided by another four.
const TUNING: [u64; 5] =
    [MAX_PROB / 100, MAX_PROB / 1_000, MAX_PROB / 10_000, MAX_PROB / 100_000, MAX_PROB / 1_000_000];

/// Auto-tuning steps before Linux 5.1.
const TUNING_BEFORE: [u64; 1] = [MAX_PROB / 100];

/// Unit of time in nanoseconds (Linux: `1 << PSCHED_SHIFT`).
pub(crate) const TICK_NS: u64 = 64;

/// Converts to units of 64 ns (Linux: `psched_time_t`).
const fn ticks(t: Nanos) -> u64 {
    t.0 / TICK_NS
}

/// Converts percent to a probability with the rounding of `ecn_prob` in Linux.
pub(crate) fn percent(share: u32) -> u64 {
    (MAX_PROB / 100).wrapping_mul(u64::from(share))
}

/// Probability above which `pie` drops ECN-capable packets too (RFC 8033, section 5.1: `mark_ecnth`).
pub(crate) const MARK_ECNTH: u64 = MAX_PROB / 10;

/// Parameters in the law's units, shared by all queues of a qdisc (Linux: `struct pie_params`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Params {
    target: u64,
    /// Change of probability per tick of delay, before auto-tuning.
    alpha: u64,
    beta: u64,
    bytemode: bool,
    dq_rate_estimator: bool,
    before_5_1: bool,
    dq_threshold: u64,
    max_burst: u64,
    tuning: &'static [u64],
}

impl From<Config> for Params {
    fn from(config: Config) -> Params {
        let weight = |sixteenths: u32| (u64::from(sixteenths) * (MAX_PROB / TICKS_PER_SEC)) >> 4;
        let (dq_threshold, max_burst, tuning): (_, _, &[u64]) = match config.before_5_1 {
            true => (DQ_THRESHOLD_BEFORE, MAX_BURST_BEFORE, &TUNING_BEFORE),
            false => (DQ_THRESHOLD, MAX_BURST, &TUNING),
        };
        Params {
            target: ticks(config.target),
            alpha: weight(config.alpha),
            beta: weight(config.beta),
            bytemode: config.bytemode,
            dq_rate_estimator: config.dq_rate_estimator || config.before_5_1,
            before_5_1: config.before_5_1,
            dq_threshold,
            max_burst,
            tuning,
        }
    }
}

/// State of the control law of one queue (Linux: `struct pie_vars`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pie {
    qdelay: u64,
    qdelay_old: u64,
    burst_time: u64,
    /// Start of the current rate measurement or, with timestamps, time of the last departure.
    dq_tstamp: Option<u64>,
    prob: u64,
    /// Probability accumulated since the last drop, for de-randomisation (RFC 8033, section 5.4).
    accu_prob: u64,
    /// Bytes departed in the current rate measurement; `None`: none is in progress.
    dq_count: Option<u64>,
    /// Departure rate in bytes per tick, times 2^[`RATE_SCALE`].
    avg_dq_rate: u32,
}

impl Default for Pie {
    fn default() -> Self {
        Pie {
            qdelay: 0,
            qdelay_old: 0,
            burst_time: MAX_BURST,
            dq_tstamp: None,
            prob: 0,
            accu_prob: 0,
            dq_count: None,
            avg_dq_rate: 0,
        }
    }
}

impl Pie {
    /// State of an empty queue.
    pub(crate) fn new(params: &Params) -> Pie {
        Pie { burst_time: params.max_burst, ..Pie::default() }
    }

    /// The drop probability, in units of 2^-56.
    pub(crate) fn probability(&self) -> u64 {
        self.prob
    }

    /// Resets the accumulated probability after a drop.
    pub(crate) fn on_drop(&mut self) {
        self.accu_prob = 0;
    }

    /// True if a packet of `bytes` that arrives at a queue of `backlog` bytes is to be dropped or marked (Linux:
    /// `pie_drop_early`).
    #[inline]
    pub(crate) fn drop_early(&mut self, params: &Params, backlog: u64, bytes: u32, rng: &mut impl Rng) -> bool {
        if self.burst_time > 0 {
            return false;
        }
        if self.qdelay < params.target / 2 && self.prob < MAX_PROB / 5 {
            return false;
        }
        if backlog < 2 * u64::from(linux::MTU) {
            return false;
        }
        let prob = if params.bytemode && bytes <= linux::MTU {
            u64::from(bytes).wrapping_mul(self.prob / u64::from(linux::MTU))
        } else {
            self.prob
        };
        if params.before_5_1 {
            return rng.next_u64() >> 8 < prob;
        }
        if prob == 0 {
            self.accu_prob = 0;
        } else {
            self.accu_prob = self.accu_prob.wrapping_add(prob);
        }
        if self.accu_prob < (MAX_PROB / 100) * 85 {
            return false;
        }
        if self.accu_prob >= (MAX_PROB / 2) * 17 {
            return true;
        }
        if rng.next_u64() >> 8 < prob {
            self.accu_prob = 0;
            return true;
        }
        false
    }

    /// Updates the state for the departure at `now` of a packet of `bytes` that had `arrived` at that time and leaves
    /// `backlog` bytes behind (Linux: `pie_process_dequeue`).
    #[inline]
    pub(crate) fn on_dequeue(&mut self, params: &Params, now: Instant, arrived: Instant, bytes: u32, backlog: u64) {
        let now = ticks(now.since_origin());
        let elapsed = if params.dq_rate_estimator {
            match self.measure_rate(params.dq_threshold, now, bytes, backlog) {
                Some(elapsed) => elapsed,
                None => return,
            }
        } else {
            self.qdelay = if backlog > 0 { now.wrapping_sub(ticks(arrived.since_origin())) } else { 0 };
            let last = self.dq_tstamp.replace(now).unwrap_or(now);
            now.wrapping_sub(last) as u32
        };
        self.burst_time = self.burst_time.saturating_sub(u64::from(elapsed));
    }

    /// Adds a departure to the rate measurement; returns the duration of the measurement if that completes it.
    fn measure_rate(&mut self, threshold: u64, now: u64, bytes: u32, backlog: u64) -> Option<u32> {
        if backlog >= threshold && self.dq_count.is_none() {
            self.dq_tstamp = Some(now);
            self.dq_count = Some(0);
        }
        let count = self.dq_count? + u64::from(bytes);
        self.dq_count = Some(count);
        if count < threshold {
            return None;
        }
        let elapsed = now.wrapping_sub(self.dq_tstamp.unwrap_or(u64::MAX)) as u32;
        if elapsed == 0 {
            return None;
        }
        let rate = ((count << RATE_SCALE) as u32) / elapsed;
        self.avg_dq_rate = if self.avg_dq_rate == 0 {
            rate
        } else {
            (self.avg_dq_rate - (self.avg_dq_rate >> 3)).wrapping_add(rate >> 3)
        };
        if backlog < threshold {
            self.dq_count = None;
        } else {
            self.dq_count = Some(0);
            self.dq_tstamp = Some(now);
        }
        Some(elapsed)
    }

    /// Calculates the probability `times` times, with a constant `backlog` in bytes.
    ///
    /// The state of an idle queue reaches a fixed point after some hundred calculations; the rest is skipped.
    pub(crate) fn update(&mut self, params: &Params, backlog: u64, times: u64) {
        for _ in 0..times {
            let before = *self;
            self.update_once(params, backlog);
            if *self == before {
                break;
            }
        }
    }

    /// Calculates the probability once (RFC 8033, section 4.2; Linux: `pie_calculate_probability`).
    fn update_once(&mut self, params: &Params, backlog: u64) {
        let (qdelay, qdelay_old) = if params.dq_rate_estimator {
            let old = self.qdelay;
            self.qdelay_old = old;
            // In 32 bits, as in the kernel.
            let scaled = (backlog as u32) << RATE_SCALE;
            let estimate = scaled.checked_div(self.avg_dq_rate).unwrap_or(0);
            (u64::from(estimate), old)
        } else {
            (self.qdelay, self.qdelay_old)
        };
        // A delay of zero with packets waiting means that the backlog is too small for an estimate.
        let mut decay = !(qdelay == 0 && backlog != 0);

        let (mut alpha, mut beta) = (params.alpha, params.beta);
        if self.prob < MAX_PROB / 10 {
            let steps = params.tuning.iter().take_while(|step| self.prob < **step).count();
            let shift = 1 + 2 * steps;
            alpha >>= shift;
            beta >>= shift;
        }
        let mut delta = alpha
            .wrapping_mul(qdelay.wrapping_sub(params.target))
            .wrapping_add(beta.wrapping_mul(qdelay.wrapping_sub(qdelay_old))) as i64;
        if delta > (MAX_PROB / 50) as i64 && self.prob >= MAX_PROB / 10 {
            delta = ((MAX_PROB / 100) * 2) as i64;
        }
        if qdelay > HIGH_DELAY {
            delta = delta.wrapping_add((MAX_PROB / 50) as i64);
        }

        let old = self.prob;
        self.prob = old.wrapping_add_signed(delta);
        if delta > 0 {
            if self.prob < old {
                self.prob = MAX_PROB;
                decay = false;
            }
        } else if self.prob > old {
            self.prob = 0;
        }
        if params.before_5_1 && self.prob > MAX_PROB {
            // The probability had 32 bits, the largest number of which stands for 1.
            self.prob = MAX_PROB;
            decay = false;
        }
        if qdelay == 0 && qdelay_old == 0 && decay {
            self.prob = match params.before_5_1 {
                true => self.prob * 98 / 100,
                false => self.prob - self.prob / 64,
            };
        }
        self.qdelay = qdelay;

        let low = params.target / 2;
        if self.qdelay < low
            && self.qdelay_old < low
            && self.prob == 0
            && (!params.dq_rate_estimator || self.avg_dq_rate > 0)
        {
            *self = Pie { qdelay: self.qdelay, qdelay_old: self.qdelay_old, ..Pie::new(params) };
        }
        if !params.dq_rate_estimator {
            self.qdelay_old = qdelay;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    fn config() -> Config {
        Config {
            target: Nanos::from_millis(15),
            tupdate: Nanos::from_millis(15),
            alpha: 2,
            beta: 20,
            ecn: false,
            bytemode: false,
            dq_rate_estimator: false,
            before_5_1: false,
        }
    }

    /// State after the burst allowance, with a constant delay.
    fn congested(prob: u64, delay: Nanos) -> Pie {
        Pie { qdelay: ticks(delay), qdelay_old: ticks(delay), burst_time: 0, prob, ..Pie::new(&config().into()) }
    }

    #[test]
    fn a_burst_of_150_ms_passes() {
        let params = Params::from(config());
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut pie = Pie { prob: MAX_PROB, ..Pie::new(&params) };
        let mut allowed = Instant::ZERO;
        for ms in 0..1000 {
            let now = Instant::from_millis(ms);
            pie.on_dequeue(&params, now, Instant::ZERO, 1500, 100_000);
            pie.accu_prob = (MAX_PROB / 2) * 17;
            if pie.drop_early(&params, 100_000, 1500, &mut rng) {
                allowed = now;
                break;
            }
        }
        assert_eq!(allowed, Instant::from_millis(150));
    }

    #[test]
    fn the_weights_shrink_with_the_probability() {
        let params = Params::from(config());
        let step = |prob: u64| {
            let mut pie = congested(prob, Nanos::from_millis(100));
            pie.update(&params, 100_000, 1);
            (pie.prob - prob) as f64 / MAX_PROB as f64
        };
        // alpha is 2/16 per second, the delay 85 ms above target.
        let full = 0.125 * 0.085;
        for (prob, divisor) in [
            (MAX_PROB / 5, 1.0),
            (MAX_PROB / 20, 2.0),
            (MAX_PROB / 200, 8.0),
            (MAX_PROB / 2_000, 32.0),
            (MAX_PROB / 20_000, 128.0),
            (MAX_PROB / 200_000, 512.0),
            (MAX_PROB / 2_000_000, 2048.0),
        ] {
            let ratio = step(prob) / (full / divisor);
            assert!((ratio - 1.0).abs() < 0.001, "{prob}: {ratio}");
        }
    }

    #[test]
    fn drops_are_spaced_between_0_85_and_8_5_of_their_mean_distance() {
        let params = Params::from(config());
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut pie = congested(MAX_PROB / 20, Nanos::from_millis(30));
        let mut gap = 0;
        let mut gaps = Vec::new();
        while gaps.len() < 2000 {
            gap += 1;
            if pie.drop_early(&params, 100_000, 1500, &mut rng) {
                pie.on_drop();
                gaps.push(gap);
                gap = 0;
            }
        }
        assert!(*gaps.iter().min().unwrap() >= 17);
        assert!(*gaps.iter().max().unwrap() <= 171);
    }

    /// Numbers worked out manually from `net/sched/sch_pie.c` of Linux 3.18.
    #[test]
    fn before_5_1_the_law_was_another() {
        let params = Params::from(Config {
            target: Nanos::from_millis(20),
            tupdate: Nanos::from_millis(30),
            before_5_1: true,
            ..config()
        });
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        // The rate is known after 10,000 bytes, and the burst allowance ends after 100 ms.
        let mut pie = Pie::new(&params);
        for ms in [0, 33, 67, 100] {
            pie.on_dequeue(&params, Instant::from_millis(ms), Instant::ZERO, 3_334, 100_000);
            assert_eq!(pie.avg_dq_rate > 0, ms >= 67, "{ms}");
        }
        assert_eq!(pie.burst_time, ticks(Nanos::from_millis(33)));
        // A weight of 2 is 2/16 per second; below 1 % it is an eighth of that, however low the probability, below 10 % half.
        for (prob, divisor) in
            [(MAX_PROB / 5, 1.0), (MAX_PROB / 20, 2.0), (MAX_PROB / 200, 8.0), (MAX_PROB / 2_000_000, 8.0)]
        {
            // At 16 / 256 bytes per tick, 100,000 bytes take 102.4 ms.
            let mut pie = congested(prob, Nanos::from_micros(102_400));
            pie.avg_dq_rate = 16;
            pie.update(&params, 100_000, 1);
            let step = (pie.prob - prob) as f64 / MAX_PROB as f64;
            let ratio = step / (0.125 * 0.0824 / divisor);
            assert!((ratio - 1.0).abs() < 0.001, "{prob}: {ratio}");
        }
        // Unlike that of today the probability stops at 1, from which it falls by 2 % while nothing waits.
        let mut pie = congested(MAX_PROB, Nanos::from_millis(400));
        pie.avg_dq_rate = 16;
        pie.update(&params, 1_000_000, 100);
        assert_eq!(pie.prob, MAX_PROB);
        let mut pie = congested(MAX_PROB, Nanos::ZERO);
        pie.update_once(&params, 0);
        assert!(pie.prob <= MAX_PROB * 98 / 100);
        // Drops follow each other at once as often as chance has it: none of 0.85 of the mean distance.
        let mut pie = congested(MAX_PROB / 20, Nanos::from_millis(30));
        let dropped: Vec<bool> = (0..40_000).map(|_| pie.drop_early(&params, 100_000, 1500, &mut rng)).collect();
        let pairs = dropped.windows(2).filter(|pair| pair[0] && pair[1]).count();
        assert!((70..130).contains(&pairs), "{pairs} of 100");
    }

    #[test]
    fn skipping_calculations_that_change_nothing_changes_nothing() {
        for prob in [0, 1, MAX_PROB / 3, MAX_PROB] {
            for (delay, backlog) in [(0, 0), (0, 9000), (40, 9000), (400, 9000)] {
                for dq_rate_estimator in [false, true] {
                    let params = Params::from(Config { dq_rate_estimator, ..config() });
                    let mut every = congested(prob, Nanos::from_millis(delay));
                    let mut lazy = every;
                    for _ in 0..5000 {
                        every.update_once(&params, backlog);
                    }
                    lazy.update(&params, backlog, 5000);
                    assert_eq!(every, lazy);
                }
            }
        }
    }

    #[test]
    fn an_idle_queue_comes_to_rest() {
        let params = Params::from(config());
        let mut pie = congested(MAX_PROB, Nanos::ZERO);
        pie.update(&params, 0, 500);
        assert_eq!(pie, Pie::new(&params));
    }
}

//! RED's control law, shared by `red`, `ared`, `choke` and `redfavor` (Linux: `include/net/red.h`).
//!
//! Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance" (1993), in the kernel's fixed-point
//! arithmetic; the adaptation of `max_p` follows Floyd, Gummadi and Shenker, "Adaptive RED" (2001). The kernel's `Plog`
//! is left out: it only serves versions of `tc` from before 2011, which do not send `max_P`.

use crate::laws::red_params::{RedParams, STAB_SIZE};
use crate::plumbing::options::Options;
use crate::plumbing::packet::Packet;
use gentle_units::{Instant, Nanos};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// One percent of 2^32, rounded to the nearest (Linux: `RED_ONE_PERCENT`).
const ONE_PERCENT: u32 = 42_949_673;
/// Minimum of `max_p` for a decrease (Linux: `MAX_P_MIN`).
const MAX_P_MIN: u32 = ONE_PERCENT;
/// Maximum of `max_p` for an increase (Linux: `MAX_P_MAX`).
const MAX_P_MAX: u32 = 50 * ONE_PERCENT;
/// Period of the adaptation of `max_p` (Linux: `HZ/2`).
const ADAPT_INTERVAL: Nanos = Nanos::from_millis(500);

/// RED's decision on an arriving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Enqueue (Linux: `RED_DONT_MARK`).
    Pass,
    /// Mark or drop, chosen at random (Linux: `RED_PROB_MARK`).
    Prob,
    /// Mark or drop because the average is too high (Linux: `RED_HARD_MARK`).
    Hard,
}

/// Effect of an [`Action`] on a packet, which depends on ECN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The packet is to be enqueued.
    Enqueue,
    /// The packet has been marked and is to be enqueued.
    EnqueueMarked,
    /// The packet is to be dropped.
    Drop,
}

/// ECN options of a scheme with RED (Linux: `TC_RED_ECN`, `TC_RED_HARDDROP`, `TC_RED_NODROP`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct EcnPolicy {
    ecn: bool,
    harddrop: bool,
    nodrop: bool,
}

impl EcnPolicy {
    /// The policy of a scheme with the options of `red`.
    pub(crate) fn of_red(options: &Options) -> EcnPolicy {
        EcnPolicy { ecn: options.flag("ecn"), harddrop: options.flag("harddrop"), nodrop: options.flag("nodrop") }
    }

    /// The policy of a scheme that only has the option `ecn`.
    pub(crate) fn simple(ecn: bool) -> EcnPolicy {
        EcnPolicy { ecn, harddrop: false, nodrop: false }
    }

    /// Applies `action` to `packet` (Linux: the switch in `red_enqueue`).
    pub(crate) fn apply<P: Packet>(self, action: Action, packet: &mut P) -> Outcome {
        match action {
            Action::Pass => Outcome::Enqueue,
            Action::Hard if self.harddrop => Outcome::Drop,
            Action::Prob | Action::Hard => {
                if self.ecn && packet.mark() {
                    Outcome::EnqueueMarked
                } else if self.ecn && self.nodrop {
                    Outcome::Enqueue
                } else {
                    Outcome::Drop
                }
            }
        }
    }
}

/// State of RED: the average queue length and the spacing of random drops (Linux: `struct red_parms`, `struct
/// red_vars`).
#[derive(Debug, Clone)]
pub(crate) struct RedLaw {
    /// Thresholds with their binary point at `wlog`, like the average.
    min: u64,
    max: u64,
    /// Average from which every packet is dropped or marked: 2 `max` with `gentle`, else `max`.
    hard_mark_from: u64,
    wlog: u32,
    scell_log: u32,
    stab: [u8; STAB_SIZE],
    /// `max - min`, unscaled.
    delta: u32,
    max_p: u32,
    /// `max_p / delta`, the divisor of random numbers (Linux: `max_P_reciprocal`).
    slope: u32,
    adaptation: Option<Adaptation>,

    average: u64,
    idle_since: Option<Instant>,
    /// Packets since the last drop or mark; -1: the next packet draws a random number (Linux: `qcount`).
    count: i64,
    /// Random number in the scale of `(average - min) * count` (Linux: `qR`).
    threshold: u32,
    /// Random number as drawn, for averages above `max`, where the scale differs.
    drawn: u32,
    rng: Xoshiro256PlusPlus,
}

#[derive(Debug, Clone)]
struct Adaptation {
    next: Instant,
    /// Target range of the average, unscaled.
    target_min: u64,
    target_max: u64,
}

impl RedLaw {
    pub(crate) fn new(params: &RedParams, seed: u64) -> RedLaw {
        let delta = params.max - params.min;
        let max = u64::from(params.max) << params.wlog;
        let fifth = u64::from(delta / 5);
        RedLaw {
            min: u64::from(params.min) << params.wlog,
            max,
            hard_mark_from: if params.gentle { 2 * max } else { max },
            wlog: params.wlog,
            scell_log: params.scell_log,
            stab: params.stab,
            delta,
            max_p: params.max_p,
            slope: (params.max_p / delta).max(1),
            adaptation: params.adaptive.then(|| Adaptation {
                next: Instant::ZERO + ADAPT_INTERVAL,
                target_min: u64::from(params.min) + 2 * fifth,
                target_max: u64::from(params.min) + 3 * fifth,
            }),
            average: 0,
            idle_since: Some(Instant::ZERO),
            count: -1,
            threshold: 0,
            drawn: 0,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// Adds the queue length seen by an arriving packet to the average (Linux: `red_calc_qavg`).
    pub(crate) fn update_average(&mut self, now: Instant, backlog: u64) {
        if self.adaptation.is_some() {
            self.adapt_until(now);
        }
        self.average = match self.idle_since.take() {
            Some(since) => self.decayed(now.saturating_since(since)),
            None => self.average - (self.average >> self.wlog) + backlog,
        };
    }

    /// Records that the queue was empty on dequeue (Linux: `red_start_of_idle_period`).
    pub(crate) fn start_idle(&mut self, now: Instant) {
        if self.idle_since.is_none() {
            if self.adaptation.is_some() {
                self.adapt_until(now);
            }
            self.idle_since = Some(now);
        }
    }

    /// Decides on the arriving packet (Linux: `red_action`).
    pub(crate) fn decide(&mut self) -> Action {
        if self.average < self.min {
            self.reset_count();
            Action::Pass
        } else if self.average >= self.hard_mark_from {
            self.reset_count();
            Action::Hard
        } else if self.is_prob_marked() {
            Action::Prob
        } else {
            Action::Pass
        }
    }

    /// Decides for CHOKe, which compares with `<=` and `>` at the thresholds (Linux: `choke_enqueue`). Requires that
    /// the average [exceeds min](RedLaw::exceeds_min).
    pub(crate) fn decide_above_min(&mut self) -> Action {
        if self.average > self.hard_mark_from {
            self.reset_count();
            Action::Hard
        } else if self.is_prob_marked() {
            Action::Prob
        } else {
            Action::Pass
        }
    }

    /// True if the average is above the lower threshold.
    pub(crate) fn exceeds_min(&self) -> bool {
        self.average > self.min
    }

    /// Restarts the spacing of drops after the average has left the range of random drops.
    pub(crate) fn reset_count(&mut self) {
        self.count = -1;
    }

    /// An unbiased random number below `ceiling` (Linux: `__get_random_u32_below`).
    pub(crate) fn random_below(&mut self, ceiling: u32) -> u32 {
        let mut product = u64::from(ceiling) * u64::from(self.rng.next_u32());
        if (product as u32) < ceiling {
            let bound = ceiling.wrapping_neg() % ceiling;
            while (product as u32) < bound {
                product = u64::from(ceiling) * u64::from(self.rng.next_u32());
            }
        }
        (product >> 32) as u32
    }

    /// One random decision. The number of packets between two drops is uniformly distributed.
    fn is_prob_marked(&mut self) -> bool {
        self.count += 1;
        if self.count == 0 {
            self.draw();
            return false;
        }
        let marked = self.reaches_random();
        if marked {
            self.count = 0;
            self.draw();
        }
        marked
    }

    fn draw(&mut self) {
        self.drawn = self.rng.next_u32();
        self.threshold = self.drawn / self.slope;
    }

    /// True if `count` times the drop probability reaches the random number (Linux: `red_mark_probability`).
    fn reaches_random(&self) -> bool {
        let count = self.count as u64;
        if self.average <= self.max {
            let above_min = (self.average - self.min) >> self.wlog;
            return above_min.saturating_mul(count) >= u64::from(self.threshold);
        }
        let rest = u64::from(u32::MAX - self.max_p);
        let probability = u64::from(self.max_p) + rest * (self.average - self.max) / self.max;
        probability.saturating_mul(count) >= u64::from(self.drawn)
    }

    /// The average after the time `idle` (Linux: `red_calc_qavg_from_idle_time`).
    fn decayed(&self, idle: Nanos) -> u64 {
        let micros = idle.as_micros().min(255 << self.scell_log);
        match self.stab[(micros >> self.scell_log) as usize] {
            // The table is too coarse for short idle times, for which the decay is about linear.
            0 => {
                let fall = self.average.saturating_mul(micros) >> self.scell_log;
                let half = self.average >> 1;
                if fall < half { self.average - fall } else { half }
            }
            shift => self.average >> shift,
        }
    }

    fn adapt_until(&mut self, now: Instant) {
        let Some(adaptation) = &self.adaptation else {
            return;
        };
        let mut next = adaptation.next;
        while next <= now {
            let idle = self.idle_since.map(|since| next.saturating_since(since));
            let before = self.max_p;
            self.adapt(idle);
            next += ADAPT_INTERVAL;
            // The average is constant from here on, and max_p is at its fixed point: skip the remaining steps.
            let settled = idle.is_none_or(|idle| idle.as_micros() >= 255 << self.scell_log);
            if settled && self.max_p == before && next <= now {
                let skipped = (now - next).0 / ADAPT_INTERVAL.0 + 1;
                next += ADAPT_INTERVAL * skipped;
            }
        }
        if let Some(adaptation) = &mut self.adaptation {
            adaptation.next = next;
        }
    }

    /// One step of the adaptation (Linux: `red_adaptative_algo`).
    fn adapt(&mut self, idle: Option<Nanos>) {
        let Some(adaptation) = &self.adaptation else {
            return;
        };
        let average = idle.map_or(self.average, |idle| self.decayed(idle)) >> self.wlog;
        if average > adaptation.target_max && self.max_p <= MAX_P_MAX {
            self.max_p += ONE_PERCENT.min(self.max_p / 4);
        } else if average < adaptation.target_min && self.max_p >= MAX_P_MIN {
            self.max_p = self.max_p / 10 * 9;
        }
        let rounded = (u64::from(self.max_p) + u64::from(self.delta / 2)) / u64::from(self.delta);
        self.slope = (rounded as u32).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;

    fn law(text: &str, adaptive: bool) -> RedLaw {
        let spec: Spec = text.parse().unwrap();
        let params = RedParams::in_bytes(spec.options(), adaptive).unwrap();
        RedLaw::new(&params, 7)
    }

    /// With weight 1/8 and a constant queue of 8000 bytes, an average of 0 grows as 8000 (1 - (7/8)^n).
    #[test]
    fn average_is_exponential() {
        let mut law = law("red ewma=3", false);
        law.update_average(Instant::ZERO, 8000);
        for (n, expected) in [(1, 1000.0), (2, 1875.0), (3, 2640.6), (4, 3310.5)] {
            law.update_average(Instant(n), 8000);
            let average = law.average as f64 / 8.0;
            assert!((average - expected).abs() < 1.0, "{n}: {average}");
        }
    }

    /// Idle table of `red` with default options: cells of 8192 us; linear before the first shift, halved at cell 12.
    #[test]
    fn average_decays_while_idle() {
        let mut law = law("red", false);
        law.average = 80_000;
        law.idle_since = Some(Instant::ZERO);
        assert_eq!(law.decayed(Nanos::ZERO), 80_000);
        assert_eq!(law.decayed(Nanos::from_micros(819)), 80_000 - 7_998);
        assert_eq!(law.decayed(Nanos::from_micros(12 * 8192)), 40_000);
        assert_eq!(law.decayed(Nanos::from_secs(3600)), 0);
    }

    #[test]
    fn adaptation_keeps_max_p_within_floyds_bounds() {
        let mut law = law("red", true);
        law.idle_since = None;
        law.average = law.max;
        // Steps: a quarter of max_p at first (2 % + 0.5 %, + 0.625 %, …), one percent later.
        law.adapt_until(Instant::from_millis(500));
        assert_eq!(law.max_p, 85_899_345 + 85_899_345 / 4);
        law.adapt_until(Instant::from_secs(1000));
        assert!(law.max_p > MAX_P_MAX && law.max_p <= MAX_P_MAX + ONE_PERCENT);
        law.average = 0;
        law.adapt_until(Instant::from_millis(1_000_500));
        assert!(law.max_p <= (MAX_P_MAX + ONE_PERCENT) / 10 * 9);
        law.adapt_until(Instant::from_secs(10_000_000));
        assert!(law.max_p < MAX_P_MIN && law.max_p >= MAX_P_MIN / 10 * 9);
    }

    /// Skipped steps do not shift the time of the next one.
    #[test]
    fn catching_up_equals_a_timer_that_fired_in_time() {
        let mut late = law("red", true);
        late.average = late.max;
        let mut timely = late.clone();
        let end = 100_000;
        for step in 1..=end {
            timely.adapt_until(Instant::ZERO + ADAPT_INTERVAL * step);
        }
        late.adapt_until(Instant::ZERO + ADAPT_INTERVAL * end + Nanos(1));
        assert_eq!(late.max_p, timely.max_p);
        let next = |law: &RedLaw| law.adaptation.as_ref().map(|a| a.next);
        assert_eq!(next(&late), next(&timely));
    }

    /// Floyd and Jacobson's method 2: with drop probability p the distance between two drops is uniform on 1 to 1/p.
    #[test]
    fn distances_between_drops_are_uniform() {
        let mut law = law("red probability=0.1", false);
        law.average = (law.min + law.max) / 2;
        let mut distances = vec![0u32; 64];
        let mut since = 0;
        for _ in 0..400_000 {
            since += 1;
            if law.decide() == Action::Prob {
                distances[since] += 1;
                since = 0;
            }
        }
        // p is half of max_p: distances of 1 to 20, and 21 by rounding.
        let drops: u32 = distances.iter().sum();
        assert_eq!(distances[22..].iter().sum::<u32>(), 0);
        for (distance, &n) in distances.iter().enumerate().take(20).skip(2) {
            let share = f64::from(n) / f64::from(drops);
            assert!((share - 0.05).abs() < 0.005, "{distance}: {share}");
        }
    }

    #[test]
    fn gentle_rises_from_max_p_to_one() {
        let mut law = law("red gentle probability=0.1", false);
        let share_at = |law: &mut RedLaw, average: u64| {
            law.average = average;
            let n = 100_000;
            let hits = (0..n).filter(|_| law.decide() != Action::Pass).count();
            hits as f64 / f64::from(n)
        };
        // With uniform spacing the mean distance is (1 + 1/p) / 2.
        for (average, p) in [(law.max + 8, 0.1), (law.max / 2 * 3, 0.55)] {
            let share = share_at(&mut law, average);
            let expected = 2.0 / (1.0 + 1.0 / p);
            assert!((share - expected).abs() < 0.08, "{share} {expected}");
        }
        let hard_mark_from = law.hard_mark_from;
        assert_eq!(share_at(&mut law, hard_mark_from), 1.0);
    }
}

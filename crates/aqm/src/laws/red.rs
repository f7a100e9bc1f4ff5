//! The law of RED that `red`, `ared`, `choke` and `redfavor` share (Linux: `include/net/red.h`).
//!
//! Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance" (1993), in the kernel's fixed-point
//! arithmetic; the adaptation of `max_p` is that of Floyd, Gummadi and Shenker, "Adaptive RED" (2001). The kernel's
//! `Plog` does not appear: it only serves a `tc` that does not send `max_P`, as none has done since 2011.

use crate::laws::red_params::{RedParams, STAB_SIZE};
use crate::plumbing::options::Options;
use crate::plumbing::packet::Packet;
use gentle_units::Nanos;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// One percent of 2^32, rounded to the nearest (Linux: `RED_ONE_PERCENT`).
const ONE_PERCENT: u32 = 42_949_673;
/// `max_p` is decreased from here upwards only (Linux: `MAX_P_MIN`).
const MAX_P_MIN: u32 = ONE_PERCENT;
/// `max_p` is increased up to here only (Linux: `MAX_P_MAX`).
const MAX_P_MAX: u32 = 50 * ONE_PERCENT;
/// How often `max_p` is adapted (Linux: `HZ/2`).
const ADAPT_INTERVAL: Nanos = Nanos::from_millis(500);

/// What RED wants done with an arriving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Queue it.
    Pass,
    /// Mark or drop it: chosen at random.
    Probable,
    /// Mark or drop it: the average is too high.
    Forced,
}

/// What happens to a packet on which RED has decided: the part that ECN plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Queue it as it is.
    Queue,
    /// It has been marked; queue it.
    Marked,
    /// Drop it.
    Drop,
}

/// How a verdict is told to the sender.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Marking {
    ecn: bool,
    harddrop: bool,
    nodrop: bool,
}

impl Marking {
    /// For schemes with the options of `red`.
    pub(crate) fn of_red(options: &Options) -> Marking {
        Marking {
            ecn: options.flag("ecn"),
            harddrop: options.flag("harddrop"),
            nodrop: options.flag("nodrop"),
        }
    }

    /// For schemes that only have `ecn`.
    pub(crate) fn simple(ecn: bool) -> Marking {
        Marking {
            ecn,
            harddrop: false,
            nodrop: false,
        }
    }

    /// Applies `verdict` to `packet` (Linux: the switch in `red_enqueue`).
    pub(crate) fn apply<P: Packet>(self, verdict: Verdict, packet: &mut P) -> Fate {
        match verdict {
            Verdict::Pass => Fate::Queue,
            Verdict::Forced if self.harddrop => Fate::Drop,
            Verdict::Probable | Verdict::Forced => {
                if self.ecn && packet.mark() {
                    Fate::Marked
                } else if self.ecn && self.nodrop {
                    Fate::Queue
                } else {
                    Fate::Drop
                }
            }
        }
    }
}

/// The average queue and the random decisions made on it.
#[derive(Debug, Clone)]
pub(crate) struct RedLaw {
    /// Thresholds with their binary point at `wlog`, like the average.
    min: u64,
    max: u64,
    /// Average from which a gentle RED drops everything; equals `max` in one that is not.
    all: u64,
    wlog: u32,
    scell_log: u32,
    stab: [u8; STAB_SIZE],
    /// `max - min`, unscaled.
    delta: u32,
    max_p: u32,
    /// Random numbers are divided by it: `max_p / delta`.
    slope: u32,
    adaptation: Option<Adaptation>,

    average: u64,
    idle_since: Option<Nanos>,
    /// Packets since the last marked one; -1: the next one draws a random number.
    count: i64,
    /// The random number in the scale of `(average - min) * count`.
    threshold: u32,
    /// The random number as drawn, for the gentle part, where the scale is another.
    drawn: u32,
    rng: Xoshiro256PlusPlus,
}

#[derive(Debug, Clone)]
struct Adaptation {
    next: Nanos,
    /// The average that is aimed at, unscaled.
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
            all: if params.gentle { 2 * max } else { max },
            wlog: params.wlog,
            scell_log: params.scell_log,
            stab: params.stab,
            delta,
            max_p: params.max_p,
            slope: (params.max_p / delta).max(1),
            adaptation: params.adaptive.then(|| Adaptation {
                next: ADAPT_INTERVAL,
                target_min: u64::from(params.min) + 2 * fifth,
                target_max: u64::from(params.min) + 3 * fifth,
            }),
            average: 0,
            idle_since: Some(Nanos::ZERO),
            count: -1,
            threshold: 0,
            drawn: 0,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// Takes the queue length seen by an arriving packet into the average (Linux: `red_calc_qavg`).
    pub(crate) fn observe(&mut self, now: Nanos, backlog: u64) {
        if self.adaptation.is_some() {
            self.adapt_until(now);
        }
        self.average = match self.idle_since.take() {
            Some(since) => self.decayed(now.saturating_sub(since)),
            None => self.average - (self.average >> self.wlog) + backlog,
        };
    }

    /// Tells that a packet was asked for and there was none.
    pub(crate) fn idle(&mut self, now: Nanos) {
        if self.idle_since.is_none() {
            if self.adaptation.is_some() {
                self.adapt_until(now);
            }
            self.idle_since = Some(now);
        }
    }

    /// Decides on the arriving packet (Linux: `red_action`).
    pub(crate) fn decide(&mut self) -> Verdict {
        if self.average < self.min {
            self.forget();
            Verdict::Pass
        } else if self.average >= self.all {
            self.forget();
            Verdict::Forced
        } else if self.throw() {
            Verdict::Probable
        } else {
            Verdict::Pass
        }
    }

    /// Decides for CHOKe, whose comparisons at the thresholds include the other end (Linux: `choke_enqueue`). Asked
    /// only where the average [exceeds min](RedLaw::exceeds_min).
    pub(crate) fn decide_above_min(&mut self) -> Verdict {
        if self.average > self.all {
            self.forget();
            Verdict::Forced
        } else if self.throw() {
            Verdict::Probable
        } else {
            Verdict::Pass
        }
    }

    /// Whether the average is above the lower threshold.
    pub(crate) fn exceeds_min(&self) -> bool {
        self.average > self.min
    }

    /// Starts the spacing of drops anew: the average has left the range where they are random.
    pub(crate) fn forget(&mut self) {
        self.count = -1;
    }

    /// A random number below `ceiling`, without bias (Linux: `__get_random_u32_below`).
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

    /// One random decision; the numbers of packets between two drops come out uniformly distributed.
    fn throw(&mut self) -> bool {
        self.count += 1;
        if self.count == 0 {
            self.draw();
            return false;
        }
        let hit = self.hits();
        if hit {
            self.count = 0;
            self.draw();
        }
        hit
    }

    fn draw(&mut self) {
        self.drawn = self.rng.next_u32();
        self.threshold = self.drawn / self.slope;
    }

    /// Whether `count` times the drop probability reaches the random number (Linux: `red_mark_probability`).
    fn hits(&self) -> bool {
        let count = self.count as u64;
        if self.average <= self.max {
            let above_min = (self.average - self.min) >> self.wlog;
            return above_min.saturating_mul(count) >= u64::from(self.threshold);
        }
        let rest = u64::from(u32::MAX - self.max_p);
        let probability = u64::from(self.max_p) + rest * (self.average - self.max) / self.max;
        probability.saturating_mul(count) >= u64::from(self.drawn)
    }

    /// The average after an idle time (Linux: `red_calc_qavg_from_idle_time`).
    fn decayed(&self, idle: Nanos) -> u64 {
        let micros = idle.as_micros().min(255 << self.scell_log);
        match self.stab[(micros >> self.scell_log) as usize] {
            // The table is too coarse for the beginning, which is close to linear.
            0 => {
                let fall = self.average.saturating_mul(micros) >> self.scell_log;
                let half = self.average >> 1;
                if fall < half {
                    self.average - fall
                } else {
                    half
                }
            }
            shift => self.average >> shift,
        }
    }

    fn adapt_until(&mut self, now: Nanos) {
        let Some(adaptation) = &self.adaptation else {
            return;
        };
        let mut next = adaptation.next;
        while next <= now {
            let idle = self.idle_since.map(|since| next.saturating_sub(since));
            let before = self.max_p;
            self.adapt(idle);
            next += ADAPT_INTERVAL;
            // From here on nothing moves any more: the average stands still, and max_p stood still under it.
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

    /// With weight 1/8 a constant queue of 8000 bytes fills an average of 0 as 8000 (1 - (7/8)^n).
    #[test]
    fn average_is_exponential() {
        let mut law = law("red ewma=3", false);
        law.observe(Nanos::ZERO, 8000);
        for (n, expected) in [(1, 1000.0), (2, 1875.0), (3, 2640.6), (4, 3310.5)] {
            law.observe(Nanos(n), 8000);
            let average = law.average as f64 / 8.0;
            assert!((average - expected).abs() < 1.0, "{n}: {average}");
        }
    }

    /// The table of `red` at its defaults: cells of 8192 us; linear before the first shift, halved at cell 12.
    #[test]
    fn average_decays_while_idle() {
        let mut law = law("red", false);
        law.average = 80_000;
        law.idle_since = Some(Nanos::ZERO);
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
        // 2 % + 0.5 %, + 0.625 %, ...: a quarter at first, one percent later.
        law.adapt_until(Nanos::from_millis(500));
        assert_eq!(law.max_p, 85_899_345 + 85_899_345 / 4);
        law.adapt_until(Nanos::from_secs(1000));
        assert!(law.max_p > MAX_P_MAX && law.max_p <= MAX_P_MAX + ONE_PERCENT);
        law.average = 0;
        law.adapt_until(Nanos::from_millis(1_000_500));
        assert!(law.max_p <= (MAX_P_MAX + ONE_PERCENT) / 10 * 9);
        law.adapt_until(Nanos::from_secs(10_000_000));
        assert!(law.max_p < MAX_P_MIN && law.max_p >= MAX_P_MIN / 10 * 9);
    }

    /// Skipping the steps that change nothing must not change when the next one comes.
    #[test]
    fn catching_up_equals_a_timer_that_fired_in_time() {
        let mut late = law("red", true);
        late.average = late.max;
        let mut timely = late.clone();
        let end = 100_000;
        for step in 1..=end {
            timely.adapt_until(ADAPT_INTERVAL * step);
        }
        late.adapt_until(ADAPT_INTERVAL * end + Nanos(1));
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
            if law.decide() == Verdict::Probable {
                distances[since] += 1;
                since = 0;
            }
        }
        // p is half of max_p: 1 to 20, and one more for the rounding at the ends.
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
            let hits = (0..n).filter(|_| law.decide() != Verdict::Pass).count();
            hits as f64 / f64::from(n)
        };
        // Spacing makes the mean distance (1 + 1/p) / 2.
        for (average, p) in [(law.max + 8, 0.1), (law.max / 2 * 3, 0.55)] {
            let share = share_at(&mut law, average);
            let expected = 2.0 / (1.0 + 1.0 / p);
            assert!((share - expected).abs() < 0.08, "{share} {expected}");
        }
        let all = law.all;
        assert_eq!(share_at(&mut law, all), 1.0);
    }
}

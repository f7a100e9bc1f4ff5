//! Random choices of a case, which can be repeated and made smaller.
//!
//! A case draws every choice from [`Draw`], as a number below a limit; 0 is the simplest choice. The list of numbers
//! therefore describes the case, and a shorter list or smaller numbers describe a simpler case.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::time::Instant;

/// Source of choices.
pub struct Draw {
    /// Choices to repeat. Those after the end are random, or 0 without a generator.
    given: Vec<u64>,
    made: Vec<u64>,
    random: Option<Xoshiro256PlusPlus>,
}

impl Draw {
    /// Random choices of a seed.
    pub fn of_seed(seed: u64) -> Draw {
        Draw { given: Vec::new(), made: Vec::new(), random: Some(Xoshiro256PlusPlus::seed_from_u64(seed)) }
    }

    /// Given choices, then the simplest.
    pub fn repeating(choices: &[u64]) -> Draw {
        Draw { given: choices.to_vec(), made: Vec::new(), random: None }
    }

    /// Choices made so far.
    pub fn made(&self) -> &[u64] {
        &self.made
    }

    /// A number below `limit`, which is at least 1.
    pub fn below(&mut self, limit: u64) -> u64 {
        let choice = match (self.given.get(self.made.len()), &mut self.random) {
            (Some(given), _) => (*given).min(limit - 1),
            (None, Some(random)) => random.random_range(0..limit),
            (None, None) => 0,
        };
        self.made.push(choice);
        choice
    }

    /// A number from `low` to `high`.
    pub fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.below((high - low).saturating_add(1))
    }

    /// True in `percent` of a hundred cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) >= 100 - percent
    }

    /// One of several; the first is the simplest.
    pub fn pick<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len() as u64) as usize]
    }

    /// A whole number whose logarithm is uniformly distributed, with three significant digits.
    pub fn magnitude(&mut self, low: u64, high: u64) -> u64 {
        const STEPS: u64 = 300;
        let step = self.below(STEPS + 1) as f64 / STEPS as f64;
        let (from, to) = (low.max(1) as f64, high.max(1) as f64);
        let value = from * libm::pow(to / from, step);
        let unit = libm::exp10(libm::log10(value).floor() - 2.0).max(1.0);
        (((value / unit).round() * unit) as u64).clamp(low, high)
    }
}

/// Makes a list of choices simpler as long as the case still `fails`, which returns the choices that it made. Returns
/// the simplest list that it found by `deadline`.
pub fn simplest(mut best: Vec<u64>, deadline: Instant, mut fails: impl FnMut(&mut Draw) -> bool) -> Vec<u64> {
    let mut simpler = |candidate: &[u64], best: &mut Vec<u64>| {
        if Instant::now() >= deadline {
            return false;
        }
        let mut draw = Draw::repeating(candidate);
        let better = fails(&mut draw) && (draw.made.len(), &draw.made) < (best.len(), &*best);
        if better {
            *best = draw.made;
        }
        better
    };
    loop {
        let mut improved = false;
        let mut length = best.len();
        while length > 0 {
            let mut start = 0;
            while start < best.len() {
                let mut candidate = best.clone();
                candidate.drain(start..(start + length).min(best.len()));
                if simpler(&candidate, &mut best) {
                    improved = true;
                } else {
                    start += length;
                }
            }
            length /= 2;
        }
        let mut place = 0;
        while place < best.len() {
            for smaller in [0, best[place] / 2, best[place].saturating_sub(1)] {
                let mut candidate = best.clone();
                if smaller < candidate[place] {
                    candidate[place] = smaller;
                    if simpler(&candidate, &mut best) {
                        improved = true;
                        break;
                    }
                }
            }
            place += 1;
        }
        if !improved || Instant::now() >= deadline {
            return best;
        }
    }
}

#[test]
fn the_simplest_case_is_found() {
    let case = |draw: &mut Draw| (0..9).filter(|_| draw.below(1000) > 100).count() >= 2;
    let mut draw = Draw::of_seed(1);
    assert!(case(&mut draw));
    let deadline = Instant::now() + std::time::Duration::from_secs(60);
    let found = simplest(draw.made, deadline, case);
    assert_eq!(found, [101, 101, 0, 0, 0, 0, 0, 0, 0]);
}

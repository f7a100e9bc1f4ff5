//! Maximum over a sliding window, from three samples (K. Nichols' algorithm; `lib/win_minmax.c`).

#[derive(Debug, Clone, Copy, Default)]
struct Sample {
    at: u32,
    value: u32,
}

/// Maximum of the values of the last `window` units of time. Exact while values rise or the window ends with a best
/// sample; else the second or third best of recent quarters and halves of the window.
#[derive(Debug, Clone, Default)]
pub(super) struct WindowedMax {
    /// Best, second best and third best, each younger than the one before.
    best: [Sample; 3],
}

impl WindowedMax {
    pub(super) fn get(&self) -> u32 {
        self.best[0].value
    }

    /// Adds `value`, seen at `at`.
    pub(super) fn add(&mut self, window: u32, at: u32, value: u32) {
        let new = Sample { at, value };
        let [first, _, third] = self.best;
        if value >= first.value || at.wrapping_sub(third.at) > window {
            self.best = [new; 3];
            return;
        }
        if value >= self.best[1].value {
            self.best[1] = new;
            self.best[2] = new;
        } else if value >= self.best[2].value {
            self.best[2] = new;
        }
        self.expire(window, new);
    }

    /// Drops the best samples that have left the window, and renews the others as it passes.
    fn expire(&mut self, window: u32, new: Sample) {
        let [first, second, third] = self.best;
        let age = new.at.wrapping_sub(first.at);
        if age > window {
            self.best = [second, third, new];
            if new.at.wrapping_sub(second.at) > window {
                self.best = [third, new, new];
            }
        } else if second.at == first.at && age > window / 4 {
            self.best[1] = new;
            self.best[2] = new;
        } else if third.at == second.at && age > window / 2 {
            self.best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_peak_is_forgotten_after_the_window() {
        let mut max = WindowedMax::default();
        max.add(10, 0, 100);
        for at in 1..=10 {
            max.add(10, at, 50);
            assert_eq!(max.get(), 100, "{at}");
        }
        max.add(10, 11, 50);
        assert_eq!(max.get(), 50);
    }

    proptest! {
        /// Never above the true maximum of the window, never below the newest value.
        #[test]
        fn the_estimate_is_a_value_of_the_window(values in prop::collection::vec(1u32..1000, 1..200)) {
            let mut max = WindowedMax::default();
            for (at, &value) in values.iter().enumerate() {
                max.add(10, at as u32, value);
                let window = &values[at.saturating_sub(10)..=at];
                prop_assert!(window.contains(&max.get()));
                prop_assert!(max.get() >= value);
            }
        }
    }
}

//! Loss-based controller of the sender (section 6).

/// Loss below which the rate grows, and above which it falls.
const LOW: f64 = 0.02;
const HIGH: f64 = 0.1;
/// Growth per report.
const INCREASE: f64 = 1.05;

/// Rate of a sender: the smaller one of what losses and what the receiver's estimate permit.
#[derive(Debug)]
pub(in crate::application) struct LossBased {
    rate: f64,
    range: (f64, f64),
}

impl LossBased {
    /// Rates are in bits per second; `range` has the lowest and the highest.
    pub(in crate::application) fn new(start: f64, range: (f64, f64)) -> LossBased {
        LossBased { rate: start, range }
    }

    pub(in crate::application) fn rate(&self) -> f64 {
        self.rate
    }

    /// Takes the receiver's estimate, and the fraction of packets lost in 1/256 if it was reported.
    pub(in crate::application) fn on_report(&mut self, estimate: f64, loss: Option<u8>) {
        if let Some(loss) = loss {
            let lost = f64::from(loss) / 256.0;
            if lost > HIGH {
                self.rate *= 1.0 - 0.5 * lost;
            } else if lost < LOW {
                self.rate *= INCREASE;
            }
        }
        let (least, most) = self.range;
        self.rate = self.rate.min(estimate).min(most).max(least);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_falls_with_much_loss_grows_without_and_keeps_to_the_estimate() {
        let mut control = LossBased::new(1e6, (1e5, 2e6));
        control.on_report(1e9, Some(51));
        assert!((control.rate() - 1e6 * (1.0 - 0.5 * 51.0 / 256.0)).abs() < 1.0);
        let lower = control.rate();
        control.on_report(1e9, Some(13));
        assert_eq!(control.rate(), lower);
        control.on_report(1e9, None);
        assert_eq!(control.rate(), lower);
        control.on_report(1e9, Some(0));
        assert!((control.rate() - 1.05 * lower).abs() < 1.0);
        control.on_report(3e5, Some(0));
        assert_eq!(control.rate(), 3e5);
        control.on_report(0.0, None);
        assert_eq!(control.rate(), 1e5);
        for _ in 0..100 {
            control.on_report(1e9, Some(0));
        }
        assert_eq!(control.rate(), 2e6);
    }
}

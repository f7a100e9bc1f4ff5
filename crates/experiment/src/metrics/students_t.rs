//! Student's t distribution with a whole number of degrees of freedom, by sums of elementary terms, which are the same on
//! every machine: M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions", 26.7.3 and 26.7.4.

use std::f64::consts::FRAC_2_PI;

/// P(|T| ≤ `t`) for `freedom` degrees of freedom, at least 1, and `t` of at least 0; the absolute error is some 10^−16.
pub(super) fn within(freedom: usize, t: f64) -> f64 {
    let n = freedom as f64;
    let hypotenuse = (n + t * t).sqrt();
    let (sine, cosine) = (t / hypotenuse, n.sqrt() / hypotenuse);
    let is_odd = freedom % 2 == 1;
    let mut term = if is_odd { cosine } else { 1.0 };
    let mut sum = 0.0;
    for power in (freedom % 2..freedom - 1).step_by(2) {
        sum += term;
        let power = power as f64;
        term *= cosine * cosine * (power + 1.0) / (power + 2.0);
    }
    let within = match is_odd {
        true => FRAC_2_PI * (libm::atan2(t, n.sqrt()) + sine * sum),
        false => sine * sum,
    };
    within.min(1.0)
}

/// The `t` for which P(|T| ≤ `t`) is `probability`, from 0 to 0.9999.
pub(super) fn quantile(freedom: usize, probability: f64) -> f64 {
    // The largest quantile is that of one degree of freedom: 6,366 for 0.9999.
    let (mut low, mut high) = (0.0, 8_192.0);
    loop {
        let middle = (low + high) / 2.0;
        if middle == low || middle == high {
            return middle;
        }
        match within(freedom, middle) < probability {
            true => low = middle,
            false => high = middle,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values: `scipy.stats.t(n).ppf(0.975)` and `1 - 2 * scipy.stats.t(n).sf(t)` of SciPy 1.17.1.
    #[test]
    fn values_are_those_of_scipy() {
        for (freedom, expected) in QUANTILES {
            let found = quantile(freedom, 0.95);
            assert!((found / expected - 1.0).abs() < 1e-12, "{freedom}: {found}");
        }
        for (freedom, t, expected) in WITHIN {
            let found = within(freedom, t);
            assert!((found - expected).abs() < 1e-14, "{freedom} {t}: {found}");
        }
    }

    const QUANTILES: [(usize, f64); 6] = [
        (1, 12.706_204_736_174_694),
        (2, 4.302_652_729_749_462),
        (3, 3.182_446_305_283_707_8),
        (4, 2.776_445_105_197_793_4),
        (29, 2.045_229_642_132_703),
        (1_000, 1.962_339_080_826_408_3),
    ];
    const WITHIN: [(usize, f64, f64); 5] = [
        (1, 1.0, 0.499_999_999_999_999_9),
        (2, 0.5, 0.333_333_333_333_333_26),
        (4, 2.5, 0.933_233_455_188_011_8),
        (7, 10.0, 0.999_978_605_797_109_2),
        (120, 1.3, 0.803_907_522_240_913_7),
    ];
}

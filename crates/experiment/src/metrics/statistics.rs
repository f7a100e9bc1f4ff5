//! Means, ratios, confidence intervals and tests over seeds.
//!
//! Means of response times are skewed: most seeds are alike, and a few have a burst of losses. Student's t then covers
//! less than it says, so that the distribution of the statistic is widened here; see [`Widened`].

use super::students_t;
use crate::results::Mean;

/// Skewness of the means of runs, as far as it is allowed for: that of an exponential distribution. Mean response times in 120
/// runs of `real` over 100 s have a skewness of up to 1.5, differences of two schemes of up to 1.8; over 1,000 s, where a backlog
/// can last, of 2 to 4. `docs/concepts/statistics.md` has the coverage that follows.
const SKEWNESS: f64 = 2.0;

/// Factor by which the quantiles of Student's t have to grow for the mean of `n` values with [`SKEWNESS`], so that a two-sided
/// interval of 95 % covers 95 %: to the second order of the Edgeworth expansion of the t statistic (P. Hall, "The Bootstrap and
/// Edgeworth Expansion", 1992, section 2.6), in which P(|t| ≤ z) falls by z φ(z) (z⁴ + 2z² − 3) γ² / 9n.
fn widening(n: usize) -> f64 {
    const Z: f64 = 1.959_964;
    const Z2: f64 = Z * Z;
    1.0 + SKEWNESS * SKEWNESS * (Z2 * Z2 + 2.0 * Z2 - 3.0) / (18.0 * n as f64)
}

/// Distribution of the mean of a few skewed values, divided by its standard error: Student's t times [`widening`].
struct Widened {
    freedom: usize,
    widening: f64,
}

impl Widened {
    /// Distribution for `n` values, at least two.
    fn of(n: usize) -> Widened {
        Widened { freedom: n - 1, widening: widening(n) }
    }

    /// Half-width of the 95 % confidence interval of a mean with this standard error.
    fn ci95(&self, error: f64) -> f64 {
        self.half_width(0.95) * error
    }

    /// Half-width of a confidence interval in standard errors of the mean.
    fn half_width(&self, confidence: f64) -> f64 {
        self.widening * students_t::quantile(self.freedom, confidence)
    }

    /// Two-sided p-value of a mean that is `ratio` standard errors away from zero.
    fn p(&self, ratio: f64) -> f64 {
        1.0 - students_t::within(self.freedom, ratio.abs() / self.widening)
    }
}

/// Mean and standard error of the mean; the error is `None` for a single value.
fn mean_and_error(values: &[f64]) -> Option<(f64, Option<f64>)> {
    let n = values.len() as f64;
    if values.is_empty() {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n;
    let error = (values.len() >= 2).then(|| {
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0);
        (variance / n).sqrt()
    });
    Some((mean, error))
}

/// Mean with the half-width of its 95 % confidence interval.
pub(crate) fn mean_of(values: impl Iterator<Item = f64>) -> Mean {
    let values: Vec<f64> = values.collect();
    let Some((mean, error)) = mean_and_error(&values) else {
        return Mean::default();
    };
    Mean { mean: Some(mean), ci95: error.map(|error| Widened::of(values.len()).ci95(error)) }
}

/// Half-width of the confidence interval of a mean of `n` values, at least two, in standard deviations of a value.
pub(crate) fn half_width(n: usize, confidence: f64) -> f64 {
    Widened::of(n).half_width(confidence) / (n as f64).sqrt()
}

/// Ratio of the mean of `a` to that of `b` over the seeds for which both have a value, with the half-width of its 95 %
/// confidence interval: the interval of the mean of `a` − ratio × `b`, in units of the mean of `b` (Fieller's problem,
/// linearised). Empty if the mean of `b` is zero or there is no such seed.
pub(crate) fn ratio(a: &[Option<f64>], b: &[Option<f64>]) -> Mean {
    let pairs = a.iter().zip(b).filter_map(|(a, b)| Some(((*a)?, (*b)?)));
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.unzip();
    let (Some((over, _)), Some((under, _))) = (mean_and_error(&a), mean_and_error(&b)) else {
        return Mean::default();
    };
    if under == 0.0 {
        return Mean::default();
    }
    let ratio = over / under;
    let rest = a.iter().zip(&b).map(|(a, b)| (a - ratio * b) / under);
    Mean { mean: Some(ratio), ci95: mean_of(rest).ci95 }
}

/// Result of a paired test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Test {
    /// Mean of the differences.
    pub(crate) mean: f64,
    /// Half-width of the 95 % confidence interval of the mean, and the two-sided p-value; `None` for fewer than two
    /// differences and for differences without variance.
    pub(crate) ci95_and_p: Option<(f64, f64)>,
}

/// Tests the differences `a` − `b` of the seeds for which both have a value; `None` if there is no such seed.
pub(crate) fn paired(a: &[Option<f64>], b: &[Option<f64>]) -> Option<Test> {
    let pairs = a.iter().zip(b);
    let differences: Vec<f64> = pairs.filter_map(|(a, b)| Some((*a)? - (*b)?)).collect();
    let (mean, error) = mean_and_error(&differences)?;
    let varied = differences.windows(2).any(|pair| pair[0] != pair[1]);
    let ci95_and_p = error.filter(|_| varied).map(|error| {
        let distribution = Widened::of(differences.len());
        (distribution.ci95(error), distribution.p(mean / error))
    });
    Some(Test { mean, ci95_and_p })
}

/// Tests how much `a` differs from `b`, as a fraction: the logarithms of the ratios of the seeds, or the differences in units
/// of the larger mean if a value is not positive, as where nothing is lost. `None` if there is no seed with both values.
pub(crate) fn relative(a: &[Option<f64>], b: &[Option<f64>]) -> Option<Test> {
    let pairs: Vec<(f64, f64)> = (a.iter().zip(b)).filter_map(|(a, b)| Some(((*a)?, (*b)?))).collect();
    let apply = |change: &dyn Fn(f64) -> f64| -> Option<Test> {
        let changed = |pick: fn(&(f64, f64)) -> f64| -> Vec<Option<f64>> {
            pairs.iter().map(|pair| Some(change(pick(pair)))).collect()
        };
        paired(&changed(|pair| pair.0), &changed(|pair| pair.1))
    };
    if pairs.iter().all(|(a, b)| *a > 0.0 && *b > 0.0) {
        return apply(&|value| libm::log(value));
    }
    let sums = pairs.iter().fold((0.0, 0.0), |sums, pair| (sums.0 + pair.0, sums.1 + pair.1));
    let larger = f64::max(sums.0.abs(), sums.1.abs()) / pairs.len() as f64;
    apply(&|value| if larger > 0.0 { value / larger } else { value })
}

/// Adjusts the p-values of a family of tests by Holm's method: rejecting all below a level controls the family-wise
/// error rate at that level (S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal
/// of Statistics 6, 1979, 65–70). The method permits dependent tests, such as those against one reference.
pub(crate) fn holm(p_values: &[f64]) -> Vec<f64> {
    let family = p_values.len();
    let mut order: Vec<usize> = (0..family).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = vec![0.0; family];
    let mut least: f64 = 0.0;
    for (rank, index) in order.into_iter().enumerate() {
        least = least.max((p_values[index] * (family - rank) as f64).min(1.0));
        adjusted[index] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_interval_is_that_of_students_t_widened() {
        let m = mean_of([1.0, 2.0, 3.0, 4.0, 5.0].into_iter());
        assert_eq!(m.mean, Some(3.0));
        // t(0.975, 4) = 2.776445 (any table); s = sqrt(2.5).
        let expected = widening(5) * 2.776_445 * (2.5_f64 / 5.0).sqrt();
        assert!((m.ci95.unwrap() - expected).abs() < 1e-5);
        assert_eq!(mean_of([7.0].into_iter()).ci95, None);
        assert_eq!(mean_of(std::iter::empty()), Mean::default());
    }

    /// Expected values: `r = scipy.stats.ttest_rel(a, b)` of SciPy 1.17.1, the mean of a − b, half of
    /// `r.confidence_interval(0.95)`, and `r.pvalue`. Ours are widened.
    #[test]
    fn paired_tests_are_those_of_scipy_widened() {
        let b = [0.421, 0.377, 0.433, 0.452, 0.398];
        let cases: [(&[f64], &[f64], [f64; 3]); 3] = [
            (&[0.913, 0.874, 1.021, 0.955, 0.899], &b, [0.516_2, 0.050_110_027_053_473_64, 8.893_860_482_511_343e-6]),
            (&b, &[0.418, 0.381, 0.431, 0.449, 0.402], [0.0, 0.004_562_164_841_374_91, 1.0]),
            (
                &[1.0, 2.5, 2.0],
                &[0.5, 2.6, 1.1],
                [0.433_333_333_333_333_3, 1.250_321_895_875_155_4, 0.274_410_756_158_268_27],
            ),
        ];
        for (a, b, [mean, ci95, p]) in cases {
            let known = |list: &[f64]| list.iter().copied().map(Some).collect::<Vec<_>>();
            let test = paired(&known(a), &known(b)).unwrap();
            let wider = widening(a.len());
            let ci95 = wider * ci95;
            let freedom = a.len() - 1;
            let p = 1.0 - students_t::within(freedom, students_t::quantile(freedom, 1.0 - p) / wider);
            let (found_ci95, found_p) = test.ci95_and_p.unwrap();
            for (found, expected) in [(test.mean, mean), (found_ci95, ci95), (found_p, p)] {
                assert!((found - expected).abs() < 1e-8 * expected.max(1e-3), "{found} {expected}");
            }
        }
    }

    /// Expected values: `statsmodels.stats.multitest.multipletests(p, method="holm")[1]` of statsmodels 0.15.0.
    #[test]
    fn holm_is_that_of_statsmodels() {
        let adjusted = holm(&[0.012, 0.0004, 0.3, 0.04, 0.0011, 0.04]);
        let expected = [0.048, 0.0024, 0.3, 0.12, 0.0055, 0.12];
        for (found, expected) in adjusted.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm(&[0.6, 0.9]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn a_ratio_of_means_has_the_interval_of_its_pairs() {
        let known = |list: &[f64]| list.iter().copied().map(Some).collect::<Vec<_>>();
        let (a, b) = (known(&[8.0, 9.0, 10.0, 11.0, 12.0]), known(&[2.0, 2.25, 2.5, 2.75, 3.0]));
        // Four times as much in every seed, though the seeds differ.
        let Mean { mean, ci95 } = ratio(&a, &b);
        assert_eq!(mean, Some(4.0));
        assert!(ci95.unwrap() < 1e-9, "{ci95:?}");
        let twice = ratio(&known(&[2.0, 4.0]), &known(&[1.0, 1.0]));
        assert_eq!((twice.mean, twice.ci95), (Some(3.0), mean_of([2.0, 4.0].into_iter()).ci95));
        assert_eq!(ratio(&a, &known(&[0.0; 5])), Mean::default());
        assert_eq!(ratio(&[None], &[Some(1.0)]), Mean::default());
    }

    #[test]
    fn relative_differences_are_log_ratios_or_parts_of_the_larger() {
        let known = |list: &[f64]| list.iter().copied().map(Some).collect::<Vec<_>>();
        let half = relative(&known(&[1.0, 2.0]), &known(&[2.0, 4.0])).unwrap();
        assert!((half.mean + std::f64::consts::LN_2).abs() < 1e-12);
        let nothing = relative(&known(&[0.0, 0.0]), &known(&[2.0, 4.0])).unwrap();
        assert_eq!(nothing.mean, -1.0);
        assert!(nothing.ci95_and_p.is_some());
        assert_eq!(relative(&known(&[0.0, 0.0]), &known(&[0.0, 0.0])).unwrap().mean, 0.0);
    }

    #[test]
    fn pairs_take_two_and_chance_takes_variance() {
        assert_eq!(paired(&[None, Some(1.0)], &[Some(1.0), None]), None);
        let alone = paired(&[Some(3.0), None], &[Some(1.0), Some(2.0)]).unwrap();
        assert_eq!((alone.mean, alone.ci95_and_p), (2.0, None));
        let alike = paired(&[Some(3.0), Some(4.0)], &[Some(1.0), Some(2.0)]).unwrap();
        assert_eq!((alike.mean, alike.ci95_and_p), (2.0, None));
    }

    proptest! {
        /// A constant added to both sides cancels, swapping the sides changes the sign, and the confidence interval
        /// excludes zero exactly if the p-value is below 5 %.
        #[test]
        fn a_pair_knows_only_differences(
            pairs in proptest::collection::vec((-1e3..1e3, -1e3..1e3), 2..12),
            common in -1e3..1e3,
        ) {
            let [a, b]: [Vec<Option<f64>>; 2] = [
                pairs.iter().map(|(a, _)| Some(*a)).collect(),
                pairs.iter().map(|(_, b)| Some(*b)).collect(),
            ];
            let Test { mean, ci95_and_p: Some((ci95, p)) } = paired(&a, &b).unwrap() else {
                return Err(TestCaseError::reject("no variance"));
            };
            let turned = paired(&b, &a).unwrap();
            prop_assert!((turned.mean + mean).abs() <= 1e-9);
            prop_assert!((0.0..=1.0).contains(&p));
            // At the boundary the result depends on rounding.
            if (mean.abs() / ci95 - 1.0).abs() > 1e-6 {
                prop_assert_eq!(p < 0.05, mean.abs() > ci95);
            }
            let moved = |list: &[Option<f64>]| -> Vec<Option<f64>> {
                list.iter().map(|value| value.map(|value| value + common)).collect()
            };
            let moved = paired(&moved(&a), &moved(&b)).unwrap();
            prop_assert!((moved.mean - mean).abs() <= 1e-9);
        }

        /// Adjusted values keep the order, are at least the p-values, and at most Bonferroni's values.
        #[test]
        fn holm_lies_between_none_and_bonferroni(p in proptest::collection::vec(0.0..1.0, 0..20)) {
            let adjusted = holm(&p);
            for (i, (raw, found)) in p.iter().zip(&adjusted).enumerate() {
                prop_assert!(raw <= found && *found <= (raw * p.len() as f64).min(1.0));
                for (other, other_found) in p.iter().zip(&adjusted).skip(i) {
                    prop_assert!(raw > other || found <= other_found);
                }
            }
        }
    }
}

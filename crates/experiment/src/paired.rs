//! Comparison of schemes, paired by seed: significant differences from the reference, and the subset that contains the
//! best.
//!
//! Both are determined for each scalar result separately. A scheme that leaves more connections unfinished than another
//! is not rated better than it, because its means cover only the connections that survived.

use crate::metrics::statistics::{Test, holm, paired};
use crate::results::{Better, Comparison, Mean, Paired, SchemeResult, Series, Verdict};

/// Significance level: maximum probability of a verdict by chance, and of leaving out the best scheme from the subset.
const LEVEL: f64 = 0.05;

impl Comparison {
    /// Compares every scheme with the one labelled `reference`. False, without effect, if no result has this label.
    pub fn set_reference(&mut self, reference: &str) -> bool {
        let position = self.results.iter().position(|r| r.label == reference);
        if let Some(position) = position {
            pair(&mut self.results, position);
            self.reference = Some(reference.to_owned());
        }
        position.is_some()
    }
}

impl SchemeResult {
    /// Mean difference of the scalar result `name`, this scheme minus `other`, paired by seed, with the half-width of
    /// its 95 % confidence interval. Both must cover the same seeds. `None` if no seed has a value for both.
    pub fn minus(&self, other: &SchemeResult, name: &str) -> Option<Mean> {
        let test = Sample::of(self, name).minus(&Sample::of(other, name))?;
        Some(Mean {
            mean: Some(test.mean),
            ci95: test.ci95_and_p.map(|(ci95, _)| ci95),
        })
    }
}

/// Compares all results with `results[reference]` and with each other.
fn pair(results: &mut [SchemeResult], reference: usize) {
    for result in results.iter_mut() {
        result.paired.clear();
    }
    if results.len() < 2 {
        return;
    }
    let tested: Vec<(String, Better)> = (results[reference].by_seed.iter())
        .filter_map(|series| Some((series.name.clone(), series.better?)))
        .collect();
    for (name, better) in tested {
        let samples: Vec<Sample<'_>> = results.iter().map(|r| Sample::of(r, &name)).collect();
        let verdicts = against_reference(&samples, reference, better);
        let unbeaten = best(&samples, &verdicts, reference, better);
        for ((result, paired), best) in results.iter_mut().zip(verdicts).zip(unbeaten) {
            let paired = Paired { best, ..paired };
            result.paired.insert(name.clone(), paired);
        }
    }
}

/// Values of one scalar result of one scheme.
struct Sample<'a> {
    values: &'a [Option<f64>],
    /// Connections covered by the result that did not complete.
    open: u64,
}

impl<'a> Sample<'a> {
    fn of(result: &'a SchemeResult, name: &str) -> Sample<'a> {
        let range = name
            .strip_prefix("response_time_by_size.")
            .and_then(|rest| rest.split('.').next()?.parse::<usize>().ok())
            .and_then(|range| result.response_time_by_size.get(range));
        let has_name = |series: &&Series| series.name == name;
        let series = result.by_seed.iter().find(has_name);
        Sample {
            values: series.map_or(&[], |series| &series.values),
            open: range.map_or(result.unfinished + result.failed, |range| range.unfinished),
        }
    }

    /// Test of the paired differences, this sample minus `other`.
    fn minus(&self, other: &Sample<'_>) -> Option<Test> {
        paired(self.values, other.values)
    }
}

/// True if a difference of this sign is an improvement.
fn is_better(difference: f64, better: Better) -> bool {
    match better {
        Better::Lower => difference < 0.0,
        Better::Higher => difference > 0.0,
    }
}

/// Tests of every scheme against the reference, as one family (see [`holm`]).
fn against_reference(samples: &[Sample<'_>], reference: usize, better: Better) -> Vec<Paired> {
    let tests: Vec<Option<Test>> = (samples.iter().enumerate())
        .map(|(index, sample)| {
            let other = index != reference;
            other.then(|| sample.minus(&samples[reference])).flatten()
        })
        .collect();
    let p = |test: &Option<Test>| test.and_then(|test| Some(test.ci95_and_p?.1));
    let mut adjusted = holm(&tests.iter().filter_map(p).collect::<Vec<f64>>()).into_iter();
    let paired = samples.iter().zip(&tests).map(|(sample, test)| {
        let p = p(test).and_then(|_| adjusted.next());
        let verdict = test
            .filter(|_| p.is_some_and(|p| p < LEVEL))
            .and_then(|test| {
                let reference = samples[reference].open;
                match is_better(test.mean, better) {
                    true => (sample.open <= reference).then_some(Verdict::Better),
                    false => (reference <= sample.open).then_some(Verdict::Worse),
                }
            });
        Paired {
            difference: test.map(|test| test.mean),
            ci95: test.and_then(|test| Some(test.ci95_and_p?.0)),
            p,
            verdict,
            best: false,
        }
    });
    paired.collect()
}

/// Selects the schemes that may be the best: those that no other beats in a paired t-test at [`LEVEL`] divided by the
/// number of others, without those that are worse than the reference, and without the reference if a scheme is better.
/// Selects none if the tests exclude none.
///
/// The subset contains the best scheme with a probability of at least 95 %. By Bonferroni's inequality the best scheme
/// loses a test against one of the others with a probability of at most 2.5 %, half of the two-sided level, and Holm's
/// test against the reference with at most the same. This is subset selection after S. S. Gupta ("On some multiple
/// decision (selection and ranking) rules", Technometrics 7, 1965, 225–245) for pairs of unequal variance.
fn best(
    samples: &[Sample<'_>],
    against_reference: &[Paired],
    reference: usize,
    better: Better,
) -> Vec<bool> {
    let fewest = samples.iter().map(|sample| sample.open).min();
    let eligible = |sample: &Sample<'_>| {
        Some(sample.open) == fewest && sample.values.iter().any(Option::is_some)
    };
    let candidates: Vec<&Sample<'_>> = samples.iter().filter(|sample| eligible(sample)).collect();
    let others = samples.len() as f64 - 1.0;
    let beats = |winner: &Sample<'_>, loser: &Sample<'_>| {
        winner.minus(loser).is_some_and(|test| {
            let p = test.ci95_and_p.map(|(_, p)| p * others);
            is_better(test.mean, better) && p.is_some_and(|p| p < LEVEL)
        })
    };
    let unbeaten = |sample: &Sample<'_>| !candidates.iter().any(|other| beats(other, sample));
    let any_is_better = against_reference
        .iter()
        .any(|paired| paired.verdict == Some(Verdict::Better));
    let beaten_by_verdict = |index: usize| match index == reference {
        true => any_is_better,
        false => against_reference[index].verdict == Some(Verdict::Worse),
    };
    let best: Vec<bool> = (samples.iter().enumerate())
        .map(|(index, sample)| eligible(sample) && unbeaten(sample) && !beaten_by_verdict(index))
        .collect();
    let number = best.iter().filter(|best| **best).count();
    let only_finisher = candidates.len() == 1 && candidates[0].values.len() > 1;
    match number < candidates.len() || only_finisher {
        true => best,
        false => vec![false; best.len()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn known(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().copied().map(Some).collect()
    }

    fn samples<'a>(values: &'a [Vec<Option<f64>>], open: &[u64]) -> Vec<Sample<'a>> {
        let samples = values.iter().zip(open);
        samples
            .map(|(values, open)| Sample {
                values,
                open: *open,
            })
            .collect()
    }

    fn verdicts(values: &[Vec<Option<f64>>], open: &[u64]) -> (Vec<Option<Verdict>>, Vec<bool>) {
        let samples = samples(values, open);
        let paired = against_reference(&samples, 0, Better::Lower);
        let verdicts = paired.iter().map(|paired| paired.verdict).collect();
        (verdicts, best(&samples, &paired, 0, Better::Lower))
    }

    #[test]
    fn seeds_that_differ_much_do_not_hide_what_schemes_differ() {
        // Unpaired, the intervals of all three overlap.
        let values = [
            known(&[1.0, 2.0, 3.0, 4.0, 5.0]),
            known(&[0.51, 1.49, 2.50, 3.52, 4.48]),
            known(&[0.49, 1.52, 2.49, 3.50, 4.51]),
        ];
        let better = Some(Verdict::Better);
        assert_eq!(
            verdicts(&values, &[0; 3]),
            (vec![None, better, better], vec![false, true, true])
        );
        let turned: Vec<_> = values.iter().rev().cloned().collect();
        let (verdicts, best) = verdicts(&turned, &[0; 3]);
        assert_eq!(verdicts, [None, None, Some(Verdict::Worse)]);
        assert_eq!(best, [true, true, false]);
    }

    #[test]
    fn higher_can_be_better() {
        let values = [known(&[0.90, 0.91, 0.92]), known(&[0.80, 0.82, 0.81])];
        let samples = samples(&values, &[0; 2]);
        let paired = against_reference(&samples, 0, Better::Higher);
        assert_eq!(paired[1].verdict, Some(Verdict::Worse));
        assert_eq!(best(&samples, &paired, 0, Better::Higher), [true, false]);
    }

    #[test]
    fn who_leaves_connections_open_wins_nothing() {
        let values = [
            known(&[1.0, 1.1, 1.2, 1.3]),
            known(&[0.1, 0.2, 0.3, 0.41]),
            known(&[1.5, 1.6, 1.7, 1.81]),
        ];
        // The second scheme is fast only because it leaves connections unfinished.
        let (of_reference, best) = verdicts(&values, &[0, 7, 0]);
        assert_eq!(of_reference, [None, None, Some(Verdict::Worse)]);
        assert_eq!(best, [true, false, false]);
        // The reference leaves connections unfinished too.
        let (of_reference, best) = verdicts(&values, &[7, 7, 0]);
        assert_eq!(of_reference, [None, Some(Verdict::Better), None]);
        assert_eq!(best, [false, false, true]);
    }

    #[test]
    fn nothing_is_best_where_nothing_is_told_apart() {
        let one_seed = [known(&[1.0]), known(&[0.1])];
        assert_eq!(
            verdicts(&one_seed, &[0, 0]),
            (vec![None; 2], vec![false; 2])
        );
        assert_eq!(
            verdicts(&one_seed, &[0, 7]),
            (vec![None; 2], vec![false; 2])
        );
        // Equal values in all seeds count as one observation.
        let alike = [known(&[1.0; 5]), known(&[0.1; 5])];
        assert_eq!(verdicts(&alike, &[0, 0]), (vec![None; 2], vec![false; 2]));
        let noise = [known(&[1.0, 0.9, 1.2]), known(&[1.1, 0.8, 1.2])];
        assert_eq!(verdicts(&noise, &[0, 0]), (vec![None; 2], vec![false; 2]));
        let nothing = [vec![None; 3], vec![None; 3]];
        assert_eq!(verdicts(&nothing, &[0, 0]), (vec![None; 2], vec![false; 2]));
    }

    proptest! {
        /// A scheme worse than the reference is not among the best, nor is the reference if a scheme is better. Without
        /// open connections the scheme with the lowest mean is among the best if any scheme is.
        #[test]
        fn verdicts_do_not_contradict_each_other(
            table in (2_usize..8, 2_usize..8).prop_flat_map(|(schemes, seeds)| {
                let seeds = proptest::collection::vec(0.1_f64..10.0, seeds);
                proptest::collection::vec(seeds, schemes)
            }),
            spread in 0.001_f64..1.0,
        ) {
            let values: Vec<Vec<Option<f64>>> = table
                .iter()
                .enumerate()
                .map(|(scheme, seeds)| {
                    known(&seeds.iter().map(|v| scheme as f64 + spread * v).collect::<Vec<_>>())
                })
                .collect();
            let (verdicts, best) = verdicts(&values, &vec![0; values.len()]);
            for (verdict, best) in verdicts.iter().zip(&best) {
                prop_assert!(!(*best && *verdict == Some(Verdict::Worse)));
            }
            let better = verdicts.contains(&Some(Verdict::Better));
            prop_assert!(!(best[0] && better));
            // If any verdict was reached, some scheme is among the best.
            let told_apart = verdicts.iter().any(Option::is_some);
            prop_assert!(!told_apart || best.contains(&true));
            let mean = |values: &Vec<Option<f64>>| values.iter().flatten().sum::<f64>();
            let lowest = (0..values.len())
                .min_by(|a, b| mean(&values[*a]).total_cmp(&mean(&values[*b])))
                .unwrap();
            prop_assert!(best[lowest] || best.iter().all(|best| !best));
        }
    }

    /// Schemes that differ by chance only get a verdict in at most one of twenty families.
    #[test]
    fn chance_rarely_makes_a_verdict() {
        use rand::{RngExt, SeedableRng};
        let mut rng = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(1);
        let families = 2_000;
        let (mut with_verdict, mut left_out) = (0, 0);
        for _ in 0..families {
            let values: Vec<Vec<Option<f64>>> = (0..14)
                .map(|_| {
                    (0..5)
                        .map(|_| Some((0..12).map(|_| rng.random::<f64>()).sum()))
                        .collect()
                })
                .collect();
            let (verdicts, best) = verdicts(&values, &[0; 14]);
            with_verdict += usize::from(verdicts.iter().any(Option::is_some));
            // All schemes are equal, so any of them can stand for the best: take the first.
            left_out += usize::from(best.iter().any(|best| *best) && !best[0]);
        }
        assert!(
            with_verdict * 20 <= families,
            "{with_verdict} of {families}"
        );
        assert!(left_out * 20 <= families, "{left_out} of {families}");
    }
}

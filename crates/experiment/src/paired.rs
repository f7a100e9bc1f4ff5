//! Comparison of schemes, paired by seed: differences from the reference, and the schemes that are the best.
//!
//! Both are determined for each scalar result separately, and by the same three rules everywhere: in tables, pages,
//! sentences and JSON.
//! - A scheme is ranked only if no other leaves fewer connections unfinished ([`SchemeResult::open`]), because its means
//!   cover only the connections that survived.
//! - A difference counts from [`MATTERS`] on.
//! - It counts only if a test of the seeds' log ratios excludes chance, corrected for the number of schemes.

use crate::metrics::statistics::{Test, holm, paired, ratio, relative};
use crate::results::{Better, Comparison, Mean, Paired, SchemeResult, Verdict};

/// Significance level: maximum probability that chance makes a verdict, and that the best scheme counts as worse than
/// another.
const LEVEL: f64 = 0.05;

/// Smallest relative difference that matters. Users notice no difference of a hundredth: that of durations is noticed from
/// about a tenth on (S. C. Seow, "Designing and Engineering Time", 2008, gives a fifth). Tables show at most four digits,
/// and the simulator agrees with Linux to some hundredths only.
pub const MATTERS: f64 = 0.01;

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

    /// Whether each scheme can be ranked by the scalar result `name`: no other leaves fewer connections unfinished.
    pub fn ranked(&self, name: &str) -> Vec<bool> {
        let samples: Vec<Sample<'_>> = self.results.iter().map(|r| Sample::of(r, name)).collect();
        eligible(&samples)
    }
}

impl SchemeResult {
    /// Mean difference of the scalar result `name`, this scheme minus `other`, paired by seed, with the half-width of
    /// its 95 % confidence interval. Both must cover the same seeds. `None` if no seed has a value for both.
    pub fn minus(&self, other: &SchemeResult, name: &str) -> Option<Mean> {
        let test = Sample::of(self, name).minus(&Sample::of(other, name))?;
        Some(Mean { mean: Some(test.mean), ci95: test.ci95_and_p.map(|(ci95, _)| ci95) })
    }

    /// Number of connections that the scalar result `name` should cover but that did not complete: connections of its
    /// range of sizes, the failed transactions of its application, or all.
    pub fn open(&self, name: &str) -> u64 {
        let all = self.unfinished + self.failed;
        match part(name) {
            Some(("response_time_by_size", range, _)) => {
                let range = self.response_time_by_size.get(range);
                range.map_or(all, |range| range.unfinished)
            }
            Some(("applications", index, _)) => {
                let application = self.applications.get(index);
                application.map_or(all, |application| application.failed)
            }
            _ => all,
        }
    }

    /// The number that reports show for the scalar result `name`: a percentile over all seeds together, or the mean of
    /// the seeds.
    fn shown(&self, name: &str, values: &[Option<f64>]) -> Option<f64> {
        let is_percentile = [".p50", ".p95", ".p99"].iter().any(|end| name.ends_with(end));
        // Percentiles of groups are compared by the mean of the seeds.
        let percentile = (is_percentile && !name.starts_with("groups.")).then(|| self.at(name)?.value);
        percentile.flatten().or_else(|| {
            let known: Vec<f64> = values.iter().copied().flatten().collect();
            (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
        })
    }
}

/// Parts of the name of a result in a list, `applications.0.delay_s.p99`: list, index, rest.
fn part(name: &str) -> Option<(&str, usize, &str)> {
    let (list, rest) = name.split_once('.')?;
    let (index, rest) = rest.split_once('.')?;
    Some((list, index.parse().ok()?, rest))
}

/// Compares all results with `results[reference]` and with each other.
fn pair(results: &mut [SchemeResult], reference: usize) {
    for result in results.iter_mut() {
        result.paired.clear();
    }
    if results.len() < 2 {
        return;
    }
    let tested: Vec<(String, Better)> =
        (results[reference].by_seed.iter()).filter_map(|series| Some((series.name.clone(), series.better?))).collect();
    for (name, better) in tested {
        let samples: Vec<Sample<'_>> = results.iter().map(|r| Sample::of(r, &name)).collect();
        let all = compare(&samples, reference, better);
        for (result, paired) in results.iter_mut().zip(all) {
            result.paired.insert(name.clone(), paired);
        }
    }
}

/// One scalar result of one scheme.
struct Sample<'a> {
    /// Value of each seed.
    values: &'a [Option<f64>],
    /// Number that reports show.
    shown: Option<f64>,
    /// See [`SchemeResult::open`].
    open: u64,
}

impl<'a> Sample<'a> {
    fn of(result: &'a SchemeResult, name: &str) -> Sample<'a> {
        let series = result.by_seed.iter().find(|series| series.name == name);
        let values = series.map_or(&[][..], |series| &series.values);
        Sample { values, shown: result.shown(name, values), open: result.open(name) }
    }

    /// Test of the paired differences, this sample minus `other`.
    fn minus(&self, other: &Sample<'_>) -> Option<Test> {
        paired(self.values, other.values)
    }

    /// How many times better than `other` the number shown is: 2 if it is half as long or twice as high.
    fn factor(&self, other: &Sample<'_>, better: Better) -> Option<f64> {
        let (over, under) = match better {
            Better::Lower => (other.shown?, self.shown?),
            Better::Higher => (self.shown?, other.shown?),
        };
        Some(if over == under { 1.0 } else { over / under })
    }

    /// Whether the number shown is better than that of `other` by more than [`MATTERS`].
    fn leads(&self, other: &Sample<'_>, better: Better) -> bool {
        self.factor(other, better).is_some_and(|factor| factor > 1.0 + MATTERS)
    }
}

/// True if a difference of this sign is an improvement.
fn is_better(difference: f64, better: Better) -> bool {
    match better {
        Better::Lower => difference < 0.0,
        Better::Higher => difference > 0.0,
    }
}

/// Index of the scheme that is the best one by the values of its seeds, by the rules of comparisons. `None` if several are
/// best, if one of them is not significantly different from the best, or if all differences may be chance.
pub fn only_best(schemes: &[Vec<Option<f64>>], better: Better) -> Option<usize> {
    let mean = |values: &[Option<f64>]| {
        let known: Vec<f64> = values.iter().copied().flatten().collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    let sample = |values| Sample { values, shown: mean(values), open: 0 };
    let samples: Vec<Sample<'_>> = schemes.iter().map(|values| sample(&values[..])).collect();
    let standings = standings(&samples, better);
    let mut left = (0..schemes.len()).filter(|index| standings[*index] != Standing::Behind);
    let first = left.next()?;
    (standings[first] == Standing::Best && left.next().is_none()).then_some(first)
}

/// Compares all samples with `samples[reference]` and with each other.
fn compare(samples: &[Sample<'_>], reference: usize, better: Better) -> Vec<Paired> {
    let mut all = against_reference(samples, reference, better);
    for (paired, standing) in all.iter_mut().zip(standings(samples, better)) {
        paired.best = standing == Standing::Best;
        paired.undecided = standing == Standing::Undecided;
    }
    all
}

/// Tests of every scheme against the reference, as one family (see [`holm`]).
fn against_reference(samples: &[Sample<'_>], reference: usize, better: Better) -> Vec<Paired> {
    let of_reference = &samples[reference];
    let tests: Vec<Option<Test>> = (samples.iter().enumerate())
        .map(|(index, sample)| {
            let other = index != reference;
            let test = || relative(sample.values, of_reference.values);
            other.then(test).flatten()
        })
        .collect();
    let p = |test: &Option<Test>| test.and_then(|test| Some(test.ci95_and_p?.1));
    let mut adjusted = holm(&tests.iter().filter_map(p).collect::<Vec<f64>>()).into_iter();
    let paired = samples.iter().zip(&tests).enumerate().map(|(index, (sample, test))| {
        let p = p(test).and_then(|_| adjusted.next());
        let other = (index != reference).then_some(of_reference);
        let difference = other.and_then(|other| sample.minus(other));
        let significant = test.filter(|_| p.is_some_and(|p| p < LEVEL));
        let verdict = significant.and_then(|test| match is_better(test.mean, better) {
            true => (sample.open <= of_reference.open && sample.leads(of_reference, better)).then_some(Verdict::Better),
            false => (of_reference.open <= sample.open && of_reference.leads(sample, better)).then_some(Verdict::Worse),
        });
        let factor = other.map(|other| match better {
            Better::Lower => ratio(other.values, sample.values),
            Better::Higher => ratio(sample.values, other.values),
        });
        let factor = factor.unwrap_or_default();
        Paired {
            difference: difference.map(|test| test.mean),
            ci95: difference.and_then(|test| Some(test.ci95_and_p?.0)),
            factor: factor.mean,
            factor_ci95: factor.ci95,
            p,
            verdict,
            best: false,
            undecided: false,
        }
    });
    paired.collect()
}

/// Place of a scheme among all, by one result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It has the best number, or one that differs from it by less than what matters.
    Best,
    /// Its number is worse, but chance may have made it so.
    Undecided,
    /// It is worse, it cannot be ranked, or no scheme is known to be worse than another.
    Behind,
}

/// Whether each sample can be ranked: it has a value, and none has fewer open connections.
fn eligible(samples: &[Sample<'_>]) -> Vec<bool> {
    let fewest = samples.iter().map(|sample| sample.open).min();
    let eligible = |sample: &Sample<'_>| Some(sample.open) == fewest && sample.shown.is_some();
    samples.iter().map(eligible).collect()
}

/// Selects the schemes that are best: the one with the best number of those that can be ranked, and those within
/// [`MATTERS`] of it. It selects none if chance may have set these apart from all others.
///
/// A scheme counts as worse if any other beats it: its number is better, and a test finds so at [`LEVEL`] divided by the
/// number of other schemes. (A scheme with less variance than the best one may show more clearly that a third is worse.) Then the scheme that really is the best counts as worse with a probability of at most 5 %,
/// since it takes part in so many tests only: this is multiple comparison with the best after J. C. Hsu ("Simultaneous
/// confidence intervals for all distances from the 'best'", Annals of Statistics 9, 1981, 1026–1034), with Bonferroni's
/// inequality for pairs of unequal variance. A scheme that is not beaten, but has a clearly worse number, is undecided
/// and not best: a large variance is no merit.
fn standings(samples: &[Sample<'_>], better: Better) -> Vec<Standing> {
    let none = vec![Standing::Behind; samples.len()];
    let eligible = &eligible(samples);
    let ranked = || (0..samples.len()).filter(move |index| eligible[*index]);
    let by_number = |a: &usize, b: &usize| {
        let order = samples[*a].shown.partial_cmp(&samples[*b].shown);
        let order = order.unwrap_or(std::cmp::Ordering::Equal);
        if better == Better::Lower { order } else { order.reverse() }
    };
    let Some(leader) = ranked().min_by(by_number) else {
        return none;
    };
    let others = samples.len() as f64 - 1.0;
    // The relative difference that a test finds, negative if `one` has the lower values.
    let found = |one: usize, other: usize| {
        let test = relative(samples[one].values, samples[other].values)?;
        let (_, p) = test.ci95_and_p?;
        (p * others < LEVEL).then_some(test.mean)
    };
    let finds_better = |one: usize, other: usize| found(one, other).is_some_and(|found| is_better(found, better));
    let is_best = |index: usize| eligible[index] && !samples[leader].leads(&samples[index], better);
    let is_beaten = |index: usize| {
        let beats = |other: usize| samples[other].leads(&samples[index], better) && finds_better(other, index);
        ranked().any(beats)
    };
    let standing = |index: usize| match () {
        () if is_best(index) => Standing::Best,
        () if !eligible[index] || is_beaten(index) => Standing::Behind,
        () => Standing::Undecided,
    };
    // The best number can be that of a scheme which the seeds show to be worse, if one seed has an extreme value.
    let is_contradicted = ranked()
        .any(|other| found(other, leader).is_some_and(|found| is_better(found, better) && found.abs() > MATTERS));
    match is_contradicted || !(0..samples.len()).any(is_beaten) {
        true => none,
        false => (0..samples.len()).map(standing).collect(),
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
        let mean = |values: &[Option<f64>]| {
            let known: Vec<f64> = values.iter().copied().flatten().collect();
            (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
        };
        let samples = values.iter().zip(open);
        samples.map(|(values, open)| Sample { values, shown: mean(values), open: *open }).collect()
    }

    fn verdicts(values: &[Vec<Option<f64>>], open: &[u64]) -> (Vec<Option<Verdict>>, Vec<bool>) {
        let all = compare(&samples(values, open), 0, Better::Lower);
        let verdicts = all.iter().map(|paired| paired.verdict).collect();
        (verdicts, all.iter().map(|paired| paired.best).collect())
    }

    fn undecided(values: &[Vec<Option<f64>>]) -> Vec<bool> {
        let all = compare(&samples(values, &vec![0; values.len()]), 0, Better::Lower);
        all.iter().map(|paired| paired.undecided).collect()
    }

    #[test]
    fn seeds_that_differ_much_do_not_hide_what_schemes_differ() {
        // Unpaired, the intervals of all three overlap.
        let values = [
            known(&[1.0, 2.0, 3.0, 4.0, 5.0]),
            known(&[0.51, 0.99, 1.50, 2.02, 2.48]),
            known(&[0.49, 1.01, 1.50, 1.99, 2.51]),
        ];
        let better = Some(Verdict::Better);
        assert_eq!(verdicts(&values, &[0; 3]), (vec![None, better, better], vec![false, true, true]));
        let turned: Vec<_> = values.iter().rev().cloned().collect();
        let (verdicts, best) = verdicts(&turned, &[0; 3]);
        assert_eq!(verdicts, [None, None, Some(Verdict::Worse)]);
        assert_eq!(best, [true, true, false]);
    }

    /// The first three are fq_codel, sfq and cake on `10m`, the last two gentle and las: these differ by less than a
    /// thousandth, always in the same direction.
    #[test]
    fn a_difference_that_does_not_matter_excludes_none_and_a_large_variance_includes_none() {
        let values = [
            known(&[0.231, 0.238, 0.229, 0.243, 0.229, 0.233]),
            known(&[0.232, 0.404, 0.229, 0.441, 0.271, 0.245]),
            known(&[0.221, 0.238, 0.211, 0.246, 0.226, 0.229]),
            known(&[0.1924, 0.1925, 0.1924, 0.1924, 0.1923, 0.1924]),
            known(&[0.1923, 0.1923, 0.1922, 0.1923, 0.1922, 0.1923]),
        ];
        let (_, best) = verdicts(&values, &[0; 5]);
        assert_eq!(best, [false, false, false, true, true]);
        assert_eq!(undecided(&values), [false, true, false, false, false]);
        // The differences of gentle and las are significant; they do not matter.
        let (two, _) = verdicts(&values[3..], &[0; 2]);
        assert_eq!(two, [None, None]);
    }

    /// A reference that others are significantly better than cannot be as good as the best of them.
    #[test]
    fn what_one_scheme_beats_is_not_undecided() {
        let values = [
            known(&[0.569, 0.922, 0.586, 0.977, 0.747]),
            known(&[0.259, 0.419, 0.266, 0.444, 0.340]),
            known(&[0.5, 0.1, 0.2, 0.1, 0.3]),
        ];
        let (verdicts, best) = verdicts(&values, &[0; 3]);
        assert_eq!((verdicts[1], best), (Some(Verdict::Better), vec![false, false, true]));
        assert_eq!(undecided(&values), [false, true, false]);
    }

    #[test]
    fn one_extreme_seed_makes_no_best() {
        // The last has the lowest mean only because of its first seed; the others show it to be slower.
        let values = [
            known(&[10.0, 2.0, 2.1, 2.0, 2.1, 2.0, 2.0, 2.1, 2.0, 2.0]),
            known(&[10.0, 1.0, 1.1, 1.0, 1.1, 1.0, 1.0, 1.1, 1.0, 1.0]),
            known(&[0.1, 1.9, 1.9, 1.9, 2.0, 1.9, 1.9, 1.9, 2.0, 1.9]),
        ];
        let (_, best) = verdicts(&values, &[0; 3]);
        assert!(!best[2] || !best[1], "{best:?}");
    }

    #[test]
    fn higher_can_be_better() {
        let values = [known(&[0.90, 0.91, 0.92, 0.91]), known(&[0.80, 0.82, 0.82, 0.80])];
        let all = compare(&samples(&values, &[0; 2]), 0, Better::Higher);
        assert_eq!(all[1].verdict, Some(Verdict::Worse));
        assert_eq!([all[0].best, all[1].best], [true, false]);
        assert!(all[1].factor.unwrap() < 0.9);
    }

    #[test]
    fn who_leaves_connections_open_wins_nothing() {
        let values = [known(&[1.0, 1.1, 1.2, 1.3]), known(&[0.1, 0.11, 0.12, 0.131]), known(&[1.5, 1.6, 1.8, 1.91])];
        // The second scheme is fast only because it leaves connections unfinished.
        let (of_reference, best) = verdicts(&values, &[0, 7, 0]);
        assert_eq!(of_reference, [None, None, Some(Verdict::Worse)]);
        assert_eq!(best, [true, false, false]);
        // The reference leaves connections unfinished too; who finishes all is the slowest, which is not best.
        let (of_reference, best) = verdicts(&values, &[7, 7, 0]);
        assert_eq!(of_reference, [None, Some(Verdict::Better), None]);
        assert_eq!(best, [false; 3]);
    }

    #[test]
    fn nothing_lost_is_less_than_something_lost() {
        let values = [known(&[0.031, 0.036, 0.033, 0.034, 0.030]), known(&[0.0; 5]), known(&[0.0; 5])];
        let better = Some(Verdict::Better);
        assert_eq!(verdicts(&values, &[0; 3]), (vec![None, better, better], vec![false, true, true]));
    }

    #[test]
    fn nothing_is_best_where_nothing_is_told_apart() {
        let one_seed = [known(&[1.0]), known(&[0.1])];
        assert_eq!(verdicts(&one_seed, &[0, 0]), (vec![None; 2], vec![false; 2]));
        assert_eq!(verdicts(&one_seed, &[0, 7]), (vec![None; 2], vec![false; 2]));
        // Equal values in all seeds count as one observation.
        let alike = [known(&[1.0; 5]), known(&[0.1; 5])];
        assert_eq!(verdicts(&alike, &[0, 0]), (vec![None; 2], vec![false; 2]));
        let noise = [known(&[1.0, 0.9, 1.2]), known(&[1.1, 0.8, 1.2])];
        assert_eq!(verdicts(&noise, &[0, 0]), (vec![None; 2], vec![false; 2]));
        let nothing = [vec![None; 3], vec![None; 3]];
        assert_eq!(verdicts(&nothing, &[0, 0]), (vec![None; 2], vec![false; 2]));
    }

    proptest! {
        /// A best scheme has the best number or one within what matters of it. It is not worse than the reference, nor is
        /// the reference best if a scheme is better. An undecided scheme is neither best nor within what matters.
        #[test]
        fn verdicts_do_not_contradict_each_other(
            table in (2_usize..8, 2_usize..8).prop_flat_map(|(schemes, seeds)| {
                let seeds = proptest::collection::vec(0.1_f64..10.0, seeds);
                proptest::collection::vec((seeds, 0_u64..2), schemes)
            }),
            spread in 0.001_f64..1.0,
            step in 0.001_f64..1.0,
        ) {
            let values: Vec<Vec<Option<f64>>> = table
                .iter()
                .enumerate()
                .map(|(scheme, (seeds, _))| {
                    let value = |v: &f64| 1.0 + step * scheme as f64 + spread * v;
                    known(&seeds.iter().map(value).collect::<Vec<_>>())
                })
                .collect();
            let open: Vec<u64> = table.iter().map(|(_, open)| *open).collect();
            let samples = samples(&values, &open);
            let all = compare(&samples, 0, Better::Lower);
            let ranked = eligible(&samples);
            let numbers = samples.iter().zip(&ranked).filter(|(_, ranked)| **ranked);
            let lowest = numbers.filter_map(|(s, _)| s.shown).min_by(f64::total_cmp).unwrap();
            let any_best = all.iter().any(|paired| paired.best);
            for ((paired, sample), ranked) in all.iter().zip(&samples).zip(ranked) {
                let near = sample.shown.unwrap() <= lowest * (1.0 + MATTERS);
                prop_assert_eq!(paired.best, any_best && ranked && near);
                prop_assert!(!paired.best || paired.verdict != Some(Verdict::Worse));
                prop_assert!(!paired.undecided || (any_best && ranked && !near));
            }
            let better = all.iter().any(|paired| paired.verdict == Some(Verdict::Better));
            prop_assert!(!(all[0].best && better));
        }
    }

    /// Of schemes that differ by chance only, some has a verdict in at most one of twenty families, and the one that
    /// stands for the best counts as worse than another in at most as many.
    #[test]
    fn chance_rarely_makes_a_verdict() {
        use rand::{RngExt, SeedableRng};
        let mut rng = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(1);
        let families = 2_000;
        let (mut with_verdict, mut left_out) = (0, 0);
        for _ in 0..families {
            let values: Vec<Vec<Option<f64>>> =
                (0..14).map(|_| (0..5).map(|_| Some((0..12).map(|_| rng.random::<f64>()).sum())).collect()).collect();
            let all = compare(&samples(&values, &[0; 14]), 0, Better::Lower);
            with_verdict += usize::from(all.iter().any(|paired| paired.verdict.is_some()));
            // All schemes are equal, so any of them can stand for the best: take the first.
            let told_apart = all.iter().any(|paired| paired.best);
            left_out += usize::from(told_apart && !all[0].best && !all[0].undecided);
        }
        assert!(with_verdict * 20 <= families, "{with_verdict} of {families}");
        assert!(left_out * 20 <= families, "{left_out} of {families}");
    }
}

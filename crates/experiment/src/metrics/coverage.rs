//! How often the 95 % intervals contain the number that they are for, with the few seeds that users have. `docs/concepts/statistics.md`
//! has the results.
//!
//! `tests/data/seeds.csv` has the mean response times of 120 runs. Such means are skewed: most runs are alike, and a few have a
//! burst of losses, or a backlog that lasts.

use super::statistics::{mean_of, paired, ratio, relative};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp, LogNormal, Normal, Pareto};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Samples of each case; the standard error of a coverage of 95 % is then 0.3 %.
const SAMPLES: usize = 4_000;

/// Fraction of samples that `covers` their number.
fn coverage(mut covers: impl FnMut(&mut Xoshiro256PlusPlus) -> bool) -> f64 {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    (0..SAMPLES).filter(|_| covers(&mut rng)).count() as f64 / SAMPLES as f64
}

/// Values of the 120 runs by result and scheme: `short fq_codel`.
fn runs(name: &str) -> Vec<f64> {
    let text = include_str!("../../tests/data/seeds.csv");
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
    let column = reader.headers().unwrap().iter().position(|head| head == name);
    let column = column.unwrap_or_else(|| panic!("no column {name}"));
    reader.records().map(|row| row.unwrap()[column].parse().unwrap()).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Fraction of samples of `seeds` pairs of runs of `a` and `b` whose interval, by `interval`, contains `truth`.
fn of_pairs(
    seeds: usize,
    [a, b]: [&[f64]; 2],
    truth: f64,
    interval: impl Fn(&[Option<f64>], &[Option<f64>]) -> Option<(f64, f64)>,
) -> f64 {
    coverage(|rng| {
        let runs: Vec<usize> = (0..seeds).map(|_| rng.random_range(0..a.len())).collect();
        let [a, b] = [a, b].map(|all| runs.iter().map(|run| Some(all[*run])).collect::<Vec<_>>());
        // Without variance, as where one run was drawn throughout, there is no interval, and none is shown.
        interval(&a, &b).is_none_or(|(found, half)| (found - truth).abs() <= half)
    })
}

/// Coverage of the mean of the runs called `name`, and of their difference, log ratio and ratio to those called `reference`.
fn of_runs(seeds: usize, name: &str, reference: &str) -> [f64; 4] {
    let (values, reference) = (runs(name), runs(reference));
    let zero = vec![0.0; values.len()];
    let both = [&values[..], &reference[..]];
    let differences = |a: &[Option<f64>], b: &[Option<f64>]| {
        let test = paired(a, b)?;
        Some((test.mean, test.ci95_and_p?.0))
    };
    let logs: Vec<f64> = values.iter().zip(&reference).map(|(a, b)| libm::log(a / b)).collect();
    let difference = mean(&values) - mean(&reference);
    [
        of_pairs(seeds, [&values, &zero], mean(&values), differences),
        of_pairs(seeds, both, difference, differences),
        of_pairs(seeds, both, mean(&logs), |a, b| {
            let test = relative(a, b)?;
            Some((test.mean, test.ci95_and_p?.0))
        }),
        of_pairs(seeds, both, mean(&values) / mean(&reference), |a, b| {
            let ratio = ratio(a, b);
            Some((ratio.mean?, ratio.ci95?))
        }),
    ]
}

#[test]
fn intervals_of_real_runs_cover_95_percent() {
    let mut least: f64 = 1.0;
    for (result, length, at_least) in [
        ("short", "", [0.945, 0.945]),
        ("11-100", "", [0.945, 0.945]),
        ("all", "", [0.945, 0.945]),
        ("short", " 1000 s", [0.945, 0.935]),
        // The most skewed of all: ten seeds cover 93.5 %.
        ("11-100", " 1000 s", [0.945, 0.925]),
    ] {
        let reference = format!("{result} fq_codel{length}");
        let schemes =
            ["gentle", "spa"].into_iter().filter(|scheme| (*scheme, result, length) != ("spa", "11-100", " 1000 s"));
        for scheme in schemes {
            for (seeds, at_least) in [5, 10].into_iter().zip(at_least) {
                let name = format!("{result} {scheme}{length}");
                let [mean, difference, log_ratio, ratio] = of_runs(seeds, &name, &reference);
                let [of_reference, ..] = of_runs(seeds, &reference, &name);
                for covered in [mean, difference, log_ratio, ratio, of_reference] {
                    assert!(covered >= at_least, "{name}, {seeds} seeds: {covered}");
                    least = least.min(covered);
                }
            }
        }
    }
    // The intervals are not wider than they have to be for the most skewed of these.
    assert!(least < 0.955, "{least}");
}

/// Fraction of samples of `seeds` values of a distribution whose interval contains its mean.
fn of_distribution(seeds: usize, values: &impl Distribution<f64>, mean: f64, runs_of: usize) -> f64 {
    coverage(|rng| {
        let value = |_| (0..runs_of).map(|_| values.sample(&mut *rng)).sum::<f64>() / runs_of as f64;
        let found = mean_of((0..seeds).map(value).collect::<Vec<f64>>().into_iter());
        (found.mean.unwrap() - mean).abs() <= found.ci95.unwrap()
    })
}

/// The last two are heavier than the means of any runs seen. No interval from five values covers 95 % of them: those that have
/// none of the rare large values do not show that such values exist.
#[test]
fn intervals_of_distributions_cover_what_the_manual_says() {
    let normal = Normal::new(0.0, 1.0).unwrap();
    let exponential = Exp::new(1.0).unwrap();
    let [mild, heavy] = [0.5, 1.0].map(|sigma| LogNormal::new(0.0, sigma).unwrap());
    let pareto = Pareto::new(1.0, 2.2).unwrap();
    for (seeds, expected) in [(5, [99.3, 96.0, 98.3, 98.8, 92.9, 88.5]), (10, [99.2, 95.5, 97.0, 97.1, 90.0, 85.5])] {
        let found = [
            of_distribution(seeds, &normal, 0.0, 1),
            of_distribution(seeds, &exponential, 1.0, 1),
            of_distribution(seeds, &mild, libm::exp(0.125), 1),
            of_distribution(seeds, &pareto, 2.2 / 1.2, 100),
            of_distribution(seeds, &heavy, libm::exp(0.5), 1),
            of_distribution(seeds, &pareto, 2.2 / 1.2, 1),
        ];
        for (found, expected) in found.iter().zip(expected) {
            assert!((100.0 * found - expected).abs() < 1.5, "{found} instead of {expected}");
        }
    }
}

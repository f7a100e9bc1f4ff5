//! Verdicts, computed from published and measured numbers.

use crate::estimate::Estimate;
use crate::published::{Claim, Target};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// Half-width of an interval, as a fraction of the published value, up to which the number alone decides.
const VAGUE: f64 = 0.25;

/// Most seeds that [`Verdict::seeds_to_decide`] considers.
const MANY: u32 = 10_000;

/// Agreement of our number with the published one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum Verdict {
    /// The paper gives no value to compare with.
    #[serde(rename = "not published")]
    NotPublished,
    /// Ours lies within the tolerance of a published value that was put into the set-up.
    #[serde(rename = "given")]
    Given,
    /// Ours lies within the tolerance of the published value or bound.
    #[serde(rename = "agrees")]
    Agrees,
    /// Ours lies beyond the tolerance, but on the published side of the value that means "no effect", or in the published
    /// order among the values of its row.
    #[serde(rename = "agrees in order")]
    AgreesInOrder,
    /// The interval of our number contains numbers with other verdicts, or nothing was observed.
    #[serde(rename = "undecided")]
    Undecided,
    /// Ours differs.
    #[serde(rename = "differs")]
    Differs,
}

impl Verdict {
    /// All verdicts, in the order of reports.
    pub const ALL: [Verdict; 6] = [
        Verdict::Agrees,
        Verdict::AgreesInOrder,
        Verdict::Undecided,
        Verdict::Differs,
        Verdict::Given,
        Verdict::NotPublished,
    ];

    /// Name in results: `agrees in order`.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::NotPublished => "not published",
            Verdict::Given => "given",
            Verdict::Agrees => "agrees",
            Verdict::AgreesInOrder => "agrees in order",
            Verdict::Undecided => "undecided",
            Verdict::Differs => "differs",
        }
    }

    /// Verdict on a figure or table with these claims: the least favourable one.
    pub fn of_part(claims: impl IntoIterator<Item = Verdict>) -> Verdict {
        claims.into_iter().max().unwrap_or(Verdict::NotPublished)
    }

    /// Verdict on `claim` if our number is `ours` with its interval.
    ///
    /// On a bound both ends of the interval must have the verdict of the number. A value or range has a tolerance, which
    /// is our choice: if the number is within it, the interval matters only if it is wide, a half-width of more than 25 %
    /// of the published value and twice the tolerance. If the number is not, the interval must not reach the tolerance.
    pub fn of_estimate(claim: &Claim, ours: Estimate, row: &[(&Claim, Option<f64>)]) -> Verdict {
        let at = |ours: Option<f64>| Verdict::of_claim(claim, ours, row);
        let verdict = at(ours.value);
        let (Some(target), Some(value), Some(half)) = (claim.target(), ours.value, ours.ci95) else {
            return verdict;
        };
        let [low, high] = [value - half, value + half];
        let same = [low, high].map(|end| at(Some(end)) == verdict);
        let is_unclear = match target {
            Target::AtMost(_) | Target::AtLeast(_) => same.contains(&false),
            Target::Value(_) | Target::Between(..) => match verdict {
                Verdict::Agrees | Verdict::Given => {
                    half > f64::max(VAGUE * target.size(), 2.0 * claim.tolerance) && same.contains(&false)
                }
                _ => target.reaches(low, high, claim.tolerance),
            },
        };
        match is_unclear {
            true => Verdict::Undecided,
            false => verdict,
        }
    }

    /// Least number of seeds with which [`Verdict::of_estimate`] decides, if they vary as ours do and have the same mean; `None` if
    /// the claim is decided, has no interval, or 10,000 seeds do not decide it.
    pub fn seeds_to_decide(claim: &Claim, ours: Estimate, row: &[(&Claim, Option<f64>)]) -> Option<u32> {
        let decided = |seeds: u32| {
            let ci95 = ours.ci95_with(seeds);
            Verdict::of_estimate(claim, Estimate { ci95, ..ours }, row) != Verdict::Undecided
        };
        ours.value?;
        ours.ci95_with(MANY)?;
        if decided(ours.seeds) || !decided(MANY) {
            return None;
        }
        let (mut too_few, mut enough) = (ours.seeds, MANY);
        while enough - too_few > 1 {
            let middle = u32::midpoint(too_few, enough);
            match decided(middle) {
                true => enough = middle,
                false => too_few = middle,
            }
        }
        Some(enough)
    }

    /// Verdict on `claim` if our number is `ours`. `row` has the other claims of its row with our numbers.
    pub fn of_claim(claim: &Claim, ours: Option<f64>, row: &[(&Claim, Option<f64>)]) -> Verdict {
        let Some(target) = claim.target() else {
            return Verdict::NotPublished;
        };
        let Some(ours) = ours else {
            return Verdict::Undecided;
        };
        if target.admits(ours, claim.tolerance) {
            return match claim.given {
                true => Verdict::Given,
                false => Verdict::Agrees,
            };
        }
        let same_side = claim.neutral.is_some_and(|neutral| target.is_on_side_of(ours, neutral));
        match same_side || is_in_order(target, ours, row) {
            true => Verdict::AgreesInOrder,
            false => Verdict::Differs,
        }
    }
}

/// True if `ours` lies on the same side of each other number of the row as the published value does. False without
/// another number.
fn is_in_order(target: Target, ours: f64, row: &[(&Claim, Option<f64>)]) -> bool {
    let Target::Value(published) = target else {
        return false;
    };
    let mut others = row.iter().filter_map(|(claim, other)| match claim.target() {
        Some(Target::Value(value)) => Some((value, *other)),
        _ => None,
    });
    let mut compared = false;
    let in_order = others.all(|(value, other)| {
        compared = true;
        other.is_some_and(|other| ours.total_cmp(&other) == published.total_cmp(&value))
    });
    compared && in_order
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn claim(target: Target, tolerance: f64, neutral: Option<f64>) -> Claim {
        let mut claim = Claim { tolerance, neutral, ..Claim::default() };
        match target {
            Target::Value(value) => claim.value = Some(value),
            Target::AtMost(bound) => claim.at_most = Some(bound),
            Target::AtLeast(bound) => claim.at_least = Some(bound),
            Target::Between(low, high) => claim.between = Some([low, high]),
        }
        claim
    }

    #[test]
    fn a_ratio_beyond_its_tolerance_agrees_in_order_on_the_right_side_of_one() {
        let claim = claim(Target::Value(0.6), 0.1, Some(1.0));
        let verdict = |ours| Verdict::of_claim(&claim, Some(ours), &[]);
        assert_eq!(verdict(0.55), Verdict::Agrees);
        assert_eq!(verdict(0.85), Verdict::AgreesInOrder);
        assert_eq!(verdict(1.0), Verdict::Differs);
        assert_eq!(verdict(1.2), Verdict::Differs);
        assert_eq!(Verdict::of_claim(&claim, None, &[]), Verdict::Undecided);
    }

    #[test]
    fn a_number_agrees_in_order_if_it_ranks_in_its_row_as_published() {
        let row = [10.0, 20.0, 30.0].map(|value| claim(Target::Value(value), 1.0, None));
        let verdict = |ours: [f64; 3], index: usize| {
            let others: Vec<_> =
                (0..3).filter(|other| *other != index).map(|other| (&row[other], Some(ours[other]))).collect();
            Verdict::of_claim(&row[index], Some(ours[index]), &others)
        };
        assert_eq!(verdict([100.0, 200.0, 300.0], 1), Verdict::AgreesInOrder);
        assert_eq!(verdict([100.0, 400.0, 300.0], 1), Verdict::Differs);
        assert_eq!(verdict([100.0, 20.5, 30.0], 1), Verdict::Agrees);
    }

    #[test]
    fn an_interval_that_contains_everything_tells_nothing() {
        let verdict = |target, tolerance, value, ci95| {
            let ours = Estimate { value: Some(value), ci95, seeds: 6 };
            Verdict::of_estimate(&claim(target, tolerance, Some(1.0)), ours, &[])
        };
        let bound = Target::AtMost(1.0);
        assert_eq!(verdict(bound, 0.0, 0.99, Some(0.85)), Verdict::Undecided);
        assert_eq!(verdict(bound, 0.0, 1.02, Some(0.85)), Verdict::Undecided);
        assert_eq!(verdict(bound, 0.0, 0.99, Some(0.1)), Verdict::Undecided);
        // The interval excludes the bound.
        assert_eq!(verdict(bound, 0.0, 10.3, Some(6.95)), Verdict::Differs);
        assert_eq!(verdict(bound, 0.0, 0.4, Some(0.5)), Verdict::Agrees);
        assert_eq!(verdict(bound, 0.0, 0.99, Some(0.005)), Verdict::Agrees);
        assert_eq!(verdict(bound, 0.0, 0.99, None), Verdict::Agrees);
        // The interval reaches what is published, or does not.
        let value = Target::Value(0.6);
        assert_eq!(verdict(value, 0.1, 0.75, Some(0.1)), Verdict::Undecided);
        assert_eq!(verdict(value, 0.1, 0.75, Some(0.04)), Verdict::AgreesInOrder);
        assert_eq!(verdict(value, 0.1, 1.2, Some(0.4)), Verdict::Differs);
        // A wide tolerance permits a wide interval.
        assert_eq!(verdict(Target::Value(0.6), 0.3, 0.7, Some(0.5)), Verdict::Agrees);
    }

    #[test]
    fn more_seeds_decide_where_the_interval_is_narrow_enough() {
        let claim = claim(Target::AtMost(1.0), 0.0, None);
        let needed = |value, ci95| {
            let ours = Estimate { value: Some(value), ci95: Some(ci95), seeds: 6 };
            Verdict::seeds_to_decide(&claim, ours, &[])
        };
        assert_eq!(needed(0.8, 0.1), None);
        assert_eq!(needed(1.0, 0.1), None);
        // Half the width takes less than four times as many, since few seeds have wide intervals.
        let four = needed(0.9, 0.199).unwrap();
        assert!((10..24).contains(&four), "{four}");
        assert!(needed(0.99, 0.199).unwrap() > 10 * four);
    }

    #[test]
    fn an_input_agrees_with_nothing() {
        let mut claim = claim(Target::Value(0.6), 0.1, None);
        claim.given = true;
        let verdict = |ours| Verdict::of_claim(&claim, Some(ours), &[]);
        assert_eq!(verdict(0.65), Verdict::Given);
        assert_eq!(verdict(0.85), Verdict::Differs);
    }

    #[test]
    fn a_part_is_as_good_as_its_worst_claim() {
        use Verdict::{Agrees, AgreesInOrder, Differs, NotPublished, Undecided};
        assert_eq!(Verdict::of_part([]), NotPublished);
        assert_eq!(Verdict::of_part([NotPublished, Agrees]), Agrees);
        assert_eq!(Verdict::of_part([Agrees, AgreesInOrder, Agrees]), AgreesInOrder);
        assert_eq!(Verdict::of_part([Undecided, AgreesInOrder]), Undecided);
        assert_eq!(Verdict::of_part([Agrees, Differs, Undecided]), Differs);
    }

    proptest! {
        #[test]
        fn a_published_value_disturbed_beyond_its_tolerance_flips(
            ours in -1e3..1e3_f64,
            tolerance in 0.0..10.0_f64,
            beyond in 1e-3..1e3_f64,
        ) {
            let at = |target| Verdict::of_claim(&claim(target, tolerance, None), Some(ours), &[]);
            let away = tolerance + beyond;
            prop_assert_eq!(at(Target::Value(ours)), Verdict::Agrees);
            prop_assert_eq!(at(Target::Value(ours + away)), Verdict::Differs);
            prop_assert_eq!(at(Target::Value(ours - away)), Verdict::Differs);
            prop_assert_eq!(at(Target::AtMost(ours)), Verdict::Agrees);
            prop_assert_eq!(at(Target::AtMost(ours - away)), Verdict::Differs);
            prop_assert_eq!(at(Target::AtLeast(ours)), Verdict::Agrees);
            prop_assert_eq!(at(Target::AtLeast(ours + away)), Verdict::Differs);
            prop_assert_eq!(at(Target::Between(ours, ours)), Verdict::Agrees);
            prop_assert_eq!(at(Target::Between(ours + away, ours + 2.0 * away)), Verdict::Differs);
        }
    }
}

//! Verdicts and numbers in words.

use crate::format::{NONE, list};
use gentle_papers::{Cell, Estimate, Item, Published, Reproduction, Verdict};
use gentle_units::text::{count, grouped, plural};

/// Most digits after the decimal point.
const DECIMALS: usize = 9;

/// Sign of a verdict, which differs in shape and not only in colour.
pub(super) fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Agrees => "✓",
        Verdict::AgreesInOrder => "≈",
        Verdict::Undecided => "?",
        Verdict::Differs => "✗",
        Verdict::Given => "=",
        Verdict::NotPublished => "–",
    }
}

/// Sentences with the number of claims by verdict.
pub(super) fn counts(reproduction: &Reproduction) -> Vec<String> {
    let found = reproduction.verdicts;
    let of = |n: u32, one: &str, many: &str| match n {
        0 => format!("none {many}"),
        1 => format!("1 {one}"),
        n => format!("{} {many}", count(n.into())),
    };
    let mut each = vec![
        of(found.agrees, "agrees", "agree"),
        of(found.agrees_in_order, "agrees in order", "agree in order"),
        of(found.differs, "differs", "differ"),
    ];
    if found.undecided > 0 {
        each.push(format!("{} undecided", is_or_are(found.undecided)));
    }
    let compared = [found.agrees, found.agrees_in_order, found.undecided, found.differs];
    let compared: u64 = compared.into_iter().map(u64::from).sum();
    let mut sentences = Vec::new();
    if compared > 0 {
        sentences.push(format!("Of {} with a published value, {}.", plural(compared, "claim", "claims"), list(&each)));
    }
    if found.given > 0 {
        let numbers = plural(found.given.into(), "claim is", "claims are");
        sentences.push(format!("{numbers} given: the value is part of our set-up."));
    }
    if found.not_published > 0 {
        let numbers = plural(found.not_published.into(), "number has", "numbers have");
        sentences.push(format!("{numbers} no published value."));
    }
    if reproduction.not_testable > 0 {
        let statements = plural(reproduction.not_testable.into(), "statement", "statements");
        sentences.push(format!("{statements} of the paper cannot be tested; --coverage says why."));
    }
    sentences
}

fn is_or_are(n: u32) -> String {
    match n {
        1 => "1 is".to_owned(),
        n => format!("{} are", count(n.into())),
    }
}

/// Reason why a claim does not agree, and the number of seeds that would decide it.
pub(super) fn reason(claim: &Item) -> Option<String> {
    let seeds = claim.seeds_to_decide.map(|seeds| {
        let seeds = count(seeds.into());
        format!("{seeds} seeds would decide, if they vary as ours do.")
    });
    let parts = [claim.reason.clone(), seeds];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// Sentences that restrict the validity of the numbers.
pub(super) fn notes(reproduction: &Reproduction) -> Vec<String> {
    let mut notes = Vec::new();
    if reproduction.quick {
        notes.push("Made with --quick: fewer seeds and shorter runs, so that numbers vary more.".to_owned());
    }
    if reproduction.interrupted {
        notes.push("The call was stopped early: items are missing.".to_owned());
    }
    notes
}

/// Explanation of the numbers, for readers of a table.
pub(super) const EXPLANATION: &str = "± after a published value is the tolerance, after ours the half-width of the 95 % \
    confidence interval. \"agrees in order\": beyond the tolerance, but on the published side of \"no effect\", or ranked as \
    published. \"undecided\": the interval contains numbers with other verdicts. \"given\": the published value is part of our set-up.";

/// Published value or bound with its tolerance: `0.5 ±0.1`, `at most 3 ±0.3 s`.
pub(super) fn published(item: &Item) -> String {
    let bound = item.published.as_ref().map(bound);
    with_unit(bound.unwrap_or_else(|| NONE.to_owned()), &item.unit)
}

/// Published value or bound with its tolerance, without its unit.
fn bound(published: &Published) -> String {
    let bound = match (published.value, published.at_most, published.at_least, published.between) {
        (Some(value), ..) => exact(value),
        (_, Some(bound), ..) => format!("≤ {}", exact(bound)),
        (_, _, Some(bound), _) => format!("≥ {}", exact(bound)),
        (_, _, _, Some([low, high])) => format!("{} to {}", exact(low), exact(high)),
        _ => return NONE.to_owned(),
    };
    let tolerance = published.tolerance.filter(|tolerance| *tolerance > 0.0);
    let tolerance = tolerance.map_or(String::new(), |tolerance| format!(" ±{}", exact(tolerance)));
    format!("{bound}{tolerance}")
}

/// Our number with its confidence interval, in the unit of the published value and with at least as many digits.
pub(super) fn ours(item: &Item) -> String {
    let published = item.published.as_ref();
    let given = published.into_iter().flat_map(|published| {
        let bounds = [published.value, published.at_most, published.at_least];
        let range = published.between.into_iter().flatten();
        bounds.into_iter().flatten().chain(range)
    });
    let given = given.map(decimals).max();
    with_unit(estimate(item.ours, given.unwrap_or(0)), &item.unit)
}

/// Number with its confidence interval: two digits of the interval, or three of the number, but at least `least` decimals.
fn estimate(estimate: Estimate, least: usize) -> String {
    let Some(value) = estimate.value.filter(|value| value.is_finite()) else {
        return NONE.to_owned();
    };
    let half = estimate.ci95.filter(|half| half.is_finite());
    let needed = match half.filter(|half| *half > 0.0) {
        Some(half) => places(half, 2),
        None => places(value, 3),
    };
    let decimals = needed.max(least).min(DECIMALS);
    let half = half.map_or(String::new(), |half| format!(" ±{}", fixed(half, decimals)));
    format!("{}{half}", fixed(value, decimals))
}

/// Content of a cell of a table of results.
pub(super) fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => text.clone(),
        Cell::Number { estimate, decimals } => {
            let decimals = usize::from(*decimals);
            let Some(value) = estimate.value else {
                return NONE.to_owned();
            };
            let half = estimate.ci95.map_or(String::new(), |half| format!(" ±{}", fixed(half, decimals)));
            format!("{}{half}", fixed(value, decimals))
        }
    }
}

fn with_unit(number: String, unit: &str) -> String {
    match unit.is_empty() || number == NONE {
        true => number,
        false => format!("{number} {unit}"),
    }
}

/// Number with all of its digits, and separators between thousands.
fn exact(value: f64) -> String {
    match value != 0.0 && !(1e-6..1e12).contains(&value.abs()) {
        true => format!("{value:e}"),
        false => minus(&grouped(&value.to_string())),
    }
}

/// Number with `decimals` digits after the decimal point, and separators between thousands.
fn fixed(value: f64, decimals: usize) -> String {
    if value.abs() >= 1e12 {
        return format!("{value:.3e}");
    }
    let text = format!("{value:.decimals$}");
    // A small negative number is not "−0.0".
    let zero = !text.contains(|c: char| c.is_ascii_digit() && c != '0');
    let text = if zero { text.trim_start_matches('-') } else { &text };
    minus(&grouped(text))
}

fn minus(number: &str) -> String {
    number.replacen('-', "−", 1)
}

/// Decimals that show `digits` significant digits of `value`.
fn places(value: f64, digits: i32) -> usize {
    match value == 0.0 {
        true => 0,
        false => usize::try_from(digits - 1 - libm::log10(value.abs()).floor() as i32).unwrap_or(0),
    }
}

/// Digits of `value` after the decimal point.
fn decimals(value: f64) -> usize {
    let text = value.to_string();
    text.split_once('.').map_or(0, |(_, fraction)| fraction.len())
}

/// Name of an item within its figure or table.
pub(super) fn name(item: &Item) -> &str {
    item.id.split_once('/').map_or(&item.id, |(_, name)| name)
}

/// True for the sensitivity to an assumption, which has no verdict.
pub(super) fn is_assumption(item: &Item) -> bool {
    item.id.starts_with("assumption/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(value: f64, ci95: f64, least: usize) -> String {
        let ci95 = Some(ci95).filter(|half| *half >= 0.0);
        estimate(Estimate { value: Some(value), ci95, seeds: 0 }, least)
    }

    #[test]
    fn our_digits_follow_the_interval_and_the_published_value() {
        assert_eq!(number(0.5812, 0.0213, 1), "0.581 ±0.021");
        assert_eq!(number(36_758.4, 412.0, 0), "36,758 ±412");
        assert_eq!(number(36_758.4, 412.0, 1), "36,758.4 ±412.0");
        assert_eq!(number(14.26, -1.0, 0), "14.3");
        assert_eq!(number(3.0, 0.0, 2), "3.00 ±0.00");
        assert_eq!(number(-0.0004, 0.01, 0), "0.000 ±0.010");
        assert_eq!(number(f64::NAN, 1.0, 0), "–");
    }

    #[test]
    fn published_values_keep_their_digits() {
        let number = Published { value: Some(14.3), tolerance: Some(1.5), ..Published::default() };
        assert_eq!(bound(&number), "14.3 ±1.5");
        let at_most = Published { at_most: Some(36_758.0), tolerance: Some(0.0), ..Published::default() };
        assert_eq!(bound(&at_most), "≤ 36,758");
        let range = Published { between: Some([4.0, 14.0]), ..Published::default() };
        assert_eq!(bound(&range), "4 to 14");
        assert_eq!(bound(&Published::default()), "–");
    }
}

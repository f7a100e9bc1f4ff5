//! Conclusions of a comparison in sentences. All numbers are taken from the results; only ratios are computed.

use super::applications::applications;
use super::columns::near;
use super::experiment::{measured_anything, nothing_started};
use super::noticed;
use crate::format::{count, factor as factor_of, list, percent, plural, rate, sizes, time};
use gentle_aqm::{KernelQdisc, Origin, Scheme, registry};
use gentle_experiment::MATTERS;
use gentle_experiment::results::{Comparison, HEADLINE, Paired, SchemeResult, TESTED, Verdict};

/// Maximum number of schemes named in a sentence before "and … more".
const NAMED: usize = 5;

/// Conclusions and caveats. Texts from the user are not escaped.
pub(crate) struct Conclusions {
    /// The first sentences of all, for readers who stop there.
    pub(crate) headline: Vec<String>,
    /// Advice on the next step, with a command.
    pub(crate) next_step: Option<String>,
    /// The other sentences.
    pub(crate) verdict: Vec<String>,
    pub(crate) notes: Vec<String>,
}

/// Draws the conclusions of a comparison.
pub(crate) fn conclusions(comparison: &Comparison) -> Conclusions {
    let results = &comparison.results;
    let on_applications = || {
        let applications = applications(comparison).into_iter();
        applications.filter_map(|application| application.sentence)
    };
    let mut headline = match results.as_slice() {
        [] => vec!["No run has finished, so there are no results.".to_owned()],
        _ if !measured_anything(comparison) => vec![nothing_started(comparison)],
        [only] => {
            let mut sentences = single_scheme(only);
            sentences.extend(on_applications());
            sentences
        }
        [first, ..] => {
            let reference = reference(comparison).unwrap_or(first);
            let of_others = [
                all_connections(comparison),
                unranked(comparison, ALL),
                handshake_loss(results, reference),
                handshake_loss_on_reverse_link(comparison),
                retransmission_delay(reference),
            ];
            (ranking(comparison, reference).into_iter())
                .chain(noticed::sentences(comparison))
                .chain(of_others.into_iter().flatten())
                .chain(on_applications())
                .collect()
        }
    };
    let verdict = headline.split_off(HEADLINES.min(headline.len()));
    Conclusions { headline, next_step: next_step(comparison), verdict, notes: notes(comparison) }
}

/// Number of sentences in a headline.
const HEADLINES: usize = 2;

/// Advice on the next step: set the best scheme up, with what it does, if it is better than the reference and Linux can have it,
/// or make more runs where chance may have decided. A scheme that needs a kernel module has an alternative without.
fn next_step(comparison: &Comparison) -> Option<String> {
    let results = &comparison.results;
    let of = |r: &SchemeResult| r.paired.get(HEADLINE).copied().unwrap_or_default();
    let mean = |r: &SchemeResult| r.response_time_by_size.first()?.mean_s;
    let is_better = |r: &&SchemeResult| of(r).verdict == Some(Verdict::Better);
    if let Some((best, _)) = lowest(results.iter().filter(|r| of(r).best), mean)
        && is_better(&best)
    {
        let stock = lowest(results.iter().filter(is_better).filter(|r| is_in_linux(r)), mean);
        return set_up(best, stock.map(|(r, mean)| format!("{} ({})", r.label, time(mean))));
    }
    if let Some(best) = noticed::choice(comparison, |_| true) {
        // A module has to gain something.
        let stock = noticed::choice(comparison, is_in_linux);
        let (choice, stock) = match stock {
            Some(stock) if stock.farthest <= best.farthest + MATTERS => (stock, None),
            stock => (best, stock),
        };
        let numbers = match choice.better == choice.all {
            true => format!("all {} numbers", choice.all),
            false => format!("{} of the {} numbers", choice.better, choice.all),
        };
        let why = format!(
            "{} is better than {} in {numbers} that people notice, beyond chance, and worse in none",
            choice.scheme.label,
            comparison.reference.as_deref().unwrap_or("the reference")
        );
        let stock = stock.map(|stock| format!("{} (better in {})", stock.scheme.label, stock.better));
        return Some(format!("{why}. {}", set_up(choice.scheme, stock)?));
    }
    results.iter().any(|r| of(r).undecided).then(|| {
        let more = (2 * comparison.seeds.len()).max(5);
        format!("--seeds {more} narrows the intervals by half or more, which may tell the schemes apart.")
    })
}

/// Queue discipline of Linux or of gentle that a scheme is.
fn qdisc_of(r: &SchemeResult) -> Option<(&'static Scheme, &'static KernelQdisc)> {
    let scheme = registry::listed().find(|scheme| scheme.name == r.scheme)?;
    Some((scheme, scheme.linux.as_ref()?.qdisc))
}

/// Whether Linux has the scheme without a module of gentle.
fn is_in_linux(r: &SchemeResult) -> bool {
    qdisc_of(r).is_some_and(|(_, qdisc)| matches!(qdisc.origin, Origin::Linux))
}

/// How to set a scheme up, and what it does; `None` if Linux cannot have it. `stock` is the best scheme that Linux has.
fn set_up(r: &SchemeResult, stock: Option<String>) -> Option<String> {
    let (scheme, qdisc) = qdisc_of(r)?;
    let needs = match (&qdisc.origin, stock) {
        (Origin::Linux, _) => String::new(),
        (Origin::Gentle, None) => format!(" (its kernel module is sch_{})", qdisc.kind),
        (Origin::Gentle, Some(stock)) => {
            format!("; it needs the kernel module sch_{}, and the best without one is {stock}", qdisc.kind)
        }
    };
    let label = if r.label.contains(' ') { format!("'{}'", r.label) } else { r.label.clone() };
    Some(format!(
        "gentle qdisc plan DEVICE {label} --rate RATE prints the commands that set it up on a router{needs}. How {} works: {}.",
        scheme.name, scheme.summary
    ))
}

/// Results of the reference; without a reference, of the first scheme.
pub(super) fn reference(comparison: &Comparison) -> Option<&SchemeResult> {
    let is_reference = |r: &&SchemeResult| Some(&r.label) == comparison.reference.as_ref();
    comparison.results.iter().find(is_reference).or(comparison.results.first())
}

/// Label of a scheme, after a name that newcomers understand where there is one.
pub(super) fn introduced(r: &SchemeResult) -> String {
    match r.scheme.as_str() {
        "pfifo" | "bfifo" => format!("a plain queue ({})", r.label),
        _ => r.label.clone(),
    }
}

/// Sentences on a single scheme, without comparison.
fn single_scheme(r: &SchemeResult) -> Vec<String> {
    let population = plural(r.connections, "connection", "connections");
    let mut sentences = Vec::new();
    if let Some(mean) = r.response_time_s.mean {
        let mut sentence = format!("With {}, {population} take {} on average", r.label, time(mean));
        if let (Some(p50), Some(p99)) = (r.response_time_s.p50, r.response_time_s.p99) {
            sentence += &format!(": half of them at most {}, one in a hundred more than {}", time(p50), time(p99));
        }
        sentences.push(sentence + ".");
    }
    if let Some((bin, mean)) = r.response_time_by_size.first().and_then(|b| Some((b, b.mean_s?))) {
        sentences.push(format!(
            "Small transfers ({}) take {}.",
            segments(bin.min_segments, bin.max_segments),
            time(mean)
        ));
    }
    if let Some(lost) = r.links.down.loss.handshake {
        sentences.push(match lost {
            0.0 => "The queue under test drops no SYN or SYN/ACK.".to_owned(),
            lost => format!("The queue under test drops {} of the SYNs and SYN/ACKs.", percent(lost)),
        });
    }
    sentences.extend(retransmission_delay(r));
    sentences
}

/// Sentences on the response time of the shortest connections: under the reference, under the best scheme, and who differs
/// from these. What counts as best and as different is decided in the results ([`Paired`]).
fn ranking(comparison: &Comparison, reference: &SchemeResult) -> Vec<String> {
    let results = &comparison.results;
    let mean = |r: &SchemeResult| r.response_time_by_size.first()?.mean_s;
    let Some(bin) = reference.response_time_by_size.first() else {
        return Vec::new();
    };
    if results.iter().all(|r| r.connections == 0) {
        return Vec::new();
    }
    let sizes = segments(bin.min_segments, bin.max_segments);
    let labels = |wanted: &dyn Fn(&Paired) -> bool| -> Vec<String> {
        let of = |r: &&SchemeResult| r.paired.get(HEADLINE).is_some_and(wanted);
        results.iter().filter(of).map(|r| r.label.clone()).collect()
    };
    let ranked = comparison.ranked(HEADLINE);
    let ranked = results.iter().zip(ranked).filter(|(_, ranked)| *ranked);
    let leader = lowest(ranked.map(|(r, _)| r), mean);
    let best = labels(&|paired| paired.best);
    let mut sentences = vec![match mean(reference) {
        Some(mean) => {
            format!(
                "Small transfers ({sizes}) take {} on average with {}, the reference.",
                time(mean),
                introduced(reference)
            )
        }
        None => format!("No small transfer ({sizes}) completes with {}, the reference.", introduced(reference)),
    }];
    if let Some((leader, least)) = leader {
        sentences.push(leading(comparison, reference, (leader, least), &best));
    }
    let undecided = labels(&|paired| paired.undecided);
    if !undecided.is_empty() {
        sentences.push(format!(
            "{} cannot tell {} from {}.",
            seeds(comparison),
            named(&undecided),
            if let [one] = best.as_slice() { one } else { "the best" }
        ));
    }
    sentences.extend(unranked(comparison, HEADLINE));
    sentences.extend(against_reference(results, reference));
    sentences
}

/// Sentence on the scheme with the lowest mean response time of the shortest connections, `leader` with that mean, and on
/// the other schemes that are `best`.
fn leading(
    comparison: &Comparison,
    reference: &SchemeResult,
    (leader, least): (&SchemeResult, f64),
    best: &[String],
) -> String {
    let ranked = comparison.ranked(HEADLINE).iter().filter(|ranked| **ranked).count();
    let schemes = match comparison.results.len() {
        all if all == ranked => format!("{all} schemes"),
        all => format!("the {ranked} of {all} schemes that can be ranked"),
    };
    let least = time(least);
    if best.is_empty() {
        let chance = none_is_best(comparison);
        return match std::ptr::eq(leader, reference) {
            true => format!("None of {schemes} has a lower mean{chance}."),
            false => format!("The lowest mean of {schemes} is {least}, with {}{chance}.", leader.label),
        };
    }
    let paired = leader.paired.get(HEADLINE).copied().unwrap_or_default();
    let is_better = paired.verdict == Some(Verdict::Better);
    let factor = paired.factor.filter(|_| is_better);
    let factor = factor.and_then(|ratio| factor_of(ratio, paired.factor_ci95));
    let factor = factor.map_or(String::new(), |factor| format!(": {factor} times as fast"));
    let mut sentence = match std::ptr::eq(leader, reference) {
        true => format!("{} is the best of {schemes}", leader.label),
        false => format!("With {}, the best of {schemes}, they take {least}{factor}", leader.label),
    };
    let others: Vec<String> = (best.iter()).filter(|label| **label != leader.label).cloned().collect();
    if !others.is_empty() {
        sentence +=
            &format!("; {} {} within {} of it", named(&others), if others.len() == 1 { "is" } else { "are" }, near());
    }
    sentence + "."
}

/// Sentence on the schemes that differ from the reference. Those that leave more connections unfinished than it, or fewer, are
/// in another sentence unless they differ all the same.
fn against_reference(results: &[SchemeResult], reference: &SchemeResult) -> Option<String> {
    let others = || results.iter().filter(|r| !std::ptr::eq(*r, reference));
    let labels = |wanted: &dyn Fn(&SchemeResult, &Paired) -> bool| -> Vec<String> {
        let of = |r: &&SchemeResult| r.paired.get(HEADLINE).is_some_and(|paired| wanted(r, paired));
        others().filter(of).map(|r| r.label.clone()).collect()
    };
    // Without a p-value, nothing was tested.
    if labels(&|_, paired| paired.p.is_some()).is_empty() {
        return None;
    }
    let better = labels(&|_, paired| paired.verdict == Some(Verdict::Better));
    let number = others().count();
    if better.len() == number && number > 1 {
        let all = match number {
            2 => "Both".to_owned(),
            n => format!("All {n}"),
        };
        return Some(format!("{all} others are faster than {} (*).", reference.label));
    }
    let worse = labels(&|_, paired| paired.verdict == Some(Verdict::Worse));
    let equally_open = |r: &SchemeResult| r.open(HEADLINE) == reference.open(HEADLINE);
    let alike =
        |tested: bool| labels(&|r, paired| paired.verdict.is_none() && paired.p.is_some() == tested && equally_open(r));
    let groups = [
        (better, "faster (*)"),
        (worse, "slower (*)"),
        (alike(true), "not significantly different"),
        (alike(false), "not tested: identical difference in every seed"),
    ];
    let groups: Vec<String> = groups
        .into_iter()
        .filter(|(schemes, _)| !schemes.is_empty())
        .map(|(schemes, what)| match schemes.len() {
            1 => format!("{} is {what}", schemes[0]),
            n if n <= NAMED => format!("{} are {what}", list(&schemes)),
            n => format!("{n} schemes are {what}"),
        })
        .collect();
    (!groups.is_empty()).then(|| format!("Compared with {}, {}.", reference.label, groups.join("; ")))
}

/// Name of the result on connections of all sizes.
const ALL: &str = "response_time_s.mean";

/// Number of seeds, for the beginning of a sentence or clause.
pub(super) fn seeds(comparison: &Comparison) -> String {
    plural(comparison.seeds.len() as u64, "seed", "seeds")
}

/// Clause where no scheme is the best; empty if there is no chance that seeds could exclude.
pub(super) fn none_is_best(comparison: &Comparison) -> String {
    let alike = comparison.results.iter().all(|r| r.seeds_alike);
    match comparison.seeds.len() {
        2.. if !alike => format!("; {} cannot tell which scheme is best", seeds(comparison)),
        _ => String::new(),
    }
}

/// Sentence on the range of the mean response time over all sizes, of the schemes that can be ranked by it.
fn all_connections(comparison: &Comparison) -> Option<String> {
    let mean = |r: &SchemeResult| r.response_time_s.mean;
    let ranked = comparison.ranked(ALL);
    let ranked = comparison.results.iter().zip(&ranked).filter(|(_, ranked)| **ranked);
    let (best, shortest) = lowest(ranked.map(|(r, _)| r), mean)?;
    let (worst, longest) = highest(&comparison.results, mean)?;
    if shortest >= longest {
        return Some(format!("Across all sizes the mean response time is {} ({}).", time(shortest), best.label));
    }
    Some(format!(
        "Across all sizes, mean response times range from {} ({}) to {} ({}).",
        time(shortest),
        best.label,
        time(longest),
        worst.label
    ))
}

/// Sentence on the schemes that cannot be ranked by the result `name`, because they leave more connections unfinished than
/// others. Under [`ALL`] those of [`HEADLINE`] are not repeated.
fn unranked(comparison: &Comparison, name: &str) -> Option<String> {
    let results = &comparison.results;
    let (of_shortest, of_this) = (comparison.ranked(HEADLINE), comparison.ranked(name));
    let reported = |index: usize| name == ALL && !of_shortest[index];
    let mut more: Vec<&SchemeResult> = (results.iter().enumerate())
        .filter(|(index, r)| !of_this[*index] && r.open(name) > 0 && !reported(*index))
        .map(|(_, r)| r)
        .collect();
    more.sort_by_key(|r| std::cmp::Reverse(r.open(name)));
    let bin = results.first()?.response_time_by_size.first();
    let bin = bin.filter(|_| name == HEADLINE);
    let (whose, over) = match bin {
        Some(bin) => {
            let sizes = segments(bin.min_segments, bin.max_segments);
            (format!(" of {sizes}"), "")
        }
        None => (String::new(), " over all sizes"),
    };
    let population = |r: &SchemeResult| match (bin, r.response_time_by_size.first()) {
        (Some(_), Some(bin)) => bin.n + bin.unfinished,
        _ => r.connections,
    };
    let of_one = |r: &SchemeResult| {
        let (open, all) = (count(r.open(name)), count(population(r)));
        format!("{open} of {all}")
    };
    match more.as_slice() {
        [] => None,
        [one] => Some(format!(
            "{} leaves {} connections{whose} unfinished; its mean{over} omits them and is not ranked.",
            one.label,
            of_one(one)
        )),
        several => {
            let each = several.iter().map(|r| format!("{} ({})", r.label, of_one(r)));
            Some(format!(
                "{} leave connections{whose} unfinished; their means{over} omit them and are not ranked.",
                named(&each.collect::<Vec<String>>())
            ))
        }
    }
}

/// Sentence on losses of SYNs and SYN/ACKs in the queue under test.
fn handshake_loss(results: &[SchemeResult], reference: &SchemeResult) -> Option<String> {
    let lost = |r: &SchemeResult| r.links.down.loss.handshake;
    let (best, least) = lowest(results.iter(), lost)?;
    let (worst, most) = highest(results, lost)?;
    if most == 0.0 {
        return Some(
            "The queue under test drops no packet that opens a connection (SYN, SYN/ACK), with any scheme.".to_owned(),
        );
    }
    let spared: Vec<String> = results.iter().filter(|r| lost(r) == Some(0.0)).map(|r| r.label.clone()).collect();
    let fewest = match spared.as_slice() {
        [] => format!("{} drops the fewest ({})", best.label, percent(least)),
        [one] => format!("{one} drops none"),
        several => format!("{} drop none", named(several)),
    };
    let of_reference =
        lost(reference).filter(|&lost| lost > 0.0 && !std::ptr::eq(worst, reference) && !std::ptr::eq(best, reference));
    let of_reference = of_reference.map_or(String::new(), |lost| format!(", {} {}", reference.label, percent(lost)));
    Some(format!(
        "Of the packets that open a connection (SYN, SYN/ACK), {fewest}; {} drops the most ({}){of_reference}.",
        worst.label,
        percent(most)
    ))
}

/// Sentence on losses in the queue of the reverse link, which no scheme under test can influence.
fn handshake_loss_on_reverse_link(comparison: &Comparison) -> Option<String> {
    let lost = |r: &SchemeResult| r.links.up.loss.handshake;
    let (worst, most) = highest(&comparison.results, lost).filter(|(_, most)| *most > 0.0)?;
    let (best, least) = lowest(comparison.results.iter(), lost)?;
    let up = &comparison.scenario.up;
    let (link, largest, smallest) = (rate(up.rate_bps), percent(most), percent(least));
    let share = if least == most { largest.clone() } else { format!("{smallest} to {largest}") };
    Some(match up.qdisc == TESTED {
        true if least < most => format!(
            "Of the SYNs and SYN/ACKs on the reverse link ({link}), {} drops the most ({largest}), {} the fewest ({smallest}).",
            worst.label, best.label
        ),
        true => format!("The reverse link ({link}) drops {share} of its own SYNs and SYN/ACKs."),
        false => format!(
            "The reverse link ({link}, {}) drops {share} of its own SYNs and SYN/ACKs under every scheme.",
            up.qdisc
        ),
    })
}

/// Sentence on the cost of lost handshake packets under one scheme.
fn retransmission_delay(r: &SchemeResult) -> Option<String> {
    let all = r.retransmission.delay_mean_s.filter(|&all| all > 0.0)?;
    let syn = r.retransmission.delay_mean_syn_part_s?;
    Some(format!(
        "With {}, retransmissions cost a connection {} on average, {} of it for SYNs and SYN/ACKs.",
        r.label,
        time(all),
        percent(syn / all)
    ))
}

fn notes(comparison: &Comparison) -> Vec<String> {
    let results = &comparison.results;
    let (seeds, asked) = (comparison.seeds.len(), comparison.scenario.seeds.len());
    let mut notes = Vec::new();
    if comparison.interrupted {
        let left_out = match comparison.left_out.as_slice() {
            _ if results.is_empty() => String::new(),
            [] => String::new(),
            left_out => format!(", without {}, which completed none", named(left_out)),
        };
        notes.push(format!(
            "The run was stopped early: the numbers cover {} of {}{left_out}.",
            count(seeds as u64),
            plural(asked as u64, "seed", "seeds"),
        ));
    }
    if seeds == 1 {
        notes.push("A single seed gives no confidence intervals and no significance tests.".to_owned());
    }
    if seeds == 2 && results.iter().any(|r| !r.seeds_alike) {
        notes.push(
            "Two seeds give intervals that are too wide to decide anything; --seeds 5 is the default.".to_owned(),
        );
    }
    if seeds > 1 && comparison.scenario.replayed {
        let alike: Vec<String> = (results.iter().filter(|r| r.seeds_alike)).map(|r| r.label.clone()).collect();
        let alike = match alike.len() {
            0 => String::new(),
            n if n == results.len() => {
                "; every scheme gave the same results for all seeds, so – replaces it".to_owned()
            }
            _ => format!("; – replaces it under {}, which gave the same results for all seeds", named(&alike)),
        };
        notes.push(format!(
            "All seeds replay the same connections, so ± covers only the random decisions of a scheme, not the variation of traffic{alike}."
        ));
    }
    if let [only] = results.as_slice()
        && only.unfinished + only.failed > 0
    {
        let given_up = match only.failed {
            0 => String::new(),
            n => format!(", {} given up", count(n)),
        };
        notes.push(format!(
            "Response times cover completed connections only: {} of {} were unfinished when the drain time ended{given_up}.",
            count(only.unfinished),
            count(only.connections),
        ));
    }
    notes
}

pub(super) fn segments(min: u64, max: Option<u64>) -> String {
    let noun = if max == Some(1) { "segment" } else { "segments" };
    match max {
        None => format!("more than {} segments", count(min.saturating_sub(1))),
        Some(_) => format!("{} {noun}", sizes(min, max)),
    }
}

/// List of labels, the first few of many.
pub(super) fn named(labels: &[String]) -> String {
    if labels.len() <= NAMED {
        return list(labels);
    }
    let rest = labels.len() - (NAMED - 1);
    format!("{} and {rest} more", labels[..NAMED - 1].join(", "))
}

fn lowest<'a>(
    results: impl Iterator<Item = &'a SchemeResult>,
    of: impl Fn(&SchemeResult) -> Option<f64>,
) -> Option<(&'a SchemeResult, f64)> {
    results.filter_map(|r| Some((r, of(r)?))).min_by(|a, b| a.1.total_cmp(&b.1))
}

fn highest(results: &[SchemeResult], of: impl Fn(&SchemeResult) -> Option<f64>) -> Option<(&SchemeResult, f64)> {
    results.iter().filter_map(|r| Some((r, of(r)?))).max_by(|a, b| a.1.total_cmp(&b.1))
}

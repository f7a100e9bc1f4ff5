//! Conclusions of a comparison in sentences. All numbers are taken from the results; only ratios are computed.

use super::applications::applications;
use super::experiment::{measured_anything, nothing_started};
use crate::format::{Quantity, Scale, count, list, percent, plural, rate, sizes, time, times};
use gentle_experiment::results::{Comparison, HEADLINE, Paired, SchemeResult, TESTED, Verdict};

/// Maximum number of schemes named in a sentence before "and … more".
const NAMED: usize = 5;

/// Conclusions and caveats. Texts from the user are not escaped.
pub(crate) struct Conclusions {
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
    let verdict = match results.as_slice() {
        [] => vec!["No run has finished, so there are no results.".to_owned()],
        _ if !measured_anything(comparison) => vec![nothing_started(comparison)],
        [only] => {
            let mut sentences = single_scheme(only);
            sentences.extend(on_applications());
            sentences
        }
        [first, ..] => {
            let is_reference = |r: &&SchemeResult| Some(&r.label) == comparison.reference.as_ref();
            let reference = results.iter().find(is_reference).unwrap_or(first);
            let sentences = [
                shortest_connections(comparison, reference),
                significance(results, reference),
                all_connections(results),
                more_unfinished(results),
                handshake_loss(results, reference),
                handshake_loss_on_reverse_link(comparison),
                retransmission_delay(
                    reference,
                    &format!("Under {} retransmissions", reference.label),
                ),
            ];
            (sentences.into_iter().flatten())
                .chain(on_applications())
                .collect()
        }
    };
    Conclusions {
        verdict,
        notes: notes(comparison),
    }
}

/// Sentences on a single scheme, without comparison.
fn single_scheme(r: &SchemeResult) -> Vec<String> {
    let population = plural(r.connections, "connection", "connections");
    let mut sentences = Vec::new();
    if let Some(mean) = r.response_time_s.mean {
        let mut sentence = format!(
            "Under {}, {population} take {} on average",
            r.label,
            time(mean)
        );
        if let (Some(p50), Some(p99)) = (r.response_time_s.p50, r.response_time_s.p99) {
            sentence += &format!(
                ": half of them at most {}, one in a hundred over {}",
                time(p50),
                time(p99)
            );
        }
        sentences.push(sentence + ".");
    }
    if let Some((bin, mean)) = r
        .response_time_by_size
        .first()
        .and_then(|b| Some((b, b.mean_s?)))
    {
        sentences.push(format!(
            "Connections of {} take {}.",
            segments(bin.min_segments, bin.max_segments),
            time(mean)
        ));
    }
    if let Some(lost) = r.links.down.loss.handshake {
        sentences.push(match lost {
            0.0 => "No SYN or SYN/ACK is lost in the queue under test.".to_owned(),
            lost => format!(
                "{} of the SYNs and SYN/ACKs are lost in the queue under test.",
                percent(lost)
            ),
        });
    }
    sentences.extend(retransmission_delay(r, "Retransmissions"));
    sentences
}

/// Sentence on the response time of the shortest connections under the reference, and under the scheme with the lowest
/// mean among those with the fewest unfinished connections.
fn shortest_connections(comparison: &Comparison, reference: &SchemeResult) -> Option<String> {
    let results = &comparison.results;
    if results.iter().all(|r| r.connections == 0) {
        return None;
    }
    let of = |r: &SchemeResult| r.response_time_by_size.first()?.mean_s;
    let open = |r: &SchemeResult| r.response_time_by_size.first().map(|bin| bin.unfinished);
    let fewest = results.iter().filter_map(open).min();
    let bin = reference.response_time_by_size.first()?;
    let sizes = segments(bin.min_segments, bin.max_segments);
    let seeds = comparison.seeds.len() as u64;
    let population = match (comparison.scenario.replayed, seeds) {
        (_, 1) => plural(reference.connections, "connection", "connections"),
        (true, _) => format!(
            "{}, the same in {} seeds",
            plural(reference.connections / seeds, "connection", "connections"),
            count(seeds)
        ),
        (false, _) => format!(
            "{} in {} seeds",
            plural(reference.connections, "connection", "connections"),
            count(seeds)
        ),
    };
    let finishers = results.iter().filter(|r| open(r) == fewest);
    let lowest = lowest(finishers, of);
    let under_reference = match of(reference) {
        Some(mean) => format!(
            "Of {population}, those of {sizes} take {} on average under {}, the reference",
            time(mean),
            reference.label
        ),
        None => format!(
            "Of {population}, none of {sizes} completes under {}, the reference",
            reference.label
        ),
    };
    let Some((best, mean)) = lowest else {
        return Some(under_reference + ".");
    };
    if std::ptr::eq(best, reference) {
        return Some(format!(
            "{under_reference}; none of {} schemes has a lower mean.",
            results.len()
        ));
    }
    let paired = best.paired.get(HEADLINE).copied().unwrap_or_default();
    let scale = Scale::of(Quantity::Time, paired.difference.into_iter());
    let less = match paired.difference {
        Some(difference) => format!(
            ", {} {} {}",
            scale.show_ci(Some(difference.abs()), paired.ci95),
            scale.unit,
            if difference < 0.0 { "less" } else { "more" }
        ),
        None => String::new(),
    };
    let ratio = match of(reference) {
        Some(reference) if mean > 0.0 && paired.verdict == Some(Verdict::Better) => {
            format!(" (a factor of {})", times(reference / mean))
        }
        _ => String::new(),
    };
    Some(format!(
        "{under_reference}. The lowest mean of {} schemes is {} under {}{less}{ratio}.",
        results.len(),
        time(mean),
        best.label
    ))
}

/// Sentence on statistical significance: schemes that may be the best, and schemes that differ from the reference.
fn significance(results: &[SchemeResult], reference: &SchemeResult) -> Option<String> {
    let others = results.iter().filter(|r| !std::ptr::eq(*r, reference));
    let labels = |wanted: &dyn Fn(&Paired) -> bool| -> Vec<String> {
        let of = |r: &&SchemeResult| r.paired.get(HEADLINE).is_some_and(wanted);
        others.clone().filter(of).map(|r| r.label.clone()).collect()
    };
    // Without a p-value, nothing was tested.
    let tested = labels(&|paired| paired.p.is_some()).len();
    let best: Vec<String> = (results.iter())
        .filter(|r| r.paired.get(HEADLINE).is_some_and(|paired| paired.best))
        .map(|r| r.label.clone())
        .collect();
    let best = match best.as_slice() {
        [] if tested == 0 => return None,
        [] => "No scheme is significantly the best".to_owned(),
        [one] => format!("{one} is significantly the best"),
        several => format!(
            "The best is {}; their differences are not significant",
            any_of(several)
        ),
    };
    let better = labels(&|paired| paired.verdict == Some(Verdict::Better));
    let worse = labels(&|paired| paired.verdict == Some(Verdict::Worse));
    let alike = labels(&|paired| paired.verdict.is_none() && paired.p.is_some());
    let untested = labels(&|paired| paired.verdict.is_none() && paired.p.is_none());
    let groups = [
        (better, format!("better than {}", reference.label)),
        (worse, "worse".to_owned()),
        (alike, "not significantly different".to_owned()),
        (
            untested,
            "not tested, as the difference is the same for all seeds".to_owned(),
        ),
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
    Some(format!(
        "{best}. Paired by seed (* marks significant differences), {}.",
        groups.join("; ")
    ))
}

/// Sentence on the range of the mean response time; schemes with more unfinished connections than others cannot have
/// the lowest.
fn all_connections(results: &[SchemeResult]) -> Option<String> {
    let mean = |r: &SchemeResult| r.response_time_s.mean;
    let fewest = results.iter().map(open).min();
    let finishers = results.iter().filter(|r| Some(open(r)) == fewest);
    let (best, shortest) = lowest(finishers, mean)?;
    let (worst, longest) = highest(results, mean)?;
    if shortest >= longest {
        return Some(format!(
            "Over connections of all sizes the mean response time is {} under {}.",
            time(shortest),
            best.label
        ));
    }
    Some(format!(
        "Over connections of all sizes the mean response time goes from {} ({}) to {} ({}).",
        time(shortest),
        best.label,
        time(longest),
        worst.label
    ))
}

/// Number of connections that did not complete.
fn open(r: &SchemeResult) -> u64 {
    r.unfinished + r.failed
}

/// Sentence on schemes that leave more connections unfinished than others: their means cover only the completed ones.
fn more_unfinished(results: &[SchemeResult]) -> Option<String> {
    let fewest = results.iter().map(open).min()?;
    let mut more: Vec<&SchemeResult> = results.iter().filter(|r| open(r) > fewest).collect();
    more.sort_by_key(|r| std::cmp::Reverse(open(r)));
    let each: Vec<String> = more
        .iter()
        .map(|r| {
            format!(
                "{} ({} of {})",
                r.label,
                count(open(r)),
                count(r.connections)
            )
        })
        .collect();
    (!each.is_empty()).then(|| {
        format!(
            "More connections than under other schemes are left unfinished under {}: their times cover completed connections only, and none counts as best.",
            named(&each)
        )
    })
}

/// Sentence on losses of SYNs and SYN/ACKs in the queue under test.
fn handshake_loss(results: &[SchemeResult], reference: &SchemeResult) -> Option<String> {
    let lost = |r: &SchemeResult| r.links.down.loss.handshake;
    let (best, least) = lowest(results.iter(), lost)?;
    let (worst, most) = highest(results, lost)?;
    if most == 0.0 {
        return Some("No scheme loses a SYN or SYN/ACK in the queue under test.".to_owned());
    }
    let spared: Vec<String> = results
        .iter()
        .filter(|r| lost(r) == Some(0.0))
        .map(|r| r.label.clone())
        .collect();
    let mut sentence = match spared.len() {
        0 => format!(
            "In the queue under test the fewest SYNs and SYN/ACKs are lost under {} ({}),",
            best.label,
            percent(least)
        ),
        _ => format!(
            "In the queue under test no SYN or SYN/ACK is lost under {};",
            named(&spared)
        ),
    };
    sentence += &format!(" the most under {} ({})", worst.label, percent(most));
    if let Some(of_reference) =
        lost(reference).filter(|&lost| lost > 0.0 && !std::ptr::eq(worst, reference))
    {
        sentence += &format!("; {} loses {}", reference.label, percent(of_reference));
    }
    Some(sentence + ".")
}

/// Sentence on losses in the queue of the reverse link, which no scheme under test can influence.
fn handshake_loss_on_reverse_link(comparison: &Comparison) -> Option<String> {
    let lost = |r: &SchemeResult| r.links.up.loss.handshake;
    let (_, most) = highest(&comparison.results, lost).filter(|(_, most)| *most > 0.0)?;
    let (_, least) = lowest(comparison.results.iter(), lost)?;
    let up = &comparison.scenario.up;
    let share = match least == most {
        true => percent(most),
        false => format!("{} to {}", percent(least), percent(most)),
    };
    if up.qdisc == TESTED {
        return Some(format!(
            "The reverse link ({}) loses {share} of its own SYNs and SYN/ACKs.",
            rate(up.rate_bps)
        ));
    }
    Some(format!(
        "The reverse link ({}, {}) loses {share} of its own SYNs and SYN/ACKs, whatever the scheme under test.",
        rate(up.rate_bps),
        up.qdisc
    ))
}

/// Sentence on the cost of lost handshake packets under one scheme.
fn retransmission_delay(r: &SchemeResult, subject: &str) -> Option<String> {
    let all = r.retransmission.delay_mean_s.filter(|&all| all > 0.0)?;
    let syn = r.retransmission.delay_mean_syn_part_s?;
    Some(format!(
        "{subject} cost a connection {} on average, {} of it for SYNs and SYN/ACKs.",
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
        notes.push(
            "A single seed gives no confidence intervals and no significance tests.".to_owned(),
        );
    }
    if seeds > 1 && comparison.scenario.replayed {
        let alike: Vec<String> = (results.iter().filter(|r| r.seeds_alike))
            .map(|r| r.label.clone())
            .collect();
        let alike = match alike.len() {
            0 => String::new(),
            n if n == results.len() => {
                "; every scheme gave the same results for all seeds, so – replaces it".to_owned()
            }
            _ => format!(
                "; – replaces it under {}, which gave the same results for all seeds",
                named(&alike)
            ),
        };
        notes.push(format!(
            "All seeds replay the same connections, so ± covers only the random decisions of a scheme, not the variation of traffic{alike}."
        ));
    }
    if let [only] = results.as_slice()
        && open(only) > 0
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
    let noun = if max == Some(1) {
        "segment"
    } else {
        "segments"
    };
    match max {
        None => format!("more than {} segments", count(min.saturating_sub(1))),
        Some(_) => format!("{} {noun}", sizes(min, max)),
    }
}

/// Alternative of labels, `a or b`.
pub(super) fn any_of(labels: &[String]) -> String {
    match labels {
        [first, second] => format!("{first} or {second}"),
        _ if labels.len() <= NAMED => format!("one of {}", list(labels)),
        _ => format!("one of {} schemes", labels.len()),
    }
}

fn named(labels: &[String]) -> String {
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
    results
        .filter_map(|r| Some((r, of(r)?)))
        .min_by(|a, b| a.1.total_cmp(&b.1))
}

fn highest(
    results: &[SchemeResult],
    of: impl Fn(&SchemeResult) -> Option<f64>,
) -> Option<(&SchemeResult, f64)> {
    results
        .iter()
        .filter_map(|r| Some((r, of(r)?)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

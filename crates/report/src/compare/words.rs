//! The answer in plain sentences: numbers picked from the results, nothing computed but ratios.

use crate::format::{count, list, percent, plural, sizes, time, times};
use gentle_sim::results::{Comparison, SchemeResult};

/// How many schemes a sentence names before it says "and … more".
const NAMED: usize = 5;

/// What the results say, and what to keep in mind when reading them. Text as the user wrote it: not escaped.
pub(crate) struct Words {
    pub(crate) verdict: Vec<String>,
    pub(crate) notes: Vec<String>,
}

pub(crate) fn words(comparison: &Comparison) -> Words {
    let results = &comparison.results;
    let verdict = match results.as_slice() {
        [] => vec!["No run had finished, so there is nothing to show.".to_owned()],
        [only] => alone(only),
        [first, ..] => {
            let baseline = results
                .iter()
                .find(|r| r.scheme == "pfifo")
                .unwrap_or(first);
            let sentences = [
                shortest_connections(results, baseline),
                all_connections(results),
                syn_loss(results, baseline),
                retransmission_delay(
                    baseline,
                    &format!("Under {} retransmissions", baseline.label),
                ),
            ];
            sentences.into_iter().flatten().collect()
        }
    };
    Words {
        verdict,
        notes: notes(comparison),
    }
}

/// One scheme: what it does, without comparison.
fn alone(r: &SchemeResult) -> Vec<String> {
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
            "Those of {} take {}.",
            segments(bin.min_segments, bin.max_segments),
            time(mean)
        ));
    }
    if let Some(syn) = r.loss.syn {
        sentences.push(match syn {
            0.0 => "No SYN is lost.".to_owned(),
            syn => format!("Of the SYNs {} are lost.", percent(syn)),
        });
    }
    sentences.extend(retransmission_delay(r, "Retransmissions"));
    sentences
}

/// Which scheme serves the smallest connections best, against the baseline.
fn shortest_connections(results: &[SchemeResult], baseline: &SchemeResult) -> Option<String> {
    let of = |r: &SchemeResult| {
        Some((
            r.response_time_by_size.first()?.mean_s?,
            r.response_time_by_size.first()?.ci95_s,
        ))
    };
    let bin = baseline.response_time_by_size.first()?;
    let (reference, _) = of(baseline)?;
    let (best, (shortest, ci)) =
        lowest(results, |r| of(r).map(|(mean, _)| mean)).and_then(|(r, _)| Some((r, of(r)?)))?;
    let population = format!(
        "Of {}, those of {} take",
        plural(baseline.connections, "connection", "connections"),
        segments(bin.min_segments, bin.max_segments),
    );
    if shortest == reference {
        let level = results.iter().filter_map(of).filter(|b| b.0 == shortest);
        let among = if level.count() > 1 {
            "no longer than under any"
        } else {
            "the shortest"
        };
        return Some(format!(
            "{population} {} on average under {}, {among} of {} schemes.",
            time(shortest),
            baseline.label,
            results.len()
        ));
    }
    let level: Vec<String> = results
        .iter()
        .filter(|r| !std::ptr::eq(*r, best))
        .filter(|r| match (ci, of(r)) {
            (Some(ci), Some((mean, Some(other)))) => mean - other <= shortest + ci,
            _ => false,
        })
        .map(|r| r.label.clone())
        .collect();
    let ratio = match shortest {
        0.0 => String::new(),
        _ => format!(" (a factor of {})", times(reference / shortest)),
    };
    let tie = match level.len() {
        0 => String::new(),
        _ => format!(
            "; the 95 % confidence intervals of {} overlap with it",
            named(&level)
        ),
    };
    Some(format!(
        "{population} {} on average under {} and {} under {}{ratio}, the shortest of {} schemes{tie}.",
        time(reference),
        baseline.label,
        time(shortest),
        best.label,
        results.len()
    ))
}

/// The span of the mean response time.
fn all_connections(results: &[SchemeResult]) -> Option<String> {
    let mean = |r: &SchemeResult| r.response_time_s.mean;
    let (best, shortest) = lowest(results, mean)?;
    let (worst, longest) = highest(results, mean)?;
    if shortest == longest {
        return Some(format!(
            "Over connections of all sizes the mean response time is {} under all of them.",
            time(shortest)
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

/// Who loses SYNs.
fn syn_loss(results: &[SchemeResult], baseline: &SchemeResult) -> Option<String> {
    let syn = |r: &SchemeResult| r.loss.syn;
    let (best, least) = lowest(results, syn)?;
    let (worst, most) = highest(results, syn)?;
    if most == 0.0 {
        return Some("No scheme loses a SYN.".to_owned());
    }
    let spared: Vec<String> = results
        .iter()
        .filter(|r| syn(r) == Some(0.0))
        .map(|r| r.label.clone())
        .collect();
    let mut sentence = match spared.len() {
        0 => format!(
            "The fewest SYNs are lost under {} ({}),",
            best.label,
            percent(least)
        ),
        _ => format!("No SYN is lost under {};", named(&spared)),
    };
    sentence += &format!(" the most under {} ({})", worst.label, percent(most));
    if let Some(reference) = syn(baseline).filter(|&r| r > 0.0 && !std::ptr::eq(worst, baseline)) {
        sentence += &format!("; {} loses {}", baseline.label, percent(reference));
    }
    Some(sentence + ".")
}

/// What lost handshakes cost under one scheme.
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
    let mut notes = Vec::new();
    if comparison.interrupted {
        let asked = comparison.scenario.seeds.len() as u64;
        let short: Vec<String> = results
            .iter()
            .filter(|r| u64::from(r.seeds) < asked)
            .map(|r| {
                format!(
                    "{} {} of {}",
                    r.label,
                    r.seeds,
                    plural(asked, "seed", "seeds")
                )
            })
            .collect();
        notes.push(match short.len() {
            0 => "The run was stopped early: the numbers cover the runs that had finished."
                .to_owned(),
            _ => format!(
                "The run was stopped early: the numbers cover the runs that had finished ({}).",
                named(&short)
            ),
        });
    }
    if results.iter().any(|r| r.seeds == 1) {
        notes.push(
            "A single seed gives no confidence interval: small differences may be chance."
                .to_owned(),
        );
    }
    let mut open: Vec<&SchemeResult> = results
        .iter()
        .filter(|r| r.unfinished + r.failed > 0)
        .collect();
    open.sort_by_key(|r| std::cmp::Reverse(r.unfinished + r.failed));
    if !open.is_empty() {
        let each: Vec<String> = open
            .iter()
            .map(|r| {
                let given_up = match r.failed {
                    0 => String::new(),
                    n => format!(" and {} given up", count(n)),
                };
                format!(
                    "{} {}{given_up} of {}",
                    r.label,
                    count(r.unfinished),
                    count(r.connections)
                )
            })
            .collect();
        notes.push(format!(
            "Response times are those of completed connections only; left unfinished when the drain ended: {}.",
            named(&each)
        ));
    }
    notes
}

fn segments(min: u64, max: Option<u64>) -> String {
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

fn named(labels: &[String]) -> String {
    if labels.len() <= NAMED {
        return list(labels);
    }
    let rest = labels.len() - (NAMED - 1);
    format!("{} and {rest} more", labels[..NAMED - 1].join(", "))
}

fn lowest(
    results: &[SchemeResult],
    of: impl Fn(&SchemeResult) -> Option<f64>,
) -> Option<(&SchemeResult, f64)> {
    results
        .iter()
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

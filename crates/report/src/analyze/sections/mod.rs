//! Sections of a report, in reading order; empty ones are left out.

mod brief;
mod capture;
mod causes;
mod cost;
mod directions;
mod flows;
mod handshakes;
mod intervals;
mod lookups;
mod others;
mod outcomes;
mod top;
mod vantage;
mod waiting;

use super::section::Section;
use crate::format::{percent, plural};
use gentle_trace::results::Analysis;

pub(super) fn sections(analysis: &Analysis) -> Vec<Section> {
    [
        causes::causes(analysis),
        lookups::lookups(analysis),
        outcomes::outcomes(analysis),
        handshakes::handshakes(analysis),
        waiting::waiting(analysis),
        cost::cost(analysis),
        directions::directions(analysis),
        directions::filters(analysis),
        waiting::retransmissions(analysis),
        intervals::intervals(analysis),
        waiting::timeline(analysis),
        vantage::vantage(analysis),
        top::top(analysis),
        others::others(analysis),
        flows::flows(analysis),
        capture::closes(analysis),
        capture::capture(analysis),
        capture::limits(analysis),
    ]
    .into_iter()
    .flatten()
    .map(Section::explained)
    .collect()
}

/// Sections of a brief report.
pub(super) fn brief(analysis: &Analysis) -> Vec<Section> {
    [
        causes::causes(analysis),
        lookups::slow(analysis),
        brief::attempts(analysis),
        top::worst(analysis),
        flows::flows(analysis),
    ]
    .into_iter()
    .flatten()
    .map(Section::explained)
    .collect()
}

/// Caveats for the numbers, and problems with the files.
pub(super) fn notes(analysis: &Analysis) -> Vec<String> {
    capture::notes(analysis)
}

/// Time of the first packet; `None` for times outside the calendar.
pub(super) fn begin(analysis: &Analysis) -> Option<String> {
    capture::begin(analysis)
}

/// Share of `part` in `whole`; `None` if `whole` is zero.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Count with noun and share, `12 connections (3.1 %)`.
fn counted(n: u64, of: u64, one: &str, many: &str) -> String {
    let noun = plural(n, one, many);
    share(n, of).map_or(noun.clone(), |share| format!("{noun} ({})", percent(share)))
}

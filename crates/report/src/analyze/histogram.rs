//! Coarse histogram of intervals, with ranges that separate the standard intervals from each other.

use gentle_trace::results::IntervalHistogram;

/// Bounds of the ranges, seconds. Below 1 s, thirds of a decade (handshake-2009 treats 0 to 0.3 s separately); above,
/// halfway between the standard intervals 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64 s.
const BOUNDS: [f64; 18] =
    [0.0, 0.001, 0.01, 0.1, 0.3, 0.7, 1.5, 2.5, 3.5, 5.0, 7.0, 10.0, 14.0, 20.0, 28.0, 40.0, 56.0, 80.0];

/// Range with its intervals.
pub(super) struct Range {
    pub(super) from_s: f64,
    /// Upper bound, seconds; `None`: unbounded.
    pub(super) to_s: Option<f64>,
    pub(super) count: u64,
    /// Standard intervals in the range, with the number of intervals near each.
    pub(super) standard: Vec<(f64, u64)>,
}

/// Ranges that are not empty. A bin belongs to the range that contains its middle.
pub(super) fn ranges(histogram: &IntervalHistogram) -> Vec<Range> {
    let ends = BOUNDS[1..].iter().map(|&bound| Some(bound)).chain([None]);
    let range = |(&from_s, to_s): (&f64, Option<f64>)| {
        let within = |s: f64| s >= from_s && to_s.is_none_or(|to| s < to);
        let bins = histogram.bins.iter();
        let standard = histogram.standard.iter();
        Range {
            from_s,
            to_s,
            count: bins.filter(|bin| within((bin.from_s + bin.to_s) / 2.0)).map(|bin| bin.count).sum(),
            standard: standard
                .filter(|s| s.count > 0 && within(s.interval_s))
                .map(|s| (s.interval_s, s.count))
                .collect(),
        }
    };
    let all = BOUNDS.iter().zip(ends).map(range);
    all.filter(|range| range.count > 0).collect()
}

//! Standard retransmission backoff of handshake segments.

use gentle_units::Nanos;

/// Relative tolerance within which an interval matches a standard one, if larger than [`TOLERANCE_FLOOR`].
pub(crate) const TOLERANCE: f64 = 0.1;
/// Smallest absolute tolerance: timers have granularity, and paths have jitter.
pub(crate) const TOLERANCE_FLOOR: Nanos = Nanos::from_millis(200);

/// Backoff series: intervals in seconds.
pub(crate) struct Series {
    pub(crate) label: &'static str,
    intervals: &'static [u64],
}

impl Series {
    /// Initial RTO, seconds.
    pub(crate) const fn initial_s(&self) -> u64 {
        self.intervals[0]
    }

    /// Retransmissions after the initial RTO each before the wait begins to double; 0 if the second wait is doubled.
    pub(crate) fn linear(&self) -> u32 {
        let initial = self.intervals.iter().take_while(|&&s| s == self.initial_s());
        initial.count() as u32 - 1
    }
}

/// Known series; if intervals fit several, the first counts.
pub(crate) const SERIES: [Series; 4] = [
    Series {
        // RFC 6298, 2.1 and 5.5; Linux since 3.1, Windows since 8.
        label: "1, 2, 4, 8 … s (RFC 6298)",
        intervals: &[1, 2, 4, 8, 16, 32, 64],
    },
    Series {
        // RFC 1122, 4.2.3.1 and RFC 2988, 2.1; Windows up to 7, Linux before 3.1.
        label: "3, 6, 12, 24 … s (RFC 2988)",
        intervals: &[3, 6, 12, 24, 48],
    },
    Series {
        // Linux since 6.5: net.ipv4.tcp_syn_linear_timeouts = 4 (net/ipv4/tcp_timer.c); macOS and iOS alike.
        label: "1, 1, 1, 1, 1, 2, 4 … s (Linux, linear at first; macOS)",
        intervals: &[1, 1, 1, 1, 1, 2, 4, 8, 16, 32, 64],
    },
    Series {
        // FreeBSD before 10: tcp_syn_backoff[] times 3 s (sys/netinet/tcp_timer.c).
        label: "3, 3, 3, 3, 3, 6, 12 … s (FreeBSD before 10)",
        intervals: &[3, 3, 3, 3, 3, 6, 12, 24, 48],
    },
];

/// All intervals that occur in a series, seconds.
pub(crate) const STANDARD: [u64; 12] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];

fn is_near(interval: Nanos, standard_s: u64) -> bool {
    let standard = Nanos::from_secs(standard_s);
    let tolerance = Nanos::from_secs_f64(standard.as_secs_f64() * TOLERANCE).max(TOLERANCE_FLOOR);
    interval.0.abs_diff(standard.0) <= tolerance.0
}

/// Index in [`STANDARD`] of the interval that `interval` matches.
pub(crate) fn standard(interval: Nanos) -> Option<usize> {
    STANDARD.iter().position(|&seconds| is_near(interval, seconds))
}

/// Set of positions in each series that fit the intervals so far. A series is recognised from any position, since the
/// first segments may have been lost before the vantage point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Candidates([u16; SERIES.len()]);

impl Candidates {
    /// All positions of all series, before the first interval.
    pub(crate) fn all() -> Candidates {
        Candidates(std::array::from_fn(|i| (1u16 << SERIES[i].intervals.len()) - 1))
    }

    /// Positions that still fit after `interval`.
    pub(crate) fn then(self, interval: Nanos) -> Candidates {
        Candidates(std::array::from_fn(|i| {
            let mut next = 0;
            for (place, &seconds) in SERIES[i].intervals.iter().enumerate() {
                if self.0[i] & (1 << place) != 0 && is_near(interval, seconds) {
                    next |= 1 << (place + 1);
                }
            }
            next
        }))
    }

    /// Index in [`SERIES`] of the first series that fits; `None` if none does.
    pub(crate) fn recognised(self) -> Option<usize> {
        self.0.iter().position(|&places| places != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recognise(seconds: &[f64]) -> Option<&'static str> {
        let candidates =
            seconds.iter().fold(Candidates::all(), |candidates, &s| candidates.then(Nanos::from_secs_f64(s)));
        candidates.recognised().map(|i| SERIES[i].label)
    }

    #[test]
    fn series_are_recognised_with_tolerance_and_from_any_place() {
        assert!(recognise(&[1.01, 2.03, 4.1]).unwrap().starts_with("1, 2, 4"));
        assert!(recognise(&[4.0, 8.0]).unwrap().starts_with("1, 2, 4"));
        assert!(recognise(&[2.92, 6.1]).unwrap().starts_with("3, 6"));
        assert!(recognise(&[1.0, 1.02, 1.0]).unwrap().starts_with("1, 1, 1"));
        assert!(recognise(&[1.0, 2.0, 4.0]).unwrap().starts_with("1, 2, 4"));
        assert!(recognise(&[3.0, 3.1]).unwrap().starts_with("3, 3"));
        assert_eq!(recognise(&[0.3]), None);
        assert_eq!(recognise(&[1.0, 3.0]), None);
        // More intervals than the series has.
        assert_eq!(recognise(&[64.0, 64.0]), None);
    }

    #[test]
    fn standard_intervals_cover_every_series_and_do_not_overlap() {
        for series in &SERIES {
            for seconds in series.intervals {
                assert!(STANDARD.contains(seconds));
            }
        }
        for ms in (0..70_000).step_by(10) {
            let near = STANDARD.iter().filter(|&&s| is_near(Nanos::from_millis(ms), s)).count();
            // Neighbouring tolerances may touch.
            assert!(near <= 2, "{ms} ms");
        }
    }
}

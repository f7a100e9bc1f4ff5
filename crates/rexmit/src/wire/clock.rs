//! Clock of the engine: Unix time at the start, advanced by the monotonic clock.

use gentle_units::{Instant, Nanos};
use nix::sys::time::TimeSpec;
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    unix: Instant,
    started: std::time::Instant,
    /// Time of the last comparison with the system clock, and the lead of the system clock then, nanoseconds.
    compared: Instant,
    ahead: i128,
}

/// Maximum drift of the system clock without being set: adjtimex(2) slews it by at most 500 ppm.
const SLEW_PER_MILLE: u64 = 1;
/// Tolerance for preemption between the readings of the two clocks.
const SLACK: Nanos = Nanos::from_millis(1);
/// Largest number of readings of both clocks for one comparison.
const READINGS: usize = 10;

/// Conversion of the kernel's timestamps to this clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Comparison {
    pub(super) now: Instant,
    ahead: i128,
    /// Whether the system clock has not been set since the last comparison.
    steady: bool,
}

impl Clock {
    pub(super) fn start() -> Clock {
        Clock { unix: system(), started: std::time::Instant::now(), compared: Instant::ZERO, ahead: 0 }
    }

    /// Unix time of the start.
    pub(super) fn started(&self) -> Instant {
        self.unix
    }

    pub(super) fn now(&self) -> Instant {
        self.unix + Nanos(self.started.elapsed().as_nanos() as u64)
    }

    /// Compares both clocks. Packet timestamps come from the system clock, which may be set at any time.
    pub(super) fn compare(&mut self) -> Comparison {
        let mut read = (self.now(), system());
        // Read again if the process was held up between the two clocks.
        for _ in 1..READINGS {
            let after = self.now();
            if after <= read.0 + SLACK {
                break;
            }
            read = (after, system());
        }
        self.against(read.0, read.1)
    }

    fn against(&mut self, now: Instant, system: Instant) -> Comparison {
        let ahead = i128::from(system.0) - i128::from(now.0);
        let passed = now.saturating_since(self.compared);
        let allowed = SLACK.0 + passed.0 / 1_000 * SLEW_PER_MILLE;
        let steady = (ahead - self.ahead).unsigned_abs() <= u128::from(allowed);
        (self.compared, self.ahead) = (now, ahead);
        Comparison { now, ahead, steady }
    }
}

impl Comparison {
    /// Time at which a packet passed, and whether it is exact; it is not if the timestamp is missing or impossible.
    pub(super) fn passed(&self, time: Option<TimeSpec>) -> (Instant, bool) {
        let unix = time.and_then(|time| {
            let (seconds, ns) = (i128::from(time.tv_sec()), i128::from(time.tv_nsec()));
            u64::try_from(seconds * 1_000_000_000 + ns - self.ahead).ok()
        });
        match unix.map(Instant) {
            Some(passed) if self.steady && passed <= self.now => (passed, true),
            _ => (self.now, false),
        }
    }
}

fn system() -> Instant {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH);
    Instant(unix.unwrap_or_default().as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    fn at(time: Instant) -> Option<TimeSpec> {
        let (seconds, ns) = (time.0 / 1_000_000_000, time.0 % 1_000_000_000);
        Some(TimeSpec::new(seconds as i64, ns as i64))
    }

    #[test]
    fn a_packet_is_as_old_as_the_kernel_says() {
        let mut clock = Clock::start();
        let start = clock.started();
        clock.against(start, start);
        let read = start + MS(500);
        let comparison = clock.against(read, read);
        assert_eq!(comparison.passed(at(start + MS(20))), (start + MS(20), true));
        assert_eq!(comparison.passed(None), (read, false));
        assert_eq!(comparison.passed(at(read + MS(9))), (read, false));
    }

    #[test]
    fn nothing_is_exact_when_the_system_s_clock_has_been_set() {
        let mut clock = Clock::start();
        let start = clock.started();
        clock.against(start, start);
        let (read, set) = (start + MS(500), start + MS(900));
        let before = clock.against(read, set);
        assert!(!before.passed(at(read)).1);
        // The offset is known from the next comparison on.
        let after = clock.against(read + MS(250), set + MS(250));
        assert_eq!(after.passed(at(set + MS(100))), (read + MS(100), true));
    }
}

//! Clock of a program that receives packets: Unix time at the start, advanced by the monotonic clock. The times that it shows are
//! those of the system's clock.

use gentle_units::{Instant, Nanos};
use std::time::{SystemTime, UNIX_EPOCH};

/// Clock that never steps: Unix time at the start, advanced by the monotonic clock.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
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

/// Conversion of the kernel's timestamps to a [`Clock`].
#[derive(Debug, Clone, Copy)]
pub struct Comparison {
    now: Instant,
    ahead: i128,
    /// Whether the system clock has not been set since the last comparison.
    steady: bool,
}

/// Lead of the system's clock over a [`Clock`].
#[derive(Debug, Clone, Copy)]
pub struct Lead {
    nanoseconds: i128,
}

impl Clock {
    /// Starts a clock with the system's Unix time.
    pub fn start() -> Clock {
        Clock { unix: system(), started: std::time::Instant::now(), compared: Instant::ZERO, ahead: 0 }
    }

    /// Unix time of the start.
    pub fn started(&self) -> Instant {
        self.unix
    }

    /// Current time: Unix time of the start plus the time passed since.
    pub fn now(&self) -> Instant {
        self.unix + Nanos(self.started.elapsed().as_nanos() as u64)
    }

    /// Compares both clocks. Packet timestamps come from the system clock, which may be set at any time.
    pub fn compare(&mut self) -> Comparison {
        let (now, system) = self.read_both();
        self.against(now, system)
    }

    /// Current lead of the system's clock, which may have been set since the start, or have gone on while the machine was
    /// suspended.
    pub fn lead(&self) -> Lead {
        let (now, system) = self.read_both();
        Lead { nanoseconds: ahead(now, system) }
    }

    /// Times of this clock and the system's.
    fn read_both(&self) -> (Instant, Instant) {
        let mut read = (self.now(), system());
        // Read again if the process was held up between the two clocks.
        for _ in 1..READINGS {
            let after = self.now();
            if after <= read.0 + SLACK {
                break;
            }
            read = (after, system());
        }
        read
    }

    fn against(&mut self, now: Instant, system: Instant) -> Comparison {
        let ahead = ahead(now, system);
        let passed = now.saturating_since(self.compared);
        let allowed = SLACK.0 + passed.0 / 1_000 * SLEW_PER_MILLE;
        let steady = (ahead - self.ahead).unsigned_abs() <= u128::from(allowed);
        (self.compared, self.ahead) = (now, ahead);
        Comparison { now, ahead, steady }
    }
}

impl Comparison {
    /// Lead of the system's clock.
    pub fn lead(&self) -> Lead {
        Lead { nanoseconds: self.ahead }
    }

    /// Time of the clock at which a packet with this timestamp (Unix time) passed, and whether it is exact. It is not
    /// exact if the timestamp is missing or impossible; the time is then that of the comparison.
    pub fn passed(&self, time: Option<Instant>) -> (Instant, bool) {
        let unix = time.and_then(|time| u64::try_from(i128::from(time.0) - self.ahead).ok());
        match unix.map(Instant) {
            Some(passed) if self.steady && passed <= self.now => (passed, true),
            _ => (self.now, false),
        }
    }
}

impl Lead {
    /// Unix time by the system's clock, of a time of the clock.
    pub fn unix(self, time: Instant) -> Instant {
        Instant(u64::try_from(i128::from(time.0) + self.nanoseconds).unwrap_or_default())
    }

    /// Lead, seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.nanoseconds as f64 / 1e9
    }
}

/// Nanoseconds by which a time of the system's clock is ahead.
fn ahead(now: Instant, system: Instant) -> i128 {
    i128::from(system.0) - i128::from(now.0)
}

fn system() -> Instant {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH);
    Instant(unix.unwrap_or_default().as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    #[test]
    fn a_packet_is_as_old_as_the_kernel_says() {
        let mut clock = Clock::start();
        let start = clock.started();
        clock.against(start, start);
        let read = start + MS(500);
        let comparison = clock.against(read, read);
        assert_eq!(comparison.passed(Some(start + MS(20))), (start + MS(20), true));
        assert_eq!(comparison.passed(None), (read, false));
        assert_eq!(comparison.passed(Some(read + MS(9))), (read, false));
    }

    #[test]
    fn times_are_shown_by_the_system_s_clock() {
        let time = Instant(5_000_000_000);
        let unix = |nanoseconds: i128| Lead { nanoseconds }.unix(time).0;
        assert_eq!([3_000_000_000, -3_000_000_000, -6_000_000_000].map(unix), [8_000_000_000, 2_000_000_000, 0]);
        assert_eq!(Lead { nanoseconds: -1_500_000_000 }.as_secs_f64(), -1.5);
        // Nobody sets the clock of this machine within a second.
        assert!(Clock::start().lead().as_secs_f64().abs() < 1.0);
    }

    #[test]
    fn nothing_is_exact_when_the_system_s_clock_has_been_set() {
        let mut clock = Clock::start();
        let start = clock.started();
        clock.against(start, start);
        let (read, set) = (start + MS(500), start + MS(900));
        let before = clock.against(read, set);
        assert!(!before.passed(Some(read)).1);
        // The offset is known from the next comparison on.
        let after = clock.against(read + MS(250), set + MS(250));
        assert_eq!(after.passed(Some(set + MS(100))), (read + MS(100), true));
    }
}

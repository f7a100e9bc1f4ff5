//! Clock of an experiment.

use super::TrafficError;
use nix::time::{ClockId, clock_gettime};
use std::thread;
use std::time::Duration;

/// Clock that shows the time since the start of the traffic, from which all times of an experiment count.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunClock {
    /// Start of the traffic on the monotonic clock.
    monotonic_ns: u64,
    /// Real-time clock, in which packets are timestamped, minus monotonic clock, nanoseconds.
    real_offset_ns: i128,
}

impl RunClock {
    /// Clock whose traffic starts at the next time at which the monotonic clock is a multiple of `period`.
    pub(super) fn starting_at_multiple_of(period: Duration) -> Result<RunClock, TrafficError> {
        let monotonic = now(ClockId::CLOCK_MONOTONIC)?;
        let real = now(ClockId::CLOCK_REALTIME)?;
        Ok(RunClock {
            monotonic_ns: (monotonic + 1).next_multiple_of(period.as_nanos().max(1) as u64),
            real_offset_ns: i128::from(real) - i128::from(monotonic),
        })
    }

    /// Time since the start; zero before it.
    pub(super) fn elapsed_ns(&self) -> Result<u64, TrafficError> {
        Ok(now(ClockId::CLOCK_MONOTONIC)?.saturating_sub(self.monotonic_ns))
    }

    /// Time from the start to a timestamp of the real-time clock; zero before the start.
    pub(super) fn since_start_ns(&self, real_ns: i128) -> u64 {
        let since = real_ns - self.real_offset_ns - i128::from(self.monotonic_ns);
        u64::try_from(since).unwrap_or(0)
    }

    /// Converts a time since the start to one of the monotonic clock.
    pub(super) fn monotonic_ns(&self, since_start: u64) -> u64 {
        self.monotonic_ns.saturating_add(since_start)
    }

    /// Sleeps until `since_start` nanoseconds after the start.
    pub(super) fn sleep_until(&self, since_start: u64) -> Result<(), TrafficError> {
        let wait = self.monotonic_ns(since_start).saturating_sub(now(ClockId::CLOCK_MONOTONIC)?);
        thread::sleep(Duration::from_nanos(wait));
        Ok(())
    }
}

fn now(clock: ClockId) -> Result<u64, TrafficError> {
    let time = clock_gettime(clock).map_err(TrafficError::call("clock_gettime"))?;
    Ok(Duration::from(time).as_nanos() as u64)
}

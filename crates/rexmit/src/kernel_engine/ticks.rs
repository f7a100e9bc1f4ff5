//! Timeouts in ticks of the kernel.

use nix::errno::Errno;
use nix::time::{ClockId, clock_getres};
use std::time::Duration;

/// Shortest timeout of TCP's timers, in ticks (`TCP_TIMEOUT_MIN`, include/net/tcp.h).
const MIN_TICKS: u32 = 2;

/// Ticks per second of the kernel (`CONFIG_HZ`).
///
/// `/proc` does not contain this number. The resolution of the coarse clocks does: they advance once per tick
/// (`posix_get_coarse_res`, kernel/time/posix-timers.c).
///
/// # Errors
/// If the kernel has no coarse clock; all kernels since 2.6.32 have it.
pub(super) fn per_second() -> Result<u32, Errno> {
    let tick = clock_getres(ClockId::CLOCK_MONOTONIC_COARSE)?;
    Ok(from_tick(Duration::from(tick)))
}

/// Ticks per second from the length of a tick, which the kernel rounds to nanoseconds: 3,333,333 ns at 300 ticks per
/// second.
fn from_tick(tick: Duration) -> u32 {
    let tick = tick.as_nanos().max(1);
    u32::try_from((1_000_000_000 + tick / 2) / tick).unwrap_or(u32::MAX)
}

/// Smallest number of ticks that lasts at least `timeout`.
pub(super) fn of(timeout: Duration, per_second: u32) -> u32 {
    let ticks = (timeout.as_nanos() * u128::from(per_second)).div_ceil(1_000_000_000);
    u32::try_from(ticks).unwrap_or(u32::MAX).max(MIN_TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_config_hz_is_found() {
        for hz in [100, 250, 300, 1000] {
            let tick = (1_000_000_000 + u64::from(hz) / 2) / u64::from(hz);
            assert_eq!(from_tick(Duration::from_nanos(tick)), hz);
        }
    }

    #[test]
    fn this_kernel_has_a_plausible_rate() {
        let hz = per_second().unwrap();
        assert!((24..=1200).contains(&hz), "{hz}");
    }

    #[test]
    fn timeouts_are_rounded_up() {
        assert_eq!(of(Duration::from_millis(200), 1000), 200);
        assert_eq!(of(Duration::from_millis(200), 250), 50);
        assert_eq!(of(Duration::from_millis(201), 250), 51);
        assert_eq!(of(Duration::from_millis(10), 100), 2);
    }
}

//! Differences between the timers of Linux and exact ones.
//!
//! Timers of Linux fire late by design. The timer wheel (`kernel/time/timer.c`) rounds an expiry up to the next tick,
//! and to the next multiple of eight ticks where the timer runs for 64 ticks or more. With the 1000 ticks per second of
//! the testbed's kernel, the half second after which PIE calculates for the first time takes 504 ms, and each later
//! period takes one tick more than configured. The timers of `gentle-aqm` are exact.

use gentle_aqm::{Spec, Value};
use gentle_units::Nanos;

/// Delay of PIE's first calculation on Linux.
const FIRST_DELAY: Nanos = Nanos::from_millis(4);
/// Delay of every later calculation on Linux.
const TICK: Nanos = Nanos::from_millis(1);

/// Specification with which the model does what the kernel does with `spec`: timer periods are a tick longer.
pub(super) fn with_late_timers(spec: &Spec) -> Spec {
    let timer = spec.scheme().conformance.timer;
    timer.map_or_else(
        || spec.clone(),
        |period| {
            let longer = spec.options().time(period) + TICK;
            spec.with(period, Value::Time(longer))
                .expect("a period that is a tick longer")
        },
    )
}

/// Time of the model when the kernel's schedule, which began `begun` after boot, has run for `at`.
pub(super) fn model_time(spec: &Spec, begun: Nanos, at: Nanos) -> Nanos {
    match spec.scheme().conformance.timer {
        Some(_) => at.saturating_sub(FIRST_DELAY),
        // CoDel compares with a time that is zero until it is first set, so both clocks must count from boot.
        None => begun + at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_periods_change() {
        let late = |text: &str| with_late_timers(&text.parse().unwrap()).to_string();
        assert_eq!(late("pie target=20ms"), "pie target=20ms tupdate=16ms");
        assert_eq!(late("fq_pie tupdate=30ms"), "fq_pie tupdate=31ms");
        assert_eq!(late("codel ecn=on"), "codel ecn=on");
    }
}

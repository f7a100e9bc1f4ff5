//! Differences between the timers of Linux and exact ones.
//!
//! Timers of Linux fire late by design. The timer wheel (`kernel/time/timer.c`) rounds an expiry up to the next tick,
//! and to the next multiple of eight ticks where the timer runs for 64 ticks or more. With the 1000 ticks per second of
//! the testbed's kernel, the half second after which PIE calculates for the first time takes 504 ms, and each later
//! period takes one tick more than configured. The timers of `gentle-aqm` are exact.
//!
//! High-resolution timers expire on time, but start when `tc` creates the qdisc, some microseconds after the schedule.
//! The clock of the testbed's kernel counts in steps of 256 ns, so that their periods are exact if they are multiples of
//! that.

use gentle_aqm::{Spec, Value};
use gentle_units::Nanos;

/// Delay of PIE's first calculation on Linux.
const FIRST_DELAY: Nanos = Nanos::from_millis(4);
/// Delay of every later calculation on Linux.
const TICK: Nanos = Nanos::from_millis(1);

/// Specification with which the model does what the kernel does with `spec`: timer periods are a tick longer.
pub(super) fn with_late_timers(spec: &Spec) -> Spec {
    let unshaped = spec.unshaped();
    let timer = unshaped.scheme().conformance.timer;
    timer.map_or_else(
        || spec.clone(),
        |period| {
            let longer = unshaped.options().time(period) + TICK;
            spec.with(period, Value::Time(longer))
                .expect("a period that is a tick longer")
        },
    )
}

/// Time of the model when the kernel's schedule, which began `begun` after boot, has run for `at`. `timer` is the time of
/// the schedule at which a high-resolution timer of the qdisc first expires.
pub(super) fn model_time(spec: &Spec, begun: Nanos, at: Nanos, timer: Option<Nanos>) -> Nanos {
    let unshaped = spec.unshaped();
    let conformance = &unshaped.scheme().conformance;
    match (conformance.timer, conformance.high_resolution_timer) {
        (Some(_), _) => at.saturating_sub(FIRST_DELAY),
        (None, Some(period)) => {
            // The model starts with the qdisc.
            let period = unshaped.options().time(period);
            at.saturating_sub(timer.unwrap_or(period).saturating_sub(period))
        }
        // CoDel compares with a time that is zero until it is first set, so both clocks must count from boot.
        (None, None) => begun + at,
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

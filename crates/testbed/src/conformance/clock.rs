//! Differences between the timers of Linux and exact ones.
//!
//! Timers of Linux fire late by design. The timer wheel (`kernel/time/timer.c`) rounds an expiry up to the next tick,
//! and to the next multiple of eight ticks where the timer runs for 64 ticks or more. With the 1000 ticks per second of
//! the testbed's kernel, the half second after which PIE calculates for the first time takes 504 ms, and each later
//! period takes one tick more than configured. The timers of `gentle-aqm` are exact.
//!
//! High-resolution timers start when `tc` creates the qdisc, some microseconds after the schedule. The clock of the
//! testbed's kernel counts in steps of 256 ns, so that their periods are exact if they are multiples of that; but what
//! the kernel waits for comes up to 256 ns late (`itimer_next_event` in `arch/um/kernel/time.c` adds a delay to a time
//! that is more exact than the clock), and now and then a period is 256 ns longer.

use gentle_aqm::{Spec, Value};
use gentle_units::{Instant, Nanos};

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
            spec.with(period, Value::Time(longer)).expect("a period that is a tick longer")
        },
    )
}

/// Times of the schedule at which a high-resolution timer of a qdisc expires.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expiries {
    /// The first one.
    pub(super) first: Instant,
    /// The next one.
    pub(super) next: Instant,
}

/// Time of the model when the kernel's schedule, which began `begun` after boot, has run for `at`. `timer`: the
/// high-resolution timer of the qdisc at that time.
pub(super) fn model_time(spec: &Spec, begun: Instant, at: Instant, timer: Option<Expiries>) -> Instant {
    let unshaped = spec.unshaped();
    let conformance = &unshaped.scheme().conformance;
    match (conformance.timer, conformance.high_resolution_timer) {
        (Some(_), _) => at - FIRST_DELAY,
        (None, Some(period)) => {
            // The model starts with the qdisc, and its clock stands still while the kernel's timer is late.
            let period = unshaped.options().time(period).0;
            timer.map_or(at, |Expiries { first, next }| {
                let earlier = (next.saturating_since(first).0 + period / 2) / period;
                Instant((at.0 + (1 + earlier) * period).saturating_sub(next.0))
            })
        }
        // CoDel compares with a time that is zero until it is first set, so both clocks must count from boot.
        (None, None) => begun + at.since_origin(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_timer_is_as_late_in_the_model() {
        let spec: Spec = "dualpi2 tupdate=4ms".parse().unwrap();
        let us = Instant::from_micros;
        let timer = |next| Expiries { first: us(4_030), next };
        let time = |at, next| model_time(&spec, Instant::ZERO, at, Some(timer(next)));
        // The qdisc was created at 30 us.
        assert_eq!(time(us(1_030), us(4_030)), us(1_000));
        assert_eq!(time(us(9_030), us(12_030)), us(9_000));
        let late = Nanos(256);
        assert_eq!(time(us(9_030), us(12_030) + late), us(9_000) - late);
    }

    #[test]
    fn only_periods_change() {
        let late = |text: &str| with_late_timers(&text.parse().unwrap()).to_string();
        assert_eq!(late("pie target=20ms"), "pie target=20ms tupdate=16ms");
        assert_eq!(late("fq_pie tupdate=30ms"), "fq_pie tupdate=31ms");
        assert_eq!(late("codel ecn=on"), "codel ecn=on");
    }
}

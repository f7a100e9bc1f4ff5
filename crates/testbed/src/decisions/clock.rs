//! What Linux's timers make of times, and what time it is for ours.
//!
//! Timers of Linux fire late by design. The wheel they are kept in (`kernel/time/timer.c`) rounds their end up to the
//! next tick, and to the next multiple of eight ticks where they run for 64 or more. With the 1000 ticks a second of the
//! testbed's kernel, the half second after which PIE calculates for the first time takes 504 ms, and each later period a
//! tick longer than was set. Those of `gentle-aqm` are exact.

use gentle_aqm::{Spec, Value};
use gentle_units::Nanos;

/// How much later than after half a second PIE calculates for the first time.
const FIRST_LATE: Nanos = Nanos::from_millis(4);
/// How much longer than was set a later period is.
const TICK: Nanos = Nanos::from_millis(1);

/// The specification with which ours does what the kernel does with `spec`.
pub(super) fn as_timed(spec: &Spec) -> Spec {
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

/// Our time when the kernel's schedule, which began `begun` after boot, has run for `at`.
pub(super) fn ours(spec: &Spec, begun: Nanos, at: Nanos) -> Nanos {
    match spec.scheme().conformance.timer {
        Some(_) => at.saturating_sub(FIRST_LATE),
        // To CoDel, the zero in what it has not set yet is a time like any other.
        None => begun + at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_periods_change() {
        let timed = |text: &str| as_timed(&text.parse().unwrap()).to_string();
        assert_eq!(timed("pie target=20ms"), "pie target=20ms tupdate=16ms");
        assert_eq!(timed("fq_pie tupdate=30ms"), "fq_pie tupdate=31ms");
        assert_eq!(timed("codel ecn=on"), "codel ecn=on");
    }
}

//! Times at which this host retransmits a SYN.

use std::fs;
use std::time::Duration;

/// Initial RTO of TCP (RFC 6298, section 2; `TCP_TIMEOUT_INIT`, include/net/tcp.h).
pub(crate) const INITIAL_RTO: Duration = Duration::from_secs(1);

/// Upper bound of the RTO (`TCP_RTO_MAX`, include/net/tcp.h).
const MAX_RTO: Duration = Duration::from_secs(120);

/// Longest duration of a tick of the kernel (`CONFIG_HZ` of 100).
const TICK: Duration = Duration::from_millis(10);

/// Longest delay of a timer by a busy machine that is still consistent with the schedule.
const BUSY: Duration = Duration::from_millis(100);

/// Times at which this host retransmits a SYN (`tcp_retransmit_timer`, net/ipv4/tcp_timer.c).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// RTO of the first SYN. A BPF program may change it (`BPF_SOCK_OPS_TIMEOUT_INIT`).
    pub initial: Duration,
    /// Number of RTOs after the first that are not doubled (`net.ipv4.tcp_syn_linear_timeouts`; 0 before Linux 6.5).
    pub linear: u32,
    /// Upper bound of an RTO (`net.ipv4.tcp_rto_max_ms`; 120 s before Linux 6.15).
    pub max: Duration,
}

impl Default for Schedule {
    /// The schedule of RFC 6298: 1, 3, 7, 15 s.
    fn default() -> Schedule {
        Schedule { initial: INITIAL_RTO, linear: 0, max: MAX_RTO }
    }
}

impl Schedule {
    /// Schedule that the settings of this network namespace give.
    pub(crate) fn of_this_host() -> Schedule {
        let setting = |name: &str| {
            let text = fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).ok()?;
            text.trim().parse::<u32>().ok()
        };
        Schedule {
            initial: INITIAL_RTO,
            linear: setting("tcp_syn_linear_timeouts").unwrap_or(0),
            max: setting("tcp_rto_max_ms").map_or(MAX_RTO, |ms| Duration::from_millis(ms.into())),
        }
    }

    /// Copy with another RTO of the first SYN.
    pub(crate) fn starting_with(self, initial: Duration) -> Schedule {
        Schedule { initial, ..self }
    }

    /// Time between transmission `number` and the next; the first transmission has number 0.
    fn interval(&self, number: u32) -> Duration {
        let doublings = number.saturating_sub(self.linear);
        let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
        self.initial.saturating_mul(factor).min(self.max.max(self.initial))
    }

    /// Earliest time of retransmission `number` after the first SYN; the first SYN has number 0 and time 0.
    ///
    /// Computing it takes `number` steps.
    pub fn earliest(&self, number: u32) -> Duration {
        (0..number).map(|number| self.interval(number)).fold(Duration::ZERO, Duration::saturating_add)
    }

    /// Latest time of retransmission `number` that is consistent with the schedule.
    ///
    /// A timer of the kernel fires up to an eighth of its duration late (kernel/time/timer.c), and a tick later. A busy
    /// machine may delay it further.
    pub fn latest(&self, number: u32) -> Duration {
        let earliest = self.earliest(number);
        late(earliest).saturating_add(TICK.saturating_mul(number)).saturating_add((self.initial / 4).min(BUSY))
    }
}

/// Time at which a timer of the kernel, due after `duration`, fires at the latest.
pub(crate) fn late(duration: Duration) -> Duration {
    duration.saturating_add(duration / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(schedule: &Schedule, count: u32) -> Vec<u64> {
        (0..count).map(|number| schedule.earliest(number).as_secs()).collect()
    }

    #[test]
    fn rtos_double_after_the_linear_ones() {
        let classic = Schedule::default();
        assert_eq!(seconds(&classic, 6), [0, 1, 3, 7, 15, 31]);
        let linear = Schedule { linear: 4, ..classic };
        assert_eq!(seconds(&linear, 9), [0, 1, 2, 3, 4, 5, 7, 11, 19]);
        let bounded = Schedule { max: Duration::from_secs(2), ..classic };
        assert_eq!(seconds(&bounded, 5), [0, 1, 3, 5, 7]);
    }

    #[test]
    fn the_latest_time_precedes_the_next_retransmission() {
        for linear in [0, 4] {
            let schedule = Schedule { linear, ..Schedule::default() };
            for number in 0..8 {
                assert!(schedule.latest(number) < schedule.earliest(number + 1), "{linear} {number}");
            }
        }
    }
}

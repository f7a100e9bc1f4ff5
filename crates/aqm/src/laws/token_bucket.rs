//! Arithmetic of the token buckets of Linux, whose tokens are nanoseconds (`net/sched/sch_generic.c`, `sch_generic.h`).

use crate::plumbing::options::{Kind, OptionSpec};
use gentle_units::{Instant, Rate};

/// Rates of `tc`, in whole bytes per second.
const RATES: Kind = match (Rate::from_bits_per_second(8), Rate::from_bits_per_second(100_000_000_000)) {
    (Some(least), Some(most)) => Kind::Rate(least, most),
    _ => panic!("more than zero"),
};

pub(crate) const RATE: OptionSpec = OptionSpec {
    name: "rate",
    kind: RATES,
    default: Some("10mbit"),
    help: "rate to shape to, in whole bytes per second",
};

pub(crate) const BURST: OptionSpec = OptionSpec {
    name: "burst",
    kind: Kind::Size(1, u32::MAX as u64),
    default: Some("1600"),
    help: "depth of the bucket: bytes that leave at once after a pause; at least a full frame, and at high rates a millisecond",
};

/// Rate of the option `ceil`, which is that of `rate` unless given.
pub(crate) const CEIL: OptionSpec = OptionSpec {
    name: "ceil",
    kind: RATES,
    default: None,
    help: "a second limit, with a bucket of depth cburst; default: the rate. Higher values have no effect, because a \
           single class cannot borrow",
};

/// Time that bytes take at a rate: a multiplication and a shift (Linux: `struct psched_ratecfg`), so that times are
/// rounded as in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TransmissionTime {
    multiplier: u64,
    shift: u32,
}

impl TransmissionTime {
    /// Times at `rate` (Linux: `psched_ratecfg_precompute__`).
    pub(crate) fn new(rate: Rate) -> Self {
        let bytes_per_second = (rate.bits_per_second() / 8).max(1);
        let (mut factor, mut shift) = (1_000_000_000_u64, 0);
        loop {
            let multiplier = u64::from((factor / bytes_per_second) as u32);
            if multiplier >= 1 << 31 || factor >= 1 << 63 {
                return TransmissionTime { multiplier, shift };
            }
            factor <<= 1;
            shift += 1;
        }
    }

    /// Time that `bytes` take, ns (Linux: `psched_l2t_ns`).
    #[inline]
    pub(crate) fn of(self, bytes: u32) -> i64 {
        ((u64::from(bytes) * self.multiplier) >> self.shift).cast_signed()
    }
}

/// Depth of a bucket of `bytes` at `rate` as `tc` passes it to `htb`: in ticks of 64 ns, rounded up.
///
/// iproute2 before 6.14 rounds down, and to whole microseconds before.
pub(crate) fn depth_in_ticks(rate: Rate, bytes: u32) -> i64 {
    const TICK: u64 = 64;
    let bytes_per_second = (rate.bits_per_second() / 8).max(1);
    let ticks = (u64::from(bytes) * 1_000_000_000).div_ceil(bytes_per_second * TICK);
    (ticks * TICK).cast_signed()
}

/// The time `wait` nanoseconds after `now`.
pub(crate) fn after(now: Instant, wait: i64) -> Instant {
    Instant(now.0.saturating_add_signed(wait))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_rate_rounded_down() {
        for (rate, bytes, expected) in [
            ("2.4mbit", 1514, 5_046_666),
            ("2.4mbit", 66, 219_999),
            ("1gbit", 1500, 12_000),
            ("8bit", 1, 1_000_000_000),
        ] {
            let rate: Rate = rate.parse().unwrap();
            assert_eq!(TransmissionTime::new(rate).of(bytes), expected, "{rate}");
        }
    }

    #[test]
    fn the_depth_is_a_number_of_ticks() {
        let rate: Rate = "2.4mbit".parse().unwrap();
        assert_eq!(depth_in_ticks(rate, 1500), 5_000_000);
        assert_eq!(depth_in_ticks(rate, 1600), 5_333_376);
    }
}

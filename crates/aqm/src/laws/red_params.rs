//! RED's parameters, derived from the options as in `tc` (iproute2, `tc/tc_red.c` and `q_red.c`).

use crate::plumbing::options::{Kind, OptionSpec, Options};
use gentle_units::Rate;

/// Ticks of 64 ns per microsecond; `tc` computes transmission times in ticks (`/proc/net/psched`).
const TICKS_PER_MICROSECOND: f64 = 15.625;

/// Entries of the idle table (Linux: `RED_STAB_SIZE`).
pub(crate) const STAB_SIZE: usize = 256;

/// Maximum for which the span of the idle table fits the kernel's 32 bits of microseconds.
const MAX_SCELL_LOG: u32 = 24;

/// Maximum of `wlog`. An average over more than 2^16 packets hardly moves. `tc` warns from 10 on, and returns larger
/// values only when rounding alone lets its equation have a solution.
const MAX_WEIGHT_LOG: i32 = 16;

const MIN_RATE: Rate = Rate::from_bits_per_second(1_000).expect("not zero");
const MAX_RATE: Rate = Rate::from_bits_per_second(1_000_000_000_000).expect("not zero");

pub(crate) const LIMIT_BYTES: OptionSpec = OptionSpec {
    name: "limit",
    kind: Kind::Size(1, 1 << 30),
    default: Some("75000b"),
    help: "bytes the queue holds (tc has no default; here 50 packets of 1500)",
};
pub(crate) const MIN_BYTES: OptionSpec = OptionSpec {
    name: "min",
    kind: Kind::Size(1, 1 << 30),
    default: None,
    help: "average queue in bytes from which packets are dropped at random; derived: max/3",
};
pub(crate) const MAX_BYTES: OptionSpec = OptionSpec {
    name: "max",
    kind: Kind::Size(1, 1 << 30),
    default: None,
    help: "average queue in bytes from which every packet is dropped; derived: 3*min, or limit/4",
};
pub(crate) const AVPKT: OptionSpec = OptionSpec {
    name: "avpkt",
    kind: Kind::Size(1, 65_536),
    default: Some("1000b"),
    help: "mean packet length in bytes (tc has no default for red, 1000 for choke)",
};
pub(crate) const BURST: OptionSpec = OptionSpec {
    name: "burst",
    kind: Kind::Count(1, 1_000_000),
    default: None,
    help: "burst that an empty queue accepts without drops, in packets; determines the weight of the average; derived: (2*min+max)/3",
};
pub(crate) const EWMA: OptionSpec = OptionSpec {
    name: "ewma",
    kind: Kind::Count(1, 30),
    default: None,
    help: "weight of the average: w_q = 2^-ewma (9 is 0.002); derived: from burst (not in tc)",
};
pub(crate) const PROBABILITY: OptionSpec = OptionSpec {
    name: "probability",
    kind: Kind::Real(0.000_001, 1.0),
    default: Some("0.02"),
    help: "max_p: drop probability when the average reaches max",
};
pub(crate) const BANDWIDTH: OptionSpec = OptionSpec {
    name: "bandwidth",
    kind: Kind::Rate(MIN_RATE, MAX_RATE),
    default: Some("10mbit"),
    help: "rate of the link, for the decay of the average while the queue is idle",
};
pub(crate) const ECN: OptionSpec = OptionSpec {
    name: "ecn",
    kind: Kind::Flag,
    default: Some("off"),
    help: "mark packets of ECN-capable senders instead of dropping them",
};
pub(crate) const HARDDROP: OptionSpec = OptionSpec {
    name: "harddrop",
    kind: Kind::Flag,
    default: Some("off"),
    help: "with ecn: drop, not mark, when the average exceeds max",
};
pub(crate) const NODROP: OptionSpec = OptionSpec {
    name: "nodrop",
    kind: Kind::Flag,
    default: Some("off"),
    help: "with ecn: queue packets that cannot be marked instead of dropping them",
};
pub(crate) const ADAPTIVE: OptionSpec = OptionSpec {
    name: "adaptive",
    kind: Kind::Flag,
    default: Some("off"),
    help: "adapt max_p every 500 ms to keep the average half-way between min and max (Floyd 2001)",
};
pub(crate) const GENTLE: OptionSpec = OptionSpec {
    name: "gentle",
    kind: Kind::Flag,
    default: Some("off"),
    help: "above max let the probability rise from max_p to 1 at 2*max instead of dropping all (ns-2; not in Linux)",
};

/// Options that `tc` requires or for which it assumes a link of 10 Mb/s.
pub(crate) const TC_ALWAYS: &[&str] = &["limit", AVPKT.name, BANDWIDTH.name];

/// Options that Linux does not have, with advice for the user.
pub(crate) const TC_REFUSED: &[(&str, &str)] = &[
    (EWMA.name, "tc derives the weight of the average from burst; give that"),
    (GENTLE.name, "Linux has no gentle RED; leave it out"),
];

/// A probability of 1 becomes 2^32 in `tc` (`tc_red.c`, `tc_choke.c`), which overflows the 32 bits of the attribute. It
/// arrives as 0 on x86, and the kernel then takes another probability (`red_set_parms`): 0.92 for thresholds that are
/// 60,000 bytes apart.
pub(crate) const TC_ALTERED: &[(&str, &str, &str)] =
    &[(PROBABILITY.name, "1", "it overflows in tc, and the kernel gets another value; give 0.999999")];

/// Parameters of RED in fixed point. Queue lengths are in bytes or in packets, depending on the scheme.
#[derive(Debug, Clone)]
pub(crate) struct RedParams {
    pub(crate) min: u32,
    pub(crate) max: u32,
    /// Weight of the average: w_q = 2^-wlog.
    pub(crate) wlog: u32,
    /// Drop probability at `max`, as a fraction of 2^32.
    pub(crate) max_p: u32,
    /// Idle time per entry of `stab`: 2^scell_log microseconds.
    pub(crate) scell_log: u32,
    /// Bits by which the average shifts right, by idle time.
    pub(crate) stab: [u8; STAB_SIZE],
    pub(crate) gentle: bool,
    pub(crate) adaptive: bool,
}

/// Thresholds and burst before the fixed-point derivation.
struct Thresholds {
    min: u32,
    max: u32,
    /// Burst in packets.
    burst: u32,
    /// `min` in bytes.
    min_bytes: u64,
}

impl RedParams {
    /// Derives the parameters of a scheme that counts bytes (`red`).
    pub(crate) fn in_bytes(options: &Options, adaptive: bool) -> Result<RedParams, String> {
        let limit = options.size("limit") as u32;
        let avpkt = options.size("avpkt");
        let given = (options.given_size("min").map(|min| min as u32), options.given_size("max").map(|max| max as u32));
        let max = match given {
            (_, Some(max)) => max,
            (Some(min), None) => min.saturating_mul(3),
            (None, None) => limit / 4,
        };
        let min = given.0.unwrap_or(max / 3);
        let burst = (2 * u64::from(min) + u64::from(max)) / (3 * avpkt);
        let thresholds = Thresholds {
            min,
            max,
            burst: options.given_count("burst").unwrap_or(burst) as u32,
            min_bytes: u64::from(min),
        };
        Self::derive(options, &thresholds, adaptive)
    }

    /// Derives the parameters of a scheme that counts packets (`choke`).
    pub(crate) fn in_packets(options: &Options) -> Result<RedParams, String> {
        let limit = options.count("limit") as u32;
        let max = options.given_count("max").map_or(limit / 4, |max| max as u32);
        let min = options.given_count("min").map_or(max / 3, |min| min as u32);
        if max > limit {
            return Err(format!("max {max} is above limit {limit}; expected at most the limit"));
        }
        let thresholds = Thresholds {
            min,
            max,
            burst: options.given_count("burst").map_or((2 * min + max) / 3, |burst| burst as u32),
            min_bytes: u64::from(min) * options.size("avpkt"),
        };
        Self::derive(options, &thresholds, false)
    }

    fn derive(options: &Options, thresholds: &Thresholds, adaptive: bool) -> Result<RedParams, String> {
        let &Thresholds { min, max, .. } = thresholds;
        if min >= max {
            return Err(format!("min {min} is not below max {max}; expected max to be about three times min"));
        }
        let avpkt = options.size("avpkt");
        let wlog = match options.given_count("ewma") {
            Some(wlog) => wlog as u32,
            None => weight(thresholds.min_bytes, thresholds.burst, avpkt)?,
        };
        // Linux: red_check_params. A threshold with its binary point at wlog must fit 32 bits.
        if max.ilog2() + 1 + wlog >= 32 {
            return Err(format!(
                "max {max} and an average of weight 2^-{wlog} do not fit 32 bits; expected a smaller max or a smaller burst"
            ));
        }
        let (scell_log, stab) = idle_table(wlog, avpkt, options.rate("bandwidth"))?;
        Ok(RedParams {
            min,
            max,
            wlog,
            // The cast saturates: a probability of 1 becomes the largest fraction.
            max_p: (options.real("probability") * 4_294_967_296.0) as u32,
            scell_log,
            stab,
            gentle: options.flag(GENTLE.name),
            adaptive,
        })
    }
}

/// Weight exponent for which `burst` packets may arrive at an empty queue before the average reaches `min` (iproute2,
/// `tc_red_eval_ewma`): the smallest with `burst + 1 - min/avpkt <= (1 - (1-W)^burst) / W`.
fn weight(min_bytes: u64, burst: u32, avpkt: u64) -> Result<u32, String> {
    let room = f64::from(burst) + 1.0 - min_bytes as f64 / avpkt as f64;
    if room < 1.0 {
        return Err(format!(
            "burst {burst} is too small for min; expected at least {} packets, or a smaller avpkt",
            1 + min_bytes / avpkt
        ));
    }
    (1..=MAX_WEIGHT_LOG)
        .find(|&wlog| {
            let w = libm::ldexp(1.0, -wlog);
            room <= (1.0 - libm::pow(1.0 - w, f64::from(burst))) / w
        })
        .map(|wlog| wlog as u32)
        .ok_or_else(|| {
            format!("a burst of {burst} packets is too large for min; expected a smaller burst or a larger min")
        })
}

/// Decay of the average while the queue is idle (iproute2, `tc_red_eval_idle_damping`).
///
/// `tc` counts transmission times in ticks of 64 ns, but the kernel reads the table in microseconds. The average of a
/// Linux queue therefore decays 15.6 times slower than `bandwidth` implies. Linux is the reference here too; a
/// bandwidth of 15.6 times the link rate gives the decay of the paper.
fn idle_table(wlog: u32, avpkt: u64, bandwidth: Rate) -> Result<(u32, [u8; STAB_SIZE]), String> {
    let bytes_per_second = bandwidth.bits_per_second() as f64 / 8.0;
    let packet_ticks = (avpkt as f64 / bytes_per_second * 1e6 * TICKS_PER_MICROSECOND).ceil();
    let decay = -libm::log(1.0 - 1.0 / f64::from(1u32 << wlog)) / packet_ticks;
    let span = 31.0 / decay;
    let scell_log = (0..=MAX_SCELL_LOG)
        .find(|&log| span / f64::from(1u32 << log) < 512.0)
        .ok_or_else(|| {
            format!("bandwidth {bandwidth} is too low for packets of {avpkt} bytes averaged with weight 2^-{wlog}; expected a higher one or a smaller burst")
        })?;
    let mut stab = [0; STAB_SIZE];
    for (cell, shift) in stab.iter_mut().enumerate().take(STAB_SIZE - 1) {
        *shift = (((cell as u64) << scell_log) as f64 * decay).min(31.0) as u8;
    }
    stab[STAB_SIZE - 1] = 31;
    Ok((scell_log, stab))
}

#[cfg(test)]
mod tests {
    use crate::Spec;

    fn params(text: &str) -> super::RedParams {
        let spec: Spec = text.parse().unwrap();
        match spec.scheme().name {
            "choke" => super::RedParams::in_packets(spec.options()).unwrap(),
            _ => super::RedParams::in_bytes(spec.options(), false).unwrap(),
        }
    }

    /// Calculation: room = burst + 1 - min/avpkt = 10 + 1 - 6.25 = 4.75; W = 1/2 gives 2.0, 1/4 gives 3.77, 1/8 gives
    /// 5.90.
    #[test]
    fn thresholds_follow_from_the_limit_and_the_weight_from_the_burst() {
        let red = params("red");
        assert_eq!((red.min, red.max, red.wlog), (6250, 18_750, 3));
        assert_eq!(red.max_p, 85_899_345); // 0.02 of 2^32
        let choke = params("choke limit=1000");
        assert_eq!((choke.min, choke.max), (83, 250));
    }

    /// A packet of 1000 bytes at 10 Mb/s takes 800 us, 12,500 ticks; -ln(1 - 1/8) = 0.1335; 31 * 12,500 / 0.1335 =
    /// 2.9 million, below 512 cells of 2^13. One cell shifts by 8192 * 0.1335 / 12,500 = 0.0875, 12 by 1.05.
    #[test]
    fn idle_table_is_that_of_tc() {
        let red = params("red");
        assert_eq!(red.scell_log, 13);
        assert_eq!((red.stab[11], red.stab[12], red.stab[254], red.stab[255]), (0, 1, 22, 31));
    }

    #[test]
    fn impossible_parameters_are_refused_with_a_reason() {
        for (text, part) in [
            ("red min=20000 max=10000", "not below max"),
            ("red limit=3000", "too small for min"),
            ("red burst=1000000", "too large"),
            ("red limit=1gb avpkt=1 ewma=10", "do not fit 32 bits"),
            ("red bandwidth=1kbit avpkt=65536 ewma=9", "too low"),
            ("choke limit=3", "not below max"),
            ("choke limit=20", "a larger min"),
            ("choke limit=10 max=20", "above limit"),
        ] {
            let error = text.parse::<Spec>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}

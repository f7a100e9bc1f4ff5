//! Configured rate and target delay of queues.

use crate::netlink::{Attribute, TcMessage, find, tca};
use gentle_aqm::{TimeAttribute, registry};
use gentle_units::{Nanos, Rate};
use std::ops::Range;

/// Place of the rate in the options of a class or qdisc (kernel: `linux/pkt_sched.h`): in `struct tc_ratespec`, in
/// bytes per second, unless a second attribute has the rate with 64 bits.
struct RateAt {
    kind: &'static str,
    parameters: u16,
    wide: u16,
}

/// Bytes of the field `rate` in `struct tc_ratespec`, with which `struct tc_htb_opt` and `struct tc_tbf_qopt` begin.
const RATE: Range<usize> = 8..12;

const RATES: [RateAt; 2] = [
    // `TCA_HTB_PARMS`, `TCA_HTB_RATE64` of a class.
    RateAt { kind: "htb", parameters: 1, wide: 6 },
    // `TCA_TBF_PARMS`, `TCA_TBF_RATE64`.
    RateAt { kind: "tbf", parameters: 1, wide: 4 },
];

fn options(message: &TcMessage) -> Vec<Attribute> {
    Attribute::all(message.attribute(tca::OPTIONS).unwrap_or_default())
}

fn number(bytes: &[u8]) -> Option<u64> {
    match bytes.len() {
        4 => Some(u32::from_ne_bytes(*bytes.first_chunk()?).into()),
        8 => Some(u64::from_ne_bytes(*bytes.first_chunk()?)),
        _ => None,
    }
}

/// Configured rate of a qdisc or class.
pub(crate) fn rate(message: &TcMessage) -> Option<Rate> {
    let kind = message.kind();
    let options = options(message);
    let of_scheme = registry::kernel_qdisc(&kind).and_then(|qdisc| qdisc.rate);
    let bytes_per_second = if let Some(attribute) = of_scheme {
        number(find(&options, attribute)?)?
    } else {
        let at = RATES.iter().find(|at| at.kind == kind)?;
        match find(&options, at.wide) {
            Some(wide) => number(wide)?,
            None => number(find(&options, at.parameters)?.get(RATE)?)?,
        }
    };
    Rate::from_bits_per_second(bytes_per_second.checked_mul(8)?)
}

/// Configured target delay of a qdisc.
pub(crate) fn target(message: &TcMessage) -> Option<Nanos> {
    let kind = message.kind();
    let options = options(message);
    let value = |attribute| number(find(&options, attribute)?);
    match registry::kernel_qdisc(&kind)?.target? {
        TimeAttribute::Micros(attribute) => value(attribute).map(Nanos::from_micros),
        TimeAttribute::Nanos(attribute) => value(attribute).map(Nanos),
    }
}

//! The two settings by which a queue is judged: the rate that packets leave at, and the delay that is aimed at.

use crate::netlink::{Attribute, TcMessage, find, tca};
use gentle_aqm::{TimeAttribute, registry};
use gentle_units::{Nanos, Rate};
use std::ops::Range;

/// Where in the options of a class or a qdisc a rate stands (kernel: `linux/pkt_sched.h`): in `struct tc_ratespec`, in bytes a
/// second, unless the attribute behind it has more than 32 bits of it.
struct RateAt {
    kind: &'static str,
    parameters: u16,
    wide: u16,
}

/// The field `rate` of `struct tc_ratespec`, which `struct tc_htb_opt` and `struct tc_tbf_qopt` begin with.
const RATE: Range<usize> = 8..12;

const RATES: [RateAt; 2] = [
    // `TCA_HTB_PARMS`, `TCA_HTB_RATE64`, of a class.
    RateAt {
        kind: "htb",
        parameters: 1,
        wide: 6,
    },
    // `TCA_TBF_PARMS`, `TCA_TBF_RATE64`.
    RateAt {
        kind: "tbf",
        parameters: 1,
        wide: 4,
    },
];

/// `TCA_CAKE_BASE_RATE64`; 0: it does not shape.
const CAKE_RATE: u16 = 2;

/// `TCA_CAKE_TARGET`.
const CAKE_TARGET: TimeAttribute = TimeAttribute::Micros(9);

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

/// The rate to which a qdisc or a class holds packets back.
pub(crate) fn rate(message: &TcMessage) -> Option<Rate> {
    let kind = message.kind();
    let options = options(message);
    let bytes_per_second = if kind == "cake" {
        number(find(&options, CAKE_RATE)?)?
    } else {
        let at = RATES.iter().find(|at| at.kind == kind)?;
        match find(&options, at.wide) {
            Some(wide) => number(wide)?,
            None => number(find(&options, at.parameters)?.get(RATE)?)?,
        }
    };
    Rate::from_bits_per_second(bytes_per_second.checked_mul(8)?)
}

/// The delay that a qdisc aims at.
pub(crate) fn target(message: &TcMessage) -> Option<Nanos> {
    let kind = message.kind();
    let options = options(message);
    let value = |attribute| number(find(&options, attribute)?);
    let attribute = match kind.as_str() {
        "cake" => CAKE_TARGET,
        kind => registry::kernel_qdisc(kind)?.target?,
    };
    match attribute {
        TimeAttribute::Micros(attribute) => value(attribute).map(Nanos::from_micros),
        TimeAttribute::Nanos(attribute) => value(attribute).map(Nanos),
    }
}

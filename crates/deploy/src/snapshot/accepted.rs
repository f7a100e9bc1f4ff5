//! Objects in the form in which the kernel accepts them, where that is not the form of its dumps.

use super::{actions, u32_tables};
use crate::netlink::{Attribute, Object, TcMessage, tca};
use gentle_aqm::registry;
use std::ops::Range;

/// Configuration of a dumped object in the form that the kernel accepts.
pub(super) fn of(object: Object, dumped: &TcMessage) -> TcMessage {
    let mut settings = dumped.clone();
    match object {
        Object::Qdisc => qdisc(&mut settings),
        Object::Filter => {
            u32_tables::leave_to_the_kernel(&mut settings);
            actions::flag_options_as_nested(&mut settings);
        }
        // A class has the kind of its qdisc, but different options.
        Object::Class | Object::Chain => {}
    }
    settings
}

fn qdisc(settings: &mut TcMessage) {
    let kind = settings.kind();
    if let Some((attributes, fixup)) = fixup_of(&kind) {
        settings.change_options(|parts| {
            for part in parts.iter_mut().filter(|part| attributes.contains(&part.kind())) {
                fixup.apply(&mut part.value);
            }
        });
    }
    if kind == "tbf" {
        settings.change_options(|parts| parts.extend(tbf_burst(parts)));
    }
    for options in &mut settings.attributes {
        match kind.as_str() {
            "sfq" if options.kind() == tca::OPTIONS => sfq_limit(&mut options.value),
            "mqprio" if options.kind() == tca::OPTIONS => mqprio_entries(&mut options.value),
            _ => {}
        }
    }
    if NESTED_WHEN_SET.contains(&kind.as_str()) {
        settings.flag_options_as_nested();
    }
}

/// Length of `struct tc_mqprio_qopt`, and its field `hw`.
const MQPRIO: usize = 82;
const MQPRIO_HARDWARE: usize = 17;

/// Removes the attributes after the structure of `mqprio`, which `mqprio_dump` always adds and `mqprio_init` accepts for
/// the hardware only.
fn mqprio_entries(options: &mut Vec<u8>) {
    if options.get(MQPRIO_HARDWARE) == Some(&0) {
        options.truncate(MQPRIO);
    }
}

/// Fields of `struct tc_sfq_qopt`.
const SFQ_LIMIT: Range<usize> = 8..12;
const SFQ_FLOWS: Range<usize> = 16..20;

/// Sets the limit of `sfq` to 0, which stands for its default, if it is below the number of flows: `sfq_change` lowers that
/// number to a given limit.
fn sfq_limit(options: &mut [u8]) {
    let word = |range: Range<usize>| {
        let bytes = options.get(range)?.try_into().ok()?;
        Some(u32::from_ne_bytes(bytes))
    };
    if word(SFQ_LIMIT) < word(SFQ_FLOWS)
        && let Some(limit) = options.get_mut(SFQ_LIMIT)
    {
        limit.fill(0);
    }
}

/// Attributes with 32-bit numbers that the kernel dumps in another form than it accepts, by kind of object.
const FIXUPS: [(&str, &[u16], Fixup); 2] = [
    // `TCA_DUALPI2_ALPHA`, `TCA_DUALPI2_BETA`.
    ("dualpi2", &[5, 6], Fixup::Weight),
    // `TCA_HTB_INIT`: the dump has the whole version, of which `htb_init` accepts the upper half.
    ("htb", &[2], Fixup::HtbVersion),
];

/// Qdiscs whose options the kernel dumps without `NLA_F_NESTED`, and does not accept without.
const NESTED_WHEN_SET: [&str; 2] = ["dualpi2", "ets"];

/// Attributes of a qdisc of this kind that the kernel does not accept as it dumps them, and how to convert them.
fn fixup_of(kind: &str) -> Option<(&'static [u16], Fixup)> {
    if let Some((_, attributes, fixup)) = FIXUPS.iter().find(|(name, ..)| *name == kind) {
        return Some((attributes, *fixup));
    }
    let rounded = registry::kernel_qdisc(kind)?.rounded_times?;
    let tick_ns = rounded.tick_ns;
    Some((rounded.attributes, Fixup::Micros { tick_ns }))
}

/// Conversion of a dumped value to one that the kernel accepts.
#[derive(Clone, Copy)]
enum Fixup {
    /// Version of htb.
    HtbVersion,
    /// Time in microseconds that the kernel stores in its own unit and rounds down twice, on setting and on dumping: 5
    /// ms of CoDel are dumped as 4,999 µs, which would be stored as 4,998 µs.
    Micros { tick_ns: u64 },
    /// Weight in 1/256 Hz that the kernel stores in a smaller unit and rounds down twice: 41 of DualPI2 is stored as 44,
    /// which is dumped as 40.
    Weight,
}

impl Fixup {
    fn apply(self, value: &mut [u8]) {
        let Some(first) = value.first_chunk_mut() else {
            return;
        };
        let number = u32::from_ne_bytes(*first);
        match self {
            Fixup::HtbVersion => *first = (number >> 16).to_ne_bytes(),
            Fixup::Micros { tick_ns } => {
                let dumped_for = |us: u32| u64::from(us) * 1000 / tick_ns * tick_ns / 1000;
                let number = match dumped_for(number) < u64::from(number) {
                    true => number.saturating_add(1),
                    false => number,
                };
                *first = number.to_ne_bytes();
            }
            // No stored weight is a whole number of the dump's units.
            Fixup::Weight => *first = number.saturating_add(1).to_ne_bytes(),
        }
    }
}

/// `TCA_TBF_PARMS`, `TCA_TBF_RATE64`, `TCA_TBF_BURST`.
const TBF_PARAMETERS: u16 = 1;
const TBF_RATE64: u16 = 4;
const TBF_BURST: u16 = 6;

/// Fields of `struct tc_tbf_qopt`: link layer, overhead and rate of its first `struct tc_ratespec`, and the burst as the
/// time that it takes at the rate, in ticks.
const TBF_LINK_LAYER: usize = 1;
const TBF_OVERHEAD: Range<usize> = 2..4;
const TBF_RATE: Range<usize> = 8..12;
const TBF_BUFFER: Range<usize> = 28..32;

const LINK_LAYER_ATM: u8 = 2;

/// Nanoseconds of a tick, `PSCHED_TICKS2NS`.
const TICK_NS: u128 = 64;

/// Burst of a `tbf` in bytes, which is not dumped, as the greatest that has the dumped time. Without it, the kernel computes
/// one from the time rounded down: a burst of one frame at 1 Gb/s would be up to 8 bytes too short, and `tbf_enqueue`
/// would drop every full frame.
fn tbf_burst(options: &[Attribute]) -> Option<Attribute> {
    let value = |kind| {
        let mut options = options.iter();
        options.find(|part| part.kind() == kind).map(|part| &part.value)
    };
    let parameters = value(TBF_PARAMETERS)?;
    let word = |range: Range<usize>| {
        let bytes = parameters.get(range)?.try_into().ok()?;
        Some(u32::from_ne_bytes(bytes))
    };
    let rate = match value(TBF_RATE64) {
        Some(wide) => u64::from_ne_bytes(*wide.first_chunk()?),
        None => word(TBF_RATE)?.into(),
    };
    if *parameters.get(TBF_LINK_LAYER)? == LINK_LAYER_ATM {
        return None;
    }
    let overhead = parameters.get(TBF_OVERHEAD)?.try_into().ok()?;
    let overhead = u16::from_ne_bytes(overhead);
    let next_tick = (u128::from(word(TBF_BUFFER)?) + 1) * TICK_NS;
    let bytes = (next_tick * u128::from(rate)).checked_sub(1)? / 1_000_000_000;
    let burst = bytes.checked_sub(overhead.into())?.try_into();
    Some(Attribute { raw_kind: TBF_BURST, value: u32::to_ne_bytes(burst.unwrap_or(u32::MAX)).to_vec() })
}

#[cfg(test)]
mod tests {
    use super::{Attribute, Fixup, TBF_BURST, TBF_PARAMETERS, tbf_burst};

    /// Time that the kernel dumps after `us` was set, rounded as in `codel_change` and `codel_dump`.
    fn dumped(us: u32, tick_ns: u64) -> u32 {
        let ticks = u64::from(us) * 1000 / tick_ns;
        u32::try_from(ticks * tick_ns / 1000).unwrap()
    }

    /// `dualpi2_scale_alpha_beta` and `dualpi2_unscale_alpha_beta`.
    #[test]
    fn weights_are_restored_to_what_was_stored() {
        let most = u64::from(u32::MAX);
        let stored = |weight: u32| ((u64::from(weight) * most) >> 2) / 1_000_000_000;
        let dumped = |stored: u64| ((stored * 1_000_000_000) << 2) / most;
        for set in 1..3_000_000 {
            let mut value = u32::try_from(dumped(stored(set))).unwrap().to_ne_bytes();
            Fixup::Weight.apply(&mut value);
            assert_eq!(stored(u32::from_ne_bytes(value)), stored(set), "{set}");
        }
    }

    #[test]
    fn times_are_restored_to_what_was_dumped() {
        for tick_ns in [64, 1024] {
            for set in (0..200_000).chain([1_000_000, 2_199_023_254]) {
                let before = dumped(set, tick_ns);
                let mut value = before.to_ne_bytes();
                Fixup::Micros { tick_ns }.apply(&mut value);
                let restored = u32::from_ne_bytes(value);
                assert_eq!(dumped(restored, tick_ns), before, "{set} µs of {tick_ns} ns");
            }
        }
    }

    #[test]
    fn the_burst_of_a_token_bucket_admits_what_it_admitted() {
        for rate in [1_000u64, 125_000, 12_500_000, 125_000_000, 1_250_000_000] {
            for burst in [1_514u32, 1_600, 5_000, 100_000] {
                let ticks = u64::from(burst) * 1_000_000_000 / rate / 64;
                let mut value = vec![0; 36];
                value[8..12].copy_from_slice(&u32::try_from(rate).unwrap().to_ne_bytes());
                value[28..32].copy_from_slice(&u32::try_from(ticks).unwrap().to_ne_bytes());
                let parameters = Attribute { raw_kind: TBF_PARAMETERS, value };
                let found = tbf_burst(&[parameters]).unwrap();
                assert_eq!(found.raw_kind, TBF_BURST);
                let found = u32::from_ne_bytes(*found.value.first_chunk().unwrap());
                assert!(found >= burst, "{found} for {burst} at {rate}");
                let again = u64::from(found) * 1_000_000_000 / rate / 64;
                assert_eq!(again, ticks, "{found} for {burst} at {rate}");
            }
        }
    }
}

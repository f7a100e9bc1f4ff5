//! Parts of a setup that the kernel does not dump, or does not accept as dumped, so that it could not be restored.

use super::actions::{self, Dumped};
use super::filters::Filters;
use super::kinds::{self, BPF, POLICE, U32};
use super::{stable, u32_tables};
use crate::netlink::{Attribute, Object, TcMessage, find, format_handle, tca};

/// `TCA_STATS_RATE_EST` and `TCA_STATS_RATE_EST64` (`linux/gen_stats.h`): the estimate of a rate estimator, of whose
/// interval and time constant nothing is dumped.
const RATE_ESTIMATES: [u16; 2] = [2, 5];

/// `TCA_STAB_BASE`, and in its `struct tc_sizespec` the number of entries of the table.
const STAB_BASE: u16 = 1;
const STAB_ENTRIES: std::ops::Range<usize> = 20..24;

/// Description of the first part of dumped qdiscs, classes and filters that could not be restored; `elsewhere` are filters
/// on the other side of a `clsact`, which stay.
pub(super) fn lacking(dumped: &[(Object, TcMessage)], filters: &[Filters], elsewhere: &[Filters]) -> Option<String> {
    let of_objects = dumped.iter().find_map(|(object, message)| match object {
        Object::Qdisc => lacking_qdisc(message),
        _ => estimated(message).then(|| {
            let class = format_handle(message.handle);
            format!("class {class} has a rate estimator, whose settings the kernel does not report")
        }),
    });
    of_objects.or_else(|| filters.iter().find_map(lacking_filters)).or_else(|| {
        let sides = filters.iter().chain(elsewhere);
        let mut with_u32 = sides.filter(|side| side.set.iter().any(|f| f.kind() == U32));
        let first = with_u32.next()?;
        // Numbers of tables are shared by a qdisc and its classes.
        with_u32.find(|other| other.parent >> 16 == first.parent >> 16).map(|other| {
            let [first, other] = [first, other].map(|side| format_handle(side.parent));
            format!(
                "the tables of u32 filters at {first} and {other} are numbered together, and would get other numbers"
            )
        })
    })
}

fn lacking_qdisc(qdisc: &TcMessage) -> Option<String> {
    let kind = qdisc.kind();
    // The default of a device; its kind is the system's choice.
    if qdisc.handle == 0 {
        return None;
    }
    let name = format!("{kind} {}", format_handle(qdisc.handle));
    let has = |attribute| qdisc.attribute(attribute).is_some();
    if has(tca::INGRESS_BLOCK) || has(tca::EGRESS_BLOCK) {
        Some(format!("{name} has filters shared with other devices (a block)"))
    } else if !kinds::is_dumped(&kind) {
        Some(format!("{name} is of a kind that the kernel does not report in full"))
    } else if has_size_table(qdisc) {
        Some(format!("{name} has a size table (stab), of which the kernel reports the parameters only"))
    } else if estimated(qdisc) {
        Some(format!("{name} has a rate estimator, whose settings the kernel does not report"))
    } else if kind == "netem" && netem_has_distribution(qdisc) {
        Some(format!("{name} has a jitter, whose distribution the kernel does not report"))
    } else {
        None
    }
}

fn estimated(message: &TcMessage) -> bool {
    let statistics = Attribute::all(message.attribute(tca::STATS2).unwrap_or_default());
    has_estimate(&statistics)
}

fn has_estimate(statistics: &[Attribute]) -> bool {
    statistics.iter().any(|part| RATE_ESTIMATES.contains(&part.kind()))
}

/// Whether there is a size table with entries (net/sched/sch_api.c: `qdisc_dump_stab` dumps `TCA_STAB_BASE` only, and
/// `qdisc_get_stab` requires `TCA_STAB_DATA` if the number of entries is not 0).
fn has_size_table(qdisc: &TcMessage) -> bool {
    let Some(stab) = qdisc.attribute(tca::STAB) else {
        return false;
    };
    let parts = Attribute::all(stab);
    let base = find(&parts, STAB_BASE).unwrap_or_default();
    base.get(STAB_ENTRIES).is_none_or(|entries| entries != [0; 4])
}

/// Whether delays vary, after a table that may have been set: `netem_dump` dumps none.
fn netem_has_distribution(qdisc: &TcMessage) -> bool {
    // `struct tc_netem_qopt`, followed by attributes: `TCA_NETEM_JITTER64`, `TCA_NETEM_SLOT`.
    const QOPT: usize = 24;
    const JITTER: std::ops::Range<usize> = 20..24;
    const JITTER64: u16 = 11;
    const SLOT: u16 = 12;
    // `dist_delay` and `dist_jitter` of `struct tc_netem_slot`.
    const SLOT_DISTRIBUTION: std::ops::Range<usize> = 24..40;
    let options = qdisc.attribute(tca::OPTIONS).unwrap_or_default();
    let further = Attribute::all(options.get(QOPT..).unwrap_or_default());
    let slot = find(&further, SLOT).and_then(|slot| slot.get(SLOT_DISTRIBUTION));
    let values = [options.get(JITTER), find(&further, JITTER64), slot];
    let mut values = values.into_iter().flatten();
    values.any(|value| value.iter().any(|byte| *byte != 0))
}

fn lacking_filters(filters: &Filters) -> Option<String> {
    let parent = format_handle(filters.parent);
    let place = |filter: &TcMessage| (filter.chain(), filter.info);
    let lacking = filters.set.iter().find_map(lacking_filter);
    let lacking = lacking.map(|what| format!("a filter at {parent} {what}"));
    lacking
        .or_else(|| {
            let mut empty = filters.preferences.iter().filter(|preference| {
                let mut filters = filters.set.iter().filter(|f| !u32_tables::is_root(f));
                !filters.any(|filter| place(filter) == place(preference))
            });
            let preference = empty.next()?.info >> 16;
            Some(format!("the classifier of preference {preference} at {parent} has no filters"))
        })
        .or_else(|| {
            filters.chains.iter().find_map(|chain| {
                let number = chain.chain();
                let in_chain = |filter: &TcMessage| filter.chain() == number;
                if chain.attribute(tca::KIND).is_some() {
                    Some(format!("chain {number} at {parent} has a template"))
                } else if !filters.preferences.iter().any(in_chain) {
                    Some(format!("chain {number} at {parent} has no filters"))
                } else {
                    None
                }
            })
        })
}

/// Part of a filter that could not be restored, as the rest of a sentence.
fn lacking_filter(filter: &TcMessage) -> Option<String> {
    let kind = filter.kind();
    let known = kinds::classifier(&kind);
    let Some(known) = known.filter(|known| known.dumped) else {
        return Some(match kind.as_str() {
            BPF => "is a BPF program, which the kernel does not report".to_owned(),
            kind => format!("is of kind {kind}, which the kernel may not report in full"),
        });
    };
    let options = filter.options();
    let flags = known.flags.and_then(|flags| find(&options, flags));
    let flags = flags.and_then(|flags| Some(u32::from_ne_bytes(*flags.first_chunk()?)));
    if flags.is_some_and(|flags| flags & stable::SKIP_SW != 0) {
        return Some("is for the hardware only (skip_sw)".to_owned());
    }
    let police = known.police.and_then(|police| find(&options, police));
    if police.is_some() {
        return Some(lacking_action(POLICE));
    }
    actions::of(filter).iter().find_map(|action: &Dumped| {
        let known = kinds::action(&action.kind);
        if known.is_none_or(|known| !known.dumped) {
            Some(lacking_action(&action.kind))
        } else if action.is_shared() {
            let kind = &action.kind;
            Some(format!("has an action ({kind}) that is also used elsewhere, or was created without a filter"))
        } else if has_estimate(&action.statistics()) {
            Some("has an action with a rate estimator, whose settings the kernel does not report".to_owned())
        } else {
            None
        }
    })
}

fn lacking_action(kind: &str) -> String {
    match kind {
        POLICE => "has a policer, whose rate table the kernel does not report".to_owned(),
        BPF => "has a BPF program, which the kernel does not report".to_owned(),
        kind => {
            format!("has an action of kind {kind}, which the kernel may not report in full")
        }
    }
}

/// Whether a qdisc shares filters with other devices.
pub(super) fn has_blocks(dumped: &[(Object, TcMessage)]) -> bool {
    dumped.iter().any(|(object, message)| {
        let block = [tca::INGRESS_BLOCK, tca::EGRESS_BLOCK];
        *object == Object::Qdisc && block.iter().any(|b| message.attribute(*b).is_some())
    })
}

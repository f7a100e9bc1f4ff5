//! Numbers of the tables of `u32` filters (net/sched/cls_u32.c).
//!
//! Every preference has a root table, which comes with its first filter and whose number the kernel assigns: 800: to the
//! first, then 801: and so on (`gen_new_htid`). Other tables have to be created, with a number of 1: to 7ff: or, if none
//! was given, an assigned one. The counter of assigned numbers belongs to the qdisc.

use super::kinds::U32;
use crate::netlink::{TcMessage, find};

/// Flag of assigned numbers.
const ASSIGNED: u32 = 1 << 31;
/// `TC_U32_KEY`: bucket and filter within a table; 0 for the table itself.
const WITHIN_TABLE: u32 = 0x000f_ffff;

const TCA_U32_HASH: u16 = 2;
const TCA_U32_DIVISOR: u16 = 4;

/// Whether this is a table, and no filter.
pub(super) fn is_table(filter: &TcMessage) -> bool {
    filter.kind() == U32 && filter.handle & WITHIN_TABLE == 0
}

/// Whether this is a root table, which has one bucket and cannot be created.
pub(super) fn is_root(filter: &TcMessage) -> bool {
    let options = filter.options();
    is_table(filter)
        && filter.handle & ASSIGNED != 0
        && find(&options, TCA_U32_DIVISOR).is_some_and(|buckets| buckets == 1u32.to_ne_bytes())
}

/// Removes the number of an assigned table from a filter in it: the kernel puts the filter into the root table of its
/// preference, whatever number that gets.
pub(super) fn leave_to_the_kernel(filter: &mut TcMessage) {
    let assigned = filter.kind() == U32 && filter.handle & ASSIGNED != 0;
    if assigned && !is_table(filter) {
        forget_number(filter);
    }
}

/// Removes the number of an assigned table, for comparison: it has no effect on packets.
pub(super) fn forget_number(filter: &mut TcMessage) {
    if filter.kind() == U32 && filter.handle & ASSIGNED != 0 {
        filter.handle &= WITHIN_TABLE;
        filter.change_options(|parts| parts.retain(|part| part.kind() != TCA_U32_HASH));
    }
}

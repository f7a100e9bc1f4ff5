//! Deficit round robin in which young flows go first, for a bounded share of the link.
//!
//! FQ-CoDel lets a flow that begins to wait go first for one packet (RFC 8290, section 4.1). Here it goes first until it
//! leaves the levels of age that are young, the youngest level before the others. What goes first takes from the flows that
//! have to wait for it, so that it has an allowance: it earns a share of what these send, and pays for what it sends
//! while they wait. The older a level, the more of the allowance has to be left. A flow that has none left is treated as
//! FQ-CoDel treats it. So flows in round robin lose no more than that share, whatever arrives.

use crate::laws::flow_ages::{FlowAges, LEVELS, QUANTUM, left_in_level, level};
use crate::laws::flow_sizes::ALWAYS;

/// Flows that wait from which on none goes first: the privilege would be that of many, and worth nothing.
const CROWD: u32 = 64;

/// Largest allowance, bytes.
const ALLOWANCE: i64 = 1 << 18;

/// What young flows may take of the link while others wait, in parts of 256: a tenth while only the levels that are always
/// young are, a third where sizes tell more.
const SHARE: i64 = 26;
const WIDE_SHARE: i64 = 84;
const WHOLE: i64 = 256;

/// Lists of flows: those that are not young and have just begun to wait, each level of young flows, and all others.
const NEW: usize = 0;
const OLD: usize = LEVELS + 1;
const LISTS: usize = LEVELS + 2;

const NONE: u16 = u16::MAX;
const UNLISTED: u8 = u8::MAX;

/// A flow in the lists of its host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    /// Bytes that it may send before it goes to the end of a list.
    deficit: i32,
    next: u16,
    list: u8,
    /// Host to whose lists it belongs.
    pub(crate) host: u8,
}

impl Default for Turn {
    fn default() -> Turn {
        Turn {
            deficit: 0,
            next: NONE,
            list: UNLISTED,
            host: 0,
        }
    }
}

impl Turn {
    /// Whether it is in a list.
    #[inline]
    pub(crate) fn is_listed(self) -> bool {
        self.list != UNLISTED
    }
}

#[derive(Debug, Clone, Copy)]
struct List {
    head: u16,
    tail: u16,
}

/// Flows of a host, or of all hosts together, in the order in which they are served.
#[derive(Debug)]
pub(crate) struct YoungFirst {
    lists: [List; LISTS],
    /// Bit i is set if list i has flows.
    waiting: u16,
    /// Number of flows in all lists.
    flows: u32,
    allowance: i64,
}

impl Default for YoungFirst {
    fn default() -> YoungFirst {
        YoungFirst {
            lists: [List {
                head: NONE,
                tail: NONE,
            }; LISTS],
            waiting: 0,
            flows: 0,
            allowance: ALLOWANCE,
        }
    }
}

impl YoungFirst {
    /// Number of flows that wait.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.flows
    }

    /// Whether so many flows wait that none goes first.
    #[inline]
    pub(crate) fn is_crowd(&self) -> bool {
        self.flows >= CROWD
    }

    /// Adds `flow`, which is in no list, of this age.
    #[inline]
    pub(crate) fn activate(&mut self, turns: &mut [Turn], flow: usize, age: u64, young: usize) {
        let level = level(age);
        let (list, deficit) = if level > young || self.is_crowd() {
            (NEW, QUANTUM)
        } else {
            (level, turn_in_level(age))
        };
        turns[flow].deficit = deficit as i32;
        self.flows += 1;
        self.push(turns, list, flow);
    }

    /// The flow to serve, if any waits: the same until [`YoungFirst::sent`] or [`YoungFirst::deactivate`] is called.
    /// `has_packets`: whether a flow has any. One that has none when its turn is over goes to the others, as in FQ-CoDel.
    #[inline]
    pub(crate) fn current(
        &mut self,
        turns: &mut [Turn],
        ages: &FlowAges,
        young: usize,
        has_packets: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        loop {
            let list = self.list(turns, young)?;
            let flow = usize::from(self.lists[list].head);
            if turns[flow].deficit > 0 {
                return Some(flow);
            }
            self.pop(turns, list);
            let age = ages.of_waiting(flow);
            let level = level(age);
            if list == OLD || list == NEW || !has_packets(flow) || level > young {
                turns[flow].deficit += QUANTUM as i32;
                self.push(turns, OLD, flow);
            } else {
                turns[flow].deficit = turn_in_level(age) as i32;
                self.push(turns, level, flow);
            }
        }
    }

    /// The list to serve. Young flows for which the allowance does not suffice go to the new ones first.
    #[inline]
    fn list(&mut self, turns: &mut [Turn], young: usize) -> Option<usize> {
        const OTHERS: u16 = 1 << NEW | 1 << OLD;
        loop {
            let levels = self.waiting & !OTHERS;
            let others = self.waiting & OTHERS;
            if levels == 0 {
                return (others != 0).then(|| others.trailing_zeros() as usize);
            }
            let level = levels.trailing_zeros() as usize;
            let suffices = self.allowance * young as i64 > ALLOWANCE * (level as i64 - 1);
            if others == 0 || suffices {
                return Some(level);
            }
            let flow = self.pop(turns, level);
            turns[flow].deficit = QUANTUM as i32;
            self.push(turns, NEW, flow);
        }
    }

    /// The current flow, `flow`, sends a packet of `bytes`.
    #[inline]
    pub(crate) fn sent(&mut self, turns: &mut [Turn], flow: usize, bytes: u32, young: usize) {
        let turn = &mut turns[flow];
        turn.deficit -= bytes as i32;
        let share = if young > ALWAYS { WIDE_SHARE } else { SHARE };
        let list = usize::from(turn.list);
        let bytes = i64::from(bytes);
        let others = self.waiting & (1 << NEW | 1 << OLD) != 0;
        if list == NEW {
            // As in FQ-CoDel: neither takes from others nor is taken from.
        } else if list == OLD || !others {
            self.allowance = (self.allowance + bytes * share / WHOLE).min(ALLOWANCE);
        } else {
            self.allowance -= bytes * (WHOLE - share) / WHOLE;
        }
    }

    /// The current flow, `flow`, has no packet: it leaves its list. As in FQ-CoDel, a new one first goes to the end of the
    /// others, if there are any; it could else return at once and starve them (RFC 8290, section 4.2).
    #[inline]
    pub(crate) fn deactivate(&mut self, turns: &mut [Turn], flow: usize) {
        let list = usize::from(turns[flow].list);
        self.pop(turns, list);
        if list == NEW && self.waiting & 1 << OLD != 0 {
            self.push(turns, OLD, flow);
        } else {
            turns[flow].list = UNLISTED;
            self.flows -= 1;
        }
    }

    #[inline]
    fn push(&mut self, turns: &mut [Turn], list: usize, flow: usize) {
        turns[flow].next = NONE;
        turns[flow].list = list as u8;
        let ends = &mut self.lists[list];
        if self.waiting & 1 << list == 0 {
            ends.head = flow as u16;
            self.waiting |= 1 << list;
        } else {
            turns[usize::from(ends.tail)].next = flow as u16;
        }
        ends.tail = flow as u16;
    }

    /// Removes the first flow of a list that has one.
    #[inline]
    fn pop(&mut self, turns: &[Turn], list: usize) -> usize {
        let flow = usize::from(self.lists[list].head);
        let next = turns[flow].next;
        self.lists[list].head = next;
        if next == NONE {
            self.waiting &= !(1 << list);
        }
        flow
    }
}

/// Bytes that a young flow sends in a turn: no more than a frame, and none beyond its level.
fn turn_in_level(age: u64) -> u32 {
    left_in_level(age).min(QUANTUM.into()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_that_runs_empty_waits_for_the_others_however_long_the_queue_has_run() {
        let mut turns = vec![Turn::default(); 2];
        let mut ages = FlowAges::new(2);
        let mut order = YoungFirst::default();
        order.activate(&mut turns, 0, u64::from(QUANTUM) << 8, ALWAYS);
        order.activate(&mut turns, 1, 0, ALWAYS);
        assert_eq!(order.current(&mut turns, &ages, ALWAYS, |_| true), Some(1));
        ages.sent(1, QUANTUM, order.len());
        order.sent(&mut turns, 1, QUANTUM, ALWAYS);
        ages.stop_waiting(1);
        let has_packets = |flow| flow == 0;
        assert_eq!(
            order.current(&mut turns, &ages, ALWAYS, has_packets),
            Some(0)
        );
    }
}

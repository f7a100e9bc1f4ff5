//! Deficit round robin in which young flows go first, for a bounded share of the link.
//!
//! FQ-CoDel lets a flow that begins to wait go first for one packet (RFC 8290, section 4.1). So does this, for any flow, and of
//! these flows the young are served before the others. A young flow is then served before all others as long as it is
//! young, the youngest level first. What goes first takes time of the link from the flows that have to wait for it, and
//! owes it to them: at most CoDel's interval at once, and no more than a share of the link in the long run. The older a
//! level, the sooner it has to stop. Flows that may owe no more are treated as FQ-CoDel treats them. So flows in round
//! robin are delayed by no more than that interval, and lose no more than that share, whatever arrives and whatever the
//! rate.

use crate::laws::flow_ages::{FlowAges, LEVELS, QUANTUM, left_in_level, level};
use crate::laws::flow_sizes::SHORT;

/// Flows that wait from which on none goes first: the privilege would be that of many, and worth nothing.
const CROWD: u32 = 64;

/// Share of the link that young flows may take while others wait, in parts of 256: a thirteenth while only the levels of short
/// flows are young, a third where sizes are better evidence.
const SHARE: i64 = 20;
const WIDE_SHARE: i64 = 84;
const WHOLE: i64 = 256;

/// Lists of flows, in the order in which they are served: the young and the others in the first turn since they began to wait,
/// each level of young flows from the second, and all others.
const FIRST: usize = 0;
const NEW: usize = 1;
const OLD: usize = LEVELS + 1;
const LISTS: usize = LEVELS + 2;

/// Bits of the lists whose flows wait for the flows of `list`, which owe them that time: young flows in their first
/// turn owe all others, flows of a level owe the flows that are not young.
const fn passed(list: usize) -> u16 {
    match list {
        FIRST => !(1 << FIRST),
        _ => 1 << NEW | 1 << OLD,
    }
}

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
        Turn { deficit: 0, next: NONE, list: UNLISTED, host: 0 }
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
    /// Largest debt of the flows that go first to those that wait for them, in units of CoDel's time.
    interval: i64,
    /// Debt, in parts of 256 of a unit.
    debt: i64,
    /// Change of the debt with each unit of time until the next packet is sent.
    adds: i64,
}

impl YoungFirst {
    /// No flows; what goes first may owe others one `interval`, in units of CoDel's time.
    pub(crate) fn new(interval: u32) -> YoungFirst {
        YoungFirst {
            lists: [List { head: NONE, tail: NONE }; LISTS],
            waiting: 0,
            flows: 0,
            interval: interval.into(),
            debt: 0,
            adds: 0,
        }
    }

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
        let goes_first = level(age) <= young && !self.is_crowd();
        turns[flow].deficit = QUANTUM as i32;
        self.flows += 1;
        self.push(turns, if goes_first { FIRST } else { NEW }, flow);
    }

    /// The flow to serve, if any waits: the same until [`YoungFirst::sent`] or [`YoungFirst::deactivate`] is called.
    /// `has_packets`: whether a flow has any. One that has none when its turn is over goes to the others, as in FQ-CoDel, and in
    /// a crowd every flow does.
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
            let goes_on = list != OLD && list != NEW && level <= young && !self.is_crowd();
            if !goes_on || !has_packets(flow) {
                turns[flow].deficit += QUANTUM as i32;
                self.push(turns, OLD, flow);
            } else {
                turns[flow].deficit = turn_in_level(age) as i32;
                self.push(turns, level.max(2), flow);
            }
        }
    }

    /// The list to serve. Young flows that would owe too much go to the others first.
    #[inline]
    fn list(&mut self, turns: &mut [Turn], young: usize) -> Option<usize> {
        while self.waiting != 0 {
            let list = self.waiting.trailing_zeros() as usize;
            if matches!(list, NEW | OLD) || self.waiting & passed(list) == 0 {
                return Some(list);
            }
            let (older, instead) = match list {
                FIRST => (0, NEW),
                level => (level - 1, OLD),
            };
            let (young, older) = (young as i64, older as i64);
            if self.debt * young < self.interval * WHOLE * (young - older) {
                return Some(list);
            }
            let flow = self.pop(turns, list);
            turns[flow].deficit = QUANTUM as i32;
            self.push(turns, instead, flow);
        }
        None
    }

    /// The current flow, `flow`, sends a packet of `bytes`.
    #[inline]
    pub(crate) fn sent(&mut self, turns: &mut [Turn], flow: usize, bytes: u32, young: usize) {
        let turn = &mut turns[flow];
        turn.deficit -= bytes as i32;
        let share = if young > SHORT { WIDE_SHARE } else { SHARE };
        let list = usize::from(turn.list);
        let others = self.waiting & passed(list) != 0;
        self.adds = if list == NEW {
            0 // As in FQ-CoDel: neither takes from others nor is taken from.
        } else if list == OLD || !others {
            -share
        } else {
            WHOLE - share
        };
    }

    /// As much time, in units of CoDel's, has passed since the call of [`YoungFirst::sent`]. The link may have stood still:
    /// no packet owes more than the interval.
    #[inline]
    pub(crate) fn pass(&mut self, time: u32) {
        let time = self.interval.min(time.into());
        self.debt = (self.debt + time * self.adds).max(0);
    }

    /// The current flow, `flow`, has no packet: it leaves its list. As in FQ-CoDel, a new one first goes to the end of the
    /// others, if there are any; it could else return at once and starve them (RFC 8290, section 4.2).
    #[inline]
    pub(crate) fn deactivate(&mut self, turns: &mut [Turn], flow: usize) {
        let list = usize::from(turns[flow].list);
        self.pop(turns, list);
        if list == NEW && self.waiting & !(1 << FIRST | 1 << NEW) != 0 {
            self.push(turns, OLD, flow);
        } else {
            turns[flow].list = UNLISTED;
            self.flows -= 1;
            if self.flows == 0 {
                // None waits to whom anything is owed.
                self.debt = 0;
                self.adds = 0;
            }
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
        let mut order = YoungFirst::new(100);
        order.activate(&mut turns, 0, u64::from(QUANTUM) << 8, SHORT);
        order.activate(&mut turns, 1, 0, SHORT);
        assert_eq!(order.current(&mut turns, &ages, SHORT, |_| true), Some(1));
        ages.sent(1, QUANTUM, order.len());
        order.sent(&mut turns, 1, QUANTUM, SHORT);
        ages.stop_waiting(1);
        let has_packets = |flow| flow == 0;
        assert_eq!(order.current(&mut turns, &ages, SHORT, has_packets), Some(0));
    }
}

//! Whose turn it is: deficit round robin with a list of new and one of old flows (RFC 8290, sections 4.1 and 4.2), as
//! `fq_codel` and `fq_pie` share it.

/// No flow.
const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Turn {
    /// Bytes that the flow may still send before it goes to the end of the old flows.
    deficit: i64,
    next: u32,
    listed: bool,
}

#[derive(Debug, Clone, Copy)]
struct List {
    head: u32,
    tail: u32,
}

impl List {
    const EMPTY: List = List {
        head: NONE,
        tail: NONE,
    };

    fn push(&mut self, turns: &mut [Turn], flow: u32) {
        turns[flow as usize].next = NONE;
        if self.head == NONE {
            self.head = flow;
        } else {
            turns[self.tail as usize].next = flow;
        }
        self.tail = flow;
    }

    /// Takes the first flow off; the list must not be empty.
    fn pop(&mut self, turns: &[Turn]) -> u32 {
        let flow = self.head;
        self.head = turns[flow as usize].next;
        flow
    }

    fn is_empty(&self) -> bool {
        self.head == NONE
    }
}

/// The order in which flows are served.
#[derive(Debug)]
pub(crate) struct Drr {
    turns: Box<[Turn]>,
    new: List,
    old: List,
    quantum: i64,
}

impl Drr {
    /// For flows `0..flows`, none of them waiting; each sends `quantum` bytes a round.
    pub(crate) fn new(flows: u32, quantum: u32) -> Self {
        let turn = Turn {
            deficit: 0,
            next: NONE,
            listed: false,
        };
        Drr {
            turns: vec![turn; flows as usize].into_boxed_slice(),
            new: List::EMPTY,
            old: List::EMPTY,
            quantum: i64::from(quantum),
        }
    }

    /// A packet of `flow` has arrived: a flow that is on neither list is a new one.
    #[inline]
    pub(crate) fn arrived(&mut self, flow: usize) {
        let turn = &mut self.turns[flow];
        if !turn.listed {
            turn.listed = true;
            turn.deficit = self.quantum;
            self.new.push(&mut self.turns, flow as u32);
        }
    }

    /// The flow whose turn it is, which stays so until [`Drr::sent`] or [`Drr::empty`] changes it.
    #[inline]
    pub(crate) fn current(&mut self) -> Option<usize> {
        loop {
            let list = if self.new.is_empty() {
                &mut self.old
            } else {
                &mut self.new
            };
            if list.is_empty() {
                return None;
            }
            let flow = list.head;
            let turn = &mut self.turns[flow as usize];
            if turn.deficit > 0 {
                return Some(flow as usize);
            }
            turn.deficit += self.quantum;
            list.pop(&self.turns);
            self.old.push(&mut self.turns, flow);
        }
    }

    /// `flow` has sent `bytes`.
    #[inline]
    pub(crate) fn sent(&mut self, flow: usize, bytes: u32) {
        self.turns[flow].deficit -= i64::from(bytes);
    }

    /// The current flow had nothing to send: it leaves the lists.
    ///
    /// A new flow makes a pass through the old ones first, if there are any; otherwise it could come back as a new flow
    /// at once and starve them (RFC 8290, section 4.2).
    #[inline]
    pub(crate) fn empty(&mut self) {
        if self.new.is_empty() {
            let flow = self.old.pop(&self.turns);
            self.turns[flow as usize].listed = false;
            return;
        }
        let flow = self.new.pop(&self.turns);
        if self.old.is_empty() {
            self.turns[flow as usize].listed = false;
        } else {
            self.old.push(&mut self.turns, flow);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_flows_share_bytes_not_packets() {
        let mut drr = Drr::new(2, 1500);
        let mut sent = [0u32; 2];
        drr.arrived(0);
        drr.arrived(1);
        for _ in 0..10_000 {
            let flow = drr.current().unwrap();
            let bytes = [1500, 100][flow];
            sent[flow] += bytes;
            drr.sent(flow, bytes);
        }
        assert!(sent[0].abs_diff(sent[1]) <= 2 * 1500, "{sent:?}");
    }

    #[test]
    fn a_new_flow_goes_first_but_only_for_a_quantum() {
        let mut drr = Drr::new(3, 1500);
        drr.arrived(0);
        assert_eq!(drr.current(), Some(0));
        drr.sent(0, 1500);
        assert_eq!(drr.current(), Some(0));
        drr.sent(0, 100);
        drr.arrived(1);
        assert_eq!(drr.current(), Some(1));
        drr.sent(1, 1500);
        assert_eq!(drr.current(), Some(0));
    }

    #[test]
    fn a_new_flow_that_runs_empty_passes_through_the_old_ones() {
        let mut drr = Drr::new(2, 1500);
        drr.arrived(0);
        drr.sent(0, 1500);
        assert_eq!(drr.current(), Some(0));
        drr.arrived(1);
        assert_eq!(drr.current(), Some(1));
        drr.empty();
        drr.arrived(1);
        assert_eq!(drr.current(), Some(0));
        drr.empty();
        assert_eq!(drr.current(), Some(1));
        drr.empty();
        assert_eq!(drr.current(), None);
    }
}

//! Deficit round robin with lists of new and of old flows (RFC 8290, sections 4.1 and 4.2), shared by `fq_codel`,
//! `fq_pie` and, for hosts, `gentle`.

/// Index that stands for no flow.
const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct FlowState {
    /// Bytes that the flow may still send before it moves to the end of the old flows.
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
    const EMPTY: List = List { head: NONE, tail: NONE };

    fn push(&mut self, flows: &mut [FlowState], flow: u32) {
        flows[flow as usize].next = NONE;
        if self.head == NONE {
            self.head = flow;
        } else {
            flows[self.tail as usize].next = flow;
        }
        self.tail = flow;
    }

    /// Removes the first flow; the list must not be empty.
    fn pop(&mut self, flows: &[FlowState]) -> u32 {
        let flow = self.head;
        self.head = flows[flow as usize].next;
        flow
    }

    fn is_empty(&self) -> bool {
        self.head == NONE
    }
}

/// Deficit round robin scheduler.
#[derive(Debug)]
pub(crate) struct Drr {
    flows: Box<[FlowState]>,
    new: List,
    old: List,
    quantum: i64,
}

impl Drr {
    /// A scheduler for the flows `0..flows`, all inactive; each sends `quantum` bytes a round.
    pub(crate) fn new(flows: u32, quantum: u32) -> Self {
        let flow = FlowState { deficit: 0, next: NONE, listed: false };
        Drr {
            flows: vec![flow; flows as usize].into_boxed_slice(),
            new: List::EMPTY,
            old: List::EMPTY,
            quantum: i64::from(quantum),
        }
    }

    /// Adds `flow` to the new flows unless it is on one of the lists. To be called for every packet that is enqueued.
    #[inline]
    pub(crate) fn activate(&mut self, flow: usize) {
        let state = &mut self.flows[flow];
        if !state.listed {
            state.listed = true;
            state.deficit = self.quantum;
            self.new.push(&mut self.flows, flow as u32);
        }
    }

    /// Whether `flow` is on one of the lists.
    pub(crate) fn is_listed(&self, flow: usize) -> bool {
        self.flows[flow].listed
    }

    /// The flow to serve next; it stays the same until [`Drr::charge`] or [`Drr::deactivate`] is called.
    #[inline]
    pub(crate) fn current(&mut self) -> Option<usize> {
        loop {
            let list = if self.new.is_empty() { &mut self.old } else { &mut self.new };
            if list.is_empty() {
                return None;
            }
            let flow = list.head;
            let state = &mut self.flows[flow as usize];
            if state.deficit > 0 {
                return Some(flow as usize);
            }
            state.deficit += self.quantum;
            list.pop(&self.flows);
            self.old.push(&mut self.flows, flow);
        }
    }

    /// Charges `flow` for a packet of `bytes` that it has sent.
    #[inline]
    pub(crate) fn charge(&mut self, flow: usize, bytes: u32) {
        self.flows[flow].deficit -= i64::from(bytes);
    }

    /// Removes the current flow, which has no packet, from its list.
    ///
    /// A new flow first moves to the end of the old flows, if there are any; otherwise it could return as a new flow at
    /// once and starve them (RFC 8290, section 4.2).
    #[inline]
    pub(crate) fn deactivate(&mut self) {
        if self.new.is_empty() {
            let flow = self.old.pop(&self.flows);
            self.flows[flow as usize].listed = false;
            return;
        }
        let flow = self.new.pop(&self.flows);
        if self.old.is_empty() {
            self.flows[flow as usize].listed = false;
        } else {
            self.old.push(&mut self.flows, flow);
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
        drr.activate(0);
        drr.activate(1);
        for _ in 0..10_000 {
            let flow = drr.current().unwrap();
            let bytes = [1500, 100][flow];
            sent[flow] += bytes;
            drr.charge(flow, bytes);
        }
        assert!(sent[0].abs_diff(sent[1]) <= 2 * 1500, "{sent:?}");
    }

    #[test]
    fn a_new_flow_goes_first_but_only_for_a_quantum() {
        let mut drr = Drr::new(3, 1500);
        drr.activate(0);
        assert_eq!(drr.current(), Some(0));
        drr.charge(0, 1500);
        assert_eq!(drr.current(), Some(0));
        drr.charge(0, 100);
        drr.activate(1);
        assert_eq!(drr.current(), Some(1));
        drr.charge(1, 1500);
        assert_eq!(drr.current(), Some(0));
    }

    #[test]
    fn a_new_flow_that_runs_empty_passes_through_the_old_ones() {
        let mut drr = Drr::new(2, 1500);
        drr.activate(0);
        drr.charge(0, 1500);
        assert_eq!(drr.current(), Some(0));
        drr.activate(1);
        assert_eq!(drr.current(), Some(1));
        drr.deactivate();
        drr.activate(1);
        assert_eq!(drr.current(), Some(0));
        drr.deactivate();
        assert_eq!(drr.current(), Some(1));
        drr.deactivate();
        assert_eq!(drr.current(), None);
    }
}

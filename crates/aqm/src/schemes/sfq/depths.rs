//! SFQ's slots by number of packets, so that the longest slot is found without a search.
//!
//! One circular doubly-linked list per depth, as in Linux (`dep` in `net/sched/sch_sfq.c`): with every packet a slot
//! moves to the head of the list of its new depth. The first slot of a list loses a packet, so the order within lists
//! follows the kernel.

#[derive(Debug, Clone, Copy)]
struct Links {
    next: u32,
    prev: u32,
}

/// Slots by depth; unused slots have depth 0.
#[derive(Debug)]
pub(crate) struct Depths {
    /// Links of the slots, then of the list heads of all depths.
    links: Box<[Links]>,
    depth: Box<[u32]>,
    deepest: u32,
}

impl Depths {
    /// `slots` empty slots for up to `max_depth` packets each.
    pub(crate) fn new(slots: u32, max_depth: u32) -> Self {
        let links = (0..slots + max_depth + 1).map(|i| Links { next: i, prev: i });
        let mut depths =
            Depths { links: links.collect(), depth: vec![0; slots as usize].into_boxed_slice(), deepest: 0 };
        for slot in 0..slots {
            depths.link(slot);
        }
        depths
    }

    /// The number of packets in the longest slot.
    pub(crate) fn deepest(&self) -> u32 {
        self.deepest
    }

    /// The number of packets in `slot`.
    #[inline]
    pub(crate) fn depth(&self, slot: u32) -> u32 {
        self.depth[slot as usize]
    }

    /// The slot that reached `depth` packets last, if any slot has that many.
    #[inline]
    pub(crate) fn first_at(&self, depth: u32) -> Option<u32> {
        let slot = self.links[self.anchor(depth)].next;
        ((slot as usize) < self.depth.len()).then_some(slot)
    }

    /// Counts a packet added to `slot` (Linux: `sfq_inc`).
    #[inline]
    pub(crate) fn increment(&mut self, slot: u32) {
        self.unlink(slot);
        let depth = &mut self.depth[slot as usize];
        *depth += 1;
        self.deepest = self.deepest.max(*depth);
        self.link(slot);
    }

    /// Counts a packet removed from `slot` (Linux: `sfq_dec`).
    #[inline]
    pub(crate) fn decrement(&mut self, slot: u32) {
        let Links { next, prev } = self.unlink(slot);
        let depth = &mut self.depth[slot as usize];
        // The slot was the only one of its depth if both neighbours are the list head.
        if next == prev && self.deepest == *depth {
            self.deepest -= 1;
        }
        *depth -= 1;
        self.link(slot);
    }

    fn anchor(&self, depth: u32) -> usize {
        self.depth.len() + depth as usize
    }

    fn link(&mut self, slot: u32) {
        let anchor = self.anchor(self.depth[slot as usize]);
        let next = self.links[anchor].next;
        self.links[slot as usize] = Links { next, prev: anchor as u32 };
        self.links[anchor].next = slot;
        self.links[next as usize].prev = slot;
    }

    fn unlink(&mut self, slot: u32) -> Links {
        let links = self.links[slot as usize];
        self.links[links.prev as usize].next = links.next;
        self.links[links.next as usize].prev = links.prev;
        links
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_deepest_is_the_maximum(ops in proptest::collection::vec((0u32..5, any::<bool>()), 0..300)) {
            let mut depths = Depths::new(5, 20);
            let mut model = [0u32; 5];
            for (slot, more) in ops {
                if more && model[slot as usize] < 20 {
                    depths.increment(slot);
                    model[slot as usize] += 1;
                } else if !more && model[slot as usize] > 0 {
                    depths.decrement(slot);
                    model[slot as usize] -= 1;
                }
                let most = *model.iter().max().unwrap();
                prop_assert_eq!(depths.deepest(), most);
                let longest = depths.first_at(most).unwrap();
                prop_assert_eq!(model[longest as usize], most);
                prop_assert_eq!(depths.first_at(0).is_some(), model.contains(&0));
            }
        }
    }
}

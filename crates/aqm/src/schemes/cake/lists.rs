//! Rotations of flows within a tin: doubly linked lists in one allocation (Linux: `list_head`).

use super::QUEUES;

/// A rotation that a flow can be part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rotation {
    /// Flows that began to send a short time ago.
    New,
    /// Flows with a deficit.
    Old,
    /// Flows without packets whose control law is not at rest.
    Decaying,
}

/// Neighbours of a flow, or the ends of a rotation.
#[derive(Debug, Clone, Copy)]
struct Links {
    next: u16,
    prev: u16,
}

/// The rotations of a tin. A flow is part of one of them or of none.
#[derive(Debug)]
pub(super) struct Rotations {
    /// Links of the flows, then the ends of the three rotations. What is part of no list is linked to itself.
    links: Box<[Links]>,
}

impl Rotation {
    fn end(self) -> usize {
        QUEUES + self as usize
    }
}

impl Rotations {
    pub(super) fn new() -> Rotations {
        let own = |index: usize| Links { next: index as u16, prev: index as u16 };
        Rotations { links: (0..QUEUES + 3).map(own).collect() }
    }

    /// The first flow of a rotation.
    #[inline]
    pub(super) fn first(&self, rotation: Rotation) -> Option<usize> {
        let next = usize::from(self.links[rotation.end()].next);
        (next < QUEUES).then_some(next)
    }

    /// Takes `flow` out of its rotation.
    #[inline]
    pub(super) fn remove(&mut self, flow: usize) {
        let Links { next, prev } = self.links[flow];
        self.links[usize::from(prev)].next = next;
        self.links[usize::from(next)].prev = prev;
        self.links[flow] = Links { next: flow as u16, prev: flow as u16 };
    }

    /// Moves `flow` from its rotation, if any, to the end of `rotation`.
    #[inline]
    pub(super) fn append(&mut self, flow: usize, rotation: Rotation) {
        self.remove(flow);
        let end = rotation.end();
        let last = self.links[end].prev;
        self.links[flow] = Links { next: end as u16, prev: last };
        self.links[usize::from(last)].next = flow as u16;
        self.links[end].prev = flow as u16;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn rotations_behave_as_queues(steps in proptest::collection::vec((0usize..6, 0usize..4), 0..200)) {
            const ALL: [Rotation; 3] = [Rotation::New, Rotation::Old, Rotation::Decaying];
            let mut rotations = Rotations::new();
            let mut model: [VecDeque<usize>; 3] = Default::default();
            for (flow, to) in steps {
                model.iter_mut().for_each(|list| list.retain(|other| *other != flow));
                match ALL.get(to) {
                    Some(rotation) => {
                        rotations.append(flow, *rotation);
                        model[to].push_back(flow);
                    }
                    None => rotations.remove(flow),
                }
                for (rotation, list) in ALL.into_iter().zip(&model) {
                    prop_assert_eq!(rotations.first(rotation), list.front().copied());
                }
            }
        }
    }
}

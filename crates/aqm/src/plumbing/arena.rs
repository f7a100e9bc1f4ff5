//! Many packet queues in one allocation, for schemes with a queue per flow.
//!
//! Packets are linked by index, as the kernel links `sk_buff`s. Moving a packet between queues allocates nothing, and
//! memory grows with the largest number of packets stored at once, not with the sum of the queues' maxima.

/// Index that stands for no node.
const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Node<P> {
    /// `None` while the node is free.
    packet: Option<P>,
    next: u32,
    /// Not maintained at the head of a chain.
    prev: u32,
}

/// Head and tail of one queue, whose packets are all in the same [`Arena`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chain {
    head: u32,
    tail: u32,
}

impl Default for Chain {
    fn default() -> Self {
        Chain { head: NONE, tail: NONE }
    }
}

impl Chain {
    /// True if the queue has no packet.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == NONE
    }
}

/// Place of a packet in an [`Arena`], valid until the packet is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(u32);

/// Storage of the packets of all queues.
#[derive(Debug)]
pub(crate) struct Arena<P> {
    nodes: Vec<Node<P>>,
    /// First free node; free nodes are chained by `next`.
    free: u32,
}

impl<P> Default for Arena<P> {
    fn default() -> Self {
        Arena { nodes: Vec::new(), free: NONE }
    }
}

impl<P> Arena<P> {
    #[inline]
    pub(crate) fn push_back(&mut self, chain: &mut Chain, packet: P) {
        let node = Node { packet: Some(packet), next: NONE, prev: chain.tail };
        let index = self.free;
        let index = if index == NONE {
            self.nodes.push(node);
            (self.nodes.len() - 1) as u32
        } else {
            let slot = &mut self.nodes[index as usize];
            self.free = slot.next;
            *slot = node;
            index
        };
        if chain.head == NONE {
            chain.head = index;
        } else {
            self.nodes[chain.tail as usize].next = index;
        }
        chain.tail = index;
    }

    /// The packet at the head of a chain.
    #[inline]
    pub(crate) fn front(&self, chain: &Chain) -> Option<&P> {
        self.nodes.get(chain.head as usize)?.packet.as_ref()
    }

    #[inline]
    pub(crate) fn pop_front(&mut self, chain: &mut Chain) -> Option<P> {
        let index = chain.head;
        if index == NONE {
            return None;
        }
        chain.head = self.nodes[index as usize].next;
        self.release(index)
    }

    pub(crate) fn pop_back(&mut self, chain: &mut Chain) -> Option<P> {
        if chain.head == NONE {
            return None;
        }
        let index = chain.tail;
        if index == chain.head {
            chain.head = NONE;
        } else {
            chain.tail = self.nodes[index as usize].prev;
            self.nodes[chain.tail as usize].next = NONE;
        }
        self.release(index)
    }

    /// The packet at the tail of a chain, with its place.
    pub(crate) fn back(&self, chain: &Chain) -> Option<(Place, &P)> {
        let tail = self.nodes.get(chain.tail as usize)?;
        let packet = tail.packet.as_ref().filter(|_| !chain.is_empty())?;
        Some((Place(chain.tail), packet))
    }

    /// The packets of a chain from head to tail, each with its place for [`Arena::remove`].
    pub(crate) fn iter(&self, chain: &Chain) -> impl Iterator<Item = (Place, &P)> {
        let mut next = chain.head;
        std::iter::from_fn(move || {
            let index = next;
            let node = self.nodes.get(index as usize)?;
            next = node.next;
            Some((Place(index), node.packet.as_ref()?))
        })
    }

    /// Removes the packet at `place`, which must be one of the chain's.
    pub(crate) fn remove(&mut self, chain: &mut Chain, place: Place) -> Option<P> {
        let Place(index) = place;
        if index == chain.head {
            return self.pop_front(chain);
        }
        if index == chain.tail {
            return self.pop_back(chain);
        }
        let Node { next, prev, .. } = self.nodes[index as usize];
        self.nodes[prev as usize].next = next;
        self.nodes[next as usize].prev = prev;
        self.release(index)
    }

    #[inline]
    fn release(&mut self, index: u32) -> Option<P> {
        let node = &mut self.nodes[index as usize];
        node.next = self.free;
        self.free = index;
        node.packet.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn chains_behave_as_separate_queues(ops in proptest::collection::vec((0usize..3, 0u8..5, 0usize..8), 0..400)) {
            let mut arena = Arena::default();
            let mut chains = [Chain::default(); 3];
            let mut model: [VecDeque<usize>; 3] = Default::default();
            let mut most = 0;
            for (i, (queue, op, place)) in ops.into_iter().enumerate() {
                let chain = &mut chains[queue];
                match op {
                    0 | 1 => {
                        arena.push_back(chain, i);
                        model[queue].push_back(i);
                    }
                    2 => prop_assert_eq!(arena.pop_front(chain), model[queue].pop_front()),
                    3 => {
                        let found: Vec<_> = arena.iter(chain).map(|(at, packet)| (at, *packet)).collect();
                        let packets: Vec<_> = found.iter().map(|(_, packet)| *packet).collect();
                        prop_assert_eq!(arena.back(chain).map(|(_, packet)| packet), model[queue].back());
                        prop_assert_eq!(&packets, model[queue].make_contiguous());
                        prop_assert_eq!(chain.is_empty(), model[queue].is_empty());
                        if let Some((at, packet)) = found.get(place) {
                            prop_assert_eq!(arena.remove(chain, *at), Some(*packet));
                            model[queue].remove(place);
                        }
                    }
                    _ => prop_assert_eq!(arena.pop_back(chain), model[queue].pop_back()),
                }
                most = most.max(model.iter().map(VecDeque::len).sum());
            }
            prop_assert_eq!(arena.nodes.len(), most);
        }
    }
}

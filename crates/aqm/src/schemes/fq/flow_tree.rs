//! Red-black trees of flows, one for each bucket of a hash table.
//!
//! A look-up in Linux also frees old flows, but only those on its way from the root (`fq_gc`). Which flows these are
//! depends on the shape of the tree, so the trees are balanced as those of Linux (`lib/rbtree.c`), which are those of
//! Cormen et al., Introduction to Algorithms, chapter 13.

/// Index that stands for no flow.
const NONE: u32 = u32::MAX;

/// Side of a child.
const LEFT: usize = 0;
const RIGHT: usize = 1;

#[derive(Debug, Clone, Copy)]
struct Node {
    key: u64,
    parent: u32,
    children: [u32; 2],
    red: bool,
}

/// Trees whose nodes are numbered by the caller.
#[derive(Debug)]
pub(super) struct FlowTree {
    roots: Box<[u32]>,
    nodes: Vec<Node>,
}

impl FlowTree {
    /// `buckets` empty trees.
    pub(super) fn new(buckets: usize) -> Self {
        FlowTree { roots: vec![NONE; buckets].into_boxed_slice(), nodes: Vec::new() }
    }

    /// Nodes from the root of `bucket` towards `key`, with their keys; the last is that of `key`, if there is one.
    pub(super) fn path(&self, bucket: usize, key: u64) -> impl Iterator<Item = (u32, u64)> {
        let mut next = self.roots[bucket];
        std::iter::from_fn(move || {
            let index = next;
            let node = self.nodes.get(index as usize)?;
            next = match node.key {
                own if own == key => NONE,
                own => node.children[usize::from(key > own)],
            };
            Some((index, node.key))
        })
    }

    /// Adds the node `index` with a `key` that is not in the tree of `bucket`. A new `index` is the number of nodes that
    /// there have been so far.
    pub(super) fn insert(&mut self, bucket: usize, index: u32, key: u64) {
        let parent = self.path(bucket, key).last();
        let node = Node { key, parent: parent.map_or(NONE, |(parent, _)| parent), children: [NONE; 2], red: true };
        match self.nodes.get_mut(index as usize) {
            Some(place) => *place = node,
            None => self.nodes.push(node),
        }
        match parent {
            None => self.roots[bucket] = index,
            Some((parent, own)) => {
                self.nodes[parent as usize].children[usize::from(key > own)] = index;
            }
        }
        self.balance_inserted(bucket, index);
    }

    /// Removes the node `index` from the tree of `bucket`.
    pub(super) fn remove(&mut self, bucket: usize, index: u32) {
        let Node { parent, children: [left, right], red, .. } = self.nodes[index as usize];
        // The node that takes the place, where a node is missing then, and whether it was a black one.
        let (parent, black) = if left == NONE || right == NONE {
            let child = if left == NONE { right } else { left };
            self.replace(bucket, index, child);
            if child == NONE {
                (parent, !red)
            } else {
                // The only child is red, and its parent black.
                self.nodes[child as usize].red = red;
                return;
            }
        } else {
            let mut next = right;
            while self.nodes[next as usize].children[LEFT] != NONE {
                next = self.nodes[next as usize].children[LEFT];
            }
            let removed = self.nodes[next as usize];
            let below = removed.children[RIGHT];
            let missing = if removed.parent == index {
                next
            } else {
                self.replace(bucket, next, below);
                self.link(next, RIGHT, right);
                removed.parent
            };
            self.replace(bucket, index, next);
            self.link(next, LEFT, left);
            self.nodes[next as usize].red = red;
            if below != NONE {
                self.nodes[below as usize].red = false;
                return;
            }
            (missing, !removed.red)
        };
        if black {
            self.balance_removed(bucket, parent);
        }
    }

    fn is_red(&self, index: u32) -> bool {
        let node = self.nodes.get(index as usize);
        node.is_some_and(|node| node.red)
    }

    fn child(&self, index: u32, side: usize) -> u32 {
        self.nodes[index as usize].children[side]
    }

    fn set_red(&mut self, index: u32, red: bool) {
        self.nodes[index as usize].red = red;
    }

    /// Makes `child` the child of `parent` on this side.
    fn link(&mut self, parent: u32, side: usize, child: u32) {
        self.nodes[parent as usize].children[side] = child;
        if let Some(node) = self.nodes.get_mut(child as usize) {
            node.parent = parent;
        }
    }

    /// Puts `new` in the place of `old` below the parent of `old`.
    fn replace(&mut self, bucket: usize, old: u32, new: u32) {
        let parent = self.nodes[old as usize].parent;
        match self.nodes.get(parent as usize) {
            None => self.roots[bucket] = new,
            Some(node) => {
                let side = usize::from(node.children[RIGHT] == old);
                self.nodes[parent as usize].children[side] = new;
            }
        }
        if let Some(node) = self.nodes.get_mut(new as usize) {
            node.parent = parent;
        }
    }

    /// Rotates `top` down to this side; its child on the other side takes its place.
    fn rotate(&mut self, bucket: usize, top: u32, side: usize) {
        let up = self.child(top, 1 - side);
        let inner = self.child(up, side);
        self.replace(bucket, top, up);
        self.link(top, 1 - side, inner);
        self.link(up, side, top);
    }

    fn balance_inserted(&mut self, bucket: usize, inserted: u32) {
        let mut index = inserted;
        loop {
            let mut parent = self.nodes[index as usize].parent;
            if !self.is_red(parent) {
                break;
            }
            // A red node is not the root.
            let above = self.nodes[parent as usize].parent;
            let side = usize::from(self.child(above, RIGHT) == parent);
            let uncle = self.child(above, 1 - side);
            if self.is_red(uncle) {
                self.set_red(parent, false);
                self.set_red(uncle, false);
                self.set_red(above, true);
                index = above;
                continue;
            }
            if self.child(parent, 1 - side) == index {
                self.rotate(bucket, parent, side);
                parent = index;
            }
            self.set_red(parent, false);
            self.set_red(above, true);
            self.rotate(bucket, above, 1 - side);
            break;
        }
        let root = self.roots[bucket];
        self.set_red(root, false);
    }

    /// Balances the tree after a black node without children was removed from below `parent`.
    fn balance_removed(&mut self, bucket: usize, parent: u32) {
        let (mut index, mut parent) = (NONE, parent);
        while parent != NONE {
            let side = usize::from(self.child(parent, RIGHT) == index);
            // The missing node was black, so its sibling exists.
            let mut sibling = self.child(parent, 1 - side);
            if self.is_red(sibling) {
                self.set_red(sibling, false);
                self.set_red(parent, true);
                self.rotate(bucket, parent, side);
                sibling = self.child(parent, 1 - side);
            }
            let (near, far) = (self.child(sibling, side), self.child(sibling, 1 - side));
            if !self.is_red(near) && !self.is_red(far) {
                self.set_red(sibling, true);
                if self.is_red(parent) {
                    self.set_red(parent, false);
                    break;
                }
                index = parent;
                parent = self.nodes[index as usize].parent;
                continue;
            }
            if !self.is_red(far) {
                self.set_red(near, false);
                self.set_red(sibling, true);
                self.rotate(bucket, sibling, 1 - side);
                sibling = near;
            }
            let red = self.is_red(parent);
            self.set_red(sibling, red);
            self.set_red(parent, false);
            let far = self.child(sibling, 1 - side);
            self.set_red(far, false);
            self.rotate(bucket, parent, side);
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Keys in order and the black height, of a tree whose links and colours are right.
    fn check(tree: &FlowTree, index: u32, parent: u32, keys: &mut Vec<u64>) -> usize {
        let Some(node) = tree.nodes.get(index as usize) else {
            return 0;
        };
        assert_eq!(node.parent, parent);
        assert!(!node.red || !tree.is_red(parent), "a red child of a red node");
        let left = check(tree, node.children[LEFT], index, keys);
        keys.push(node.key);
        let right = check(tree, node.children[RIGHT], index, keys);
        assert_eq!(left, right, "black nodes on the way to the leaves");
        left + usize::from(!node.red)
    }

    proptest! {
        #[test]
        fn the_tree_is_ordered_and_balanced(keys in proptest::collection::vec(0u64..40, 0..300)) {
            let mut tree = FlowTree::new(3);
            let mut model = BTreeMap::new();
            let mut free = Vec::new();
            for key in keys {
                match model.remove(&key) {
                    Some(index) => {
                        tree.remove(1, index);
                        free.push(index);
                    }
                    None => {
                        let new = model.len() as u32;
                        let index = free.pop().unwrap_or(new);
                        tree.insert(1, index, key);
                        model.insert(key, index);
                    }
                }
                let mut keys = Vec::new();
                check(&tree, tree.roots[1], NONE, &mut keys);
                prop_assert!(keys.iter().eq(model.keys()));
                let found = |key| tree.path(1, key).last().filter(|(_, own)| *own == key);
                for key in 0..40 {
                    prop_assert_eq!(found(key).map(|(index, _)| index), model.get(&key).copied());
                }
            }
            prop_assert_eq!((tree.roots[0], tree.roots[2]), (NONE, NONE));
        }
    }
}

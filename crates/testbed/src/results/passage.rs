//! Contents of a queue: packets seen entering it and not yet leaving.

use super::frames::Frame;
use gentle_experiment::Class;
use gentle_units::Nanos;
use std::collections::{HashMap, VecDeque};

/// A packet in the queue, or dropped by it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) since: Nanos,
    pub(super) class: Class,
    /// Whether the packet entered after the warm-up.
    pub(super) counts: bool,
}

/// The queue of one direction.
#[derive(Debug, Default)]
pub(super) struct Passage {
    /// Packets by [`Frame::identity`]; packets with equal identity are assumed to leave in order of arrival.
    inside: HashMap<u64, VecDeque<Waiting>>,
}

impl Passage {
    pub(super) fn enter(&mut self, frame: &Frame, waiting: Waiting) {
        let alike = self.inside.entry(frame.identity).or_default();
        alike.push_back(waiting);
    }

    pub(super) fn leave(&mut self, frame: &Frame) -> Option<Waiting> {
        let alike = self.inside.get_mut(&frame.identity)?;
        let first = alike.pop_front();
        if alike.is_empty() {
            self.inside.remove(&frame.identity);
        }
        first
    }

    /// Classes of the dropped packets that count: those that never left, without the `waiting` youngest, which are
    /// still queued.
    pub(super) fn dropped(self, waiting: usize) -> Vec<Class> {
        let mut left: Vec<Waiting> = self.inside.into_values().flatten().collect();
        left.sort_by_key(|packet| packet.since);
        left.truncate(left.len().saturating_sub(waiting));
        left.retain(|packet| packet.counts);
        left.iter().map(|packet| packet.class).collect()
    }
}

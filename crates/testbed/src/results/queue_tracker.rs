//! Contents of a queue: packets that entered it and have not left.

use super::frames::Frame;
use gentle_experiment::Class;
use gentle_units::Instant;
use std::collections::{HashMap, VecDeque};

/// A packet that entered the queue: it is in the queue, or the queue has dropped it.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueuedPacket {
    pub(super) since: Instant,
    pub(super) class: Class,
    /// Index of the group for which the packet counts.
    pub(super) group: Option<usize>,
    /// Whether the packet entered after the warm-up.
    pub(super) counts: bool,
}

/// Queue of one direction.
#[derive(Debug, Default)]
pub(super) struct QueueTracker {
    /// Packets by [`Frame::identity`]; packets with equal identity are assumed to leave in order of arrival.
    inside: HashMap<u64, VecDeque<QueuedPacket>>,
}

impl QueueTracker {
    pub(super) fn enter(&mut self, frame: &Frame, packet: QueuedPacket) {
        let alike = self.inside.entry(frame.identity).or_default();
        alike.push_back(packet);
    }

    pub(super) fn leave(&mut self, frame: &Frame) -> Option<QueuedPacket> {
        let alike = self.inside.get_mut(&frame.identity)?;
        let first = alike.pop_front();
        if alike.is_empty() {
            self.inside.remove(&frame.identity);
        }
        first
    }

    /// The dropped packets that count: those that never left, without the `queued` youngest, which are still in the
    /// queue.
    pub(super) fn dropped(self, queued: usize) -> Vec<QueuedPacket> {
        let mut left: Vec<QueuedPacket> = self.inside.into_values().flatten().collect();
        left.sort_by_key(|packet| packet.since);
        left.truncate(left.len().saturating_sub(queued));
        left.retain(|packet| packet.counts);
        left
    }
}

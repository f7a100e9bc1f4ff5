//! The contract of a queue discipline: what goes in comes out, or is returned as a drop with its reason.

use crate::plumbing::packet::Packet;
use gentle_units::Nanos;
use std::fmt;

/// Why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// The queue was full and the arriving packet was refused.
    Tail,
    /// Refused on arrival before the queue was full, by a random or periodic decision (RED, PIE, GSP).
    Early,
    /// Dropped on departure because it, or the queue, had waited too long (CoDel).
    Aqm,
    /// Removed from the queue to make room for another packet (REDFavor, CHOKe's match, SFQ's head drop).
    PushOut,
    /// Removed because the whole qdisc was over its limit (FQ-CoDel's fattest flow, SFQ's longest).
    Overlimit,
}

impl DropReason {
    /// All of them, in the order in which reports list them.
    pub const ALL: [DropReason; 5] = [
        DropReason::Tail,
        DropReason::Early,
        DropReason::Aqm,
        DropReason::PushOut,
        DropReason::Overlimit,
    ];

    /// The name used in reports and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            DropReason::Tail => "tail",
            DropReason::Early => "early",
            DropReason::Aqm => "aqm",
            DropReason::PushOut => "push-out",
            DropReason::Overlimit => "overlimit",
        }
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Where a qdisc puts the packets it drops.
///
/// The caller owns it, hands it in and drains it after each call; it grows to the largest batch once and is reused,
/// so that dropping allocates nothing.
#[derive(Debug)]
pub struct Drops<P> {
    list: Vec<(P, DropReason)>,
}

impl<P> Default for Drops<P> {
    fn default() -> Self {
        Drops { list: Vec::new() }
    }
}

impl<P> Drops<P> {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records that `packet` was dropped.
    pub fn push(&mut self, packet: P, reason: DropReason) {
        self.list.push((packet, reason));
    }

    /// Takes the recorded drops out, in the order in which they happened.
    pub fn drain(&mut self) -> impl Iterator<Item = (P, DropReason)> + '_ {
        self.list.drain(..)
    }

    /// The drop at `index`, in the order in which they happened.
    pub fn get(&self, index: usize) -> Option<&(P, DropReason)> {
        self.list.get(index)
    }

    /// The drops recorded since the list was `mark` long, for a qdisc that wraps another one.
    pub fn since(&self, mark: usize) -> &[(P, DropReason)] {
        &self.list[mark..]
    }

    /// Takes back the drop at `index`, for a qdisc that wraps another one; panics if there is none.
    pub fn remove(&mut self, index: usize) -> (P, DropReason) {
        self.list.remove(index)
    }

    /// The recorded drops.
    pub fn iter(&self) -> impl Iterator<Item = &(P, DropReason)> {
        self.list.iter()
    }

    /// How many drops are recorded.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// A queue discipline.
///
/// Invariants that hold for every implementation, and that the property tests check:
/// * packets enqueued = packets dequeued + packets dropped + [`Qdisc::len`], and the same in bytes;
/// * within one flow, packets leave in the order in which they came;
/// * `dequeue` returns `None` only when the queue is empty on return (none of the schemes here shapes).
///
/// `now` never runs back between calls. Timers (PIE's update, ARED's adaptation, SFQ's perturbation) are caught up on
/// inside the two calls: nothing they read changes in between, so the result equals that of a timer that fired in time.
pub trait Qdisc<P: Packet>: Send {
    /// Offers a packet. It is stored, or it or others are put into `drops`.
    fn enqueue(&mut self, now: Nanos, packet: P, drops: &mut Drops<P>);

    /// Takes the packet to send next. Packets dropped on the way are put into `drops`.
    fn dequeue(&mut self, now: Nanos, drops: &mut Drops<P>) -> Option<P>;

    /// Packets stored.
    fn len(&self) -> usize;

    /// Whether none is stored.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes stored.
    fn backlog(&self) -> u64;

    /// Packets marked with ECN congestion experienced since the start.
    fn marked(&self) -> u64 {
        0
    }

    /// Marks a packet that has left this queue and that a discipline around it is about to drop in the place of another
    /// one. Returns whether it is marked; `false` where the queue does not mark, or the packet cannot be marked.
    fn mark_departed(&mut self, packet: &mut P) -> bool {
        let _ = packet;
        false
    }
}

impl<P: Packet, Q: Qdisc<P> + ?Sized> Qdisc<P> for Box<Q> {
    fn enqueue(&mut self, now: Nanos, packet: P, drops: &mut Drops<P>) {
        (**self).enqueue(now, packet, drops);
    }
    fn dequeue(&mut self, now: Nanos, drops: &mut Drops<P>) -> Option<P> {
        (**self).dequeue(now, drops)
    }
    fn len(&self) -> usize {
        (**self).len()
    }
    fn backlog(&self) -> u64 {
        (**self).backlog()
    }
    fn marked(&self) -> u64 {
        (**self).marked()
    }
    fn mark_departed(&mut self, packet: &mut P) -> bool {
        (**self).mark_departed(packet)
    }
}

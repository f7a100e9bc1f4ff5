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

/// Why a packet was marked with ECN congestion experienced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MarkReason {
    /// In place of a drop on arrival (RED, PIE).
    Early,
    /// In place of a drop on departure (CoDel).
    Aqm,
    /// It had waited longer than `ce_threshold` (CoDel).
    CeThreshold,
}

impl MarkReason {
    /// All of them, in the order in which reports list them.
    pub const ALL: [MarkReason; 3] = [MarkReason::Early, MarkReason::Aqm, MarkReason::CeThreshold];

    /// The name used in reports.
    pub const fn name(self) -> &'static str {
        match self {
            MarkReason::Early => "early",
            MarkReason::Aqm => "aqm",
            MarkReason::CeThreshold => "ce-threshold",
        }
    }
}

impl fmt::Display for MarkReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A packet that was marked. Unlike one that was dropped it goes on, so that this is only what tells it apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// [`Packet::flow`] of the packet.
    pub flow: u64,
    /// [`Packet::bytes`] of the packet.
    pub bytes: u32,
    /// Reason.
    pub reason: MarkReason,
}

/// Congestion signals of a qdisc: the packets that it dropped, and notes of those that it marked, with their reasons.
///
/// The caller owns it, hands it in and drains it after each call; it grows to the largest batch once and is reused,
/// so that a signal allocates nothing. Unless its name says otherwise, a method is about drops.
#[derive(Debug)]
pub struct Signals<P> {
    list: Vec<(P, DropReason)>,
    marks: Vec<Mark>,
}

impl<P> Default for Signals<P> {
    fn default() -> Self {
        Signals {
            list: Vec::new(),
            marks: Vec::new(),
        }
    }
}

impl<P> Signals<P> {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records that `packet` was dropped.
    pub fn dropped(&mut self, packet: P, reason: DropReason) {
        self.list.push((packet, reason));
    }

    /// Marks that are recorded, in the order in which they happened.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// Takes the recorded marks out, in the order in which they happened.
    pub fn drain_marks(&mut self) -> impl Iterator<Item = Mark> + '_ {
        self.marks.drain(..)
    }

    /// Whether neither drop nor mark is recorded.
    #[inline]
    pub fn is_silent(&self) -> bool {
        self.list.is_empty() && self.marks.is_empty()
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

impl<P: Packet> Signals<P> {
    /// Records that `packet` was marked.
    pub fn marked(&mut self, packet: &P, reason: MarkReason) {
        self.marks.push(Mark {
            flow: packet.flow(),
            bytes: packet.bytes(),
            reason,
        });
    }
}

/// The answer to the question for the next packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dequeue<P> {
    /// The packet to send.
    Packet(P),
    /// Nothing is queued.
    Empty,
    /// Packets are queued, but none may be sent before this time (Linux: `qdisc_watchdog_schedule_ns`). A packet that
    /// arrives may be sent at once, so the queue is asked again after every arrival too.
    NotBefore(Nanos),
}

impl<P> Dequeue<P> {
    /// The packet, if there is one to send.
    #[inline]
    pub fn packet(self) -> Option<P> {
        match self {
            Dequeue::Packet(packet) => Some(packet),
            Dequeue::Empty | Dequeue::NotBefore(_) => None,
        }
    }

    /// The packet, or else the answer of another queue; of two times the earlier.
    #[inline]
    pub fn or_else(self, other: impl FnOnce() -> Dequeue<P>) -> Dequeue<P> {
        match self {
            Dequeue::Packet(_) => self,
            Dequeue::Empty => other(),
            Dequeue::NotBefore(time) => match other() {
                Dequeue::Empty => Dequeue::NotBefore(time),
                Dequeue::NotBefore(sooner) => Dequeue::NotBefore(time.min(sooner)),
                packet => packet,
            },
        }
    }
}

/// Of a queue that never waits.
impl<P> From<Option<P>> for Dequeue<P> {
    #[inline]
    fn from(packet: Option<P>) -> Dequeue<P> {
        packet.map_or(Dequeue::Empty, Dequeue::Packet)
    }
}

/// A queue discipline.
///
/// Invariants that hold for every implementation, and that the property tests check:
/// * packets enqueued = packets dequeued + packets dropped + [`Qdisc::len`], and the same in bytes;
/// * within one flow, packets leave in the order that the scheme's description has ([`Order`](crate::Order));
/// * `dequeue` answers [`Dequeue::Empty`] only when the queue is empty on return, and [`Dequeue::NotBefore`] with a time
///   after `now` only when it is not.
///
/// `now` never runs back between calls. Timers (PIE's update, ARED's adaptation, SFQ's perturbation) are caught up on
/// inside the two calls: nothing they read changes in between, so the result equals that of a timer that fired in time.
pub trait Qdisc<P: Packet>: Send {
    /// Offers a packet. It is stored, or it or others are dropped; `signals` gets what was dropped or marked.
    fn enqueue(&mut self, now: Nanos, packet: P, signals: &mut Signals<P>);

    /// Takes the packet to send next. `signals` gets what was dropped or marked on the way.
    fn dequeue(&mut self, now: Nanos, signals: &mut Signals<P>) -> Dequeue<P>;

    /// Packets stored.
    fn len(&self) -> usize;

    /// Whether none is stored.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes stored.
    fn backlog(&self) -> u64;

    /// Marks a packet that has left this queue and that a discipline around it is about to drop in the place of another
    /// one. Returns whether it is marked, which `signals` then has; `false` where the queue does not mark, or the packet
    /// cannot be marked.
    fn mark_departed(&mut self, packet: &mut P, signals: &mut Signals<P>) -> bool {
        let _ = (packet, signals);
        false
    }
}

impl<P: Packet, Q: Qdisc<P> + ?Sized> Qdisc<P> for Box<Q> {
    fn enqueue(&mut self, now: Nanos, packet: P, signals: &mut Signals<P>) {
        (**self).enqueue(now, packet, signals);
    }
    fn dequeue(&mut self, now: Nanos, signals: &mut Signals<P>) -> Dequeue<P> {
        (**self).dequeue(now, signals)
    }
    fn len(&self) -> usize {
        (**self).len()
    }
    fn backlog(&self) -> u64 {
        (**self).backlog()
    }
    fn mark_departed(&mut self, packet: &mut P, signals: &mut Signals<P>) -> bool {
        (**self).mark_departed(packet, signals)
    }
}

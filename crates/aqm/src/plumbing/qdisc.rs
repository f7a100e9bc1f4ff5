//! The interface of a queue discipline, and the reasons for drops and marks.

use crate::plumbing::packet::Packet;
use gentle_units::Instant;
use std::fmt;

/// Reason for dropping a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// The arriving packet found the queue full (tail drop).
    Tail,
    /// The arriving packet was dropped before the queue was full, by a random or periodic decision (RED, PIE, GSP).
    Early,
    /// The packet was dropped on dequeue because sojourn times were too long (CoDel), or at random because its flow does
    /// not respond (BLUE in COBALT).
    Aqm,
    /// The queued packet was removed to make room for another (REDFavor, a match in CHOKe, SFQ's head drop).
    PushOut,
    /// The queued packet was removed because the qdisc exceeded its limit (the fattest flow of FQ-CoDel and
    /// `gentle`, SFQ's longest slot).
    Overlimit,
    /// The queued TCP ACK was removed because a later one of its flow makes it redundant (cake's ACK filter).
    AckFilter,
}

impl DropReason {
    /// All reasons, in the order of reports.
    pub const ALL: [DropReason; 6] = [
        DropReason::Tail,
        DropReason::Early,
        DropReason::Aqm,
        DropReason::PushOut,
        DropReason::Overlimit,
        DropReason::AckFilter,
    ];

    /// The name used in reports and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            DropReason::Tail => "tail",
            DropReason::Early => "early",
            DropReason::Aqm => "aqm",
            DropReason::PushOut => "push-out",
            DropReason::Overlimit => "overlimit",
            DropReason::AckFilter => "ack-filter",
        }
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Reason for marking a packet with ECN congestion experienced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MarkReason {
    /// The mark replaces a drop on enqueue (RED, PIE).
    Early,
    /// The mark replaces a drop on dequeue (CoDel).
    Aqm,
    /// The sojourn time exceeded `ce_threshold` (CoDel, fq), or the queue the step threshold of DualPI2.
    CeThreshold,
}

impl MarkReason {
    /// All reasons, in the order of reports.
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

/// Note of a marked packet. The packet itself stays queued or is sent, so the note only identifies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// [`Packet::flow`] of the packet.
    pub flow: u64,
    /// [`Packet::bytes`] of the packet.
    pub bytes: u32,
    /// Reason for the mark.
    pub reason: MarkReason,
}

/// Congestion signals of a qdisc: dropped packets and notes of marked packets, with their reasons.
///
/// The caller owns the lists, passes them to each call and drains them afterwards. They grow once to the largest batch
/// and are reused, so signals cost no allocation. Methods without "mark" in their name concern drops.
#[derive(Debug)]
pub struct Signals<P> {
    drops: Vec<(P, DropReason)>,
    marks: Vec<Mark>,
}

impl<P> Default for Signals<P> {
    fn default() -> Self {
        Signals { drops: Vec::new(), marks: Vec::new() }
    }
}

impl<P> Signals<P> {
    /// Empty lists.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records that `packet` was dropped.
    pub fn dropped(&mut self, packet: P, reason: DropReason) {
        self.drops.push((packet, reason));
    }

    /// The recorded marks, in order of time.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// Removes the recorded marks and returns them in order of time.
    pub fn drain_marks(&mut self) -> impl Iterator<Item = Mark> + '_ {
        self.marks.drain(..)
    }

    /// True if neither drop nor mark is recorded.
    #[inline]
    pub fn is_silent(&self) -> bool {
        self.drops.is_empty() && self.marks.is_empty()
    }

    /// Removes the recorded drops and returns them in order of time.
    pub fn drain(&mut self) -> impl Iterator<Item = (P, DropReason)> + '_ {
        self.drops.drain(..)
    }

    /// The drop at `index`, in order of time.
    pub fn get(&self, index: usize) -> Option<&(P, DropReason)> {
        self.drops.get(index)
    }

    /// The drops recorded after the first `len`, for a qdisc that wraps another one.
    ///
    /// # Panics
    /// Fewer than `len` drops are recorded.
    pub fn since(&self, len: usize) -> &[(P, DropReason)] {
        &self.drops[len..]
    }

    /// Withdraws the drop at `index`, for a qdisc that wraps another one.
    ///
    /// # Panics
    /// No drop is recorded at `index`.
    pub fn remove(&mut self, index: usize) -> (P, DropReason) {
        self.drops.remove(index)
    }

    /// The recorded drops, in order of time.
    pub fn iter(&self) -> impl Iterator<Item = &(P, DropReason)> {
        self.drops.iter()
    }

    /// The number of recorded drops.
    pub fn len(&self) -> usize {
        self.drops.len()
    }

    /// True if no drop is recorded.
    pub fn is_empty(&self) -> bool {
        self.drops.is_empty()
    }
}

impl<P: Packet> Signals<P> {
    /// Records that `packet` was marked.
    pub fn marked(&mut self, packet: &P, reason: MarkReason) {
        self.marks.push(Mark { flow: packet.flow(), bytes: packet.bytes(), reason });
    }
}

/// Result of [`Qdisc::dequeue`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dequeue<P> {
    /// The packet to send.
    Packet(P),
    /// The queue is empty.
    Empty,
    /// Packets are queued, but none may be sent before this time (Linux: `qdisc_watchdog_schedule_ns`). A new packet
    /// may be sent earlier, so the caller also dequeues after every enqueue.
    NotBefore(Instant),
}

impl<P> Dequeue<P> {
    /// The packet to send, if any.
    #[inline]
    pub fn packet(self) -> Option<P> {
        match self {
            Dequeue::Packet(packet) => Some(packet),
            Dequeue::Empty | Dequeue::NotBefore(_) => None,
        }
    }

    /// Returns `self` if it is a packet, else the result of another queue; of two [`Dequeue::NotBefore`] the earlier.
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

/// Converts the result of a work-conserving queue, in which `None` means that it is empty.
impl<P> From<Option<P>> for Dequeue<P> {
    #[inline]
    fn from(packet: Option<P>) -> Dequeue<P> {
        packet.map_or(Dequeue::Empty, Dequeue::Packet)
    }
}

/// A queue discipline.
///
/// Invariants of every implementation, checked by property tests:
/// * packets enqueued = packets dequeued + packets dropped + [`Qdisc::len`], likewise in bytes;
/// * packets of one flow leave in the order of the scheme's description ([`Order`](crate::Order));
/// * `dequeue` returns [`Dequeue::Empty`] only if the queue is empty on return, and [`Dequeue::NotBefore`] with a time
///   after `now` only if it is not.
///
/// `now` must not decrease between calls. Timers (PIE's update, ARED's adaptation, SFQ's perturbation) are processed
/// inside the two calls: their inputs do not change in between, so the result equals that of a timer that expired on
/// time.
pub trait Qdisc<P: Packet>: Send {
    /// Enqueues or drops `packet`, and possibly drops queued packets. Drops and marks are added to `signals`.
    fn enqueue(&mut self, now: Instant, packet: P, signals: &mut Signals<P>);

    /// Removes the packet to send next. Drops and marks are added to `signals`.
    fn dequeue(&mut self, now: Instant, signals: &mut Signals<P>) -> Dequeue<P>;

    /// The number of queued packets.
    fn len(&self) -> usize;

    /// True if no packet is queued.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The queued bytes ([`Packet::bytes`]).
    fn backlog(&self) -> u64;

    /// Marks a packet that has left this queue, in place of a drop that a wrapping discipline owes for another packet.
    /// True if it is marked, which is then added to `signals`; false if the queue does not use ECN or the packet is not
    /// ECN-capable.
    fn mark_departed(&mut self, packet: &mut P, signals: &mut Signals<P>) -> bool {
        let _ = (packet, signals);
        false
    }

    /// The next packet as a shaper above sees it without dequeueing (Linux: `peek`). The default implementation is that of
    /// a qdisc which decides about its next packet when it dequeues it.
    fn head(&self) -> Head {
        Head::Undecided
    }

    /// Counts a packet of this length in bytes, which a shaper above has dequeued and not yet sent, as queued when limits
    /// are checked (Linux: `qdisc_peek_dequeued`). `None`: there is no such packet any more.
    fn hold(&mut self, bytes: Option<u32>) {
        let _ = bytes;
    }
}

/// The next packet of a queue as a shaper above sees it without dequeueing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Head {
    /// The queue is empty.
    Empty,
    /// The length in bytes of the packet that leaves next, unless another arrives that overtakes it.
    Bytes(u32),
    /// The queue decides when it dequeues.
    Undecided,
}

/// The head of a queue that sends this packet next.
impl<P: Packet> From<Option<&P>> for Head {
    fn from(packet: Option<&P>) -> Head {
        packet.map_or(Head::Empty, |packet| Head::Bytes(packet.bytes()))
    }
}

impl<P: Packet, Q: Qdisc<P> + ?Sized> Qdisc<P> for Box<Q> {
    fn enqueue(&mut self, now: Instant, packet: P, signals: &mut Signals<P>) {
        (**self).enqueue(now, packet, signals);
    }
    fn dequeue(&mut self, now: Instant, signals: &mut Signals<P>) -> Dequeue<P> {
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
    fn head(&self) -> Head {
        (**self).head()
    }
    fn hold(&mut self, bytes: Option<u32>) {
        (**self).hold(bytes);
    }
}

//! What is in flight, and what is missing.

use super::clock::Tick;
use super::flight::{Flying, Sent};
use super::seq::{after, distance};
use crate::segment::Segment;
use gentle_units::Nanos;
use std::collections::VecDeque;

/// Transmissions remembered for one side. A window larger than this (in a capture that shows no acknowledgements every
/// window is endless) forgets its oldest ones; a retransmission of those is timed from the oldest one known.
const FLIGHT: usize = 256;
/// Holes remembered for one side; beyond, the oldest one is taken as filled.
const HOLES: usize = 64;

/// How far apart segments of a side may be for the low halves of their time stamps to be in order: half of what 15 bits of
/// milliseconds have.
const COMPARABLE: Nanos = Nanos::from_secs(16);

/// Sequence numbers that were jumped over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hole {
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// The segment that jumped; without IP identification and time stamp if it was an acknowledgement.
    pub(crate) by: Sent,
    /// The other side's acknowledgement jumped: what is missing had arrived by then.
    pub(crate) by_ack: bool,
    /// All of it has been acknowledged.
    pub(crate) acked: bool,
}

impl Hole {
    /// Whether `segment`, which fills this hole or a part of it, was sent before the segment that jumped: then it is out
    /// of order, and otherwise a retransmission. Where an acknowledgement jumped, it is compared with `newest`, the newest
    /// segment of its side.
    ///
    /// IP identification and time stamps show the order in which a sender sent; where they do not, a segment is out of
    /// order if it is no later than `longest`.
    pub(crate) fn was_overtaken(&self, segment: &Segment, newest: Sent, longest: Nanos) -> bool {
        let is_recent = Tick::at(segment.time).since(newest.at) <= COMPARABLE;
        let later = if self.by_ack && is_recent {
            newest
        } else {
            self.by
        };
        if segment.ip_id != 0 && later.ip_id != 0 && segment.ip_id != later.ip_id {
            // Counters may be shared with other connections or random: only a small step tells the order.
            let behind = later.ip_id.wrapping_sub(segment.ip_id);
            if behind <= 64 {
                return true;
            }
            if behind >= u16::MAX - 64 {
                return false;
            }
        }
        let stamp = (segment.timestamp.0 as u16).wrapping_sub(later.stamp) as i16;
        if segment.has_timestamp() && later.stamp != 0 && stamp != 0 {
            return stamp < 0;
        }
        Tick::at(segment.time).since(self.by.at) <= longest
    }
}

/// One side's.
#[derive(Debug, Clone, Default)]
pub(crate) struct Window {
    /// In order of sequence numbers; not the newest, which is the half's `recent`.
    flight: VecDeque<Flying>,
    holes: Vec<Hole>,
}

impl Window {
    pub(crate) fn push(&mut self, sent: Flying) {
        if self.flight.len() == FLIGHT {
            self.flight.pop_front();
        }
        self.flight.push_back(sent);
    }

    /// `sent` came out of order.
    pub(crate) fn insert(&mut self, sent: Flying) {
        if self.flight.len() == FLIGHT {
            self.flight.pop_front();
        }
        let at = self
            .flight
            .partition_point(|other| after(sent.end, other.end));
        self.flight.insert(at, sent);
    }

    /// What ends at `acked` or before has arrived. How many holes are in it that were not so far: data that the capture
    /// lacks, or has later.
    pub(crate) fn acknowledge(&mut self, acked: u32) -> u64 {
        while self
            .flight
            .front()
            .is_some_and(|sent| !after(sent.end, acked))
        {
            self.flight.pop_front();
        }
        let mut unseen = 0;
        for hole in &mut self.holes {
            if !hole.acked && !after(hole.to, acked) {
                hole.acked = true;
                unseen += 1;
            }
        }
        unseen
    }

    /// The transmission that has the byte at `seq`.
    pub(crate) fn find(&mut self, seq: u32) -> Option<&mut Flying> {
        let at = self.flight.partition_point(|sent| !after(sent.end, seq));
        self.flight.get_mut(at)
    }

    pub(crate) fn leave_hole(&mut self, hole: Hole) {
        if self.holes.len() == HOLES {
            self.holes.remove(0);
        }
        self.holes.push(hole);
    }

    /// Fills what `from..to` has of the holes: the number of bytes that had been missing, and the hole they were in, the
    /// first one if there are several.
    pub(crate) fn fill(&mut self, from: u32, to: u32) -> (u32, Option<Hole>) {
        let mut filled = 0;
        let mut first = None;
        let mut i = 0;
        while i < self.holes.len() {
            let hole = self.holes[i];
            let start = if after(from, hole.from) {
                from
            } else {
                hole.from
            };
            let end = if after(hole.to, to) { to } else { hole.to };
            let common = distance(end, start);
            if common <= 0 {
                i += 1;
                continue;
            }
            filled += common as u32;
            first.get_or_insert(hole);
            let before = (start != hole.from).then_some(Hole { to: start, ..hole });
            let behind = (end != hole.to).then_some(Hole { from: end, ..hole });
            match (before, behind) {
                (None, None) => {
                    self.holes.remove(i);
                }
                (Some(part), None) | (None, Some(part)) => {
                    self.holes[i] = part;
                    i += 1;
                }
                (Some(before), Some(behind)) => {
                    self.holes[i] = before;
                    self.holes.insert(i + 1, behind);
                    i += 2;
                }
            }
        }
        // A hole split in two may have made one too many.
        if self.holes.len() > HOLES {
            self.holes.remove(0);
        }
        (filled, first)
    }

    fn is_empty(&self) -> bool {
        self.flight.is_empty() && self.holes.is_empty()
    }

    fn clear(&mut self) {
        self.flight.clear();
        self.holes.clear();
    }

    fn bytes(&self) -> usize {
        self.flight.capacity() * size_of::<Flying>() + self.holes.capacity() * size_of::<Hole>()
    }
}

/// Both sides'. Taken from a [`Pool`] when the first is needed, given back when nothing is in flight or missing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Windows {
    pub(crate) sides: [Window; 2],
}

impl Windows {
    pub(crate) fn is_empty(&self) -> bool {
        self.sides.iter().all(Window::is_empty)
    }

    fn bytes(&self) -> usize {
        size_of::<Windows>() + self.sides.iter().map(Window::bytes).sum::<usize>()
    }
}

/// Windows not in use. Connections pass from window to window without asking the allocator.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    #[expect(
        clippy::vec_box,
        reason = "they move between here and connections as they are, without being copied"
    )]
    free: Vec<Box<Windows>>,
    /// Memory of all windows, in use or not.
    bytes: usize,
}

impl Pool {
    /// Kept for reuse at most, an eighth of the least memory limit.
    const KEPT: usize = 64;

    /// Changes the window of one side of `slot`, which gets windows if it has none yet.
    pub(crate) fn change<T>(
        &mut self,
        slot: &mut Option<Box<Windows>>,
        side: usize,
        change: impl FnOnce(&mut Window) -> T,
    ) -> T {
        let windows = slot.get_or_insert_with(|| match self.free.pop() {
            Some(windows) => windows,
            None => {
                self.bytes += size_of::<Windows>();
                Box::default()
            }
        });
        let window = &mut windows.sides[side];
        let before = window.bytes();
        let result = change(window);
        self.bytes += window.bytes() - before;
        result
    }

    /// Takes back what is not needed any more.
    pub(crate) fn take_back(&mut self, slot: &mut Option<Box<Windows>>) {
        if let Some(mut windows) = slot.take() {
            // One that grew large goes back to the allocator, so that what was needed once is not kept for ever.
            if self.free.len() < Pool::KEPT && windows.bytes() < 2048 {
                windows.sides.iter_mut().for_each(Window::clear);
                self.free.push(windows);
            } else {
                self.bytes -= windows.bytes();
            }
        }
    }

    /// Memory of all windows, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

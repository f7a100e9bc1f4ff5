//! Segments in flight and holes in the sequence space of an endpoint.

use super::compact_time::CompactTime;
use super::flight::{InFlight, Sent};
use crate::segment::Segment;
use crate::segment::{after, distance};
use gentle_units::Nanos;
use std::collections::VecDeque;

/// Largest number of transmissions remembered per endpoint. A larger window forgets its oldest ones (in a capture
/// without acknowledgements every window grows without limit); their retransmissions are timed from the oldest one
/// known.
const FLIGHT: usize = 256;
/// Largest number of holes remembered per endpoint; beyond it, the oldest is treated as filled.
const HOLES: usize = 64;

/// Largest distance of two segments for comparing the low 16 bits of their timestamps: half the range of 15 bits of
/// milliseconds.
const COMPARABLE: Nanos = Nanos::from_secs(16);

/// Range of sequence numbers that was skipped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hole {
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// Segment that left the hole; without IP identification and timestamp if it was an acknowledgement.
    pub(crate) by: Sent,
    /// Whether an acknowledgement of the other endpoint revealed the hole: the missing data had arrived by then.
    pub(crate) by_ack: bool,
    /// Whether the whole range has been acknowledged.
    pub(crate) acked: bool,
}

impl Hole {
    /// Whether `segment`, which fills at least a part of this hole, was sent before the segment that left it: then it
    /// is out of order, otherwise a retransmission. If an acknowledgement left the hole, `segment` is compared with
    /// `newest`, the newest segment of its side.
    ///
    /// IP identification and timestamps show the sender's order; without them, a segment is out of order if it came
    /// within `longest` of the segment that left the hole.
    pub(crate) fn was_overtaken(&self, segment: &Segment, newest: Sent, longest: Nanos) -> bool {
        let is_recent = CompactTime::at(segment.time).since(newest.at) <= COMPARABLE;
        let later = if self.by_ack && is_recent { newest } else { self.by };
        if segment.ip_id != 0 && later.ip_id != 0 && segment.ip_id != later.ip_id {
            // Counters may be random or shared with other connections: only a small step shows the order.
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
        CompactTime::at(segment.time).since(self.by.at) <= longest
    }
}

/// In-flight segments and holes of one endpoint.
#[derive(Debug, Clone, Default)]
pub(crate) struct Window {
    /// In order of sequence numbers, without the newest, which is `EndpointState::recent`.
    flight: VecDeque<InFlight>,
    holes: Vec<Hole>,
}

impl Window {
    /// Adds a transmission that ends beyond all others.
    pub(crate) fn push(&mut self, sent: InFlight) {
        if self.flight.len() == FLIGHT {
            self.flight.pop_front();
        }
        self.flight.push_back(sent);
    }

    /// Adds a transmission that came out of order.
    pub(crate) fn insert(&mut self, sent: InFlight) {
        if self.flight.len() == FLIGHT {
            self.flight.pop_front();
        }
        let at = self.flight.partition_point(|other| after(sent.end, other.end));
        self.flight.insert(at, sent);
    }

    /// Removes transmissions that end at `acked` or before. Returns the first and the last of them, and the number of
    /// holes that became acknowledged: data that the capture lacks, or has later.
    pub(crate) fn acknowledge(&mut self, acked: u32) -> (Option<[InFlight; 2]>, u64) {
        let mut removed: Option<[InFlight; 2]> = None;
        while let Some(sent) = self.flight.pop_front_if(|sent| !after(sent.end, acked)) {
            removed.get_or_insert([sent; 2])[1] = sent;
        }
        let mut unseen = 0;
        for hole in &mut self.holes {
            if !hole.acked && !after(hole.to, acked) {
                hole.acked = true;
                unseen += 1;
            }
        }
        (removed, unseen)
    }

    /// Transmission with the byte at `seq`.
    pub(crate) fn find(&mut self, seq: u32) -> Option<&mut InFlight> {
        let at = self.flight.partition_point(|sent| !after(sent.end, seq));
        self.flight.get_mut(at)
    }

    /// Adds a hole.
    pub(crate) fn leave_hole(&mut self, hole: Hole) {
        if self.holes.len() == HOLES {
            self.holes.remove(0);
        }
        self.holes.push(hole);
    }

    /// Removes `from..to` from the holes. Returns the number of bytes that were missing, and the first hole that had
    /// them.
    pub(crate) fn fill(&mut self, from: u32, to: u32) -> (u32, Option<Hole>) {
        let mut filled = 0;
        let mut first = None;
        let mut i = 0;
        while i < self.holes.len() {
            let hole = self.holes[i];
            let start = if after(from, hole.from) { from } else { hole.from };
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
        // Splitting a hole may have exceeded the limit.
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
        self.flight.capacity() * size_of::<InFlight>() + self.holes.capacity() * size_of::<Hole>()
    }
}

/// Windows of both endpoints. Taken from a [`Pool`] when first needed, given back when nothing is in flight or missing.
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

/// Unused windows, so that connections reuse them without calling the allocator.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    #[expect(clippy::vec_box, reason = "boxes move between the pool and connections without copying their contents")]
    free: Vec<Box<Windows>>,
    /// Memory of all windows, used or not, bytes.
    bytes: usize,
}

impl Pool {
    /// Largest number of unused windows kept: an eighth of the smallest memory limit.
    const KEPT: usize = 64;

    /// Changes the window of one endpoint in `slot`, allocating windows if it has none.
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

    /// Takes back windows that are no longer needed.
    pub(crate) fn take_back(&mut self, slot: &mut Option<Box<Windows>>) {
        if let Some(mut windows) = slot.take() {
            // Large windows are freed, so that one connection that needed them does not keep the memory.
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

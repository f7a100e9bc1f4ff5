//! Merging of several captures to one trace in time order.

use crate::read::{CaptureError, CaptureReader, RawPacket, Sink};
use gentle_units::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// Merges captures by the time of their packets.
///
/// Each step delivers the earliest of the captures' next packets; at equal times, the first capture's. The order within
/// a capture is kept: like `mergecap`, a capture whose packets are out of order delays the others. A single capture is
/// passed through.
pub struct Merge {
    readers: Vec<CaptureReader>,
    /// Time of each capture's next packet, earliest first, without captures that have ended.
    next: BinaryHeap<Reverse<(Instant, usize)>>,
    /// Number of captures whose first packet has been read.
    started: usize,
    /// Whether the packet at the top has been delivered.
    delivered: bool,
}

impl Merge {
    /// Merges captures, which [`Sink::packet`] identifies by their index in `readers`.
    pub fn new(readers: Vec<CaptureReader>) -> Merge {
        Merge { next: BinaryHeap::with_capacity(readers.len()), readers, started: 0, delivered: false }
    }

    /// Passes the next packets to `to`, at least one; returns `false` at the end of all captures.
    ///
    /// # Errors
    /// If a capture cannot be read further. The next call continues with the other captures.
    #[inline]
    pub fn read<S: Sink>(&mut self, to: &mut S) -> Result<bool, CaptureError> {
        match self.readers.as_mut_slice() {
            [alone] => alone.read(to),
            _ => self.read_earliest(to),
        }
    }

    /// Slow path of [`Merge::read`], for several captures.
    // `dyn`, because the compiler inlines the sink into the loop over the packets of a single pcap file only if it has
    // no other caller.
    #[inline(never)]
    fn read_earliest(&mut self, to: &mut dyn Sink) -> Result<bool, CaptureError> {
        let earliest = self.earliest()?;
        if let Some((file, packet)) = &earliest {
            // A break has no effect: one call delivers one packet.
            let _ = to.packet(*file, packet);
        }
        Ok(earliest.is_some())
    }

    /// Next packet with the index of its capture.
    fn earliest(&mut self) -> Result<Option<(usize, RawPacket<'_>)>, CaptureError> {
        while let Some(reader) = self.readers.get_mut(self.started) {
            let file = self.started;
            self.started += 1;
            if let Some(time) = reader.advance()? {
                self.next.push(Reverse((time, file)));
            }
        }
        if self.delivered {
            self.delivered = false;
            self.replace()?;
        }
        let Some(&Reverse((_, file))) = self.next.peek() else {
            return Ok(None);
        };
        self.delivered = true;
        Ok(Some((file, self.readers[file].current())))
    }

    /// Replaces the packet at the top by the next one of its capture.
    fn replace(&mut self) -> Result<(), CaptureError> {
        let Some(mut top) = self.next.peek_mut() else {
            return Ok(());
        };
        let Reverse((time, file)) = &mut *top;
        match self.readers[*file].advance() {
            Ok(Some(later)) => *time = later,
            Ok(None) => {
                PeekMut::pop(top);
            }
            Err(error) => {
                PeekMut::pop(top);
                return Err(error);
            }
        }
        Ok(())
    }

    /// The captures, for their interfaces, warnings and progress.
    pub fn readers(&self) -> &[CaptureReader] {
        &self.readers
    }
}

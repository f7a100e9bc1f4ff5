//! Several captures as one trace in time order.

use crate::read::{CaptureError, CaptureReader, RawPacket, Sink};
use gentle_units::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// Merges captures by the time of their packets.
///
/// At each step the earliest of the captures' next packets comes, of equal ones that of the capture named first. The
/// order within a capture stays as it is, so a capture whose own packets are out of order holds the others up as
/// `mergecap` does. A single capture is passed through.
pub struct Merge {
    readers: Vec<CaptureReader>,
    /// The time of each capture's next packet, earliest first; captures that have ended are not in it.
    next: BinaryHeap<Reverse<(Nanos, usize)>>,
    /// Captures whose first packet has been looked for.
    started: usize,
    /// Whether the packet at the top has been handed out.
    handed_out: bool,
}

impl Merge {
    /// Merges these, which [`Sink::packet`] names by their index.
    pub fn new(readers: Vec<CaptureReader>) -> Merge {
        Merge {
            next: BinaryHeap::with_capacity(readers.len()),
            readers,
            started: 0,
            handed_out: false,
        }
    }

    /// Hands the next packets to `to`, at least one; `false` at the end of all. After an error of one capture the others
    /// go on if asked.
    #[inline]
    pub fn read<S: Sink>(&mut self, to: &mut S) -> Result<bool, CaptureError> {
        match self.readers.as_mut_slice() {
            [alone] => alone.read(to),
            _ => self.read_earliest(to),
        }
    }

    /// As [`Merge::read`] for several captures.
    // `dyn`: what a sink does is compiled into the loop over a single pcap file's packets only if it is needed nowhere else.
    #[inline(never)]
    fn read_earliest(&mut self, to: &mut dyn Sink) -> Result<bool, CaptureError> {
        let earliest = self.earliest()?;
        if let Some((file, packet)) = &earliest {
            // It is the only one anyway.
            let _ = to.packet(*file, packet);
        }
        Ok(earliest.is_some())
    }

    /// The next packet and the index of its capture.
    fn earliest(&mut self) -> Result<Option<(usize, RawPacket<'_>)>, CaptureError> {
        while let Some(reader) = self.readers.get_mut(self.started) {
            let file = self.started;
            self.started += 1;
            if let Some(time) = reader.advance()? {
                self.next.push(Reverse((time, file)));
            }
        }
        if self.handed_out {
            self.handed_out = false;
            self.replace()?;
        }
        let Some(&Reverse((_, file))) = self.next.peek() else {
            return Ok(None);
        };
        self.handed_out = true;
        Ok(Some((file, self.readers[file].current())))
    }

    /// Puts the following packet of its capture in the place of the one at the top.
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

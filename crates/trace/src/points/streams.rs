//! How far each point has seen the data of a connection, in each direction.

use super::sightings::POINTS;
use crate::segment::{Segment, after};
use hashbrown::HashMap;

/// Memory for a direction of a connection, bytes.
const BYTES: usize = 80;

/// Directions of connections.
#[derive(Debug)]
pub(super) struct Streams {
    /// End of the data at each of the first [`POINTS`] points.
    ends: HashMap<u64, Vec<(u8, u32)>>,
    most: usize,
}

impl Streams {
    /// Remembers directions in about `memory` bytes.
    pub(super) fn new(memory: usize) -> Streams {
        Streams { ends: HashMap::new(), most: (memory / BYTES).max(1) }
    }

    /// Records a segment of the direction `stream` at a point. Returns a point that has seen all of it, if its end is new
    /// at this one.
    pub(super) fn record(&mut self, stream: u64, segment: &Segment, point: u8) -> Option<u8> {
        if self.ends.len() >= self.most && !self.ends.contains_key(&stream) {
            self.ends.clear();
        }
        let end = segment.seq.wrapping_add(segment.seq_len());
        let ends = self.ends.entry(stream).or_default();
        let other = ends.iter().find(|(other, seen)| *other != point && !after(end, *seen)).map(|(other, _)| *other);
        match ends.iter().position(|(known, _)| *known == point) {
            Some(own) if !after(end, ends[own].1) => return None,
            Some(own) => ends[own].1 = end,
            None if ends.len() < POINTS => ends.push((point, end)),
            None => {}
        }
        other
    }
}

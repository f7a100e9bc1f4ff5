//! Records of closed connections until flooding addresses are known: 28 bytes each, and 32 more for those with
//! retransmissions.

use super::directions::{Contribution, RetransmissionCounts, SegmentCounts};
use crate::table_size::list_bytes_with_one_more;
use serde::{Deserialize, Serialize};

/// Record of one connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct UndecidedConnection {
    segments: [SegmentCounts; 2],
    /// Places of client and server in [`FloodDetector`](super::flood::FloodDetector).
    pub(super) places: [u32; 2],
    /// Whether [`UndecidedConnections::retransmissions`] has an entry for the connection.
    has_retransmissions: bool,
    pub(super) established_with_data: bool,
}

const _: () = assert!(size_of::<UndecidedConnection>() <= 28);

/// Undecided connections in the order in which they ended.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(try_from = "Kept", into = "Kept")]
pub(super) struct UndecidedConnections {
    records: Vec<UndecidedConnection>,
    /// Retransmissions of the connections that have any, in the same order.
    retransmissions: Vec<[RetransmissionCounts; 2]>,
}

/// Form in analysis records: a list for each field, which is short and compresses well.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    segments: [Vec<u32>; 2],
    handshake: [Vec<u16>; 2],
    directions: [Vec<u8>; 2],
    places: [Vec<u32>; 2],
    /// 1 if the connection was established and had data, else 0.
    established_with_data: Vec<u8>,
    /// Retransmissions of the connections that have any, with the number of the connection.
    retransmissions: Vec<(usize, [RetransmissionCounts; 2])>,
}

impl From<UndecidedConnections> for Kept {
    fn from(undecided: UndecidedConnections) -> Kept {
        let records = &undecided.records;
        fn column<T>(records: &[UndecidedConnection], of: impl Fn(&UndecidedConnection) -> T) -> Vec<T> {
            records.iter().map(of).collect()
        }
        let numbers = (0..records.len()).filter(|&i| records[i].has_retransmissions);
        Kept {
            segments: [0, 1].map(|side| column(records, |it| it.segments[side].segments)),
            handshake: [0, 1].map(|side| column(records, |it| it.segments[side].handshake)),
            directions: [0, 1].map(|side| column(records, |it| it.segments[side].direction)),
            places: [0, 1].map(|side| column(records, |it| it.places[side])),
            established_with_data: column(records, |it| it.established_with_data.into()),
            retransmissions: numbers.zip(undecided.retransmissions.iter().copied()).collect(),
        }
    }
}

impl TryFrom<Kept> for UndecidedConnections {
    type Error = &'static str;

    fn try_from(kept: Kept) -> Result<UndecidedConnections, &'static str> {
        let n = kept.established_with_data.len();
        let lengths = (kept.segments.iter().map(Vec::len))
            .chain(kept.handshake.iter().map(Vec::len))
            .chain(kept.directions.iter().map(Vec::len))
            .chain(kept.places.iter().map(Vec::len));
        let in_order = kept.retransmissions.is_sorted_by(|a, b| a.0 < b.0);
        let in_range = kept.retransmissions.last().is_none_or(|last| last.0 < n);
        if !lengths.into_iter().all(|length| length == n) || !in_order || !in_range {
            return Err("the lists of connections have different lengths");
        }
        let record = |i: usize| UndecidedConnection {
            segments: [0, 1].map(|side| SegmentCounts {
                segments: kept.segments[side][i],
                handshake: kept.handshake[side][i],
                direction: kept.directions[side][i],
            }),
            places: [0, 1].map(|side| kept.places[side][i]),
            has_retransmissions: false,
            established_with_data: kept.established_with_data[i] != 0,
        };
        let mut records: Vec<UndecidedConnection> = (0..n).map(record).collect();
        for (number, _) in &kept.retransmissions {
            records[*number].has_retransmissions = true;
        }
        let retransmissions = kept.retransmissions.into_iter().map(|(_, counts)| counts);
        Ok(UndecidedConnections { retransmissions: retransmissions.collect(), records })
    }
}

impl UndecidedConnections {
    /// Adds the records of `other`, whose directions follow after `first` others and whose places become `places`.
    pub(super) fn add(&mut self, other: UndecidedConnections, first: usize, places: &[u32]) {
        let first = u8::try_from(first).unwrap_or(u8::MAX);
        self.retransmissions.extend(other.retransmissions);
        self.records.extend(other.records.into_iter().map(|mut record| {
            for segments in &mut record.segments {
                segments.direction = segments.direction.saturating_add(first);
            }
            record.places = record.places.map(|place| places[place as usize]);
            record
        }));
    }

    /// Whether all places are below `places` and all directions below `directions`.
    pub(super) fn fits(&self, places: usize, directions: usize) -> bool {
        self.records.iter().all(|record| {
            record.places.iter().all(|&place| (place as usize) < places)
                && record.segments.iter().all(|it| usize::from(it.direction) < directions)
        })
    }

    /// Adds the record of a connection.
    pub(super) fn push(&mut self, contributions: &[Contribution; 2], places: [u32; 2], established_with_data: bool) {
        let retransmissions = contributions.map(|contribution| contribution.retransmissions);
        let has_retransmissions = retransmissions != <[RetransmissionCounts; 2]>::default();
        if has_retransmissions {
            self.retransmissions.push(retransmissions);
        }
        self.records.push(UndecidedConnection {
            segments: contributions.map(|contribution| contribution.segments),
            places,
            has_retransmissions,
            established_with_data,
        });
    }

    /// Number of records.
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// Removes all records, each with its contribution.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (UndecidedConnection, [Contribution; 2])> {
        let mut retransmissions = self.retransmissions.drain(..);
        self.records.drain(..).map(move |record| {
            let counts = if record.has_retransmissions {
                retransmissions.next().expect("an entry for each record that has one")
            } else {
                Default::default()
            };
            let contribution =
                |side: usize| Contribution { segments: record.segments[side], retransmissions: counts[side] };
            (record, [contribution(0), contribution(1)])
        })
    }

    /// Memory after one more record, bytes.
    pub(super) fn bytes_with_one_more(&self) -> usize {
        list_bytes_with_one_more(&self.records) + list_bytes_with_one_more(&self.retransmissions)
    }
}

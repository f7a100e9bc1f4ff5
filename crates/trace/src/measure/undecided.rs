//! Records of closed connections until flooding addresses are known: 28 bytes each, and 32 more for those with
//! retransmissions.

use super::directions::{Contribution, RetransmissionCounts, SegmentCounts};
use crate::table_size::list_bytes_with_one_more;

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
#[derive(Debug, Clone, Default)]
pub(super) struct UndecidedConnections {
    records: Vec<UndecidedConnection>,
    /// Retransmissions of the connections that have any, in the same order.
    retransmissions: Vec<[RetransmissionCounts; 2]>,
}

impl UndecidedConnections {
    /// Adds the record of a connection.
    pub(super) fn push(
        &mut self,
        contributions: &[Contribution; 2],
        places: [u32; 2],
        established_with_data: bool,
    ) {
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
    pub(super) fn drain(
        &mut self,
    ) -> impl Iterator<Item = (UndecidedConnection, [Contribution; 2])> {
        let mut retransmissions = self.retransmissions.drain(..);
        self.records.drain(..).map(move |record| {
            let counts = if record.has_retransmissions {
                retransmissions
                    .next()
                    .expect("an entry for each record that has one")
            } else {
                Default::default()
            };
            let contribution = |side: usize| Contribution {
                segments: record.segments[side],
                retransmissions: counts[side],
            };
            (record, [contribution(0), contribution(1)])
        })
    }

    /// Memory after one more record, bytes.
    pub(super) fn bytes_with_one_more(&self) -> usize {
        list_bytes_with_one_more(&self.records) + list_bytes_with_one_more(&self.retransmissions)
    }
}

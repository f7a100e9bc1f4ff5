//! Records of connections until flooding addresses are known: 28 bytes each, and 32 more for those with retransmissions.

use super::directions::{Again, Sent, Share};
use crate::table_size::list_bytes_with_one_more;

/// Record of one connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kept {
    sent: [Sent; 2],
    /// Places of client and server in [`Parties`](super::flood::Parties).
    pub(super) parties: [u32; 2],
    /// Whether [`Remembered::again`] has an entry for the connection.
    again: bool,
    pub(super) established_with_data: bool,
}

const _: () = assert!(size_of::<Kept>() <= 28);

/// Undecided connections in the order in which they ended.
#[derive(Debug, Clone, Default)]
pub(super) struct Remembered {
    kept: Vec<Kept>,
    /// Retransmissions of the connections that have any, in the same order.
    again: Vec<[Again; 2]>,
}

impl Remembered {
    pub(super) fn push(
        &mut self,
        shares: &[Share; 2],
        parties: [u32; 2],
        established_with_data: bool,
    ) {
        let again = shares.map(|share| share.again);
        let is_any = again != <[Again; 2]>::default();
        if is_any {
            self.again.push(again);
        }
        self.kept.push(Kept {
            sent: shares.map(|share| share.sent),
            parties,
            again: is_any,
            established_with_data,
        });
    }

    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    /// Removes all records, each with its contribution.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (Kept, [Share; 2])> {
        let mut more = self.again.drain(..);
        self.kept.drain(..).map(move |kept| {
            let again = if kept.again {
                more.next().expect("one for each that says so")
            } else {
                Default::default()
            };
            let share = |side: usize| Share {
                sent: kept.sent[side],
                again: again[side],
            };
            (kept, [share(0), share(1)])
        })
    }

    /// Memory after one more record, bytes.
    pub(super) fn bytes_with_one_more(&self) -> usize {
        list_bytes_with_one_more(&self.kept) + list_bytes_with_one_more(&self.again)
    }
}

//! Users who download, pause, and download again over the same connection.

use super::dialogue::Drawn;
use crate::draw::{Stream, exponential_time};
use crate::workload::sizes::Sizes;
use gentle_units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Downloads with pauses.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// Sizes in segments.
    pub sizes: Sizes,
    /// Mean pause after a download, nanoseconds, exponential.
    pub off_ns: u64,
}

impl OnOff {
    pub(super) fn draw(&self, mss: u16, rng: &mut Stream) -> Drawn {
        let pause = exponential_time(Nanos(self.off_ns), rng);
        let bytes = self.sizes.sample(rng).saturating_mul(mss.into());
        Drawn { pause, stages: VecDeque::from([vec![bytes]]), last: false }
    }

    /// Mean payload of a download.
    pub(super) fn mean_bytes(&self, mss: u16) -> f64 {
        self.sizes.mean() * f64::from(mss)
    }
}

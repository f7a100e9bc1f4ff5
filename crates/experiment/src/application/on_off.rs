//! Users who download, pause, and download again over the same connection.

use super::dialogue::{Drawn, Transactions};
use crate::draw::{Stream, exponential_time};
use crate::error::ScenarioError;
use crate::initiator::REQUEST_BYTES;
use crate::results::{Better, HarmNumbers};
use crate::section::Section;
use crate::sizes::Sizes;
use gentle_units::Nanos;
use gentle_units::text::plural;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;

/// Downloads with pauses.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// Sizes in segments.
    pub sizes: Sizes,
    /// Mean pause after a download, nanoseconds, exponential.
    pub off_ns: u64,
}

impl Transactions for OnOff {
    const NAME: &'static str = "on_off";
    const HARM: HarmNumbers = &[("transaction_s.p95", Better::Lower)];

    fn read(section: &mut Section<'_>) -> Result<OnOff, ScenarioError> {
        Ok(OnOff {
            sizes: Sizes::read(section.require("size", "{ zipf = 1.7, max = 6000 }")?)?,
            off_ns: section.require("off", "\"2s\"")?.positive_time()?.0,
        })
    }

    fn draw(&self, mss: u16, rng: &mut Stream) -> Drawn {
        let pause = exponential_time(Nanos(self.off_ns), rng);
        let bytes = self.sizes.sample(rng).saturating_mul(mss.into());
        Drawn { pause, stages: VecDeque::from([vec![bytes]]), last: false }
    }

    fn request_bytes(&self) -> u32 {
        REQUEST_BYTES as u32
    }

    fn mean_bytes_and_pause(&self, mss: u16) -> (f64, Nanos) {
        (self.sizes.mean() * f64::from(mss), Nanos(self.off_ns))
    }

    fn describe(&self, users: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let users = plural(u64::from(users), "on/off user", "on/off users");
        write!(f, "{users}, mean pause {}, {}", Nanos(self.off_ns), self.sizes)
    }
}

//! Connections at the times of a Poisson process.

use super::{Around, Facts, Kind, Offering, Span, Start, StartContext, Starts, Traffic, events, stretched};
use crate::draw::{Stream, exponential_time};
use crate::error::ScenarioError;
use crate::section::Section;
use crate::sizes::Sizes;
use gentle_units::{Instant, Nanos, Rate};
use serde::Serialize;
use std::fmt;

/// Connections with exponentially distributed gaps.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Poisson {
    /// Mean gap between starts.
    pub gap: Nanos,
    /// Sizes in segments.
    pub sizes: Sizes,
}

impl Poisson {
    pub(super) const FACTS: Facts = Facts { names: &["poisson"], scales: true, read: Self::read, ..Facts::PLAIN };

    fn read(_: &str, section: &mut Section<'_>, _: &Around<'_>) -> Result<Traffic, ScenarioError> {
        Ok(Traffic::Poisson(Poisson {
            gap: section.require("gap", "\"120ms\"")?.positive_time()?,
            sizes: Sizes::read(section.require("size", "{ zipf = 1.7, max = 6000 }")?)?,
        }))
    }
}

impl Kind for Poisson {
    fn facts(&self) -> &'static Facts {
        &Self::FACTS
    }

    fn bits_per_second(&self, to: &Offering<'_>) -> f64 {
        let bytes = self.sizes.mean() * f64::from(to.mss);
        8.0 * to.packets.bytes_of_mean(bytes) / self.gap.as_secs_f64()
    }

    fn started(&self, duration: Nanos) -> f64 {
        events(duration, self.gap)
    }

    fn starts(&self, context: &StartContext, _: &mut Stream) -> Option<Box<dyn Starts>> {
        Some(Box::new(Process { of: *self, last: Instant::ZERO, mss: context.mss }))
    }

    fn scale(&mut self, factor: f64, _: Option<Rate>) {
        self.gap = stretched(self.gap, 1.0 / factor);
    }
}

impl fmt::Display for Poisson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Poisson arrivals, mean gap {}, {}", self.gap, self.sizes)
    }
}

struct Process {
    of: Poisson,
    last: Instant,
    mss: u64,
}

impl Starts for Process {
    fn next(&mut self, rng: &mut Stream) -> Option<Start> {
        self.last += exponential_time(self.of.gap, rng);
        let bytes = self.of.sizes.sample(rng) * self.mss;
        Some(Start::new(self.last, Span::Bytes(bytes)))
    }
}

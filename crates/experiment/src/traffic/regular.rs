//! Connections of one size at regular times. An example of a new kind of traffic (CONTRIBUTING.md), which appears in no list.

use super::{Around, Facts, Kind, Offering, Span, Start, StartContext, Starts, Traffic, events};
use crate::draw::Stream;
use crate::error::ScenarioError;
use crate::section::Section;
use gentle_units::{Instant, Nanos};
use serde::Serialize;
use std::fmt;

/// Connections with equal gaps.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Regular {
    /// Gap between starts.
    pub gap: Nanos,
    /// Size, segments.
    pub segments: u64,
}

impl Regular {
    pub(super) const FACTS: Facts = Facts { names: &["regular"], listed: false, read: Self::read, ..Facts::PLAIN };

    fn read(_: &str, section: &mut Section<'_>, _: &Around<'_>) -> Result<Traffic, ScenarioError> {
        Ok(Traffic::Regular(Regular {
            gap: section.require("gap", "\"100ms\"")?.positive_time()?,
            segments: section.require("segments", "3")?.count(1..=1_000_000)?,
        }))
    }
}

impl Kind for Regular {
    fn facts(&self) -> &'static Facts {
        &Self::FACTS
    }

    fn bits_per_second(&self, to: &Offering<'_>) -> f64 {
        8.0 * to.packets.bytes_of_mean((self.segments * u64::from(to.mss)) as f64) / self.gap.as_secs_f64()
    }

    fn started(&self, duration: Nanos) -> f64 {
        events(duration, self.gap)
    }

    fn repeats(&self, varied_rtt: bool) -> bool {
        !varied_rtt
    }

    fn starts(&self, context: &StartContext, _: &mut Stream) -> Option<Box<dyn Starts>> {
        Some(Box::new(Clock { next: Instant::ZERO, gap: self.gap, span: Span::Bytes(self.segments * context.mss) }))
    }
}

impl fmt::Display for Regular {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a connection of {} segments each {}", self.segments, self.gap)
    }
}

struct Clock {
    next: Instant,
    gap: Nanos,
    span: Span,
}

impl Starts for Clock {
    fn next(&mut self, _: &mut Stream) -> Option<Start> {
        let at = self.next;
        self.next += self.gap;
        Some(Start::new(at, self.span))
    }
}

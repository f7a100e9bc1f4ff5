//! Long-lived connections.

use super::{Around, Consists, End, Facts, Kind, Offering, Span, Start, StartContext, Starts, Traffic, start, stop};
use crate::draw::{Stream, spread, uniform_time};
use crate::error::ScenarioError;
use crate::section::Section;
use gentle_units::{Instant, Nanos};
use serde::Serialize;
use std::fmt;

/// Connections that always have data to send.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Long {
    /// Number of connections.
    pub flows: u32,
    /// Range of the start times, which are drawn uniformly.
    pub start: (Nanos, Nanos),
    /// Time at which the connections close; `None`: the end of the arrival process.
    pub stop: Option<Nanos>,
}

impl Long {
    pub(super) const FACTS: Facts =
        Facts { names: &["long"], consists: Consists::LongConnections, read: Self::read, ..Facts::PLAIN };

    fn read(_: &str, section: &mut Section<'_>, _: &Around<'_>) -> Result<Traffic, ScenarioError> {
        let flows = match section.take("flows") {
            Some(item) => item.count(1..=100_000)? as u32,
            None => 1,
        };
        let start = start(section)?;
        Ok(Traffic::Long(Long { flows, start, stop: stop(section, start.1)? }))
    }
}

impl Kind for Long {
    fn facts(&self) -> &'static Facts {
        &Self::FACTS
    }

    /// None: they take what is left.
    fn bits_per_second(&self, _: &Offering<'_>) -> f64 {
        0.0
    }

    fn started(&self, _: Nanos) -> f64 {
        f64::from(self.flows)
    }

    /// Their round-trip times are spaced evenly, not drawn.
    fn repeats(&self, _: bool) -> bool {
        self.start.0 == self.start.1
    }

    fn starts(&self, context: &StartContext, rng: &mut Stream) -> Option<Box<dyn Starts>> {
        let draw = |i| {
            let at = Instant::ZERO + uniform_time(self.start, rng);
            (at, spread(context.rtt, i, self.flows))
        };
        let mut flows: Vec<(Instant, Nanos)> = (0..self.flows).map(draw).collect();
        flows.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        Some(Box::new(List { flows, stop: self.stop.map_or(context.end, |stop| Instant::ZERO + stop) }))
    }
}

impl fmt::Display for Long {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} long-lived, from {} to {}", self.flows, self.start.0, End(self.stop))
    }
}

struct List {
    /// Starts and round-trip times, latest start first.
    flows: Vec<(Instant, Nanos)>,
    stop: Instant,
}

impl Starts for List {
    fn next(&mut self, _: &mut Stream) -> Option<Start> {
        let (at, rtt) = self.flows.pop()?;
        Some(Start { rtt: Some(rtt), ..Start::new(at, Span::Until(self.stop)) })
    }
}

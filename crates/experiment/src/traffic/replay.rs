//! A list of connections.

use super::flows::{self, Flow};
use super::{Around, Facts, Kind, Offering, Span, Start, StartContext, Starts, Traffic};
use crate::draw::Stream;
use crate::error::ScenarioError;
use crate::section::Section;
use gentle_units::{Instant, Nanos};
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// Listed connections.
#[derive(Debug, Clone, Serialize)]
pub struct Replay {
    /// Connections in order of start.
    pub flows: Arc<[Flow]>,
}

impl Replay {
    pub(super) const FACTS: Facts = Facts { names: &["replay"], both_ways: true, read: Self::read, ..Facts::PLAIN };

    fn read(_: &str, section: &mut Section<'_>, around: &Around<'_>) -> Result<Traffic, ScenarioError> {
        let item = section.require("file", "\"flows.csv\"")?;
        let path = item.text()?;
        let text = (around.read)(path).map_err(|error| item.error(format!("{path}: {error}")))?;
        Ok(Traffic::Replay(Replay { flows: flows::parse(path, &text, around.link_rtt)?.into() }))
    }
}

impl Kind for Replay {
    fn facts(&self) -> &'static Facts {
        &Self::FACTS
    }

    fn bits_per_second(&self, to: &Offering<'_>) -> f64 {
        let this_way = self
            .flows
            .iter()
            .filter(|flow| flow.at < to.duration && flow.direction.unwrap_or(to.workload_direction) == to.direction);
        let bytes: f64 = this_way.map(|flow| to.packets.bytes(flow.bytes) as f64).sum();
        8.0 * bytes / to.duration.as_secs_f64()
    }

    fn started(&self, _: Nanos) -> f64 {
        self.flows.len() as f64
    }

    fn repeats(&self, varied_rtt: bool) -> bool {
        !varied_rtt || self.flows.iter().all(|flow| flow.rtt.is_some())
    }

    fn starts(&self, _: &StartContext, _: &mut Stream) -> Option<Box<dyn Starts>> {
        Some(Box::new(List { flows: Arc::clone(&self.flows), next: 0 }))
    }
}

impl fmt::Display for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} listed connections", self.flows.len())
    }
}

struct List {
    flows: Arc<[Flow]>,
    next: usize,
}

impl Starts for List {
    fn next(&mut self, _: &mut Stream) -> Option<Start> {
        let flow = self.flows.get(self.next)?;
        self.next += 1;
        let &Flow { at, bytes, rtt, direction, initiator } = flow;
        Some(Start { at: Instant::ZERO + at, span: Span::Bytes(bytes), rtt, direction, initiator })
    }
}

//! Datagrams of applications.

use super::{Around, Consists, End, Facts, HarmNumbers, Kind, Offering, Traffic, WITHOUT_CONNECTIONS, stop};
use crate::application::flow::Application;
use crate::error::ScenarioError;
use crate::section::Section;
use gentle_units::Nanos;
use serde::Serialize;
use std::fmt;

/// Flows of an application over datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Datagrams {
    /// Application.
    pub application: Application,
    /// Number of flows: of calls, of players.
    pub flows: u32,
    /// Time from which the flows send.
    pub start: Nanos,
    /// Time at which they stop; `None`: the end of the arrival process.
    pub stop: Option<Nanos>,
}

impl Datagrams {
    pub(super) const FACTS: Facts = Facts {
        names: Application::NAMES,
        consists: Consists::Datagrams,
        refused: &[
            ("initiator", "datagram workloads have no connection to open, and the client sends first; remove this key"),
            WITHOUT_CONNECTIONS[0],
            WITHOUT_CONNECTIONS[1],
        ],
        both_ways: true,
        read: Self::read,
        ..Facts::PLAIN
    };

    fn read(name: &str, section: &mut Section<'_>, _: &Around<'_>) -> Result<Traffic, ScenarioError> {
        let (flows, application) = Application::read(name, section)?;
        let start = section.take("start").map_or(Ok(Nanos::ZERO), |item| item.time())?;
        let stop = stop(section, start)?;
        Ok(Traffic::Datagrams(Datagrams { application, flows, start, stop }))
    }
}

impl Kind for Datagrams {
    fn facts(&self) -> &'static Facts {
        &Self::FACTS
    }

    fn name(&self) -> &'static str {
        self.application.name()
    }

    fn bits_per_second(&self, to: &Offering<'_>) -> f64 {
        let [client, server] = self.application.offered();
        let offered = if to.direction == to.workload_direction { server } else { client };
        let stop = self.stop.unwrap_or(to.duration).min(to.duration);
        let active = stop.saturating_sub(self.start).as_secs_f64() / to.duration.as_secs_f64();
        f64::from(self.flows) * active * offered.bits_per_second(to.overhead)
    }

    fn started(&self, _: Nanos) -> f64 {
        f64::from(self.flows)
    }

    fn harm(&self) -> Option<HarmNumbers> {
        Some(self.application.harm())
    }
}

impl fmt::Display for Datagrams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.application.name();
        write!(f, "{} × {name}, {}, from {} to {}", self.flows, self.application, self.start, End(self.stop))
    }
}

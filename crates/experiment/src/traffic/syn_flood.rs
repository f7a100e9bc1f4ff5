//! SYN floods.

use super::constant_rate::ConstantRate;
use super::{Around, Consists, Facts, Kind, Offering, Traffic, WITHOUT_CONNECTIONS};
use crate::error::ScenarioError;
use crate::section::Section;
use gentle_units::{Nanos, Rate};
use serde::Serialize;
use std::fmt;

/// SYNs without answer, each from a different (forged) address and port.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(transparent)]
pub struct SynFlood(pub ConstantRate);

impl SynFlood {
    pub(super) const FACTS: Facts = Facts {
        names: &["syn_flood"],
        consists: Consists::Flood,
        refused: &[
            ("tunnel", "the SYNs of a flood come from many hosts, and enter no tunnel"),
            WITHOUT_CONNECTIONS[0],
            WITHOUT_CONNECTIONS[1],
        ],
        scales: true,
        read: Self::read,
        ..Facts::PLAIN
    };

    fn read(_: &str, section: &mut Section<'_>, around: &Around<'_>) -> Result<Traffic, ScenarioError> {
        // Minimum and default length of a packet: IPv4 and TCP headers without options.
        Ok(Traffic::SynFlood(SynFlood(ConstantRate::read(section, around.fastest, 40, 40)?)))
    }
}

impl Kind for SynFlood {
    fn facts(&self) -> &'static Facts {
        &Self::FACTS
    }

    fn bits_per_second(&self, to: &Offering<'_>) -> f64 {
        self.0.bits_per_second(to.duration, to.overhead)
    }

    fn started(&self, _: Nanos) -> f64 {
        0.0
    }

    fn repeats(&self, _: bool) -> bool {
        self.0.repeats()
    }

    fn scale(&mut self, factor: f64, fastest: Option<Rate>) {
        self.0.scale(factor, fastest);
    }

    fn pace(&self) -> Option<&ConstantRate> {
        Some(&self.0)
    }
}

impl fmt::Display for SynFlood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a flood of SYNs at {}", self.0)
    }
}

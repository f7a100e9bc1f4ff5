//! Datagrams of one flow at a constant rate.

use super::constant_rate::ConstantRate;
use super::{Around, Consists, Facts, Kind, Offering, Traffic, WITHOUT_CONNECTIONS};
use crate::error::ScenarioError;
use crate::section::Section;
use gentle_units::{Nanos, Rate};
use serde::Serialize;
use std::fmt;

/// UDP datagrams of one flow, without congestion control.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(transparent)]
pub struct Udp(pub ConstantRate);

impl Udp {
    pub(super) const FACTS: Facts = Facts {
        names: &["udp"],
        consists: Consists::Packets,
        refused: &WITHOUT_CONNECTIONS,
        scales: true,
        read: Self::read,
        ..Facts::PLAIN
    };

    fn read(_: &str, section: &mut Section<'_>, around: &Around<'_>) -> Result<Traffic, ScenarioError> {
        // Minimum and default length of a packet: IPv4 and UDP headers; a full packet.
        Ok(Traffic::Udp(Udp(ConstantRate::read(section, around.fastest, 28, 1500)?)))
    }
}

impl Kind for Udp {
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

impl fmt::Display for Udp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UDP at {}", self.0)
    }
}

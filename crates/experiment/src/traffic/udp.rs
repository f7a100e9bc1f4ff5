//! Datagrams of one flow at a constant rate.

use super::constant_rate::{ConstantRate, at_constant_rate};
use super::{Around, Consists, Facts, Traffic, WITHOUT_CONNECTIONS};
use crate::error::ScenarioError;
use crate::section::Section;
use serde::Serialize;

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

at_constant_rate!(Udp, "UDP at ");

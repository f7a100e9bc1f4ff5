//! SYN floods.

use super::constant_rate::{ConstantRate, at_constant_rate};
use super::{Around, Consists, Facts, Traffic, WITHOUT_CONNECTIONS};
use crate::error::ScenarioError;
use crate::section::Section;
use serde::Serialize;

/// SYNs without answer, each from a different (forged) address and port.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(transparent)]
pub struct SynFlood(pub ConstantRate);

impl SynFlood {
    pub(super) const FACTS: Facts = Facts {
        names: &["syn_flood"],
        consists: Consists::Flood,
        refused: &[
            ("tunnel", "the SYNs of a flood come from many hosts and cannot use a tunnel; remove this key"),
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

at_constant_rate!(SynFlood, "a flood of SYNs at ");

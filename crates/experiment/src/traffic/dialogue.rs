//! Users of applications over TCP.

use super::{Around, Consists, Facts, HarmNumbers, Kind, Offering, Traffic};
use crate::application::dialogue::{Dialogue, Script};
use crate::error::ScenarioError;
use crate::initiator::Initiator;
use crate::section::Section;
use gentle_units::Nanos;

impl Dialogue {
    pub(super) const FACTS: Facts = Facts {
        names: Script::NAMES,
        consists: Consists::Users,
        refused: &[("initiator", "users always open the connection; remove this key")],
        initiator: Initiator::Receiver,
        read: Self::read_traffic,
        ..Facts::PLAIN
    };

    fn read_traffic(name: &str, section: &mut Section<'_>, _: &Around<'_>) -> Result<Traffic, ScenarioError> {
        Ok(Traffic::Dialogue(Dialogue::read(name, section)?))
    }
}

impl Kind for Dialogue {
    fn facts(&self) -> &'static Facts {
        &Self::FACTS
    }

    fn name(&self) -> &'static str {
        self.script.name()
    }

    fn bits_per_second(&self, to: &Offering<'_>) -> f64 {
        let payload = self.script.bytes_per_second(to.mss) * f64::from(self.users);
        8.0 * to.packets.bytes_of_mean(payload)
    }

    fn started(&self, _: Nanos) -> f64 {
        f64::from(self.users)
    }

    fn harm(&self) -> Option<HarmNumbers> {
        Some(self.script.harm())
    }
}

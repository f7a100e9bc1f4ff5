//! Ownership of the qdiscs and filters of a device: gentle's, or others'.

use crate::device_state::DeviceState;
use crate::netlink::TcMessage;
use crate::place::{CLSACT_PREFERENCE, INGRESS_PREFERENCE, SCHEME, SHAPER};
use crate::setup::Direction;
use crate::snapshot;
use crate::state::{Known, Record};

impl DeviceState {
    /// Whether gentle made the present setup: its saved state shows it, or, for incoming packets, packets are
    /// redirected to a device that has the alias of an intermediate device. The handles alone are no proof.
    pub(crate) fn is_own(&self) -> bool {
        match self.direction {
            Direction::Egress => self.state.own.top().is_some_and(|top| {
                let Known { record, journal, damaged } = &self.known;
                let recorded = |record: &Record| record.made(&self.state.own);
                has_handle_of_gentle(top)
                    && (*damaged
                        || record.as_ref().is_some_and(recorded)
                        || journal.as_ref().is_some_and(|journal| journal.makes(top)))
            }),
            Direction::Ingress => self.state.ifb.is_some() || self.redirect().is_some(),
        }
    }

    /// Whether outgoing packets pass a qdisc that may be gentle's, of which nothing is saved.
    pub(crate) fn is_unrecorded(&self) -> bool {
        let top = self.state.own.top();
        self.direction == Direction::Egress && !self.is_own() && top.is_some_and(has_handle_of_gentle)
    }

    /// Whether a setup of gentle's is recorded that somebody deleted, so that the default of the device is in place instead of
    /// the queues from before.
    pub(crate) fn lost_its_setup(&self) -> bool {
        let record = self.known.record.as_ref();
        record.is_some_and(|record| record.before.is_some()) && !self.is_own() && self.foreign().is_none()
    }

    /// Gentle's filter for incoming packets. If somebody deleted the intermediate device, the filter drops every packet;
    /// `tcf_mirred_dump` reports index 0 for a device that is gone.
    pub(crate) fn redirect(&self) -> Option<&TcMessage> {
        let own = &self.state.own;
        let to = match &self.state.ifb {
            Some(ifb) => ifb.index,
            None if self.known.name().is_some() || self.known.damaged => 0,
            None => return None,
        };
        own.filters_with(self.preference()).find(|filter| snapshot::is_redirect_to(filter, to))
    }

    /// Preference of gentle's filter for incoming packets.
    pub(crate) fn preference(&self) -> u16 {
        match self.state.own.is_clsact() {
            true => CLSACT_PREFERENCE,
            false => INGRESS_PREFERENCE,
        }
    }

    /// Whether others have added filters to the `ingress` qdisc that gentle made, so that it has to stay.
    pub(crate) fn has_filters_of_others(&self) -> bool {
        let own = usize::from(self.redirect().is_some());
        self.is_own() && !self.state.own.is_clsact() && self.state.own.filters() > own
    }
}

/// Whether a qdisc has a handle of gentle's.
fn has_handle_of_gentle(qdisc: &TcMessage) -> bool {
    [SHAPER, SCHEME].contains(&((qdisc.handle >> 16) as u16))
}

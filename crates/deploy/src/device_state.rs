//! State of a device in one direction.

use crate::command::Command;
use crate::device::{Device, Link};
use crate::error::ApplyError;
use crate::intermediate::{self, IFB, IngressOf};
use crate::netlink::{Interface, Netlink, interface, interfaces};
use crate::run::Programs;
use crate::setup::{Direction, Present};
use crate::snapshot::{self, Side, Snapshot};
use crate::state::Known;
use serde::{Deserialize, Serialize};

/// State of a device in one direction.
pub(crate) struct DeviceState {
    pub(crate) direction: Direction,
    /// Present name.
    pub(crate) dev: Device,
    pub(crate) interface: Interface,
    pub(crate) state: QueueState,
    /// Saved state of the device.
    pub(crate) known: Known,
    /// Names of the devices on which others redirect packets to the intermediate device.
    pub(crate) sharers: Vec<String>,
    /// Another device with the name that a new intermediate device would get.
    pub(crate) namesake: Option<Interface>,
}

/// Queues of a device in one direction, in a form that can be restored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct QueueState {
    /// Objects on the device itself.
    pub(crate) own: Snapshot,
    /// Intermediate device, if there is one.
    pub(crate) ifb: Option<Intermediate>,
}

/// Intermediate device of incoming packets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Intermediate {
    /// Interface index by which the redirecting filter refers to it.
    pub(crate) index: u32,
    pub(crate) name: String,
    /// Whether the device is up: otherwise it drops all packets.
    up: bool,
    queue: Snapshot,
}

impl QueueState {
    /// State without numbers that differ after it is set up again, for comparison: equal states mean that nothing was
    /// reconfigured.
    pub(crate) fn comparable(&self) -> Vec<Snapshot> {
        let ifb = self.ifb.as_ref();
        let own = self.own.comparable(ifb.map(|ifb| ifb.index));
        let queue = ifb.map(|ifb| ifb.queue.comparable(None));
        std::iter::once(own).chain(queue).collect()
    }
}

impl Direction {
    /// Side of the device itself on which a setup for this direction has objects.
    pub(crate) fn side(self) -> Side {
        match self {
            Direction::Egress => Side::Root,
            Direction::Ingress => Side::Ingress,
        }
    }
}

impl DeviceState {
    /// State of a device, of which `known` is saved.
    pub(crate) fn observe(
        netlink: &mut Netlink,
        interface: Interface,
        direction: Direction,
        known: Known,
    ) -> Result<DeviceState, ApplyError> {
        let dev: Device = interface.name.parse()?;
        let own = Snapshot::take(netlink, interface.index, direction.side())?;
        let (mut ifb, mut namesake, mut sharers) = (None, None, Vec::new());
        if direction == Direction::Ingress {
            let existing = interfaces(netlink)?;
            if let Some(found) = intermediate::of(&existing, interface.index, &own, known.name()) {
                ifb = Some(Intermediate::observe(netlink, found)?);
                let mut redirects = snapshot::redirects(netlink, found.index)?;
                // One is gentle's.
                redirects.retain(|device, count| *device != interface.index || *count > 1);
                let names = existing
                    .iter()
                    .filter(|device| redirects.contains_key(&device.index))
                    .map(|device| device.name.clone());
                sharers.extend(names);
            }
            let name = dev.ingress();
            namesake = existing.into_iter().find(|other| {
                let is_own = ifb.as_ref().is_some_and(|ifb| ifb.index == other.index);
                other.name == name.name() && !is_own
            });
        }
        Ok(DeviceState { direction, dev, interface, state: QueueState { own, ifb }, known, sharers, namesake })
    }

    /// Present state of the device, which may have been renamed.
    pub(crate) fn again(&self, netlink: &mut Netlink) -> Result<DeviceState, ApplyError> {
        let mut existing = interfaces(netlink)?.into_iter();
        let same = existing.find(|interface| interface.index == self.interface.index);
        let same = same.ok_or_else(|| ApplyError::NoDevice(self.dev.clone()))?;
        DeviceState::observe(netlink, same, self.direction, self.known.clone())
    }

    /// Claims an intermediate device without alias as gentle's: its creator, who called the device `name`, was
    /// interrupted before setting the alias. Call only if a journal shows that gentle was at work: it does not begin
    /// while another device has the name.
    pub(crate) fn adopt_ifb(&mut self, netlink: &mut Netlink, name: &str) -> Result<(), ApplyError> {
        let name = name.parse::<Device>()?.ingress();
        let Some(found) = interface(netlink, &name)? else {
            return Ok(());
        };
        if self.state.ifb.is_some() || found.kind != IFB || found.alias.is_some() {
            return Ok(());
        }
        let ifb = Intermediate::observe(netlink, &found)?;
        if ifb.queue.top().is_none() {
            self.namesake.take_if(|other| other.index == ifb.index);
            self.state.ifb = Some(ifb);
        }
        Ok(())
    }

    /// Whether packets pass the setup, as far as this depends on more than its configuration.
    pub(crate) fn is_up(&self) -> bool {
        self.state.ifb.as_ref().is_none_or(|ifb| ifb.up)
    }

    /// Refuses to delete an intermediate device to which others redirect packets.
    pub(crate) fn require_sole_use(&self) -> Result<(), ApplyError> {
        match (self.sharers.first(), &self.state.ifb) {
            (Some(by), Some(ifb)) => {
                Err(ApplyError::IntermediateShared { name: ifb.name.clone(), dev: self.dev.clone(), by: by.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Objects of other origin that a setup would replace.
    pub(crate) fn foreign(&self) -> Option<&Snapshot> {
        let own = &self.state.own;
        // A clsact without filters for incoming packets can stay.
        let replaced = match own.is_clsact() {
            true => own.filters() > 0 || own.has_blocks(),
            false => own.top().is_some(),
        };
        (replaced && !self.is_own()).then_some(own)
    }

    pub(crate) fn present(&self) -> Present {
        Present {
            clsact: self.state.own.is_clsact(),
            ingress: self.direction == Direction::Ingress && self.has_filters_of_others(),
            loopback: self.interface.loopback,
            transmit_queues: self.state.own.transmit_queues(),
        }
    }

    /// Whether the present state is a part of `state`, so that restoring the latter loses nothing.
    pub(crate) fn is_part_of(&self, state: &QueueState) -> bool {
        let own = self.state.own.comparable(None);
        own.is_part_of(&state.own.comparable(None))
    }

    /// Whether the device has the qdisc of `state`, but not all that is in it.
    pub(crate) fn is_remainder_of(&self, state: &QueueState) -> bool {
        let top = |state: &QueueState| state.own.top().map(|top| (top.kind(), top.handle));
        let (now, wanted) = (top(&self.state), top(state));
        now.is_some() && now == wanted && !self.is_in(state)
    }

    /// Whether others have added filters for incoming packets to a part of `state`, so that the rest can be added.
    pub(crate) fn is_part_with_additions(&self, state: &QueueState) -> bool {
        self.direction == Direction::Ingress && self.is_remainder_of(state) && !self.is_part_of(state)
    }

    /// Restores `state`; returns whether the device is in this state afterwards.
    ///
    /// `made_by` are the commands that made it, if gentle did: they set parameters that the kernel does not dump.
    pub(crate) fn restore(
        &self,
        netlink: &mut Netlink,
        programs: &Programs,
        state: &QueueState,
        made_by: Option<&[Command]>,
    ) -> Result<bool, ApplyError> {
        if self.state.comparable() == state.comparable() {
            return Ok(true);
        }
        self.require_sole_use()?;
        self.require_room_for(state)?;
        // Filters of others stay, as do those next to which gentle had made a setup.
        let stays = state.ifb.is_some() || self.is_part_with_additions(state);
        if self.is_own() || !stays {
            programs.run_all(&self.clearing())?;
        }
        let index = self.interface.index;
        if let Some(commands) = made_by {
            programs.run_all(commands)?;
        } else {
            if let Some(old) = &state.ifb {
                let alias = IngressOf::new(&self.dev, Some(index)).to_string();
                programs.run(
                    &Command::ip("link add name")
                        .arg(&old.name)
                        .arg("index")
                        .arg(old.index.to_string())
                        .arg("type")
                        .arg(IFB),
                )?;
                programs.run(&Command::ip("link set dev").arg(&old.name).arg("alias").arg(alias))?;
                old.queue.restore(netlink, old.index, &Snapshot::default(), None)?;
                programs.run(&Command::ip("link set dev").arg(&old.name).arg("up"))?;
            }
            let cleared = self.again(netlink)?;
            let ifb = state.ifb.as_ref().map(|ifb| ifb.index);
            let there = &cleared.state.own;
            state.own.restore(netlink, index, there, ifb)?;
        }
        Ok(self.again(netlink)?.is_in(state))
    }

    /// Refuses to restore an `ingress` qdisc where others have put a `clsact` since, and the other way round.
    fn require_room_for(&self, state: &QueueState) -> Result<(), ApplyError> {
        let own = &self.state.own;
        let stays = own.is_clsact() || self.has_filters_of_others();
        match (own.top(), state.own.top()) {
            (Some(now), Some(wanted))
                if self.direction == Direction::Ingress && stays && now.kind() != wanted.kind() =>
            {
                let kind = now.kind();
                Err(ApplyError::InTheWay {
                    remedy: Command::tc(&format!("qdisc del dev {} {kind}", self.dev)).to_string(),
                    kind,
                })
            }
            _ => Ok(()),
        }
    }

    /// Whether the device is in `state`. Filters for incoming packets that others have added do not count.
    fn is_in(&self, state: &QueueState) -> bool {
        let (now, wanted) = (self.state.comparable(), state.comparable());
        let added = self.direction == Direction::Ingress && now[1..] == wanted[1..] && wanted[0].is_part_of(&now[0]);
        now == wanted || added
    }
}

impl Intermediate {
    fn observe(netlink: &mut Netlink, interface: &Interface) -> Result<Intermediate, ApplyError> {
        Ok(Intermediate {
            index: interface.index,
            name: interface.name.clone(),
            up: interface.up,
            queue: Snapshot::take(netlink, interface.index, Side::Root)?,
        })
    }
}

/// Link of a device, and the objects on it that a plan for `direction` depends on.
///
/// # Errors
/// If the device does not exist or a netlink request fails.
pub fn present(dev: &Device, direction: Direction) -> Result<(Link, Present), ApplyError> {
    let mut netlink = Netlink::open()?;
    let found = interface(&mut netlink, dev)?.ok_or_else(|| ApplyError::NoDevice(dev.clone()))?;
    let device = DeviceState::observe(&mut netlink, found, direction, Known::default())?;
    Ok((device.interface.link, device.present()))
}

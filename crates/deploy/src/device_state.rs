//! State of a device in one direction, and the commands that clear it.

use crate::command::Command;
use crate::device::{Device, Link};
use crate::error::ApplyError;
use crate::netlink::{Interface, Netlink, interface};
use crate::place::{CLSACT_PREFERENCE, SCHEME, SHAPER, ingress_alias};
use crate::run::run;
use crate::setup::{Direction, Present};
use crate::snapshot::{Side, Snapshot};
use serde::{Deserialize, Serialize};

/// State of a device in one direction.
pub(crate) struct DeviceState {
    pub(crate) direction: Direction,
    pub(crate) dev: Device,
    pub(crate) interface: Interface,
    pub(crate) state: QueueState,
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
    index: u32,
    alias: Option<String>,
    queue: Snapshot,
}

impl QueueState {
    /// State without the values that change while packets pass, for comparison: equal states mean that nothing was
    /// reconfigured.
    pub(crate) fn normalized(&self) -> Vec<Snapshot> {
        let ifb = self.ifb.as_ref().map(|ifb| &ifb.queue);
        [&self.own]
            .into_iter()
            .chain(ifb)
            .map(Snapshot::normalized)
            .collect()
    }
}

impl DeviceState {
    pub(crate) fn observe(
        netlink: &mut Netlink,
        dev: &Device,
        direction: Direction,
    ) -> Result<DeviceState, ApplyError> {
        let found = interface(netlink, dev)?.ok_or_else(|| ApplyError::NoDevice(dev.clone()))?;
        let (side, ifb) = match direction {
            Direction::Egress => (Side::Root, None),
            Direction::Ingress => (Side::Ingress, interface(netlink, &dev.ingress())?),
        };
        let own = Snapshot::take(netlink, found.index, side)?;
        let ifb = match ifb {
            Some(ifb) => Some(Intermediate {
                queue: Snapshot::take(netlink, ifb.index, Side::Root)?,
                index: ifb.index,
                alias: ifb.alias,
            }),
            None => None,
        };
        Ok(DeviceState {
            direction,
            dev: dev.clone(),
            interface: found,
            state: QueueState { own, ifb },
        })
    }

    fn has_own_ifb(&self) -> bool {
        let alias = ingress_alias(&self.dev);
        let ifb = self.state.ifb.as_ref();
        ifb.is_some_and(|ifb| ifb.alias.as_deref() == Some(alias.as_str()))
    }

    /// Claims an intermediate device without alias as gentle's: its creator was interrupted before setting the alias.
    /// Call only if a journal says that there was no such device before.
    pub(crate) fn adopt_ifb(&mut self) {
        let alias = ingress_alias(&self.dev);
        if let Some(ifb) = &mut self.state.ifb
            && ifb.queue.top().is_none()
        {
            ifb.alias.get_or_insert(alias);
        }
    }

    /// Whether gentle made the present setup.
    pub(crate) fn is_own(&self) -> bool {
        match self.direction {
            Direction::Egress => self.state.own.top().is_some_and(|top| {
                let major = (top.handle >> 16) as u16;
                [SHAPER, SCHEME].contains(&major)
            }),
            Direction::Ingress => self.has_own_ifb(),
        }
    }

    /// Objects of other origin that a setup would replace.
    pub(crate) fn foreign(&self) -> Option<&Snapshot> {
        let own = &self.state.own;
        // A clsact without filters for incoming packets can stay.
        let replaced = match own.is_clsact() {
            true => own.has_filters(),
            false => own.top().is_some(),
        };
        (replaced && !self.is_own()).then_some(own)
    }

    pub(crate) fn present(&self) -> Present {
        Present {
            clsact: self.state.own.is_clsact(),
            transmit_queues: self.state.own.transmit_queues(),
        }
    }

    /// Commands that restore the default of the device, or a `clsact` without filters for incoming packets.
    pub(crate) fn clearing(&self) -> Vec<Command> {
        let (dev, own) = (&self.dev, &self.state.own);
        let mut commands = Vec::new();
        match self.direction {
            Direction::Egress if own.top().is_some() => {
                commands.push(Command::tc(&format!("qdisc del dev {dev} root")));
            }
            Direction::Egress => {}
            Direction::Ingress => {
                if own.is_clsact() {
                    commands.extend(self.clearing_clsact());
                } else if own.top().is_some() {
                    commands.push(Command::tc(&format!("qdisc del dev {dev} ingress")));
                }
                if self.has_own_ifb() {
                    commands.push(Command::ip(&format!("link del dev {}", dev.ingress())));
                }
            }
        }
        commands
    }

    /// Commands that remove gentle's filter only: others may have been added since.
    fn clearing_clsact(&self) -> Vec<Command> {
        let (dev, own) = (&self.dev, &self.state.own);
        if self.is_own() {
            let ours = own.has_filter_with(CLSACT_PREFERENCE);
            let command = Command::tc(&format!(
                "filter del dev {dev} ingress pref {CLSACT_PREFERENCE}"
            ));
            return ours.then_some(command).into_iter().collect();
        }
        own.chains()
            .into_iter()
            .map(|chain| match chain {
                0 => Command::tc(&format!("filter del dev {dev} ingress")),
                chain => Command::tc(&format!("filter del dev {dev} ingress chain {chain}")),
            })
            .collect()
    }

    /// Whether the present state is a part of `state`, so that restoring the latter loses nothing.
    pub(crate) fn is_part_of(&self, state: &QueueState) -> bool {
        self.state
            .own
            .normalized()
            .is_part_of(&state.own.normalized())
            && (self.state.ifb.is_none() || self.has_own_ifb())
    }

    /// Restores `state`; returns whether the device is in this state afterwards.
    ///
    /// `made_by` are the commands that made it, if gentle did: they set parameters that the kernel does not dump.
    pub(crate) fn restore(
        &self,
        netlink: &mut Netlink,
        state: &QueueState,
        made_by: Option<&[Command]>,
    ) -> Result<bool, ApplyError> {
        if self.state.normalized() == state.normalized() {
            return Ok(true);
        }
        self.clearing().iter().try_for_each(run)?;
        if let Some(commands) = made_by {
            commands.iter().try_for_each(run)?;
        } else {
            if let Some(old) = &state.ifb {
                let ifb = self.dev.ingress();
                run(&Command::ip(&format!(
                    "link add name {ifb} index {} type ifb",
                    old.index
                )))?;
                run(&Command::ip(&format!("link set dev {ifb} alias"))
                    .arg(ingress_alias(&self.dev)))?;
                old.queue.restore(netlink, &Snapshot::default())?;
                run(&Command::ip(&format!("link set dev {ifb} up")))?;
            }
            let cleared = DeviceState::observe(netlink, &self.dev, self.direction)?;
            state.own.restore(netlink, &cleared.state.own)?;
        }
        let now = DeviceState::observe(netlink, &self.dev, self.direction)?;
        Ok(now.state.normalized() == state.normalized())
    }
}

/// Link of a device, and the objects on it that a plan for `direction` depends on.
///
/// # Errors
/// If the device does not exist or a netlink request fails.
pub fn present(dev: &Device, direction: Direction) -> Result<(Link, Present), ApplyError> {
    let device = DeviceState::observe(&mut Netlink::open()?, dev, direction)?;
    Ok((device.interface.link, device.present()))
}

//! What is on a device in one direction, and the commands that take it off.

use crate::apply::ApplyError;
use crate::command::Command;
use crate::device::{Device, Link};
use crate::netlink::{Interface, Netlink, interface};
use crate::plan::{self, CLSACT_PREFERENCE, Direction, Present, ingress_alias};
use crate::run::run;
use crate::snapshot::{Side, Snapshot};
use serde::{Deserialize, Serialize};

/// What is on a device in one direction.
pub(crate) struct Scene {
    pub(crate) direction: Direction,
    pub(crate) dev: Device,
    pub(crate) interface: Interface,
    pub(crate) state: State,
}

/// The part of a [`Scene`] that can be brought back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct State {
    /// What the device itself has.
    pub(crate) own: Snapshot,
    /// What the intermediate device has, if there is one.
    pub(crate) ifb: Option<Intermediate>,
}

/// The device through which arriving packets pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Intermediate {
    /// The filter that redirects to it knows it by this number.
    index: u32,
    alias: Option<String>,
    queue: Snapshot,
}

impl State {
    /// Without what changes while packets pass: equal before and after, nothing was set up anew.
    pub(crate) fn settled(&self) -> Vec<Snapshot> {
        let ifb = self.ifb.as_ref().map(|ifb| &ifb.queue);
        [&self.own]
            .into_iter()
            .chain(ifb)
            .map(Snapshot::settled)
            .collect()
    }
}

impl Scene {
    pub(crate) fn observe(
        netlink: &mut Netlink,
        dev: &Device,
        direction: Direction,
    ) -> Result<Scene, ApplyError> {
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
        Ok(Scene {
            direction,
            dev: dev.clone(),
            interface: found,
            state: State { own, ifb },
        })
    }

    fn has_own_ifb(&self) -> bool {
        let alias = ingress_alias(&self.dev);
        let ifb = self.state.ifb.as_ref();
        ifb.is_some_and(|ifb| ifb.alias.as_deref() == Some(alias.as_str()))
    }

    /// Takes an intermediate device for gentle's that has no remark yet: it was made and not described any more. To be called
    /// where a journal says that there was none.
    pub(crate) fn adopt_ifb(&mut self) {
        let alias = ingress_alias(&self.dev);
        if let Some(ifb) = &mut self.state.ifb
            && ifb.queue.top().is_none()
        {
            ifb.alias.get_or_insert(alias);
        }
    }

    /// Whether gentle put there what is there.
    pub(crate) fn is_own(&self) -> bool {
        match self.direction {
            Direction::Egress => self.state.own.top().is_some_and(|top| {
                let major = (top.handle >> 16) as u16;
                [plan::SHAPER, plan::SCHEME].contains(&major)
            }),
            Direction::Ingress => self.has_own_ifb(),
        }
    }

    /// What of somebody else's is in the way.
    pub(crate) fn foreign(&self) -> Option<&Snapshot> {
        let own = &self.state.own;
        // In a clsact without filters for arriving packets there is room.
        let in_the_way = match own.is_clsact() {
            true => own.has_filters(),
            false => own.top().is_some(),
        };
        (in_the_way && !self.is_own()).then_some(own)
    }

    pub(crate) fn present(&self) -> Present {
        Present {
            clsact: self.state.own.is_clsact(),
            transmit_queues: self.state.own.transmit_queues(),
        }
    }

    /// The commands that lead back to what the device came with, or to a `clsact` without filters for arriving packets.
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

    /// Gentle's filter alone, where it is there: somebody else may have added others since.
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

    /// Whether all that is here is part of `state`: then nothing is lost by bringing that back.
    pub(crate) fn is_part_of(&self, state: &State) -> bool {
        self.state.own.settled().is_part_of(&state.own.settled())
            && (self.state.ifb.is_none() || self.has_own_ifb())
    }

    /// Brings `state` back; the answer is whether that is what is there now.
    ///
    /// `made_by` are the commands that made it, if gentle did: they can do what the kernel does not tell.
    pub(crate) fn bring_back(
        &self,
        netlink: &mut Netlink,
        state: &State,
        made_by: Option<&[Command]>,
    ) -> Result<bool, ApplyError> {
        if self.state.settled() == state.settled() {
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
            let cleared = Scene::observe(netlink, &self.dev, self.direction)?;
            state.own.restore(netlink, &cleared.state.own)?;
        }
        let now = Scene::observe(netlink, &self.dev, self.direction)?;
        Ok(now.state.settled() == state.settled())
    }
}

/// The link behind a device, and what it has that a plan for `direction` depends on.
///
/// # Errors
/// There is no such device, or the kernel did not say.
pub fn present(dev: &Device, direction: Direction) -> Result<(Link, Present), ApplyError> {
    let scene = Scene::observe(&mut Netlink::open()?, dev, direction)?;
    Ok((scene.interface.link, scene.present()))
}

//! A plan carried out: all of it, or back to what was there.

use crate::command::Command;
use crate::device::Device;
use crate::netlink::{Interface, Netlink, NetlinkError, interface};
use crate::plan::{self, Backing, Direction, Plan, PlanError, Setup, ingress_alias};
use crate::run::{RunError, run};
use crate::snapshot::{Side, Snapshot};
use crate::state::{Record, StateDir};
use crate::system;
use thiserror::Error;

/// How a plan was carried out.
#[derive(Debug)]
pub enum Applied {
    /// All of it was in place.
    Unchanged(Plan),
    /// It is in place now.
    Changed {
        /// What was run.
        plan: Plan,
        /// Why it could not be remembered, in which case applying it again makes it anew.
        forgotten: Option<std::io::Error>,
    },
}

/// What was taken off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// In which direction.
    pub direction: Direction,
    /// What is there again, where that is not what the device came with.
    pub restored: Option<String>,
}

/// Why nothing has changed.
#[derive(Debug, Error)]
pub enum ApplyError {
    /// There is no plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The kernel did not answer.
    #[error(transparent)]
    Netlink(#[from] NetlinkError),
    /// The device does not exist.
    #[error("there is no network device '{0}'; ip link lists those there are")]
    NoDevice(Device),
    /// Rights are missing.
    #[error(
        "changing queues needs the capability CAP_NET_ADMIN, which this process lacks; run it as root, or give it that (systemd: AmbientCapabilities=CAP_NET_ADMIN)"
    )]
    Capability,
    /// There is something on the device that came from elsewhere.
    #[error(
        "{dev} has a queue that gentle did not put there: {what}; --replace puts it aside until gentle qdisc remove, or take it off with {remedy}"
    )]
    Foreign {
        /// The device.
        dev: Device,
        /// What it has.
        what: String,
        /// The command that takes it off.
        remedy: String,
    },
    /// There is something on the device that came from elsewhere and could not be brought back.
    #[error(
        "{dev} has {what}, which the kernel does not tell all of, so that it could not be brought back; take it off with {remedy}"
    )]
    Unrestorable {
        /// The device.
        dev: Device,
        /// What it has.
        what: String,
        /// The command that takes it off.
        remedy: String,
    },
    /// The name of the intermediate device is taken.
    #[error(
        "there is a device {0} that is not gentle's; its name is needed for incoming packets, so rename or delete it"
    )]
    Taken(Device),
    /// A command failed; what was there before is there again.
    #[error("{cause}; {after}", after = match back { Ok(()) => "what was there before is there again".to_owned(), Err(why) => format!("what was there before could not be brought back in full: {why}") })]
    Failed {
        /// Which, and what it said.
        cause: RunError,
        /// Whether all is as before.
        back: Result<(), String>,
    },
    /// Taking off failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// What is on a device in one direction.
struct Scene {
    direction: Direction,
    dev: Device,
    interface: Interface,
    /// Of the device itself.
    own: Snapshot,
    /// Of the intermediate device, if there is one.
    ifb: Option<(Interface, Snapshot)>,
}

impl Scene {
    fn observe(
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
            Some(ifb) => {
                let snapshot = Snapshot::take(netlink, ifb.index, Side::Root)?;
                Some((ifb, snapshot))
            }
            None => None,
        };
        Ok(Scene {
            direction,
            dev: dev.clone(),
            interface: found,
            own,
            ifb,
        })
    }

    fn settled(&self) -> Vec<Snapshot> {
        let ifb = self.ifb.as_ref().map(|(_, snapshot)| snapshot);
        [&self.own]
            .into_iter()
            .chain(ifb)
            .map(Snapshot::settled)
            .collect()
    }

    fn has_own_ifb(&self) -> bool {
        let alias = ingress_alias(&self.dev);
        self.ifb
            .as_ref()
            .is_some_and(|(ifb, _)| ifb.alias.as_deref() == Some(alias.as_str()))
    }

    /// Whether gentle put there what is there.
    fn is_own(&self) -> bool {
        match self.direction {
            Direction::Egress => self.own.top().is_some_and(|top| {
                let major = (top.handle >> 16) as u16;
                [plan::SHAPER, plan::SCHEME].contains(&major)
            }),
            Direction::Ingress => self.has_own_ifb(),
        }
    }

    /// The commands that lead back to what the device came with.
    fn clearing(&self) -> Vec<Command> {
        let dev = &self.dev;
        let mut commands = Vec::new();
        match self.direction {
            Direction::Egress if self.own.top().is_some() => {
                commands.push(Command::tc(&format!("qdisc del dev {dev} root")));
            }
            Direction::Egress => {}
            Direction::Ingress => {
                if self.own.top().is_some() {
                    commands.push(Command::tc(&format!("qdisc del dev {dev} ingress")));
                }
                if self.has_own_ifb() {
                    commands.push(Command::ip(&format!("link del dev {}", dev.ingress())));
                }
            }
        }
        commands
    }

    fn refuse_foreign(&self, replace: bool) -> Result<(), ApplyError> {
        if self.is_own() {
            return Ok(());
        }
        if self.ifb.is_some() {
            return Err(ApplyError::Taken(self.dev.ingress()));
        }
        let Some(what) = self.own.describe_top() else {
            return Ok(());
        };
        let remedy = self.clearing().first().map(Command::to_string);
        let (dev, remedy) = (self.dev.clone(), remedy.unwrap_or_default());
        if !replace {
            return Err(ApplyError::Foreign { dev, what, remedy });
        }
        match self.own.hidden_part() {
            Some(what) => Err(ApplyError::Unrestorable { dev, what, remedy }),
            None => Ok(()),
        }
    }
}

/// The link behind a device, for a plan.
///
/// # Errors
/// There is no such device, or the kernel did not say.
pub fn link_of(dev: &Device) -> Result<crate::device::Link, ApplyError> {
    let mut netlink = Netlink::open()?;
    let found = interface(&mut netlink, dev)?;
    found
        .map(|interface| interface.link)
        .ok_or_else(|| ApplyError::NoDevice(dev.clone()))
}

/// Puts `setup` on its device, all of it or nothing; does nothing if it is there already.
///
/// What gentle put there before is replaced, what came from elsewhere only if `replace` is set.
///
/// # Errors
/// Why nothing has changed. Of a command that failed, its own words are told.
pub fn apply(
    setup: &Setup,
    backing: Backing,
    replace: bool,
    state: &StateDir,
) -> Result<Applied, ApplyError> {
    let plan = plan::plan(setup, backing)?;
    let mut netlink = Netlink::open()?;
    let before = Scene::observe(&mut netlink, &setup.dev, setup.direction)?;
    let index = before.interface.index;
    let record = state
        .load(index, setup.direction)
        .filter(|_| before.is_own());
    if let Some(record) = &record
        && plan.commands == record.commands
        && before.settled() == record.applied
    {
        return Ok(Applied::Unchanged(plan));
    }
    if !system::has_net_admin() {
        return Err(ApplyError::Capability);
    }
    before.refuse_foreign(replace)?;
    let commands = before.clearing().into_iter().chain(plan.commands.clone());
    for command in commands {
        if let Err(cause) = run(&command) {
            let back = roll_back(&mut netlink, &before, record.as_ref());
            return Err(ApplyError::Failed { cause, back });
        }
    }
    let after = Scene::observe(&mut netlink, &setup.dev, setup.direction)?;
    let aside = match record {
        Some(record) => record.before,
        None => (!before.is_own() && before.own.top().is_some()).then_some(before.own),
    };
    let record = Record::new(&plan.commands, after.settled(), aside);
    let forgotten = state.save(index, setup.direction, &record).err();
    Ok(Applied::Changed { plan, forgotten })
}

/// Brings back what was observed; the error says what differs.
///
/// What is known to have been made by commands is made by them again: they can do what the kernel does not tell.
fn roll_back(netlink: &mut Netlink, before: &Scene, record: Option<&Record>) -> Result<(), String> {
    let made_by = record.filter(|record| before.settled() == record.applied);
    let restore = |netlink: &mut Netlink| -> Result<bool, ApplyError> {
        let now = Scene::observe(netlink, &before.dev, before.direction)?;
        if now.settled() == before.settled() {
            return Ok(true);
        }
        for command in now.clearing() {
            run(&command)?;
        }
        if let Some(record) = made_by {
            record.commands.iter().try_for_each(run)?;
            let now = Scene::observe(netlink, &before.dev, before.direction)?;
            return Ok(now.settled() == before.settled());
        }
        if let Some((old, snapshot)) = &before.ifb {
            let ifb = before.dev.ingress();
            // The filter that redirects to it knows it by its number.
            run(&Command::ip(&format!(
                "link add name {ifb} index {} type ifb",
                old.index
            )))?;
            run(&Command::ip(&format!("link set dev {ifb} alias")).arg(ingress_alias(&before.dev)))?;
            snapshot.restore(netlink)?;
            run(&Command::ip(&format!("link set dev {ifb} up")))?;
        }
        before.own.restore(netlink)?;
        let now = Scene::observe(netlink, &before.dev, before.direction)?;
        Ok(now.settled() == before.settled())
    };
    match restore(netlink) {
        Ok(true) => Ok(()),
        Ok(false) => Err("what is there now differs from it".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Takes off what [`apply`] put on a device, in one direction; `None`: nothing of gentle's is there.
///
/// # Errors
/// Why it is there still.
pub fn remove(
    dev: &Device,
    direction: Direction,
    state: &StateDir,
) -> Result<Option<Removed>, ApplyError> {
    let mut netlink = Netlink::open()?;
    let scene = Scene::observe(&mut netlink, dev, direction)?;
    if !scene.is_own() {
        return Ok(None);
    }
    if !system::has_net_admin() {
        return Err(ApplyError::Capability);
    }
    let record = state.load(scene.interface.index, direction);
    for command in scene.clearing() {
        run(&command)?;
    }
    let aside = record.and_then(|record| record.before);
    if let Some(before) = &aside {
        before.restore(&mut netlink)?;
    }
    // Left behind, it would name what is no more; it is found out when the kernel is asked.
    let _ = state.forget(scene.interface.index, direction);
    Ok(Some(Removed {
        direction,
        restored: aside.and_then(|before| before.describe_top()),
    }))
}

//! A plan carried out: all of it, or back to what was there.

use crate::command::Command;
use crate::device::Device;
use crate::netlink::{Netlink, NetlinkError, interfaces};
use crate::plan::{self, Backing, Direction, Discipline, Plan, PlanError, Setup, ingress_alias};
use crate::run::{RunError, run};
use crate::scene::{Scene, State};
use crate::state::{Journal, Record, StateDir};
use crate::system;
use std::io;
use std::path::PathBuf;
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
        /// Whether an earlier process had ended halfway, so that what was there before it was brought back first.
        recovered: bool,
        /// Why it could not be remembered, in which case applying it again makes it anew.
        forgotten: Option<io::Error>,
    },
}

/// What was taken off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// In which direction.
    pub direction: Direction,
    /// Whether the device itself had gone, so that only what gentle keeps beside it was taken off.
    pub gone: bool,
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
    /// A module that was asked for is not there.
    #[error(
        "{scheme} cannot be made from gentle's own module: {why}; --backing stock or auto does without it"
    )]
    NoModule {
        /// The scheme.
        scheme: &'static str,
        /// What is missing.
        why: String,
    },
    /// What would be put aside could not be written down first.
    #[error(
        "{folder}: {cause}; {dev} has {what}, which has to be written down there before it is put aside, so that it can be brought back"
    )]
    NoJournal {
        /// The folder.
        folder: PathBuf,
        /// Why it cannot be written.
        cause: io::Error,
        /// The device.
        dev: Device,
        /// What it has.
        what: String,
    },
    /// What is remembered cannot be read.
    #[error(
        "what gentle remembers of {dev} cannot be read: {cause}; read it with the rights of whoever applied it, or delete the file: what was there before is lost then"
    )]
    Unreadable {
        /// The device.
        dev: Device,
        /// Which file, and why.
        cause: io::Error,
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

/// Puts `setup` on its device, all of it or nothing; does nothing if it is there already.
///
/// What gentle put there before is replaced, what came from elsewhere only if `replace` is set. What an earlier process left
/// halfway is brought back first. [`Setup::present`] is not asked: the device is.
///
/// # Errors
/// Why nothing has changed. Of a command that failed, its own words are told.
pub fn apply(
    setup: &Setup,
    backing: Backing,
    replace: bool,
    state: &StateDir,
) -> Result<Applied, ApplyError> {
    let (dev, direction) = (&setup.dev, setup.direction);
    let mut netlink = Netlink::open()?;
    let mut before = Scene::observe(&mut netlink, dev, direction)?;
    let index = before.interface.index;
    // Whoever may not write there is told below, if anything depends on it.
    let lock = state.lock();
    let recovered = system::has_net_admin() && recover(&mut netlink, &mut before, state)?;
    let record = match before.is_own() {
        true => load(state, &before)?,
        false => None,
    };
    let present = before.present();
    let plan = plan::plan(
        &Setup {
            present,
            ..setup.clone()
        },
        backing,
    )?;
    if let Some(record) = &record
        && plan.commands == record.commands
        && before.state.settled() == record.applied
    {
        return Ok(Applied::Unchanged(plan));
    }
    if !system::has_net_admin() {
        return Err(ApplyError::Capability);
    }
    require_module(&mut netlink, setup, backing, index)?;
    refuse_foreign(&before, replace)?;
    let foreign = before.foreign().cloned();
    let journal = Journal::new(dev, before.state.clone(), record.clone());
    let begun = lock.and_then(|lock| {
        state.begin(index, direction, &journal)?;
        Ok(lock)
    });
    if let (Err(_), Some(foreign)) = (&begun, &foreign) {
        return Err(ApplyError::NoJournal {
            folder: state.path().to_owned(),
            cause: begun.expect_err("as just seen"),
            dev: dev.clone(),
            what: foreign.describe_top().unwrap_or_default(),
        });
    }
    let commands = before.clearing().into_iter().chain(plan.commands.clone());
    for command in commands {
        if let Err(cause) = run(&command) {
            let back = roll_back(&mut netlink, &before, record.as_ref());
            if back.is_ok() && begun.is_ok() {
                // Left behind, it would be found to be in force already.
                let _ = state.finish(index, direction, record.as_ref());
            }
            return Err(ApplyError::Failed { cause, back });
        }
    }
    let after = Scene::observe(&mut netlink, dev, direction)?;
    let aside = match record {
        Some(record) => record.before,
        None => foreign,
    };
    let record = Record::new(dev, &plan.commands, after.state.settled(), aside);
    let remembered = begun.and_then(|_lock| state.finish(index, direction, Some(&record)));
    Ok(Applied::Changed {
        plan,
        recovered,
        forgotten: remembered.err(),
    })
}

fn load(state: &StateDir, scene: &Scene) -> Result<Option<Record>, ApplyError> {
    let unreadable = |cause| ApplyError::Unreadable {
        dev: scene.dev.clone(),
        cause,
    };
    state
        .load(scene.interface.index, scene.direction)
        .map_err(unreadable)
}

fn require_module(
    netlink: &mut Netlink,
    setup: &Setup,
    backing: Backing,
    ifindex: u32,
) -> Result<(), ApplyError> {
    let Discipline::Scheme(spec) = &setup.discipline else {
        return Ok(());
    };
    let schemes = [Some(spec), spec.child()].into_iter().flatten();
    for spec in schemes.filter(|_| backing == Backing::Native) {
        if let Some(module) = spec.module()
            && let Some(why) = system::missing(netlink, module, Some(ifindex))
        {
            let scheme = spec.scheme().name;
            return Err(ApplyError::NoModule { scheme, why });
        }
    }
    Ok(())
}

fn refuse_foreign(scene: &Scene, replace: bool) -> Result<(), ApplyError> {
    if !scene.is_own() && scene.state.ifb.is_some() {
        return Err(ApplyError::Taken(scene.dev.ingress()));
    }
    let Some(foreign) = scene.foreign() else {
        return Ok(());
    };
    let what = foreign.describe_top().unwrap_or_default();
    let remedy: Vec<String> = scene.clearing().iter().map(Command::to_string).collect();
    let (dev, remedy) = (scene.dev.clone(), remedy.join("; "));
    if !replace {
        return Err(ApplyError::Foreign { dev, what, remedy });
    }
    match foreign.hidden_part() {
        Some(what) => Err(ApplyError::Unrestorable { dev, what, remedy }),
        None => Ok(()),
    }
}

/// Brings back what was there before a process that did not come to an end. What somebody else has put there since stays.
fn recover(netlink: &mut Netlink, scene: &mut Scene, state: &StateDir) -> Result<bool, ApplyError> {
    let (index, direction) = (scene.interface.index, scene.direction);
    let unreadable = |dev: &Device, cause| ApplyError::Unreadable {
        dev: dev.clone(),
        cause,
    };
    let journal = state.journal(index, direction);
    let Some(journal) = journal.map_err(|cause| unreadable(&scene.dev, cause))? else {
        return Ok(false);
    };
    if journal.state.ifb.is_none() {
        scene.adopt_ifb();
    }
    let halfway = scene.is_own() || scene.is_part_of(&journal.state);
    if halfway {
        let made_by = made_by(&journal.state, journal.record.as_ref());
        scene.bring_back(netlink, &journal.state, made_by)?;
        *scene = Scene::observe(netlink, &scene.dev, direction)?;
    }
    let record = journal.record.filter(|_| halfway);
    state
        .finish(index, direction, record.as_ref())
        .map_err(|cause| unreadable(&scene.dev, cause))?;
    Ok(halfway)
}

/// The commands that made `state`, where they are known.
fn made_by<'a>(state: &State, record: Option<&'a Record>) -> Option<&'a [Command]> {
    let record = record.filter(|record| state.settled() == record.applied);
    record.map(|record| record.commands.as_slice())
}

/// Brings back what was observed; the error says what differs.
fn roll_back(netlink: &mut Netlink, before: &Scene, record: Option<&Record>) -> Result<(), String> {
    let outcome = Scene::observe(netlink, &before.dev, before.direction)
        .and_then(|now| now.bring_back(netlink, &before.state, made_by(&before.state, record)));
    match outcome {
        Ok(true) => Ok(()),
        Ok(false) => Err("what is there now differs from it".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Takes off what [`apply`] put on a device, in each of `directions` where it did.
///
/// Of a device that has gone, its intermediate device and what was remembered of it go as well.
///
/// # Errors
/// Why it is there still.
pub fn remove(
    dev: &Device,
    directions: &[Direction],
    state: &StateDir,
) -> Result<Vec<Removed>, ApplyError> {
    let mut netlink = Netlink::open()?;
    let lock = state.lock();
    let mut removed = Vec::new();
    let mut missing = false;
    for &direction in directions {
        match Scene::observe(&mut netlink, dev, direction) {
            Ok(scene) => removed.extend(take_off(&mut netlink, scene, state)?),
            Err(ApplyError::NoDevice(_)) => {
                missing = true;
                removed.extend(clean_up(&mut netlink, dev, direction, state)?);
            }
            Err(error) => return Err(error),
        }
    }
    drop(lock);
    match missing && removed.is_empty() {
        true => Err(ApplyError::NoDevice(dev.clone())),
        false => Ok(removed),
    }
}

fn take_off(
    netlink: &mut Netlink,
    mut scene: Scene,
    state: &StateDir,
) -> Result<Option<Removed>, ApplyError> {
    let (index, direction) = (scene.interface.index, scene.direction);
    let recovered = system::has_net_admin() && recover(netlink, &mut scene, state)?;
    if !scene.is_own() {
        return Ok(recovered.then(|| Removed {
            direction,
            gone: false,
            restored: scene.state.own.describe_top(),
        }));
    }
    if !system::has_net_admin() {
        return Err(ApplyError::Capability);
    }
    let aside = load(state, &scene)?.and_then(|record| record.before);
    let target = State {
        own: aside.unwrap_or_default(),
        ifb: None,
    };
    if target.own.top().is_some() {
        let journal = Journal::new(&scene.dev, target.clone(), None);
        let begun = state.begin(index, direction, &journal);
        begun.map_err(|cause| ApplyError::NoJournal {
            folder: state.path().to_owned(),
            cause,
            dev: scene.dev.clone(),
            what: target.own.describe_top().unwrap_or_default(),
        })?;
    }
    scene.clearing().iter().try_for_each(run)?;
    let cleared = Scene::observe(netlink, &scene.dev, direction)?;
    target.own.restore(netlink, &cleared.state.own)?;
    // Left behind, it would name what is no more; it is found out when the kernel is asked.
    let _ = state.finish(index, direction, None);
    Ok(Some(Removed {
        direction,
        gone: false,
        restored: target.own.describe_top(),
    }))
}

/// What is left of a device that has gone: the intermediate device, and what was remembered.
fn clean_up(
    netlink: &mut Netlink,
    dev: &Device,
    direction: Direction,
    state: &StateDir,
) -> Result<Option<Removed>, ApplyError> {
    let existing = interfaces(netlink)?;
    let ifb = dev.ingress();
    let left = direction == Direction::Ingress
        && existing.iter().any(|(name, interface)| {
            name == ifb.name() && interface.alias.as_deref() == Some(ingress_alias(dev).as_str())
        });
    if left && !system::has_net_admin() {
        return Err(ApplyError::Capability);
    }
    if left {
        run(&Command::ip(&format!("link del dev {ifb}")))?;
    }
    let indices: Vec<u32> = existing
        .iter()
        .map(|(_, interface)| interface.index)
        .collect();
    let forgotten = state.forget_gone(dev, direction, &indices);
    let forgotten = forgotten.map_err(|cause| ApplyError::Unreadable {
        dev: dev.clone(),
        cause,
    })?;
    Ok((left || forgotten).then_some(Removed {
        direction,
        gone: true,
        restored: None,
    }))
}

//! Execution of plans: completely, or with a return to the previous state.

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

/// Result of applying a plan.
#[derive(Debug)]
pub enum Applied {
    /// The setup was already in place.
    Unchanged(Plan),
    /// The setup has been put in place.
    Changed {
        /// Plan that was executed.
        plan: Plan,
        /// Whether an earlier process was interrupted, so that the state before it was restored first.
        recovered: bool,
        /// Error of saving the record; without a record, the next `apply` sets up everything again.
        forgotten: Option<io::Error>,
    },
}

/// Setup that was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// Direction of the removed setup.
    pub direction: Direction,
    /// Whether the device no longer exists, so that only the intermediate device and the files were removed.
    pub gone: bool,
    /// Queue of other origin that was restored; `None` if the default of the device is in place.
    pub restored: Option<String>,
}

/// Error of applying or removing a setup.
#[derive(Debug, Error)]
pub enum ApplyError {
    /// The plan cannot be made.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A netlink request failed.
    #[error(transparent)]
    Netlink(#[from] NetlinkError),
    /// The device does not exist.
    #[error("there is no network device '{0}'; ip link lists those there are")]
    NoDevice(Device),
    /// The process lacks CAP_NET_ADMIN.
    #[error(
        "changing queues needs the capability CAP_NET_ADMIN, which this process lacks; run it as root, or give it that (systemd: AmbientCapabilities=CAP_NET_ADMIN)"
    )]
    Capability,
    /// The device has a queue that was not set up by gentle.
    #[error(
        "{dev} has a queue that gentle did not put there: {what}; --replace puts it aside until gentle qdisc remove, or take it off with {remedy}"
    )]
    Foreign {
        /// Name of the device.
        dev: Device,
        /// Description of the queue.
        what: String,
        /// Command that removes the queue.
        remedy: String,
    },
    /// The device has a queue of other origin that could not be restored.
    #[error(
        "{dev} has {what}, which the kernel does not tell all of, so that it could not be brought back; take it off with {remedy}"
    )]
    Unrestorable {
        /// Name of the device.
        dev: Device,
        /// Description of the queue.
        what: String,
        /// Command that removes the queue.
        remedy: String,
    },
    /// A requested kernel module is missing.
    #[error(
        "{scheme} cannot be made from gentle's own module: {why}; --backing stock or auto does without it"
    )]
    NoModule {
        /// Name of the scheme.
        scheme: &'static str,
        /// Description of the missing part.
        why: String,
    },
    /// The present queue could not be saved before its replacement.
    #[error(
        "{folder}: {cause}; {dev} has {what}, which has to be written down there before it is put aside, so that it can be brought back"
    )]
    NoJournal {
        /// Folder of the journal.
        folder: PathBuf,
        /// Error of writing the journal.
        cause: io::Error,
        /// Name of the device.
        dev: Device,
        /// Description of the queue.
        what: String,
    },
    /// The saved state cannot be read.
    #[error(
        "what gentle remembers of {dev} cannot be read: {cause}; read it with the rights of whoever applied it, or delete the file: what was there before is lost then"
    )]
    Unreadable {
        /// Name of the device.
        dev: Device,
        /// Error, with the name of the file.
        cause: io::Error,
    },
    /// The name of the intermediate device is in use.
    #[error(
        "there is a device {0} that is not gentle's; its name is needed for incoming packets, so rename or delete it"
    )]
    Taken(Device),
    /// A command failed; the previous state was restored.
    #[error("{cause}; {after}", after = match back { Ok(()) => "what was there before is there again".to_owned(), Err(why) => format!("what was there before could not be brought back in full: {why}") })]
    Failed {
        /// Failed command with its output.
        cause: RunError,
        /// Whether the previous state was fully restored.
        back: Result<(), String>,
    },
    /// A command of the removal failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Applies `setup` to its device, completely or not at all; does nothing if it is already in place.
///
/// A queue set up by gentle is replaced, one of other origin only if `replace` is set. State left by an interrupted
/// process is restored first. [`Setup::present`] is ignored: the device itself is inspected.
///
/// # Errors
/// The reason why nothing has changed; for a failed command, its output.
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
    // A missing permission is reported below if it matters.
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
                // On failure to delete the journal: it would be found to match the state in force.
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

/// Restores the state before an interrupted process; setups made by others since remain.
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

/// Commands that made `state`, if they are known.
fn made_by<'a>(state: &State, record: Option<&'a Record>) -> Option<&'a [Command]> {
    let record = record.filter(|record| state.settled() == record.applied);
    record.map(|record| record.commands.as_slice())
}

/// Restores an observed state; the error describes the difference.
fn roll_back(netlink: &mut Netlink, before: &Scene, record: Option<&Record>) -> Result<(), String> {
    let outcome = Scene::observe(netlink, &before.dev, before.direction)
        .and_then(|now| now.bring_back(netlink, &before.state, made_by(&before.state, record)));
    match outcome {
        Ok(true) => Ok(()),
        Ok(false) => Err("what is there now differs from it".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Removes the setup made by [`apply`] from a device, in each of `directions` that has one.
///
/// For a device that no longer exists, removes its intermediate device and its saved state.
///
/// # Errors
/// The reason why the setup remains.
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
    // On failure to delete the record: it would describe a setup that no longer exists, which is noticed on comparison
    // with the kernel.
    let _ = state.finish(index, direction, None);
    Ok(Some(Removed {
        direction,
        gone: false,
        restored: target.own.describe_top(),
    }))
}

/// Removes the remains of a device that no longer exists: intermediate device and saved state.
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

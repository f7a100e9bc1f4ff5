//! Execution of plans: completely, or with a return to the previous state.

use crate::command::Command;
use crate::device::Device;
use crate::device_state::{DeviceState, QueueState};
use crate::error::ApplyError;
use crate::netlink::{Netlink, interfaces};
use crate::place::ingress_alias;
use crate::plan::{self, Plan};
use crate::run::run;
use crate::setup::{Backing, Direction, Setup};
use crate::state::{Journal, Record, StateDir};
use crate::system;
use std::io;

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
        /// Error of saving the record, if that failed; without a record, the next `apply` sets up everything again.
        record_error: Option<io::Error>,
    },
}

/// Setup that was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// Direction of the removed setup.
    pub direction: Direction,
    /// Whether the device no longer exists, so that only the intermediate device and the files were removed.
    pub device_gone: bool,
    /// Queue of other origin that was restored; `None` if the default of the device is in place.
    pub restored: Option<String>,
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
    let mut before = DeviceState::observe(&mut netlink, dev, direction)?;
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
        && before.state.normalized() == record.applied
    {
        return Ok(Applied::Unchanged(plan));
    }
    if !system::has_net_admin() {
        return Err(ApplyError::Capability);
    }
    require_module(&mut netlink, setup, backing, index)?;
    refuse_foreign(&before, replace)?;
    for file in &plan.files {
        file.write().map_err(|cause| ApplyError::File {
            path: file.path.clone(),
            cause,
        })?;
    }
    let foreign = before.foreign().cloned();
    let journal = Journal::new(dev, before.state.clone(), record.clone());
    let begun = lock.and_then(|lock| {
        state.begin(index, direction, &journal)?;
        Ok(lock)
    });
    if let (Err(_), Some(foreign)) = (&begun, &foreign) {
        return Err(ApplyError::NoJournal {
            directory: state.path().to_owned(),
            cause: begun.expect_err("as just seen"),
            dev: dev.clone(),
            what: foreign.describe_top().unwrap_or_default(),
        });
    }
    let commands = before.clearing().into_iter().chain(plan.commands.clone());
    for command in commands {
        if let Err(cause) = run(&command) {
            let rollback = roll_back(&mut netlink, &before, record.as_ref());
            if rollback.is_ok() && begun.is_ok() {
                // On failure to delete the journal: it would be found to match the state in force.
                let _ = state.finish(index, direction, record.as_ref());
            }
            return Err(ApplyError::Failed { cause, rollback });
        }
    }
    let after = DeviceState::observe(&mut netlink, dev, direction)?;
    let aside = match record {
        Some(record) => record.before,
        None => foreign,
    };
    let record = Record::new(dev, &plan.commands, after.state.normalized(), aside);
    let recorded = begun.and_then(|_lock| state.finish(index, direction, Some(&record)));
    Ok(Applied::Changed {
        plan,
        recovered,
        record_error: recorded.err(),
    })
}

fn load(state: &StateDir, device: &DeviceState) -> Result<Option<Record>, ApplyError> {
    let unreadable = |cause| ApplyError::Unreadable {
        dev: device.dev.clone(),
        cause,
    };
    state
        .load(device.interface.index, device.direction)
        .map_err(unreadable)
}

fn require_module(
    netlink: &mut Netlink,
    setup: &Setup,
    backing: Backing,
    ifindex: u32,
) -> Result<(), ApplyError> {
    let schemes = std::iter::successors(Some(&setup.scheme), |spec| spec.child());
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

fn refuse_foreign(device: &DeviceState, replace: bool) -> Result<(), ApplyError> {
    if !device.is_own() && device.state.ifb.is_some() {
        return Err(ApplyError::IntermediateNameTaken(device.dev.ingress()));
    }
    let Some(foreign) = device.foreign() else {
        return Ok(());
    };
    let what = foreign.describe_top().unwrap_or_default();
    let remedy: Vec<String> = device.clearing().iter().map(Command::to_string).collect();
    let (dev, remedy) = (device.dev.clone(), remedy.join("; "));
    if !replace {
        return Err(ApplyError::Foreign { dev, what, remedy });
    }
    match foreign.hidden_part() {
        Some(what) => Err(ApplyError::Unrestorable { dev, what, remedy }),
        None => Ok(()),
    }
}

/// Restores the state before an interrupted process; setups made by others since remain.
fn recover(
    netlink: &mut Netlink,
    device: &mut DeviceState,
    state: &StateDir,
) -> Result<bool, ApplyError> {
    let (index, direction) = (device.interface.index, device.direction);
    let unreadable = |dev: &Device, cause| ApplyError::Unreadable {
        dev: dev.clone(),
        cause,
    };
    let journal = state.journal(index, direction);
    let Some(journal) = journal.map_err(|cause| unreadable(&device.dev, cause))? else {
        return Ok(false);
    };
    if journal.state.ifb.is_none() {
        device.adopt_ifb();
    }
    let incomplete = device.is_own() || device.is_part_of(&journal.state);
    if incomplete {
        let made_by = made_by(&journal.state, journal.record.as_ref());
        device.restore(netlink, &journal.state, made_by)?;
        *device = DeviceState::observe(netlink, &device.dev, direction)?;
    }
    let record = journal.record.filter(|_| incomplete);
    state
        .finish(index, direction, record.as_ref())
        .map_err(|cause| unreadable(&device.dev, cause))?;
    Ok(incomplete)
}

/// Commands that made `state`, if they are known.
fn made_by<'a>(state: &QueueState, record: Option<&'a Record>) -> Option<&'a [Command]> {
    let record = record.filter(|record| state.normalized() == record.applied);
    record.map(|record| record.commands.as_slice())
}

/// Restores an observed state; the error describes the difference.
fn roll_back(
    netlink: &mut Netlink,
    before: &DeviceState,
    record: Option<&Record>,
) -> Result<(), String> {
    let outcome = DeviceState::observe(netlink, &before.dev, before.direction)
        .and_then(|now| now.restore(netlink, &before.state, made_by(&before.state, record)));
    match outcome {
        Ok(true) => Ok(()),
        Ok(false) => Err("the present state differs from it".to_owned()),
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
        match DeviceState::observe(&mut netlink, dev, direction) {
            Ok(device) => removed.extend(remove_direction(&mut netlink, device, state)?),
            Err(ApplyError::NoDevice(_)) => {
                missing = true;
                removed.extend(remove_remains(&mut netlink, dev, direction, state)?);
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

fn remove_direction(
    netlink: &mut Netlink,
    mut device: DeviceState,
    state: &StateDir,
) -> Result<Option<Removed>, ApplyError> {
    let (index, direction) = (device.interface.index, device.direction);
    let recovered = system::has_net_admin() && recover(netlink, &mut device, state)?;
    if !device.is_own() {
        return Ok(recovered.then(|| Removed {
            direction,
            device_gone: false,
            restored: device.state.own.describe_top(),
        }));
    }
    if !system::has_net_admin() {
        return Err(ApplyError::Capability);
    }
    let aside = load(state, &device)?.and_then(|record| record.before);
    let target = QueueState {
        own: aside.unwrap_or_default(),
        ifb: None,
    };
    if target.own.top().is_some() {
        let journal = Journal::new(&device.dev, target.clone(), None);
        let begun = state.begin(index, direction, &journal);
        begun.map_err(|cause| ApplyError::NoJournal {
            directory: state.path().to_owned(),
            cause,
            dev: device.dev.clone(),
            what: target.own.describe_top().unwrap_or_default(),
        })?;
    }
    device.clearing().iter().try_for_each(run)?;
    let cleared = DeviceState::observe(netlink, &device.dev, direction)?;
    target.own.restore(netlink, &cleared.state.own)?;
    // On failure to delete the record: it would describe a setup that no longer exists, which is noticed on comparison
    // with the kernel.
    let _ = state.finish(index, direction, None);
    Ok(Some(Removed {
        direction,
        device_gone: false,
        restored: target.own.describe_top(),
    }))
}

/// Removes the remains of a device that no longer exists: intermediate device and saved state.
fn remove_remains(
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
    let forgotten = state.forget_missing(dev, direction, &indices);
    let forgotten = forgotten.map_err(|cause| ApplyError::Unreadable {
        dev: dev.clone(),
        cause,
    })?;
    Ok((left || forgotten).then_some(Removed {
        direction,
        device_gone: true,
        restored: None,
    }))
}

//! Return to a saved state: after an interruption, and after a command that failed.

use crate::command::Command;
use crate::device_state::{DeviceState, QueueState};
use crate::error::ApplyError;
use crate::netlink::{Interface, Netlink, interfaces};
use crate::run::Programs;
use crate::setup::Direction;
use crate::state::{Known, Record, StateDir};
use crate::system;
use std::io::ErrorKind;

/// State of a device, with what is saved about it.
pub(crate) fn observe(
    netlink: &mut Netlink,
    interface: &Interface,
    direction: Direction,
    state: &StateDir,
) -> Result<DeviceState, ApplyError> {
    let known = state.known(interface, direction);
    let known = known.map_err(|cause| match cause.kind() {
        // The directory is root's.
        ErrorKind::PermissionDenied if !system::has_net_admin() => ApplyError::Capability,
        _ => ApplyError::Unreadable { name: interface.name.clone(), cause },
    })?;
    DeviceState::observe(netlink, interface.clone(), direction, known)
}

/// Deletes files in the state directory that serve nothing, if this process has its lock.
pub(crate) fn sweep(netlink: &mut Netlink, programs: &Programs, state: &StateDir) -> Result<(), ApplyError> {
    if programs.keeps_lock() {
        state.sweep(&interfaces(netlink)?);
    }
    Ok(())
}

/// Restores the state before an interrupted process, or the one that could not be restored before; setups made by others since
/// remain. If others have changed a partly restored state, the state stays saved, and the error reports it.
pub(crate) fn recover(
    netlink: &mut Netlink,
    programs: &Programs,
    device: &mut DeviceState,
    state: &StateDir,
) -> Result<bool, ApplyError> {
    let (index, direction) = (device.interface.index, device.direction);
    let Some(journal) = device.known.journal.clone() else {
        return Ok(false);
    };
    device.adopt_ifb(netlink, &journal.dev.name)?;
    let incomplete =
        device.is_own() || device.is_part_of(&journal.state) || device.is_part_with_additions(&journal.state);
    if incomplete {
        let made_by = made_by(device, &journal.state, journal.record.as_ref());
        restore(netlink, programs, device, &journal.state, made_by.as_deref())?;
    }
    if !incomplete && device.is_remainder_of(&journal.state) {
        return Err(not_restored(device, &journal.state, "it has been changed since".to_owned()));
    }
    let record = journal.record.filter(|_| incomplete);
    let finished = state.finish(index, direction, record.as_ref());
    finished.map_err(|cause| ApplyError::Unwritable { dev: device.dev.clone(), cause })?;
    device.known = Known { record, ..Known::default() };
    *device = device.again(netlink)?;
    Ok(incomplete)
}

/// Restores a state that stays saved if that fails.
pub(crate) fn restore(
    netlink: &mut Netlink,
    programs: &Programs,
    device: &DeviceState,
    state: &QueueState,
    made_by: Option<&[Command]>,
) -> Result<(), ApplyError> {
    let why = match device.restore(netlink, programs, state, made_by) {
        Ok(true) => return Ok(()),
        Ok(false) => "the kernel reports something else after its restoration".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(not_restored(device, state, why))
}

fn not_restored(device: &DeviceState, state: &QueueState, why: String) -> ApplyError {
    let what = state.own.describe_top();
    ApplyError::NotRestored {
        dev: device.dev.clone(),
        what: what.unwrap_or_else(|| "the previous state".to_owned()),
        why,
    }
}

/// Commands that made `state`, if they are known.
fn made_by(device: &DeviceState, state: &QueueState, record: Option<&Record>) -> Option<Vec<Command>> {
    let record = record.filter(|record| state.comparable() == record.applied);
    record.map(|record| record.commands_for(&device.dev))
}

/// Restores an observed state; the error describes the difference.
pub(crate) fn roll_back(
    netlink: &mut Netlink,
    programs: &Programs,
    before: &DeviceState,
    record: Option<&Record>,
) -> Result<(), String> {
    let outcome = before.again(netlink).and_then(|mut now| {
        now.adopt_ifb(netlink, before.dev.name())?;
        let made_by = made_by(&now, &before.state, record);
        now.restore(netlink, programs, &before.state, made_by.as_deref())
    });
    match outcome {
        Ok(true) => Ok(()),
        Ok(false) => Err("the present state differs from it".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

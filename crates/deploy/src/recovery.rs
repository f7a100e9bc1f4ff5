//! Return to a saved state: after an interruption, and after a command that failed.

use crate::command::Command;
use crate::device_state::{DeviceState, QueueState};
use crate::error::ApplyError;
use crate::netlink::Netlink;
use crate::run::Programs;
use crate::state::{Record, StateDir};
use std::io;

pub(crate) fn load(state: &StateDir, device: &DeviceState) -> Result<Option<Record>, ApplyError> {
    state
        .load(device.interface.index, device.direction)
        .map_err(|cause| unreadable(device, cause))
}

fn unreadable(device: &DeviceState, cause: io::Error) -> ApplyError {
    ApplyError::Unreadable {
        dev: device.dev.clone(),
        cause,
    }
}

/// Restores the state before an interrupted process, or the one that could not be restored before; setups made by others since
/// remain. If others have changed what was restored in part, the state stays saved, and the error says so.
pub(crate) fn recover(
    netlink: &mut Netlink,
    programs: &Programs,
    device: &mut DeviceState,
    state: &StateDir,
) -> Result<bool, ApplyError> {
    let (index, direction) = (device.interface.index, device.direction);
    let journal = state.journal(index, direction);
    let Some(journal) = journal.map_err(|cause| unreadable(device, cause))? else {
        return Ok(false);
    };
    device.adopt_ifb(netlink, &journal.dev)?;
    let incomplete = device.is_own() || device.is_part_of(&journal.state);
    if incomplete {
        let made_by = made_by(device, &journal.state, journal.record.as_ref());
        restore(
            netlink,
            programs,
            device,
            &journal.state,
            made_by.as_deref(),
        )?;
        *device = device.again(netlink)?;
    }
    if !incomplete && device.is_remainder_of(&journal.state) {
        return Err(not_restored(
            device,
            &journal.state,
            "it has been changed since".to_owned(),
        ));
    }
    let record = journal.record.filter(|_| incomplete);
    state
        .finish(index, direction, record.as_ref())
        .map_err(|cause| unreadable(device, cause))?;
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
fn made_by(
    device: &DeviceState,
    state: &QueueState,
    record: Option<&Record>,
) -> Option<Vec<Command>> {
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

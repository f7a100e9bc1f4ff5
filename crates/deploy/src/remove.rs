//! Removal of setups.

use crate::device::Device;
use crate::device_state::{DeviceState, QueueState};
use crate::error::ApplyError;
use crate::intermediate::{self, IngressOf};
use crate::netlink::{Interface, Netlink, interfaces};
use crate::recovery::{load, recover, restore};
use crate::rehearsal;
use crate::run::Programs;
use crate::setup::Direction;
use crate::state::{Journal, StateDir};
use crate::system;

/// Setup that was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// Present name of the device, or its last one if it no longer exists.
    pub dev: Device,
    /// Direction of the removed setup.
    pub direction: Direction,
    /// Whether the device no longer exists, so that only the intermediate device and the files were removed.
    pub device_gone: bool,
    /// Queue of other origin that was restored; `None` if the default of the device is in place.
    pub restored: Option<String>,
}

/// Treatment of the queues that a setup replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved {
    /// They are restored.
    Restore,
    /// They are restored, or given up if that fails: the device gets its default queue.
    Discard,
}

/// Removes the setup made by [`apply`](crate::apply()) from a device, in each of `directions` that has one, also if that fails
/// for another. The result has an entry for each of these: its error is the reason why the setup remains, or why the queues
/// from before it could not be restored. They then stay saved, and the next call tries again.
///
/// A device that was renamed since is found by its old name too, unless another device has that now. For a device that
/// no longer exists, removes its intermediate device and its saved state.
///
/// # Errors
/// The device or its state cannot be read, or there is no such device.
pub fn remove(
    dev: &Device,
    directions: &[Direction],
    saved: Saved,
    state: &StateDir,
) -> Result<Vec<Result<Removed, ApplyError>>, ApplyError> {
    let mut netlink = Netlink::open()?;
    let programs = Programs::under(&state.lock());
    if system::has_net_admin() {
        rehearsal::clean(&mut netlink, &programs)?;
    }
    let mut removed = Vec::new();
    let existing = interfaces(&mut netlink)?;
    let known = meant(&existing, dev, directions, state)?.cloned();
    for &direction in directions {
        let remains = (known.is_none() || system::has_net_admin())
            && remove_remains(&mut netlink, &programs, &existing, dev, direction, state)?;
        let own = match &known {
            Some(interface) => {
                let device = DeviceState::observe(&mut netlink, interface.clone(), direction)?;
                match remove_direction(&mut netlink, &programs, device, state) {
                    Err(_) if saved == Saved::Discard && system::has_net_admin() => {
                        let device =
                            DeviceState::observe(&mut netlink, interface.clone(), direction)?;
                        discard(&programs, device, state)
                    }
                    result => result,
                }
            }
            None => Ok(None),
        };
        let remains = || {
            remains.then(|| Removed {
                dev: dev.clone(),
                direction,
                device_gone: known.is_none(),
                restored: None,
            })
        };
        removed.extend(own.map(|own| own.or_else(remains)).transpose());
    }
    match known.is_none() && removed.is_empty() {
        true => Err(ApplyError::NoDevice(dev.clone())),
        false => Ok(removed),
    }
}

/// Device with this name, or else the one that had it when a setup was applied.
fn meant<'a>(
    existing: &'a [Interface],
    dev: &Device,
    directions: &[Direction],
    state: &StateDir,
) -> Result<Option<&'a Interface>, ApplyError> {
    let named = |interface: &&Interface| interface.name == dev.name();
    if let Some(found) = existing.iter().find(named) {
        return Ok(Some(found));
    }
    let mut indices = Vec::new();
    for &direction in directions {
        let found = state.indices(dev, direction);
        indices.extend(found.map_err(|cause| unreadable(dev, cause))?);
    }
    let served = existing.iter().filter_map(IngressOf::served_by);
    let served = served.filter(|served| served.name == dev.name());
    indices.extend(served.filter_map(|served| served.index));
    let mut renamed = existing.iter();
    Ok(renamed.find(|interface| indices.contains(&interface.index)))
}

fn unreadable(dev: &Device, cause: std::io::Error) -> ApplyError {
    ApplyError::Unreadable {
        dev: dev.clone(),
        cause,
    }
}

fn remove_direction(
    netlink: &mut Netlink,
    programs: &Programs,
    mut device: DeviceState,
    state: &StateDir,
) -> Result<Option<Removed>, ApplyError> {
    let recovered = system::has_net_admin() && recover(netlink, programs, &mut device, state)?;
    let removed = |device: &DeviceState, restored| Removed {
        dev: device.dev.clone(),
        direction: device.direction,
        device_gone: false,
        restored,
    };
    if !device.is_own() {
        let restored = device.state.own.describe_top();
        return Ok(recovered.then(|| removed(&device, restored)));
    }
    if !system::has_net_admin() {
        return Err(ApplyError::Capability);
    }
    let aside = load(state, &device)?.and_then(|record| record.before);
    let target = QueueState {
        own: aside.unwrap_or_default(),
        ifb: None,
    };
    let (index, direction) = (device.interface.index, device.direction);
    if target.own.top().is_some() {
        let journal = Journal::new(&device.dev, target.clone(), None);
        let begun = state.begin(index, direction, &journal);
        begun.map_err(|cause| ApplyError::NoJournal {
            directory: state.path().to_owned(),
            cause,
            dev: device.dev.clone(),
            what: target.own.describe_top().unwrap_or_default(),
        })?;
        restore(netlink, programs, &device, &target, None)?;
    } else {
        programs.run_all(&device.clearing())?;
    }
    // On failure to delete the record: it would describe a setup that no longer exists, which is noticed on comparison
    // with the kernel.
    let _ = state.finish(index, direction, None);
    Ok(Some(removed(&device, target.own.describe_top())))
}

/// Removes a setup, or what a failed restoration has left, without the queues from before it.
fn discard(
    programs: &Programs,
    device: DeviceState,
    state: &StateDir,
) -> Result<Option<Removed>, ApplyError> {
    let (index, direction) = (device.interface.index, device.direction);
    let partly = match state.journal(index, direction) {
        Ok(Some(journal)) => device.is_part_of(&journal.state),
        Ok(None) | Err(_) => false,
    };
    let changed = device.is_own() || partly;
    if changed && !system::has_net_admin() {
        return Err(ApplyError::Capability);
    }
    if changed {
        programs.run_all(&device.clearing())?;
    }
    let discarded = state.discard(index, direction);
    let discarded = discarded.map_err(|cause| unreadable(&device.dev, cause))?;
    Ok((changed || discarded).then_some(Removed {
        dev: device.dev,
        direction,
        device_gone: false,
        restored: None,
    }))
}

/// Removes the remains of a device that had this name and no longer exists: intermediate device and saved state. Returns
/// whether there were any.
fn remove_remains(
    netlink: &mut Netlink,
    programs: &Programs,
    existing: &[Interface],
    dev: &Device,
    direction: Direction,
    state: &StateDir,
) -> Result<bool, ApplyError> {
    let deleted = direction == Direction::Ingress
        && intermediate::delete_orphans(netlink, programs, existing, dev)?;
    let indices: Vec<u32> = existing.iter().map(|interface| interface.index).collect();
    let forgotten = state.forget_missing(dev, direction, &indices);
    let forgotten = forgotten.map_err(|cause| unreadable(dev, cause))?;
    Ok(deleted || forgotten)
}

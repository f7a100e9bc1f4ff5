//! Removal of setups.

use crate::device::Device;
use crate::device_state::{DeviceState, QueueState};
use crate::error::ApplyError;
use crate::intermediate::{self, IngressOf};
use crate::netlink::{Interface, Netlink, interfaces};
use crate::recovery::{observe, recover, restore, sweep};
use crate::rehearsal;
use crate::run::Programs;
use crate::setup::Direction;
use crate::snapshot;
use crate::state::{Journal, Known, StateDir};
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
    let removed = under_lock(dev, directions, saved, state, &mut netlink, &programs);
    sweep(&mut netlink, &programs, state)?;
    removed
}

fn under_lock(
    dev: &Device,
    directions: &[Direction],
    saved: Saved,
    state: &StateDir,
    netlink: &mut Netlink,
    programs: &Programs,
) -> Result<Vec<Result<Removed, ApplyError>>, ApplyError> {
    if system::has_net_admin() {
        rehearsal::clean(netlink, programs)?;
    }
    let mut removed = Vec::new();
    let existing = interfaces(netlink)?;
    let known = meant(netlink, &existing, dev, directions, state)?;
    for &direction in directions {
        let remains = (known.is_none() || system::has_net_admin())
            && remove_remains(netlink, programs, &existing, dev, direction, state)?;
        let own = match known {
            Some(interface) => match remove_direction(netlink, programs, interface, direction, state) {
                Err(_) if saved == Saved::Discard && system::has_net_admin() => {
                    discard(netlink, programs, interface, direction, state)
                }
                result => result,
            },
            None => Ok(None),
        };
        let remains =
            || remains.then(|| Removed { dev: dev.clone(), direction, device_gone: known.is_none(), restored: None });
        removed.extend(own.map(|own| own.or_else(remains)).transpose());
    }
    match known.is_none() && removed.is_empty() {
        true => Err(ApplyError::NoDevice(dev.clone())),
        false => Ok(removed),
    }
}

/// Device with this name, or else the one that had it when a setup was applied.
fn meant<'a>(
    netlink: &mut Netlink,
    existing: &'a [Interface],
    dev: &Device,
    directions: &[Direction],
    state: &StateDir,
) -> Result<Option<&'a Interface>, ApplyError> {
    let named = |interface: &&Interface| interface.name == dev.name();
    if let Some(found) = existing.iter().find(named) {
        return Ok(Some(found));
    }
    for &direction in directions {
        let found = state.formerly(dev, direction, existing);
        if let Some(found) = found.map_err(|cause| unreadable(dev, cause))? {
            return Ok(Some(found));
        }
    }
    for ifb in existing {
        let served = IngressOf::served_by(ifb).filter(|served| served.name == dev.name());
        let Some(index) = served.and_then(|served| served.index) else {
            continue;
        };
        if snapshot::redirects(netlink, ifb.index)?.contains_key(&index) {
            return Ok(existing.iter().find(|device| device.index == index));
        }
    }
    Ok(None)
}

fn unreadable(dev: &Device, cause: std::io::Error) -> ApplyError {
    ApplyError::Unreadable { name: dev.name().to_owned(), cause }
}

fn unwritable(dev: &Device, cause: std::io::Error) -> ApplyError {
    ApplyError::Unwritable { dev: dev.clone(), cause }
}

fn remove_direction(
    netlink: &mut Netlink,
    programs: &Programs,
    interface: &Interface,
    direction: Direction,
    state: &StateDir,
) -> Result<Option<Removed>, ApplyError> {
    let mut device = observe(netlink, interface, direction, state)?;
    let recovered = system::has_net_admin() && recover(netlink, programs, &mut device, state)?;
    let removed = |device: &DeviceState, restored| Removed {
        dev: device.dev.clone(),
        direction: device.direction,
        device_gone: false,
        restored,
    };
    if !device.is_own() && !device.lost_its_setup() {
        let restored = device.state.own.describe_top();
        if !recovered && device.is_unrecorded() {
            return Err(unrecorded(device));
        }
        return Ok(recovered.then(|| removed(&device, restored)));
    }
    if !system::has_net_admin() {
        return Err(ApplyError::Capability);
    }
    device.require_sole_use()?;
    let aside = device.known.record.clone();
    let aside = aside.and_then(|record| record.before);
    let target = QueueState { own: aside.unwrap_or_default(), ifb: None };
    let index = interface.index;
    if target.own.top().is_some() {
        let journal = Journal::new(state, &device.interface, &[], target.clone(), None);
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

/// Removes a setup, or what a failed restoration has left, without the queues from before it. Without a saved state that can
/// be read, a qdisc with one of gentle's handles counts as gentle's, since the user requests its removal.
fn discard(
    netlink: &mut Netlink,
    programs: &Programs,
    interface: &Interface,
    direction: Direction,
    state: &StateDir,
) -> Result<Option<Removed>, ApplyError> {
    let known = state.known(interface, direction).unwrap_or(Known { damaged: true, ..Known::default() });
    let device = DeviceState::observe(netlink, interface.clone(), direction, known)?;
    if device.is_unrecorded() {
        return Err(unrecorded(device));
    }
    let journal = device.known.journal.as_ref();
    let partly = journal.is_some_and(|journal| device.is_part_of(&journal.state));
    let changed = device.is_own() || partly;
    if changed && !system::has_net_admin() {
        return Err(ApplyError::Capability);
    }
    if changed {
        device.require_sole_use()?;
        programs.run_all(&device.clearing())?;
    }
    let discarded = state.discard(interface.index, direction);
    let discarded = discarded.map_err(|cause| unwritable(&device.dev, cause))?;
    Ok((changed || discarded).then_some(Removed { dev: device.dev, direction, device_gone: false, restored: None }))
}

fn unrecorded(device: DeviceState) -> ApplyError {
    ApplyError::Unrecorded {
        what: device.state.own.describe_top().unwrap_or_default(),
        remedy: device.clearing_as_text(),
        dev: device.dev,
    }
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
    let deleted =
        direction == Direction::Ingress && intermediate::delete_orphans(netlink, programs, existing, dev, state)?;
    let forgotten = state.forget_missing(dev, direction, existing);
    let forgotten = forgotten.map_err(|cause| unwritable(dev, cause))?;
    Ok(deleted || forgotten)
}

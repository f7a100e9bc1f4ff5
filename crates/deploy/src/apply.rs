//! Execution of plans: completely, or with a return to the previous state.

use crate::device_state::DeviceState;
use crate::error::ApplyError;
use crate::intermediate;
use crate::netlink::{Netlink, interface, interfaces};
use crate::plan::{self, Plan};
use crate::recovery::{observe, recover, roll_back, sweep};
use crate::rehearsal;
use crate::run::Programs;
use crate::setup::{Backing, Setup};
use crate::state::{Journal, Record, StateDir};
use crate::system;
use std::fs::File;
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

/// Applies `setup` to its device (all or nothing); does nothing if it is already in place.
///
/// A queue set up by gentle is replaced, one of other origin only if `replace` is set and a rehearsal shows that it can
/// be restored exactly. State left by an interrupted process is restored first. [`Setup::present`] is ignored: the device
/// itself is inspected.
///
/// # Errors
/// The reason why nothing has changed; for a failed command, its output.
pub fn apply(setup: &Setup, backing: Backing, replace: bool, state: &StateDir) -> Result<Applied, ApplyError> {
    let mut netlink = Netlink::open()?;
    // One process at a time reads and changes devices. A missing permission is reported below if it matters.
    let lock = state.lock();
    let programs = Programs::under(&lock);
    let applied = under_lock(setup, backing, replace, state, &mut netlink, &programs, lock);
    sweep(&mut netlink, &programs, state)?;
    applied
}

fn under_lock(
    setup: &Setup,
    backing: Backing,
    replace: bool,
    state: &StateDir,
    netlink: &mut Netlink,
    programs: &Programs,
    lock: io::Result<File>,
) -> Result<Applied, ApplyError> {
    let (dev, direction) = (&setup.dev, setup.direction);
    if system::has_net_admin() {
        rehearsal::clean(netlink, programs)?;
        let existing = interfaces(netlink)?;
        intermediate::delete_orphans(netlink, programs, &existing, dev, state)?;
    }
    let found = interface(netlink, dev)?.ok_or_else(|| ApplyError::NoDevice(dev.clone()))?;
    let mut before = observe(netlink, &found, direction, state)?;
    let index = before.interface.index;
    let recovered = system::has_net_admin() && recover(netlink, programs, &mut before, state)?;
    let record = match before.is_own() || before.lost_its_setup() {
        true => before.known.record.clone(),
        false => None,
    };
    let present = before.present();
    let plan = plan::plan_for(&Setup { present, ..setup.clone() }, backing, Some(index))?;
    if let Some(record) = &record
        && plan.commands == record.commands
        && before.state.comparable() == record.applied
        && before.is_up()
    {
        return Ok(Applied::Unchanged(plan));
    }
    if !system::has_net_admin() {
        return Err(ApplyError::Capability);
    }
    require_module(netlink, setup, backing, index)?;
    require_name(netlink, &before)?;
    before.require_sole_use()?;
    let unsaved = |cause| ApplyError::NoJournal {
        directory: state.path().to_owned(),
        cause,
        dev: dev.clone(),
        what: before.foreign().and_then(|foreign| foreign.describe_top()).unwrap_or_default(),
    };
    let lock = match (lock, before.foreign()) {
        (Err(cause), Some(_)) if replace => return Err(unsaved(cause)),
        (lock, _) => lock,
    };
    refuse_foreign(netlink, programs, &before, replace)?;
    let device = &before.interface;
    let journal = Journal::new(state, device, &plan.commands, before.state.clone(), record.clone());
    let begun = lock.and_then(|lock| {
        state.begin(index, direction, &journal)?;
        Ok(lock)
    });
    let begun = match (begun, before.foreign()) {
        (Err(cause), Some(_)) => return Err(unsaved(cause)),
        (begun, _) => begun,
    };
    let commands = before.clearing().into_iter().chain(plan.commands.clone());
    for command in commands {
        if let Err(cause) = programs.run(&command) {
            let rollback = roll_back(netlink, programs, &before, record.as_ref());
            if rollback.is_ok() && begun.is_ok() {
                // On failure to delete the journal: it would be found to match the state in force.
                let _ = state.finish(index, direction, record.as_ref());
            }
            return Err(ApplyError::Failed { cause, rollback });
        }
    }
    let after = before.again(netlink)?;
    let aside = match record {
        Some(record) => record.before,
        None => before.foreign().cloned(),
    };
    let applied = after.state.comparable();
    let record = Record::new(state, device, &plan.commands, applied, aside);
    let recorded = begun.and_then(|_lock| state.finish(index, direction, Some(&record)));
    Ok(Applied::Changed { plan, recovered, record_error: recorded.err() })
}

fn require_module(netlink: &mut Netlink, setup: &Setup, backing: Backing, ifindex: u32) -> Result<(), ApplyError> {
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

/// Refuses a setup whose intermediate device would have the name of another device.
fn require_name(netlink: &mut Netlink, device: &DeviceState) -> Result<(), ApplyError> {
    let Some(namesake) = &device.namesake else {
        return Ok(());
    };
    let by = intermediate::owner(&interfaces(netlink)?, namesake);
    Err(ApplyError::IntermediateNameTaken {
        name: device.dev.ingress(),
        // One of a deleted device that had the name is used by others.
        by: by.filter(|by| by != device.dev.name()),
    })
}

fn refuse_foreign(
    netlink: &mut Netlink,
    programs: &Programs,
    device: &DeviceState,
    replace: bool,
) -> Result<(), ApplyError> {
    let Some(foreign) = device.foreign() else {
        return Ok(());
    };
    let what = foreign.describe_top().unwrap_or_default();
    let (dev, remedy) = (device.dev.clone(), device.clearing_as_text());
    if !replace {
        return Err(ApplyError::Foreign { dev, what, remedy });
    }
    let why = match foreign.lacking() {
        Some(why) => Some(why.to_owned()),
        None => {
            let side = device.direction.side();
            rehearsal::rehearse(netlink, programs, foreign, &device.interface, side)?
        }
    };
    match why {
        Some(why) => Err(ApplyError::Unrestorable { dev, what, why, remedy }),
        None => Ok(()),
    }
}

//! Identity of intermediate devices: the alias by which gentle finds the one of a device again.

use crate::command::Command;
use crate::device::Device;
use crate::error::ApplyError;
use crate::netlink::{Interface, Netlink, NetlinkError};
use crate::run::Programs;
use crate::setup::Direction;
use crate::snapshot::{self, Snapshot};
use crate::state::StateDir;
use crate::system;
use std::fmt;

/// Kind of intermediate devices.
pub(crate) const IFB: &str = "ifb";

/// Device whose incoming packets an intermediate device queues. Its text is the alias of the intermediate device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IngressOf {
    /// Interface index, which a rename of the device does not change. `None` in plans, which may be for another machine
    /// or its next boot.
    pub(crate) index: Option<u32>,
    /// Name of the device when the setup was applied.
    pub(crate) name: String,
}

const PREFIX: &str = "gentle qdisc: ingress of ";

impl fmt::Display for IngressOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            Some(index) => write!(f, "{PREFIX}interface {index} ({})", self.name),
            None => write!(f, "{PREFIX}{}", self.name),
        }
    }
}

impl IngressOf {
    pub(crate) fn new(dev: &Device, index: Option<u32>) -> IngressOf {
        IngressOf { index, name: dev.name().to_owned() }
    }

    /// Reads the alias of a device; `None` if it is not gentle's.
    pub(crate) fn parse(alias: &str) -> Option<IngressOf> {
        let rest = alias.strip_prefix(PREFIX)?;
        // A name has no blanks.
        let indexed = rest.strip_prefix("interface ").and_then(|rest| rest.strip_suffix(')')?.split_once(" ("));
        match indexed {
            Some((index, name)) => Some(IngressOf { index: Some(index.parse().ok()?), name: name.to_owned() }),
            None => Some(IngressOf { index: None, name: rest.to_owned() }),
        }
    }

    /// Device that `interface` serves as intermediate device; `None` if it is not gentle's.
    pub(crate) fn served_by(interface: &Interface) -> Option<IngressOf> {
        IngressOf::parse(interface.alias.as_deref()?)
    }
}

/// Intermediate device among `existing` of the device with this index, whose incoming packets pass `own`.
///
/// Names do not count, because both devices can be renamed. Without a redirect to it, the intermediate device counts if
/// the saved state shows that it was made for the device under the name `known`: the index in its alias may belong to a
/// deleted device. An alias without an index comes from commands that were run manually.
pub(crate) fn of<'a>(
    existing: &'a [Interface],
    index: u32,
    own: &Snapshot,
    known: Option<&str>,
) -> Option<&'a Interface> {
    let serving = || {
        existing.iter().filter_map(|interface| {
            let served = IngressOf::served_by(interface)?;
            let mine = served.index.is_none_or(|served| served == index);
            mine.then_some((interface, served))
        })
    };
    let in_use = serving().find(|(interface, _)| own.redirects_to(interface.index));
    let prepared = || serving().find(|(_, served)| served.index.is_some() && Some(served.name.as_str()) == known);
    in_use.or_else(prepared).map(|(interface, _)| interface)
}

/// Present name of the device that `interface` serves as intermediate device, or its old one if it no longer exists; `None`
/// if it is not gentle's.
pub(crate) fn owner(existing: &[Interface], interface: &Interface) -> Option<String> {
    let served = IngressOf::served_by(interface)?;
    let mut existing = existing.iter();
    let owner = existing.find(|device| Some(device.index) == served.index);
    Some(owner.map_or(served.name, |device| device.name.clone()))
}

/// Intermediate devices among `existing` of a device that had this name and no longer exists, though another may have the
/// name or the index now: a dial-up device gets a new index with each connection.
fn orphans(
    netlink: &mut Netlink,
    existing: &[Interface],
    dev: &Device,
    state: &StateDir,
) -> Result<Vec<Interface>, NetlinkError> {
    let mut orphans = Vec::new();
    for interface in existing {
        let served = IngressOf::served_by(interface).filter(|served| served.name == dev.name());
        let Some(served) = served else {
            continue;
        };
        // A saved state that cannot be read may be the one of the device.
        let prepared = existing.iter().any(|device| {
            Some(device.index) == served.index
                && state.known(device, Direction::Ingress).map_or(true, |known| known.name() == Some(dev.name()))
        });
        if !prepared && snapshot::redirects(netlink, interface.index)?.is_empty() {
            orphans.push(interface.clone());
        }
    }
    Ok(orphans)
}

/// Deletes the intermediate devices of a device that had this name and no longer exists; returns whether there were any.
pub(crate) fn delete_orphans(
    netlink: &mut Netlink,
    programs: &Programs,
    existing: &[Interface],
    dev: &Device,
    state: &StateDir,
) -> Result<bool, ApplyError> {
    let orphans = orphans(netlink, existing, dev, state)?;
    if !orphans.is_empty() && !system::has_net_admin() {
        return Err(ApplyError::Capability);
    }
    for ifb in &orphans {
        programs.run(&Command::ip("link del dev").arg(&ifb.name))?;
    }
    Ok(!orphans.is_empty())
}

#[cfg(test)]
mod tests {
    use super::IngressOf;

    #[test]
    fn an_alias_is_read_back() {
        for index in [None, Some(7)] {
            let served = IngressOf { index, name: "eth0.5".to_owned() };
            assert_eq!(IngressOf::parse(&served.to_string()), Some(served));
        }
        for alias in ["", "uplink", "gentle qdisc: ingress of interface x (eth0)"] {
            assert_eq!(IngressOf::parse(alias), None, "{alias}");
        }
    }
}

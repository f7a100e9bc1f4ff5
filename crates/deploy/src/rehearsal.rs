//! Rehearsal of a restoration on a scratch device, before anything is replaced.
//!
//! The kernel does not always accept its own dumps, and dumps differ between versions. So the objects are created a
//! second time from their dump, on a device of the same network namespace, to whose interface indices filters refer,
//! and must give the same dump.

use crate::command::Command;
use crate::error::ApplyError;
use crate::intermediate::IFB;
use crate::netlink::{Interface, Netlink, interfaces};
use crate::run::Programs;
use crate::snapshot::{Side, Snapshot};

/// Name of the scratch device. It exists for milliseconds, and is never up.
const SCRATCH: &str = "gentle-scratch";

/// Address by which a scratch device differs from a device of others with its name: locally administered, then "gentl".
const ADDRESS: [u8; 6] = [0x02, b'g', b'e', b'n', b't', b'l'];

/// Kinds that a scratch device may have: which of them a kernel has is its configuration. The module of `veth`, a pair of
/// devices, creates none when it is loaded, unlike the others; its largest MTU is below the loopback device's.
const KINDS: [&str; 3] = ["veth peer name gentle-scratch1", IFB, "dummy"];

/// Whether `snapshot`, taken on `interface`, can be restored: `None`, or the reason why not. Nothing changes on
/// `interface`.
pub(crate) fn rehearse(
    netlink: &mut Netlink,
    programs: &Programs,
    snapshot: &Snapshot,
    interface: &Interface,
    side: Side,
) -> Result<Option<String>, ApplyError> {
    for (attempt, kind) in KINDS.into_iter().enumerate() {
        match programs.run(&creation(kind, interface)) {
            Ok(()) => break,
            Err(error) if attempt + 1 == KINDS.len() => {
                return Ok(Some(format!("there is no device on which to rehearse its restoration: {error}")));
            }
            Err(_) => {}
        }
    }
    let existing = interfaces(netlink)?;
    let scratch = existing.iter().find(|found| found.name == SCRATCH);
    let outcome = match scratch {
        Some(scratch) => snapshot.rehearse_on(netlink, scratch.index, side),
        None => Ok(Some("the device for the rehearsal was deleted".to_owned())),
    };
    clean(netlink, programs)?;
    Ok(outcome?)
}

/// A device with the properties that qdiscs read (`psched_mtu`, `tx_queue_len`, `num_tx_queues`).
fn creation(kind: &str, like: &Interface) -> Command {
    let address = ADDRESS.map(|byte| format!("{byte:02x}")).join(":");
    Command::ip(&format!(
        "link add name {SCRATCH} address {address} mtu {} txqueuelen {} numtxqueues {} type {kind}",
        like.link.mtu, like.txqueuelen, like.transmit_queues
    ))
}

/// Deletes the scratch device, also one that an interrupted process has left.
pub(crate) fn clean(netlink: &mut Netlink, programs: &Programs) -> Result<(), ApplyError> {
    let existing = interfaces(netlink)?;
    let left = existing.iter().any(|found| found.name == SCRATCH && found.address == ADDRESS && !found.up);
    if left {
        programs.run(&Command::ip(&format!("link del dev {SCRATCH}")))?;
    }
    Ok(())
}

//! Errors of planning, applying and removing setups.

use crate::device::{Device, DeviceError};
use crate::netlink::NetlinkError;
use crate::run::RunError;
use gentle_aqm::SpecError;
use gentle_units::Rate;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Error of planning.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlanError {
    /// Linux implements the scheme without this option.
    #[error("{scheme}: Linux has no option '{option}'; {instead}")]
    NotInLinux {
        /// Name of the scheme.
        scheme: &'static str,
        /// Name of the option.
        option: &'static str,
        /// Suggested remedy.
        instead: &'static str,
    },
    /// `tc` hands another value to the kernel.
    #[error("{scheme}: tc cannot set {option} to {value}: {instead}")]
    Altered {
        /// Name of the scheme.
        scheme: &'static str,
        /// Name of the option.
        option: &'static str,
        /// Value of the option.
        value: &'static str,
        /// Reason and suggested remedy.
        instead: &'static str,
    },
    /// The time is not representable in tc, which would round it.
    #[error("{scheme}: {name} is not a whole number of microseconds, the resolution of tc; round it")]
    Microseconds {
        /// Name of the scheme.
        scheme: &'static str,
        /// Name of the option.
        name: &'static str,
    },
    /// The scheme needs a kernel module.
    #[error(
        "{scheme} cannot be made from stock parts; build and load the module sch_{scheme} (see kernel/README.md in \
         gentle's source), and use --backing native or auto"
    )]
    NeedsModule {
        /// Name of the scheme.
        scheme: &'static str,
    },
    /// No kernel has the scheme.
    #[error(
        "{scheme} is in no kernel: neither Linux nor gentle's modules implement it; it can only be simulated (gentle compare)"
    )]
    NotOnLinux {
        /// Name of the scheme.
        scheme: &'static str,
    },
    /// The child of a priority scheme made from stock parts exists only as a module of gentle.
    #[error("child={child} is not part of Linux; load gentle's kernel modules, or choose another child")]
    NativeChild {
        /// Name of the child scheme.
        child: &'static str,
    },
    /// Cake is requested as the shaper of another scheme.
    #[error(
        "cake manages its queue itself and accepts no other scheme beneath its shaper; shape with htb or tbf, or \
         choose cake as the scheme"
    )]
    CakeTakesNoChild,
    /// The scheme's own shaper gets an option twice.
    #[error("{scheme}: option '{option}' is given with the scheme and with --rate; leave one of them out")]
    ShapedTwice {
        /// Name of the scheme.
        scheme: &'static str,
        /// Name of the option.
        option: &'static str,
    },
    /// A scheme made from another one, or its own shaper, does not accept a value.
    #[error(transparent)]
    Value(#[from] SpecError),
    /// The rate is too low for `tc` or for the burst.
    #[error(
        "{rate} is too slow to shape to: tc counts in bytes per second, and the kernel stores at most 274 s of a burst; expected {least} or more"
    )]
    TooSlow {
        /// Requested rate.
        rate: Rate,
        /// Lowest possible rate.
        least: Rate,
    },
    /// The rate is too high for the sizes of a shaper.
    #[error("{rate} is too fast to shape to: tc passes sizes of bursts and queues in 32 bits; expected {most} or less")]
    TooFast {
        /// Requested rate.
        rate: Rate,
        /// Highest possible rate.
        most: Rate,
    },
    /// The limit of the scheme is the length of the device's transmit queue, which no plan changes.
    #[error(
        "{scheme} takes its limit from the device when it is created; run ip link set dev {dev} txqueuelen {packets} before, and leave limit out"
    )]
    TransmitQueue {
        /// Name of the scheme.
        scheme: &'static str,
        /// Device of the queue.
        dev: Device,
        /// Requested length, packets.
        packets: u64,
    },
    /// The handle is out of range.
    #[error("handle {0:x}: is out of range; expected 1: to 7ffd:, since Linux assigns numbers from 8000: on")]
    Handle(u16),
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
    #[error("there is no network device '{0}'; ip link lists the existing ones")]
    NoDevice(Device),
    /// The device has a name that no program of iproute2 would read as one.
    #[error(transparent)]
    Name(#[from] DeviceError),
    /// The process lacks CAP_NET_ADMIN.
    #[error(
        "changing queues needs the capability CAP_NET_ADMIN, which this process lacks; run it as root, or grant the capability (systemd: AmbientCapabilities=CAP_NET_ADMIN)"
    )]
    Capability,
    /// The device has a queue that was not set up by gentle.
    #[error(
        "{dev} has a queue that gentle did not set up or has no record of: {what}; use --replace to save it until \
         gentle qdisc remove restores it, or delete it with: {remedy}"
    )]
    Foreign {
        /// Name of the device.
        dev: Device,
        /// Description of the queue.
        what: String,
        /// Command that removes the queue.
        remedy: String,
    },
    /// The device has a queue that may be gentle's, of which nothing is saved.
    #[error("{dev} has {what}, but gentle has no record of this setup, so it stays; to delete it, run: {remedy}")]
    Unrecorded {
        /// Name of the device.
        dev: Device,
        /// Description of the queue.
        what: String,
        /// Command that removes the queue.
        remedy: String,
    },
    /// The device has a queue of other origin that could not be restored exactly.
    #[error(
        "{dev} has {what}, which could not be restored exactly: {why}; nothing was changed; to discard it, delete it \
         with: {remedy}"
    )]
    Unrestorable {
        /// Name of the device.
        dev: Device,
        /// Description of the queue.
        what: String,
        /// Part that could not be restored, and the reason.
        why: String,
        /// Command that removes the queue.
        remedy: String,
    },
    /// The queue from before a setup could not be restored.
    #[error(
        "{what} of {dev} could not be restored: {why}; it stays saved, and the next gentle qdisc remove {dev} tries \
         again; to discard it for the device's default queue, run gentle qdisc remove {dev} --discard"
    )]
    NotRestored {
        /// Name of the device.
        dev: Device,
        /// Description of the queue.
        what: String,
        /// Reason.
        why: String,
    },
    /// A requested kernel module is missing.
    #[error("{scheme} cannot use gentle's module: {why}; --backing stock or auto does not need it")]
    NoModule {
        /// Name of the scheme.
        scheme: &'static str,
        /// Description of the missing part.
        why: String,
    },
    /// The present queue could not be saved before its replacement.
    #[error("{directory}: {cause}; {dev} has {what}, which must be saved there before it is replaced")]
    NoJournal {
        /// Directory of the journal.
        directory: PathBuf,
        /// Error of writing the journal.
        cause: io::Error,
        /// Name of the device.
        dev: Device,
        /// Description of the queue.
        what: String,
    },
    /// The saved state cannot be read.
    #[error(
        "the saved state of {name} cannot be read: {cause}; run this as the user who applied the setup, or discard the \
         previous queue: gentle qdisc remove {name} --discard"
    )]
    Unreadable {
        /// Name of the device.
        name: String,
        /// Error, with the name of the file.
        cause: io::Error,
    },
    /// The saved state cannot be changed.
    #[error(
        "the saved state of {dev} cannot be changed: {cause}; run this as the user who applied the setup, and where the directory is writable"
    )]
    Unwritable {
        /// Name of the device.
        dev: Device,
        /// Error of changing it.
        cause: io::Error,
    },
    /// A qdisc for incoming packets that others have set up excludes the saved one.
    #[error("{kind}, which was set up by others since, conflicts with it; delete it first: {remedy}")]
    InTheWay {
        /// Kind of the qdisc.
        kind: String,
        /// Command that removes it.
        remedy: String,
    },
    /// Others redirect packets to the intermediate device.
    #[error(
        "{name}, through which the incoming packets of {dev} pass, also receives packets from a filter of others on \
         {by}, and would be deleted; nothing was changed; delete that filter first"
    )]
    IntermediateShared {
        /// Name of the intermediate device.
        name: String,
        /// Name of the device.
        dev: Device,
        /// Name of a device with such a filter.
        by: String,
    },
    /// The name of the intermediate device is in use.
    #[error("incoming packets need an intermediate device named {name}, {}", taken(name, by.as_deref()))]
    IntermediateNameTaken {
        /// Name of the intermediate device.
        name: Device,
        /// Device that the other one serves as intermediate device; `None` if it is not gentle's.
        by: Option<String>,
    },
    /// A command failed, and the previous state was to be restored.
    #[error("{cause}; {after}", after = match rollback { Ok(()) => "the previous state was restored".to_owned(), Err(why) => format!("the previous state could not be fully restored: {why}") })]
    Failed {
        /// Failed command with its output.
        cause: RunError,
        /// Whether the previous state was fully restored; if not, the reason.
        rollback: Result<(), String>,
    },
    /// A command of the removal failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Device that has the name of an intermediate device, and the remedy.
fn taken(name: &Device, by: Option<&str>) -> String {
    let alike = |dev: &str| dev.parse().is_ok_and(|dev: Device| dev.ingress() == *name);
    match by {
        Some(dev) if alike(dev) => format!(
            "which {dev} uses, because long names with the same end are cut to the same name; rename one of the two \
             devices, or remove the setup of {dev}: gentle qdisc remove {dev} --ingress"
        ),
        Some(dev) => format!(
            "which {dev} still uses since it was renamed; apply the setup of {dev} again, which renames the \
             intermediate device, or remove it: gentle qdisc remove {dev} --ingress"
        ),
        None => format!("but there is a device {name} that is not gentle's; rename or delete it"),
    }
}

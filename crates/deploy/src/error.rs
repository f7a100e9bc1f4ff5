//! Errors of planning, applying and removing setups.

use crate::device::Device;
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
    #[error(
        "{scheme}: {name} is not a whole number of microseconds, the resolution of tc; round it"
    )]
    Microseconds {
        /// Name of the scheme.
        scheme: &'static str,
        /// Name of the option.
        name: &'static str,
    },
    /// The scheme needs a kernel module.
    #[error(
        "{scheme} cannot be made from stock parts; build and load the module sch_{scheme} (kernel/README.md in gentle's source says how), and use --backing native or auto"
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
    #[error(
        "child={child} is not part of Linux; load gentle's kernel modules, or choose another child"
    )]
    NativeChild {
        /// Name of the child scheme.
        child: &'static str,
    },
    /// Cake is requested as the shaper of another scheme.
    #[error(
        "cake manages its queue itself and takes no other scheme beneath its shaper; shape with htb or tbf, or choose cake as the scheme"
    )]
    CakeTakesNoChild,
    /// The scheme's own shaper gets an option twice.
    #[error(
        "{scheme}: option '{option}' is given with the scheme and with --rate; leave one of them out"
    )]
    ShapedTwice {
        /// Name of the scheme.
        scheme: &'static str,
        /// Name of the option.
        option: &'static str,
    },
    /// A scheme made from another one, or its own shaper, does not accept a value.
    #[error(transparent)]
    Value(#[from] SpecError),
    /// The rate is below one byte per second.
    #[error("{0} is below the resolution of tc; expected 8bit (one byte per second) or more")]
    TooSlow(Rate),
    /// The limit of the scheme is the length of the device's transmit queue, which no plan changes.
    #[error(
        "{scheme} takes its limit from the device when it is created; run ip link set dev {dev} txqueuelen {packets} before, and leave limit out"
    )]
    TransmitQueue {
        /// Name of the scheme.
        scheme: &'static str,
        /// Device of the queue.
        dev: Device,
        /// Length asked for, packets.
        packets: u64,
    },
    /// The handle is out of range.
    #[error(
        "handle {0:x}: is out of range; expected 1: to 7ff0:, since Linux assigns numbers from 8000: on"
    )]
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
    /// The process lacks CAP_NET_ADMIN.
    #[error(
        "changing queues needs the capability CAP_NET_ADMIN, which this process lacks; run it as root, or grant the capability (systemd: AmbientCapabilities=CAP_NET_ADMIN)"
    )]
    Capability,
    /// The device has a queue that was not set up by gentle.
    #[error(
        "{dev} has a queue that gentle did not set up: {what}; use --replace to save it until gentle qdisc remove restores it, or delete it with: {remedy}"
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
        "{dev} has {what}, which the kernel does not report in full, so that it could not be restored; delete it with: {remedy}"
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
        "{scheme} cannot use gentle's own module: {why}; --backing stock or auto does without it"
    )]
    NoModule {
        /// Name of the scheme.
        scheme: &'static str,
        /// Description of the missing part.
        why: String,
    },
    /// The present queue could not be saved before its replacement.
    #[error(
        "{directory}: {cause}; {dev} has {what}, which has to be saved there before it is replaced, so that it can be restored"
    )]
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
    /// A file that the commands read cannot be written.
    #[error(
        "{path}: {cause}; tc reads the classifier from there, so that this user has to be able to write it"
    )]
    File {
        /// Path of the file.
        path: String,
        /// Error of writing it.
        cause: io::Error,
    },
    /// The saved state cannot be read.
    #[error(
        "the saved state of {dev} cannot be read: {cause}; run this as the user who applied the setup, or delete the file, which loses the queue that was there before"
    )]
    Unreadable {
        /// Name of the device.
        dev: Device,
        /// Error, with the name of the file.
        cause: io::Error,
    },
    /// The name of the intermediate device is in use.
    #[error(
        "there is a device {0} that is not gentle's, and incoming packets need an intermediate device of that name; rename or delete it"
    )]
    IntermediateNameTaken(Device),
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

//! The description of a scheme: all that help, docs, tests, deployment and the testbed have to know of it.

use super::options::{OptionSpec, Options};
use super::qdisc::{DropReason, MarkReason};
use super::spec::Spec;
use crate::laws::handshake::FinRule;

/// A queue discipline as the rest of the program knows it.
#[derive(Debug)]
pub struct Scheme {
    /// Name, as `tc` has it where `tc` has it.
    pub name: &'static str,
    /// Summary for help and lists, one line.
    pub summary: &'static str,
    /// Source: where the scheme is described, and which reference the code follows.
    pub source: &'static str,
    /// Options, in the order of help.
    pub options: &'static [OptionSpec],
    /// The scheme that a wrapper is built over unless `child=` says otherwise; `None`: it wraps nothing.
    pub child: Option<&'static str>,
    /// Checks options against each other; the error says what is wrong and what was expected.
    pub check: fn(&Options) -> Result<(), String>,
    /// Named sets of options.
    pub presets: &'static [Preset],
    /// Why the scheme drops packets. The first stands for drops of a kernel's queue that no counter explains. Empty in a
    /// wrapper, whose child drops.
    pub drops: &'static [DropReason],
    /// Why the scheme marks packets; empty in a scheme that does not, and in a wrapper.
    pub marks: &'static [MarkReason],
    /// The order in which packets of one flow leave.
    pub order: fn(&Options) -> Order,
    /// Form on Linux; `None`: no kernel has it, so that it can be simulated only.
    pub linux: Option<TcSyntax>,
    /// Differences from the kernel that a comparison of every decision has to allow for.
    pub conformance: Conformance,
    /// Options that property tests and fuzzing begin with, beside the defaults. The first set is also used where the scheme
    /// is the child of a wrapper.
    pub samples: &'static [&'static str],
}

impl Scheme {
    /// A scheme of Linux's shape with nothing special about it: the base of every description.
    pub(crate) const PLAIN: Scheme = Scheme {
        name: "",
        summary: "",
        source: "",
        options: &[],
        child: None,
        check: |_| Ok(()),
        presets: &[],
        drops: &[],
        marks: &[],
        order: |_| Order::KEPT,
        linux: None,
        conformance: Conformance::EXACT,
        samples: &[],
    };

    /// The preset of that name.
    pub fn preset(&self, name: &str) -> Option<&'static Preset> {
        self.presets.iter().find(|preset| preset.name == name)
    }
}

/// Names are unique in the registry, so they decide.
impl PartialEq for Scheme {
    fn eq(&self, other: &Scheme) -> bool {
        self.name == other.name
    }
}

/// A named set of options: `spa published` stands for `spa fin=priority maxlen=0 share=100`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// Name, written behind the scheme without a value.
    pub name: &'static str,
    /// Options as they are written; those that are given besides replace them.
    pub options: &'static str,
}

/// The order in which a scheme sends the packets of one flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// Whether packets of one flow and one priority leave in the order in which they came.
    pub kept: bool,
    /// Packets that may overtake others of their flow.
    pub priority: Option<Priority>,
}

impl Order {
    /// First in, first out within each flow.
    pub const KEPT: Order = Order {
        kept: true,
        priority: None,
    };
}

/// Priority of SYNs, and of FINs by a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Priority {
    /// FINs.
    pub fin: FinRule,
    /// Length in bytes up to which an IP packet can have priority.
    pub maxlen: u32,
    /// Percent of the bytes that priority may send while data waits, 100 without a bound. `None`: the bound is applied where
    /// packets arrive, and a SYN beyond it queues with data.
    pub share: Option<u64>,
    /// Bytes of SYNs up to which none is dropped while other packets are queued.
    pub spared: Option<u64>,
}

/// A scheme as `tc` writes it. Options have the names of [`Scheme::options`]; those that were given are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcSyntax {
    /// The qdisc that is the scheme, or that is it with the `fixed` words.
    pub qdisc: &'static KernelQdisc,
    /// Words that always follow the name of the qdisc.
    pub fixed: &'static str,
    /// Options that are written even when not given: `tc` asks for them, takes them from the device, or has another default.
    pub always: &'static [&'static str],
    /// Options that neither `tc` nor Linux has, with what to do instead.
    pub refused: &'static [(&'static str, &'static str)],
    /// Flags with the word that switches them off; other flags are off unless they are written.
    pub off: &'static [(&'static str, &'static str)],
    /// The child that the qdisc has itself, so that the child's options follow its own.
    pub own_child: Option<&'static str>,
    /// Whether `prio` with filters (for the options `fin`, `maxlen` and `share`) and two children can take the place of the
    /// qdisc.
    pub stock_parts: bool,
}

impl TcSyntax {
    /// A qdisc under its own name, with the options that were given.
    pub(crate) const fn plain(qdisc: &'static KernelQdisc) -> TcSyntax {
        TcSyntax {
            qdisc,
            fixed: "",
            always: &[],
            refused: &[],
            off: &[],
            own_child: None,
            stock_parts: false,
        }
    }
}

/// Who brings the module of a qdisc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Linux (`net/sched/`).
    Linux,
    /// gentle (`kernel/`).
    Gentle,
}

/// A qdisc of a kernel, its module `sch_<kind>`, and what it tells of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelQdisc {
    /// Name in `tc` and netlink.
    pub kind: &'static str,
    /// Where the module comes from.
    pub origin: Origin,
    /// OpenWrt's package with the module, unless it is in `kmod-sched` (`package/kernel/linux/modules/netsupport.mk`).
    pub openwrt: Option<&'static str>,
    /// Layout of `TCA_STATS_APP`.
    pub statistics: Statistics,
    /// Counters of drops in `tc -s -j`, as JSON pointers, each with the reason that it counts.
    pub drops: &'static [(&'static str, DropReason)],
    /// Counters of marks in `tc -s -j`, as JSON pointers.
    pub marks: &'static [&'static str],
    /// Attribute of `TCA_OPTIONS` with the delay that the qdisc aims at.
    pub target: Option<TimeAttribute>,
    /// Times among the options that the kernel keeps in a unit of its own and rounds down twice, when they are set and when
    /// they are dumped.
    pub rounded: Option<RoundedTimes>,
    /// Whether the kernel keeps a part of the options to itself (`TCA_RED_STAB`), so that a dump cannot be set again.
    pub hidden: bool,
    /// Attributes among the options that change while packets pass.
    pub moving: &'static [u16],
}

impl KernelQdisc {
    /// A qdisc of Linux that tells nothing of its own.
    pub(crate) const fn of_linux(kind: &'static str) -> KernelQdisc {
        KernelQdisc {
            kind,
            origin: Origin::Linux,
            openwrt: None,
            statistics: Statistics::Struct(&[]),
            drops: &[],
            marks: &[],
            target: None,
            rounded: None,
            hidden: false,
            moving: &[],
        }
    }

    /// A qdisc of gentle that tells nothing of its own.
    pub(crate) const fn of_gentle(kind: &'static str) -> KernelQdisc {
        KernelQdisc {
            origin: Origin::Gentle,
            ..KernelQdisc::of_linux(kind)
        }
    }
}

/// Layout of the statistics of a qdisc.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistics {
    /// A structure, field by field. A kernel that tells less is read as far as it goes; what one adds at the end is left.
    Struct(&'static [Field]),
    /// Netlink attributes.
    Attributes {
        /// Attributes of the qdisc as a whole.
        whole: &'static [(u16, &'static str)],
        /// Attributes that hold those of its two queues: handshake packets, and data.
        queues: [u16; 2],
        /// Attributes of a queue, each with its name for either queue.
        each: &'static [(u16, &'static str, &'static str)],
    },
}

/// A field of a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// An unsigned number of 32 bits.
    U32(&'static str),
    /// An unsigned number of 64 bits.
    U64(&'static str),
    /// This many bytes that say nothing to an operator.
    Skip(usize),
}

/// An attribute that holds a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeAttribute {
    /// In microseconds.
    Micros(u16),
    /// In nanoseconds.
    Nanos(u16),
}

/// Attributes whose times the kernel keeps in ticks and tells in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundedTimes {
    /// The attributes.
    pub attributes: &'static [u16],
    /// Length of a tick in nanoseconds.
    pub tick_ns: u64,
}

/// Differences from the kernel that a comparison of every decision has to allow for.
#[derive(Debug, Clone, Copy)]
pub struct Conformance {
    /// The way from the hash of a flow to a queue.
    pub hash: Hashing,
    /// Option with the period of a timer that begins with the qdisc. Timers of Linux fire late.
    pub timer: Option<&'static str>,
    /// The specification that the kernel carries out when `tc` is told this one.
    pub set_up: fn(&Spec) -> Spec,
}

impl Conformance {
    /// The kernel does what is specified, without hash or timer.
    pub(crate) const EXACT: Conformance = Conformance {
        hash: Hashing::None,
        timer: None,
        set_up: Spec::clone,
    };
}

/// The way from the hash of a flow to a queue. A scheme that hashes draws the key first of all random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hashing {
    /// No hash.
    None,
    /// The hash scaled to the number of queues (Linux: `reciprocal_scale`).
    Scaled,
    /// The lowest bits of the hash in Linux, scaled here; the option has the number of queues.
    Masked(&'static str),
}

//! Description of a scheme for help, documentation, tests, deployment and the testbed.

use super::options::{OptionSpec, Options};
use super::qdisc::{DropReason, MarkReason};
use super::spec::Spec;

/// Description of a queue discipline.
#[derive(Debug)]
pub struct Scheme {
    /// Name, as `tc` has it where `tc` has it.
    pub name: &'static str,
    /// False for an example, which can be named but appears in no list.
    pub listed: bool,
    /// One-line summary for help and lists.
    pub summary: &'static str,
    /// Publication that describes the scheme, and the implementation that the code follows.
    pub source: &'static str,
    /// Options, in the order of help.
    pub options: &'static [OptionSpec],
    /// Default child of a wrapper, replaced by the option `child`; `None` for schemes that store packets themselves.
    pub child: Option<&'static Scheme>,
    /// Flags for networks only, each with the reason why no simulation can have it. They are refused, except by
    /// [`registry::for_device`](crate::registry::for_device).
    pub unsimulated: &'static [(&'static str, &'static str)],
    /// Of a wrapper that limits the rate of its child; `None` for all other schemes.
    pub shaper: Option<Shaper>,
    /// Checks options against each other. The error names the problem and the expected values.
    pub check: fn(&Options) -> Result<(), String>,
    /// Named sets of options.
    pub presets: &'static [Preset],
    /// Reasons for which the scheme drops packets, without its child's. The first is reported for kernel drops that no
    /// counter explains.
    pub drops: &'static [DropReason],
    /// Reasons for which the scheme marks packets; empty for a scheme without ECN and for a wrapper.
    pub marks: &'static [MarkReason],
    /// Order in which packets of one flow leave.
    pub order: fn(&Options) -> Order,
    /// Linux qdisc; `None` if no kernel has the scheme, which then can only be simulated.
    pub linux: Option<TcSyntax>,
    /// Differences from the kernel that a decision-by-decision comparison must allow for.
    pub conformance: Conformance,
    /// Option sets, in addition to the defaults, from which property tests and fuzzing start. The first is also used
    /// when the scheme is the child of a wrapper.
    pub samples: &'static [&'static str],
}

impl Scheme {
    /// Base of every description: no options, packets of a flow in order, no kernel qdisc.
    pub const PLAIN: Scheme = Scheme {
        name: "",
        listed: true,
        summary: "",
        source: "",
        options: &[],
        child: None,
        unsimulated: &[],
        shaper: None,
        check: |_| Ok(()),
        presets: &[],
        drops: &[],
        marks: &[],
        order: |_| Order::FIFO,
        linux: None,
        conformance: Conformance::EXACT,
        samples: &[],
    };

    /// The preset named `name`.
    pub fn preset(&self, name: &str) -> Option<&'static Preset> {
        self.presets.iter().find(|preset| preset.name == name)
    }
}

/// A scheme that limits the rate of any scheme beneath it. In a specification, the text after `child=` is a complete
/// specification: `tbf rate=2mbit child=red burst=20`.
#[derive(Debug, Clone, Copy)]
pub struct Shaper {
    /// The child that is built and deployed, for options of the shaper that change it. The error names the problem and
    /// the expected values.
    pub child: fn(&Options, &Spec) -> Result<Spec, String>,
    /// True if the options belong to a class (`tc class`), of which there is one.
    pub classful: bool,
}

/// Compares names, which are unique in the registry.
impl PartialEq for Scheme {
    fn eq(&self, other: &Scheme) -> bool {
        self.name == other.name
    }
}

/// A named set of options: `spa published` stands for `spa fin=priority maxlen=0 share=100`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// Name, written after the scheme without a value.
    pub name: &'static str,
    /// Options in the syntax of a specification. Options given explicitly take precedence.
    pub options: &'static str,
}

/// Order in which a scheme sends the packets of one flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// True if packets of equal flow and priority leave in order of arrival.
    pub fifo: bool,
    /// Packets that may overtake others of their flow; `None`: no packet may.
    pub priority: Option<Priority>,
}

impl Order {
    /// First in, first out within each flow.
    pub const FIFO: Order = Order { fifo: true, priority: None };
}

/// Priority of SYNs and, as an option, of FINs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Priority {
    /// Whether FINs have priority, as published. A FIN may then overtake data of its own connection: the receiver reports
    /// a gap with SACK (RFC 2018), and the sender takes the data for lost.
    pub fins: bool,
    /// Maximum length in bytes of an IP packet with priority.
    pub maxlen: u32,
    /// Whether all of these packets have priority; else those beyond a share of the bytes queue as data.
    pub strict: bool,
    /// Queued bytes of SYNs up to which no SYN is dropped while other packets are queued; `None`: no such guarantee.
    pub protected_bytes: Option<u64>,
}

/// Translation of a scheme to `tc` arguments. Options keep the names of [`Scheme::options`]; by default only options
/// that were given are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcSyntax {
    /// Qdisc that implements the scheme.
    pub qdisc: &'static KernelQdisc,
    /// Words that always follow the name of the qdisc and select the scheme.
    pub fixed: &'static str,
    /// Options that are always written because `tc` requires them, derives them from the device or has another default.
    pub always: &'static [&'static str],
    /// Option whose value is the length of the device's transmit queue (`ip link set dev DEV txqueuelen N`) instead of an
    /// option of `tc`.
    pub txqueuelen: Option<&'static str>,
    /// Options that neither `tc` nor Linux has, each with advice for the user.
    pub refused: &'static [(&'static str, &'static str)],
    /// Options with a number that `tc` does not hand to the kernel as it is, and advice for the user.
    pub altered: &'static [(&'static str, &'static str, &'static str)],
    /// Flags with the word that turns them off; other flags are turned off by leaving them out.
    pub negations: &'static [(&'static str, &'static str)],
    /// Options with the words that `tc` has for them, where these are not the name of the option; empty if `tc` does not
    /// get the option.
    pub spelled: &'static [(&'static str, &'static str)],
    /// True if the qdisc shapes without help, with the options `bandwidth`, `overhead`, `mpu` and `atm`: it needs no
    /// shaper above it.
    pub shapes: bool,
    /// Parts that make the scheme where the qdisc is not enough or not there; `None`: there are none.
    pub stock: Option<StockParts>,
}

impl TcSyntax {
    /// A qdisc of the scheme's own name that takes the options that were given.
    pub(crate) const fn plain(qdisc: &'static KernelQdisc) -> TcSyntax {
        TcSyntax {
            qdisc,
            fixed: "",
            always: &[],
            txqueuelen: None,
            refused: &[],
            altered: &[],
            negations: &[],
            spelled: &[],
            shapes: false,
            stock: None,
        }
    }
}

/// Parts of Linux that make a scheme which no qdisc of Linux is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StockParts {
    /// `prio` with two children, and filters for the options `fin`, `maxlen` and `share`.
    HandshakeFilters,
    /// Another scheme of Linux that comes near, with the given options that it has too.
    Near {
        /// Its specification.
        spec: &'static str,
        /// Noun phrase for the part of the scheme that it lacks.
        lacks: &'static str,
    },
}

/// Origin of a qdisc's kernel module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Linux (`net/sched/`).
    Linux,
    /// gentle (`kernel/`).
    Gentle,
}

/// A Linux qdisc with its module `sch_<kind>`: statistics, counters and netlink attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelQdisc {
    /// Name in `tc` and netlink (`TCA_KIND`).
    pub kind: &'static str,
    /// Origin of the module.
    pub origin: Origin,
    /// OpenWrt package of the module; `None`: `kmod-sched` (`package/kernel/linux/modules/netsupport.mk`).
    pub openwrt_package: Option<&'static str>,
    /// Versions of Linux and of `tc` that have the qdisc; `None`: all that are in use.
    pub needs: Option<&'static str>,
    /// Layout of `TCA_STATS_APP`.
    pub statistics: Statistics,
    /// Drop counters in the output of `tc -s -j`, as JSON pointers (RFC 6901), each with the reason that it counts.
    pub drops: &'static [(&'static str, DropReason)],
    /// Mark counters in the output of `tc -s -j`, as JSON pointers (RFC 6901).
    pub marks: &'static [&'static str],
    /// Attribute of `TCA_OPTIONS` with the rate of its shaper: 64 bits, in bytes per second; 0 stands for no rate.
    pub rate: Option<u16>,
    /// Attribute of `TCA_OPTIONS` with the target delay.
    pub target: Option<TimeAttribute>,
    /// Times in `TCA_OPTIONS` that the kernel stores in ticks and rounds down twice: when set and when dumped.
    pub rounded_times: Option<RoundedTimes>,
    /// True if a dump lacks some of the options (`TCA_RED_STAB`), so that it cannot be used to restore the qdisc.
    pub partial_dump: bool,
    /// Attributes of `TCA_OPTIONS` that hold state and change while packets pass.
    pub volatile: &'static [u16],
}

impl KernelQdisc {
    /// A qdisc of Linux without its own statistics.
    pub(crate) const fn of_linux(kind: &'static str) -> KernelQdisc {
        KernelQdisc {
            kind,
            origin: Origin::Linux,
            openwrt_package: None,
            needs: None,
            statistics: Statistics::Struct(&[]),
            drops: &[],
            marks: &[],
            rate: None,
            target: None,
            rounded_times: None,
            partial_dump: false,
            volatile: &[],
        }
    }

    /// A qdisc of gentle (`kernel/`) without its own statistics.
    pub(crate) const fn of_gentle(kind: &'static str) -> KernelQdisc {
        KernelQdisc { origin: Origin::Gentle, ..KernelQdisc::of_linux(kind) }
    }
}

/// Layout of the statistics of a qdisc.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistics {
    /// A C structure, field by field. Fields missing at the end (older kernel) are not reported, further fields (newer
    /// kernel) are ignored.
    Struct(&'static [Field]),
    /// Netlink attributes with their names.
    Whole(&'static [(u16, &'static str)]),
    /// Netlink attributes of a qdisc with up to eight classes of traffic, of which only those in use are reported.
    Tins {
        /// Attributes of the qdisc as a whole, with their names.
        whole: &'static [(u16, &'static str)],
        /// Attribute with a nested attribute for each class, numbered from 1.
        list: u16,
        /// Attributes within each class, with their names for each class.
        each: &'static [(u16, [&'static str; 8])],
    },
}

/// Field of a C structure, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// An unsigned 32-bit number.
    U32(&'static str),
    /// An unsigned 64-bit number.
    U64(&'static str),
    /// Bytes to skip: padding, or internals of no use to an operator.
    Skip(usize),
}

/// Netlink attribute that holds a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeAttribute {
    /// A time in microseconds.
    Micros(u16),
    /// A time in nanoseconds.
    Nanos(u16),
}

/// Netlink attributes whose times the kernel stores in ticks and dumps in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundedTimes {
    /// The attributes.
    pub attributes: &'static [u16],
    /// Length of a tick in nanoseconds.
    pub tick_ns: u64,
}

/// Differences from the kernel that a decision-by-decision comparison must allow for.
#[derive(Debug, Clone, Copy)]
pub struct Conformance {
    /// Mapping from a flow's hash to a queue.
    pub hash: Hashing,
    /// Option with the period of a timer that starts with the qdisc. Linux timers expire late.
    pub timer: Option<&'static str>,
    /// Option with the period of a high-resolution timer that starts with the qdisc; it expires on time.
    pub high_resolution_timer: Option<&'static str>,
    /// Scheme that the kernel runs with the same options instead of this one; `None`: this one.
    pub runs_as: Option<&'static Scheme>,
    /// Options that the kernel accepts and ignores.
    pub ignored: &'static [&'static str],
}

impl Conformance {
    /// No difference, no hash, no timer.
    pub(crate) const EXACT: Conformance =
        Conformance { hash: Hashing::None, timer: None, high_resolution_timer: None, runs_as: None, ignored: &[] };
}

/// Mapping from a flow's hash to a queue. A scheme that hashes draws the hash key before all other random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hashing {
    /// No hash.
    None,
    /// Hash scaled to the number of queues (Linux: `reciprocal_scale`).
    Scaled,
    /// Lowest bits of the hash in Linux, scaled hash here. The named option holds the number of queues.
    Masked(&'static str),
    /// The whole hash, of the flow and of either host.
    Whole,
}

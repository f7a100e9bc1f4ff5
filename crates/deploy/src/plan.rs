//! Plans: the commands for a setup. Pure functions; the system is not queried.

use crate::cake::Cake;
use crate::command::Command;
use crate::device::{Device, Link};
use crate::native;
use crate::priority;
use crate::shaper::{LEAST_RATE, Shaper};
use crate::stock;
use gentle_aqm::{Origin, Spec};
use gentle_units::Rate;
use std::fmt;
use thiserror::Error;

/// Commands in order of execution, with notes for the user.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// Commands to run.
    pub commands: Vec<Command>,
    /// Sentences about deviations of the commands from the request.
    pub notes: Vec<String>,
}

/// Place of a queue: device, parent and handle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Under {
    /// Device of the queue.
    pub dev: Device,
    /// Parent of the queue.
    pub parent: Parent,
    /// Major number of the queue's handle, 1 to 0x7ffd; the next two numbers may be used for its children.
    pub handle: u16,
    /// Link of the device.
    pub link: Link,
    /// Rate at which packets leave, if known: a share of the link is then enforced with stock parts too.
    pub rate: Option<Rate>,
    /// Link rate for RED and its variants (their option `bandwidth`) if the scheme does not specify one; `None`: the
    /// default of `tc`, 10 Mb/s.
    pub link_rate: Option<Rate>,
}

/// Parent of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parent {
    /// Root of the device.
    Root,
    /// Class in the notation of `tc`: `1:10`.
    Class(String),
}

/// Parts used for schemes that Linux does not implement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backing {
    /// Gentle's own kernel modules.
    Native,
    /// Parts available in every Linux.
    Stock,
}

/// Queue discipline of a setup.
#[derive(Debug, Clone, PartialEq)]
pub enum Discipline {
    /// Scheme of gentle-aqm.
    Scheme(Spec),
    /// Qdisc `cake`.
    Cake(Cake),
}

/// Direction of the queued packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Outgoing packets of the device.
    Egress,
    /// Incoming packets of the device: they are redirected to an intermediate device (`ifb`), since they can be queued
    /// only there.
    Ingress,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Egress => "egress",
            Direction::Ingress => "ingress",
        })
    }
}

/// Objects already on a device that a plan depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Present {
    /// Whether there is a `clsact` qdisc, which excludes an `ingress` qdisc: the filter for incoming packets is then
    /// added to it.
    pub clsact: bool,
    /// Number of transmit queues with a qdisc each (`mq`), which are replaced by one qdisc for the whole device; 0
    /// without `mq`.
    pub transmit_queues: usize,
}

/// Setup of a device in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// Device of the setup.
    pub dev: Device,
    /// Link of the device.
    pub link: Link,
    /// Objects already on the device.
    pub present: Present,
    /// Direction of the packets.
    pub direction: Direction,
    /// Shaper that makes the device the bottleneck; `None` if it already is.
    pub shaper: Option<Shaper>,
    /// Queue discipline.
    pub discipline: Discipline,
}

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
    /// The time is not representable in tc, which would round it.
    #[error("{scheme}: {name} is not a whole number of microseconds, in which tc counts; round it")]
    Microseconds {
        /// Name of the scheme.
        scheme: &'static str,
        /// Name of the option.
        name: &'static str,
    },
    /// The scheme needs a kernel module.
    #[error(
        "{scheme} cannot be made from stock parts; build and load the module sch_{scheme} (kernel/README.md in gentle's source says how), and do not ask for stock parts"
    )]
    NeedsModule {
        /// Name of the scheme.
        scheme: &'static str,
    },
    /// No kernel has the scheme.
    #[error(
        "{scheme} is in no kernel, neither in Linux nor among gentle's modules; it can only be simulated (gentle compare)"
    )]
    NotOnLinux {
        /// The scheme.
        scheme: &'static str,
    },
    /// A child that is only in a module, under priority from stock parts.
    #[error(
        "child={child} is no part of Linux; load gentle's kernel modules, or choose another child"
    )]
    NativeChild {
        /// Name of the child scheme.
        child: &'static str,
    },
    /// Cake is requested as the shaper of another scheme.
    #[error(
        "cake manages its queue itself and takes no other beneath its shaper; shape with htb or tbf, or give cake as the scheme"
    )]
    CakeTakesNoChild,
    /// The rate is below one byte per second.
    #[error("{0} is less than tc can count; expected 8bit (one byte a second) or more")]
    TooSlow(Rate),
    /// The handle is out of range.
    #[error(
        "handle {0:x}: is out of range; expected 1: to 7ffd:, since Linux numbers from 8000: on by itself"
    )]
    Handle(u16),
}

/// Major numbers of gentle's qdiscs, the shaper first; they are below 8000:, from which Linux assigns numbers.
pub(crate) const SHAPER: u16 = 0x5a0;
pub(crate) const SCHEME: u16 = 0x5a1;

/// Preference of gentle's filter in a `clsact` that others may use as well: the last possible, so that filters added
/// later see packets before they are queued. The kernel assigns 49152 and less.
pub(crate) const CLSACT_PREFERENCE: u16 = 0xffff;
const LAST_HANDLE: u16 = 0x7ffd;

impl Under {
    /// Command that adds a queue to a class, or replaces the root qdisc, which always exists.
    pub(crate) fn place(&self) -> String {
        match &self.parent {
            Parent::Root => format!("replace dev {} root", self.dev),
            Parent::Class(class) => format!("add dev {} parent {class}", self.dev),
        }
    }
}

/// Plans the commands that put `spec` at a place.
///
/// # Errors
/// Features that Linux does not support, with a remedy.
pub fn plan_under(at: &Under, spec: &Spec, backing: Backing) -> Result<Plan, PlanError> {
    if !(1..=LAST_HANDLE).contains(&at.handle) {
        return Err(PlanError::Handle(at.handle));
    }
    let mut notes = Vec::new();
    let scheme = spec.scheme().name;
    let form = spec.scheme().linux;
    let form = form.ok_or(PlanError::NotOnLinux { scheme })?;
    let commands = match (form.qdisc.origin, backing) {
        (Origin::Linux, _) => {
            let words = stock::qdisc(spec, &form, at.link_rate)?;
            let (place, handle) = (at.place(), at.handle);
            vec![Command::tc(&format!(
                "qdisc {place} handle {handle:x}: {words}"
            ))]
        }
        (Origin::Gentle, Backing::Native) => native::plan(at, spec, &form)?,
        (Origin::Gentle, Backing::Stock) if form.stock_parts => {
            priority::plan(at, spec, &mut notes)?
        }
        (Origin::Gentle, Backing::Stock) => return Err(PlanError::NeedsModule { scheme }),
    };
    Ok(Plan { commands, notes })
}

/// Plans the commands that put `setup` on a device with its default queue.
///
/// # Errors
/// Features that Linux does not support, with a remedy.
pub fn plan(setup: &Setup, backing: Backing) -> Result<Plan, PlanError> {
    let mut plan = Plan::default();
    let ifb = setup.dev.ingress();
    let dev = match setup.direction {
        Direction::Egress => setup.dev.clone(),
        Direction::Ingress => {
            plan.commands.extend([
                Command::ip(&format!("link add name {ifb} type ifb")),
                Command::ip(&format!("link set dev {ifb} alias")).arg(ingress_alias(&setup.dev)),
            ]);
            ifb.clone()
        }
    };
    queue(setup, dev, backing, &mut plan)?;
    if setup.direction == Direction::Ingress {
        // Packets are redirected last, when the intermediate device is ready.
        let dev = &setup.dev;
        let redirect = format!("u32 match u32 0 0 action mirred egress redirect dev {ifb}");
        plan.commands
            .push(Command::ip(&format!("link set dev {ifb} up")));
        if setup.present.clsact {
            plan.commands.push(Command::tc(&format!(
                "filter add dev {dev} ingress protocol all pref {CLSACT_PREFERENCE} {redirect}"
            )));
        } else {
            plan.commands.extend([
                Command::tc(&format!("qdisc add dev {dev} handle ffff: ingress")),
                Command::tc(&format!(
                    "filter add dev {dev} parent ffff: protocol all pref 1 {redirect}"
                )),
            ]);
        }
    }
    if setup.direction == Direction::Egress && setup.present.transmit_queues > 1 {
        plan.notes.push(format!(
            "{} has {} transmit queues with a queue and a lock each (mq); from now on all packets pass one queue and one lock, which limits how many packets a second several processors can send",
            setup.dev, setup.present.transmit_queues
        ));
    }
    if setup.shaper.is_none() {
        plan.notes.push(format!(
            "without a rate, {} acts only where {} itself is the bottleneck of the path",
            match &setup.discipline {
                Discipline::Scheme(spec) => spec.scheme().name,
                Discipline::Cake(_) => "cake",
            },
            setup.dev
        ));
    }
    Ok(plan)
}

/// Alias that marks an intermediate device as gentle's.
pub(crate) fn ingress_alias(dev: &Device) -> String {
    format!("gentle qdisc: ingress of {dev}")
}

fn queue(setup: &Setup, dev: Device, backing: Backing, plan: &mut Plan) -> Result<(), PlanError> {
    let mut at = Under {
        dev,
        parent: Parent::Root,
        handle: SCHEME,
        link: setup.link,
        rate: setup.shaper.as_ref().map(|shaper| shaper.rate),
        link_rate: setup.shaper.as_ref().map(|shaper| shaper.rate),
    };
    let spec = match &setup.discipline {
        Discipline::Scheme(spec) => spec,
        Discipline::Cake(cake) => {
            if let Some(shaper) = &setup.shaper
                && shaper.rate.bits_per_second() < LEAST_RATE
            {
                return Err(PlanError::TooSlow(shaper.rate));
            }
            let shaping = setup.shaper.as_ref().map(|shaper| {
                format!(
                    " bandwidth {}{}",
                    shaper.rate,
                    shaper.framing.words_for_cake()
                )
            });
            plan.commands.push(Command::tc(&format!(
                "qdisc {} handle {SCHEME:x}: {cake}{}",
                at.place(),
                shaping.unwrap_or_default()
            )));
            return Ok(());
        }
    };
    if let Some(shaper) = &setup.shaper {
        at.handle = SHAPER;
        let (commands, class) = shaper.plan(&at)?;
        plan.commands.extend(commands);
        at.handle = SCHEME;
        at.parent = Parent::Class(class);
    }
    let queue = plan_under(&at, spec, backing)?;
    plan.commands.extend(queue.commands);
    plan.notes.extend(queue.notes);
    Ok(())
}

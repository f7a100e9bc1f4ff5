//! From what is wanted to the commands that make it. Pure: nothing is asked of the system.

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

/// Commands in the order in which they have to run, and what there is to know of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// What is run.
    pub commands: Vec<Command>,
    /// Sentences about what these commands do other than was asked for.
    pub notes: Vec<String>,
}

/// Where a queue goes: a class of some device, and how it is to be numbered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Under {
    /// The device.
    pub dev: Device,
    /// Of what it is a part.
    pub parent: Parent,
    /// The major number of its handle, 1 to 0x7ffd; the two above may be taken by its children.
    pub handle: u16,
    /// The link behind the device.
    pub link: Link,
    /// The rate at which packets leave, where it is known: a share of the link is then enforced with stock parts too.
    pub rate: Option<Rate>,
    /// What RED and its kin take for the rate of the link (their option `bandwidth`) where the scheme does not say; `None`:
    /// the default of `tc`, 10 Mb/s.
    pub link_rate: Option<Rate>,
}

/// What a queue belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parent {
    /// The device itself.
    Root,
    /// A class, as `tc` writes it: `1:10`.
    Class(String),
}

/// From which parts schemes are made that Linux does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backing {
    /// From gentle's own kernel modules.
    Native,
    /// From what every Linux has.
    Stock,
}

/// What manages the packets.
#[derive(Debug, Clone, PartialEq)]
pub enum Discipline {
    /// A scheme of gentle-aqm.
    Scheme(Spec),
    /// cake.
    Cake(Cake),
}

/// Which packets are queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Those that leave through the device.
    Egress,
    /// Those that arrive at it: they are sent through an intermediate device (`ifb`), since only there they can queue.
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

/// What a device has already that a plan has to take into account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Present {
    /// The qdisc `clsact`, in whose place no `ingress` can be put: the filter for arriving packets goes into it.
    pub clsact: bool,
    /// Transmit queues with a qdisc each (`mq`), which one qdisc for the whole device replaces; 0: the device has no `mq`.
    pub transmit_queues: usize,
}

/// All that is put on a device in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// The device.
    pub dev: Device,
    /// The link behind it.
    pub link: Link,
    /// What the device has already.
    pub present: Present,
    /// Which packets.
    pub direction: Direction,
    /// What makes the device the bottleneck; `None` where it is one already.
    pub shaper: Option<Shaper>,
    /// What manages the packets.
    pub discipline: Discipline,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlanError {
    /// Linux has the scheme without this option.
    #[error("{scheme}: Linux has no option '{option}'; {instead}")]
    NotInLinux {
        /// The scheme.
        scheme: &'static str,
        /// The option.
        option: &'static str,
        /// What to do about it.
        instead: &'static str,
    },
    /// tc would round the time.
    #[error("{scheme}: {name} is not a whole number of microseconds, in which tc counts; round it")]
    Microseconds {
        /// The scheme.
        scheme: &'static str,
        /// The option.
        name: &'static str,
    },
    /// The scheme is only in a module.
    #[error(
        "{scheme} cannot be made from stock parts; build and load the module sch_{scheme} (kernel/README.md in gentle's source says how), and do not ask for stock parts"
    )]
    NeedsModule {
        /// The scheme.
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
        /// The scheme beneath.
        child: &'static str,
    },
    /// cake as a shaper of something else.
    #[error(
        "cake manages its queue itself and takes no other beneath its shaper; shape with htb or tbf, or give cake as the scheme"
    )]
    CakeTakesNoChild,
    /// A rate of less than one byte a second.
    #[error("{0} is less than tc can count; expected 8bit (one byte a second) or more")]
    TooSlow(Rate),
    /// A handle out of range.
    #[error(
        "handle {0:x}: is out of range; expected 1: to 7ffd:, since Linux numbers from 8000: on by itself"
    )]
    Handle(u16),
}

/// Major numbers that gentle gives its own, the shaper first. They are below 8000:, where Linux begins by itself.
pub(crate) const SHAPER: u16 = 0x5a0;
pub(crate) const SCHEME: u16 = 0x5a1;

/// The preference of gentle's filter in a `clsact` that somebody else may use: the last there is, so that filters which are
/// added later see packets before they go to the queue. The kernel itself gives 49152 and less.
pub(crate) const CLSACT_PREFERENCE: u16 = 0xffff;
const LAST_HANDLE: u16 = 0x7ffd;

impl Under {
    /// Adds a queue to a class, but replaces that of the root, where some queue always is.
    pub(crate) fn place(&self) -> String {
        match &self.parent {
            Parent::Root => format!("replace dev {} root", self.dev),
            Parent::Class(class) => format!("add dev {} parent {class}", self.dev),
        }
    }
}

/// The commands that make `spec` the queue of a place.
///
/// # Errors
/// What Linux cannot do, with what to do instead.
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

/// The commands that put `setup` on a device whose queue is the one it came with.
///
/// # Errors
/// What Linux cannot do, with what to do instead.
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
        // The packets are sent through it last, when all is ready for them.
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

/// The remark by which an intermediate device is known to be gentle's.
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

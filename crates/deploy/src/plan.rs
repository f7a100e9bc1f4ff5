//! Plans: the commands for a setup. Pure functions; the system is not queried.

use crate::command::Command;
use crate::device::Device;
use crate::error::PlanError;
use crate::intermediate::{IFB, IngressOf};
use crate::native;
use crate::place::{CLSACT_PREFERENCE, INGRESS_PREFERENCE, MAX_HANDLE, Parent, QueuePlace, SCHEME, SHAPER};
use crate::priority;
use crate::setup::{Backing, Direction, Setup};
use crate::shaped;
use crate::shaper::ShaperKind;
use crate::stock;
use gentle_aqm::{Origin, Spec, StockParts};
use std::mem::discriminant;

/// Commands in order of execution, with notes for the user.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// Commands to run.
    pub commands: Vec<Command>,
    /// Sentences about what the stock parts of the commands do differently from the scheme.
    pub differences: Vec<String>,
    /// Sentences about effects of the setup that a user may not expect.
    pub notes: Vec<String>,
}

/// Plans the commands that put `spec` at a place.
///
/// # Errors
/// Features that Linux does not support, with a remedy.
pub fn plan_at(at: &QueuePlace, spec: &Spec, backing: Backing) -> Result<Plan, PlanError> {
    if !(1..=MAX_HANDLE).contains(&at.handle) {
        return Err(PlanError::Handle(at.handle));
    }
    let mut differences = Vec::new();
    let scheme = spec.scheme().name;
    let syntax = spec.scheme().linux;
    let syntax = syntax.ok_or(PlanError::NotOnLinux { scheme })?;
    if let Some(shaper) = spec.scheme().shaper {
        return shaped::plan(at, spec, shaper, &syntax, backing);
    }
    let mut commands = Vec::new();
    if let Some(packets) = stock::txqueuelen(spec) {
        let dev = &at.dev;
        commands.push(Command::ip(&format!("link set dev {dev} txqueuelen {packets}")));
    }
    let native = syntax.qdisc.origin == Origin::Gentle && backing == Backing::Native;
    commands.extend(match (syntax.qdisc.origin, syntax.stock) {
        _ if native => native::plan(at, spec, &syntax)?,
        (_, Some(StockParts::HandshakeFilters)) => priority::plan(at, spec, &mut differences)?,
        (_, Some(StockParts::Near { spec: other, lacks })) => {
            let (other, note) = near(spec, other, lacks)?;
            let plan = plan_at(at, &other, backing)?;
            differences.push(note);
            differences.extend(plan.differences);
            plan.commands
        }
        (Origin::Linux, None) => {
            let qdisc = stock::qdisc(spec, &syntax, at.link_rate)?;
            let (place, handle) = (at.place(), at.handle);
            vec![Command::tc(&format!("qdisc {place} handle {handle:x}: {qdisc}"))]
        }
        (Origin::Gentle, None) => return Err(PlanError::NeedsModule { scheme }),
    });
    Ok(Plan { commands, differences, notes: Vec::new() })
}

/// The specification `other`, which comes near `spec`, with the options of `spec` that it has too, and a note for the user.
fn near(spec: &Spec, other: &'static str, lacks: &'static str) -> Result<(Spec, String), PlanError> {
    let mut found: Spec = other.parse()?;
    let mut lost = Vec::new();
    for (name, value) in spec.options().given() {
        // A limit in time is another option than one in packets.
        let kind = |of: &Spec| {
            let option = of.options().specs().iter().find(|own| own.name == name);
            option.map(|option| discriminant(&option.kind))
        };
        match found.with_all([(name, value)]) {
            Ok(with) if kind(&found) == kind(spec) => found = with,
            _ => lost.push(name),
        }
    }
    let without = match lost.as_slice() {
        [] => String::new(),
        lost => format!("; options without effect: {}", lost.join(", ")),
    };
    let scheme = spec.scheme().name;
    let note = format!("{scheme} is set up as '{found}', which lacks {lacks}{without}");
    Ok((found, note))
}

/// Plans the commands that put `setup` on a device with its default queue.
///
/// # Errors
/// Features that Linux does not support, with a remedy.
pub fn plan(setup: &Setup, backing: Backing) -> Result<Plan, PlanError> {
    plan_for(setup, backing, None)
}

/// Like [`plan`], for the device with this interface index on this machine.
pub(crate) fn plan_for(setup: &Setup, backing: Backing, index: Option<u32>) -> Result<Plan, PlanError> {
    let mut plan = Plan::default();
    let ifb = setup.dev.ingress();
    let dev = match setup.direction {
        Direction::Egress => setup.dev.clone(),
        Direction::Ingress => {
            plan.commands.extend([
                Command::ip(&format!("link add name {ifb} type {IFB}")),
                Command::ip(&format!("link set dev {ifb} alias")).arg(IngressOf::new(&setup.dev, index).to_string()),
            ]);
            ifb.clone()
        }
    };
    queue(setup, dev, backing, &mut plan)?;
    if setup.direction == Direction::Ingress {
        // Packets are redirected last, when the intermediate device is ready.
        let dev = &setup.dev;
        let redirect = format!("u32 match u32 0 0 action mirred egress redirect dev {ifb}");
        plan.commands.push(Command::ip(&format!("link set dev {ifb} up")));
        if setup.present.clsact {
            plan.commands.push(Command::tc(&format!(
                "filter add dev {dev} ingress protocol all pref {CLSACT_PREFERENCE} {redirect}"
            )));
        } else {
            if !setup.present.ingress {
                plan.commands.push(Command::tc(&format!("qdisc add dev {dev} handle ffff: ingress")));
            }
            plan.commands.push(Command::tc(&format!(
                "filter add dev {dev} parent ffff: protocol all pref {INGRESS_PREFERENCE} {redirect}"
            )));
        }
    }
    if setup.direction == Direction::Egress && setup.present.transmit_queues > 1 {
        plan.notes.push(format!(
            "{} has {} transmit queues, each with its own qdisc and lock (mq); in this setup all packets pass one \
             qdisc and one lock, which limits the packet rate that several processors reach",
            setup.dev, setup.present.transmit_queues
        ));
    }
    if setup.present.loopback {
        plan.notes.push(format!(
            "{} is the loopback device: only packets between programs on this machine pass it, and no packets of a network",
            setup.dev
        ));
    }
    let shaped = setup.shaper.is_some()
        || setup.scheme.scheme().shaper.is_some()
        || (shapes(setup) && setup.scheme.given("bandwidth").is_some());
    if !shaped {
        plan.notes.push(format!(
            "without a rate, {} acts only where {} itself is the bottleneck of the path",
            setup.scheme.scheme().name,
            setup.dev
        ));
    }
    Ok(plan)
}

/// True if the scheme of `setup` can shape without a shaper.
fn shapes(setup: &Setup) -> bool {
    setup.scheme.scheme().linux.is_some_and(|tc| tc.shapes)
}

fn queue(setup: &Setup, dev: Device, backing: Backing, plan: &mut Plan) -> Result<(), PlanError> {
    let mut at = QueuePlace {
        dev,
        parent: Parent::Root,
        handle: SCHEME,
        link: setup.link,
        rate: setup.shaper.as_ref().map(|shaper| shaper.rate),
        link_rate: setup.shaper.as_ref().map(|shaper| shaper.rate),
    };
    let spec = match &setup.shaper {
        Some(shaper) if shapes(setup) && shaper.kind == ShaperKind::Cake => shaper.within(&setup.scheme)?,
        Some(shaper) => {
            at.handle = SHAPER;
            let (commands, class) = shaper.plan(&at)?;
            plan.commands.extend(commands);
            at.handle = SCHEME;
            at.parent = Parent::Class(class);
            setup.scheme.clone()
        }
        None => setup.scheme.clone(),
    };
    if let Some(packets) = stock::txqueuelen(&spec) {
        // Removing the setup would not restore the length that the device had.
        return Err(PlanError::TransmitQueue { scheme: spec.scheme().name, dev: at.dev, packets });
    }
    let queue = plan_at(&at, &spec, backing)?;
    plan.commands.extend(queue.commands);
    plan.differences.extend(queue.differences);
    Ok(())
}

//! Shapers as schemes: `tbf` and `htb` with one class, above any other scheme.

use crate::command::Command;
use crate::error::PlanError;
use crate::place::{Parent, QueuePlace};
use crate::plan::{Plan, plan_at};
use crate::setup::Backing;
use crate::shaper::check_bucket;
use crate::stock;
use gentle_aqm::{Shaper, Spec, TcSyntax, Value};
use gentle_units::Rate;

/// Plans a shaper, by the `tc` syntax in its description, and its child below it.
pub(crate) fn plan(
    at: &QueuePlace,
    spec: &Spec,
    shaper: Shaper,
    syntax: &TcSyntax,
    backing: Backing,
) -> Result<Plan, PlanError> {
    let (place, dev, handle, kind) = (at.place(), &at.dev, at.handle, syntax.qdisc.kind);
    let class = format!("{handle:x}:1");
    let commands = if shaper.classful {
        let options = stock::options(spec, syntax, None)?;
        vec![
            Command::tc(&format!("qdisc {place} handle {handle:x}: {kind} default 1")),
            // The quantum divides the rate between classes; there is only one, and tc warns of a large default.
            Command::tc(&format!(
                "class add dev {dev} parent {handle:x}: classid {class} {kind}{options} quantum {}",
                at.link.frame()
            )),
        ]
    } else {
        let qdisc = stock::qdisc(spec, syntax, None)?;
        vec![Command::tc(&format!("qdisc {place} handle {handle:x}: {qdisc}"))]
    };
    let rates = spec.options().iter().filter_map(|(_, value)| match value {
        Some(Value::Rate(rate)) => Some(rate),
        _ => None,
    });
    let rates: Vec<Rate> = rates.collect();
    let bursts = spec.options().iter().filter_map(|(_, value)| match value {
        Some(Value::Size(bytes)) => Some(bytes),
        _ => None,
    });
    for burst in bursts {
        for rate in &rates {
            check_bucket(!shaper.classful, *rate, burst)?;
        }
    }
    let rate = rates.into_iter().min();
    let below = QueuePlace { parent: Parent::Class(class), handle: handle + 1, rate, ..at.clone() };
    let child = spec.beneath().expect("a shaper has a child");
    let child = plan_at(&below, &child, backing)?;
    Ok(Plan {
        commands: commands.into_iter().chain(child.commands).collect(),
        differences: child.differences,
        notes: child.notes,
    })
}

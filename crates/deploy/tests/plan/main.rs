//! Commands of plans, as snapshots and by invariants.

mod refused;
mod setups;
mod under;

use gentle_aqm::Spec;
use gentle_deploy::{Backing, Link, Parent, Plan, PlanError, QueuePlace, plan_at};

fn at_class(rate: Option<&str>) -> QueuePlace {
    QueuePlace {
        dev: "eth0".parse().unwrap(),
        parent: Parent::Class("1:10".to_owned()),
        handle: 0x10,
        link: Link::ETHERNET,
        rate: rate.map(|rate| rate.parse().unwrap()),
        link_rate: None,
    }
}

fn under(spec: &str, backing: Backing, rate: Option<&str>) -> Result<Plan, PlanError> {
    let spec: Spec = spec.parse().unwrap();
    plan_at(&at_class(rate), &spec, backing)
}

/// Plan as a shell script, with the notes as comments.
fn script(plan: &Plan) -> String {
    let notes = plan.differences.iter().chain(&plan.notes).map(|note| format!("# {note}\n"));
    let commands = plan.commands.iter().map(|command| format!("{command}\n"));
    notes.chain(commands).collect()
}

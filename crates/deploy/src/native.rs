//! Schemes that come as kernel modules with gentle.
//!
//! Their `tc` plug-ins accept the options of gentle-aqm under the same names.

use crate::command::Command;
use crate::error::PlanError;
use crate::place::QueuePlace;
use crate::stock;
use gentle_aqm::{Spec, TcSyntax};

/// Plans a scheme that is one of gentle's modules, by the `tc` syntax in its description.
pub(crate) fn plan(at: &QueuePlace, spec: &Spec, syntax: &TcSyntax) -> Result<Vec<Command>, PlanError> {
    let qdisc = stock::qdisc(spec, syntax, at.link_rate)?;
    let args = format!("qdisc {} handle {:x}: {qdisc}", at.place(), at.handle);
    let Some(child) = spec.child() else {
        return Ok(vec![Command::tc(&args)]);
    };
    let name = child.scheme().name;
    let child_syntax = child.scheme().linux;
    let child_syntax = child_syntax.ok_or(PlanError::NotOnLinux { scheme: name })?;
    let child = stock::qdisc(child, &child_syntax, at.link_rate)?;
    let (dev, handle) = (&at.dev, at.handle);
    let children = [1, 2].map(|band| {
        Command::tc(&format!("qdisc add dev {dev} parent {handle:x}:{band} handle {:x}: {child}", handle + band))
    });
    Ok([Command::tc(&args)].into_iter().chain(children).collect())
}

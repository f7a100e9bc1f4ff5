//! Schemes that come as kernel modules with gentle.
//!
//! Their `tc` plug-ins accept the options of gentle-aqm under the same names.

use crate::command::Command;
use crate::plan::{PlanError, Under};
use crate::stock;
use gentle_aqm::{Spec, TcSyntax};

/// The commands for a scheme that is a module of gentle, by the syntax that its description has.
pub(crate) fn plan(at: &Under, spec: &Spec, form: &TcSyntax) -> Result<Vec<Command>, PlanError> {
    let qdisc = stock::qdisc(spec, form, at.link_rate)?;
    let mut words = format!("qdisc {} handle {:x}: {qdisc}", at.place(), at.handle);
    let Some(child) = spec.child() else {
        return Ok(vec![Command::tc(&words)]);
    };
    let name = child.scheme().name;
    let syntax = child.scheme().linux;
    let syntax = syntax.ok_or(PlanError::NotOnLinux { scheme: name })?;
    if form.builtin_child == Some(name) {
        words.push_str(&stock::options(child, &syntax, at.link_rate)?);
        return Ok(vec![Command::tc(&words)]);
    }
    let child = stock::qdisc(child, &syntax, at.link_rate)?;
    let (dev, handle) = (&at.dev, at.handle);
    let children = [1, 2].map(|band| {
        Command::tc(&format!(
            "qdisc add dev {dev} parent {handle:x}:{band} handle {:x}: {child}",
            handle + band
        ))
    });
    Ok([Command::tc(&words)].into_iter().chain(children).collect())
}

//! Schemes implemented by gentle's kernel modules: `spa`, `gsp`, `redfavor`.
//!
//! Their `tc` plug-ins accept the options of gentle-aqm under the same names.

use crate::command::Command;
use crate::plan::{PlanError, Under};
use crate::stock;
use gentle_aqm::Spec;
use gentle_units::Rate;

/// Qdisc implemented by gentle's kernel module `sch_<name>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Module {
    /// `sch_spa`: two queues, handshake packets first.
    Spa,
    /// `sch_gsp`: global synchronization protection.
    Gsp,
    /// `sch_redfavor`: RED that protects SYNs.
    RedFavor,
}

impl Module {
    /// Name of the qdisc in `tc`.
    pub fn kind(self) -> &'static str {
        match self {
            Module::Spa => "spa",
            Module::Gsp => "gsp",
            Module::RedFavor => "redfavor",
        }
    }

    /// Module that implements `spec`; `None` if Linux implements all of it.
    pub fn of(spec: &Spec) -> Option<Module> {
        match spec.scheme().name {
            "spa" | "syn_prio" | "syn_fin_prio" => Some(Module::Spa),
            "gsp" => Some(Module::Gsp),
            "redfavor" => Some(Module::RedFavor),
            _ => None,
        }
    }

    /// Whether stock parts of Linux can replace the module in all essential properties.
    pub fn has_stock_parts(self) -> bool {
        self == Module::Spa
    }
}

/// Commands for a scheme implemented by `module`.
pub(crate) fn plan(at: &Under, spec: &Spec, module: Module) -> Result<Vec<Command>, PlanError> {
    let scheme = spec.scheme().name;
    let kind = module.kind();
    let mut words = format!("qdisc {} handle {:x}: {kind}", at.place(), at.handle);
    if scheme == "syn_prio" {
        words.push_str(" fin none");
    }
    append(&mut words, spec, at.link_rate)?;
    let Some(child) = spec.child() else {
        return Ok(vec![Command::tc(&words)]);
    };
    if child.scheme().name == "codel" {
        append(&mut words, child, at.link_rate)?;
        return Ok(vec![Command::tc(&words)]);
    }
    let name = child.scheme().name;
    let child = match Module::of(child) {
        Some(module) => {
            let mut words = module.kind().to_owned();
            append(&mut words, child, at.link_rate)?;
            words
        }
        None => stock::words(child, at.link_rate)?.ok_or(PlanError::NativeChild { child: name })?,
    };
    let (dev, handle) = (&at.dev, at.handle);
    let children = [1, 2].map(|band| {
        Command::tc(&format!(
            "qdisc add dev {dev} parent {handle:x}:{band} handle {:x}: {child}",
            handle + band
        ))
    });
    Ok([Command::tc(&words)].into_iter().chain(children).collect())
}

/// Appends the given options, and those without which the result would be another scheme or `tc` would reject it.
fn append(words: &mut String, spec: &Spec, link: Option<Rate>) -> Result<(), PlanError> {
    let scheme = spec.scheme().name;
    let always: &[&str] = match scheme {
        "syn_fin_prio" => &["fin"],
        "redfavor" => &["limit", "avpkt", "bandwidth"],
        _ => &[],
    };
    for (name, value) in stock::written(spec.options(), always, link) {
        words.push_str(&stock::word(scheme, name, value)?);
    }
    Ok(())
}

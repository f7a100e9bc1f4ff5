//! Arguments of `tc` for a scheme, by the syntax in its description.
//!
//! Names and defaults of gentle-aqm equal Linux's, so only the given options are written, plus options that `tc`
//! requires or would derive from the device. Numbers have no unit where `tc` accepts none; times are whole
//! microseconds, the resolution of `tc`.

use crate::error::PlanError;
use gentle_aqm::{Options, Origin, Spec, TcSyntax, Value};
use gentle_units::Rate;

/// Kind and options of the qdisc, as they follow `handle M:`; `None` if Linux has no such scheme.
///
/// `link_rate` is the rate of the link, for schemes that need it and do not specify it.
pub(crate) fn tc_args(spec: &Spec, link_rate: Option<Rate>) -> Result<Option<String>, PlanError> {
    match spec.scheme().linux {
        Some(syntax) if syntax.qdisc.origin == Origin::Linux => qdisc(spec, &syntax, link_rate).map(Some),
        _ => Ok(None),
    }
}

/// Like [`tc_args`], for the child of a wrapper that is made of stock parts: it must be a scheme of Linux.
pub(crate) fn child_args(wrapper: &Spec, link_rate: Option<Rate>) -> Result<String, PlanError> {
    let child = wrapper.child().expect("a wrapper has a child");
    let name = child.scheme().name;
    if child.scheme().linux.is_none() {
        return Err(PlanError::NotOnLinux { scheme: name });
    }
    tc_args(child, link_rate)?.ok_or(PlanError::NativeChild { child: name })
}

/// Kind and options of the qdisc in this syntax, without its child.
pub(crate) fn qdisc(spec: &Spec, syntax: &TcSyntax, link_rate: Option<Rate>) -> Result<String, PlanError> {
    let mut args = syntax.qdisc.kind.to_owned();
    if !syntax.fixed.is_empty() {
        args.push(' ');
        args.push_str(syntax.fixed);
    }
    args.push_str(&options(spec, syntax, link_rate)?);
    Ok(args)
}

/// Options of the qdisc in this syntax, each preceded by a blank.
pub(crate) fn options(spec: &Spec, syntax: &TcSyntax, link_rate: Option<Rate>) -> Result<String, PlanError> {
    let scheme = spec.scheme().name;
    for (option, instead) in syntax.refused {
        refuse(scheme, spec.options(), option, instead)?;
    }
    for &(option, value, instead) in syntax.altered {
        let is_that = |(name, given): (&str, Value)| match given {
            Value::Real(number) => name == option && number.to_string() == value,
            _ => false,
        };
        if spec.options().given().any(is_that) {
            return Err(PlanError::Altered { scheme, option, value, instead });
        }
    }
    let mut args = String::new();
    for (name, value) in explicit(spec.options(), syntax.always, link_rate) {
        let refused = syntax.refused.iter().any(|(refused, _)| *refused == name);
        let hidden = syntax.spelled.contains(&(name, ""));
        if !refused && !hidden && syntax.txqueuelen != Some(name) {
            args.push_str(&tc_arg(spec, syntax, name, value)?);
        }
    }
    Ok(args)
}

/// Length of the device's transmit queue that `spec` or its child requires: the limit of `pfifo_fast`.
pub(crate) fn txqueuelen(spec: &Spec) -> Option<u64> {
    let own = spec.scheme().linux.and_then(|syntax| syntax.txqueuelen);
    let own = own.and_then(|name| match spec.options().given().find(|(n, _)| *n == name) {
        Some((_, Value::Count(packets))) => Some(packets),
        _ => None,
    });
    own.or_else(|| txqueuelen(spec.child()?))
}

/// Option of RED for the link rate, which determines how the average decays while the queue is empty (tc-red(8)).
const LINK_RATE: &str = "bandwidth";

/// Options that were given or are listed in `always`, in the order of declaration. `link_rate` replaces the default of
/// [`LINK_RATE`].
fn explicit<'a>(
    options: &'a Options,
    always: &'a [&str],
    link_rate: Option<Rate>,
) -> impl Iterator<Item = (&'static str, Value)> + 'a {
    options.iter().filter_map(move |(name, value)| {
        let given = options.given().any(|(given, _)| given == name);
        let value = value.filter(|_| given || always.contains(&name))?;
        match link_rate {
            Some(rate) if name == LINK_RATE && !given => Some((name, Value::Rate(rate))),
            _ => Some((name, value)),
        }
    })
}

/// Rejects an option that Linux does not have, unless its value switches it off.
fn refuse(
    scheme: &'static str,
    options: &Options,
    option: &'static str,
    instead: &'static str,
) -> Result<(), PlanError> {
    let off = |value: &Value| matches!(value, Value::Flag(false)) || is_zero_time(value);
    match options.given().find(|(name, value)| *name == option && !off(value)) {
        None => Ok(()),
        Some(_) => Err(PlanError::NotInLinux { scheme, option, instead }),
    }
}

fn is_zero_time(value: &Value) -> bool {
    matches!(value, Value::Time(t) if t.0 == 0)
}

/// Option as `tc` reads it, preceded by a blank.
fn tc_arg(spec: &Spec, syntax: &TcSyntax, name: &'static str, value: Value) -> Result<String, PlanError> {
    let spelled = syntax.spelled.iter().find(|(option, _)| *option == name);
    let name = spelled.map_or(name, |(_, words)| *words);
    Ok(match value {
        Value::Flag(true) => format!(" {name}"),
        // Flags without a negative form are off unless given.
        Value::Flag(false) => syntax
            .negations
            .iter()
            .find(|(flag, _)| *flag == name)
            .map_or_else(String::new, |(_, off)| format!(" {off}")),
        Value::Time(t) if t.0.is_multiple_of(1_000) => format!(" {name} {t}"),
        Value::Time(_) => {
            let scheme = spec.scheme().name;
            return Err(PlanError::Microseconds { scheme, name });
        }
        Value::Size(bytes) => format!(" {name} {bytes}"),
        Value::Count(n) => format!(" {name} {n}"),
        Value::Integer(n) => format!(" {name} {n}"),
        Value::Real(x) => format!(" {name} {x}"),
        Value::Rate(rate) => format!(" {name} {rate}"),
        Value::Threshold(threshold) => format!(" {name} {threshold}"),
        Value::Choice(choice) => format!(" {name} {choice}"),
        Value::Keyword(word) => format!(" {word}"),
        Value::List(list) => format!(" {name} {}", list.to_string().replace(',', " ")),
    })
}

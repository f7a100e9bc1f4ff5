//! A scheme as `tc` writes it, by the syntax in its description.
//!
//! Names and defaults of gentle-aqm are those of Linux, so only the given options are written, plus those that `tc`
//! requires or would take from the device. Numbers are written without a unit where `tc` accepts none, times in
//! microseconds, the unit of `tc`.

use crate::plan::PlanError;
use gentle_aqm::{Options, Origin, Spec, TcSyntax, Value};
use gentle_units::Rate;

/// The qdisc and its options, as they follow `handle M:`; `None`: Linux has no such scheme of its own.
///
/// `link` is the rate of the link, for schemes that need it and do not specify it.
pub(crate) fn words(spec: &Spec, link: Option<Rate>) -> Result<Option<String>, PlanError> {
    match spec.scheme().linux {
        Some(form) if form.qdisc.origin == Origin::Linux => qdisc(spec, &form, link).map(Some),
        _ => Ok(None),
    }
}

/// The words for a scheme as `form` has it, without its child.
pub(crate) fn qdisc(spec: &Spec, form: &TcSyntax, link: Option<Rate>) -> Result<String, PlanError> {
    let mut words = form.qdisc.kind.to_owned();
    if !form.fixed.is_empty() {
        words.push(' ');
        words.push_str(form.fixed);
    }
    words.push_str(&options(spec, form, link)?);
    Ok(words)
}

/// The options of a scheme as `form` has them, each with a blank before it.
pub(crate) fn options(
    spec: &Spec,
    form: &TcSyntax,
    link: Option<Rate>,
) -> Result<String, PlanError> {
    let scheme = spec.scheme().name;
    for (option, instead) in form.refused {
        refuse(scheme, spec.options(), option, instead)?;
    }
    let mut words = String::new();
    for (name, value) in written(spec.options(), form.always, link) {
        if !form.refused.iter().any(|(refused, _)| *refused == name) {
            words.push_str(&word(spec, form, name, value)?);
        }
    }
    Ok(words)
}

/// RED's option for the link rate, by which the average decays while the queue is empty (tc-red(8)).
const LINK_RATE: &str = "bandwidth";

/// The options that were given or are named in `always`, in the order of declaration. `link` is the rate of the link, which
/// takes the place of a default that stands for it.
fn written<'a>(
    options: &'a Options,
    always: &'a [&str],
    link: Option<Rate>,
) -> impl Iterator<Item = (&'static str, Value)> + 'a {
    options.iter().filter_map(move |(name, value)| {
        let given = options.given().any(|(given, _)| given == name);
        let value = value.filter(|_| given || always.contains(&name))?;
        match link {
            Some(rate) if name == LINK_RATE && !given => Some((name, Value::Rate(rate))),
            _ => Some((name, value)),
        }
    })
}

fn refuse(
    scheme: &'static str,
    options: &Options,
    option: &'static str,
    instead: &'static str,
) -> Result<(), PlanError> {
    let off = |value: &Value| matches!(value, Value::Flag(false)) || is_no_time(value);
    match options
        .given()
        .find(|(name, value)| *name == option && !off(value))
    {
        None => Ok(()),
        Some(_) => Err(PlanError::NotInLinux {
            scheme,
            option,
            instead,
        }),
    }
}

fn is_no_time(value: &Value) -> bool {
    matches!(value, Value::Time(t) if t.0 == 0)
}

/// One option as `tc` reads it, with a blank before it.
fn word(
    spec: &Spec,
    form: &TcSyntax,
    name: &'static str,
    value: Value,
) -> Result<String, PlanError> {
    Ok(match value {
        Value::Flag(true) => format!(" {name}"),
        // Flags that `tc` can only switch on are off when they are not written.
        Value::Flag(false) => form
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
        Value::Real(x) => format!(" {name} {x}"),
        Value::Rate(rate) => format!(" {name} {rate}"),
        Value::Threshold(threshold) => format!(" {name} {threshold}"),
        Value::Choice(word) => format!(" {name} {word}"),
    })
}

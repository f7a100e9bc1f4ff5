//! Arguments of `tc` for schemes that Linux implements.
//!
//! Names and defaults of gentle-aqm are those of Linux, so only the given options are written, plus those that `tc`
//! requires or would take from the device. Numbers are written without a unit where `tc` accepts none, times in
//! microseconds, the unit of `tc`.

use crate::plan::PlanError;
use gentle_aqm::{Options, Spec, Value};
use gentle_units::Rate;

/// Mapping of a scheme's options to `tc`.
struct Form {
    /// Name of the qdisc, with arguments that are always present.
    kind: &'static str,
    /// Options written even if not given.
    always: &'static [&'static str],
    /// Options that neither `tc` nor Linux supports, with a remedy.
    refused: &'static [(&'static str, &'static str)],
}

const NO_EWMA: (&str, &str) = (
    "ewma",
    "tc derives the weight of the average from burst; give that",
);
const NO_GENTLE: (&str, &str) = ("gentle", "Linux has no gentle RED; leave it out");
const NO_DELAY: (&str, &str) = (
    "delay",
    "the FIFOs of Linux have no limit in time; leave it out, or use codel",
);
const RED_ALWAYS: &[&str] = &["limit", "avpkt", "bandwidth"];

fn form(scheme: &str) -> Option<Form> {
    let form = |kind, always, refused| {
        Some(Form {
            kind,
            always,
            refused,
        })
    };
    match scheme {
        // Without a limit, they take the device's txqueuelen.
        "pfifo" => form("pfifo", &["limit"], &[NO_DELAY]),
        "bfifo" => form("bfifo", &["limit"], &[NO_DELAY]),
        "red" => form("red", RED_ALWAYS, &[NO_EWMA, NO_GENTLE]),
        "ared" => form("red adaptive", RED_ALWAYS, &[NO_EWMA, NO_GENTLE]),
        "choke" => form("choke", RED_ALWAYS, &[NO_EWMA, NO_GENTLE]),
        "codel" => form("codel", &[], &[]),
        "fq_codel" => form("fq_codel", &[], &[]),
        "pie" => form("pie", &[], &[]),
        "fq_pie" => form("fq_pie", &[], &[]),
        "sfq" => form("sfq", &[], &[]),
        _ => None,
    }
}

/// Qdisc and options, as they follow `handle M:`; `None` if Linux does not implement the scheme.
///
/// `link` is the rate of the link, for schemes that need it and do not specify it.
pub(crate) fn words(spec: &Spec, link: Option<Rate>) -> Result<Option<String>, PlanError> {
    let scheme = spec.scheme().name;
    let Some(form) = form(scheme) else {
        return Ok(None);
    };
    for (option, instead) in form.refused {
        refuse(scheme, spec.options(), option, instead)?;
    }
    let mut words = form.kind.to_owned();
    for (name, value) in written(spec.options(), form.always, link) {
        if form.refused.iter().any(|(refused, _)| *refused == name) {
            continue;
        }
        words.push_str(&word(scheme, name, value)?);
    }
    Ok(Some(words))
}

/// RED's option for the link rate, by which the average decays while the queue is empty (tc-red(8)).
const LINK_RATE: &str = "bandwidth";

/// Options that were given or are named in `always`, in the order of declaration. `link` is the rate of the link, which
/// replaces the default of the option for it.
pub(crate) fn written<'a>(
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

/// Option as `tc` reads it, with a leading blank.
pub(crate) fn word(
    scheme: &'static str,
    name: &'static str,
    value: Value,
) -> Result<String, PlanError> {
    Ok(match value {
        Value::Flag(true) => format!(" {name}"),
        Value::Flag(false) => off(scheme, name),
        Value::Time(t) if t.0.is_multiple_of(1_000) => format!(" {name} {t}"),
        Value::Time(_) => return Err(PlanError::Microseconds { scheme, name }),
        Value::Size(bytes) => format!(" {name} {bytes}"),
        Value::Count(n) => format!(" {name} {n}"),
        Value::Real(x) => format!(" {name} {x}"),
        Value::Rate(rate) => format!(" {name} {rate}"),
        Value::Threshold(threshold) => format!(" {name} {threshold}"),
        Value::Choice(word) => format!(" {name} {word}"),
    })
}

/// Argument of `tc` that switches a flag off; flags without one are off if not written.
fn off(scheme: &str, flag: &str) -> String {
    match (scheme, flag) {
        ("codel" | "fq_codel" | "pie" | "fq_pie", "ecn") | ("pie" | "fq_pie", "bytemode") => {
            format!(" no{flag}")
        }
        ("pie" | "fq_pie", "dq_rate_estimator") => format!(" no_{flag}"),
        _ => String::new(),
    }
}

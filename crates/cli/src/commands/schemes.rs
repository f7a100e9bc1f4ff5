//! `gentle schemes`.

use crate::args::SchemesArgs;
use crate::output::print;
use anyhow::anyhow;
use gentle_aqm::{OptionSpec, Scheme, registry};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::process::ExitCode;

pub(crate) fn run(args: &SchemesArgs) -> anyhow::Result<ExitCode> {
    let schemes: Vec<&Scheme> = match &args.name {
        None => registry::SCHEMES.to_vec(),
        Some(name) => {
            let scheme = registry::find(name).ok_or_else(|| {
                let names: Vec<&str> = registry::SCHEMES.iter().map(|s| s.name).collect();
                anyhow!(
                    "unknown scheme '{name}'; the schemes are: {}",
                    names.join(", ")
                )
            })?;
            vec![scheme]
        }
    };
    if args.json {
        let list: Vec<Value> = schemes.iter().map(|scheme| as_json(scheme)).collect();
        print(&format!("{}\n", serde_json::to_string_pretty(&list)?))?;
        return Ok(ExitCode::SUCCESS);
    }
    let text: Vec<String> = schemes.iter().map(|scheme| as_text(scheme)).collect();
    print(&text.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn as_text(scheme: &Scheme) -> String {
    let mut text = format!("{}: {}\n", scheme.name, scheme.summary);
    let _ = writeln!(text, "    source: {}", scheme.source);
    for option in scheme.options {
        let _ = writeln!(
            text,
            "    {:<14} {} [{}; {}]",
            option.name,
            option.help,
            default(option),
            option.kind
        );
    }
    if let Some(child) = scheme.child {
        let _ = writeln!(
            text,
            "    {:<14} the scheme beneath; its options are accepted too [{child}; any that stores packets]",
            "child"
        );
    }
    text
}

fn default(option: &OptionSpec) -> &'static str {
    option.default.unwrap_or("derived")
}

fn as_json(scheme: &Scheme) -> Value {
    let options: Vec<Value> = scheme
        .options
        .iter()
        .map(|option| {
            json!({
                "name": option.name,
                "default": option.default,
                "accepts": option.kind.to_string(),
                "help": option.help,
            })
        })
        .collect();
    json!({
        "name": scheme.name,
        "summary": scheme.summary,
        "source": scheme.source,
        "child": scheme.child,
        "options": options,
    })
}

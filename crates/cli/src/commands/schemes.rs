//! `gentle schemes`.

use crate::args::SchemesArgs;
use crate::output::{Terminal, definitions, print};
use gentle_aqm::{OptionSpec, Scheme, registry};
use serde_json::{Value, json};
use std::process::ExitCode;

pub(crate) fn run(args: &SchemesArgs) -> anyhow::Result<ExitCode> {
    let schemes: Vec<&Scheme> = registry::SCHEMES
        .iter()
        .copied()
        .filter(|scheme| args.name.as_ref().is_none_or(|name| scheme.name == name))
        .collect();
    if args.json {
        let list: Vec<Value> = schemes.iter().map(|scheme| as_json(scheme)).collect();
        print(&format!("{}\n", serde_json::to_string_pretty(&list)?))?;
        return Ok(ExitCode::SUCCESS);
    }
    let width = Terminal::of_stdout().width;
    let text: Vec<String> = schemes.iter().map(|s| as_text(s, width)).collect();
    print(&text.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn as_text(scheme: &Scheme, width: Option<usize>) -> String {
    let mut options: Vec<[String; 3]> = scheme
        .options
        .iter()
        .map(|option| {
            [
                option.name.to_owned(),
                default(option).to_owned(),
                format!("{} ({})", option.help, option.kind),
            ]
        })
        .collect();
    if let Some(child) = scheme.child {
        options.push([
            "child".to_owned(),
            child.to_owned(),
            "the scheme beneath, any that stores packets itself; its options are accepted too"
                .to_owned(),
        ]);
    }
    format!(
        "{}: {}\n  source: {}\n{}",
        scheme.name,
        scheme.summary,
        scheme.source,
        definitions(options, width)
    )
}

fn default(option: &OptionSpec) -> &'static str {
    option.default.unwrap_or("unset")
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

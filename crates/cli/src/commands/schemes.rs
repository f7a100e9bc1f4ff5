//! The command `gentle schemes`.

use crate::args::SchemesArgs;
use crate::output::{Terminal, definitions, print};
use gentle_aqm::{OptionSpec, Scheme, registry};
use serde_json::{Value, json};
use std::process::ExitCode;

pub(crate) fn run(args: &SchemesArgs) -> anyhow::Result<ExitCode> {
    let asked = |scheme: &&Scheme| match &args.name {
        Some(name) => scheme.name == name,
        None => scheme.listed,
    };
    let schemes = registry::SCHEMES.iter().copied().filter(asked);
    let text = if args.json {
        let list: Vec<Value> = schemes.map(as_json).collect();
        serde_json::to_string_pretty(&list)? + "\n"
    } else {
        let width = Terminal::of_stdout().width;
        match args.name {
            Some(_) => schemes.map(|scheme| as_text(scheme, width)).collect(),
            None => as_list(schemes, width),
        }
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn as_list(schemes: impl Iterator<Item = &'static Scheme>, width: Option<usize>) -> String {
    let rows = schemes.map(|scheme| [scheme.name.to_owned(), scheme.summary.to_owned()]);
    let list = definitions(rows.collect(), width);
    format!("{list}\ngentle schemes NAME shows the options of one.\n")
}

fn as_text(scheme: &Scheme, width: Option<usize>) -> String {
    let mut options: Vec<[String; 3]> = scheme
        .options
        .iter()
        .map(|option| {
            [option.name.to_owned(), default(option).to_owned(), format!("{} ({})", option.help, option.kind)]
        })
        .collect();
    if let Some(child) = scheme.child {
        options.push([
            "child".to_owned(),
            child.name.to_owned(),
            match scheme.shaper {
                Some(_) => "any inner scheme; all options after it belong to it".to_owned(),
                None => "any inner scheme that stores packets itself; its options are accepted too".to_owned(),
            },
        ]);
    }
    format!("{}: {}\n  source: {}\n{}", scheme.name, scheme.summary, scheme.source, definitions(options, width))
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
        "child": scheme.child.map(|child| child.name),
        "options": options,
    })
}

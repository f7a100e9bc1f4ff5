//! The command `gentle profiles`.

use crate::args::ProfilesArgs;
use crate::output::{Terminal, definitions, print};
use gentle_tcp::{Knob, KnobError, Profile};
use serde_json::{Value, json};
use std::process::ExitCode;

pub(crate) fn run(args: &ProfilesArgs) -> anyhow::Result<ExitCode> {
    let text = match (&args.name, args.json) {
        (None, false) => as_list()?,
        (Some(name), false) => as_text(name)?,
        (name, true) => {
            let list = Profile::NAMES
                .iter()
                .filter(|known| name.as_ref().is_none_or(|name| name == *known))
                .map(|name| as_json(name))
                .collect::<anyhow::Result<Vec<Value>>>()?;
            serde_json::to_string_pretty(&list)? + "\n"
        }
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn as_list() -> anyhow::Result<String> {
    let row = |name: &&str| Ok([(*name).to_owned(), Profile::summary(name)?.to_owned()]);
    let rows = Profile::NAMES.iter().map(row);
    let rows = rows.collect::<anyhow::Result<Vec<_>>>()?;
    let list = definitions(rows, Terminal::of_stdout().width);
    Ok(format!("{list}\ngentle profiles NAME shows the knobs of one.\n"))
}

fn as_text(name: &str) -> anyhow::Result<String> {
    let profile = Profile::by_name(name)?;
    let knobs = Profile::knobs()
        .iter()
        .map(|knob| Ok([knob.name.to_owned(), profile.get(knob.name)?, format!("{} ({})", knob.help, knob.takes)]))
        .collect::<Result<Vec<_>, KnobError>>()?;
    let list = definitions(knobs, Terminal::of_stdout().width);
    Ok(format!("{name}: {}\n{list}", Profile::summary(name)?))
}

fn as_json(name: &str) -> anyhow::Result<Value> {
    let profile = Profile::by_name(name)?;
    let knob = |knob: &Knob| -> anyhow::Result<Value> {
        Ok(json!({
            "name": knob.name,
            "value": profile.get(knob.name)?,
            "takes": knob.takes,
            "help": knob.help,
        }))
    };
    let knobs = Profile::knobs().iter().map(knob).collect::<anyhow::Result<Vec<Value>>>()?;
    Ok(json!({ "name": name, "summary": Profile::summary(name)?, "knobs": knobs }))
}

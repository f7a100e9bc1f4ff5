//! `gentle profiles`.

use crate::args::ProfilesArgs;
use crate::output::{Terminal, definitions, print};
use gentle_tcp::{Knob, KnobError, Profile};
use serde_json::{Value, json};
use std::process::ExitCode;

pub(crate) fn run(args: &ProfilesArgs) -> anyhow::Result<ExitCode> {
    let text = match (&args.name, args.json) {
        (None, false) => format!(
            "{}\n\ngentle profiles NAME lists the knobs of one.\n",
            Profile::NAMES.join("\n")
        ),
        (Some(name), false) => as_text(&Profile::by_name(name)?)?,
        (name, true) => {
            let list = Profile::NAMES
                .iter()
                .filter(|known| name.as_ref().is_none_or(|name| name == *known))
                .map(|name| as_json(name, &Profile::by_name(name)?))
                .collect::<anyhow::Result<Vec<Value>>>()?;
            format!("{}\n", serde_json::to_string_pretty(&list)?)
        }
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn as_text(profile: &Profile) -> anyhow::Result<String> {
    let knobs = Profile::knobs()
        .iter()
        .map(|knob| {
            Ok([
                knob.name.to_owned(),
                profile.get(knob.name)?,
                format!("{} ({})", knob.help, knob.takes),
            ])
        })
        .collect::<Result<Vec<_>, KnobError>>()?;
    Ok(definitions(knobs, Terminal::of_stdout().width))
}

fn as_json(name: &str, profile: &Profile) -> anyhow::Result<Value> {
    let knob = |knob: &Knob| -> anyhow::Result<Value> {
        Ok(json!({
            "name": knob.name,
            "value": profile.get(knob.name)?,
            "takes": knob.takes,
            "help": knob.help,
        }))
    };
    let knobs = Profile::knobs()
        .iter()
        .map(knob)
        .collect::<anyhow::Result<Vec<Value>>>()?;
    Ok(json!({ "name": name, "knobs": knobs }))
}

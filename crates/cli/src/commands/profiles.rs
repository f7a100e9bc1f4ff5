//! `gentle profiles`.

use crate::args::ProfilesArgs;
use crate::output::print;
use gentle_tcp::Profile;
use std::fmt::Write as _;
use std::process::ExitCode;

pub(crate) fn run(args: &ProfilesArgs) -> anyhow::Result<ExitCode> {
    let mut text = String::new();
    match &args.name {
        None => {
            for name in Profile::NAMES {
                let _ = writeln!(text, "{name}");
            }
            text.push_str("\ngentle profiles NAME lists its knobs.\n");
        }
        Some(name) => {
            let profile = Profile::by_name(name)?;
            for knob in Profile::knobs() {
                let value = profile.get(knob.name)?;
                let _ = writeln!(text, "{:<22} {value:<14} {}", knob.name, knob.help);
            }
        }
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

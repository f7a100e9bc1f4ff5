//! The commands `gentle completions` and `gentle man`, generated from the definitions of the flags.

use crate::args::{CompletionsArgs, ManArgs, command};
use crate::output::{OutputFile, print};
use anyhow::Context;
use clap::Command;
use clap_complete::Shell;
use clap_complete::env::Shells;
use std::process::ExitCode;

/// Environment variable by which a shell's completion script calls this program.
pub(crate) const COMPLETE: &str = "GENTLE_COMPLETE";

/// Name of the program, as called by the completion script.
const NAME: &str = "gentle";

/// On first use, zsh runs a file in its `fpath` as the completion function itself.
const AUTOLOADED: &str = "\
if [[ \"${funcstack[1]}\" == _gentle ]]; then
    _clap_dynamic_completer_gentle \"$@\"
fi
";

pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let shells = Shells::builtins();
    let shell = args.shell.to_string();
    let completer =
        shells.completer(&shell).with_context(|| format!("{shell}: no completion script for this shell"))?;
    let mut script = Vec::new();
    completer.write_registration(COMPLETE, NAME, NAME, NAME, &mut script)?;
    if args.shell == Shell::Zsh {
        script.extend_from_slice(AUTOLOADED.as_bytes());
    }
    print(&String::from_utf8(script).context("completions are text")?)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn man(args: &ManArgs) -> anyhow::Result<ExitCode> {
    std::fs::create_dir_all(&args.directory).with_context(|| args.directory.display().to_string())?;
    let mut command = command().disable_help_subcommand(true);
    command.build();
    for command in pages(command) {
        let page = format!("{}.1", command.get_name());
        let mut file = OutputFile::create(&args.directory.join(page))?;
        let mut source = Vec::new();
        clap_mangen::Man::new(command).render(&mut source)?;
        let source = String::from_utf8(source).context("manual pages are text")?;
        file.write(in_ascii(&source).as_bytes())?;
        file.commit()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Text for groff, which reads bytes as Latin-1: other characters become its escapes, `\[u2013]`.
fn in_ascii(text: &str) -> String {
    let mut ascii = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter.is_ascii() {
            true => ascii.push(letter),
            false => ascii += &format!("\\[u{:04X}]", u32::from(letter)),
        }
    }
    ascii
}

/// Command and all its subcommands, each under the name of its page: `gentle-testbed-build`.
fn pages(command: Command) -> Vec<Command> {
    let mut pages = Vec::new();
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let name = format!("{}-{}", command.get_name(), sub.get_name());
        pages.extend(self::pages(sub.clone().name(name)));
    }
    pages.push(command);
    pages
}

//! `gentle completions` and `gentle man`: generated from the flags' definitions.

use crate::args::{Args, CompletionsArgs, ManArgs};
use crate::output::{OutputFile, print};
use anyhow::Context;
use clap::{Command, CommandFactory};
use std::process::ExitCode;

pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "gentle", &mut script);
    print(&String::from_utf8(script).context("completions are text")?)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn man(args: &ManArgs) -> anyhow::Result<ExitCode> {
    std::fs::create_dir_all(&args.directory)
        .with_context(|| args.directory.display().to_string())?;
    let mut command = Args::command().disable_help_subcommand(true);
    command.build();
    for command in pages(command) {
        let page = format!("{}.1", command.get_name());
        let mut file = OutputFile::create(&args.directory.join(page))?;
        clap_mangen::Man::new(command)
            .render(&mut file)
            .with_context(|| file.name())?;
        file.commit()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A command and all below it, each under the name of its page: `gentle-testbed-build`.
fn pages(command: Command) -> Vec<Command> {
    let mut pages = Vec::new();
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let name = format!("{}-{}", command.get_name(), sub.get_name());
        pages.extend(self::pages(sub.clone().name(name)));
    }
    pages.push(command);
    pages
}

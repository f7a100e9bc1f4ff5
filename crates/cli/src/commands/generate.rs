//! `gentle completions` and `gentle man`: generated from the flags' definitions.

use crate::args::{Args, CompletionsArgs, ManArgs};
use crate::output::{OutputFile, print};
use anyhow::Context;
use clap::CommandFactory;
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
    let mut pages = vec![(command.get_name().to_owned(), command.clone())];
    for sub in command.get_subcommands() {
        let name = format!("gentle-{}", sub.get_name());
        pages.push((name.clone(), sub.clone().name(name)));
    }
    for (name, command) in pages {
        let mut file = OutputFile::create(&args.directory.join(format!("{name}.1")))?;
        clap_mangen::Man::new(command)
            .render(&mut file)
            .with_context(|| file.name())?;
        file.commit()?;
    }
    Ok(ExitCode::SUCCESS)
}

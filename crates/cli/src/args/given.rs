//! Which options stand on the command line.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Id};

/// The options that were given and not left at their defaults. Flattened into other arguments it has to be the first
/// field: those before it take their options out of what clap has found.
#[derive(Debug, Default)]
pub(crate) struct Given(Vec<Id>);

impl Given {
    /// Whether an option was given.
    pub(crate) fn has(&self, option: &str) -> bool {
        self.0.iter().any(|given| given.as_str() == option)
    }
}

impl Args for Given {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Given, Error> {
        let mut given = Given::default();
        given.update_from_arg_matches(matches)?;
        Ok(given)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        let given = |id: &&Id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        self.0 = matches.ids().filter(given).cloned().collect();
        Ok(())
    }
}

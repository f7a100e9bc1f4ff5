//! Rejection of options without effect.

use crate::args::{Engine, RexmitArgs};
use crate::usage::Usage;

/// Engine that uses an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum User {
    Both,
    Wire,
    Kernel,
}

/// All options, as they are written.
const OPTIONS: &[(&str, User)] = &[
    ("client", User::Both),
    ("server", User::Both),
    ("port", User::Both),
    ("only", User::Both),
    ("except", User::Both),
    ("with-data", User::Wire),
    ("delay", User::Both),
    ("initial", User::Both),
    ("min", User::Both),
    ("max", User::Both),
    ("backoff", User::Wire),
    ("jitter", User::Wire),
    ("edge", User::Both),
    ("age", User::Wire),
    ("learned", User::Both),
    ("retries", User::Wire),
    ("duplicate", User::Wire),
    ("budget", User::Wire),
    ("share", User::Wire),
    ("give-up", User::Wire),
    ("table", User::Wire),
    ("dry-run", User::Wire),
    ("stack-rto", User::Wire),
    ("engine", User::Both),
    ("interface", User::Wire),
    ("cgroup", User::Kernel),
    ("log-json", User::Wire),
    ("metrics", User::Wire),
    ("run-dir", User::Wire),
    ("user", User::Wire),
];

/// Rejects options that have no effect.
pub(super) fn check(args: &RexmitArgs) -> Result<(), Usage> {
    let given = |option: &str| args.given.has(&option.replace('-', "_"));
    let engine = args.place.engine;
    if args.remove {
        if engine == Engine::Wire && given("engine") {
            return refuse(
                "--remove is about the kernel engine: the wire engine leaves nothing behind when it ends",
            );
        }
        let used = ["cgroup", "engine"];
        let options = OPTIONS.iter().map(|(option, _)| option);
        return match options
            .copied()
            .find(|option| given(option) && !used.contains(option))
        {
            Some(option) => refuse(&format!("--remove takes no --{option}; leave it out")),
            None => Ok(()),
        };
    }
    let (other, whose, users) = match engine {
        Engine::Wire => (User::Kernel, "the kernel engine's", "--engine kernel"),
        Engine::Kernel => (User::Wire, "the wire engine's", "--engine wire"),
    };
    for (option, user) in OPTIONS {
        if *user == other && given(option) {
            return refuse(&match (*option, engine) {
                ("retries", _) => "--engine kernel takes no --retries: TCP repeats a SYN as often as net.ipv4.tcp_syn_retries \
                                   says, a SYN/ACK as often as net.ipv4.tcp_synack_retries; leave it out"
                    .to_owned(),
                ("cgroup", _) => "--cgroup is the kernel engine's; the wire engine serves an --interface".to_owned(),
                _ => format!("--{option} is {whose}; leave it out, or say {users}"),
            });
        }
    }
    without_effect(engine, given)
}

/// Rejects options of an engine that other options make ineffective.
fn without_effect(engine: Engine, given: impl Fn(&str) -> bool) -> Result<(), Usage> {
    let fixed = given("delay");
    if fixed && given("initial") {
        return refuse(
            "--initial is the delay where nothing has been learned; with --delay it does nothing, leave one out",
        );
    }
    match engine {
        Engine::Wire if fixed && given("min") && !given("edge") => refuse(
            "--min is a bound of what is learned; with --delay it does nothing without --edge",
        ),
        Engine::Kernel if fixed && given("learned") => {
            refuse("--engine kernel with --delay makes no use of --learned; leave one of them out")
        }
        Engine::Kernel if !given("learned") => {
            match ["min", "max", "edge"]
                .into_iter()
                .find(|option| given(option))
            {
                Some(option) => refuse(&format!(
                    "--{option} is about learned delays; --engine kernel learns none itself, give it what a wire engine has \
                     --learned"
                )),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn refuse(usage: &str) -> Result<(), Usage> {
    Err(Usage(usage.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, Command};

    #[test]
    fn every_option_is_somebodys() {
        let command = RexmitArgs::augment_args(Command::new("rexmit"));
        let options = command
            .get_arguments()
            .map(|argument| argument.get_long().expect("a name"));
        let mut options: Vec<&str> = options.filter(|option| *option != "remove").collect();
        let mut known: Vec<&str> = OPTIONS.iter().map(|(option, _)| *option).collect();
        options.sort_unstable();
        known.sort_unstable();
        assert_eq!(options, known);
    }

    #[test]
    fn options_are_named_as_they_are_written() {
        for argument in RexmitArgs::augment_args(Command::new("rexmit")).get_arguments() {
            let written = argument.get_long().map(|long| long.replace('-', "_"));
            assert_eq!(written.as_deref(), Some(argument.get_id().as_str()));
        }
    }
}

//! `gentle testbed`.

use clap::{Args as ClapArgs, Subcommand};
use std::ffi::OsString;
use std::time::Duration;

const EXEC_EXAMPLES: &str = "\
Examples:
  gentle testbed exec -- uname -a
  gentle testbed exec -- sleep 1000
  gentle testbed exec -- sh -c 'ip link add d0 type dummy; tc qdisc add dev d0 root cake; tc -s qdisc show dev d0'

Exit code: that of the program.";

#[derive(Debug, ClapArgs)]
pub(crate) struct TestbedArgs {
    #[command(subcommand)]
    pub(crate) command: TestbedCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TestbedCommand {
    /// Run a program as root of a machine of its own
    Exec(ExecArgs),
    /// The testbed's own: its stages on the host and in the machine
    #[command(hide = true)]
    Guest(GuestArgs),
}

#[derive(Debug, ClapArgs)]
#[command(after_long_help = EXEC_EXAMPLES)]
pub(crate) struct ExecArgs {
    /// The program and its arguments; it sees this computer's files, read-only
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub(crate) argv: Vec<String>,

    #[command(flatten)]
    pub(crate) machine: MachineArgs,
}

/// What the machine is like.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Machine")]
pub(crate) struct MachineArgs {
    /// The kernel that watches for mistakes: lockdep, KASAN, kmemleak, UBSAN; what it finds goes to standard error
    #[arg(long)]
    pub(crate) debug: bool,

    /// Its memory in MiB, 64 to 65536
    #[arg(long, value_name = "MIB", default_value_t = 512, value_parser = clap::value_parser!(u32).range(64..=65_536))]
    pub(crate) memory: u32,

    /// A clock like this computer's instead of one that jumps over idle time
    #[arg(long)]
    pub(crate) real_time: bool,

    /// Stop it after so many seconds by the clock on the wall
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = seconds)]
    pub(crate) time_limit: Duration,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct GuestArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) stage: Vec<OsString>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds @ 1..=604_800) => Ok(Duration::from_secs(seconds)),
        _ => Err("expected whole seconds, 1 to 604800".to_owned()),
    }
}

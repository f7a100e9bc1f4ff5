//! `gentle testbed`.

use clap::{Args as ClapArgs, Subcommand, ValueHint};
use std::ffi::OsString;
use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

const BUILD_EXAMPLES: &str = "\
Examples:
  gentle testbed build
  gentle testbed build --source linux-7.2.12.tar.xz
  gentle testbed build --debug

The kernel is kept in $XDG_CACHE_HOME/gentle/testbed, or ~/.cache/gentle/testbed; removing that directory is safe.";

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
    /// Build the kernel of the machines, unless it has been built already
    Build(BuildArgs),
    /// Run a program as root of a machine of its own
    Exec(ExecArgs),
    /// The testbed's own: its stages on the host and in the machine
    #[command(hide = true)]
    Guest(GuestArgs),
}

#[derive(Debug, ClapArgs)]
#[command(after_long_help = BUILD_EXAMPLES)]
pub(crate) struct BuildArgs {
    /// The kernel's source: an archive (.tar, .tar.xz, .tar.gz) or a directory, Linux 7.2 or later
    ///
    /// Without it, what the distribution has installed in /usr/src is taken, or else its package is fetched.
    #[arg(long, value_name = "SOURCE", value_hint = ValueHint::AnyPath)]
    pub(crate) source: Option<PathBuf>,

    /// The kernel that watches for mistakes: lockdep, KASAN, kmemleak, UBSAN
    #[arg(long)]
    pub(crate) debug: bool,

    /// Build it even if it has been built already
    #[arg(long)]
    pub(crate) force: bool,

    /// Compilers at a time [default: one for each core]
    #[arg(long, short, value_name = "N")]
    pub(crate) jobs: Option<NonZero<usize>>,

    /// No progress bar
    #[arg(long, short)]
    pub(crate) quiet: bool,
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

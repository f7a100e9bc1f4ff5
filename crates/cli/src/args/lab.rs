//! Options of `gentle lab`.

use clap::Args as ClapArgs;

const EXAMPLES: &str = "\
Examples:
  gentle lab
  gentle lab --no-open --port 9000     # then open http://127.0.0.1:9000 in a browser";

#[derive(Debug, ClapArgs)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct LabArgs {
    /// Port on 127.0.0.1; 0: any free port
    #[arg(long, value_name = "PORT", default_value = "8087")]
    pub(crate) port: u16,

    /// Print the address and open no browser
    #[arg(long)]
    pub(crate) no_open: bool,
}

//! Names of addresses, for `analyze`, `merge` and `watch`.

use clap::{Args as ClapArgs, ValueHint};
use std::path::PathBuf;

#[derive(Debug, ClapArgs)]
pub(crate) struct NamesArgs {
    /// Show the names of prefixes and addresses in this file: lines "PREFIX NAME", /etc/hosts, or the JSON of kubectl
    /// get services,pods,endpointslices -A -o json; - for standard input; repeatable
    ///
    /// The longest prefix counts. For the same prefix, a line precedes Kubernetes, and the first of several lines
    /// counts. An address without a name in a file has the name of the last DNS answer with it.
    #[arg(long = "names", id = "names", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
}

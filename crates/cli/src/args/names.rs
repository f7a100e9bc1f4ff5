//! Names of addresses, for `analyze`, `merge` and `watch`.

use clap::{Args as ClapArgs, ValueHint};
use std::path::PathBuf;

#[derive(Debug, ClapArgs)]
pub(crate) struct NamesArgs {
    /// File with names of prefixes and addresses, shown with them: lines "PREFIX NAME", /etc/hosts, or the JSON of
    /// kubectl get services,pods,endpointslices -A -o json; - for standard input; repeatable
    ///
    /// The longest prefix counts. Of the same prefix, a line precedes Kubernetes, and what comes first precedes what
    /// follows. Addresses without a name from a file have the name of the last DNS answer with them.
    #[arg(long = "names", id = "names", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
}

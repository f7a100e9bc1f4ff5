//! What a machine's init has to know.

use serde::{Deserialize, Serialize};

/// Written by the host, read by init.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Setup {
    /// File names of the modules to load, in order.
    pub(crate) modules: Vec<String>,
    /// Whether there are plug-ins of `tc`.
    pub(crate) plugins: bool,
    /// The host's path of the directory that the job may write to.
    pub(crate) files: Option<String>,
    /// The program's arguments before the stage.
    pub(crate) arguments: Vec<String>,
}

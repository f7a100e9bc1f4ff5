//! Parameters that the host passes to the init of a machine.

use serde::{Deserialize, Serialize};

/// Parameters of init, written by the host.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Setup {
    /// File names of the modules to load, in order.
    pub(crate) modules: Vec<String>,
    /// Whether plug-ins of `tc` are present.
    pub(crate) plugins: bool,
    /// Host path of the directory that the job may write to.
    pub(crate) files: Option<String>,
    /// Arguments of the program before the stage.
    pub(crate) arguments: Vec<String>,
}

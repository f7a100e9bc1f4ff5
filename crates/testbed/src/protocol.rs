//! Files through which the host and a machine exchange the job and its answer.
//!
//! The host creates a directory, the *share*, for each run of a machine. The guest mounts it at [`SHARE`].

use serde::{Deserialize, Serialize};

/// Mount point of the share in the machine.
pub(crate) const SHARE: &str = "/run/gentle/share";
/// Mount point of [`Machine::files`](crate::machine::Machine::files) in the machine.
pub(crate) const FILES: &str = "/run/gentle/files";
/// Environment variable with the share's path on the host; the kernel passes it to init.
pub(crate) const SHARE_VARIABLE: &str = "GENTLE_SHARE";

/// Name of the packet capture that an experiment writes to the directory of [`FILES`].
pub(crate) const PACKETS: &str = "packets.pcapng";

/// Names of files in the share.
pub(crate) mod share {
    /// [`Setup`](super::Setup) as JSON.
    pub(crate) const SETUP: &str = "setup.json";
    /// [`Job`](crate::job::Job) as JSON.
    pub(crate) const JOB: &str = "job.json";
    /// Answer of the job as JSON.
    pub(crate) const ANSWER: &str = "answer.json";
    /// Error message, if there is no answer.
    pub(crate) const FAILURE: &str = "failure.txt";
    /// Progress of the job, 0 to 1, as decimal text.
    pub(crate) const PROGRESS: &str = "progress";
    /// Report of kmemleak.
    pub(crate) const LEAKS: &str = "kmemleak.txt";
    /// Folder of kernel modules.
    pub(crate) const MODULES: &str = "modules";
    /// Folder of plug-ins of `tc`.
    pub(crate) const PLUGINS: &str = "plugins";
}

/// Parameters of init, written by the host.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Setup {
    /// File names of the modules to load, in order.
    pub(crate) modules: Vec<String>,
    /// Whether the share has plug-ins of `tc`.
    pub(crate) plugins: bool,
    /// Host path of the directory that the job may write to.
    pub(crate) files: Option<String>,
    /// Arguments of the program before the stage.
    pub(crate) arguments: Vec<String>,
}

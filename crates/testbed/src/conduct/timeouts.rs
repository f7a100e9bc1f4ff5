//! The first timeout of SYNs and SYN/ACKs. In Linux it is one second at compile time (`TCP_TIMEOUT_INIT`); the kernel
//! engine of `gentle rexmit` tells the sockets of a control group otherwise.

use gentle_rexmit::kernel_engine::{Attached, Settings, attach};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The group that this process is in while its timeouts are in force.
pub(super) struct Timeouts {
    group: PathBuf,
    /// Where the process was before.
    before: PathBuf,
    programs: Vec<Attached>,
}

/// Puts this process into a new group below `cgroup` whose sockets have these timeouts; of several for the same packet the
/// last counts.
pub(super) fn set(cgroup: &Path, all: &[Settings]) -> Result<Timeouts, String> {
    let group = cgroup.join(format!("gentle-{}", std::process::id()));
    let problem = |error: io::Error| format!("{}: {error}", group.display());
    fs::create_dir(&group).map_err(problem)?;
    let mut timeouts = Timeouts {
        group: group.clone(),
        before: cgroup.to_owned(),
        programs: Vec::new(),
    };
    for settings in all {
        let attached = attach(settings, &group);
        timeouts.programs.push(
            attached
                .map_err(|error| format!("an initial timeout of {:?}: {error}", settings.delay))?,
        );
    }
    join(&group).map_err(problem)?;
    Ok(timeouts)
}

impl Drop for Timeouts {
    fn drop(&mut self) {
        // A group that stays behind does no harm.
        let _ = join(&self.before);
        let _ = fs::remove_dir(&self.group);
    }
}

fn join(group: &Path) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), std::process::id().to_string())
}

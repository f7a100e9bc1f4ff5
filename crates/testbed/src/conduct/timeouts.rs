//! Initial RTO of SYNs and SYN/ACKs. Linux fixes it at one second at compile time (`TCP_TIMEOUT_INIT`); the kernel
//! engine of `gentle rexmit` overrides it for the sockets of a cgroup.

use gentle_rexmit::kernel_engine::{Attached, Settings, attach};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The cgroup that this process is in while the timeouts are in force.
pub(super) struct Timeouts {
    group: PathBuf,
    /// The cgroup of the process before.
    before: PathBuf,
    programs: Vec<Attached>,
}

/// Moves this process into a new cgroup below `cgroup` whose sockets have these timeouts; if several apply to the same
/// packet the last one counts.
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
        // A leftover cgroup does no harm.
        let _ = join(&self.before);
        let _ = fs::remove_dir(&self.group);
    }
}

fn join(group: &Path) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), std::process::id().to_string())
}

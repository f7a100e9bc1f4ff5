//! Initial RTO of SYNs and SYN/ACKs. Linux fixes it at one second at compile time (`TCP_TIMEOUT_INIT`); the kernel
//! engine of `gentle rexmit` overrides it for the sockets of a cgroup.

use super::TrafficError;
use gentle_rexmit::kernel_engine::{Attached, Settings, attach};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Membership of this process in a cgroup whose sockets have other initial RTOs; ends on drop.
pub(super) struct RtoOverride {
    group: PathBuf,
    /// Cgroup to which the process returns.
    before: PathBuf,
    programs: Vec<Attached>,
}

/// Moves this process into a new cgroup below `cgroup` with the initial RTOs of `all`; if several settings apply to the
/// same packet, the last one counts.
pub(super) fn set(cgroup: &Path, all: &[Settings]) -> Result<RtoOverride, TrafficError> {
    let group = cgroup.join(format!("gentle-{}", std::process::id()));
    fs::create_dir(&group).map_err(TrafficError::file(&group))?;
    let mut rto = RtoOverride { group: group.clone(), before: cgroup.to_owned(), programs: Vec::new() };
    for settings in all {
        let attached =
            attach(settings, &group).map_err(|problem| TrafficError::InitialRto { delay: settings.delay, problem })?;
        rto.programs.push(attached);
    }
    join(&group).map_err(TrafficError::file(&group))?;
    Ok(rto)
}

impl Drop for RtoOverride {
    fn drop(&mut self) {
        // A leftover cgroup does no harm.
        let _ = join(&self.before);
        let _ = fs::remove_dir(&self.group);
    }
}

fn join(group: &Path) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), std::process::id().to_string())
}

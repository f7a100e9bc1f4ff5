//! Host directory for a machine's memory: an unlinked file, preferably on tmpfs.

use super::MachineError;
use rustix::fs::{StatVfsMountFlags, statvfs};
use std::path::{Path, PathBuf};

const MIB: u64 = 1 << 20;

/// Finds a directory with `mib` MiB free that is not mounted noexec, as user-mode Linux needs.
pub(super) fn directory(mib: u32) -> Result<PathBuf, MachineError> {
    let mut reasons = Vec::new();
    for place in [PathBuf::from("/dev/shm"), std::env::temp_dir()] {
        match unfit(&place, u64::from(mib) * MIB) {
            None => return Ok(place),
            Some(reason) => reasons.push(format!("{} {reason}", place.display())),
        }
    }
    Err(MachineError::Memory(format!(
        "no place for the {mib} MiB of a machine's memory: {}. Let TMPDIR name a directory with that much room on a file \
         system that is not mounted noexec, or make /dev/shm larger (docker run --shm-size 2g)",
        reasons.join("; ")
    )))
}

fn unfit(place: &Path, needed: u64) -> Option<String> {
    let room = match statvfs(place) {
        Ok(room) => room,
        Err(error) => return Some(format!("cannot be used ({error})")),
    };
    let free = room.f_bavail.saturating_mul(room.f_frsize);
    if room.f_flag.contains(StatVfsMountFlags::NOEXEC) {
        Some("is mounted noexec".to_owned())
    } else if free < needed {
        // The file grows as pages are touched; without free space the machine would die of SIGBUS.
        Some(format!("has {} MiB left", free / MIB))
    } else if let Err(error) = rustix::fs::access(place, rustix::fs::Access::WRITE_OK) {
        Some(format!("cannot be written ({error})"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_is_refused_with_advice() {
        let error = directory(u32::MAX).unwrap_err().to_string();
        assert!(error.contains("4294967295 MiB"), "{error}");
        assert!(error.contains("/dev/shm has "), "{error}");
        assert!(error.contains("TMPDIR"), "{error}");
    }

    #[test]
    fn a_place_that_is_none_is_unfit() {
        let reason = unfit(Path::new("/proc/no-such-place"), 1).unwrap();
        assert!(reason.starts_with("cannot be used"), "{reason}");
    }
}

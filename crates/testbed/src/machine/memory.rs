//! Host directory for a machine's memory: an unlinked file, preferably on tmpfs.

use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::io::Errno;
use std::path::{Path, PathBuf};
use thiserror::Error;

const MIB: u64 = 1 << 20;

/// No directory of the host can hold a machine's memory.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "no place for the {mib} MiB of a machine's memory: {}. Let TMPDIR name a directory with that much room on a file \
     system that is not mounted noexec, or make /dev/shm larger (docker run --shm-size 2g)",
    list(rejected)
)]
pub struct NoMemory {
    /// Memory of the machine, MiB.
    pub mib: u32,
    /// Directories that were tried, with the reasons against them.
    pub rejected: Vec<(PathBuf, Unfit)>,
}

/// Reasons why a directory cannot hold a machine's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Unfit {
    /// The directory does not exist or is not accessible.
    #[error("cannot be used ({0})")]
    Unusable(Errno),
    /// User-mode Linux maps its memory executable.
    #[error("is mounted noexec")]
    Noexec,
    /// The file system is too full.
    #[error("has {free_mib} MiB left")]
    Full {
        /// Free space, MiB.
        free_mib: u64,
    },
    /// The user may not create files there.
    #[error("cannot be written ({0})")]
    ReadOnly(Errno),
}

fn list(rejected: &[(PathBuf, Unfit)]) -> String {
    let reason = |(place, unfit): &(PathBuf, Unfit)| format!("{} {unfit}", place.display());
    let reasons: Vec<String> = rejected.iter().map(reason).collect();
    reasons.join("; ")
}

/// Finds a directory with `mib` MiB free that is not mounted noexec, as user-mode Linux needs.
pub(super) fn directory(mib: u32) -> Result<PathBuf, NoMemory> {
    let mut rejected = Vec::new();
    for place in [PathBuf::from("/dev/shm"), std::env::temp_dir()] {
        match unfit(&place, u64::from(mib) * MIB) {
            None => return Ok(place),
            Some(unfit) => rejected.push((place, unfit)),
        }
    }
    Err(NoMemory { mib, rejected })
}

fn unfit(place: &Path, needed: u64) -> Option<Unfit> {
    let room = match statvfs(place) {
        Ok(room) => room,
        Err(error) => return Some(Unfit::Unusable(error)),
    };
    let free = room.f_bavail.saturating_mul(room.f_frsize);
    if room.f_flag.contains(StatVfsMountFlags::NOEXEC) {
        Some(Unfit::Noexec)
    } else if free < needed {
        // The file grows as pages are touched; without free space the machine would die of SIGBUS.
        Some(Unfit::Full { free_mib: free / MIB })
    } else if let Err(error) = rustix::fs::access(place, rustix::fs::Access::WRITE_OK) {
        Some(Unfit::ReadOnly(error))
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
    fn a_directory_that_does_not_exist_is_unfit() {
        let reason = unfit(Path::new("/proc/no-such-place"), 1);
        assert_eq!(reason, Some(Unfit::Unusable(Errno::NOENT)));
        let text = reason.unwrap().to_string();
        assert!(text.starts_with("cannot be used"), "{text}");
    }
}

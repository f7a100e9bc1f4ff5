//! Control groups.

use super::error::KernelError;
use rustix::fs::fstatfs;
use std::fs::{self, File};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Mount points of control groups; where version 1 is mounted too, version 2 is at the second.
const ROOTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
/// `CGROUP2_SUPER_MAGIC` (include/uapi/linux/magic.h).
const MAGIC: u32 = 0x6367_7270;

/// Control group of version 2.
pub(super) struct Cgroup {
    pub(super) path: PathBuf,
    /// Number of the control group in the kernel.
    pub(super) number: u64,
    directory: File,
}

/// Directory of the root control group of version 2, which contains all processes.
pub fn default_cgroup() -> PathBuf {
    let found = ROOTS
        .iter()
        .map(Path::new)
        .find(|path| Cgroup::open(path).is_ok());
    found.unwrap_or(Path::new(ROOTS[0])).to_owned()
}

impl Cgroup {
    pub(super) fn open(path: &Path) -> Result<Cgroup, KernelError> {
        let problem = |problem: String| KernelError::Cgroup {
            path: path.to_owned(),
            problem,
        };
        let path = fs::canonicalize(path).map_err(|error| problem(error.to_string()))?;
        let directory = File::open(&path).map_err(|error| problem(error.to_string()))?;
        let kind = fstatfs(&directory).map_err(|error| problem(error.to_string()))?;
        if kind.f_type as u32 != MAGIC {
            return Err(problem(
                "not a control group of version 2; /proc/mounts lists where these are (type cgroup2)"
                    .to_owned(),
            ));
        }
        let metadata = directory
            .metadata()
            .map_err(|error| problem(error.to_string()))?;
        Ok(Cgroup {
            path,
            number: metadata.ino(),
            directory,
        })
    }
}

impl AsFd for Cgroup {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

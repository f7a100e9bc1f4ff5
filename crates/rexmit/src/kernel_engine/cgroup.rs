//! Control groups.

use super::error::KernelError;
use rustix::fs::fstatfs;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Mount point of control groups where only version 2 is mounted.
const USUAL: &str = "/sys/fs/cgroup";
/// `CGROUP2_SUPER_MAGIC` (include/uapi/linux/magic.h).
const MAGIC: u32 = 0x6367_7270;

/// Control group of version 2.
pub(super) struct Cgroup {
    pub(super) path: PathBuf,
    /// Number of the control group in the kernel.
    pub(super) number: u64,
    directory: File,
}

/// Directory of the root control group of version 2, which contains all processes: its first mount, at any place, or
/// `/sys/fs/cgroup` if it is not mounted.
pub fn default_cgroup() -> PathBuf {
    let mounts = fs::read("/proc/self/mountinfo").unwrap_or_default();
    root_mounts(&mounts).find(|path| Cgroup::open(path).is_ok()).unwrap_or_else(|| PathBuf::from(USUAL))
}

/// Mount points of the root control group of version 2 in a file of the format `/proc/PID/mountinfo` (proc(5)).
fn root_mounts(mountinfo: &[u8]) -> impl Iterator<Item = PathBuf> {
    mountinfo.split(|&byte| byte == b'\n').filter_map(|line| {
        let mut fields = line.split(|&byte| byte == b' ');
        let (root, mount_point) = (fields.nth(3)?, fields.next()?);
        let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
        (root == b"/" && kind == b"cgroup2").then(|| PathBuf::from(OsString::from_vec(unescaped(mount_point))))
    })
}

/// Field of `mountinfo`, in which blanks and backslashes are octal numbers: `\040`.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        let octal = after
            .first_chunk::<3>()
            .filter(|_| byte == b'\\')
            .and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(octal.unwrap_or(byte));
        rest = match octal {
            Some(_) => &after[3..],
            None => after,
        };
    }
    bytes
}

impl Cgroup {
    pub(super) fn open(path: &Path) -> Result<Cgroup, KernelError> {
        let problem = |problem: String| KernelError::Cgroup { path: path.to_owned(), problem };
        let path = fs::canonicalize(path).map_err(|error| problem(error.to_string()))?;
        let directory = File::open(&path).map_err(|error| problem(error.to_string()))?;
        let kind = fstatfs(&directory).map_err(|error| problem(error.to_string()))?;
        if kind.f_type as u32 != MAGIC {
            return Err(problem(
                "not a control group of version 2, and none is mounted elsewhere; \
                 mount -t cgroup2 none DIRECTORY mounts one for --cgroup DIRECTORY"
                    .to_owned(),
            ));
        }
        let metadata = directory.metadata().map_err(|error| problem(error.to_string()))?;
        Ok(Cgroup { path, number: metadata.ino(), directory })
    }
}

impl AsFd for Cgroup {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::root_mounts;
    use std::path::Path;

    #[test]
    fn the_root_group_is_found_wherever_it_is_mounted() {
        let mountinfo = b"\
30 23 0:26 / /sys/fs/cgroup ro,nosuid shared:9 - tmpfs tmpfs ro,mode=755
31 30 0:27 / /sys/fs/cgroup/systemd rw shared:10 - cgroup cgroup rw,xattr,name=systemd
32 23 0:28 /user.slice /mnt/part rw shared:11 master:1 - cgroup2 cgroup2 rw
33 23 0:28 / /mnt/control\\040groups\\134 rw shared:11 - cgroup2 none rw
34 30 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
short line
";
        let found: Vec<_> = root_mounts(mountinfo).collect();
        let expected = ["/mnt/control groups\\", "/sys/fs/cgroup/unified"];
        assert_eq!(found, expected.map(Path::new));
    }
}

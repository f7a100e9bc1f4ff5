//! State that outlives the command: for each control group, a directory with three objects in the BPF file system.

use super::bpf::{self, Map};
use super::error::KernelError;
use super::settings::Settings;
use rustix::fs::{FlockOperation, flock, statfs};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Mount point of the BPF file system.
const FILE_SYSTEM: &str = "/sys/fs/bpf";
/// Directory below the mount point that contains a directory for each control group.
const DIRECTORY: &str = "gentle-rexmit";
/// `BPF_FS_MAGIC` (include/uapi/linux/magic.h).
const MAGIC: u32 = 0xcafe_4a11;

/// Name of the pinned link, which keeps the program in force.
const LINK: &str = "link";
const SETTINGS: &str = "settings";
const COUNTERS: &str = "counters";

/// Directory of all pins, locked against concurrent changes.
pub(super) struct Pins {
    root: PathBuf,
    _lock: File,
}

/// Settings of a control group, stored as JSON in a map so that all state is in the pins.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    /// Directory of the control group.
    pub(super) cgroup: PathBuf,
    pub(super) settings: Settings,
}

/// Pins of one control group.
#[derive(Debug, Clone)]
pub(super) struct Pinned {
    directory: PathBuf,
}

impl Pins {
    /// Opens the directory of the pins; `None` if it does not exist.
    pub(super) fn open() -> Result<Option<Pins>, KernelError> {
        let root = Path::new(FILE_SYSTEM).join(DIRECTORY);
        match File::open(&root) {
            Ok(directory) => Pins::locked(root, directory).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(problem(&root, error)),
        }
    }

    /// Opens the directory of the pins; creates it if it does not exist.
    pub(super) fn open_or_create() -> Result<Pins, KernelError> {
        let kind = statfs(FILE_SYSTEM).map_err(|error| problem(Path::new(FILE_SYSTEM), error))?;
        if kind.f_type as u32 != MAGIC {
            let missing = "not a BPF file system; mount one with: mount -t bpf bpf /sys/fs/bpf";
            return Err(problem(Path::new(FILE_SYSTEM), missing));
        }
        let root = Path::new(FILE_SYSTEM).join(DIRECTORY);
        match DirBuilder::new().mode(0o700).create(&root) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(problem(&root, error));
            }
            _ => {}
        }
        let directory = File::open(&root).map_err(|error| problem(&root, error))?;
        Pins::locked(root, directory)
    }

    fn locked(root: PathBuf, directory: File) -> Result<Pins, KernelError> {
        flock(&directory, FlockOperation::LockExclusive).map_err(|error| problem(&root, error))?;
        Ok(Pins { root, _lock: directory })
    }

    /// Pins of the control group with this number.
    pub(super) fn of(&self, cgroup: u64) -> Pinned {
        Pinned { directory: self.root.join(format!("cgroup-{cgroup}")) }
    }

    /// Pins of all control groups, in no particular order.
    pub(super) fn all(&self) -> Result<Vec<Pinned>, KernelError> {
        let entries = fs::read_dir(&self.root).map_err(|error| problem(&self.root, error))?;
        entries
            .map(|entry| {
                let entry = entry.map_err(|error| problem(&self.root, error))?;
                Ok(Pinned { directory: entry.path() })
            })
            .collect()
    }

    /// Removes the directory of the pins if it is empty.
    pub(super) fn remove_if_empty(self) -> Result<(), KernelError> {
        match fs::remove_dir(&self.root) {
            Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => Err(problem(&self.root, error)),
            _ => Ok(()),
        }
    }
}

impl Pinned {
    /// Pinned link; `None` if there is none.
    pub(super) fn link(&self) -> Result<Option<OwnedFd>, KernelError> {
        let path = self.directory.join(LINK);
        match bpf::pinned(&path) {
            Ok(link) => Ok(Some(link)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(problem(&path, error)),
        }
    }

    pub(super) fn record(&self) -> Result<Record, KernelError> {
        let path = self.directory.join(SETTINGS);
        let read = || -> io::Result<Record> {
            let bytes = Map::pinned_array(&path)?.look_up(&0_u32.to_ne_bytes())?;
            Ok(serde_json::from_slice(&bytes)?)
        };
        read().map_err(|error| problem(&path, error))
    }

    /// Value of a counter of the program.
    pub(super) fn count(&self, counter: i32) -> Result<u64, KernelError> {
        let path = self.directory.join(COUNTERS);
        let read = || -> io::Result<u64> {
            let bytes = Map::pinned_array(&path)?.look_up(&counter.to_ne_bytes())?;
            let bytes = bytes.try_into();
            bytes.map(u64::from_ne_bytes).map_err(|_| io::Error::other("not a counter"))
        };
        read().map_err(|error| problem(&path, error))
    }

    /// Pins all objects under a temporary name until [`NewPins::commit`].
    pub(super) fn prepare_replacement(
        &self,
        link: &OwnedFd,
        settings: &Map,
        counters: &Map,
    ) -> Result<NewPins, KernelError> {
        let mut name = self.directory.clone().into_os_string();
        name.push("-new");
        let new = Pinned { directory: name.into() };
        // Left over from an interrupted command.
        new.remove()?;
        let new_pins = NewPins { new, old: self.clone() };
        let directory = &new_pins.new.directory;
        let made = DirBuilder::new().mode(0o700).create(directory);
        made.map_err(|error| problem(directory, error))?;
        for (name, object) in [(LINK, link.as_fd()), (SETTINGS, settings.as_fd()), (COUNTERS, counters.as_fd())] {
            let path = directory.join(name);
            if let Err(error) = bpf::pin(object, &path) {
                new_pins.new.remove()?;
                return Err(problem(&path, error));
            }
        }
        Ok(new_pins)
    }

    /// Removes the pins; removing the link detaches the program from its control group.
    pub(super) fn remove(&self) -> Result<(), KernelError> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(problem(&self.directory, error)),
        };
        for entry in entries {
            let path = entry.map_err(|error| problem(&self.directory, error))?.path();
            fs::remove_file(&path).map_err(|error| problem(&path, error))?;
        }
        fs::remove_dir(&self.directory).map_err(|error| problem(&self.directory, error))
    }
}

/// New pins, created next to those in force.
pub(super) struct NewPins {
    new: Pinned,
    old: Pinned,
}

impl NewPins {
    /// Replaces the old pins by the new ones.
    pub(super) fn commit(self) -> Result<(), KernelError> {
        self.old.remove()?;
        let (new, old) = (&self.new.directory, &self.old.directory);
        fs::rename(new, old).map_err(|error| problem(new, error))
    }

    /// Discards the new pins.
    pub(super) fn discard(self) -> Result<(), KernelError> {
        self.new.remove()
    }
}

fn problem(path: &Path, problem: impl ToString) -> KernelError {
    KernelError::Pins { path: path.to_owned(), problem: problem.to_string() }
}

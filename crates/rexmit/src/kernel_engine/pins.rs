//! State that outlives the command: for each control group, a directory with four objects in the BPF file system.

use super::error::{KernelError, from_aya};
use super::program::{COUNTERS, Entry, PROGRAMS, Program, SETTINGS, SettingsChunk};
use super::settings::Settings;
use aya::maps::{Array, Map, MapData, MapError};
use aya::programs::links::{FdLink, PinnedLink};
use rustix::fs::{FlockOperation, flock, statfs};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File};
use std::io;
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
    /// Whether the control group of the pinned link still exists.
    ///
    /// aya does not report the control group of a link; the kernel also writes it to `/proc/self/fdinfo`.
    pub(super) fn in_force(&self) -> Result<bool, KernelError> {
        let path = self.directory.join(LINK);
        let read = || -> io::Result<bool> {
            let link = match PinnedLink::from_pin(&path).map_err(from_aya) {
                Ok(link) => FdLink::from(link),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(error),
            };
            let id = format!("link_id:\t{}", link.info().map_err(from_aya)?.id());
            for entry in fs::read_dir("/proc/self/fdinfo")? {
                // The descriptor of the directory itself is closed by now.
                let text = fs::read_to_string(entry?.path()).unwrap_or_default();
                if text.lines().any(|line| line == id) {
                    return Ok(!text.lines().any(|line| line == "cgroup_id:\t0"));
                }
            }
            Err(io::Error::other("the link is missing in /proc/self/fdinfo"))
        };
        read().map_err(|error| problem(&path, error))
    }

    /// Entry in force, if any; `None` means that the control group of the pins was removed and its number reused, or an
    /// earlier version attached the program itself.
    pub(super) fn entry(&self) -> Result<Option<Entry>, KernelError> {
        if !self.in_force()? {
            return Ok(None);
        }
        let (link, path) = (self.directory.join(LINK), self.directory.join(PROGRAMS));
        let programs = match map(&path).map_err(from_aya) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            programs => programs.map_err(|error| problem(&path, error))?,
        };
        let link = PinnedLink::from_pin(&link).map_err(|error| problem(&link, from_aya(error)))?.into();
        Ok(Some(Entry { link, programs }))
    }

    pub(super) fn record(&self) -> Result<Record, KernelError> {
        let chunks: Vec<SettingsChunk> = self.array(SETTINGS)?;
        serde_json::from_slice(chunks.as_flattened()).map_err(|error| problem(&self.directory.join(SETTINGS), error))
    }

    /// Value of a counter of the program.
    pub(super) fn count(&self, counter: usize) -> Result<u64, KernelError> {
        let counters: Vec<u64> = self.array(COUNTERS)?;
        Ok(counters.get(counter).copied().unwrap_or(0))
    }

    /// Values of a pinned array.
    fn array<T: aya::Pod>(&self, name: &str) -> Result<Vec<T>, KernelError> {
        let path = self.directory.join(name);
        let read = || -> Result<Vec<T>, MapError> { Array::<_, T>::try_from(map(&path)?)?.iter().collect() };
        read().map_err(|error| problem(&path, from_aya(error)))
    }

    /// Pins an entry and the maps of the program that it is to call, under a temporary name until
    /// [`Pinned::replace_by`].
    pub(super) fn prepare_replacement(
        &self,
        link: FdLink,
        programs: &Map,
        program: &Program,
    ) -> Result<Pinned, KernelError> {
        let mut name = self.directory.clone().into_os_string();
        name.push("-new");
        let new = Pinned { directory: name.into() };
        // Left over from an interrupted command.
        new.remove()?;
        let made = DirBuilder::new().mode(0o700).create(&new.directory);
        made.map_err(|error| problem(&new.directory, error))?;
        if let Err(error) = new.pin(link, program.maps().chain([(PROGRAMS, programs)])) {
            new.remove()?;
            return Err(error);
        }
        Ok(new)
    }

    fn pin<'a>(&self, link: FdLink, maps: impl Iterator<Item = (&'a str, &'a Map)>) -> Result<(), KernelError> {
        let path = self.directory.join(LINK);
        link.pin(&path).map_err(|error| problem(&path, from_aya(error)))?;
        for (name, map) in maps {
            let path = self.directory.join(name);
            map.pin(&path).map_err(|error| problem(&path, from_aya(error)))?;
        }
        Ok(())
    }

    /// Replaces these pins by new ones.
    pub(super) fn replace_by(&self, new: &Pinned) -> Result<(), KernelError> {
        self.remove()?;
        fs::rename(&new.directory, &self.directory).map_err(|error| problem(&new.directory, error))
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

fn map(path: &Path) -> Result<Map, MapError> {
    Map::from_map_data(MapData::from_pin(path)?)
}

fn problem(path: &Path, problem: impl ToString) -> KernelError {
    KernelError::Pins { path: path.to_owned(), problem: problem.to_string() }
}

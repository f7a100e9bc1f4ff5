//! What was applied, remembered until the next boot: it tells whether applying again would change anything, what to bring
//! back, and, after a process that ended between two commands, that something has to be brought back at all.

use crate::command::Command;
use crate::device::Device;
use crate::plan::Direction;
use crate::scene::State;
use crate::snapshot::Snapshot;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Of the files' format.
const VERSION: u32 = 2;

/// A folder with up to two files for each device and direction: the record of what was applied, and, while commands run, the
/// journal.
#[derive(Debug, Clone)]
pub struct StateDir(PathBuf);

/// What was applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    version: u32,
    /// The device's name when it was applied.
    dev: String,
    /// What was run.
    pub(crate) commands: Vec<Command>,
    /// What the kernel had of it then.
    pub(crate) applied: Vec<Snapshot>,
    /// What was there before, where that was not what the device came with.
    pub(crate) before: Option<Snapshot>,
}

/// What to bring back if this is found: whoever wrote it did not come to an end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Journal {
    version: u32,
    dev: String,
    pub(crate) state: State,
    /// The record that belongs to `state`.
    pub(crate) record: Option<Record>,
}

impl Record {
    pub(crate) fn new(
        dev: &Device,
        commands: &[Command],
        applied: Vec<Snapshot>,
        before: Option<Snapshot>,
    ) -> Record {
        Record {
            version: VERSION,
            dev: dev.name().to_owned(),
            commands: commands.to_owned(),
            applied,
            before,
        }
    }
}

impl Journal {
    pub(crate) fn new(dev: &Device, state: State, record: Option<Record>) -> Journal {
        Journal {
            version: VERSION,
            dev: dev.name().to_owned(),
            state,
            record,
        }
    }
}

/// The part of every version's files by which they are told apart.
#[derive(Deserialize)]
struct Head {
    version: u32,
    dev: Option<String>,
}

impl StateDir {
    /// The folder, which is made when something is to be remembered.
    pub fn new(folder: impl Into<PathBuf>) -> StateDir {
        StateDir(folder.into())
    }

    /// The folder's path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Lets one process at a time change queues; the lock ends with the file that is returned.
    pub(crate) fn lock(&self) -> io::Result<File> {
        fs::create_dir_all(&self.0)?;
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.0.join("lock"))?;
        lock.lock()?;
        Ok(lock)
    }

    /// A device's number is its own only within its network namespace.
    fn namespace() -> String {
        fs::read_link("/proc/self/ns/net")
            .map(|link| {
                link.to_string_lossy()
                    .replace(|c: char| !c.is_ascii_digit(), "")
            })
            .unwrap_or_default()
    }

    fn file(&self, ifindex: u32, direction: Direction, extension: &str) -> PathBuf {
        let name = format!("{}-{ifindex}-{direction}.{extension}", Self::namespace());
        self.0.join(name)
    }

    /// What was applied; `None`: nothing is remembered.
    pub(crate) fn load(&self, ifindex: u32, direction: Direction) -> io::Result<Option<Record>> {
        read(&self.file(ifindex, direction, "json"))
    }

    /// What a process left behind that did not come to an end.
    pub(crate) fn journal(
        &self,
        ifindex: u32,
        direction: Direction,
    ) -> io::Result<Option<Journal>> {
        read(&self.file(ifindex, direction, "journal"))
    }

    pub(crate) fn begin(
        &self,
        ifindex: u32,
        direction: Direction,
        journal: &Journal,
    ) -> io::Result<()> {
        write(&self.file(ifindex, direction, "journal"), journal)
    }

    /// Remembers a record, or that there is none, and that all has come to an end.
    pub(crate) fn finish(
        &self,
        ifindex: u32,
        direction: Direction,
        record: Option<&Record>,
    ) -> io::Result<()> {
        let file = self.file(ifindex, direction, "json");
        match record {
            Some(record) => write(&file, record)?,
            None => delete(&file)?,
        }
        delete(&self.file(ifindex, direction, "journal"))
    }

    /// Forgets all about a device of this name, unless it has one of the numbers of `existing` devices; the answer is
    /// whether there was anything to forget.
    pub(crate) fn forget_gone(
        &self,
        dev: &Device,
        direction: Direction,
        existing: &[u32],
    ) -> io::Result<bool> {
        let (begin, end) = (format!("{}-", Self::namespace()), format!("-{direction}"));
        let entries = match fs::read_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            entries => entries?,
        };
        let mut found = false;
        for entry in entries {
            let path = entry?.path();
            let index = path
                .file_stem()
                .and_then(|stem| stem.to_str()?.strip_prefix(&begin)?.strip_suffix(&end))
                .and_then(|index| index.parse::<u32>().ok());
            if index.is_none_or(|index| existing.contains(&index)) {
                continue;
            }
            let head: Option<Head> = serde_json::from_slice(&fs::read(&path)?).ok();
            if head.and_then(|head| head.dev).as_deref() == Some(dev.name()) {
                delete(&path)?;
                found = true;
            }
        }
        Ok(found)
    }
}

fn read<T: DeserializeOwned>(file: &Path) -> io::Result<Option<T>> {
    let bytes = match fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes?,
    };
    let damaged = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let head: Head = serde_json::from_slice(&bytes)
        .map_err(|error| damaged(format!("{}: {error}", file.display())))?;
    if head.version != VERSION {
        let other = format!("{}: written by another version of gentle", file.display());
        return Err(damaged(other));
    }
    let content = serde_json::from_slice(&bytes);
    content
        .map(Some)
        .map_err(|error| damaged(format!("{}: {error}", file.display())))
}

/// Whole or not at all. Nothing has to outlast the kernel, so nothing is forced onto a disk.
fn write(file: &Path, content: &impl Serialize) -> io::Result<()> {
    let whole = file.with_extension("new");
    fs::write(&whole, serde_json::to_vec(content)?)?;
    fs::rename(whole, file)
}

fn delete(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

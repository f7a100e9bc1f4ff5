//! Saved state, kept until the next boot: shows whether applying a setup again would change anything, what to restore
//! on removal, and, after a process interrupted between two commands, that a state has to be restored.

use crate::command::Command;
use crate::device::Device;
use crate::device_state::QueueState;
use crate::setup::Direction;
use crate::snapshot::Snapshot;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Version of the files' format.
const VERSION: u32 = 2;

/// Directory with up to two files per device and direction: the record of the applied setup and, while commands run,
/// the journal.
#[derive(Debug, Clone)]
pub struct StateDir(PathBuf);

/// Applied setup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    version: u32,
    /// Name of the device when the setup was applied.
    dev: String,
    /// Commands that were run.
    pub(crate) commands: Vec<Command>,
    /// Objects that the kernel reported afterwards.
    pub(crate) applied: Vec<Snapshot>,
    /// Previous objects, if they were not the default of the device.
    pub(crate) before: Option<Snapshot>,
}

/// State to restore if this file is found: the process that wrote it was interrupted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Journal {
    version: u32,
    dev: String,
    pub(crate) state: QueueState,
    /// Record that belongs to `state`.
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
    pub(crate) fn new(dev: &Device, state: QueueState, record: Option<Record>) -> Journal {
        Journal {
            version: VERSION,
            dev: dev.name().to_owned(),
            state,
            record,
        }
    }
}

/// Common part of the files of all versions, which contains the version.
#[derive(Deserialize)]
struct FileHeader {
    version: u32,
    dev: Option<String>,
}

impl StateDir {
    /// State directory at this path, which is created when needed.
    pub fn new(directory: impl Into<PathBuf>) -> StateDir {
        StateDir(directory.into())
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Locks the directory so that one process at a time changes queues; the lock lasts as long as the returned file.
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

    /// Identifier of the network namespace, within which interface indices are unique.
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

    /// Record of the applied setup; `None` if there is none.
    pub(crate) fn load(&self, ifindex: u32, direction: Direction) -> io::Result<Option<Record>> {
        read(&self.file(ifindex, direction, "json"))
    }

    /// Journal of an interrupted process; `None` if there is none.
    pub(crate) fn journal(
        &self,
        ifindex: u32,
        direction: Direction,
    ) -> io::Result<Option<Journal>> {
        read(&self.file(ifindex, direction, "journal"))
    }

    /// Saves the journal before the first command.
    pub(crate) fn begin(
        &self,
        ifindex: u32,
        direction: Direction,
        journal: &Journal,
    ) -> io::Result<()> {
        write(&self.file(ifindex, direction, "journal"), journal)
    }

    /// Saves the record, or deletes it if there is none, and deletes the journal.
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

    /// Deletes the files of a device of this name, unless its index is that of an `existing` device; returns whether
    /// there were any.
    pub(crate) fn forget_missing(
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
            let header: Option<FileHeader> = serde_json::from_slice(&fs::read(&path)?).ok();
            if header.and_then(|header| header.dev).as_deref() == Some(dev.name()) {
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
    let header: FileHeader = serde_json::from_slice(&bytes)
        .map_err(|error| damaged(format!("{}: {error}", file.display())))?;
    if header.version != VERSION {
        let other = format!("{}: written by another version of gentle", file.display());
        return Err(damaged(other));
    }
    let content = serde_json::from_slice(&bytes);
    content
        .map(Some)
        .map_err(|error| damaged(format!("{}: {error}", file.display())))
}

/// Writes a file atomically. It need not survive the kernel, so it is not synced to disk.
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

//! Saved state, kept until the next boot: shows whether applying a setup again would change anything, what to restore
//! on removal, and, after a process interrupted between two commands, that a state has to be restored.

use crate::command::Command;
use crate::device::Device;
use crate::device_state::QueueState;
use crate::netlink::namespace;
use crate::setup::Direction;
use crate::snapshot::Snapshot;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Version of the files' format.
const VERSION: u32 = 3;

/// Directory with up to two files per device and direction: the record of the applied setup and, while commands run,
/// the journal. A device is named by its network namespace and its interface index.
#[derive(Debug, Clone)]
pub struct StateDir {
    path: PathBuf,
    namespace: String,
}

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
    /// Name of the device when the commands were run.
    pub(crate) dev: String,
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

    /// Commands for the device under its present name.
    pub(crate) fn commands_for(&self, dev: &Device) -> Vec<Command> {
        let mut commands = self.commands.clone();
        for command in &mut commands {
            let mut after_dev = false;
            for arg in &mut command.args {
                if after_dev && *arg == self.dev {
                    dev.name().clone_into(arg);
                }
                after_dev = arg == "dev";
            }
        }
        commands
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
    /// State directory at this path, which is created when needed, for devices of the present network namespace.
    pub fn new(directory: impl Into<PathBuf>) -> StateDir {
        StateDir {
            path: directory.into(),
            namespace: namespace(),
        }
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Locks the directory so that one process at a time changes queues; the lock lasts as long as the returned file.
    pub(crate) fn lock(&self) -> io::Result<File> {
        fs::create_dir_all(&self.path)?;
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.path.join("lock"))?;
        lock.lock()?;
        Ok(lock)
    }

    fn file(&self, ifindex: u32, direction: Direction, extension: &str) -> PathBuf {
        let namespace = &self.namespace;
        let name = format!("{namespace}-{ifindex}-{direction}.{extension}");
        self.path.join(name)
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

    /// Deletes the record and the journal without reading them; returns whether there were any.
    pub(crate) fn discard(&self, ifindex: u32, direction: Direction) -> io::Result<bool> {
        let files = ["journal", "json"].map(|extension| self.file(ifindex, direction, extension));
        let found = files.iter().any(|file| file.exists());
        files.iter().try_for_each(|file| delete(file))?;
        Ok(found)
    }

    /// Indices of the devices that had this name when a setup for `direction` was applied.
    pub(crate) fn indices(&self, dev: &Device, direction: Direction) -> io::Result<Vec<u32>> {
        let files = self.files(dev, direction)?;
        Ok(files.into_iter().map(|(index, _)| index).collect())
    }

    /// Deletes the files of devices that had this name, unless their index is that of an `existing` device; returns
    /// whether there were any.
    pub(crate) fn forget_missing(
        &self,
        dev: &Device,
        direction: Direction,
        existing: &[u32],
    ) -> io::Result<bool> {
        let mut files = self.files(dev, direction)?;
        files.retain(|(index, _)| !existing.contains(index));
        files.iter().try_for_each(|(_, path)| delete(path))?;
        Ok(!files.is_empty())
    }

    /// Files of devices that had this name, each with the interface index.
    fn files(&self, dev: &Device, direction: Direction) -> io::Result<Vec<(u32, PathBuf)>> {
        let (begin, end) = (format!("{}-", self.namespace), format!("-{direction}"));
        let entries = match fs::read_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut files = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let index = path
                .file_stem()
                .and_then(|stem| stem.to_str()?.strip_prefix(&begin)?.strip_suffix(&end))
                .and_then(|index| index.parse().ok());
            let Some(index) = index else {
                continue;
            };
            let header: Option<FileHeader> = serde_json::from_slice(&fs::read(&path)?).ok();
            if header.and_then(|header| header.dev).as_deref() == Some(dev.name()) {
                files.push((index, path));
            }
        }
        Ok(files)
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

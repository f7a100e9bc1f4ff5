//! Saved state, kept until the next boot: shows whether applying a setup again would change anything, what to restore
//! on removal, and, after a process interrupted between two commands, that a state has to be restored.

use crate::command::Command;
use crate::device::Device;
use crate::device_state::QueueState;
use crate::identity::Identity;
use crate::netlink::{Interface, Namespace, TcMessage, format_handle, namespace};
use crate::private;
use crate::setup::Direction;
use crate::snapshot::Snapshot;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Version of the files' format.
const VERSION: u32 = 4;

/// Directory with up to two files per device and direction: the record of the applied setup and, while commands run,
/// the journal. A device is named by its network namespace and its interface index; the files hold its further identity,
/// and say nothing about another device that has the index now.
#[derive(Debug, Clone)]
pub struct StateDir {
    path: PathBuf,
    namespace: Namespace,
    waiting: fn(&Path, Option<u32>),
}

/// Applied setup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    version: u32,
    /// Inode number of the network namespace.
    netns: u64,
    /// Device when the setup was applied.
    pub(crate) dev: Identity,
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
    /// Inode number of the network namespace.
    netns: u64,
    /// Device when the commands were run.
    pub(crate) dev: Identity,
    /// Commands of the setup that was being applied; none if one was being removed.
    commands: Vec<Command>,
    pub(crate) state: QueueState,
    /// Record that belongs to `state`.
    pub(crate) record: Option<Record>,
}

/// Saved state of a device in one direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    pub(crate) record: Option<Record>,
    pub(crate) journal: Option<Journal>,
    /// Whether there is a file that cannot be read.
    pub(crate) damaged: bool,
}

impl Known {
    /// Name of the device when its setup was applied or interrupted.
    pub(crate) fn name(&self) -> Option<&str> {
        let of_journal = self.journal.as_ref().map(|journal| &journal.dev);
        let dev = of_journal.or(self.record.as_ref().map(|record| &record.dev));
        dev.map(|dev| dev.name.as_str())
    }
}

impl Record {
    pub(crate) fn new(
        state: &StateDir,
        interface: &Interface,
        commands: &[Command],
        applied: Vec<Snapshot>,
        before: Option<Snapshot>,
    ) -> Record {
        Record {
            version: VERSION,
            netns: state.namespace.inode,
            dev: Identity::of(interface),
            commands: commands.to_owned(),
            applied,
            before,
        }
    }

    /// Whether `own` are the objects of this setup on the device itself, though others may have changed them.
    pub(crate) fn made(&self, own: &Snapshot) -> bool {
        self.applied.first().is_some_and(|made| own.is_variant_of(made))
    }

    /// Commands for the device under its present name.
    pub(crate) fn commands_for(&self, dev: &Device) -> Vec<Command> {
        let mut commands = self.commands.clone();
        for command in &mut commands {
            let mut after_dev = false;
            for arg in &mut command.args {
                if after_dev && *arg == self.dev.name {
                    dev.name().clone_into(arg);
                }
                after_dev = arg == "dev";
            }
        }
        commands
    }
}

impl Journal {
    pub(crate) fn new(
        state: &StateDir,
        interface: &Interface,
        commands: &[Command],
        before: QueueState,
        record: Option<Record>,
    ) -> Journal {
        Journal {
            version: VERSION,
            netns: state.namespace.inode,
            dev: Identity::of(interface),
            commands: commands.to_owned(),
            state: before,
            record,
        }
    }

    /// Whether a command that was to be run, or one that restores the previous setup of gentle's, makes this root qdisc.
    pub(crate) fn makes(&self, root: &TcMessage) -> bool {
        let words = ["root", &format_handle(root.handle), &root.kind()].map(str::to_owned);
        let previous = self.record.iter().flat_map(|record| &record.commands);
        self.commands.iter().chain(previous).any(|command| words.iter().all(|word| command.args.contains(word)))
    }
}

/// Part of the files that all versions have.
#[derive(Deserialize)]
struct FileHeader {
    version: u32,
}

/// Part of the files that identifies their owner.
#[derive(Deserialize)]
struct FileOwner {
    netns: u64,
    dev: Identity,
}

impl FileOwner {
    /// Owner of a file; `None` if the file does not name one.
    fn of(file: &Path) -> io::Result<Option<FileOwner>> {
        if file.is_symlink() {
            return Ok(None);
        }
        Ok(serde_json::from_slice(&private::read(file)?).ok())
    }

    /// Whether another device among `existing` has the index, without any doubt.
    fn is_replaced(&self, existing: &[Interface]) -> bool {
        existing.iter().any(|interface| self.dev.is_not(interface))
    }
}

impl StateDir {
    /// State directory at this path, for devices of the present network namespace. It is created when needed, with mode 0700;
    /// an existing one must belong to root or to the user of this process, and nobody else may be able to write to it.
    pub fn new(directory: impl Into<PathBuf>) -> StateDir {
        StateDir { path: directory.into(), namespace: namespace(), waiting: |_, _| {} }
    }

    /// Calls `waiting` before this process waits for another one that has the lock: with the path of the lock, and with the
    /// number of the other process if it is known.
    #[must_use]
    pub fn on_wait(self, waiting: fn(&Path, Option<u32>)) -> StateDir {
        StateDir { waiting, ..self }
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Locks the directory so that one process at a time changes queues; the lock lasts as long as the returned file.
    pub(crate) fn lock(&self) -> io::Result<File> {
        private::create_directory(&self.path)?;
        let lock = self.path.join("lock");
        private::lock(&lock, |holder| (self.waiting)(&lock, holder))
    }

    fn file(&self, ifindex: u32, direction: Direction, extension: &str) -> PathBuf {
        let namespace = &self.namespace.name;
        let name = format!("{namespace}-{ifindex}-{direction}.{extension}");
        self.path.join(name)
    }

    /// Saved state of a device. Files of another device that had its index do not count.
    pub(crate) fn known(&self, interface: &Interface, direction: Direction) -> io::Result<Known> {
        private::check_directory(&self.path)?;
        let file = |extension| self.file(interface.index, direction, extension);
        let record: Option<Record> = read(&file("json"))?;
        let journal: Option<Journal> = read(&file("journal"))?;
        Ok(Known {
            record: record.filter(|record| record.dev.is(interface)),
            journal: journal.filter(|journal| journal.dev.is(interface)),
            damaged: false,
        })
    }

    /// Saves the journal before the first command.
    pub(crate) fn begin(&self, ifindex: u32, direction: Direction, journal: &Journal) -> io::Result<()> {
        let bytes = serde_json::to_vec(journal)?;
        private::write(&self.file(ifindex, direction, "journal"), &bytes)
    }

    /// Saves the record, or deletes the file if there is no record, and deletes the journal.
    pub(crate) fn finish(&self, ifindex: u32, direction: Direction, record: Option<&Record>) -> io::Result<()> {
        let file = self.file(ifindex, direction, "json");
        match record {
            Some(record) => private::write(&file, &serde_json::to_vec(record)?)?,
            None => private::delete(&file)?,
        }
        private::delete(&self.file(ifindex, direction, "journal"))
    }

    /// Deletes the record and the journal without reading them; returns whether there were any.
    pub(crate) fn discard(&self, ifindex: u32, direction: Direction) -> io::Result<bool> {
        let files = ["journal", "json"].map(|extension| self.file(ifindex, direction, extension));
        let found = files.iter().any(|file| file.exists());
        files.iter().try_for_each(|file| private::delete(file))?;
        Ok(found)
    }

    /// Device among `existing` that had this name when a setup for `direction` was applied.
    pub(crate) fn formerly<'a>(
        &self,
        dev: &Device,
        direction: Direction,
        existing: &'a [Interface],
    ) -> io::Result<Option<&'a Interface>> {
        let owners = self.files(dev, direction)?;
        let mut existing = existing.iter();
        Ok(existing.find(|interface| owners.iter().any(|(owner, _)| owner.dev.is(interface))))
    }

    /// Deletes the files of devices that had this name and no longer exist; returns whether there were any.
    pub(crate) fn forget_missing(
        &self,
        dev: &Device,
        direction: Direction,
        existing: &[Interface],
    ) -> io::Result<bool> {
        let mut files = self.files(dev, direction)?;
        files.retain(|(owner, _)| {
            let index = |interface: &Interface| interface.index == owner.dev.index;
            !existing.iter().any(index) || owner.is_replaced(existing)
        });
        files.iter().try_for_each(|(_, path)| private::delete(path))?;
        Ok(!files.is_empty())
    }

    /// Records and journals of devices that had this name.
    fn files(&self, dev: &Device, direction: Direction) -> io::Result<Vec<(FileOwner, PathBuf)>> {
        let (begin, end) = (format!("{}-", self.namespace.name), format!("-{direction}"));
        let mut files = Vec::new();
        for path in self.paths()? {
            let own = path
                .file_stem()
                .and_then(|stem| stem.to_str())
                .is_some_and(|stem| stem.starts_with(&begin) && stem.ends_with(&end));
            if own
                && is_saved(&path)
                && let Some(owner) = FileOwner::of(&path)?
                && owner.dev.name == dev.name()
            {
                files.push((owner, path));
            }
        }
        Ok(files)
    }

    /// Deletes files that are certainly useless, as far as this user may: files of earlier boots, of network namespaces
    /// whose inode number this one has now, and of devices whose interface index another one has; incomplete files of
    /// interrupted processes; and compiled classifiers that no record or journal names: earlier versions wrote them for
    /// setups that may still be in place. The caller has the lock.
    pub(crate) fn sweep(&self, existing: &[Interface]) {
        let paths = self.paths().unwrap_or_default();
        let (saved, others): (Vec<_>, Vec<_>) = paths.into_iter().partition(|path| is_saved(path));
        let (dead, alive): (Vec<_>, Vec<_>) = saved.into_iter().partition(|path| self.is_dead(path, existing));
        let alive: Vec<String> = alive
            .iter()
            .map(|path| private::read(path).unwrap_or_default())
            .map(|saved| String::from_utf8_lossy(&saved).into_owned())
            .collect();
        let unused = others.into_iter().filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| {
                let classifier = name.starts_with("ages-") && name.ends_with(".o");
                name.ends_with(".new") || classifier && !alive.iter().any(|saved| saved.contains(name))
            })
        });
        for path in dead.into_iter().chain(unused) {
            // Another user's.
            let _ = private::delete(&path);
        }
    }

    fn is_dead(&self, path: &Path, existing: &[Interface]) -> bool {
        let Namespace { name, boot, inode } = &self.namespace;
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let stem = stem.unwrap_or_default();
        let boots = stem.split('-').next().filter(|_| !boot.is_empty());
        let owner = FileOwner::of(path).ok().flatten();
        let of_earlier_boot = boots.is_some_and(|of_file| of_file != boot);
        of_earlier_boot
            || owner.is_some_and(|owner| match stem.starts_with(&format!("{name}-")) {
                true => owner.is_replaced(existing),
                false => owner.netns == *inode && *inode != 0,
            })
    }

    fn paths(&self) -> io::Result<Vec<PathBuf>> {
        private::check_directory(&self.path)?;
        match fs::read_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            entries => entries?.map(|entry| Ok(entry?.path())).collect(),
        }
    }
}

/// Whether this is a record or a journal.
fn is_saved(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json" || extension == "journal")
}

fn read<T: DeserializeOwned>(file: &Path) -> io::Result<Option<T>> {
    let bytes = match private::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes?,
    };
    let damaged = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let header: FileHeader =
        serde_json::from_slice(&bytes).map_err(|error| damaged(format!("{}: {error}", file.display())))?;
    if header.version != VERSION {
        let other = format!("{}: written by another version of gentle", file.display());
        return Err(damaged(other));
    }
    let content = serde_json::from_slice(&bytes);
    content.map(Some).map_err(|error| damaged(format!("{}: {error}", file.display())))
}

//! What was applied, remembered until the next boot: it tells whether applying again would change anything, and what to
//! bring back.

use crate::command::Command;
use crate::plan::Direction;
use crate::snapshot::Snapshot;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// Of the files' format. A file of another one is as good as none.
const VERSION: u32 = 1;

/// A folder with a file for each device and direction.
#[derive(Debug, Clone)]
pub struct StateDir(PathBuf);

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    version: u32,
    /// What was run.
    pub(crate) commands: Vec<Command>,
    /// What the kernel had of it then.
    pub(crate) applied: Vec<Snapshot>,
    /// What was there before, where that was not what the device came with.
    pub(crate) before: Option<Snapshot>,
}

impl Record {
    pub(crate) fn new(
        commands: &[Command],
        applied: Vec<Snapshot>,
        before: Option<Snapshot>,
    ) -> Record {
        Record {
            version: VERSION,
            commands: commands.to_owned(),
            applied,
            before,
        }
    }
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

    fn file(&self, ifindex: u32, direction: Direction) -> PathBuf {
        // A device's number is its own only within its network namespace.
        let namespace = std::fs::read_link("/proc/self/ns/net")
            .map(|link| {
                link.to_string_lossy()
                    .replace(|c: char| !c.is_ascii_digit(), "")
            })
            .unwrap_or_default();
        let direction = match direction {
            Direction::Egress => "egress",
            Direction::Ingress => "ingress",
        };
        self.0
            .join(format!("{namespace}-{ifindex}-{direction}.json"))
    }

    /// What was remembered; a file that cannot be read is as good as none, since the kernel is asked anyway.
    pub(crate) fn load(&self, ifindex: u32, direction: Direction) -> Option<Record> {
        let text = std::fs::read(self.file(ifindex, direction)).ok()?;
        let record: Record = serde_json::from_slice(&text).ok()?;
        (record.version == VERSION).then_some(record)
    }

    pub(crate) fn save(
        &self,
        ifindex: u32,
        direction: Direction,
        record: &Record,
    ) -> io::Result<()> {
        std::fs::create_dir_all(&self.0)?;
        let file = self.file(ifindex, direction);
        let whole = file.with_extension("new");
        std::fs::write(&whole, serde_json::to_vec(record)?)?;
        std::fs::rename(whole, file)
    }

    pub(crate) fn forget(&self, ifindex: u32, direction: Direction) -> io::Result<()> {
        match std::fs::remove_file(self.file(ifindex, direction)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            outcome => outcome,
        }
    }
}

//! Stores of results.

use crate::batch::Results;
use crate::error::SweepError;
use atomic_write_file::AtomicWriteFile;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Results of batches by name, in files that are written whole and never changed: two writers lose nothing, and equal
/// batches have equal files.
pub trait Store: Sync {
    /// Names of the files of runs, sorted; only those with a file of connections if `connections`.
    ///
    /// # Errors
    /// The store cannot be read.
    fn names(&self, connections: bool) -> Result<Vec<String>, SweepError>;

    /// Content of a file of runs.
    ///
    /// # Errors
    /// The file cannot be read.
    fn get(&self, name: &str) -> Result<Vec<u8>, SweepError>;

    /// Place of a file of runs, for messages.
    fn place(&self, name: &str) -> String;

    /// Writes the results of a batch: connections first, so that runs which are there have theirs.
    ///
    /// # Errors
    /// A file cannot be written; there is then none of this name, or that of an earlier call.
    fn put(&self, name: &str, results: &Results) -> Result<(), SweepError>;
}

/// Directories of results within a store.
const RUNS: &str = "runs";
const CONNECTIONS: &str = "connections";
/// Extension of files of results.
const ENDING: &str = "parquet";

/// A directory as a store: `DIR/runs/*.parquet`, `DIR/connections/*.parquet`.
#[derive(Debug, Clone)]
pub struct Folder {
    runs: PathBuf,
    connections: PathBuf,
}

impl Folder {
    /// The store in a directory, which is created if it does not exist.
    ///
    /// # Errors
    /// The directory cannot be created.
    pub fn open(directory: &Path) -> Result<Folder, SweepError> {
        let [runs, connections] = [RUNS, CONNECTIONS].map(|name| directory.join(name));
        std::fs::create_dir_all(&runs).map_err(|error| at(&runs, error))?;
        Ok(Folder { runs, connections })
    }
}

impl Store for Folder {
    fn names(&self, connections: bool) -> Result<Vec<String>, SweepError> {
        let failed = |error| at(&self.runs, error);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.runs).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let name = name.to_string_lossy();
            // Files under way have other names.
            if Path::new(&*name).extension().is_some_and(|ending| ending == ENDING)
                && !name.starts_with('.')
                && (!connections || self.connections.join(&*name).exists())
            {
                names.push(name.into_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    fn get(&self, name: &str) -> Result<Vec<u8>, SweepError> {
        let path = self.runs.join(name);
        std::fs::read(&path).map_err(|error| at(&path, error))
    }

    fn place(&self, name: &str) -> String {
        self.runs.join(name).display().to_string()
    }

    fn put(&self, name: &str, results: &Results) -> Result<(), SweepError> {
        if let Some(connections) = &results.connections {
            let folder = &self.connections;
            std::fs::create_dir_all(folder).map_err(|error| at(folder, error))?;
            write(&folder.join(name), connections)?;
        }
        write(&self.runs.join(name), &results.runs)
    }
}

/// Writes a file whole.
fn write(path: &Path, bytes: &[u8]) -> Result<(), SweepError> {
    let write = || -> io::Result<()> {
        let mut file = AtomicWriteFile::open(path)?;
        file.write_all(bytes)?;
        file.commit()
    };
    write().map_err(|error| at(path, error))
}

fn at(place: &Path, error: io::Error) -> SweepError {
    SweepError::Store { place: place.display().to_string(), error }
}

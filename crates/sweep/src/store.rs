//! Stores of results.

use crate::error::SweepError;
use atomic_write_file::AtomicWriteFile;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A set of files, each written whole and never changed: two writers lose nothing, and equal batches have equal files.
pub trait Store: Sync {
    /// Names of all files, sorted.
    ///
    /// # Errors
    /// The store cannot be read.
    fn names(&self) -> Result<Vec<String>, SweepError>;

    /// Content of a file.
    ///
    /// # Errors
    /// The file cannot be read.
    fn get(&self, name: &str) -> Result<Vec<u8>, SweepError>;

    /// Place of a file, for messages.
    fn place(&self, name: &str) -> String;

    /// Writes a file whole.
    ///
    /// # Errors
    /// The file cannot be written; there is then none of this name, or that of an earlier call.
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), SweepError>;
}

/// Name of the directory of results within a store.
const RUNS: &str = "runs";
/// Extension of files of results.
const ENDING: &str = "parquet";

/// A directory as a store: `DIR/runs/*.parquet`.
#[derive(Debug, Clone)]
pub struct Folder {
    runs: PathBuf,
}

impl Folder {
    /// The store in a directory, which is created if it does not exist.
    ///
    /// # Errors
    /// The directory cannot be created.
    pub fn open(directory: &Path) -> Result<Folder, SweepError> {
        let runs = directory.join(RUNS);
        std::fs::create_dir_all(&runs).map_err(|error| at(&runs, error))?;
        Ok(Folder { runs })
    }
}

impl Store for Folder {
    fn names(&self) -> Result<Vec<String>, SweepError> {
        let failed = |error| at(&self.runs, error);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.runs).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let name = name.to_string_lossy();
            // Files under way have other names.
            if Path::new(&*name)
                .extension()
                .is_some_and(|ending| ending == ENDING)
                && !name.starts_with('.')
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

    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), SweepError> {
        let path = self.runs.join(name);
        let write = || -> io::Result<()> {
            let mut file = AtomicWriteFile::open(&path)?;
            file.write_all(bytes)?;
            file.commit()
        };
        write().map_err(|error| at(&path, error))
    }
}

fn at(place: &Path, error: io::Error) -> SweepError {
    SweepError::Store {
        place: place.display().to_string(),
        error,
    }
}

//! Stores of files.

use atomic_write_file::AtomicWriteFile;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use thiserror::Error;

/// Files by name, each written atomically and never changed: two writers of a store lose nothing, and equal results
/// have equal files.
pub trait Store: Sync {
    /// Names of the files, sorted.
    ///
    /// # Errors
    /// The store cannot be read.
    fn names(&self) -> Result<Vec<String>, StoreError>;

    /// Content of a file; `None` without a file of this name.
    ///
    /// # Errors
    /// The file cannot be read.
    fn find(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// Writes a file atomically.
    ///
    /// # Errors
    /// The file cannot be written; an earlier file of this name is then unchanged.
    fn put(&self, name: &str, content: &[u8]) -> Result<(), StoreError>;

    /// Place of a file, for messages.
    fn place(&self, name: &str) -> String;

    /// Content of a file.
    ///
    /// # Errors
    /// There is no file of this name, or it cannot be read.
    fn get(&self, name: &str) -> Result<Vec<u8>, StoreError> {
        let found = self.find(name)?;
        found.ok_or_else(|| StoreError { place: self.place(name), error: io::ErrorKind::NotFound.into() })
    }
}

/// Reason for which a store cannot be read or written.
#[derive(Debug, Error)]
#[error("{place}: {error}")]
pub struct StoreError {
    /// File or directory.
    pub place: String,
    /// The error of the system.
    pub error: io::Error,
}

/// The files with an extension in a directory.
#[derive(Debug, Clone)]
pub struct Folder {
    folder: PathBuf,
    ending: &'static str,
}

impl Folder {
    /// The files whose names end in a dot and `ending`, in the directory `below` of `store`, which is created if it does
    /// not exist.
    ///
    /// # Errors
    /// The directory cannot be created.
    pub fn open(store: &Path, below: &str, ending: &'static str) -> Result<Folder, StoreError> {
        let folder = store.join(below);
        std::fs::create_dir_all(&folder).map_err(at(&folder))?;
        Ok(Folder { folder, ending })
    }
}

impl Store for Folder {
    fn names(&self) -> Result<Vec<String>, StoreError> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.folder).map_err(at(&self.folder))? {
            let name = entry.map_err(at(&self.folder))?.file_name();
            let name = name.to_string_lossy();
            // Incomplete files have other names.
            if Path::new(&*name).extension().is_some_and(|ending| ending == self.ending) && !name.starts_with('.') {
                names.push(name.into_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    fn find(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.folder.join(name);
        match std::fs::read(&path) {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(at(&path)(error)),
        }
    }

    fn put(&self, name: &str, content: &[u8]) -> Result<(), StoreError> {
        let path = self.folder.join(name);
        let write = || -> io::Result<()> {
            let mut file = AtomicWriteFile::open(&path)?;
            file.write_all(content)?;
            file.commit()
        };
        write().map_err(at(&path))
    }

    fn place(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }
}

/// Files in memory.
#[derive(Debug, Default)]
pub struct Memory(Mutex<BTreeMap<String, Vec<u8>>>);

impl Memory {
    /// The files by name.
    pub fn into_files(self) -> BTreeMap<String, Vec<u8>> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Memory {
    fn names(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.files().keys().cloned().collect())
    }

    fn find(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.files().get(name).cloned())
    }

    fn put(&self, name: &str, content: &[u8]) -> Result<(), StoreError> {
        self.files().insert(name.to_owned(), content.to_vec());
        Ok(())
    }

    fn place(&self, name: &str) -> String {
        name.to_owned()
    }
}

fn at(place: &Path) -> impl Fn(io::Error) -> StoreError {
    let place = place.display().to_string();
    move |error| StoreError { place: place.clone(), error }
}

//! Cache of built kernels, modules and plug-ins.

use super::{BuildError, Flavour, Kernel, Observer, Stage};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;
use tempfile::TempDir;

/// Interval at which a process that waits for another build retries the lock.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Directory that holds everything the testbed builds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// Cache in `gentle/testbed` below `$XDG_CACHE_HOME`, or below `~/.cache` if that is unset.
    pub fn of_user() -> Result<Cache, BuildError> {
        let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        set("XDG_CACHE_HOME")
            .or_else(|| set("HOME").map(|home| home.join(".cache")))
            .map(|base| Cache::at(base.join("gentle").join("testbed")))
            .ok_or(BuildError::NoCache)
    }

    /// Cache in any directory; the directory is created when something is stored.
    pub fn at(root: impl Into<PathBuf>) -> Cache {
        Cache { root: root.into() }
    }

    /// Newest cached kernel of this configuration.
    pub fn kernel(&self, flavour: Flavour) -> Option<Kernel> {
        let ending = format!("-{flavour}-{}", flavour.fingerprint());
        std::fs::read_dir(self.kernels())
            .ok()?
            .filter_map(|entry| {
                let name = entry.ok()?.file_name().into_string().ok()?;
                let version = name.strip_suffix(&ending)?.to_owned();
                Some(self.kernel_of(&version, flavour))
            })
            .filter(|kernel| kernel.linux.is_file())
            .max_by_key(|kernel| numbers(&kernel.version))
    }

    /// Paths of the kernel of this version and configuration, whether cached or not.
    pub(super) fn kernel_of(&self, version: &str, flavour: Flavour) -> Kernel {
        let tree = self.kernels().join(format!("{version}-{flavour}-{}", flavour.fingerprint()));
        Kernel { version: version.to_owned(), flavour, linux: tree.join("linux"), tree }
    }

    pub(super) fn kernels(&self) -> PathBuf {
        self.root.join("kernels")
    }

    pub(super) fn modules(&self) -> PathBuf {
        self.root.join("modules")
    }

    pub(super) fn plugins(&self) -> PathBuf {
        self.root.join("plugins")
    }

    /// Waits until no other process builds in `folder`. The lock is released when the file is closed, also if the
    /// process is killed.
    pub(super) fn lock(&self, folder: &Path, stop: &AtomicBool, observer: &dyn Observer) -> Result<File, BuildError> {
        let path = folder.join("lock");
        fs::create_dir_all(folder).map_err(|error| BuildError::file(folder, error))?;
        let file = File::create(&path).map_err(|error| BuildError::file(&path, error))?;
        let mut told = false;
        loop {
            match file.try_lock() {
                Ok(()) => {
                    clean(folder);
                    return Ok(file);
                }
                Err(TryLockError::WouldBlock) if stop.load(Ordering::Relaxed) => {
                    return Err(BuildError::Stopped);
                }
                Err(TryLockError::WouldBlock) => {
                    if !std::mem::replace(&mut told, true) {
                        observer.began(Stage::Wait);
                    }
                    sleep(POLL_INTERVAL);
                }
                Err(TryLockError::Error(error)) => return Err(BuildError::file(&path, error)),
            }
        }
    }

    /// Creates a temporary directory on the file system of the cache, so that it can be renamed into place.
    pub(super) fn work(&self, folder: &Path) -> Result<TempDir, BuildError> {
        fs::create_dir_all(folder)
            .and_then(|()| tempfile::Builder::new().prefix(WORK).tempdir_in(folder))
            .map_err(|error| BuildError::file(folder, error))
    }
}

/// Prefix of temporary directories.
const WORK: &str = "work-";

/// Removes temporary directories of processes that were killed; the caller holds the lock, so no other process uses
/// them.
fn clean(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(WORK) {
            // A directory that cannot be removed costs only space.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Renames finished work to `place`, replacing what was there.
pub(super) fn keep(work: TempDir, place: &Path) -> Result<(), BuildError> {
    let failed = |error| BuildError::file(place, error);
    if place.exists() {
        fs::remove_dir_all(place).map_err(failed)?;
    }
    let work = work.keep();
    fs::rename(&work, place).map_err(failed)
}

/// Files in `folder` with this extension, sorted by name.
pub(super) fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, BuildError> {
    let entries = fs::read_dir(folder).map_err(|error| BuildError::file(folder, error))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    Ok(files)
}

/// Numeric components of a version, for sorting: 7.10 comes after 7.9.
pub(super) fn numbers(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

/// First 8 bytes of a hash in hexadecimal; enough to distinguish cache entries.
pub(super) fn short_hex(hash: &[u8]) -> String {
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_kernel_is_taken() {
        let folder = tempfile::TempDir::new().unwrap();
        let cache = Cache::at(folder.path());
        assert_eq!(cache.kernel(Flavour::Plain), None);
        for version in ["7.9.3", "7.10.1", "7.2.12"] {
            let kernel = cache.kernel_of(version, Flavour::Plain);
            std::fs::create_dir_all(&kernel.tree).unwrap();
            std::fs::write(&kernel.linux, "").unwrap();
        }
        // An entry without its program does not count.
        std::fs::create_dir_all(cache.kernel_of("8.0", Flavour::Plain).tree).unwrap();
        assert_eq!(cache.kernel(Flavour::Plain).unwrap().version, "7.10.1");
        assert_eq!(cache.kernel(Flavour::Debug), None);
    }
}

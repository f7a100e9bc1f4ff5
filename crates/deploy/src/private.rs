//! Files in a directory that only their owner can change. Processes of root act on them, so nothing in them may be another
//! user's: not the directory, and not the target of a link.

use crate::system::effective_user;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Bits of the mode with which others than the owner can change a directory.
const OTHERS_WRITE: u32 = 0o022;
/// Bits of the mode with which others than the owner can do anything.
const OTHERS: u32 = 0o077;

/// Creates the directory with mode 0700 if it does not exist.
///
/// # Errors
/// As for [`check_directory`], or if it cannot be created.
pub(crate) fn create_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    check_directory(path)
}

/// Requires that the directory belongs to root or to the user of this process, and that nobody else can write to it. A
/// directory that does not exist is fine.
///
/// # Errors
/// The owner or the mode is another one.
pub(crate) fn check_directory(path: &Path) -> io::Result<()> {
    let found = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    let name = path.display();
    if found.uid() != 0 && found.uid() != effective_user() {
        return Err(io::Error::other(format!(
            "{name} belongs to user {}, who could change what is restored from there; expected root or the user of this process",
            found.uid()
        )));
    }
    if found.mode() & OTHERS_WRITE != 0 {
        return Err(io::Error::other(format!(
            "others than its owner can write to {name}; check its files, then run: chmod 700 {name}"
        )));
    }
    Ok(())
}

/// Locks a file for this process, which only its owner can open; creates it if it does not exist. It contains the number of the
/// process that has locked it last. Calls `waiting` with that number if the lock is taken.
///
/// # Errors
/// The file cannot be opened, or is a link.
pub(crate) fn lock(path: &Path, waiting: impl FnOnce(Option<u32>)) -> io::Result<File> {
    let mut options = options();
    options.read(true).write(true).create(true).mode(0o600);
    let mut file = open(&options, path)?;
    if file.metadata()?.mode() & OTHERS != 0 {
        // Earlier versions let others open it, and thereby lock it.
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // Longer than any number of a process.
            (&mut file).take(16).read_to_string(&mut holder)?;
            waiting(holder.trim().parse().ok());
            file.lock()?;
        }
        Err(TryLockError::Error(error)) => return Err(error),
    }
    file.set_len(0)?;
    io::Seek::rewind(&mut file)?;
    writeln!(file, "{}", std::process::id())?;
    Ok(file)
}

/// Reads a file that is not a link.
///
/// # Errors
/// The file cannot be read, or is a link.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(options().read(true), path)?.read_to_end(&mut bytes).map(|_| bytes)
}

/// Writes a file atomically, for its owner only. It need not survive the kernel, so it is not synced to disk.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    let whole = path.with_extension("new");
    // Left over from a process that was interrupted.
    delete(&whole)?;
    options().write(true).create_new(true).mode(0o600).open(&whole)?.write_all(contents)?;
    fs::rename(whole, path)
}

/// Deletes a file if it exists.
///
/// # Errors
/// The file cannot be deleted.
pub(crate) fn delete(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

fn open(options: &OpenOptions, path: &Path) -> io::Result<File> {
    options.open(path).map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => {
            io::Error::other(format!("{} is a symbolic link, which is not followed; delete it", path.display()))
        }
        _ => error,
    })
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    // A pipe in place of the file must not block.
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;
    use std::process::Command;

    /// Directory of a test, deleted afterwards.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let name = format!("gentle-private-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            create_directory(&path).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn only_the_owner_can_open_anything() {
        let folder = Folder::new("modes");
        let (directory, file) = (folder.0.join("a/b"), folder.0.join("a/b/file.json"));
        create_directory(&directory).unwrap();
        write(&file, b"text").unwrap();
        let held = lock(&directory.join("lock"), |_| panic!("it is free")).unwrap();
        assert_eq!(mode(&directory), 0o700);
        assert_eq!(mode(&file), 0o600);
        assert_eq!(held.metadata().unwrap().mode() & 0o777, 0o600);
        assert_eq!(read(&file).unwrap(), b"text");
    }

    #[test]
    fn a_lock_of_an_earlier_version_is_closed_to_others_and_names_its_holder() {
        let folder = Folder::new("lock");
        let path = folder.0.join("lock");
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        let held = lock(&path, |_| panic!("it is free")).unwrap();
        assert_eq!(mode(&path), 0o600);
        let (told, holder) = std::sync::mpsc::channel();
        let waiting = std::thread::spawn({
            let path = path.clone();
            move || lock(&path, |pid| told.send(pid).unwrap()).map(drop)
        });
        assert_eq!(holder.recv().unwrap(), Some(std::process::id()));
        drop(held);
        waiting.join().unwrap().unwrap();
    }

    #[test]
    fn no_link_is_followed() {
        let folder = Folder::new("links");
        let target = folder.0.join("target");
        fs::write(&target, "kept").unwrap();
        let [file, whole, lockfile] = ["file.json", "file.new", "lock"].map(|name| folder.0.join(name));
        for link in [&file, &whole, &lockfile] {
            symlink(&target, link).unwrap();
        }
        assert!(read(&file).is_err());
        assert!(lock(&lockfile, |_| {}).is_err());
        write(&file, b"text").unwrap();
        assert_eq!(read(&file).unwrap(), b"text");
        assert_eq!(fs::read(&target).unwrap(), b"kept");
    }

    #[test]
    fn a_pipe_does_not_block() {
        let folder = Folder::new("pipe");
        let path = folder.0.join("lock");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let _held = lock(&path, |_| {});
    }

    #[test]
    fn a_directory_of_others_is_refused() {
        let folder = Folder::new("others");
        fs::set_permissions(&folder.0, Permissions::from_mode(0o770)).unwrap();
        let error = create_directory(&folder.0).unwrap_err().to_string();
        assert!(error.contains("chmod 700"), "{error}");
        fs::set_permissions(&folder.0, Permissions::from_mode(0o755)).unwrap();
        check_directory(&folder.0).unwrap();
        check_directory(&folder.0.join("missing")).unwrap();
        // Only root can give a directory away.
        if std::os::unix::fs::chown(&folder.0, Some(65_534), None).is_ok() && effective_user() == 0 {
            let error = check_directory(&folder.0).unwrap_err().to_string();
            assert!(error.contains("belongs to user 65534"), "{error}");
        }
    }
}

//! Status socket of a running engine: a Unix socket in the run directory, whose existence also keeps a second engine off
//! the interface.

use super::error::WireError;
use super::privileges::Account;
use crate::status::Status;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::chown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// Time limit for a client to read its answer, and for an engine to give it.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum number of clients waiting for an answer; further ones get none.
const MAX_CLIENTS: usize = 16;

const PREFIX: &str = "rexmit-";
const SUFFIX: &str = ".sock";

/// Status socket; the file is removed on drop.
pub(super) struct StatusSocket {
    path: PathBuf,
    listener: UnixListener,
    /// Channel to the thread that writes answers: a client that is slow to read must not delay packets.
    answers: Option<SyncSender<Answer>>,
}

type Answer = (UnixStream, String);

impl StatusSocket {
    /// Creates the socket. `account`: owner of the directory if it has to be created, so that the engine can remove the
    /// socket in the end.
    pub(super) fn open(
        directory: &Path,
        interface: &str,
        account: Option<Account>,
    ) -> Result<StatusSocket, WireError> {
        let path = directory.join(format!("{PREFIX}{interface}{SUFFIX}"));
        let problem = |source| WireError::File {
            path: path.clone(),
            source,
        };
        create_directory(directory, account).map_err(problem)?;
        match query(&path) {
            Ok(status) => {
                return Err(WireError::Running {
                    interface: interface.to_owned(),
                    pid: status.pid,
                });
            }
            // Left over from an engine that was killed.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                fs::remove_file(&path).map_err(problem)?;
            }
            Err(_) => {}
        }
        let listener = UnixListener::bind(&path).map_err(problem)?;
        listener.set_nonblocking(true).map_err(problem)?;
        Ok(StatusSocket {
            path,
            listener,
            answers: None,
        })
    }

    /// Starts to answer requests. The thread for this inherits the privileges of the current one.
    pub(super) fn serve(&mut self) -> Result<(), WireError> {
        let (sender, answers) = sync_channel(MAX_CLIENTS);
        let thread = thread::Builder::new().name("status".to_owned());
        thread
            .spawn(move || write_answers(&answers))
            .map_err(WireError::call("clone"))?;
        self.answers = Some(sender);
        Ok(())
    }

    /// Answers all pending requests.
    pub(super) fn answer(&self, status: impl Fn() -> Status) {
        while let Ok((stream, _)) = self.listener.accept() {
            if let (Some(answers), Ok(text)) = (&self.answers, serde_json::to_string(&status())) {
                // If too many clients wait, this one gets no answer and may ask again.
                let _ = answers.try_send((stream, text));
            }
        }
    }
}

/// Creates the directory; its last component is owned by the account.
fn create_directory(directory: &Path, account: Option<Account>) -> io::Result<()> {
    if let Some(parent) = directory.parent() {
        fs::create_dir_all(parent)?;
    }
    match (fs::create_dir(directory), account) {
        (Err(error), _) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        (Ok(()), Some(account)) => chown(directory, Some(account.uid), Some(account.gid)),
        _ => Ok(()),
    }
}

fn write_answers(answers: &Receiver<Answer>) {
    for (mut stream, text) in answers {
        let prepared = stream
            .set_nonblocking(false)
            .and_then(|()| stream.set_write_timeout(Some(CLIENT_TIMEOUT)));
        if prepared.is_ok() {
            // The client may have disconnected; ignore it.
            let _ = stream.write_all(text.as_bytes());
        }
    }
}

impl AsFd for StatusSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for StatusSocket {
    fn drop(&mut self) {
        // On failure, the remaining file does no harm.
        let _ = fs::remove_file(&self.path);
    }
}

/// Status of the running engines, in order of their interfaces; with `interface`, only of the engine on it.
///
/// # Errors
/// If the directory or a socket cannot be read. No running engine is not an error.
pub fn running_engines(
    directory: &Path,
    interface: Option<&str>,
) -> Result<Vec<Status>, WireError> {
    let problem = |path: &Path| {
        let path = path.to_owned();
        move |source| WireError::File { path, source }
    };
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(problem(directory))?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(problem(directory))?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX));
        if name.is_none() || interface.is_some_and(|interface| name != Some(interface)) {
            continue;
        }
        match query(&path) {
            Ok(status) => found.push(status),
            // The engine was killed, or has just ended.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound
                ) => {}
            Err(error) => return Err(problem(&path)(error)),
        }
    }
    found.sort_by(|a, b| a.interface.cmp(&b.interface));
    Ok(found)
}

fn query(path: &Path) -> io::Result<Status> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(CLIENT_TIMEOUT))?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text)?)
}

//! Status socket of a running engine: a Unix socket in the run directory, whose existence also keeps a second engine off
//! the interface.

use super::error::WireError;
use crate::status::Status;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, getsockopt, socket, sockopt};
use rustix::process::geteuid;
use std::fs::{self, DirBuilder};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// Time limit for a whole answer: for a client to read it, and for an engine to give it.
const PEER_TIMEOUT: Duration = Duration::from_secs(2);

/// Longest answer that is read, bytes. One of 16,384 paths ([`crate::Config::paths`]) has less than 4 MB.
const MAX_ANSWER: usize = 8 << 20;

/// Bytes per system call. Linux splits a longer write into several packets, and waits again for each
/// (`unix_stream_sendmsg`, net/unix/af_unix.c).
const CHUNK: usize = 1 << 14;

/// Maximum number of clients waiting for an answer; further ones get none.
const MAX_CLIENTS: usize = 16;

/// Bits of the mode with which others than the owner can change a directory.
const OTHERS_WRITE: u32 = 0o022;

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
    /// Creates the socket, and its directory with mode 0700 if it does not exist. Both belong to the user that starts the
    /// engine. An engine that has switched to another user cannot remove the file; the next one on the interface replaces it.
    pub(super) fn open(directory: &Path, interface: &str) -> Result<StatusSocket, WireError> {
        let path = directory.join(format!("{PREFIX}{interface}{SUFFIX}"));
        let problem = |source| WireError::File { path: path.clone(), source };
        create_directory(directory).map_err(|source| WireError::File { path: directory.to_owned(), source })?;
        match query(&path) {
            Ok(status) => {
                return Err(WireError::Running { interface: interface.to_owned(), pid: status.pid });
            }
            // Left over from an earlier engine.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                fs::remove_file(&path).map_err(problem)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(problem(error)),
        }
        let listener = UnixListener::bind(&path).map_err(problem)?;
        listener.set_nonblocking(true).map_err(problem)?;
        Ok(StatusSocket { path, listener, answers: None })
    }

    /// Starts to answer requests. The thread for this inherits the privileges of the current one.
    pub(super) fn serve(&mut self) -> Result<(), WireError> {
        let (sender, answers) = sync_channel(MAX_CLIENTS);
        let thread = thread::Builder::new().name("status".to_owned());
        thread.spawn(move || write_answers(&answers)).map_err(WireError::call("clone"))?;
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

/// Creates the directory with mode 0700. An existing one must belong to root or to the user of this process, and nobody else may
/// be able to write to it: who can, can pretend to be an engine.
fn create_directory(directory: &Path) -> io::Result<()> {
    if let Some(parent) = directory.parent() {
        fs::create_dir_all(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = fs::metadata(directory)?;
    if found.uid() != 0 && found.uid() != geteuid().as_raw() {
        return Err(io::Error::other(format!(
            "the directory belongs to user {}; delete it, or name another one (--run-dir)",
            found.uid()
        )));
    }
    if found.mode() & OTHERS_WRITE != 0 {
        return Err(io::Error::other(
            "others than its owner can write to the directory; change its mode to 700, or name another one (--run-dir)",
        ));
    }
    Ok(())
}

fn write_answers(answers: &Receiver<Answer>) {
    for (mut stream, text) in answers {
        // The client may have disconnected; ignore it.
        let _ = send(&mut stream, text.as_bytes());
    }
}

fn send(stream: &mut UnixStream, mut text: &[u8]) -> io::Result<()> {
    let deadline = Instant::now() + PEER_TIMEOUT;
    stream.set_nonblocking(false)?;
    while !text.is_empty() {
        stream.set_write_timeout(Some(remaining(deadline)?))?;
        let sent = stream.write(&text[..text.len().min(CHUNK)])?;
        text = &text[sent..];
    }
    Ok(())
}

/// Time until the deadline, which is not zero.
fn remaining(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(too_slow()),
        false => Ok(left),
    }
}

fn too_slow() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("no complete answer within {} s", PEER_TIMEOUT.as_secs()))
}

impl AsFd for StatusSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for StatusSocket {
    fn drop(&mut self) {
        // On failure, the remaining file does no harm: nobody answers there.
        let _ = fs::remove_file(&self.path);
    }
}

/// Status of the running engines, in order of their interfaces; with `interface`, only of the engine on it.
///
/// # Errors
/// If the directory or a socket cannot be read. No running engine is not an error.
pub fn running_engines(directory: &Path, interface: Option<&str>) -> Result<Vec<Status>, WireError> {
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
            Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) => {}
            Err(error) => return Err(problem(&path)(error)),
        }
    }
    found.sort_by(|a, b| a.interface.cmp(&b.interface));
    Ok(found)
}

/// Reads the answer of an engine: of limited length, in limited time, and only from the owner of the directory, from root or from
/// the user of this process.
fn query(path: &Path) -> io::Result<Status> {
    let deadline = Instant::now() + PEER_TIMEOUT;
    let mut stream = connected(path)?;
    let mut answer = Vec::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        stream.set_read_timeout(Some(remaining(deadline)?))?;
        match stream.read(&mut chunk) {
            Ok(0) => break,
            Ok(n) if answer.len() + n > MAX_ANSWER => {
                return Err(io::Error::other(format!(
                    "the answer is longer than {MAX_ANSWER} bytes, so it does not come from an engine"
                )));
            }
            Ok(n) => answer.extend_from_slice(&chunk[..n]),
            Err(error) => match error.kind() {
                io::ErrorKind::Interrupted => {}
                io::ErrorKind::WouldBlock => return Err(too_slow()),
                _ => return Err(error),
            },
        }
    }
    Ok(serde_json::from_slice(&answer)?)
}

fn connected(path: &Path) -> io::Result<UnixStream> {
    let directory = path.parent().unwrap_or(Path::new("."));
    // Not through a link. One that replaces the socket right now leads to a peer that is checked below.
    if !fs::symlink_metadata(path)?.file_type().is_socket() {
        return Err(io::Error::other("this is not a socket; delete it"));
    }
    // A connection to a peer that accepts none would block.
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    match connect(socket.as_raw_fd(), &UnixAddr::new(path)?) {
        Err(nix::Error::EAGAIN) => return Err(too_slow()),
        connected => connected?,
    }
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    let peer = getsockopt(&stream, sockopt::PeerCredentials)?.uid();
    let owner = fs::metadata(directory)?.uid();
    match [0, geteuid().as_raw(), owner].contains(&peer) {
        true => Ok(stream),
        false => Err(io::Error::other(format!("the socket belongs to user {peer}, and the directory to user {owner}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::{Backlog, bind, listen};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use tempfile::TempDir;

    /// Answers a single client with `bytes`, one at a time after `pause`, or all at once, for ever.
    fn peer(path: &Path, bytes: &'static [u8], pause: Option<Duration>) {
        let listener = UnixListener::bind(path).expect("a socket");
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            loop {
                let written = match pause {
                    Some(pause) => {
                        thread::sleep(pause);
                        stream.write_all(&bytes[..1])
                    }
                    None => stream.write_all(bytes),
                };
                if written.is_err() {
                    break;
                }
            }
        });
    }

    #[test]
    fn an_answer_without_end_is_cut_off() {
        let folder = TempDir::new().expect("a directory");
        let path = folder.path().join("rexmit-x.sock");
        peer(&path, &[b' '; 65_536], None);
        let error = query(&path).expect_err("it never ends").to_string();
        assert!(error.contains("longer than 8388608 bytes"), "{error}");
    }

    #[test]
    fn a_peer_that_is_slow_holds_nobody_up() {
        let folder = TempDir::new().expect("a directory");
        let slow = folder.path().join("rexmit-slow.sock");
        peer(&slow, b" ", Some(Duration::from_millis(100)));
        let full = folder.path().join("rexmit-full.sock");
        let listener = socket(AddressFamily::Unix, SockType::Stream, SockFlag::empty(), None);
        let listener = listener.expect("a socket");
        let address = UnixAddr::new(&full).expect("an address");
        bind(listener.as_raw_fd(), &address).expect("a name");
        listen(&listener, Backlog::new(1).expect("a length")).expect("it listens");
        let mut waiting = Vec::new();
        while let Ok(client) = connected(&full) {
            waiting.push(client);
            assert!(waiting.len() < 10, "its queue is never full");
        }
        for path in [&slow, &full] {
            let start = Instant::now();
            let error = query(path).expect_err("it is slow");
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            assert!(start.elapsed() < PEER_TIMEOUT * 4);
        }
        drop(listener);
    }

    #[test]
    fn a_client_that_reads_slowly_is_given_up() {
        let (mut engine, mut client) = UnixStream::pair().expect("sockets");
        let reader = thread::spawn(move || {
            let mut byte = [0; 1000];
            while client.read(&mut byte).is_ok_and(|n| n > 0) {
                thread::sleep(Duration::from_millis(50));
            }
        });
        let error = send(&mut engine, &[b' '; 4 << 20]).expect_err("it is slow");
        assert!(matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock), "{error}");
        drop(engine);
        reader.join().expect("no panic");
    }

    #[test]
    fn neither_a_link_nor_a_file_is_taken_for_a_socket() {
        let folder = TempDir::new().expect("a directory");
        let path = |name: &str| folder.path().join(name);
        let _listener = UnixListener::bind(path("socket")).expect("a socket");
        symlink(path("socket"), path("rexmit-link.sock")).expect("a link");
        fs::write(path("rexmit-file.sock"), "kept").expect("a file");
        for interface in ["link", "file"] {
            let error = StatusSocket::open(folder.path(), interface).err();
            let error = error.map(|error| format!("{error:?}")).unwrap_or_default();
            assert!(error.contains("this is not a socket"), "{error}");
        }
        assert_eq!(fs::read(path("rexmit-file.sock")).expect("it is there"), b"kept");
    }

    #[test]
    fn the_directory_belongs_to_the_user_that_starts_the_engine() {
        let folder = TempDir::new().expect("a directory");
        let new = folder.path().join("a/b");
        let socket = StatusSocket::open(&new, "x").expect("a new directory");
        let mode = |path: &Path| fs::metadata(path).expect("it is there").mode() & 0o777;
        assert_eq!(mode(&new), 0o700);
        drop(socket);
        assert_eq!(new.read_dir().expect("a directory").count(), 0);
        fs::set_permissions(&new, fs::Permissions::from_mode(0o777)).expect("chmod");
        assert!(StatusSocket::open(&new, "x").is_err());
        fs::set_permissions(&new, fs::Permissions::from_mode(0o700)).expect("chmod");
        // Only root can give a directory away.
        if geteuid().is_root() {
            std::os::unix::fs::chown(&new, Some(65_534), None).expect("chown");
            assert!(StatusSocket::open(&new, "x").is_err());
        }
    }
}

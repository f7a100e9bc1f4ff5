//! Files that a command reads and writes. No output may be an input or another output, under any name, link or
//! redirection.

use crate::usage::Usage;
use same_file::Handle;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

/// Name of standard input among inputs, and of standard output among outputs.
const DASH: &str = "-";

/// Other names of standard output.
const STDOUT: [&str; 3] = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// Other names of standard input.
const STDIN: [&str; 3] = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];

/// Maximum number of symbolic links followed to a file that does not exist yet (Linux, `MAXSYMLINKS`).
const MAX_LINKS: usize = 40;

/// Whether an output of this name is standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new(DASH) || STDOUT.iter().any(|name| path == Path::new(name))
}

/// Whether an input of this name is standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new(DASH) || STDIN.iter().any(|name| path == Path::new(name))
}

/// Path at which a file of this name is written: the target of symbolic links, whether or not it exists.
pub(crate) fn target_path(path: &Path) -> PathBuf {
    let mut target_path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(target) = std::fs::read_link(&target_path) else {
            break;
        };
        // An absolute target replaces the whole path.
        target_path = target_path.parent().unwrap_or(Path::new("")).join(target);
    }
    target_path
}

/// File that a name refers to.
#[derive(Debug, PartialEq, Eq)]
enum Identity {
    StandardInput,
    StandardOutput,
    /// Existing file, by device and inode.
    File(Handle),
    /// File that does not exist yet: its directory, and its name there.
    New(Handle, OsString),
    /// Path that cannot be opened for identification: a pipe, a device, a file without read permission.
    Path(PathBuf),
}

impl Identity {
    fn of(path: &Path) -> Identity {
        match std::fs::metadata(path) {
            // Opening a pipe or a device may block.
            Ok(found) if found.is_file() => Handle::from_path(path).map(Identity::File),
            Ok(_) => std::fs::canonicalize(path).map(Identity::Path),
            Err(_) => Identity::of_new(&target_path(path)),
        }
        .unwrap_or_else(|_| Identity::Path(path.to_owned()))
    }

    fn of_new(target_path: &Path) -> io::Result<Identity> {
        let directory = match target_path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let name = target_path.file_name().unwrap_or(OsStr::new(""));
        Ok(Identity::New(Handle::from_path(directory)?, name.to_owned()))
    }
}

/// Use of a claimed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Read,
    /// Written by the option of this name.
    Written(&'static str),
}

/// Claimed file, as it was named.
#[derive(Debug)]
struct Claim {
    name: String,
    usage: Use,
    identity: Identity,
}

/// Files of a command, all claimed before any is opened.
#[derive(Debug, Default)]
pub(crate) struct FileClaims(Vec<Claim>);

impl FileClaims {
    /// Claims a file for reading; it may be read several times.
    pub(crate) fn reads(&mut self, path: &Path) -> Result<(), Usage> {
        let identity = if is_stdin(path) { Identity::StandardInput } else { Identity::of(path) };
        self.claim(path, Use::Read, identity)?;
        // `command < FILE` reads the file as well.
        if is_stdin(path)
            && let Some(identity) = redirected(Handle::stdin())
        {
            self.claim(path, Use::Read, identity)?;
        }
        Ok(())
    }

    /// Claims a file that must be read only once.
    pub(crate) fn reads_once(&mut self, path: &Path) -> Result<(), Usage> {
        let before = self.0.len();
        self.reads(path)?;
        let (earlier, new) = self.0.split_at(before);
        let again = |claim: &&Claim| new.iter().any(|new| new.identity == claim.identity);
        match earlier.iter().find(again) {
            None => Ok(()),
            Some(claim) => Err(Usage(match path.display().to_string() {
                name if name == claim.name => {
                    format!("{name} is given twice, and can be read only once")
                }
                name => format!("{name} is the same file as {}, and can be read only once", claim.name),
            })),
        }
    }

    /// Claims a file for the output of `option`.
    pub(crate) fn writes(&mut self, option: &'static str, path: &Path) -> Result<(), Usage> {
        if is_stdout(path) {
            return self.prints(option);
        }
        self.claim(path, Use::Written(option), Identity::of(path))
    }

    /// Claims a file for the binary output of `option`, which a terminal cannot show.
    pub(crate) fn writes_binary(&mut self, option: &'static str, path: &Path) -> Result<(), Usage> {
        if is_stdout(path) && io::stdout().is_terminal() {
            return Err(Usage(format!(
                "{option} writes binary data, and standard output is a terminal; name a file or use a pipe"
            )));
        }
        self.writes(option, path)
    }

    /// Claims standard output for the output of `option`.
    pub(crate) fn prints(&mut self, option: &'static str) -> Result<(), Usage> {
        let (usage, stdout) = (Use::Written(option), Path::new("standard output"));
        self.claim(stdout, usage, Identity::StandardOutput)
    }

    /// Claims the file that standard output is redirected to, if any. Call after all other claims.
    pub(crate) fn redirected_stdout(&mut self) -> Result<(), Usage> {
        let Some(identity) = redirected(Handle::stdout()) else {
            return Ok(());
        };
        let mut claims = self.0.iter();
        match claims.find(|claim| claim.identity == identity) {
            Some(claim) => {
                let usage = Use::Written("standard output");
                Err(Usage(conflict(claim, &claim.name, usage).expect("it is written")))
            }
            None => Ok(()),
        }
    }

    /// Whether an option prints to standard output, which then must carry nothing else.
    pub(crate) fn stdout_is_taken(&self) -> bool {
        let mut claims = self.0.iter();
        claims.any(|claim| claim.identity == Identity::StandardOutput)
    }

    fn claim(&mut self, path: &Path, usage: Use, identity: Identity) -> Result<(), Usage> {
        let name = path.display().to_string();
        // /dev/null may be written several times.
        if identity == Identity::Path("/dev/null".into()) {
            return Ok(());
        }
        for earlier in &self.0 {
            if earlier.identity == identity
                && let Some(conflict) = conflict(earlier, &name, usage)
            {
                return Err(Usage(conflict));
            }
        }
        self.0.push(Claim { name, usage, identity });
        Ok(())
    }
}

/// Description of the conflict between an earlier claim and the use of the file, as `name`, for `usage`.
fn conflict(earlier: &Claim, name: &str, usage: Use) -> Option<String> {
    let by_name = match name == earlier.name {
        true => String::new(),
        false => format!(", the same file as {}", earlier.name),
    };
    Some(match (earlier.usage, usage) {
        (Use::Read, Use::Read) => return None,
        (Use::Written(first), Use::Written(second)) if earlier.identity == Identity::StandardOutput => {
            format!("{first} and {second} would both print to standard output; name a file for one of them")
        }
        (Use::Written(first), Use::Written(second)) if first == second => {
            format!("{first} would write {name} twice{by_name}; every output needs a separate file")
        }
        (Use::Written(first), Use::Written(second)) => {
            format!("{first} and {second} would both write {name}{by_name}; name two files")
        }
        (Use::Read, Use::Written(option)) => {
            format!("{option} would overwrite {name}{by_name}, which is an input; name another file")
        }
        (Use::Written(option), Use::Read) => {
            format!("{option} would overwrite {}, which is the input {name}; name another file", earlier.name)
        }
    })
}

/// File that a standard stream is redirected to or from.
fn redirected(stream: io::Result<Handle>) -> Option<Identity> {
    let handle = stream.ok()?;
    let file = handle.as_file().metadata().ok()?.is_file();
    file.then_some(Identity::File(handle))
}

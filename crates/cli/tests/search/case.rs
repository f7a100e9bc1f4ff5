//! A case: a separate folder, in which the command runs within limits.

use std::cell::{Cell, RefCell};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Finding of a case: the invariant that it breaks.
#[derive(Debug)]
pub(crate) struct Finding {
    /// Name of the invariant that does not hold.
    pub(crate) invariant: &'static str,
    pub(crate) details: String,
}

pub(crate) type Checked = Result<(), Finding>;

/// An invariant that does not hold.
pub(crate) fn broken<T>(invariant: &'static str, details: impl Into<String>) -> Result<T, Finding> {
    Err(Finding { invariant, details: details.into() })
}

/// Checks an invariant; `details` are computed if it does not hold.
pub(crate) fn holds(invariant: &'static str, condition: bool, details: impl FnOnce() -> String) -> Checked {
    match condition {
        true => Ok(()),
        false => broken(invariant, details()),
    }
}

/// Longest time that a command may take. Cases are made so that it takes seconds on an idle machine.
const LONGEST: Duration = Duration::from_secs(240);

/// Address space of a command in KiB: twice the default of `--memory-limit`, and what threads reserve.
const MOST_MEMORY: &str = "6000000";

/// A folder with the files of a case, which commands read.
pub(crate) struct Case {
    folder: PathBuf,
    program: PathBuf,
    commands: RefCell<Vec<String>>,
    refused: Cell<bool>,
}

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) line: String,
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Case {
    /// Case in a new folder.
    pub(crate) fn new(folder: &Path, program: &Path) -> Case {
        let _ = std::fs::remove_dir_all(folder);
        std::fs::create_dir_all(folder).expect("a folder for the case");
        Case {
            folder: folder.to_owned(),
            program: program.to_owned(),
            commands: RefCell::default(),
            refused: Cell::new(false),
        }
    }

    /// Path of a file of the case.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a file of the case.
    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), contents).expect("a file of the case");
    }

    /// Contents of a file of the case.
    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_default()
    }

    /// Command lines so far, as a shell script.
    pub(crate) fn script(&self) -> String {
        self.commands.borrow().join("\n") + "\n"
    }

    /// Whether a command refused what it was given.
    pub(crate) fn was_refused(&self) -> bool {
        self.refused.get()
    }

    /// Runs `gentle` in the folder of the case.
    ///
    /// # Errors
    /// It panicked, ended by a signal, took too long or too much memory, or its error is no sentence with a documented
    /// exit code.
    pub(crate) fn gentle(&self, args: &[&str]) -> Result<Ran, Finding> {
        let ran = self.gentle_of_any_status(args)?;
        match ran.status.code() {
            Some(0) => Ok(ran),
            Some(1 | 2) => {
                self.refused.set(true);
                is_sentence(&ran)?;
                Ok(ran)
            }
            _ => broken("documented exit codes", format!("{}: {}\n{}", ran.line, ran.status, ran.stderr)),
        }
    }

    /// Runs `gentle` with arguments that it must accept.
    pub(crate) fn succeed(&self, args: &[&str]) -> Result<Ran, Finding> {
        let ran = self.gentle(args)?;
        holds("valid input is accepted", ran.status.success(), || format!("{}: {}", ran.line, ran.stderr))?;
        Ok(ran)
    }

    /// Output of a shell script of the case in a separate network and mount namespace, with the program as `$GENTLE`.
    /// `None`, with a message, if the system permits no namespaces.
    pub(crate) fn in_namespace(&self, script: &str) -> Option<String> {
        let inside = format!("mount -t tmpfs none /run; mount -t sysfs none /sys; sh -e {script}");
        let line = format!("GENTLE=gentle unshare --net --mount sh -ec '{inside}'");
        self.commands.borrow_mut().push(line);
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "sh", "-ec", &inside]);
        let command = command.current_dir(&self.folder).env("GENTLE", &self.program);
        match command.output() {
            Ok(output) if !output.stdout.is_empty() => {
                let all = [output.stdout, output.stderr].concat();
                Some(String::from_utf8_lossy(&all).into_owned())
            }
            _ => {
                eprintln!("skipped: making a network namespace needs root, unshare and ip");
                None
            }
        }
    }

    fn gentle_of_any_status(&self, args: &[&str]) -> Result<Ran, Finding> {
        let quoted = args
            .iter()
            .map(|arg| shlex::try_quote(arg).map_or_else(|_| format!("{arg:?}"), std::borrow::Cow::into_owned));
        let line = ["gentle".to_owned()].into_iter().chain(quoted);
        let line: String = line.collect::<Vec<_>>().join(" ");
        self.commands.borrow_mut().push(line.clone());
        let (out, err) = (self.path(".stdout"), self.path(".stderr"));
        let create = |path: &Path| Stdio::from(std::fs::File::create(path).expect("a file"));
        let limits = format!("ulimit -v {MOST_MEMORY}; exec \"$0\" \"$@\"");
        let mut child = Command::new("/bin/sh")
            .args(["-c", &limits])
            .arg(&self.program)
            .args(args)
            .current_dir(&self.folder)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.folder)
            .stdin(Stdio::null())
            .stdout(create(&out))
            .stderr(create(&err))
            .spawn()
            .expect("a shell");
        let started = Instant::now();
        let mut pause = Duration::from_millis(1);
        let status = loop {
            if let Some(status) = child.try_wait().expect("a child") {
                break status;
            }
            if started.elapsed() > LONGEST {
                let _ = child.kill();
                let _ = child.wait();
                return broken("it ends", format!("{line}: still running after {LONGEST:?}"));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        };
        let text = |path| {
            let bytes = std::fs::read(path).unwrap_or_default();
            let _ = std::fs::remove_file(path);
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let ran = Ran { line, status, stdout: text(&out), stderr: text(&err) };
        let panicked = ran.stderr.contains("panicked at");
        let out_of_memory = ran.stderr.contains("memory allocation of");
        let invariant = match (panicked, out_of_memory, ran.status.signal()) {
            (true, ..) => "no panic",
            (_, true, _) => "bounded memory",
            (.., Some(_)) => "no signal",
            _ => return Ok(ran),
        };
        broken(invariant, format!("{}: {}\n{}", ran.line, ran.status, ran.stderr))
    }
}

/// Text that Rust prints for programmers, in an error for users.
const DEBUG_TEXT: [&str; 7] = ["Some(", "None)", "Err(", "ParseIntError", "Utf8Error", "{ kind: ", "Os {"];

/// Checks that an error is a sentence for users.
fn is_sentence(ran: &Ran) -> Checked {
    let mut errors = ran.stderr.lines().filter(|line| line.starts_with("error: "));
    let is_long = errors.any(|line| line.split_whitespace().count() >= 3);
    let programmers = DEBUG_TEXT.iter().find(|text| ran.stderr.contains(**text));
    holds("a refusal is a sentence", is_long && programmers.is_none(), || {
        format!("{}: {}\n{}", ran.line, ran.status, ran.stderr)
    })?;
    // Each of several captures has its own results, and those that can be read are read.
    let each = ["--record", "--per-file"].map(|option| ran.line.contains(option));
    let empty = ran.stdout.is_empty() || each.contains(&true);
    holds("an error prints no results", empty, || format!("{}: {}\n{}", ran.line, ran.stderr, ran.stdout))
}

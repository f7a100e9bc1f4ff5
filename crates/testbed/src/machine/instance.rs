//! One run of a machine: its files, its process, and its termination.

use super::{Clock, Console, Machine, MachineError, Outcome, memory};
use crate::build::{Flavour, SEED_VARIABLE};
use crate::job::Job;
use crate::protocol::{SHARE_VARIABLE, Setup, share};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Interval at which the host polls for the exit of the machine; a boot takes some tens of polls.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Start of the virtual clock: 1 January 2026, in nanoseconds since 1970, so that all runs show the same time.
const START_OF_TIME_NS: u64 = 1_767_225_600_000_000_000;

/// A run whose files are prepared and whose kernel is not yet started.
pub(super) struct Instance<'a> {
    machine: &'a Machine,
    /// Directory that carries job and answer; removed with the instance.
    share: TempDir,
    /// Directory for the file of the kernel's memory.
    memory: PathBuf,
}

impl<'a> Instance<'a> {
    pub(super) fn prepare(machine: &'a Machine, job: &Job) -> Result<Instance<'a>, MachineError> {
        let share = tempfile::Builder::new()
            .prefix("gentle-machine-")
            .tempdir()
            .map_err(MachineError::file(&std::env::temp_dir()))?;
        let instance = Instance { machine, share, memory: memory::directory(machine.memory_mib)? };
        let modules = instance.copy_to_share(share::MODULES, &machine.modules)?;
        let plugins = instance.copy_to_share(share::PLUGINS, &machine.plugins)?;
        let files = match &machine.files {
            Some(files) => Some(quotable(&absolute(files)?)?),
            None => None,
        };
        let setup =
            Setup { modules, plugins: !plugins.is_empty(), files, arguments: machine.program.arguments.clone() };
        instance.write(share::SETUP, &setup)?;
        instance.write(share::JOB, job)?;
        Ok(instance)
    }

    /// Copies files into a folder of the share, because file systems mounted in the guest may hide their original
    /// paths.
    fn copy_to_share(&self, folder: &str, files: &[PathBuf]) -> Result<Vec<String>, MachineError> {
        let folder = self.share.path().join(folder);
        fs::create_dir(&folder).map_err(MachineError::file(&folder))?;
        let mut names = Vec::new();
        for file in files {
            let name = file.file_name().unwrap_or_default();
            fs::copy(file, folder.join(name)).map_err(MachineError::file(file))?;
            names.push(quotable(Path::new(name))?);
        }
        Ok(names)
    }

    pub(super) fn run<A: DeserializeOwned>(
        &self,
        stop: &AtomicBool,
        progress: &dyn Fn(f64),
    ) -> Result<Outcome<A>, MachineError> {
        let mut process = self.start()?;
        let status = self.wait(&mut process, stop, progress);
        let console = process.end();
        match status? {
            WaitOutcome::Stopped => Err(MachineError::Stopped),
            WaitOutcome::TimeLimit => Err(MachineError::TimeLimit { limit: self.machine.time_limit, console }),
            WaitOutcome::Exited(status) => self.outcome(status, console),
        }
    }

    fn start(&self) -> Result<Process, MachineError> {
        let program = &self.machine.program;
        let path = absolute(&program.path)?;
        let failed = |source| MachineError::Start { path: path.clone(), source };
        let (reader, writer) = io::pipe().map_err(failed)?;
        let seed = self.machine.seed.map(|seed| (SEED_VARIABLE, seed.to_string()));
        let child = Command::new(&path)
            .args(&program.arguments)
            .arg("launch")
            .arg(std::process::id().to_string())
            .arg(&self.machine.kernel.linux)
            .args(self.command_line(&path)?)
            .env("TMPDIR", &self.memory)
            .env_remove(SEED_VARIABLE)
            .envs(seed)
            // A separate process group: Ctrl-C in the terminal does not reach it, and one signal ends all its
            // processes.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(writer.try_clone().map_err(failed)?)
            .stderr(writer)
            .spawn()
            .map_err(failed)?;
        Ok(Process { child: Some(child), console: Some(thread::spawn(move || Console::read(reader))) })
    }

    fn command_line(&self, program: &Path) -> Result<Vec<String>, MachineError> {
        let share = quotable(self.share.path())?;
        let mut line = vec![
            format!("mem={}M", self.machine.memory_mib),
            "root=/dev/root".to_owned(),
            "rootfstype=hostfs".to_owned(),
            "rootflags=/".to_owned(),
            "ro".to_owned(),
            format!("init=\"{}\"", quotable(program)?),
            format!("{SHARE_VARIABLE}=\"{share}\""),
            // Directory of the kernel's management socket and PID file; the default is in the user's home.
            format!("uml_dir={share}/"),
            "umid=machine".to_owned(),
            // Faster than ptrace and permitted in more places; programs in the machine are trusted.
            "seccomp=auto".to_owned(),
            "con=null".to_owned(),
            "con0=null,fd:1".to_owned(),
            // Warnings and worse.
            "loglevel=5".to_owned(),
            "panic=-1".to_owned(),
        ];
        if self.machine.clock == Clock::Virtual {
            line.push("time-travel=inf-cpu".to_owned());
            line.push(format!("time-travel-start={START_OF_TIME_NS}"));
        }
        if self.machine.kernel.flavour == Flavour::Debug {
            // Without these checks, freed objects go to per-CPU arrays ("sheaves"), and a stale address left in one
            // hides from kmemleak that the object is lost.
            line.push("slab_debug=F".to_owned());
        }
        line.push("--".to_owned());
        line.extend(self.machine.program.arguments.iter().cloned());
        line.push("init".to_owned());
        Ok(line)
    }

    fn wait(
        &self,
        process: &mut Process,
        stop: &AtomicBool,
        progress: &dyn Fn(f64),
    ) -> Result<WaitOutcome, MachineError> {
        let started = Instant::now();
        let path = self.share.path().join(share::PROGRESS);
        loop {
            if let Some(status) = process.exited()? {
                return Ok(WaitOutcome::Exited(status));
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(WaitOutcome::Stopped);
            }
            if started.elapsed() > self.machine.time_limit {
                return Ok(WaitOutcome::TimeLimit);
            }
            if let Ok(text) = fs::read_to_string(&path)
                && let Ok(fraction) = text.parse()
            {
                progress(fraction);
            }
            sleep(POLL_INTERVAL);
        }
    }

    /// Reads what the ended machine left in the share.
    fn outcome<A: DeserializeOwned>(&self, status: ExitStatus, console: Console) -> Result<Outcome<A>, MachineError> {
        if let Some(failure) = self.read(share::FAILURE)? {
            return Err(MachineError::Job { problem: String::from_utf8_lossy(&failure).into_owned(), console });
        }
        let Some(answer) = self.read(share::ANSWER)? else {
            if console.tracing_refused() {
                return Err(MachineError::Trace(console));
            }
            return Err(MachineError::Died { status, console });
        };
        let answer = serde_json::from_slice(&answer).map_err(MachineError::Answer)?;
        let leaks = self.read(share::LEAKS)?;
        Ok(Outcome { answer, console, leaks: leaks.map(|leaks| String::from_utf8_lossy(&leaks).into_owned()) })
    }

    fn write(&self, name: &str, value: &impl Serialize) -> Result<(), MachineError> {
        let path = self.share.path().join(name);
        serde_json::to_vec(value)
            .map_err(io::Error::from)
            .and_then(|text| fs::write(&path, text))
            .map_err(MachineError::file(&path))
    }

    /// Content of a file of the share; `None`: there is no such file.
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, MachineError> {
        let path = self.share.path().join(name);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(MachineError::file(&path)(error)),
        }
    }
}

/// Reason why the wait for a machine ended.
enum WaitOutcome {
    Exited(ExitStatus),
    Stopped,
    TimeLimit,
}

/// Processes of a machine: the kernel and, in its process group, the host processes of guest programs.
struct Process {
    child: Option<Child>,
    console: Option<JoinHandle<Console>>,
}

impl Process {
    /// Exit status of the kernel; `None`: it runs.
    fn exited(&mut self) -> Result<Option<ExitStatus>, MachineError> {
        let Some(child) = &mut self.child else {
            return Ok(None);
        };
        let status = child.try_wait().map_err(MachineError::Wait)?;
        if status.is_some() {
            // The PID may be reused from now on.
            self.child = None;
        }
        Ok(status)
    }

    /// Kills the process group if it still runs, and returns the console output.
    fn end(&mut self) -> Console {
        if let Some(mut child) = self.child.take() {
            if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
                // The child has not been reaped, so the PID is still its own.
                let _ = kill_process_group(group, Signal::KILL);
            }
            let _ = child.wait();
        }
        let console = self.console.take();
        console.and_then(|console| console.join().ok()).unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

fn absolute(path: &Path) -> Result<PathBuf, MachineError> {
    fs::canonicalize(path).map_err(MachineError::file(path))
}

/// A path as text that fits between quotation marks on the kernel command line.
fn quotable(path: &Path) -> Result<String, MachineError> {
    match path.to_str() {
        Some(text) if !text.chars().any(|c| c == '"' || c.is_control()) => Ok(text.to_owned()),
        _ => Err(MachineError::Path(path.to_owned())),
    }
}

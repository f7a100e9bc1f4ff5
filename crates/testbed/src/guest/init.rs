//! First process of the machine: sets it up, runs the job, powers it off.

use super::debug_kernel;
use super::error::{FileError, InitError};
use crate::protocol::{FILES, SHARE, SHARE_VARIABLE, Setup, share};
use rustix::mount::{MountFlags, mount};
use rustix::process::{Resource, Rlimit, WaitOptions, setrlimit, wait};
use rustix::system::{RebootCommand, finit_module, reboot, sethostname};
use std::ffi::CString;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Environment of programs in the machine; the host's would name directories that are not writable here.
const ENVIRONMENT: [(&str, &str); 5] = [
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ("HOME", "/run/root"),
    ("TMPDIR", "/run/tmp"),
    ("LANG", "C.UTF-8"),
    ("TERM", "dumb"),
];

/// Maximum number of open files of a process: the traffic generator has one for each connection.
const OPEN_FILES: u64 = 1 << 20;

pub(super) fn run() -> Result<(), InitError> {
    if rustix::process::getpid() != rustix::process::Pid::INIT {
        return Err(InitError::NotInit);
    }
    if let Err(error) = set_up_and_run() {
        let text = error.to_string();
        // Standard error is the console, which the host reads.
        eprintln!("{text}");
        let _ = fs::write(Path::new(SHARE).join(share::FAILURE), &text);
    }
    rustix::fs::sync();
    reboot(RebootCommand::PowerOff).map_err(InitError::PowerOff)
}

fn set_up_and_run() -> Result<(), InitError> {
    // Mount the share first, so that later errors can be reported through it.
    mount_here("tmpfs", "/run")?;
    mount_host(&share_of_host()?, SHARE)?;
    file_systems()?;
    let setup = setup()?;
    if let Some(files) = &setup.files {
        mount_host(Path::new(files), FILES)?;
    }
    sethostname(b"testbed").map_err(InitError::call("sethostname"))?;
    loopback()?;
    let limit = Rlimit { current: Some(OPEN_FILES), maximum: Some(OPEN_FILES) };
    setrlimit(Resource::Nofile, limit).map_err(InitError::call("setrlimit"))?;
    for module in &setup.modules {
        insert(&Path::new(SHARE).join(share::MODULES).join(module))?;
    }
    job(&setup)?;
    debug_kernel::check(&setup.modules, &ENVIRONMENT)
}

fn file_systems() -> Result<(), InitError> {
    // /tmp stays the host's: paths given by the caller may be there.
    for (kind, place) in [("proc", "/proc"), ("sysfs", "/sys"), ("cgroup2", "/sys/fs/cgroup"), ("bpf", "/sys/fs/bpf")] {
        mount_here(kind, place)?;
    }
    // debugfs exists only in debug kernels.
    if Path::new("/sys/kernel/debug").is_dir() {
        mount_here("debugfs", "/sys/kernel/debug")?;
    }
    for folder in ["/dev/shm", "/dev/pts", "/run/root", "/run/tmp", "/run/lock"] {
        make(folder)?;
    }
    mount_here("tmpfs", "/dev/shm")?;
    mount_here("devpts", "/dev/pts")?;
    for (target, link) in [
        ("/proc/self/fd", "/dev/fd"),
        ("/proc/self/fd/0", "/dev/stdin"),
        ("/proc/self/fd/1", "/dev/stdout"),
        ("/proc/self/fd/2", "/dev/stderr"),
    ] {
        symlink(target, link).map_err(FileError::at(link))?;
    }
    Ok(())
}

/// Mounts a file system of the kernel.
fn mount_here(kind: &'static str, place: &'static str) -> Result<(), InitError> {
    mount(kind, place, kind, MountFlags::empty(), None).map_err(|errno| InitError::Mount { place, kind, errno })
}

/// Mounts a directory of the host read-write at `place`.
fn mount_host(directory: &Path, place: &'static str) -> Result<(), InitError> {
    make(place)?;
    let data = CString::new(directory.as_os_str().as_bytes()).map_err(|_| InitError::ZeroByte { place })?;
    mount("none", place, "hostfs", MountFlags::empty(), data.as_c_str()).map_err(|errno| InitError::MountHost {
        place,
        directory: directory.to_owned(),
        errno,
    })
}

fn make(folder: &str) -> Result<(), FileError> {
    fs::create_dir_all(folder).map_err(FileError::at(folder))
}

/// Brings the loopback interface up. A missing `ip` is no error here; jobs that build networks need it anyway.
fn loopback() -> Result<(), InitError> {
    let up = Command::new("ip")
        .args(["link", "set", "lo", "up"])
        .env_clear()
        .envs(ENVIRONMENT)
        .stdin(Stdio::null())
        .status();
    match up {
        Ok(status) if !status.success() => Err(InitError::Loopback(status)),
        Err(error) if error.kind() != ErrorKind::NotFound => Err(InitError::Ip(error)),
        _ => Ok(()),
    }
}

/// Host path of the share.
fn share_of_host() -> Result<PathBuf, InitError> {
    std::env::var_os(SHARE_VARIABLE).map(PathBuf::from).ok_or(InitError::NoShare(SHARE_VARIABLE))
}

fn setup() -> Result<Setup, FileError> {
    let path = Path::new(SHARE).join(share::SETUP);
    let text = fs::read(&path).map_err(FileError::at(&path))?;
    serde_json::from_slice(&text).map_err(FileError::at(&path))
}

/// Loads a kernel module.
fn insert(path: &Path) -> Result<(), InitError> {
    let file = File::open(path).map_err(FileError::at(path))?;
    finit_module(&file, c"", 0).map_err(|errno| {
        let name = path.file_name().unwrap_or_default();
        InitError::Module { module: name.to_string_lossy().into_owned(), errno }
    })
}

/// Runs the job and waits for it; also reaps orphaned processes.
fn job(setup: &Setup) -> Result<(), InitError> {
    let plugins = Path::new(SHARE).join(share::PLUGINS);
    let mut job = Command::new("/proc/self/exe")
        .args(&setup.arguments)
        .arg("job")
        .env_clear()
        .envs(ENVIRONMENT)
        .envs(setup.plugins.then_some(("TC_LIB_DIR", plugins)))
        .current_dir("/")
        .stdin(Stdio::null())
        .spawn()
        .map_err(InitError::StartJob)?;
    loop {
        let ended = wait(WaitOptions::empty()).map_err(InitError::call("wait"))?;
        if let Some((pid, status)) = ended
            && pid.as_raw_nonzero().get() == job.id() as i32
        {
            // Already reaped by `wait`; this only updates the handle.
            let _ = job.try_wait();
            let signal = status.terminating_signal();
            return match signal {
                Some(signal) => Err(InitError::Signal(signal)),
                None => Ok(()),
            };
        }
    }
}

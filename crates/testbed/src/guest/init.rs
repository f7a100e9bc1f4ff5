//! First process of the machine: sets it up, runs the job, powers it off.

use super::{FILES, SHARE, SHARE_VARIABLE, share, watched};
use crate::machine::Setup;
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
    (
        "PATH",
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    ),
    ("HOME", "/run/root"),
    ("TMPDIR", "/run/tmp"),
    ("LANG", "C.UTF-8"),
    ("TERM", "dumb"),
];

/// Maximum number of open files of a process: the traffic generator has one for each connection.
const OPEN_FILES: u64 = 1 << 20;

pub(super) fn run() -> Result<(), String> {
    if rustix::process::getpid() != rustix::process::Pid::INIT {
        return Err("init is the first process of a machine, and of nothing else".to_owned());
    }
    if let Err(problem) = work() {
        // Standard error is the console, which the host reads.
        eprintln!("{problem}");
        let _ = fs::write(Path::new(SHARE).join(share::FAILURE), &problem);
    }
    rustix::fs::sync();
    reboot(RebootCommand::PowerOff)
        .map_err(|error| format!("the machine cannot be turned off: {error}"))
}

fn work() -> Result<(), String> {
    // Mount the share first, so that later errors can be reported through it.
    mount_here("tmpfs", "/run")?;
    mount_host(share_of_host()?.as_os_str().as_bytes(), SHARE)?;
    file_systems()?;
    let setup = setup()?;
    if let Some(files) = &setup.files {
        mount_host(files.as_bytes(), FILES)?;
    }
    sethostname(b"testbed").map_err(|error| format!("sethostname: {error}"))?;
    loopback()?;
    let limit = Rlimit {
        current: Some(OPEN_FILES),
        maximum: Some(OPEN_FILES),
    };
    setrlimit(Resource::Nofile, limit).map_err(|error| format!("setrlimit: {error}"))?;
    for module in &setup.modules {
        insert(&Path::new(SHARE).join(share::MODULES).join(module))?;
    }
    job(&setup)?;
    watched::end(&setup.modules, &ENVIRONMENT)
}

fn file_systems() -> Result<(), String> {
    // /tmp stays the host's: paths given by the caller may be there.
    for (kind, place) in [
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("cgroup2", "/sys/fs/cgroup"),
        ("bpf", "/sys/fs/bpf"),
    ] {
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
        symlink(target, link).map_err(|error| format!("{link}: {error}"))?;
    }
    Ok(())
}

fn mount_here(kind: &str, place: &str) -> Result<(), String> {
    mount(kind, place, kind, MountFlags::empty(), None)
        .map_err(|error| format!("{place}: {kind} cannot be mounted: {error}"))
}

/// Mounts a directory of the host read-write at `place`.
fn mount_host(path: &[u8], place: &str) -> Result<(), String> {
    make(place)?;
    let data = CString::new(path).map_err(|_| format!("{place}: a path with a zero byte"))?;
    mount(
        "none",
        place,
        "hostfs",
        MountFlags::empty(),
        data.as_c_str(),
    )
    .map_err(|error| format!("{place}: the host's directory cannot be mounted: {error}"))
}

fn make(folder: &str) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("{folder}: {error}"))
}

/// Brings the loopback interface up. A missing `ip` is no error here; jobs that build networks need it anyway.
fn loopback() -> Result<(), String> {
    let up = Command::new("ip")
        .args(["link", "set", "lo", "up"])
        .env_clear()
        .envs(ENVIRONMENT)
        .stdin(Stdio::null())
        .status();
    match up {
        Ok(status) if !status.success() => Err(format!("ip link set lo up: {status}")),
        Err(error) if error.kind() != ErrorKind::NotFound => Err(format!("ip: {error}")),
        _ => Ok(()),
    }
}

fn share_of_host() -> Result<PathBuf, String> {
    std::env::var_os(SHARE_VARIABLE)
        .map(PathBuf::from)
        .ok_or_else(|| format!("{SHARE_VARIABLE} is missing from the kernel's command line"))
}

fn setup() -> Result<Setup, String> {
    let path = Path::new(SHARE).join(share::SETUP);
    let text = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", path.display()))
}

fn insert(path: &Path) -> Result<(), String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let file = File::open(path).map_err(|error| format!("{name}: {error}"))?;
    finit_module(&file, c"", 0).map_err(|error| {
        format!("{name}: the kernel does not take the module ({error}); its console says why")
    })
}

/// Runs the job and waits for it; also reaps orphaned processes.
fn job(setup: &Setup) -> Result<(), String> {
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
        .map_err(|error| format!("the job cannot be started: {error}"))?;
    loop {
        let ended = wait(WaitOptions::empty()).map_err(|error| format!("wait: {error}"))?;
        if let Some((pid, status)) = ended
            && pid.as_raw_nonzero().get() == job.id() as i32
        {
            // Already reaped by `wait`; this only updates the handle.
            let _ = job.try_wait();
            let signal = status.terminating_signal();
            return match signal {
                Some(signal) => Err(format!("the job was ended by signal {signal}")),
                None => Ok(()),
            };
        }
    }
}

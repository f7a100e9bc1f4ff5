//! Privileges of the engine after its socket is open: to receive and send through the socket, and to write the
//! configured files.

use super::error::WireError;
use landlock::{ABI, Access, AccessFs, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus, path_beneath_rules};
use nix::unistd::User;
use rustix::process::{Gid, Uid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs, set_thread_groups, set_thread_res_gid,
    set_thread_res_uid,
};
use std::path::PathBuf;

/// Privileges that remain to the engine.
#[derive(Debug, Clone, Default)]
pub struct Confinement {
    /// User to switch to; `None`: the current user.
    pub account: Option<Account>,
    /// Directories in which the engine may write, besides that of its status socket. If the kernel has Landlock (5.13),
    /// it cannot even read elsewhere.
    pub directories: Vec<PathBuf>,
}

/// User account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

impl Account {
    /// Account of the user of this name.
    ///
    /// # Errors
    /// If there is no such user.
    pub fn named(name: &str) -> Result<Account, WireError> {
        let missing = || WireError::NoUser(name.to_owned());
        let user = User::from_name(name).ok().flatten().ok_or_else(missing)?;
        Ok(Account { uid: user.uid.as_raw(), gid: user.gid.as_raw() })
    }
}

/// Landlock ABI up to which rights are removed; older kernels support fewer.
const LANDLOCK: ABI = ABI::V5;

/// Parts of the confinement that are in force. What is not was not possible on this system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Confined {
    /// The engine can only reach the files of the confinement. If not, it can reach all files of its user: the kernel lacks
    /// Landlock or has it disabled.
    pub files: bool,
    /// The engine can only make the system calls that it needs. If not, the kernel lacks filters of system calls.
    pub calls: bool,
}

/// Drops all privileges that are not needed, irrevocably, for this thread and its future threads: the open socket
/// receives and sends without any capability.
pub(super) fn drop_all(confinement: &Confinement) -> Result<Confined, WireError> {
    set_no_new_privs(true).map_err(|error| WireError::call("PR_SET_NO_NEW_PRIVS")(error.into()))?;
    let files = restrict_files(&confinement.directories)?;
    if let Some(account) = confinement.account {
        become_user(account)?;
    }
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, none).map_err(|error| WireError::call("capset")(error.into()))?;
    let calls = restrict_calls();
    Ok(Confined { files, calls })
}

/// Refuses system calls with seccomp; returns whether that is possible.
fn restrict_calls() -> bool {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
    return super::system_calls::restrict().is_ok();
    // seccompiler supports no other architecture.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
    false
}

fn become_user(account: Account) -> Result<(), WireError> {
    let (uid, gid) = (Uid::from_raw(account.uid), Gid::from_raw(account.gid));
    let refused = |call| move |error: rustix::io::Errno| WireError::Account { call, source: error.into() };
    set_thread_groups(&[]).map_err(refused("setgroups"))?;
    set_thread_res_gid(gid, gid, gid).map_err(refused("setresgid"))?;
    set_thread_res_uid(uid, uid, uid).map_err(refused("setresuid"))
}

/// Restricts file access with Landlock as far as this kernel supports it; returns whether it does.
fn restrict_files(directories: &[PathBuf]) -> Result<bool, WireError> {
    let all = AccessFs::from_all(LANDLOCK);
    let restrict = || {
        Ruleset::default()
            .handle_access(all)?
            .create()?
            .add_rules(path_beneath_rules(directories, all & !AccessFs::Execute))?
            .restrict_self()
    };
    match restrict() {
        Ok(status) => Ok(status.ruleset != RulesetStatus::NotEnforced),
        Err(error) => Err(WireError::Call { call: "landlock_restrict_self", source: std::io::Error::other(error) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::ErrorKind;
    use std::process::Command;

    /// Runs in a separate thread, which alone is confined; as any user, and as root with another account to switch to.
    #[test]
    fn what_is_not_needed_is_gone_for_good() {
        let directory = tempfile::TempDir::new().expect("a directory");
        let mine = directory.path().to_owned();
        let root = rustix::process::geteuid().is_root();
        let account = root.then(|| Account::named("nobody").expect("nobody"));
        if let Some(account) = account {
            std::os::unix::fs::chown(&mine, Some(account.uid), Some(account.gid)).expect("chown");
        }
        let confined = std::thread::spawn(move || {
            let confinement = Confinement { account, directories: vec![mine.clone()] };
            let read = fs::read_to_string("/proc/thread-self/status");
            assert!(read.is_ok());
            let confined = drop_all(&confinement).expect("it can be given up");
            assert!(confined.calls, "this kernel has no filters of system calls");
            fs::write(mine.join("file"), "text").expect("its own directory");
            fs::rename(mine.join("file"), mine.join("other")).expect("its own directory");
            let refused = Command::new("/bin/true").status().expect_err("execve");
            assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
            if confined.files {
                for path in ["/etc/passwd", "/proc/self/status", "/bin/true"] {
                    let error = fs::read(path).expect_err(path);
                    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{path}");
                }
            }
            let socket = nix::sys::socket::socket(
                nix::sys::socket::AddressFamily::Packet,
                nix::sys::socket::SockType::Raw,
                nix::sys::socket::SockFlag::empty(),
                None,
            );
            assert_eq!(socket.err(), Some(nix::Error::EPERM));
            forbidden_calls_fail();
            (rustix::process::geteuid(), account)
        });
        let (uid, account) = confined.join().expect("it holds");
        if let Some(account) = account {
            assert_eq!(uid.as_raw(), account.uid);
            assert_ne!(uid.as_raw(), 0);
        }
        // The rest of the process keeps its privileges.
        assert_eq!(rustix::process::geteuid().is_root(), root);
        fs::read("/etc/passwd").expect("this thread is free");
    }

    /// Ways out of the confinement that need no capability, or that give one back.
    fn forbidden_calls_fail() {
        use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
        for family in [AddressFamily::Unix, AddressFamily::Inet, AddressFamily::Netlink] {
            let opened = socket(family, SockType::Datagram, SockFlag::empty(), None);
            assert_eq!(opened.err(), Some(nix::Error::EPERM), "{family:?}");
        }
        let refused = Err(rustix::io::Errno::PERM);
        for (name, call, arguments) in [
            ("clone with a namespace", libc::SYS_clone, [libc::CLONE_NEWUSER as u64 | libc::SIGCHLD as u64, 0, 0]),
            ("fork", libc::SYS_clone, [libc::SIGCHLD as u64, 0, 0]),
            ("unshare", libc::SYS_unshare, [libc::CLONE_NEWUSER as u64, 0, 0]),
            ("fsopen", libc::SYS_fsopen, [0; 3]),
            ("open_tree", libc::SYS_open_tree, [0; 3]),
            ("move_mount", libc::SYS_move_mount, [0; 3]),
            ("mount_setattr", libc::SYS_mount_setattr, [0; 3]),
            ("pidfd_getfd", libc::SYS_pidfd_getfd, [0; 3]),
            ("memfd_create", libc::SYS_memfd_create, [0; 3]),
            ("connect", libc::SYS_connect, [0; 3]),
            ("kill", libc::SYS_kill, [u64::from(std::process::id()), 0, 0]),
            ("tgkill of another", libc::SYS_tgkill, [1, 1, 0]),
            ("prctl", libc::SYS_prctl, [libc::PR_SET_DUMPABLE as u64, 1, 0]),
            ("ioctl", libc::SYS_ioctl, [0, libc::TIOCSTI as _, 0]),
            ("seccomp", libc::SYS_seccomp, [0; 3]),
            ("setsockopt", libc::SYS_setsockopt, [0, libc::SOL_PACKET as u64, libc::PACKET_RX_RING as u64]),
            ("io_uring_setup", libc::SYS_io_uring_setup, [0; 3]),
            ("execve by its number of x32", 0x4000_0000 | 520, [0; 3]),
        ] {
            assert_eq!(system_call(call, arguments), refused, "{name}");
        }
        let missing = Err(rustix::io::Errno::NOSYS);
        assert_eq!(system_call(libc::SYS_clone3, [0; 3]), missing);
        std::thread::spawn(|| ()).join().expect("threads are possible");
    }

    #[expect(unsafe_code, reason = "calls that no library makes")]
    fn system_call(call: libc::c_long, [a, b, c]: [u64; 3]) -> rustix::io::Result<()> {
        // SAFETY: the filter refuses the call; otherwise, the arguments are null pointers, lengths of zero, or flags.
        let outcome = unsafe { libc::syscall(call, a, b, c, 0_u64, 0_u64) };
        let errno = std::io::Error::last_os_error().raw_os_error();
        match outcome {
            0.. => Ok(()),
            _ => Err(rustix::io::Errno::from_raw_os_error(errno.unwrap_or_default())),
        }
    }

    #[test]
    fn a_user_that_is_not_there_is_said_to_be() {
        let error = Account::named("no-such-user").expect_err("no such user");
        assert!(error.to_string().contains("no-such-user"), "{error}");
    }
}

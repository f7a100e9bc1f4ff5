//! Privileges of the engine after its socket is open: to receive and send through the socket, and to write the
//! configured files.

use super::error::WireError;
use landlock::{
    ABI, Access, AccessFs, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
    path_beneath_rules,
};
use nix::unistd::User;
use rustix::process::{Gid, Uid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs, set_thread_groups,
    set_thread_res_gid, set_thread_res_uid,
};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use std::collections::BTreeMap;
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
        Ok(Account {
            uid: user.uid.as_raw(),
            gid: user.gid.as_raw(),
        })
    }
}

/// Landlock ABI up to which rights are removed; older kernels support fewer.
const LANDLOCK: ABI = ABI::V5;

/// System calls refused because they lead out of the confinement or into parts of the kernel that the engine does not
/// need.
const REFUSED_CALLS: [libc::c_long; 26] = [
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_delete_module,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_perf_event_open,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_request_key,
    libc::SYS_setns,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
];

/// Files that remain accessible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileAccess {
    /// Files of the confinement only.
    Confined,
    /// All files of the user: the kernel lacks Landlock or has it disabled.
    Unconfined,
}

/// Drops all privileges that are not needed, irrevocably, for this thread and its future threads: the open socket
/// receives and sends without any capability.
pub(super) fn drop_all(confinement: &Confinement) -> Result<FileAccess, WireError> {
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
    restrict_calls();
    Ok(files)
}

fn become_user(account: Account) -> Result<(), WireError> {
    let (uid, gid) = (Uid::from_raw(account.uid), Gid::from_raw(account.gid));
    let refused = |call| {
        move |error: rustix::io::Errno| WireError::Account {
            call,
            source: error.into(),
        }
    };
    set_thread_groups(&[]).map_err(refused("setgroups"))?;
    set_thread_res_gid(gid, gid, gid).map_err(refused("setresgid"))?;
    set_thread_res_uid(uid, uid, uid).map_err(refused("setresuid"))
}

/// Restricts file access with Landlock as far as this kernel supports it.
fn restrict_files(directories: &[PathBuf]) -> Result<FileAccess, WireError> {
    let all = AccessFs::from_all(LANDLOCK);
    let restrict = || {
        Ruleset::default()
            .handle_access(all)?
            .create()?
            .add_rules(path_beneath_rules(directories, all & !AccessFs::Execute))?
            .restrict_self()
    };
    match restrict() {
        Ok(status) if status.ruleset == RulesetStatus::NotEnforced => Ok(FileAccess::Unconfined),
        Ok(_) => Ok(FileAccess::Confined),
        Err(error) => Err(WireError::Call {
            call: "landlock_restrict_self",
            source: std::io::Error::other(error),
        }),
    }
}

/// Refuses system calls with seccomp; without CONFIG_SECCOMP_FILTER, or on an architecture that seccompiler does not
/// support, none are refused.
fn restrict_calls() {
    let rules: BTreeMap<i64, _> = REFUSED_CALLS.map(|call| (call, Vec::new())).into();
    let filter = std::env::consts::ARCH
        .try_into()
        .and_then(|processor| {
            let refused = SeccompAction::Errno(libc::EPERM as u32);
            SeccompFilter::new(rules, SeccompAction::Allow, refused, processor)
        })
        .and_then(BpfProgram::try_from);
    if let Ok(filter) = filter {
        // The unit in deploy/systemd adds a filter of systemd.
        let _ = seccompiler::apply_filter(&filter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::ErrorKind;
    use std::process::Command;

    /// Runs in a thread of its own, which alone is confined; as any user, and as root with another account to switch
    /// to.
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
            let confinement = Confinement {
                account,
                directories: vec![mine.clone()],
            };
            let read = fs::read_to_string("/proc/thread-self/status");
            assert!(read.is_ok());
            let files = drop_all(&confinement).expect("it can be given up");
            fs::write(mine.join("file"), "text").expect("its own directory");
            fs::rename(mine.join("file"), mine.join("other")).expect("its own directory");
            let refused = Command::new("/bin/true").status().expect_err("execve");
            assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
            if files == FileAccess::Confined {
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

    #[test]
    fn a_user_that_is_not_there_is_said_to_be() {
        let error = Account::named("no-such-user").expect_err("there is none");
        assert!(error.to_string().contains("no-such-user"), "{error}");
    }
}

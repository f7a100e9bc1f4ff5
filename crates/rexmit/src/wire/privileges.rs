//! What the engine may do once its socket is open: hear and send through it, and write the files that it was given.

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

/// What is left to the engine.
#[derive(Debug, Clone, Default)]
pub struct Confinement {
    /// Who it is from then on; `None`: who has started it.
    pub account: Option<Account>,
    /// Directories in which it may write, besides that of its status socket. Elsewhere it cannot even read, where the kernel has
    /// Landlock (5.13).
    pub directories: Vec<PathBuf>,
}

/// A user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

impl Account {
    /// The user of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn named(name: &str) -> Result<Account, WireError> {
        let missing = || WireError::NoUser(name.to_owned());
        let user = User::from_name(name).ok().flatten().ok_or_else(missing)?;
        Ok(Account {
            uid: user.uid.as_raw(),
            gid: user.gid.as_raw(),
        })
    }
}

/// The newest rights that Landlock is asked to take away; older kernels know fewer of them.
const LANDLOCK: ABI = ABI::V5;

/// System calls that lead out of the confinement, or into parts of the kernel of which the engine needs none.
const REFUSED: [libc::c_long; 26] = [
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

/// Which files are within reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Files {
    /// Those of the confinement.
    Own,
    /// Those of the user: the kernel has no Landlock, or not switched on.
    OfUser,
}

/// Gives up all that is not needed, of this thread and of those that it starts, for good: the open socket hears and sends
/// without any capability.
pub(super) fn drop_all(confinement: &Confinement) -> Result<Files, WireError> {
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

/// As far as this kernel can.
fn restrict_files(directories: &[PathBuf]) -> Result<Files, WireError> {
    let all = AccessFs::from_all(LANDLOCK);
    let restrict = || {
        Ruleset::default()
            .handle_access(all)?
            .create()?
            .add_rules(path_beneath_rules(directories, all & !AccessFs::Execute))?
            .restrict_self()
    };
    match restrict() {
        Ok(status) if status.ruleset == RulesetStatus::NotEnforced => Ok(Files::OfUser),
        Ok(_) => Ok(Files::Own),
        Err(error) => Err(WireError::Call {
            call: "landlock_restrict_self",
            source: std::io::Error::other(error),
        }),
    }
}

/// As far as this kernel can: without CONFIG_SECCOMP_FILTER, and on processors that seccompiler does not know, none is refused.
fn restrict_calls() {
    let rules: BTreeMap<i64, _> = REFUSED.map(|call| (call, Vec::new())).into();
    let filter = std::env::consts::ARCH
        .try_into()
        .and_then(|processor| {
            let refused = SeccompAction::Errno(libc::EPERM as u32);
            SeccompFilter::new(rules, SeccompAction::Allow, refused, processor)
        })
        .and_then(BpfProgram::try_from);
    if let Ok(filter) = filter {
        // The service of deploy/systemd has a filter of systemd's besides.
        let _ = seccompiler::apply_filter(&filter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::ErrorKind;
    use std::process::Command;

    /// In a thread of its own, which alone is confined. As any user, and as root with another account to go to.
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
            if files == Files::Own {
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
        // The rest of the process is what it was.
        assert_eq!(rustix::process::geteuid().is_root(), root);
        fs::read("/etc/passwd").expect("this thread is free");
    }

    #[test]
    fn a_user_that_is_not_there_is_said_to_be() {
        let error = Account::named("no-such-user").expect_err("there is none");
        assert!(error.to_string().contains("no-such-user"), "{error}");
    }
}

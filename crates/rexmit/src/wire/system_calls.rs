//! System calls of a running engine: on files that Landlock permits, on its open sockets, on memory, and on threads.
//! Seccomp rejects all others. None of them opens a socket, starts a program or a process, or changes privileges.

use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};
use std::collections::BTreeMap;

/// Calls allowed with any arguments. Which of several similar calls is made depends on the C library (glibc, musl) and its version.
const ALLOWED: &[libc::c_long] = &[
    // The packet socket, the status socket and its clients.
    libc::SYS_accept4,
    libc::SYS_getsockopt,
    libc::SYS_ppoll,
    libc::SYS_recvfrom,
    libc::SYS_recvmmsg,
    libc::SYS_sendto,
    libc::SYS_shutdown,
    // Files.
    libc::SYS_close,
    libc::SYS_faccessat,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_fcntl,
    libc::SYS_fdatasync,
    libc::SYS_fsync,
    libc::SYS_fstat,
    libc::SYS_ftruncate,
    libc::SYS_getcwd,
    libc::SYS_linkat,
    libc::SYS_lseek,
    libc::SYS_openat,
    libc::SYS_read,
    libc::SYS_readlinkat,
    libc::SYS_renameat2,
    libc::SYS_statx,
    libc::SYS_unlinkat,
    libc::SYS_write,
    libc::SYS_writev,
    // Memory.
    libc::SYS_brk,
    libc::SYS_madvise,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_munmap,
    // Threads, time, signals to itself, random numbers.
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_clone3,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_nanosleep,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_set_robust_list,
    libc::SYS_sigaltstack,
    libc::SYS_newfstatat,
    #[cfg(not(target_arch = "riscv64"))]
    libc::SYS_renameat,
    // Calls of x86 without a directory, which musl makes.
    #[cfg(target_arch = "x86_64")]
    libc::SYS_access,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lstat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_open,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_readlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_stat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
];

/// Requests of ioctl(2), whose type depends on the C library: whether a stream blocks, whether it is a terminal and how wide, and the index of an interface.
const IOCTLS: [u64; 4] = [libc::FIONBIO as _, libc::TCGETS as _, libc::TIOCGWINSZ as _, libc::SIOCGIFINDEX as _];

/// Options of sockets: the filter of the packet socket, and the time limits of clients.
const SOCKET_OPTIONS: [libc::c_int; 3] = [libc::SO_ATTACH_FILTER, libc::SO_RCVTIMEO, libc::SO_SNDTIMEO];

/// Flags of clone(2) for a thread of this process, all of which must be set.
const THREAD: u64 = (libc::CLONE_THREAD | libc::CLONE_VM | libc::CLONE_SIGHAND) as u64;

/// Flags of clone(2) for new namespaces, which would give capabilities back (`CLONE_NEWUSER`); none may be set.
const NAMESPACES: u64 = (libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWUTS) as u64;

/// Refuses all other system calls of this thread and its future threads.
///
/// # Errors
/// The kernel has no seccomp filters, or seccompiler does not support the architecture.
pub(super) fn restrict() -> Result<(), Error> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    // The flags of clone3 are in memory, where a filter cannot see them. Without it, C libraries use clone.
    let missing = SeccompAction::Errno(libc::ENOSYS as u32);
    let clone3 = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let filters = [
        // In this order: the second one refuses the call that installs a filter.
        SeccompFilter::new(clone3, SeccompAction::Allow, missing, arch)?,
        SeccompFilter::new(allowed()?, refused, SeccompAction::Allow, arch)?,
    ];
    for filter in filters {
        seccompiler::apply_filter(&BpfProgram::try_from(filter)?)?;
    }
    Ok(())
}

/// Rules of each allowed call; none: any arguments.
fn allowed() -> Result<BTreeMap<i64, Vec<SeccompRule>>, Error> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = ALLOWED.iter().map(|&call| (call, Vec::new())).collect();
    let mut add = |call: libc::c_long, conditions: Vec<SeccompCondition>| -> Result<(), Error> {
        let rule = SeccompRule::new(conditions)?;
        rules.entry(call).or_default().push(rule);
        Ok(())
    };
    for request in IOCTLS {
        add(libc::SYS_ioctl, vec![equal(1, request)?])?;
    }
    for option in SOCKET_OPTIONS {
        let level = equal(1, libc::SOL_SOCKET as u64)?;
        add(libc::SYS_setsockopt, vec![level, equal(2, option as u64)?])?;
    }
    add(libc::SYS_prctl, vec![equal(0, libc::PR_SET_NAME as u64)?])?;
    let own = u64::from(std::process::id());
    // abort(3).
    add(libc::SYS_tgkill, vec![equal(0, own)?])?;
    let flags = SeccompCmpOp::MaskedEq(THREAD | NAMESPACES);
    let flags = SeccompCondition::new(0, SeccompCmpArgLen::Qword, flags, THREAD)?;
    add(libc::SYS_clone, vec![flags])?;
    Ok(rules)
}

/// Condition that the lower 32 bits of an argument, which the kernel uses, have this value.
fn equal(argument: u8, value: u64) -> Result<SeccompCondition, Error> {
    let equal = SeccompCmpOp::Eq;
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, equal, value);
    Ok(condition?)
}

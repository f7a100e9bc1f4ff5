//! The first timeout of SYNs and SYN/ACKs. In Linux it is one second at compile time (`TCP_TIMEOUT_INIT`); only a BPF
//! program of type sock_ops, attached to a control group, can say otherwise (`BPF_SOCK_OPS_TIMEOUT_INIT`,
//! include/uapi/linux/bpf.h). It has six instructions, so it is written out here; the loaders that there are want an
//! object file from a compiler, hence the unsafe code.

#![expect(
    unsafe_code,
    reason = "bpf(2) has no safe interface without an object file"
)]

use std::fs::{self, File};
use std::io;
use std::mem::size_of_val;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};

// include/uapi/linux/bpf.h
const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_PROG_ATTACH: libc::c_int = 8;
const BPF_PROG_TYPE_SOCK_OPS: u32 = 13;
const BPF_CGROUP_SOCK_OPS: u32 = 3;
const BPF_SOCK_OPS_TIMEOUT_INIT: i32 = 1;
/// `op` and `reply` in `struct bpf_sock_ops`.
const OP: i16 = 0;
const REPLY: i16 = 4;

/// The group that this process is in while the timeout is in force.
pub(super) struct InitialRto {
    group: PathBuf,
    /// Where the process was before.
    before: PathBuf,
    _program: OwnedFd,
}

/// Puts this process into a new group below `cgroup` whose sockets have `ms` for their first timeout; `hz`: ticks per
/// second of the kernel.
pub(super) fn set(cgroup: &Path, ms: u32, hz: u32) -> Result<InitialRto, String> {
    let ticks = i32::try_from(u64::from(ms) * u64::from(hz) / 1000).unwrap_or(i32::MAX);
    let problem = |what: &str, error: io::Error| {
        format!("initial RTO of {ms} ms: {what}: {error}; it takes a kernel with CONFIG_CGROUP_BPF")
    };
    let program =
        load(&instructions(ticks)).map_err(|error| problem("bpf(BPF_PROG_LOAD)", error))?;
    let group = cgroup.join(format!("gentle-{}", std::process::id()));
    fs::create_dir(&group).map_err(|error| problem(&group.display().to_string(), error))?;
    let group = InitialRto {
        group,
        before: cgroup.to_owned(),
        _program: program,
    };
    let directory = File::open(&group.group)
        .map_err(|error| problem(&group.group.display().to_string(), error))?;
    attach(&group._program, &directory).map_err(|error| problem("bpf(BPF_PROG_ATTACH)", error))?;
    join(&group.group).map_err(|error| problem(&group.group.display().to_string(), error))?;
    Ok(group)
}

impl Drop for InitialRto {
    fn drop(&mut self) {
        // A group that stays behind does no harm.
        let _ = join(&self.before);
        let _ = fs::remove_dir(&self.group);
    }
}

fn join(group: &Path) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), std::process::id().to_string())
}

/// `if (op == BPF_SOCK_OPS_TIMEOUT_INIT) reply = ticks; return 1`.
fn instructions(ticks: i32) -> [u64; 6] {
    let [load, set, unless, store, exit] = [0x61, 0xb7, 0x55, 0x63, 0x95];
    let (result, context, op, reply) = (0, 1, 2, 3);
    [
        instruction(load, op, context, OP, 0),
        instruction(set, result, 0, 0, 1),
        instruction(unless, op, 0, 2, BPF_SOCK_OPS_TIMEOUT_INIT),
        instruction(set, reply, 0, 0, ticks),
        instruction(store, context, reply, REPLY, 0),
        instruction(exit, 0, 0, 0, 0),
    ]
}

/// `struct bpf_insn`: the operation in 8 bits, two registers in 4 each, an offset in 16, a constant in 32.
fn instruction(code: u8, to: u8, from: u8, offset: i16, constant: i32) -> u64 {
    let registers = to | from << 4;
    let [low, high] = offset.to_le_bytes();
    let [a, b, c, d] = constant.to_le_bytes();
    u64::from_ne_bytes([code, registers, low, high, a, b, c, d])
}

/// The beginning of `union bpf_attr` for `BPF_PROG_LOAD`.
#[repr(C)]
struct Load {
    program_type: u32,
    instructions: u32,
    code: u64,
    license: u64,
}

/// The beginning of `union bpf_attr` for `BPF_PROG_ATTACH`.
#[repr(C)]
struct Attach {
    target: u32,
    program: u32,
    attach_type: u32,
    flags: u32,
}

fn load(code: &[u64; 6]) -> io::Result<OwnedFd> {
    let license = c"Dual MIT/GPL";
    let attributes = Load {
        program_type: BPF_PROG_TYPE_SOCK_OPS,
        instructions: code.len() as u32,
        code: code.as_ptr() as u64,
        license: license.as_ptr() as u64,
    };
    let descriptor = call(BPF_PROG_LOAD, &attributes)?;
    // SAFETY: the kernel has just opened it for us, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

fn attach(program: &OwnedFd, group: &File) -> io::Result<()> {
    let attributes = Attach {
        target: group.as_raw_fd().cast_unsigned(),
        program: program.as_raw_fd().cast_unsigned(),
        attach_type: BPF_CGROUP_SOCK_OPS,
        flags: 0,
    };
    call(BPF_PROG_ATTACH, &attributes).map(|_| ())
}

fn call<T>(command: libc::c_int, attributes: &T) -> io::Result<libc::c_int> {
    // SAFETY: the kernel reads `size` bytes of the attributes, and what their pointers name is alive until it returns.
    let outcome = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_ref(attributes),
            size_of_val(attributes),
        )
    };
    match libc::c_int::try_from(outcome) {
        Ok(descriptor) if descriptor >= 0 => Ok(descriptor),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_what_an_assembler_makes_of_it() {
        let bytes: Vec<[u8; 8]> = instructions(3000).map(u64::to_ne_bytes).to_vec();
        assert_eq!(
            bytes,
            [
                // r2 = *(u32 *)(r1 + 0)
                [0x61, 0x12, 0, 0, 0, 0, 0, 0],
                // r0 = 1
                [0xb7, 0x00, 0, 0, 1, 0, 0, 0],
                // if r2 != 1 goto +2
                [0x55, 0x02, 2, 0, 1, 0, 0, 0],
                // r3 = 3000
                [0xb7, 0x03, 0, 0, 0xb8, 0x0b, 0, 0],
                // *(u32 *)(r1 + 4) = r3
                [0x63, 0x31, 4, 0, 0, 0, 0, 0],
                // exit
                [0x95, 0x00, 0, 0, 0, 0, 0, 0],
            ]
        );
    }
}

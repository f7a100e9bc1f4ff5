//! Interface to bpf(2), as far as this engine needs it.
//!
//! The crates that wrap bpf(2) (aya, libbpf-rs) start from an object file made by a compiler for BPF, and libbpf-rs
//! also from a C library. The program here is assembled at run time and has some fifty instructions, so that building
//! gentle does not need clang. The unsafe code that this requires is confined to this file.

#![expect(unsafe_code, reason = "bpf(2) has no safe interface without an object file")]

use std::ffi::CString;
use std::io;
use std::mem::size_of_val;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

// include/uapi/linux/bpf.h
const BPF_MAP_CREATE: libc::c_int = 0;
const BPF_MAP_LOOKUP_ELEM: libc::c_int = 1;
const BPF_MAP_UPDATE_ELEM: libc::c_int = 2;
const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_OBJ_PIN: libc::c_int = 6;
const BPF_OBJ_GET: libc::c_int = 7;
const BPF_OBJ_GET_INFO_BY_FD: libc::c_int = 15;
const BPF_LINK_CREATE: libc::c_int = 28;
const BPF_LINK_UPDATE: libc::c_int = 29;
const BPF_PROG_TYPE_SOCK_OPS: u32 = 13;
const BPF_CGROUP_SOCK_OPS: u32 = 3;
const BPF_OBJ_NAME_LEN: usize = 16;

/// Type of a map and the sizes of its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    kind: u32,
    key: usize,
    value: usize,
    entries: u32,
    flags: u32,
}

impl Shape {
    /// Array indexed by number (`BPF_MAP_TYPE_ARRAY`).
    pub(super) const fn array(value: usize, entries: u32) -> Shape {
        Shape { kind: 2, key: 4, value, entries, flags: 0 }
    }

    /// Longest-prefix match on 16-byte addresses (`BPF_MAP_TYPE_LPM_TRIE`, which allocates entries on insertion:
    /// `BPF_F_NO_PREALLOC`).
    pub(super) const fn prefixes(value: usize, entries: u32) -> Shape {
        Shape { kind: 11, key: 4 + 16, value, entries, flags: 1 }
    }
}

/// BPF map in the kernel.
#[derive(Debug)]
pub(super) struct Map {
    descriptor: OwnedFd,
    /// Sizes on which the safety of [`call`] relies: the kernel reads and writes as many bytes.
    shape: Shape,
}

impl Map {
    pub(super) fn create(name: &str, shape: Shape) -> io::Result<Map> {
        #[repr(C)]
        struct Attributes {
            kind: u32,
            key: u32,
            value: u32,
            entries: u32,
            flags: u32,
            inner: u32,
            numa_node: u32,
            name: [u8; BPF_OBJ_NAME_LEN],
        }
        let attributes = Attributes {
            kind: shape.kind,
            key: shape.key as u32,
            value: shape.value as u32,
            entries: shape.entries,
            flags: shape.flags,
            inner: 0,
            numa_node: 0,
            name: object_name(name),
        };
        let descriptor = open(BPF_MAP_CREATE, &attributes)?;
        Ok(Map { descriptor, shape })
    }

    /// Opens a pinned array; rejects any other type of map.
    pub(super) fn pinned_array(path: &Path) -> io::Result<Map> {
        let descriptor = pinned(path)?;
        // Prefix of struct bpf_map_info: type, id, sizes of key and value, number of entries.
        let [kind, _, key, value, entries] = information::<[u32; 5]>(&descriptor)?;
        let shape = Shape::array(value as usize, entries);
        if (kind, key as usize) != (shape.kind, shape.key) {
            return Err(io::Error::other("not an array"));
        }
        Ok(Map { descriptor, shape })
    }

    pub(super) fn update(&self, key: &[u8], value: &[u8]) -> io::Result<()> {
        self.check_sizes((key.len(), value.len()) == (self.shape.key, self.shape.value))?;
        self.element(BPF_MAP_UPDATE_ELEM, key, value.as_ptr() as u64)
    }

    pub(super) fn look_up(&self, key: &[u8]) -> io::Result<Vec<u8>> {
        self.check_sizes(key.len() == self.shape.key)?;
        let mut value = vec![0_u8; self.shape.value];
        self.element(BPF_MAP_LOOKUP_ELEM, key, value.as_mut_ptr() as u64)?;
        Ok(value)
    }

    /// Rejects keys and values of another size: the kernel takes no length as an argument and would read beyond them.
    fn check_sizes(&self, fit: bool) -> io::Result<()> {
        match fit {
            true => Ok(()),
            false => Err(io::Error::other(format!("key or value does not fit a map of {:?}", self.shape))),
        }
    }

    fn element(&self, command: libc::c_int, key: &[u8], value: u64) -> io::Result<()> {
        #[repr(C)]
        struct Attributes {
            map: u32,
            padding: u32,
            key: u64,
            value: u64,
            flags: u64,
        }
        let attributes =
            Attributes { map: number(&self.descriptor), padding: 0, key: key.as_ptr() as u64, value, flags: 0 };
        call(command, &attributes).map(|_| ())
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Loads a program of type sock_ops. An error includes the verifier's message.
pub(super) fn load(name: &str, code: &[u64]) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        kind: u32,
        instructions: u32,
        code: u64,
        license: u64,
        log_level: u32,
        log_size: u32,
        log: u64,
        kernel_version: u32,
        flags: u32,
        name: [u8; BPF_OBJ_NAME_LEN],
    }
    let license = c"Dual MIT/GPL";
    let mut attributes = Attributes {
        kind: BPF_PROG_TYPE_SOCK_OPS,
        instructions: code.len() as u32,
        code: code.as_ptr() as u64,
        license: license.as_ptr() as u64,
        log_level: 0,
        log_size: 0,
        log: 0,
        kernel_version: 0,
        flags: 0,
        name: object_name(name),
    };
    // Loads without a log first: a log buffer that is too small would be an error itself.
    if let Ok(program) = open(BPF_PROG_LOAD, &attributes) {
        return Ok(program);
    }
    let mut log = vec![0_u8; 1 << 16];
    attributes.log_level = 1;
    attributes.log_size = log.len() as u32;
    attributes.log = log.as_mut_ptr() as u64;
    open(BPF_PROG_LOAD, &attributes).map_err(|error| {
        let text = String::from_utf8_lossy(&log);
        let text = text.trim_matches(['\0', '\n']);
        // The last line of the log gives the verification time, the one before it the error.
        match text.lines().rev().nth(1) {
            Some(complaint) => io::Error::new(error.kind(), format!("{error}: {complaint}")),
            None => error,
        }
    })
}

/// Attaches a program to a control group, in addition to those already there, for as long as the link is open or
/// pinned.
pub(super) fn link(program: &OwnedFd, cgroup: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        program: u32,
        target: u32,
        attach_type: u32,
        flags: u32,
    }
    let attributes =
        Attributes { program: number(program), target: number(&cgroup), attach_type: BPF_CGROUP_SOCK_OPS, flags: 0 };
    open(BPF_LINK_CREATE, &attributes)
}

/// Replaces the program of a link atomically.
pub(super) fn replace(link: &OwnedFd, program: &OwnedFd) -> io::Result<()> {
    #[repr(C)]
    struct Attributes {
        link: u32,
        program: u32,
        flags: u32,
        old_program: u32,
    }
    let attributes = Attributes { link: number(link), program: number(program), flags: 0, old_program: 0 };
    call(BPF_LINK_UPDATE, &attributes).map(|_| ())
}

/// Number of the control group of a link; `None` if the group has been removed.
pub(super) fn cgroup_of(link: &OwnedFd) -> io::Result<Option<u64>> {
    /// Prefix of struct bpf_link_info.
    #[derive(Clone, Copy, Default)]
    #[repr(C)]
    struct Information {
        kind: u32,
        id: u32,
        program: u32,
        padding: u32,
        cgroup: u64,
    }
    impl Plain for Information {}
    let information: Information = information(link)?;
    Ok(Some(information.cgroup).filter(|cgroup| *cgroup != 0))
}

/// Pins an object in the BPF file system, which keeps it alive.
pub(super) fn pin(object: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    call(BPF_OBJ_PIN, &Object::new(&path, number(&object))).map(|_| ())
}

/// Opens a pinned object.
pub(super) fn pinned(path: &Path) -> io::Result<OwnedFd> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    open(BPF_OBJ_GET, &Object::new(&path, 0))
}

/// Attributes of `BPF_OBJ_PIN` and `BPF_OBJ_GET`.
#[repr(C)]
struct Object {
    path: u64,
    descriptor: u32,
    flags: u32,
}

impl Object {
    fn new(path: &CString, descriptor: u32) -> Object {
        Object { path: path.as_ptr() as u64, descriptor, flags: 0 }
    }
}

/// Types for which any bytes are a valid value.
trait Plain: Copy + Default {}
impl Plain for [u32; 5] {}

fn information<T: Plain>(object: &OwnedFd) -> io::Result<T> {
    #[repr(C)]
    struct Attributes {
        object: u32,
        length: u32,
        to: u64,
    }
    let mut information = T::default();
    let attributes = Attributes {
        object: number(object),
        length: size_of::<T>() as u32,
        to: std::ptr::from_mut(&mut information) as u64,
    };
    call(BPF_OBJ_GET_INFO_BY_FD, &attributes)?;
    Ok(information)
}

/// Object name as the kernel shows it to bpftool, truncated to the maximum length.
fn object_name(name: &str) -> [u8; BPF_OBJ_NAME_LEN] {
    let mut bytes = [0; BPF_OBJ_NAME_LEN];
    let length = name.len().min(BPF_OBJ_NAME_LEN - 1);
    bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
    bytes
}

fn number(descriptor: &impl AsRawFd) -> u32 {
    descriptor.as_raw_fd().cast_unsigned()
}

fn open<T>(command: libc::c_int, attributes: &T) -> io::Result<OwnedFd> {
    let descriptor = call(command, attributes)?;
    // SAFETY: the kernel has just opened the descriptor for this process, and nothing else refers to it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

fn call<T>(command: libc::c_int, attributes: &T) -> io::Result<libc::c_int> {
    // SAFETY: the kernel reads `size` bytes of the attributes. Their pointers refer to memory that is alive until the
    // call returns and as large as the kernel assumes: lengths accompany the pointers, and the sizes of keys and values
    // are those of the map.
    let outcome =
        unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), size_of_val(attributes)) };
    match libc::c_int::try_from(outcome) {
        Ok(descriptor) if descriptor >= 0 => Ok(descriptor),
        _ => Err(io::Error::last_os_error()),
    }
}

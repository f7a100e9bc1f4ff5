//! Identity of the network namespace, within which interface indices are unique.

#![expect(unsafe_code, reason = "getsockopt(SO_NETNS_COOKIE) has no safe interface")]

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixDatagram;

/// Network namespace of this process.
#[derive(Debug, Clone)]
pub(crate) struct Namespace {
    /// Name that no other namespace gets until the machine is turned off.
    ///
    /// It has a part of the boot's identifier and the namespace's cookie (Linux 5.14, `net_gen_cookie` in
    /// net/core/net_namespace.c): a number from a counter. Older kernels have only the inode number of
    /// /proc/self/ns/net.
    pub(crate) name: String,
    /// Part of the boot's identifier with which the name begins; empty if it is unknown.
    pub(crate) boot: String,
    /// Inode number of /proc/self/ns/net, which the next namespace may get as soon as this one is deleted.
    pub(crate) inode: u64,
}

pub(crate) fn namespace() -> Namespace {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let boot = boot.split('-').next().unwrap_or_default().trim().to_owned();
    let inode = inode();
    let name = match cookie() {
        Ok(cookie) => format!("{boot}-{cookie}"),
        Err(_) => format!("{boot}-inode{inode}"),
    };
    Namespace { name, boot, inode }
}

fn cookie() -> io::Result<u64> {
    // A socket has the namespace of the process at the time of the call.
    let socket = UnixDatagram::unbound()?;
    let mut cookie = 0u64;
    let mut length = size_of::<u64>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes at the pointer, which points to a number of this size, and the
    // descriptor is open as long as the socket.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut length,
        )
    };
    match outcome {
        0 => Ok(cookie),
        _ => Err(io::Error::last_os_error()),
    }
}

fn inode() -> u64 {
    std::fs::metadata("/proc/self/ns/net").map_or(0, |namespace| namespace.ino())
}

#[cfg(test)]
mod tests {
    use super::namespace;

    #[test]
    fn the_name_stays_the_same_and_is_a_part_of_a_file_name() {
        let name = namespace().name;
        assert_eq!(name, namespace().name);
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{name}");
        assert!(name.len() > 4, "{name}");
    }
}

//! TUN devices (Documentation/networking/tuntap.rst of the kernel). The crates that offer them bring a runtime, hence
//! the unsafe code.

#![expect(unsafe_code, reason = "ioctl(TUNSETIFF) has no safe interface")]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// Attaches to a TUN device of the current network namespace that exists. Each read gives one IP packet that was routed
/// to the device, each write is one that arrives from it; neither waits.
pub(super) fn attach(name: &str) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
    let mut request = libc::ifreq {
        ifr_name: [0; libc::IFNAMSIZ],
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags: (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short },
    };
    // The last byte stays zero.
    let room = libc::IFNAMSIZ - 1;
    for (to, byte) in request.ifr_name[..room].iter_mut().zip(name.bytes()) {
        *to = byte.cast_signed() as libc::c_char;
    }
    // SAFETY: the kernel reads and writes one `ifreq` at the pointer, which lives until the call returns. The
    // descriptor is open.
    let outcome = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    match outcome {
        0 => Ok(file),
        _ => Err(io::Error::last_os_error()),
    }
}

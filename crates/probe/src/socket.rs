//! Sockets that connect without waiting.

use crate::connect::Outcome;
use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrStorage, connect, getsockopt, socket, sockopt};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Instant;

/// Socket on which connect(2) has been called.
pub(crate) struct Connecting {
    pub(crate) socket: OwnedFd,
    /// Time just before connect(2).
    pub(crate) started: Instant,
}

/// Starts a connect.
///
/// # Errors
/// The error of socket(2) or connect(2), other than EINPROGRESS.
pub(crate) fn start(address: SocketAddr) -> Result<Connecting, Errno> {
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let socket = socket(family, SockType::Stream, flags, None)?;
    let started = Instant::now();
    match connect(socket.as_raw_fd(), &SockaddrStorage::from(address)) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(Connecting { socket, started }),
        Err(error) => Err(error),
    }
}

/// Error of a socket that epoll has reported; `None` if it is connected.
pub(crate) fn error(socket: &OwnedFd) -> Option<Errno> {
    match getsockopt(socket, sockopt::SocketError) {
        Ok(0) => None,
        Ok(number) => Some(Errno::from_raw(number)),
        Err(error) => Some(error),
    }
}

/// Outcome of a connect with this error.
pub(crate) fn outcome(error: Errno) -> Outcome {
    match error {
        // The peer has completed the handshake and reset the connection since: a reset that answers a SYN is ECONNREFUSED
        // (`tcp_reset`, net/ipv4/tcp_input.c).
        Errno::ECONNRESET | Errno::EPIPE => Outcome::Connected,
        Errno::ECONNREFUSED => Outcome::Refused,
        Errno::ETIMEDOUT => Outcome::TimedOut,
        // ICMP errors (`icmp_err_convert`, net/ipv4/icmp.c; `tab_unreach`, net/ipv6/icmp.c), and those of local routes and
        // filters.
        Errno::EHOSTUNREACH
        | Errno::ENETUNREACH
        | Errno::EHOSTDOWN
        | Errno::ENETDOWN
        | Errno::ENONET
        | Errno::ENOPROTOOPT
        | Errno::EOPNOTSUPP
        | Errno::EPROTO
        | Errno::EACCES
        | Errno::EPERM => Outcome::Unreachable,
        _ => Outcome::Error,
    }
}

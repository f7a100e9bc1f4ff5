//! Sockets of TCP connections: connecting and reading.

use super::codepoint::set_codepoint;
use super::pacing::pace;
use crate::experiment::{Flow, client_address, server_address};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, setsockopt, socket, sockopt};
use std::io::{self, Read};
use std::net::{SocketAddrV4, TcpStream};
use std::os::fd::AsRawFd;

/// Starts to connect to the other host of `flow`.
pub(super) fn connect(flow: &Flow, paces: bool) -> io::Result<TcpStream> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Inet, SockType::Stream, flags, None)?;
    // Lets connect choose the port, which may then be one in use towards another destination.
    setsockopt(&socket, sockopt::IpBindAddressNoPort, &true)?;
    if paces {
        pace(&socket)?;
    }
    set_codepoint(&socket, flow.dscp)?;
    let client = client_address(flow.host, flow.class);
    let server = server_address(flow.host, flow.tunnel);
    let (own, other) = if flow.from_client { (client, server) } else { (server, client) };
    bind(socket.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(own, 0)))?;
    let to = SockaddrIn::from(SocketAddrV4::new(other, flow.port()));
    match nix::sys::socket::connect(socket.as_raw_fd(), &to) {
        Ok(()) | Err(nix::Error::EINPROGRESS) => Ok(TcpStream::from(socket)),
        Err(error) => Err(error.into()),
    }
}

/// Reads all available data into `buffer`, and gives each piece to `take`; returns whether the other end has closed.
pub(super) fn receive(mut stream: &TcpStream, buffer: &mut [u8], mut take: impl FnMut(&[u8])) -> io::Result<bool> {
    loop {
        match stream.read(buffer) {
            Ok(0) => return Ok(true),
            Ok(n) => take(&buffer[..n]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

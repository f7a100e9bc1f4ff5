//! Network of a client and a server.

use gentle_host::{Finding, FindingKind, Host};
use gentle_packets::{Host as Namespace, Pair};
use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, SockaddrStorage, bind, listen, socket};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

pub(crate) const SERVER: &str = "192.0.2.2:80";

/// Host in its network namespace, with the counters that are read there.
pub(crate) struct Machine {
    pub(crate) namespace: Arc<Namespace>,
}

pub(crate) struct Network {
    pub(crate) client: Machine,
    pub(crate) server: Machine,
}

impl Machine {
    /// Creates a host with a loopback device; `None` if that is not possible here.
    pub(crate) fn new() -> Option<Machine> {
        let namespace = Arc::new(Namespace::new()?);
        namespace.sh("ip link set lo up");
        Some(Machine { namespace })
    }

    /// Opens the counters, and takes the baseline.
    pub(crate) fn counters(&self) -> (Host, Vec<Finding>) {
        self.namespace.run(|| {
            let mut host = Host::open();
            let found = host.read();
            (host, found)
        })
    }

    /// Socket that listens with this backlog, and accepts nothing.
    pub(crate) fn listen(&self, address: &str, backlog: i32) -> OwnedFd {
        let address: SocketAddr = address.parse().expect("an address");
        self.namespace.run(move || {
            let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
            let socket = socket(family, SockType::Stream, SockFlag::empty(), None).expect("a socket");
            bind(socket.as_raw_fd(), &SockaddrStorage::from(address)).expect("a port");
            listen(&socket, Backlog::new(backlog).expect("a backlog")).expect("a queue");
            socket
        })
    }

    /// Connects; an error after `timeout`.
    pub(crate) fn connect(&self, address: &str, timeout: Duration) -> std::io::Result<TcpStream> {
        let address = address.parse().expect("an address");
        let connecting = self.namespace.start(move || TcpStream::connect_timeout(&address, timeout));
        connecting.join().expect("the connect has ended")
    }
}

impl Network {
    /// Creates the network; `None` if that is not possible here.
    pub(crate) fn new() -> Option<Network> {
        let Pair { client, server } = Pair::new()?;
        Some(Network { client: Machine { namespace: client }, server: Machine { namespace: server } })
    }
}

/// Findings of a kind.
pub(crate) fn of(found: &[Finding], kind: FindingKind) -> Vec<&Finding> {
    found.iter().filter(|finding| finding.kind == kind).collect()
}

/// The only finding of a kind.
pub(crate) fn only(found: &[Finding], kind: FindingKind) -> &Finding {
    match of(found, kind).as_slice() {
        [finding] => finding,
        _ => panic!("not one {kind}: {found:#?}"),
    }
}

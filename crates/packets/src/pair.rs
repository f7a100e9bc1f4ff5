//! Two hosts and a network between them, for tests.

use crate::host::Host;
use std::io::ErrorKind;
use std::net::TcpStream;
use std::sync::Arc;

/// Client with the addresses 192.0.2.1 and 2001:db8::1, and server with 192.0.2.2 and 2001:db8::2, which share a network through
/// their devices `eth0`.
///
/// For rules of nft that drop packets, both have a table `inet loss` with a chain `arriving`.
pub struct Pair {
    /// The client.
    pub client: Arc<Host>,
    /// The server.
    pub server: Arc<Host>,
}

impl Pair {
    /// Creates both hosts; `None` if this system does not permit it.
    pub fn new() -> Option<Pair> {
        let pair = Pair { client: Arc::new(Host::new()?), server: Arc::new(Host::new()?) };
        pair.connect_devices();
        for host in [&pair.client, &pair.server] {
            host.sh("ip link set lo up; nft add table inet loss; \
                     nft add chain inet loss arriving '{ type filter hook prerouting priority 0; }'");
        }
        pair.resolve();
        Some(pair)
    }

    /// Creates the devices of both hosts.
    pub fn connect_devices(&self) {
        // ip accepts the identifier of a process or thread as its namespace.
        self.client.sh(&format!("ip link add eth0 type veth peer name eth0 netns {}", self.server.thread()));
        for (host, end) in [(&self.client, 1), (&self.server, 2)] {
            host.sh(&format!(
                "ip link set eth0 up; ip address add 192.0.2.{end}/24 dev eth0; \
                 ip address add 2001:db8::{end}/64 dev eth0 nodad"
            ));
        }
    }

    /// Resolves the addresses of the server. Until then, SYNs wait for up to a second in a queue of the client.
    pub fn resolve(&self) {
        for address in ["192.0.2.2:9", "[2001:db8::2]:9"] {
            let refused = self.client.run(move || TcpStream::connect(address).map_err(|error| error.kind()));
            assert_eq!(refused.err(), Some(ErrorKind::ConnectionRefused));
        }
    }
}

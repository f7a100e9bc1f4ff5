//! Network of client, router and server, and the losses at the router.

use gentle_packets::Host;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

pub(crate) const PORT: u16 = 80;

pub(crate) struct Network {
    pub(crate) client: Host,
    pub(crate) router: Host,
    pub(crate) server: Host,
}

/// Numbers of packets that the router drops, from the first on.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Losses {
    pub(crate) syns: u32,
    pub(crate) synacks: u32,
    /// Whether every SYN after the first is dropped, so that only the server's timer retransmits the SYN/ACK.
    pub(crate) later_syns: bool,
}

impl Network {
    /// Creates the network; `None` if that is not possible here.
    pub(crate) fn new() -> Option<Network> {
        let network = Network { client: Host::new()?, router: Host::new()?, server: Host::new()? };
        let (client, router, server) = (&network.client, &network.router, &network.server);
        // Disables duplicate address detection: on a busy machine it takes longer than neighbour discovery waits.
        for host in [client, router, server] {
            host.sh("for i in all default; do echo 0 > /proc/sys/net/ipv6/conf/$i/accept_dad; done");
        }
        // ip accepts the identifier of a process or thread as its namespace.
        client.sh(&format!("ip link add eth0 type veth peer name left netns {}", router.thread()));
        server.sh(&format!("ip link add eth0 type veth peer name right netns {}", router.thread()));
        let end = |net: &str| {
            format!(
                "ip link set lo up; ip link set eth0 up; \
                 ip address add 192.0.{net}.2/24 dev eth0; ip route add default via 192.0.{net}.1; \
                 ip address add 2001:db8:{net}::2/64 dev eth0 nodad; ip route add default via 2001:db8:{net}::1"
            )
        };
        client.sh(&end("2"));
        server.sh(&end("3"));
        router.sh("for d in left:2 right:3; do ip link set ${d%:*} up; \
             ip address add 192.0.${d#*:}.1/24 dev ${d%:*}; \
             ip address add 2001:db8:${d#*:}::1/64 dev ${d%:*} nodad; done; \
             echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding");
        server.serve(PORT);
        // Resolves neighbours and routes before anything is measured.
        for address in [SERVER_V4, SERVER_V6] {
            network.connect(address);
        }
        Some(network)
    }

    /// Makes the router drop the first packets of each kind from now on, and no others.
    pub(crate) fn lose(&self, losses: Losses) {
        let rule = |flags: &str, dropped: &str| {
            format!(
                "nft add rule inet loss forward 'tcp flags & (syn|ack) == {flags} numgen inc mod 1000000 {dropped} drop';"
            )
        };
        let first = |flags: &str, count: u32| match count {
            0 => String::new(),
            count => rule(flags, &format!("< {count}")),
        };
        self.router.sh(&format!(
            "nft add table inet loss; nft flush table inet loss; \
             nft add chain inet loss forward '{{ type filter hook forward priority 0; }}'; {}{}{}",
            first("syn", losses.syns),
            first("(syn|ack)", losses.synacks),
            if losses.later_syns { rule("syn", ">= 1") } else { String::new() }
        ));
    }

    /// Opens a connection from the client to the server; returns the time taken.
    pub(crate) fn connect(&self, server: &str) -> Duration {
        let server = SocketAddr::new(server.parse::<IpAddr>().expect("an address"), PORT);
        self.client.run(move || {
            let start = Instant::now();
            TcpStream::connect(server).expect("the server is there");
            start.elapsed()
        })
    }
}

pub(crate) const SERVER_V4: &str = "192.0.3.2";
pub(crate) const SERVER_V6: &str = "2001:db8:3::2";

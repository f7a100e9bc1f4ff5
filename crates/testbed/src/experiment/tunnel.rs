//! Tunnels of workloads: addresses, devices and the commands that set them up.
//!
//! ```text
//!  client ── up ═══ router ═══ down ── server
//! ```
//!
//! Two gateways are the ends of a tunnel, like the ends of a VPN in user space (OpenVPN, wireguard-go): one in the
//! namespace `up`, one in `down`. Each reads packets of the hosts from a TUN device, sends them to the other as UDP
//! datagrams, and writes what it receives to the device. To the queues between the gateways, all packets of a tunnel in
//! one direction are one flow. Tunnels of the kernel (IPIP, GRE, FOU) would not do: flow queues look into the first
//! two, and a packet keeps the hash of its socket in each (`l4_hash`, include/linux/skbuff.h).
//!
//! The gateways are between the queues and the wires, where netem finds the addresses of the hosts. A wire therefore
//! adds the transmission time of the packet in the tunnel, 28 bytes less than the datagram which carries it.
//!
//! Workloads in a tunnel have separate server addresses, by which both hosts and both gateways route their packets.

use super::step::Step;
use super::topology::{CLIENTS, host_of, ip, server_address};
use super::{ExperimentError, Namespaces};
use gentle_experiment::Scenario;
use gentle_experiment::application::datagram::UDP_HEADERS;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

/// Port of both gateways of every tunnel.
pub const TUNNEL_PORT: u16 = 20_000;

/// Bytes that a tunnel adds to a packet: the IPv4 and UDP headers of the datagram.
pub const TUNNEL_HEADERS: u16 = 28;

/// Maximum number of a tunnel: the last octet of [`server_address`] is one more.
const LAST_TUNNEL: u8 = 254;

/// Second octets of the gateways' addresses: in `up`, and in `down`.
const GATEWAYS: [u8; 2] = [4, 5];

/// Routing table of the server for tunnels. Number 0 has none in [`table`].
const SERVER_TABLE: u16 = table(0);

/// Length of the queue of a TUN device, packets: more than hosts send in a moment, since none may be lost there.
const DEVICE_QUEUE: u32 = 10_000;

/// Routing table of the namespace `down` for the packets of a tunnel; above the numbers that Linux gives to its own.
const fn table(tunnel: u8) -> u16 {
    1_000 + tunnel as u16
}

/// One of the two ends of a tunnel, named after the namespace that it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gateway {
    /// On the side of the client.
    Up,
    /// On the side of the server.
    Down,
}

impl Gateway {
    /// Both gateways of a tunnel.
    pub const BOTH: [Gateway; 2] = [Gateway::Up, Gateway::Down];

    /// Address of the gateway: two separate hosts for each tunnel.
    pub fn address(self, tunnel: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, GATEWAYS[self as usize], tunnel, 1)
    }

    /// The gateway at the other end.
    pub fn other(self) -> Gateway {
        match self {
            Gateway::Up => Gateway::Down,
            Gateway::Down => Gateway::Up,
        }
    }

    /// Namespace of the gateway.
    pub fn namespace(self, of: &Namespaces) -> &str {
        match self {
            Gateway::Up => &of.up,
            Gateway::Down => &of.down,
        }
    }

    /// Addresses of the gateways of all tunnels.
    fn network(self) -> String {
        format!("10.{}.0.0/16", GATEWAYS[self as usize])
    }
}

/// Headers of a datagram on the links, bytes: IPv4 and UDP and, in a tunnel, the headers of the datagram that carries
/// it. A `tunnel` of 0 is none.
pub(super) fn datagram_headers(tunnel: u8) -> u32 {
    match tunnel {
        0 => UDP_HEADERS,
        _ => UDP_HEADERS + u32::from(TUNNEL_HEADERS),
    }
}

/// Whether `address` is one of those that [`Gateway::address`] returns.
pub fn is_gateway(address: Ipv4Addr) -> bool {
    matches!(address.octets(), [10, second, _, 1] if GATEWAYS.contains(&second))
}

/// Name of the TUN device of a tunnel, in both namespaces.
pub fn tunnel_device(tunnel: u8) -> String {
    format!("tun{tunnel}")
}

/// Numbers of the tunnels of a scenario, in order.
pub(super) fn tunnels(scenario: &Scenario) -> Result<Vec<u8>, ExperimentError> {
    let numbers = scenario.workloads.iter().map(|workload| workload.tunnel);
    let numbers: BTreeSet<u8> = numbers.filter(|tunnel| *tunnel != 0).collect();
    match numbers.last() {
        Some(tunnel) if *tunnel > LAST_TUNNEL => Err(ExperimentError::Tunnel { tunnel: *tunnel, most: LAST_TUNNEL }),
        _ => Ok(numbers.into_iter().collect()),
    }
}

/// Sentence about the packets of a scenario with tunnels.
pub(super) fn deviation(tunnels: &[u8]) -> Option<String> {
    (!tunnels.is_empty()).then(|| {
        format!(
            "A tunnel adds {TUNNEL_HEADERS} bytes to each packet: TCP segments in tunnels carry {TUNNEL_HEADERS} bytes less \
             of data than full ones outside, and are {TUNNEL_HEADERS} bytes longer if they are not full."
        )
    })
}

/// Steps that set up the `tunnels` of a scenario, on links with this `mtu`. `tcp` is what routes of the hosts say about
/// TCP.
pub(super) fn setup(
    scenario: &Scenario,
    tunnels: &[u8],
    namespaces: &Namespaces,
    mtu: u16,
    tcp: &str,
    steps: &mut Vec<Step>,
) {
    if tunnels.is_empty() {
        return;
    }
    let Namespaces { client, up, router, down, server } = namespaces;
    // Full packets are as long in a tunnel as outside.
    let inner = mtu - TUNNEL_HEADERS;
    for (namespace, to, via) in [
        (up, Gateway::Down, "10.0.2.2"),
        (down, Gateway::Up, "10.0.3.1"),
        (router, Gateway::Up, "10.0.2.1"),
        (router, Gateway::Down, "10.0.3.2"),
    ] {
        let to = to.network();
        steps.push(ip(format!("-n {namespace} route add {to} via {via}")));
    }
    for tunnel in tunnels {
        let dev = tunnel_device(*tunnel);
        for gateway in Gateway::BOTH {
            let namespace = gateway.namespace(namespaces);
            let address = gateway.address(*tunnel);
            for words in [
                format!("address add {address}/32 dev lo"),
                format!("tuntap add dev {dev} mode tun"),
                format!("link set dev {dev} mtu {inner} txqueuelen {DEVICE_QUEUE} up"),
            ] {
                steps.push(ip(format!("-n {namespace} {words}")));
            }
        }
        let table = table(*tunnel);
        steps.push(ip(format!("-n {down} route add {CLIENTS} dev {dev} table {table}")));
    }
    steps.push(ip(format!("-n {server} route add {CLIENTS} via 10.0.4.1 mtu {inner}{tcp} table {SERVER_TABLE}")));
    let workloads = scenario.workloads.iter();
    let inside = workloads.filter(|workload| workload.tunnel != 0);
    let places: BTreeSet<(u8, u8)> = inside.map(|workload| (host_of(workload), workload.tunnel)).collect();
    for (host, tunnel) in places {
        let address = server_address(host, tunnel);
        let dev = tunnel_device(tunnel);
        let table = table(tunnel);
        for words in [
            format!("-n {server} address add {address}/32 dev lo"),
            format!("-n {client} route add {address}/32 via 10.0.1.2 mtu {inner}{tcp}"),
            format!("-n {up} route add {address}/32 dev {dev}"),
            format!("-n {down} rule add from {address} lookup {table}"),
            format!("-n {server} rule add from {address} lookup {SERVER_TABLE}"),
        ] {
            steps.push(ip(words));
        }
    }
}

//! Random hosts, and the paths between them.

use super::options::Options;
use crate::connection::{CLIENT, Host, SERVER};
use crate::network::Place;
use gentle_units::Nanos;
use rand::RngExt;
use rand_distr::{Distribution, LogNormal, Zipf};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// First of the ports that Linux assigns to clients (`ip_local_port_range`).
const FIRST_PORT: u64 = 32_768;
const PORTS: u64 = 28_232;

/// Service ports; popular ones occur more than once.
const SERVICES: [u16; 8] = [443, 443, 443, 443, 80, 80, 993, 8080];

/// Delay between a host and a capture point next to it, nanoseconds.
const NEXT_TO: u64 = 20_000;

/// Popularity of hosts, and lengths of paths.
pub(super) struct Hosts {
    clients: Zipf<f64>,
    servers: Zipf<f64>,
    ipv6_servers: u64,
    rtt: LogNormal<f64>,
    vantage: Place,
}

impl Hosts {
    pub(super) fn new(options: &Options) -> Hosts {
        let popularity = |hosts: u64| Zipf::new(hosts as f64, 1.0).expect("there is a host");
        Hosts {
            clients: popularity(options.clients),
            servers: popularity(options.servers),
            ipv6_servers: (options.ipv6 * 100.0).round() as u64,
            // Median 40 ms; nine tenths between 11 and 150 ms.
            rtt: LogNormal::new(-3.2, 0.8).expect("the parameters are valid"),
            vantage: options.vantage,
        }
    }

    /// Draws client and server of connection number `serial`.
    pub(super) fn draw(&self, serial: u64, rng: &mut Xoshiro256PlusPlus) -> [Host; 2] {
        let client = self.clients.sample(rng) as u32;
        let server = self.servers.sample(rng) as u32;
        let ipv6 = u64::from(server) * 37 % 100 < self.ipv6_servers;
        let rtt = Nanos::from_secs_f64(self.rtt.sample(rng).clamp(0.001, 1.0));
        let somewhere = (rtt.0 as f64 * rng.random_range(0.05..0.45)) as u64;
        let near = match self.vantage {
            Place::Client => NEXT_TO,
            Place::Middle => somewhere,
            Place::Server => rtt.0 / 2 - NEXT_TO,
        };
        let addresses = if ipv6 {
            [(0xc, client), (0x5, server)].map(|(net, host)| {
                let low = host as u16;
                let high = (host >> 16) as u16;
                IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, net, high, 0, 0, low, 1))
            })
        } else {
            // The networks for documentation are too small; these are for private use and for benchmarks (RFC 2544).
            [
                IpAddr::V4(Ipv4Addr::from(0x0a00_0000 | client & 0x00ff_ffff)),
                IpAddr::V4(Ipv4Addr::from(0xc612_0000 | server & 0x0001_ffff)),
            ]
        };
        // A port is reused after all others: never within a connection's life, but often within a capture.
        let ports = [(FIRST_PORT + serial % PORTS) as u16, SERVICES[server as usize % SERVICES.len()]];
        let delays = [Nanos(near), Nanos(rtt.0 / 2 - near)];
        let here = match self.vantage {
            Place::Client => Some(CLIENT.index()),
            Place::Middle => None,
            Place::Server => Some(SERVER.index()),
        };
        std::array::from_fn(|side| Host {
            address: addresses[side],
            port: ports[side],
            ttl: match rng.random_range(2..20_u8) {
                _ if here == Some(side) => 64,
                routers => 64 - routers,
            },
            clock: rng.random(),
            delay: delays[side],
        })
    }
}

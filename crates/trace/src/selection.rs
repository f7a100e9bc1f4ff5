//! Packets to analyse, by host, port and time.

use gentle_units::{Instant, Nanos};
use gentle_wire::{Address, Packet, Transport};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Time in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// Since 1970.
    At(Instant),
    /// Since the first packet of the trace.
    After(Nanos),
}

/// Packets to analyse; [`Selection::default`] selects all. Other packets count nowhere, as if they had not been captured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selection {
    /// Prefixes of which the source or the destination has one; empty: all addresses.
    pub hosts: Vec<IpNet>,
    /// TCP or UDP ports, of which the source or the destination is one; empty: all packets.
    pub ports: Vec<u16>,
    /// First time.
    pub since: Option<When>,
    /// Time before which packets have to be.
    pub until: Option<When>,
}

impl Selection {
    /// Whether it selects all packets.
    pub(crate) fn is_all(&self) -> bool {
        *self == Selection::default()
    }

    /// Whether it has the time of a packet of a trace that begins at `first`.
    pub(crate) fn has_time(&self, time: Instant, first: Instant) -> bool {
        let resolved = |when: When| match when {
            When::At(time) => time,
            When::After(span) => first + span,
        };
        self.since.is_none_or(|since| time >= resolved(since)) && self.until.is_none_or(|until| time < resolved(until))
    }

    /// Whether it depends on more than time.
    pub(crate) fn by_content(&self) -> bool {
        !self.hosts.is_empty() || !self.ports.is_empty()
    }

    /// Whether it has a packet: by its addresses and ports or, if it is an ICMP error, by the addresses and ports of the segment
    /// that was not delivered. A fragment without ports is selected by its addresses.
    pub(crate) fn has_packet(&self, packet: &Packet<'_>) -> bool {
        let ports = match &packet.transport {
            Transport::Tcp(tcp) => Some([tcp.src_port, tcp.dst_port]),
            Transport::Udp(udp) => Some([udp.src_port, udp.dst_port]),
            _ => None,
        };
        match gentle_wire::undelivered(packet) {
            Some(quoted) => self.has([quoted.src, quoted.dst], Some([quoted.src_port, quoted.dst_port])),
            None if ports.is_none() && packet.ip.fragment.is_some() => self.has_host([packet.ip.src, packet.ip.dst]),
            None => self.has([packet.ip.src, packet.ip.dst], ports),
        }
    }

    fn has(&self, addresses: [Address; 2], ports: Option<[u16; 2]>) -> bool {
        let has_port = self.ports.is_empty() || ports.is_some_and(|it| it.iter().any(|port| self.ports.contains(port)));
        has_port && self.has_host(addresses)
    }

    fn has_host(&self, addresses: [Address; 2]) -> bool {
        let is_in = |address: Address| {
            let address = IpAddr::from(address);
            self.hosts.iter().any(|prefix| prefix.contains(&address))
        };
        self.hosts.is_empty() || addresses.into_iter().any(is_in)
    }
}

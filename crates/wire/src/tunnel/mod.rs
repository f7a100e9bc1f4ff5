//! Tunnels: IP packets that carry other IP packets.

mod erspan;
mod etherip;
mod geneve;
mod gre;
mod gtpu;
mod teredo;
mod vxlan;

use crate::captured::Captured;
use crate::ip;
use crate::link::{self, Layer, LinkType, NextLayer};
use crate::protocol;
use crate::{Packet, Skip, Transport};

/// Maximum nesting depth of tunnels; beyond any real network, but a forged frame may nest deeper.
const MAX_DEPTH: usize = 16;

/// Innermost packet that can be reached from the IP packet at the start. A tunnel whose payload is not IP, or is cut or
/// malformed before its transport header, is treated as an ordinary packet.
pub(crate) fn innermost(mut at: Captured<'_>) -> Result<Packet<'_>, Skip> {
    // Parses every packet twice, which is faster than keeping the last one, because packets are large.
    for _ in 0..MAX_DEPTH {
        match inside(&ip::packet(at)?) {
            Ok(inner) if ip::packet(inner).is_ok() => at = inner,
            _ => break,
        }
    }
    ip::packet(at)
}

/// A tunnel protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tunnel {
    /// IPv4 or IPv6 directly in IP (RFC 2003, RFC 2473, RFC 4213).
    IpInIp,
    /// Generic routing encapsulation (RFC 2784), ERSPAN included.
    Gre,
    /// Ethernet in IP (RFC 3378).
    EtherIp,
    /// MPLS in IP (RFC 4023) or in UDP (RFC 7510).
    Mpls,
    /// VXLAN (RFC 7348) and its generic protocol extension.
    Vxlan,
    /// GENEVE (RFC 8926).
    Geneve,
    /// User plane of GTP (3GPP TS 29.281).
    GtpU,
    /// Teredo (RFC 4380).
    Teredo,
}

impl Tunnel {
    /// All tunnel protocols.
    pub const ALL: [Tunnel; 8] = [
        Tunnel::IpInIp,
        Tunnel::Gre,
        Tunnel::EtherIp,
        Tunnel::Mpls,
        Tunnel::Vxlan,
        Tunnel::Geneve,
        Tunnel::GtpU,
        Tunnel::Teredo,
    ];

    /// Usual spelling of the protocol's name.
    pub const fn name(self) -> &'static str {
        match self {
            Tunnel::IpInIp => "IP-in-IP",
            Tunnel::Gre => "GRE",
            Tunnel::EtherIp => "EtherIP",
            Tunnel::Mpls => "MPLS",
            Tunnel::Vxlan => "VXLAN",
            Tunnel::Geneve => "GENEVE",
            Tunnel::GtpU => "GTP-U",
            Tunnel::Teredo => "Teredo",
        }
    }

    /// Tunnel protocol of a packet, by its protocol number or port.
    fn of(packet: &Packet<'_>) -> Option<Tunnel> {
        Some(match packet.transport {
            Transport::Other => match packet.ip.protocol {
                protocol::IPV4 | protocol::IPV6 => Tunnel::IpInIp,
                protocol::GRE => Tunnel::Gre,
                protocol::ETHERIP => Tunnel::EtherIp,
                protocol::MPLS => Tunnel::Mpls,
                _ => return None,
            },
            // Source ports of tunnels are hashes of the payload, except for Teredo servers and relays.
            Transport::Udp(udp) => match udp.dst_port {
                port::VXLAN | port::VXLAN_OF_LINUX | port::VXLAN_GPE => Tunnel::Vxlan,
                port::GENEVE => Tunnel::Geneve,
                port::GTP_U => Tunnel::GtpU,
                port::MPLS => Tunnel::Mpls,
                port::TEREDO => Tunnel::Teredo,
                _ if udp.src_port == port::TEREDO => Tunnel::Teredo,
                _ => return None,
            },
            _ => return None,
        })
    }

    /// Removes the tunnel header.
    fn payload(self, at: &mut Captured<'_>) -> NextLayer {
        match self {
            Tunnel::IpInIp => Ok(Layer::Ip),
            Tunnel::Gre => gre::payload(at),
            Tunnel::EtherIp => etherip::payload(at),
            Tunnel::Mpls => Ok(Layer::Link(LinkType::MPLS)),
            Tunnel::Vxlan => vxlan::payload(at),
            Tunnel::Geneve => geneve::payload(at),
            Tunnel::GtpU => gtpu::payload(at),
            Tunnel::Teredo => teredo::payload(at),
        }
    }
}

/// Tunnel protocol of `packet` and the innermost IP packet in it; `None` if it is not a tunnel packet.
#[inline]
pub fn tunnelled<'a>(packet: &Packet<'a>) -> Option<(Tunnel, Packet<'a>)> {
    let tunnel = Tunnel::of(packet)?;
    let inner = innermost(inside(packet).ok()?).ok()?;
    Some((tunnel, inner))
}

/// IP packet carried by a tunnel packet.
fn inside<'a>(packet: &Packet<'a>) -> Result<Captured<'a>, Skip> {
    let tunnel = Tunnel::of(packet).ok_or(Skip::NotIp)?;
    let mut at = match packet.transport {
        Transport::Udp(udp) => Captured::new(udp.payload, udp.payload_len),
        _ => Captured::new(packet.payload, packet.ip.payload_len),
    };
    let layer = tunnel.payload(&mut at)?;
    link::strip_layers(layer, &mut at)?;
    Ok(at)
}

/// UDP ports (IANA, Service Name and Transport Protocol Port Number Registry).
mod port {
    /// RFC 7348; [`VXLAN_OF_LINUX`] is the port that Linux used before its registration.
    pub(super) const VXLAN: u16 = 4789;
    pub(super) const VXLAN_OF_LINUX: u16 = 8472;
    /// draft-ietf-nvo3-vxlan-gpe.
    pub(super) const VXLAN_GPE: u16 = 4790;
    /// RFC 8926.
    pub(super) const GENEVE: u16 = 6081;
    /// 3GPP TS 29.281.
    pub(super) const GTP_U: u16 = 2152;
    /// RFC 7510.
    pub(super) const MPLS: u16 = 6635;
    /// RFC 4380.
    pub(super) const TEREDO: u16 = 3544;
}

#[cfg(test)]
mod tests {
    use super::{Tunnel, tunnelled};
    use crate::{LinkType, Tunnels, dissect};
    use gentle_testkit::frames::{IPV4_OUTER, SEGMENT};

    /// Wraps a payload in an IPv4 header without options, with TTL `ttl`.
    fn ipv4(protocol: u8, ttl: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = IPV4_OUTER.to_vec();
        packet[2..4].copy_from_slice(&(20 + payload.len() as u16).to_be_bytes());
        packet[8] = ttl;
        packet[9] = protocol;
        packet.extend(payload);
        packet
    }

    fn ttl(frame: &[u8]) -> u8 {
        let packet = dissect(LinkType::RAW, frame, frame.len() as u32, Tunnels::Inner);
        packet.unwrap().ip.ttl
    }

    #[test]
    fn tunnels_are_followed_to_a_depth() {
        let nested = |depth| (1..=depth).fold(SEGMENT.to_vec(), |inner, i| ipv4(4, 100 + i, &inner));
        assert_eq!(ttl(&nested(16)), 64);
        assert_eq!(ttl(&nested(17)), 101);
        assert_eq!(ttl(&nested(100)), 184);
    }

    /// Tunnel protocol of an IPv4 packet, and the TTL of the packet inside.
    fn inside(frame: &[u8]) -> Option<(Tunnel, u8)> {
        let outer = dissect(LinkType::RAW, frame, frame.len() as u32, Tunnels::Outer).unwrap();
        tunnelled(&outer).map(|(tunnel, inner)| (tunnel, inner.ip.ttl))
    }

    #[test]
    fn the_outermost_tunnel_gives_the_name() {
        let gre = ipv4(47, 9, &[&[0, 0, 8, 0], SEGMENT].concat());
        assert_eq!(inside(&gre), Some((Tunnel::Gre, 64)));
        assert_eq!(inside(&ipv4(4, 9, &gre)), Some((Tunnel::IpInIp, 64)));
        assert_eq!(inside(SEGMENT), None);
        assert_eq!(inside(&ipv4(4, 9, b"neither version")), None);
        // IPsec, whose payload is encrypted.
        assert_eq!(inside(&ipv4(50, 9, SEGMENT)), None);
    }

    #[test]
    fn an_inside_that_is_not_ip_leaves_the_outside() {
        assert_eq!(ttl(&ipv4(4, 9, b"neither version")), 9);
        assert_eq!(ttl(&ipv4(4, 9, &SEGMENT[..19])), 9);
        // The inner packet has an IP header, and only ports after it.
        assert_eq!(ttl(&ipv4(4, 9, &SEGMENT[..24])), 9);
        assert_eq!(ttl(&ipv4(47, 9, &[0, 0, 0x08, 0x06, 0, 1, 8, 0])), 9);
    }

    #[test]
    fn later_fragments_of_a_tunnel_have_no_inside() {
        let mut later = ipv4(4, 9, SEGMENT);
        later[7] = 1;
        assert_eq!(ttl(&later), 9);
        let mut first = ipv4(4, 9, SEGMENT);
        first[6] = 0x20;
        assert_eq!(ttl(&first), 64);
    }
}

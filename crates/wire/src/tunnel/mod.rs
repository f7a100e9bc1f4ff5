//! Tunnels: IP packets in which further IP packets are.

mod erspan;
mod etherip;
mod geneve;
mod gre;
mod gtpu;
mod teredo;
mod vxlan;

use crate::captured::Captured;
use crate::ip::{self, protocol};
use crate::link::{self, Layer, LinkType, Peeled};
use crate::{Packet, Skip, Transport, Udp};

/// How many tunnels in each other are followed; no network nests as many, but a frame may claim to.
const MAX_DEPTH: usize = 16;

/// The innermost packet that can be reached from the IP packet at the front. A tunnel whose inside is not IP, or cut or
/// broken before its transport header, is a packet like any other.
pub(crate) fn innermost(mut at: Captured<'_>) -> Result<Packet<'_>, Skip> {
    // Looks twice at every packet rather than keep the last one: that would be slower, packets being large.
    for _ in 0..MAX_DEPTH {
        match inside(&ip::packet(at)?) {
            Ok(inner) if ip::packet(inner).is_ok() => at = inner,
            _ => break,
        }
    }
    ip::packet(at)
}

/// The IP packet in a packet that is one of a tunnel.
fn inside<'a>(packet: &Packet<'a>) -> Result<Captured<'a>, Skip> {
    let mut at = Captured::new(packet.payload, packet.ip.payload_len);
    let layer = match packet.transport {
        Transport::Other => match packet.ip.protocol {
            protocol::IPV4 | protocol::IPV6 => Layer::Ip,
            protocol::GRE => gre::payload(&mut at)?,
            protocol::ETHERIP => etherip::payload(&mut at)?,
            protocol::MPLS => Layer::Link(LinkType::MPLS),
            _ => return Err(Skip::NotIp),
        },
        Transport::Udp(udp) => {
            at = Captured::new(udp.payload, udp.payload_len);
            inside_udp(&udp, &mut at)?
        }
        _ => return Err(Skip::NotIp),
    };
    link::peel(layer, &mut at)?;
    Ok(at)
}

/// UDP ports (IANA, Service Name and Transport Protocol Port Number Registry).
mod port {
    /// RFC 7348, and what Linux used before its registration.
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

fn inside_udp(udp: &Udp<'_>, at: &mut Captured<'_>) -> Peeled {
    // Source ports of tunnels are hashes of what is inside: only Teredo's servers and relays answer from theirs.
    match udp.dst_port {
        port::VXLAN | port::VXLAN_OF_LINUX | port::VXLAN_GPE => vxlan::payload(at),
        port::GENEVE => geneve::payload(at),
        port::GTP_U => gtpu::payload(at),
        port::MPLS => Ok(Layer::Link(LinkType::MPLS)),
        port::TEREDO => teredo::payload(at),
        _ if udp.src_port == port::TEREDO => teredo::payload(at),
        _ => Err(Skip::NotIp),
    }
}

#[cfg(test)]
mod tests {
    use crate::frames::{IPV4_OUTER, SEGMENT};
    use crate::{LinkType, Tunnels, dissect};

    /// A header of IPv4 without options around something, TTL `ttl`.
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
        let nested =
            |depth| (1..=depth).fold(SEGMENT.to_vec(), |inner, i| ipv4(4, 100 + i, &inner));
        assert_eq!(ttl(&nested(16)), 64);
        assert_eq!(ttl(&nested(17)), 101);
        assert_eq!(ttl(&nested(100)), 184);
    }

    #[test]
    fn an_inside_that_is_not_ip_leaves_the_outside() {
        assert_eq!(ttl(&ipv4(4, 9, b"neither version")), 9);
        assert_eq!(ttl(&ipv4(4, 9, &SEGMENT[..19])), 9);
        // The inside has an IP header, and then no more than ports.
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

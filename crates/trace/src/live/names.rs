//! Names of servers, from the DNS answers that passed.

use gentle_capture::RawPacket;
use gentle_wire::{Transport, Tunnels, dissect};
use simple_dns::rdata::RData;
use simple_dns::{Packet, PacketFlag};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Port of DNS (RFC 1035, 4.2).
const PORT: u16 = 53;
/// Addresses in a generation: memory for about 2 MB of names.
const GENERATION: usize = 8192;
/// Protocol number of UDP.
const UDP: u8 = 17;

/// Names by address, in two generations: the older one is forgotten when the newer one is full.
#[derive(Debug, Default)]
pub(super) struct Names([HashMap<IpAddr, Box<str>>; 2]);

impl Names {
    /// Reads the addresses in a packet if it is a DNS answer: each has the name that was asked for, whatever aliases led there.
    pub(super) fn packet(&mut self, raw: &RawPacket<'_>) {
        if may_be_udp(raw.data) {
            self.read(raw);
        }
    }

    #[inline(never)]
    fn read(&mut self, raw: &RawPacket<'_>) {
        let Ok(packet) = dissect(raw.link, raw.data, raw.original_len, Tunnels::Outer) else {
            return;
        };
        let Transport::Udp(udp) = packet.transport else {
            return;
        };
        if udp.src_port != PORT {
            return;
        }
        let Ok(message) = Packet::parse(udp.payload) else {
            return;
        };
        let Some(question) = message.questions.first().filter(|_| message.has_flags(PacketFlag::RESPONSE)) else {
            return;
        };
        let name = question.qname.to_string();
        for answer in &message.answers {
            match &answer.rdata {
                RData::A(it) => self.insert(Ipv4Addr::from(it.address).into(), &name),
                RData::AAAA(it) => self.insert(Ipv6Addr::from(it.address).into(), &name),
                _ => {}
            }
        }
    }

    fn insert(&mut self, address: IpAddr, name: &str) {
        let [newer, older] = &mut self.0;
        if newer.len() >= GENERATION && !newer.contains_key(&address) {
            *older = std::mem::take(newer);
        }
        newer.insert(address, name.into());
    }

    /// Name that was last asked for when this address was answered.
    pub(super) fn get(&self, address: IpAddr) -> Option<&str> {
        self.0.iter().find_map(|generation| generation.get(&address)).map(|name| &**name)
    }
}

/// Whether a packet that begins at its IP header is of UDP; true for other packets. Most packets are of TCP.
#[inline]
fn may_be_udp(data: &[u8]) -> bool {
    match data.first().map(|first| first >> 4) {
        Some(4) => data.get(9) == Some(&UDP),
        Some(6) => data.get(6) == Some(&UDP),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gentle_units::Instant;
    use gentle_wire::{Ipv4Header, LinkType, Udp, protocol};
    use proptest::prelude::*;
    use simple_dns::rdata::{A, AAAA, CNAME};
    use simple_dns::{CLASS, Name, QCLASS, QTYPE, Question, ResourceRecord, TYPE};

    fn answer(name: &str, addresses: &[IpAddr]) -> Vec<u8> {
        let mut message = Packet::new_reply(7);
        let asked = Name::new_unchecked(name);
        let alias = Name::new_unchecked("edge.cdn.example");
        message.questions.push(Question::new(asked.clone(), QTYPE::TYPE(TYPE::A), QCLASS::CLASS(CLASS::IN), false));
        let record = |name: Name<'static>, data| ResourceRecord::new(name, CLASS::IN, 60, data);
        message.answers.push(record(asked.into_owned(), RData::CNAME(CNAME(alias.clone()))));
        for address in addresses {
            let data = match address {
                IpAddr::V4(it) => RData::A(A { address: (*it).into() }),
                IpAddr::V6(it) => RData::AAAA(AAAA { address: (*it).into() }),
            };
            message.answers.push(record(alias.clone(), data));
        }
        message.build_bytes_vec().expect("a message")
    }

    /// Lets `names` read a datagram from this port.
    fn pass(names: &mut Names, port: u16, payload: &[u8]) {
        let udp = Udp { src_port: port, dst_port: 40_000, payload_len: payload.len() as u32, payload };
        let ip =
            Ipv4Header::new([192, 0, 2, 53].into(), [192, 0, 2, 1].into(), protocol::UDP, payload.len() as u32 + 8);
        let mut bytes = vec![0; 28 + payload.len()];
        let header = ip.emit(&mut bytes).expect("a header");
        udp.emit(Some(&ip.pseudo_header()), &mut bytes[header..]).expect("a datagram");
        let (link, original_len) = (LinkType::RAW, bytes.len() as u32);
        names.packet(&RawPacket { time: Instant::ZERO, interface: 0, link, original_len, data: &bytes });
    }

    #[test]
    fn addresses_have_the_name_that_was_asked_for() {
        let addresses: [IpAddr; 2] = ["203.0.113.7".parse().expect("IPv4"), "2001:db8::7".parse().expect("IPv6")];
        let mut names = Names::default();
        pass(&mut names, 5353, &answer("other.example", &addresses));
        assert_eq!(names.get(addresses[0]), None);
        pass(&mut names, PORT, &answer("www.shop.example", &addresses));
        assert_eq!(addresses.map(|it| names.get(it)), [Some("www.shop.example"); 2]);
        pass(&mut names, PORT, &answer("api.shop.example", &addresses[..1]));
        assert_eq!(addresses.map(|it| names.get(it)), [Some("api.shop.example"), Some("www.shop.example")]);
    }

    #[test]
    fn the_number_of_names_is_bounded() {
        let mut names = Names::default();
        for number in 0..40_000_u32 {
            names.insert(Ipv4Addr::from(number).into(), "a.example");
        }
        assert!(names.0.iter().all(|generation| generation.len() <= GENERATION));
        assert!(names.get(Ipv4Addr::from(39_999).into()).is_some());
    }

    proptest! {
        #[test]
        fn no_answer_does_harm(payload in prop::collection::vec(any::<u8>(), 0..200), cut in 0_usize..90, at in 0_usize..90) {
            let mut names = Names::default();
            pass(&mut names, PORT, &payload);
            let mut whole = answer("www.shop.example", &[Ipv4Addr::LOCALHOST.into()]);
            if let (Some(byte), Some(to)) = (whole.get_mut(at), payload.first()) {
                *byte = *to;
            }
            pass(&mut names, PORT, &whole[..cut.min(whole.len())]);
            pass(&mut names, PORT, &whole);
        }
    }
}

//! Names of addresses, from the DNS answers among the packets.

use crate::codec::Host;
use crate::sum::Sum;
use gentle_units::Instant;
use gentle_wire::{Address, Packet as WirePacket, Tcp, Transport};
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use serde::{Deserialize, Serialize};
use simple_dns::rdata::RData;
use simple_dns::{Packet, PacketFlag};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Port of DNS (RFC 1035, 4.2). Multicast DNS (RFC 6762) and LLMNR (RFC 4795) have others.
pub(crate) const PORT: u16 = 53;
/// Divisor of the memory limit for names.
const SHARE: usize = 32;
/// Memory of an entry without the bytes of its name: its slot in a table that is half full, and the allocation.
const ENTRY: usize = 96;

/// Name that was last asked for when an address was answered, by address. Of two answers at the same time, the name later in the
/// alphabet counts, so that names do not depend on the order of captures. When memory is short, the older half is forgotten.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "Vec<(Host, Instant, String)>", into = "Vec<(Host, Instant, String)>")]
pub(crate) struct DnsNames {
    names: HashMap<Address, (Instant, Box<str>)>,
    bytes: usize,
    limit: usize,
}

/// List in analysis records, in the order of the addresses.
impl From<DnsNames> for Vec<(Host, Instant, String)> {
    fn from(names: DnsNames) -> Self {
        let entries = names.names.into_iter();
        let mut list: Self = entries.map(|(address, (time, name))| (Host(address), time, name.into())).collect();
        list.sort_unstable();
        list
    }
}

impl From<Vec<(Host, Instant, String)>> for DnsNames {
    fn from(list: Vec<(Host, Instant, String)>) -> DnsNames {
        let mut names = DnsNames { names: HashMap::new(), bytes: 0, limit: usize::MAX };
        list.into_iter().for_each(|(Host(address), time, name)| names.insert(address, time, name.into()));
        names
    }
}

impl Sum for DnsNames {
    fn add(&mut self, more: DnsNames) {
        more.names.into_iter().for_each(|(address, (time, name))| self.insert(address, time, name));
    }
}

impl DnsNames {
    /// No names; later ones take a share of `memory` bytes.
    pub(crate) fn new(memory: usize) -> DnsNames {
        DnsNames { names: HashMap::new(), bytes: 0, limit: memory / SHARE }
    }

    /// Reads the addresses in a packet if it is a DNS answer by UDP.
    pub(crate) fn packet(&mut self, time: Instant, packet: &WirePacket<'_>) {
        if let Transport::Udp(udp) = packet.transport
            && udp.src_port == PORT
        {
            self.message(time, udp.payload);
        }
    }

    /// Reads the addresses in a TCP segment if it is from the port of DNS and begins with a whole answer, as most do.
    #[inline]
    pub(crate) fn segment(&mut self, time: Instant, tcp: &Tcp<'_>) {
        if tcp.src_port == PORT {
            self.messages(time, tcp.payload);
        }
    }

    /// Reads the answers in a payload. The length precedes each message (RFC 1035, 4.2.2).
    #[cold]
    fn messages(&mut self, time: Instant, mut payload: &[u8]) {
        while let Some((length, rest)) = payload.split_first_chunk()
            && let Some((message, rest)) = rest.split_at_checked(u16::from_be_bytes(*length).into())
        {
            self.message(time, message);
            payload = rest;
        }
    }

    /// Reads an answer: each address has the name that was asked for, whatever aliases led there.
    fn message(&mut self, time: Instant, message: &[u8]) {
        let Ok(message) = Packet::parse(message) else {
            return;
        };
        let Some(question) = message.questions.first().filter(|_| message.has_flags(PacketFlag::RESPONSE)) else {
            return;
        };
        // Some resolvers ask with random case (draft-vixie-dnsext-dns0x20); names that differ only in it are equal (RFC 4343).
        let name = question.qname.to_string().to_ascii_lowercase();
        for answer in &message.answers {
            let address: IpAddr = match &answer.rdata {
                RData::A(it) => Ipv4Addr::from(it.address).into(),
                RData::AAAA(it) => Ipv6Addr::from(it.address).into(),
                _ => continue,
            };
            // Filters answer with these for names that they block.
            if !address.is_unspecified() && !address.is_loopback() && !name.is_empty() {
                self.insert(address.into(), time, name.as_str().into());
            }
        }
    }

    fn insert(&mut self, address: Address, time: Instant, name: Box<str>) {
        match self.names.entry(address) {
            Entry::Vacant(place) => {
                self.bytes += ENTRY + name.len();
                place.insert((time, name));
            }
            Entry::Occupied(mut place) if (time, &name) > (place.get().0, &place.get().1) => {
                self.bytes += name.len();
                self.bytes -= place.insert((time, name)).1.len();
            }
            Entry::Occupied(_) => {}
        }
        if self.bytes > self.limit {
            self.forget_older_half();
        }
    }

    fn forget_older_half(&mut self) {
        let mut times: Vec<(Instant, Address)> =
            self.names.iter().map(|(&address, named)| (named.0, address)).collect();
        let middle = times.len() / 2;
        let (_, &mut middle, _) = times.select_nth_unstable(middle);
        self.names.retain(|&address, named| (named.0, address) > middle);
        self.bytes = self.names.values().map(|(_, name)| ENTRY + name.len()).sum();
    }

    /// Name of an address.
    pub(crate) fn of(&self, address: Address) -> Option<&str> {
        self.names.get(&address).map(|(_, name)| &**name)
    }

    /// Forgets all names.
    pub(crate) fn clear(&mut self) {
        self.names.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gentle_wire::{Ipv4Header, LinkType, Tunnels, Udp, dissect, protocol};
    use proptest::prelude::*;
    use simple_dns::rdata::{A, AAAA, CNAME};
    use simple_dns::{CLASS, Name, QCLASS, QTYPE, Question, ResourceRecord, TYPE};

    const MEMORY: usize = 1 << 20;

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
    fn pass(names: &mut DnsNames, time: u64, port: u16, payload: &[u8]) {
        let udp = Udp { src_port: port, dst_port: 40_000, payload_len: payload.len() as u32, payload };
        let ip =
            Ipv4Header::new([192, 0, 2, 53].into(), [192, 0, 2, 1].into(), protocol::UDP, payload.len() as u32 + 8);
        let mut bytes = vec![0; 28 + payload.len()];
        let header = ip.emit(&mut bytes).expect("a header");
        udp.emit(Some(&ip.pseudo_header()), &mut bytes[header..]).expect("a datagram");
        let packet = dissect(LinkType::RAW, &bytes, bytes.len() as u32, Tunnels::Outer).expect("a packet");
        names.packet(Instant(time), &packet);
    }

    fn addresses() -> [IpAddr; 2] {
        ["203.0.113.7", "2001:db8::7"].map(|text| text.parse().expect("an address"))
    }

    fn names_of(names: &DnsNames) -> [Option<&str>; 2] {
        addresses().map(|it| names.of(it.into()))
    }

    #[test]
    fn addresses_have_the_name_that_was_last_asked_for() {
        let mut names = DnsNames::new(MEMORY);
        pass(&mut names, 1, 5353, &answer("other.example", &addresses()));
        assert_eq!(names_of(&names), [None; 2]);
        pass(&mut names, 2, PORT, &answer("WWW.shop.EXAMPLE", &addresses()));
        assert_eq!(names_of(&names), [Some("www.shop.example"); 2]);
        pass(&mut names, 3, PORT, &answer("api.shop.example", &addresses()[..1]));
        assert_eq!(names_of(&names), [Some("api.shop.example"), Some("www.shop.example")]);
        pass(&mut names, 1, PORT, &answer("before.example", &addresses()));
        assert_eq!(names_of(&names), [Some("api.shop.example"), Some("www.shop.example")]);
    }

    #[test]
    fn segments_with_whole_messages_are_read() {
        let with_length = |message: Vec<u8>| [&(message.len() as u16).to_be_bytes()[..], &message].concat();
        let [first, second] = addresses();
        let messages = [answer("a.example", &[first]), answer("b.example", &[second])].map(with_length);
        let mut names = DnsNames::new(MEMORY);
        names.messages(Instant::ZERO, &messages.concat());
        assert_eq!(names_of(&names), [Some("a.example"), Some("b.example")]);
        for cut in 0..messages[0].len() {
            let mut names = DnsNames::new(MEMORY);
            names.messages(Instant::ZERO, &messages[0][..cut]);
            assert_eq!(names_of(&names), [None; 2]);
        }
    }

    #[test]
    fn answers_of_filters_name_no_local_address() {
        let local: [IpAddr; 4] = ["0.0.0.0", "127.0.0.1", "::", "::1"].map(|text| text.parse().expect("an address"));
        let mut names = DnsNames::new(MEMORY);
        pass(&mut names, 0, PORT, &answer("ads.example", &local));
        assert!(names.names.is_empty());
    }

    #[test]
    fn memory_is_bounded_and_the_newest_names_are_kept() {
        let mut names = DnsNames::new(MEMORY);
        for number in 0..40_000_u32 {
            names.insert(Address::v4(number.to_be_bytes()), Instant(number.into()), "a.example".into());
            assert!(names.bytes <= MEMORY / SHARE);
        }
        for number in 40_000 - (MEMORY / SHARE / 2 / (ENTRY + 9)) as u32..40_000 {
            assert!(names.of(Address::v4(number.to_be_bytes())).is_some(), "{number}");
        }
    }

    proptest! {
        #[test]
        fn no_answer_does_harm(payload in prop::collection::vec(any::<u8>(), 0..200), cut in 0_usize..90, at in 0_usize..90) {
            let mut names = DnsNames::new(MEMORY);
            pass(&mut names, 0, PORT, &payload);
            names.messages(Instant::ZERO, &payload);
            let mut whole = answer("www.shop.example", &[Ipv4Addr::LOCALHOST.into()]);
            if let (Some(byte), Some(to)) = (whole.get_mut(at), payload.first()) {
                *byte = *to;
            }
            pass(&mut names, 0, PORT, &whole[..cut.min(whole.len())]);
            pass(&mut names, 0, PORT, &whole);
        }

        #[test]
        fn sums_do_not_depend_on_the_order(answers in prop::collection::vec((0_u8..4, 0_u64..4, "[ab]{1,2}"), 0..20)) {
            let sum = |answers: &mut dyn Iterator<Item = &(u8, u64, String)>| {
                let mut sum = DnsNames::new(MEMORY);
                for (address, time, name) in answers {
                    let mut one = DnsNames::new(MEMORY);
                    one.insert(Address::v4([10, 0, 0, *address]), Instant(*time), name.as_str().into());
                    sum.add(one);
                }
                Vec::from(sum)
            };
            prop_assert_eq!(sum(&mut answers.iter()), sum(&mut answers.iter().rev()));
        }
    }
}

//! Messages of DNS over UDP (RFC 1035, 4.1): the parts that show which answer belongs to which query.

pub(super) use crate::names::DNS_PORT as PORT;
use gentle_wire::{Address, Ip, Udp};
use hashbrown::DefaultHashBuilder;
use simple_dns::{Packet, PacketFlag, Question as Asked, header_buffer};
use std::hash::{BuildHasher, Hash, Hasher};

/// Types of questions for addresses (RFC 1035, 3.2.2; RFC 3596, 2.1).
const A: u16 = 1;
const AAAA: u16 = 28;
/// Length of the header, and of the longest question: a name of 255 bytes, its type and class.
const HEADER: usize = 12;
const LONGEST: usize = HEADER + 255 + 4;

/// Question: type, and hash of name and class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Question {
    name: u64,
    kind: u16,
}

impl Question {
    /// Question for the other kind of address of the same name, which resolvers send at the same time.
    pub(super) fn twin(self) -> Option<Question> {
        let kind = match self.kind {
            A => AAAA,
            AAAA => A,
            _ => return None,
        };
        Some(Question { kind, ..self })
    }
}

/// Query or answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) is_answer: bool,
    pub(super) id: u16,
    pub(super) client: Address,
    pub(super) client_port: u16,
    pub(super) server: Address,
    pub(super) question: Question,
}

impl Message {
    /// Reads a datagram; `None` if it is not a query with one question, or an answer to one. Records after the question are not
    /// read: they may be cut, and answers with unusual records are answers.
    pub(super) fn read(ip: &Ip, udp: &Udp<'_>, hasher: &DefaultHashBuilder) -> Option<Message> {
        if udp.src_port != PORT && udp.dst_port != PORT {
            return None;
        }
        let mut first = [0; LONGEST];
        let len = udp.payload.len().min(LONGEST);
        let first = first.get_mut(..len)?;
        first.copy_from_slice(&udp.payload[..len]);
        if header_buffer::questions(first).ok()? != 1 {
            return None;
        }
        // Counts of the records after the question.
        first.get_mut(6..HEADER)?.fill(0);
        let packet = Packet::parse(first).ok()?;
        if packet.opcode() != simple_dns::OPCODE::StandardQuery {
            return None;
        }
        let is_answer = packet.has_flags(PacketFlag::RESPONSE);
        let (client, server) = match is_answer {
            true => ((ip.dst, udp.dst_port), (ip.src, udp.src_port)),
            false => ((ip.src, udp.src_port), (ip.dst, udp.dst_port)),
        };
        (server.1 == PORT).then_some(())?;
        let question = question(packet.questions.first()?, hasher);
        Some(Message {
            is_answer,
            id: packet.id(),
            client: client.0,
            client_port: client.1,
            server: server.0,
            question,
        })
    }
}

/// Question with its name in small letters: clients may mix large and small ones at random.
fn question(asked: &Asked<'_>, hasher: &DefaultHashBuilder) -> Question {
    let mut name = hasher.build_hasher();
    for label in asked.qname.as_bytes() {
        label.len().hash(&mut name);
        label.iter().for_each(|byte| byte.to_ascii_lowercase().hash(&mut name));
    }
    u16::from(asked.qclass).hash(&mut name);
    Question { name: name.finish(), kind: asked.qtype.into() }
}

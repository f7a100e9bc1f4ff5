//! Filter program that the kernel runs on every packet of the interface, so that only handshakes reach user space.
//!
//! Classic BPF (Documentation/networking/filter.rst), assembled here because ports and roles are known only at run
//! time, and because libpcap's compiler supports neither TCP flags behind IPv6 headers nor the direction of a packet.
//! The filter accepts:
//!
//! - outgoing: SYNs (client side), SYN/ACKs (server side), resets, FINs, and ACKs without data while a handshake waits;
//! - incoming: SYN/ACKs (client side), ACKs without data or with PSH (server side), resets, ICMP errors.
//!
//! The filter is stateless, so the ACK that ends a handshake looks like any other. Segments of bulk data, which are
//! most packets that a server receives, carry data and no PSH and are rejected. A download causes thousands of outgoing
//! ACKs, which are of interest only while a handshake waits: the program is replaced when one begins.

use crate::select::Selection;
use gentle_wire::{LinkType, TcpFlags};
use std::collections::BTreeMap;

/// `struct sock_filter`, include/uapi/linux/filter.h.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Instruction {
    pub(super) code: u16,
    pub(super) jt: u8,
    pub(super) jf: u8,
    pub(super) k: u32,
}

// include/uapi/linux/bpf_common.h: class, size, mode, source.
const LD: u16 = 0x00;
const LDX: u16 = 0x01;
const ST: u16 = 0x02;
const ALU: u16 = 0x04;
const JMP: u16 = 0x05;
const RET: u16 = 0x06;
const MISC: u16 = 0x07;
const W: u16 = 0x00;
const H: u16 = 0x08;
const B: u16 = 0x10;
const IMM: u16 = 0x00;
const ABS: u16 = 0x20;
const IND: u16 = 0x40;
const MEM: u16 = 0x60;
const ADD: u16 = 0x00;
const SUB: u16 = 0x10;
const AND: u16 = 0x50;
const LSH: u16 = 0x60;
const RSH: u16 = 0x70;
const JA: u16 = 0x00;
const JEQ: u16 = 0x10;
const JGT: u16 = 0x20;
const JGE: u16 = 0x30;
const JSET: u16 = 0x40;
const K: u16 = 0x00;
const X: u16 = 0x08;
const TAX: u16 = 0x00;
const TXA: u16 = 0x80;

/// Direction of the packet: `SKF_AD_OFF + SKF_AD_PKTTYPE`, include/uapi/linux/filter.h.
const PACKET_TYPE: u32 = (-0x1000_i32 + 4) as u32;
/// Packet type of outgoing packets; include/uapi/linux/if_packet.h.
pub(super) const OUTGOING: u8 = 4;

/// Accepted length of a packet that is not to be copied: two VLAN tags, an IPv4 header with all its options, and an ICMP
/// error with a quoted header of the same size or a TCP header with all its options; bytes.
const HEAD: u32 = 192;
/// Accepted length of a packet that may be copied: all of it.
const WHOLE: u32 = 0xffff;

/// Memory cells of the program.
const LENGTH: u32 = 0;
const HEADER: u32 = 1;
const PROTOCOL: u32 = 2;
const TRANSPORT: u32 = 3;
const FLAGS: u32 = HEADER;

const FIN: u32 = TcpFlags::FIN.0 as u32;
const SYN: u32 = TcpFlags::SYN.0 as u32;
const ACK: u32 = TcpFlags::ACK.0 as u32;
const RST: u32 = TcpFlags::RST.0 as u32;
const PSH: u32 = TcpFlags::PSH.0 as u32;

/// Maximum number of ports or ranges: jumps reach at most 255 instructions.
pub(crate) const MAX_PORTS: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    /// Following instruction.
    Next,
    Tagged,
    TwiceTagged,
    Ip,
    V4,
    V6,
    Tcp,
    Icmp,
    IcmpV6,
    IcmpError,
    Flags,
    Outgoing,
    Syn,
    WithoutData,
    /// Position after the test of the upper end of a range of ports (by index); `true`: of the source port, `false`: of
    /// the destination port.
    Port(bool, usize),
    AcceptHead,
    AcceptWhole,
    Reject,
}

use Label::{
    AcceptHead, AcceptWhole, Flags, Icmp, IcmpError, IcmpV6, Ip, Next, Outgoing, Port, Reject, Syn, Tagged, Tcp,
    TwiceTagged, V4, V6, WithoutData,
};

/// Instruction with unresolved jumps.
struct Step {
    code: u16,
    k: u32,
    then: Label,
    otherwise: Label,
}

#[derive(Default)]
struct Assembler {
    steps: Vec<Step>,
    labels: BTreeMap<Label, usize>,
}

impl Assembler {
    fn at(&mut self, label: Label) -> &mut Assembler {
        self.labels.insert(label, self.steps.len());
        self
    }

    fn op(&mut self, code: u16, k: u32) -> &mut Assembler {
        self.jump(code, k, Next, Next)
    }

    fn jump(&mut self, code: u16, k: u32, then: Label, otherwise: Label) -> &mut Assembler {
        self.steps.push(Step { code, k, then, otherwise });
        self
    }

    fn is(&mut self, k: u32, then: Label, otherwise: Label) -> &mut Assembler {
        self.jump(JMP | JEQ | K, k, then, otherwise)
    }

    fn has(&mut self, bits: u32, then: Label, otherwise: Label) -> &mut Assembler {
        self.jump(JMP | JSET | K, bits, then, otherwise)
    }

    fn goto(&mut self, label: Label) -> &mut Assembler {
        self.jump(JMP | JA, 0, label, Next)
    }

    fn finish(&self) -> Vec<Instruction> {
        let distance = |from: usize, label: Label| match label {
            Next => 0,
            label => self.labels[&label] - from - 1,
        };
        self.steps
            .iter()
            .enumerate()
            .map(|(at, step)| {
                let (then, otherwise) = (distance(at, step.then), distance(at, step.otherwise));
                let always = step.code == JMP | JA;
                Instruction {
                    code: step.code,
                    jt: if always { 0 } else { then as u8 },
                    jf: otherwise as u8,
                    k: if always { then as u32 } else { step.k },
                }
            })
            .collect()
    }
}

/// Filter for an interface with this link type, [`LinkType::ETHERNET`] or raw IP. `waiting`: a handshake waits for its
/// answer, which may take another route; the next packet of the local end then shows that it arrived.
pub(super) fn program(link: LinkType, selection: &Selection, waiting: bool) -> Vec<Instruction> {
    let mut p = Assembler::default();
    network_layer(&mut p, link);
    transport_layer(&mut p);
    ports(&mut p, selection);
    flags(&mut p, selection, waiting);
    p.at(AcceptHead).op(RET | K, HEAD);
    p.at(AcceptWhole).op(RET | K, WHOLE);
    p.at(Reject).op(RET | K, 0);
    p.finish()
}

/// Skips the link header; leaves the offset of the IP header in X.
fn network_layer(p: &mut Assembler, link: LinkType) {
    if link != LinkType::ETHERNET {
        p.op(LDX | W | IMM, 0).op(LD | B | ABS, 0);
        p.op(ALU | RSH | K, 4).is(4, V4, Next).is(6, V6, Reject);
        return;
    }
    let tag = |p: &mut Assembler, to: Label| {
        p.is(0x8100, to, Next).is(0x88a8, to, Next);
    };
    p.op(LD | H | ABS, 12);
    tag(p, Tagged);
    p.op(LDX | W | IMM, 14).goto(Ip);
    p.at(Tagged).op(LD | H | ABS, 16);
    tag(p, TwiceTagged);
    p.op(LDX | W | IMM, 18).goto(Ip);
    p.at(TwiceTagged).op(LD | H | ABS, 20);
    p.op(LDX | W | IMM, 22);
    p.at(Ip).is(0x0800, V4, Next).is(0x86dd, V6, Reject);
}

/// Skips the IP header; leaves the offset of the TCP or ICMP header in X and the length of header and payload in
/// `LENGTH`.
fn transport_layer(p: &mut Assembler) {
    p.at(V4).op(LD | H | IND, 6).has(0x1fff, Reject, Next);
    p.op(LD | H | IND, 2).op(ST, LENGTH);
    p.op(LD | B | IND, 9).op(ST, PROTOCOL);
    p.op(LD | B | IND, 0).op(ALU | AND | K, 0xf);
    p.op(ALU | LSH | K, 2).op(ST, HEADER);
    p.op(ALU | ADD | X, 0).op(ST, TRANSPORT);
    p.op(LD | MEM, LENGTH).op(LDX | MEM, HEADER);
    p.op(ALU | SUB | X, 0).op(ST, LENGTH);
    p.op(LDX | MEM, TRANSPORT).op(LD | MEM, PROTOCOL);
    p.is(6, Tcp, Next).is(1, Icmp, Reject);
    // TCP after extension headers is not accepted: it does not occur in practice.
    p.at(V6).op(LD | H | IND, 4).op(ST, LENGTH);
    p.op(LD | B | IND, 6).op(ST, PROTOCOL);
    p.op(MISC | TXA, 0).op(ALU | ADD | K, 40);
    p.op(MISC | TAX, 0).op(LD | MEM, PROTOCOL);
    p.is(6, Tcp, Next).is(58, IcmpV6, Reject);
    // Error types: RFC 792; RFC 4443, 2.1.
    p.at(Icmp).op(LD | B | IND, 0).is(3, IcmpError, Next);
    p.is(11, IcmpError, Next).is(12, IcmpError, Reject);
    p.at(IcmpV6).op(LD | B | IND, 0);
    p.jump(JMP | JGT | K, 4, Reject, Next);
    p.jump(JMP | JGE | K, 1, IcmpError, Reject);
    p.at(IcmpError).op(LD | W | ABS, PACKET_TYPE);
    p.is(OUTGOING.into(), Reject, AcceptHead);
}

/// Compares source and destination port; the flags decide later which of them is the server's.
fn ports(p: &mut Assembler, selection: &Selection) {
    p.at(Tcp);
    if selection.ports.is_empty() {
        return;
    }
    for (source, offset) in [(true, 0), (false, 2)] {
        p.op(LD | H | IND, offset);
        for (number, ports) in selection.ports.iter().enumerate() {
            let (first, last) = (u32::from(*ports.0.start()), u32::from(*ports.0.end()));
            if first == last {
                p.is(first, Flags, Next);
            } else {
                let after_range = Port(source, number);
                p.jump(JMP | JGE | K, first, Next, after_range);
                p.jump(JMP | JGT | K, last, after_range, Flags);
                p.at(after_range);
            }
        }
    }
    p.goto(Reject);
}

fn flags(p: &mut Assembler, selection: &Selection, waiting: bool) {
    let (client, server) = (selection.client, selection.server);
    p.at(Flags).op(LD | B | IND, 13).has(RST, AcceptHead, Next);
    p.op(ST, FLAGS).op(LD | W | ABS, PACKET_TYPE);
    p.is(OUTGOING.into(), Outgoing, Next);
    p.op(LD | MEM, FLAGS).has(ACK, Next, Reject);
    p.has(SYN, if client { AcceptHead } else { Reject }, Next);
    if server {
        p.has(PSH, AcceptHead, WithoutData);
    } else {
        p.goto(Reject);
    }
    p.at(Outgoing).op(LD | MEM, FLAGS).has(SYN, Syn, Next);
    p.has(FIN, AcceptHead, if waiting { WithoutData } else { Reject });
    // A segment as long as its header carries no data.
    p.at(WithoutData).op(LD | B | IND, 12);
    p.op(ALU | AND | K, 0xf0).op(ALU | RSH | K, 2);
    p.op(LDX | MEM, LENGTH);
    p.jump(JMP | JEQ | X, 0, AcceptHead, Reject);
    let wanted = |wanted| if wanted { AcceptWhole } else { Reject };
    p.at(Syn).has(ACK, wanted(server), wanted(client));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::Ports;
    use gentle_wire::{Ipv4Header, Ipv6Header, Tcp, protocol};
    use proptest::prelude::*;
    use std::net::Ipv4Addr;

    /// Interpreter equivalent to the kernel's (net/core/filter.c, lib/test_bpf.c); returns the number of bytes
    /// accepted. Reading beyond the packet ends the program with 0.
    fn run(program: &[Instruction], packet: &[u8], outgoing: bool) -> u32 {
        let mut memory = [0_u32; 16];
        let (mut a, mut x, mut at) = (0_u32, 0_u32, 0_usize);
        loop {
            let Instruction { code, jt, jf, k } = program[at];
            at += 1;
            let load = |offset: u32| {
                let size = match code & 0x18 {
                    W => 4,
                    H => 2,
                    _ => 1,
                };
                let from = usize::try_from(offset).ok()?;
                let bytes = packet.get(from..from.checked_add(size)?)?;
                Some(bytes.iter().fold(0, |value, byte| value << 8 | u32::from(*byte)))
            };
            let jump = |holds: bool| usize::from(if holds { jt } else { jf });
            match (code & 0x07, code & 0xf8) {
                (LD, mode) if mode & 0xe0 == ABS && k == PACKET_TYPE => {
                    a = if outgoing { OUTGOING.into() } else { 0 };
                }
                (LD, mode) if mode & 0xe0 == ABS => match load(k) {
                    Some(value) => a = value,
                    None => return 0,
                },
                (LD, mode) if mode & 0xe0 == IND => match load(x.wrapping_add(k)) {
                    Some(value) => a = value,
                    None => return 0,
                },
                (LD, MEM) => a = memory[k as usize],
                (LDX, IMM) => x = k,
                (LDX, MEM) => x = memory[k as usize],
                (ST, _) => memory[k as usize] = a,
                (ALU, op) => {
                    let operand = if op & X == X { x } else { k };
                    a = match op & 0xf0 {
                        ADD => a.wrapping_add(operand),
                        SUB => a.wrapping_sub(operand),
                        AND => a & operand,
                        LSH => a << operand,
                        RSH => a >> operand,
                        other => panic!("ALU {other:#x}"),
                    };
                }
                (JMP, op) => {
                    let operand = if op & X == X { x } else { k };
                    at += match op & 0xf0 {
                        JA => k as usize,
                        JEQ => jump(a == operand),
                        JGT => jump(a > operand),
                        JGE => jump(a >= operand),
                        JSET => jump(a & operand != 0),
                        other => panic!("JMP {other:#x}"),
                    };
                }
                (RET, _) => return k,
                (MISC, TAX) => x = a,
                (MISC, TXA) => a = x,
                other => panic!("{other:?}"),
            }
        }
    }

    fn selection(client: bool, server: bool, ports: &[&str]) -> Selection {
        Selection {
            client,
            server,
            ports: ports.iter().map(|text| text.parse::<Ports>().expect("ports")).collect(),
            ..Selection::default()
        }
    }

    /// TCP segment in IPv4 (with `options` bytes of options) or IPv6.
    fn tcp(v6: bool, options: usize, ports: (u16, u16), flags: TcpFlags, data: usize) -> Vec<u8> {
        let tcp = Tcp {
            src_port: ports.0,
            dst_port: ports.1,
            seq: 0,
            ack: 0,
            flags,
            window: 0,
            payload_len: data as u32,
            options: &[],
            payload: &[0; 100][..data],
        };
        let (src, dst) = (Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST);
        let len = (tcp.header_len() + data) as u32;
        let mut ip = vec![0; 256];
        let (header, sum) = if v6 {
            let (src, dst) = (src.to_ipv6_mapped(), dst.to_ipv6_mapped());
            let header = Ipv6Header::new(src, dst, protocol::TCP, len);
            (header.emit(&mut ip), header.pseudo_header())
        } else {
            let header = Ipv4Header { options: &[0; 40][..options], ..Ipv4Header::new(src, dst, protocol::TCP, len) };
            (header.emit(&mut ip), header.pseudo_header())
        };
        let header = header.expect("a header");
        let segment = tcp.emit(&sum, &mut ip[header..]).expect("a segment");
        ip.truncate(header + segment);
        ip
    }

    /// Ethernet frame with `tags` VLAN tags.
    fn tagged(tags: usize, ip: &[u8]) -> Vec<u8> {
        let kind = if ip[0] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] };
        [&[2; 12][..], &[0x81, 0, 0, 7].repeat(tags), &kind, ip].concat()
    }

    const FIN: TcpFlags = TcpFlags::FIN;
    const SYN: TcpFlags = TcpFlags::SYN;
    const RST: TcpFlags = TcpFlags::RST;
    const PSH: TcpFlags = TcpFlags::PSH;
    const ACK: TcpFlags = TcpFlags::ACK;

    #[test]
    fn each_side_gets_its_handshakes() {
        let (whole, head) = (WHOLE, HEAD);
        // Columns: flags, bytes of data, outgoing; accepted length on the client side and on the server side.
        let cases = [
            (SYN, 0, true, whole, 0),
            (SYN, 40, true, whole, 0),
            (SYN | ACK, 0, true, 0, whole),
            (SYN, 0, false, 0, 0),
            (SYN | ACK, 0, false, head, 0),
            (ACK, 0, false, 0, head),
            (ACK, 1, false, 0, 0),
            (ACK | PSH, 40, false, 0, head),
            (FIN | ACK, 0, true, head, head),
            (FIN | ACK, 9, true, head, head),
            (RST, 0, true, head, head),
            (RST | ACK, 0, false, head, head),
        ];
        for (flags, data, outgoing, client, server) in cases {
            for (v6, options, tags) in [(false, 0, 0), (false, 12, 1), (true, 0, 0), (true, 0, 2)] {
                let ip = tcp(v6, options, (40_000, 80), flags, data);
                for (sides, expected) in
                    [((true, false), client), ((false, true), server), ((true, true), client.max(server))]
                {
                    let selection = selection(sides.0, sides.1, &[]);
                    for waiting in [false, true] {
                        let ethernet = program(LinkType::ETHERNET, &selection, waiting);
                        let raw = program(LinkType::RAW, &selection, waiting);
                        let case = format!("{flags:?} {data} {outgoing} {v6} {tags} {sides:?} {waiting}");
                        let tagged = tagged(tags, &ip);
                        assert_eq!(run(&ethernet, &tagged, outgoing), expected, "{case}");
                        assert_eq!(run(&raw, &ip, outgoing), expected, "{case}");
                    }
                }
            }
        }
    }

    #[test]
    fn acks_leave_unseen_unless_a_handshake_waits() {
        for (data, waiting, expected) in [(0, true, HEAD), (0, false, 0), (100, true, 0), (100, false, 0)] {
            for v6 in [false, true] {
                let program = program(LinkType::RAW, &selection(true, false, &[]), waiting);
                let ip = tcp(v6, 0, (40_000, 80), ACK | PSH, data);
                assert_eq!(run(&program, &ip, true), expected, "{data} {waiting}");
            }
        }
    }

    #[test]
    fn as_many_ports_as_are_allowed_fit() {
        let ranges: Vec<String> = (0..MAX_PORTS).map(|n| format!("{}-{}", n * 100 + 1, n * 100 + 9)).collect();
        let texts: Vec<&str> = ranges.iter().map(String::as_str).collect();
        let selection = selection(true, true, &texts);
        let program = program(LinkType::ETHERNET, &selection, true);
        for (port, passes) in [(1, true), (9, true), (10, false), (3_105, true), (3_110, false)] {
            for ports in [(50_000, port), (port, 50_000)] {
                let frame = tagged(0, &tcp(false, 0, ports, SYN, 0));
                assert_eq!(run(&program, &frame, true) == WHOLE, passes, "{ports:?}");
            }
        }
    }

    #[test]
    fn icmp_errors_pass_on_their_way_in_and_fragments_never() {
        let program = program(LinkType::RAW, &selection(true, true, &[]), true);
        let mut icmp = tcp(false, 0, (0x0301, 0), TcpFlags(0), 0);
        icmp[9] = 1;
        assert_eq!((run(&program, &icmp, false), run(&program, &icmp, true)), (HEAD, 0));
        icmp[20] = 8;
        assert_eq!(run(&program, &icmp, false), 0);
        let mut icmp6 = tcp(true, 0, (0x0100, 0), TcpFlags(0), 0);
        icmp6[6] = 58;
        assert_eq!(run(&program, &icmp6, false), HEAD);
        icmp6[40] = 128;
        assert_eq!(run(&program, &icmp6, false), 0);
        let mut fragment = tcp(false, 0, (1, 80), SYN, 0);
        fragment[7] = 1;
        assert_eq!(run(&program, &fragment, true), 0);
    }

    proptest! {
        #[test]
        fn any_packet_ends_the_program(
            packet in prop::collection::vec(any::<u8>(), 0..120),
            outgoing: bool,
            ethernet: bool,
            waiting: bool,
        ) {
            let link = if ethernet { LinkType::ETHERNET } else { LinkType::RAW };
            let program = program(link, &selection(true, true, &["80", "8000-8099"]), waiting);
            let passes = run(&program, &packet, outgoing);
            prop_assert!([0, HEAD, WHOLE].contains(&passes));
        }
    }
}

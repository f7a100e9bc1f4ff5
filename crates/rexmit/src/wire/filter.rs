//! The program that the kernel asks about every packet of the interface: only handshakes reach user space.
//!
//! Classic BPF (Documentation/networking/filter.rst), made here because the ports and the sides are known only now, and
//! because libpcap's compiler knows neither TCP flags behind IPv6 nor which way a packet goes. What passes:
//!
//! - of what leaves: SYNs (client side), SYN/ACKs (server side), resets;
//! - of what arrives: SYN/ACKs (client side), ACKs without data or with PSH (server side), resets, ICMP errors.
//!
//! A filter cannot remember, so the ACK that ends a handshake looks like any other. Segments of bulk data, which are most of
//! what a server receives, have neither the one nor the other mark and stay outside.

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

/// `SKF_AD_OFF + SKF_AD_PKTTYPE`, include/uapi/linux/filter.h: which way the packet goes.
const PACKET_TYPE: u32 = (-0x1000_i32 + 4) as u32;
/// include/uapi/linux/if_packet.h
pub(super) const OUTGOING: u8 = 4;

/// Bytes of a packet that is only looked at: two tags, an IPv4 header with all its options, and an ICMP error with as much
/// again, or a TCP header with all of its.
const HEAD: u32 = 192;
/// All of a packet that may be copied.
const WHOLE: u32 = 0xffff;

/// Memory of the program.
const LENGTH: u32 = 0;
const HEADER: u32 = 1;
const PROTOCOL: u32 = 2;
const TRANSPORT: u32 = 3;
const FLAGS: u32 = HEADER;

const SYN: u32 = TcpFlags::SYN.0 as u32;
const ACK: u32 = TcpFlags::ACK.0 as u32;
const RST: u32 = TcpFlags::RST.0 as u32;
const PSH: u32 = 0x08;

/// How many ports or ranges fit: jumps reach 255 instructions.
pub(crate) const MOST_PORTS: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    /// The instruction behind.
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
    Leaves,
    /// Behind the test of the upper end of this range of ports, of the source or else the destination.
    Port(bool, usize),
    Look,
    Take,
    Reject,
}

use Label::{
    Flags, Icmp, IcmpError, IcmpV6, Ip, Leaves, Look, Next, Port, Reject, Tagged, Take, Tcp,
    TwiceTagged, V4, V6,
};

/// An instruction whose jumps are not yet counted.
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
        self.steps.push(Step {
            code,
            k,
            then,
            otherwise,
        });
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

/// The program for an interface whose frames begin like this: [`LinkType::ETHERNET`] or raw IP.
pub(super) fn program(link: LinkType, selection: &Selection) -> Vec<Instruction> {
    let mut p = Assembler::default();
    network_layer(&mut p, link);
    transport_layer(&mut p);
    ports(&mut p, selection);
    flags(&mut p, selection);
    p.at(Look).op(RET | K, HEAD);
    p.at(Take).op(RET | K, WHOLE);
    p.at(Reject).op(RET | K, 0);
    p.finish()
}

/// X: where the IP header is.
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

/// X: where the TCP or ICMP header is; `LENGTH`: how many bytes it and what follows it have.
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
    // TCP behind extension headers is left alone: nobody sends it.
    p.at(V6).op(LD | H | IND, 4).op(ST, LENGTH);
    p.op(LD | B | IND, 6).op(ST, PROTOCOL);
    p.op(MISC | TXA, 0).op(ALU | ADD | K, 40);
    p.op(MISC | TAX, 0).op(LD | MEM, PROTOCOL);
    p.is(6, Tcp, Next).is(58, IcmpV6, Reject);
    // The errors: RFC 792; RFC 4443, 2.1.
    p.at(Icmp).op(LD | B | IND, 0).is(3, IcmpError, Next);
    p.is(11, IcmpError, Next).is(12, IcmpError, Reject);
    p.at(IcmpV6).op(LD | B | IND, 0);
    p.jump(JMP | JGT | K, 4, Reject, Next);
    p.jump(JMP | JGE | K, 1, IcmpError, Reject);
    p.at(IcmpError).op(LD | W | ABS, PACKET_TYPE);
    p.is(OUTGOING.into(), Reject, Look);
}

/// Source or destination: the flags decide later which of them is the server's.
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
                let behind = Port(source, number);
                p.jump(JMP | JGE | K, first, Next, behind);
                p.jump(JMP | JGT | K, last, behind, Flags);
                p.at(behind);
            }
        }
    }
    p.goto(Reject);
}

fn flags(p: &mut Assembler, selection: &Selection) {
    let (client, server) = (selection.client, selection.server);
    p.at(Flags).op(LD | B | IND, 13).has(RST, Look, Next);
    p.op(ST, FLAGS).op(LD | W | ABS, PACKET_TYPE);
    p.is(OUTGOING.into(), Leaves, Next);
    p.op(LD | MEM, FLAGS).has(ACK, Next, Reject);
    p.has(SYN, if client { Look } else { Reject }, Next);
    if server {
        p.has(PSH, Look, Next);
        // A segment as long as its header has no data.
        p.op(LD | B | IND, 12).op(ALU | AND | K, 0xf0);
        p.op(ALU | RSH | K, 2).op(LDX | MEM, LENGTH);
        p.jump(JMP | JEQ | X, 0, Look, Reject);
    } else {
        p.goto(Reject);
    }
    p.at(Leaves).op(LD | MEM, FLAGS).has(SYN, Next, Reject);
    let wanted = |wanted| if wanted { Take } else { Reject };
    p.has(ACK, wanted(server), wanted(client));
}

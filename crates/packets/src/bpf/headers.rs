//! Steps that all filters share: link header and IP header are skipped.

use super::opcode::{
    ABS, ADD, ALU, AND, B, H, IMM, IND, JGE, JGT, JMP, K, LD, LDX, LSH, MEM, MISC, RSH, ST, SUB, TAX, TXA, W, X,
};
use super::{Assembler, Label};
use gentle_wire::{LinkType, protocol};

/// Memory cell with the length of transport header and payload, bytes, after [`skip_headers`].
pub const LENGTH: u32 = 0;
/// Memory cell with the offset of the transport header, bytes, after [`skip_headers`]. Cells from 4 on are unused.
pub const TRANSPORT: u32 = 3;
const HEADER: u32 = 1;
const PROTOCOL: u32 = 2;

// EtherTypes, include/uapi/linux/if_ether.h.
const IPV4: u32 = 0x0800;
const IPV6: u32 = 0x86dd;
const VLAN: u32 = 0x8100;
const SERVICE_VLAN: u32 = 0x88a8;

/// Labels at which a program continues after the IP header.
#[derive(Debug, Clone, Copy)]
pub struct Transport {
    /// TCP segments.
    pub tcp: Label,
    /// UDP datagrams; `None`: they are rejected.
    pub udp: Option<Label>,
    /// ICMP and ICMPv6 errors.
    pub icmp_error: Label,
    /// All other packets, including fragments without transport header and IPv6 packets with extension headers, after
    /// which TCP does not occur in practice.
    pub reject: Label,
}

/// Skips the link header, with up to two VLAN tags, and the IP header. `link` is [`LinkType::ETHERNET`], or another
/// type whose frames begin with the IP header.
///
/// The program continues at a label of `to`, with the offset of the transport header in X and in the memory cell
/// [`TRANSPORT`], and the length of transport header and payload in the cell [`LENGTH`]. At `reject`, X and the cells
/// are undefined.
pub fn skip_headers(p: &mut Assembler, link: LinkType, to: &Transport) {
    let [v4, v6] = p.labels();
    skip_link_header(p, link, v4, v6, to.reject);
    p.at(v4);
    skip_ipv4_header(p, to);
    p.at(v6);
    skip_ipv6_header(p, to);
}

/// Leaves the offset of the IP header in X.
fn skip_link_header(p: &mut Assembler, link: LinkType, v4: Label, v6: Label, reject: Label) {
    const NEXT: Label = Label::NEXT;
    if link != LinkType::ETHERNET {
        p.op(LDX | W | IMM, 0).op(LD | B | ABS, 0);
        p.op(ALU | RSH | K, 4).is(4, v4, NEXT).is(6, v6, reject);
        return;
    }
    let [tagged, twice_tagged, ip] = p.labels();
    let tag = |p: &mut Assembler, to: Label| {
        p.is(VLAN, to, NEXT).is(SERVICE_VLAN, to, NEXT);
    };
    p.op(LD | H | ABS, 12);
    tag(p, tagged);
    p.op(LDX | W | IMM, 14).goto(ip);
    p.at(tagged).op(LD | H | ABS, 16);
    tag(p, twice_tagged);
    p.op(LDX | W | IMM, 18).goto(ip);
    p.at(twice_tagged).op(LD | H | ABS, 20);
    p.op(LDX | W | IMM, 22);
    p.at(ip).is(IPV4, v4, NEXT).is(IPV6, v6, reject);
}

fn skip_ipv4_header(p: &mut Assembler, to: &Transport) {
    let icmp = p.label();
    p.op(LD | H | IND, 6).has(0x1fff, to.reject, Label::NEXT);
    p.op(LD | H | IND, 2).op(ST, LENGTH);
    p.op(LD | B | IND, 9).op(ST, PROTOCOL);
    p.op(LD | B | IND, 0).op(ALU | AND | K, 0xf);
    p.op(ALU | LSH | K, 2).op(ST, HEADER);
    p.op(ALU | ADD | X, 0).op(ST, TRANSPORT);
    p.op(LD | MEM, LENGTH).op(LDX | MEM, HEADER);
    p.op(ALU | SUB | X, 0).op(ST, LENGTH);
    p.op(LDX | MEM, TRANSPORT).op(LD | MEM, PROTOCOL);
    by_protocol(p, to, icmp, protocol::ICMP);
    // Error types: RFC 792.
    p.at(icmp).op(LD | B | IND, 0).is(3, to.icmp_error, Label::NEXT);
    p.is(11, to.icmp_error, Label::NEXT).is(12, to.icmp_error, to.reject);
}

fn skip_ipv6_header(p: &mut Assembler, to: &Transport) {
    let icmp = p.label();
    p.op(LD | H | IND, 4).op(ST, LENGTH);
    p.op(LD | B | IND, 6).op(ST, PROTOCOL);
    p.op(MISC | TXA, 0).op(ALU | ADD | K, 40).op(ST, TRANSPORT);
    p.op(MISC | TAX, 0).op(LD | MEM, PROTOCOL);
    by_protocol(p, to, icmp, protocol::ICMPV6);
    // Error types: RFC 4443, 2.1.
    p.at(icmp).op(LD | B | IND, 0);
    p.jump(JMP | JGT | K, 4, to.reject, Label::NEXT);
    p.jump(JMP | JGE | K, 1, to.icmp_error, to.reject);
}

/// Continues by the protocol in A.
fn by_protocol(p: &mut Assembler, to: &Transport, icmp: Label, icmp_protocol: u8) {
    p.is(protocol::TCP.into(), to.tcp, Label::NEXT);
    if let Some(udp) = to.udp {
        p.is(protocol::UDP.into(), udp, Label::NEXT);
    }
    p.is(icmp_protocol.into(), icmp, to.reject);
}

//! Filter program that the kernel runs on every packet of the interface, so that only handshakes reach user space.
//!
//! The filter accepts:
//!
//! - outgoing: SYNs (client side), SYN/ACKs (server side), resets, FINs, and ACKs without data while a handshake waits;
//! - incoming: SYN/ACKs (client side), ACKs without data or with PSH (server side), resets, ICMP errors.
//!
//! The filter is stateless, so the ACK that ends a handshake looks like any other. Segments of bulk data, which are
//! most packets that a server receives, carry data and no PSH and are rejected. A download causes thousands of outgoing
//! ACKs, which are of interest only while a handshake waits: the program is replaced when one begins.

use crate::select::Selection;
use gentle_packets::bpf::opcode::{
    ABS, ALU, AND, B, H, IND, JEQ, JGE, JGT, JMP, K, LD, LDX, MEM, OUTGOING, PACKET_TYPE, RET, RSH, ST, W, X,
};
use gentle_packets::bpf::{Assembler, Instruction, LENGTH, Label, Transport, skip_headers};
use gentle_wire::{LinkType, TcpFlags};

/// Accepted length of a packet that is not to be copied: two VLAN tags, an IPv4 header with all its options, and an ICMP
/// error with a quoted header of the same size or a TCP header with all its options; bytes.
const HEAD: u32 = 192;
/// Accepted length of a packet that may be copied: all of it.
const WHOLE: u32 = 0xffff;

/// Memory cell of the TCP flags.
const FLAGS: u32 = 4;

const FIN: u32 = TcpFlags::FIN.0 as u32;
const SYN: u32 = TcpFlags::SYN.0 as u32;
const ACK: u32 = TcpFlags::ACK.0 as u32;
const RST: u32 = TcpFlags::RST.0 as u32;
const PSH: u32 = TcpFlags::PSH.0 as u32;

/// Maximum number of ports or ranges: jumps reach at most 255 instructions.
pub(crate) const MAX_PORTS: usize = 32;

/// Filter for an interface with this link type, [`LinkType::ETHERNET`] or raw IP. `waiting`: a handshake waits for its
/// answer, which may take another route; the next packet of the local end then shows that it arrived.
pub(super) fn program(link: LinkType, selection: &Selection, waiting: bool) -> Vec<Instruction> {
    let mut p = Assembler::default();
    let [tcp, icmp_error, accept_head, accept_whole, reject] = p.labels();
    let exits = Exits { accept_head, accept_whole, reject };
    skip_headers(&mut p, link, &Transport { tcp, udp: None, icmp_error, reject });
    p.at(icmp_error).op(LD | W | ABS, PACKET_TYPE);
    p.is(OUTGOING.into(), reject, accept_head);
    p.at(tcp);
    ports(&mut p, selection, reject);
    flags(&mut p, selection, waiting, exits);
    p.at(accept_head).op(RET | K, HEAD);
    p.at(accept_whole).op(RET | K, WHOLE);
    p.at(reject).op(RET | K, 0);
    p.finish()
}

/// Ends of the program.
#[derive(Debug, Clone, Copy)]
struct Exits {
    accept_head: Label,
    accept_whole: Label,
    reject: Label,
}

/// Compares source and destination port; the flags decide later which of them is the server's.
fn ports(p: &mut Assembler, selection: &Selection, reject: Label) {
    if selection.ports.is_empty() {
        return;
    }
    let selected = p.label();
    for offset in [0, 2] {
        p.op(LD | H | IND, offset);
        for ports in &selection.ports {
            let (first, last) = (u32::from(*ports.0.start()), u32::from(*ports.0.end()));
            if first == last {
                p.is(first, selected, Label::NEXT);
            } else {
                let after_range = p.label();
                p.jump(JMP | JGE | K, first, Label::NEXT, after_range);
                p.jump(JMP | JGT | K, last, after_range, selected);
                p.at(after_range);
            }
        }
    }
    p.goto(reject);
    p.at(selected);
}

fn flags(p: &mut Assembler, selection: &Selection, waiting: bool, exits: Exits) {
    const NEXT: Label = Label::NEXT;
    let Exits { accept_head, accept_whole, reject } = exits;
    let [outgoing, syn, without_data] = p.labels();
    let (client, server) = (selection.client, selection.server);
    p.op(LD | B | IND, 13).has(RST, accept_head, NEXT);
    p.op(ST, FLAGS).op(LD | W | ABS, PACKET_TYPE);
    p.is(OUTGOING.into(), outgoing, NEXT);
    p.op(LD | MEM, FLAGS).has(ACK, NEXT, reject);
    p.has(SYN, if client { accept_head } else { reject }, NEXT);
    if server {
        p.has(PSH, accept_head, without_data);
    } else {
        p.goto(reject);
    }
    p.at(outgoing).op(LD | MEM, FLAGS).has(SYN, syn, NEXT);
    p.has(FIN, accept_head, if waiting { without_data } else { reject });
    // A segment as long as its header carries no data.
    p.at(without_data).op(LD | B | IND, 12);
    p.op(ALU | AND | K, 0xf0).op(ALU | RSH | K, 2);
    p.op(LDX | MEM, LENGTH);
    p.jump(JMP | JEQ | X, 0, accept_head, reject);
    let wanted = |wanted| if wanted { accept_whole } else { reject };
    p.at(syn).has(ACK, wanted(server), wanted(client));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::Ports;
    use gentle_packets::interpreter::run;
    use gentle_wire::{Ipv4Header, Ipv6Header, Tcp, protocol};
    use proptest::prelude::*;
    use std::net::Ipv4Addr;

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

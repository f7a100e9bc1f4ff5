//! Identification of flows by the module `sch_gentle`.

use super::guest::{dummy, only_here, qdisc, run};
use super::laboratory::{Laboratory, number};
use super::packets::{Sender, V4, V6, ethernet, ipv4, ipv6};
use gentle_wire::{EthernetHeader, Fragment, Ipv4Header, Ipv6Extension, Ipv6Header, protocol};

/// EtherTypes (IANA, IEEE 802 Numbers).
const ARP: u16 = 0x0806;
const PPPOE: u16 = 0x8864;

/// SCTP (RFC 9260).
const SCTP: u8 = 132;

/// Keeps new devices from sending IPv6 packets, which the queue would count.
fn without_ipv6() {
    std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1").expect("a separate machine");
}

/// A port of the source, another one of the destination, and 1000 bytes.
fn ports(source: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(source.to_be_bytes());
    bytes.extend(80_u16.to_be_bytes());
    bytes.resize(1000, 0);
    // Length of a TCP header, for those who look.
    bytes[12] = 0x50;
    bytes
}

fn session(ppp: u16, packet: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x11, 0, 0, 9];
    bytes.extend((packet.len() as u16 + 2).to_be_bytes());
    bytes.extend(ppp.to_be_bytes());
    bytes.extend(packet);
    bytes
}

/// Frames by a number, mostly the port of the source, and whether they are different flows if it differs.
struct Kind {
    name: &'static str,
    frame: fn(u16) -> Vec<u8>,
    apart: bool,
}

fn v4(transport: u8, source: u16) -> Vec<u8> {
    let header = Ipv4Header { protocol: transport, ..V4 };
    ipv4(header, &ports(source))
}

fn v6(transport: u8, source: u16) -> Vec<u8> {
    let header = Ipv6Header { protocol: transport, ..V6 };
    ipv6(header, &ports(source))
}

/// A packet with another flow label for each number, and with the ports of `source`.
fn labelled(transport: u8, label: u16, source: u16) -> Vec<u8> {
    let header = Ipv6Header { protocol: transport, flow_label: label.into(), ..V6 };
    ipv6(header, &ports(source))
}

/// A frame of a flow of UDP.
pub(super) fn udp(source: u16) -> Vec<u8> {
    ethernet(&[EthernetHeader::IPV4], &v4(protocol::UDP, source))
}

fn flows() -> Vec<Kind> {
    let kind = |name, apart, frame| Kind { name, frame, apart };
    const IPV4: u16 = EthernetHeader::IPV4;
    const IPV6: u16 = EthernetHeader::IPV6;
    vec![
        kind("TCP", true, |port| ethernet(&[IPV4], &v4(protocol::TCP, port))),
        kind("UDP", true, udp),
        kind("SCTP", true, |port| ethernet(&[IPV4], &v4(SCTP, port))),
        kind("TCP over IPv6", true, |port| ethernet(&[IPV6], &v6(protocol::TCP, port))),
        kind("UDP over IPv6", true, |port| ethernet(&[IPV6], &v6(protocol::UDP, port))),
        kind("TCP over IPv6 with a flow label", true, |port| ethernet(&[IPV6], &labelled(protocol::TCP, 7, port))),
        // A sender changes it when it times out.
        kind("the flow label of TCP", false, |label| ethernet(&[IPV6], &labelled(protocol::TCP, label, 1000))),
        kind("the flow label of UDP", false, |label| ethernet(&[IPV6], &labelled(protocol::UDP, label, 1000))),
        kind("the flow label of TCP in a session", false, |label| {
            let packet = labelled(protocol::TCP, label, 1000);
            ethernet(&[PPPOE], &session(0x0057, &packet))
        }),
        kind("TCP in a session", true, |port| ethernet(&[PPPOE], &session(0x0021, &v4(protocol::TCP, port)))),
        kind("UDP over IPv6 in a session", true, |port| ethernet(&[PPPOE], &session(0x0057, &v6(protocol::UDP, port)))),
        // Only the first fragment of a packet has ports. All fragments are to be one flow, so it counts without them.
        kind("first fragments", false, |port| {
            let header = Ipv4Header { more_fragments: true, protocol: protocol::UDP, ..V4 };
            ethernet(&[IPV4], &ipv4(header, &ports(port)))
        }),
        kind("first fragments over IPv6", false, |port| {
            let fragment = Fragment { id: 7, offset: 0, more: true };
            let header = Ipv6Header { extensions: &[Ipv6Extension::Fragment(fragment)], protocol: protocol::UDP, ..V6 };
            ethernet(&[IPV6], &ipv6(header, &ports(port)))
        }),
        kind("a protocol without ports", false, |port| {
            // OSPF (RFC 2328).
            ethernet(&[IPV4], &v4(89, port))
        }),
    ]
}

#[test]
fn the_module_tells_flows_apart() {
    let Some(laboratory) = Laboratory::new() else {
        return;
    };
    let printed = laboratory.run("modules::flows::within");
    assert_eq!(number(&printed, "flows"), flows().len() as u64);
}

#[test]
#[ignore = "runs within a machine"]
fn within() {
    only_here();
    without_ipv6();
    dummy("d0");
    run("ip link add link d0 name d0.5 type vlan id 5");
    run("ip link set d0.5 up");
    let mut wrong = Vec::new();
    for Kind { name, frame, apart } in flows() {
        for dev in ["d0", "d0.5"] {
            // The first frame takes all tokens; what follows waits in the module, which counts the flows.
            run("tc qdisc add dev d0 root handle 1: tbf rate 8kbit burst 1600 limit 100000");
            run("tc qdisc add dev d0 parent 1:1 handle 2: gentle");
            let mut sender = Sender::new(dev);
            assert!(sender.send(&ethernet(&[ARP], &[0; 1500])));
            for number in [1000, 1000, 2000] {
                assert!(sender.send(&frame(number)), "{name}");
            }
            let statistics = qdisc("d0", "gentle").expect("it is there");
            if statistics["flows_len"] != if apart { 2 } else { 1 } {
                wrong.push(format!("{name} on {dev}: {statistics}"));
            }
            run("tc qdisc del dev d0 root");
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    println!("flows: {}", flows().len());
}

//! Frames of generated packets: Ethernet, IPv4 and TCP headers.

use gentle_sim::{tcp_header, tcp_options};
use gentle_tcp::Segment;
use gentle_wire::{Address, EthernetHeader, Ipv4Header, protocol};
use std::net::Ipv4Addr;

/// Window scale that every SYN announces, as Linux does for its default buffers.
const WINDOW_SCALE: u8 = 7;

/// The longest headers: Ethernet, IPv4 without options, TCP with 40 bytes of options.
const LONGEST_HEADERS: usize = EthernetHeader::UNTAGGED_LEN + 20 + 60;

/// Addresses of the two routers beside the observer.
const ROUTERS: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];

/// Addresses and ports of client and server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flow {
    pub(super) addresses: [Ipv4Addr; 2],
    pub(super) ports: [u16; 2],
}

impl Flow {
    /// Address and port of the client.
    pub(super) fn client(&self) -> (Address, u16) {
        (Address::v4(self.addresses[0].octets()), self.ports[0])
    }
}

/// Replaces `out` by the headers of a segment of the host `from` (0: the client, 1: the server).
pub(super) fn write(segment: &Segment, ip_id: u16, flow: &Flow, from: usize, out: &mut Vec<u8>) {
    let to = 1 - from;
    let fits = "a segment fits into a packet";
    let options = tcp_options(segment, WINDOW_SCALE);
    let ports = (flow.ports[from], flow.ports[to]);
    let tcp = tcp_header(segment, ports.0, ports.1, WINDOW_SCALE, &options);
    let ethernet = EthernetHeader { dst: ROUTERS[to], src: ROUTERS[from], tags: &[], ether_type: EthernetHeader::IPV4 };
    let payload_len = tcp.header_len() as u32 + segment.len;
    let (src, dst) = (flow.addresses[from], flow.addresses[to]);
    let ip = Ipv4Header { id: ip_id, ..Ipv4Header::new(src, dst, protocol::TCP, payload_len) };
    let mut headers = [0; LONGEST_HEADERS];
    let mut len = ethernet.emit(&mut headers).expect(fits);
    len += ip.emit(&mut headers[len..]).expect(fits);
    len += tcp.emit(&ip.pseudo_header(), &mut headers[len..]).expect(fits);
    out.clear();
    out.extend_from_slice(&headers[..len]);
}

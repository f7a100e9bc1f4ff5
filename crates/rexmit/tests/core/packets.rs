//! Packets of two hosts on an Ethernet, and a core with a clock that they pass.

use gentle_rexmit::{Config, Direction, Event, Frame, Retransmitter, Selection, Timing, Vlan};
use gentle_units::{Instant, Nanos};
use gentle_wire::{
    EmitError, EthernetHeader, Ipv4Header, Ipv6Header, LinkType, PseudoHeader, Tcp, TcpFlags, Unreachable, protocol,
};
use std::net::{Ipv4Addr, Ipv6Addr};

pub(crate) const FIN: TcpFlags = TcpFlags::FIN;
pub(crate) const SYN: TcpFlags = TcpFlags::SYN;
pub(crate) const RST: TcpFlags = TcpFlags::RST;
pub(crate) const ACK: TcpFlags = TcpFlags::ACK;

/// Offset of the checksum in a TCP header.
const CHECKSUM: usize = 16;

/// TCP segment between two hosts.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    pub(crate) v6: bool,
    /// Last bytes of the sender's and receiver's addresses.
    pub(crate) hosts: (u8, u8),
    pub(crate) ports: (u16, u16),
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) flags: TcpFlags,
    pub(crate) options: Vec<u8>,
    pub(crate) data: Vec<u8>,
}

impl Segment {
    /// SYN from host 1 to host 2, port 80.
    pub(crate) fn syn(port: u16) -> Segment {
        Segment {
            v6: false,
            hosts: (1, 2),
            ports: (port, 80),
            seq: 1_000,
            ack: 0,
            flags: SYN,
            options: vec![2, 4, 5, 0xb4],
            data: Vec::new(),
        }
    }

    /// Answer of the receiver.
    pub(crate) fn answer(&self, flags: TcpFlags) -> Segment {
        Segment {
            hosts: (self.hosts.1, self.hosts.0),
            ports: (self.ports.1, self.ports.0),
            seq: 77_000,
            ack: self.seq.wrapping_add(1 + self.data.len() as u32),
            flags,
            data: Vec::new(),
            ..self.clone()
        }
    }

    /// Length of the IP header.
    fn ip_header(&self) -> usize {
        if self.v6 { 40 } else { 20 }
    }

    /// IP packet with a valid TCP checksum.
    pub(crate) fn ip(&self) -> Vec<u8> {
        let tcp = Tcp {
            src_port: self.ports.0,
            dst_port: self.ports.1,
            seq: self.seq,
            ack: self.ack,
            flags: self.flags,
            window: 0xffff,
            payload_len: self.data.len() as u32,
            options: &self.options,
            payload: &self.data,
        };
        let len = tcp.header_len() + self.data.len();
        ip(self.v6, self.hosts, protocol::TCP, len, |sum, out| tcp.emit(sum, out))
    }

    /// IP packet as the stack leaves it to a device with checksum offload: the checksum field has the pseudo-header sum
    /// only (include/linux/skbuff.h, CHECKSUM_PARTIAL).
    pub(crate) fn ip_partial(&self) -> Vec<u8> {
        let mut packet = self.ip();
        let header = self.ip_header();
        // Addresses are the end of either IP header.
        let addresses = &packet[if self.v6 { 8 } else { 12 }..header];
        let length = (packet.len() - header) as u8;
        let sum = ones_complement(&[addresses, &[0, protocol::TCP, 0, length]].concat());
        packet[header + CHECKSUM..][..2].copy_from_slice(&sum.to_be_bytes());
        packet
    }

    pub(crate) fn frame(&self) -> Vec<u8> {
        ethernet(self.v6, &self.ip())
    }
}

/// IP packet between two hosts; `emit` writes its payload of `len` bytes.
fn ip(
    v6: bool,
    (src, dst): (u8, u8),
    protocol: u8,
    len: usize,
    emit: impl FnOnce(&PseudoHeader, &mut [u8]) -> Result<usize, EmitError>,
) -> Vec<u8> {
    let mut packet = vec![0; 40 + len];
    let (header, sum) = if v6 {
        let address = |host: u8| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, host.into());
        let header = Ipv6Header::new(address(src), address(dst), protocol, len as u32);
        (header.emit(&mut packet), header.pseudo_header())
    } else {
        let address = |host| Ipv4Addr::new(192, 0, 2, host);
        let header = Ipv4Header::new(address(src), address(dst), protocol, len as u32);
        (header.emit(&mut packet), header.pseudo_header())
    };
    let header = header.expect("room for the header");
    let payload = emit(&sum, &mut packet[header..]).expect("room for the payload");
    packet.truncate(header + payload);
    packet
}

/// Internet checksum without the final complement (RFC 1071), of an even number of bytes.
fn ones_complement(bytes: &[u8]) -> u16 {
    bytes.chunks(2).fold(0, |sum: u16, word| {
        let (sum, carry) = sum.overflowing_add(u16::from_be_bytes([word[0], word[1]]));
        sum + u16::from(carry)
    })
}

pub(crate) fn ethernet(v6: bool, ip: &[u8]) -> Vec<u8> {
    let header = EthernetHeader {
        dst: [2, 0, 0, 0, 0, 2],
        src: [2, 0, 0, 0, 0, 1],
        tags: &[],
        ether_type: match v6 {
            false => EthernetHeader::IPV4,
            true => EthernetHeader::IPV6,
        },
    };
    let mut link = [0; 14];
    header.emit(&mut link).expect("room for the header");
    [&link, ip].concat()
}

/// ICMP or ICMPv6 message of type `kind` from host 9 to the sender of `segment` that quotes `quoted` bytes of it.
pub(crate) fn icmp_error(segment: &Segment, kind: u8, quoted: usize) -> Vec<u8> {
    let packet = segment.ip();
    let message = Unreachable { code: 1, quoted: &packet[..quoted.min(packet.len())] };
    let (v6, hosts, len) = (segment.v6, (9, segment.hosts.0), message.message_len());
    let mut error = match v6 {
        false => ip(v6, hosts, protocol::ICMP, len, |_, out| message.emit_v4(out)),
        true => ip(v6, hosts, protocol::ICMPV6, len, |sum, out| message.emit_v6(sum, out)),
    };
    error[segment.ip_header()] = kind;
    ethernet(v6, &error)
}

/// Configuration with the paper's fixed delay, for both sides.
pub(crate) fn config() -> Config {
    Config {
        timing: Timing::fixed(Nanos::from_millis(200)),
        ..Config::new(Selection { client: true, server: true, ..Selection::default() })
    }
}

/// Core with a clock.
pub(crate) struct Wire {
    pub(crate) core: Retransmitter,
    pub(crate) now: Instant,
}

impl Wire {
    pub(crate) fn new(config: Config) -> Wire {
        Wire { core: Retransmitter::new(config, 1), now: Instant::from_secs(1_000) }
    }

    fn pass(&mut self, direction: Direction, bytes: &[u8], vlan: Option<Vlan>, exact_time: bool) {
        let frame = Frame {
            bytes,
            original_len: bytes.len() as u32,
            link: LinkType::ETHERNET,
            vlan,
            partial_checksum: false,
            exact_time,
        };
        self.core.frame(self.now, direction, &frame);
    }

    /// Passes an outgoing frame whose VLAN tag the kernel has stripped.
    pub(crate) fn out_tagged(&mut self, bytes: &[u8], vlan: Vlan) {
        self.pass(Direction::Out, bytes, Some(vlan), true);
    }

    /// Passes a frame without a timestamp of the kernel.
    pub(crate) fn untimed(&mut self, direction: Direction, bytes: &[u8]) {
        self.pass(direction, bytes, None, false);
    }

    pub(crate) fn out(&mut self, bytes: &[u8]) {
        self.pass(Direction::Out, bytes, None, true);
    }

    pub(crate) fn arrives(&mut self, bytes: &[u8]) {
        self.pass(Direction::In, bytes, None, true);
    }

    /// Advances the time; returns the copies sent, with their times in milliseconds since the start of the wait.
    pub(crate) fn wait(&mut self, time: Nanos) -> Vec<(u64, Vec<u8>)> {
        let (start, end) = (self.now, self.now + time);
        let mut sent = Vec::new();
        while let Some(due) = self.core.next_deadline().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            while let Some(due) = self.core.poll(self.now) {
                if let Event::Copy(copy) = due {
                    sent.push(((self.now - start).as_millis(), copy.bytes.to_vec()));
                }
            }
        }
        self.now = end;
        sent
    }

    pub(crate) fn wait_ms(&mut self, ms: u64) -> Vec<u64> {
        let sent = self.wait(Nanos::from_millis(ms));
        sent.into_iter().map(|(at, _)| at).collect()
    }
}

/// Aligned timestamp option (RFC 7323, section 3).
pub(crate) fn timestamps(value: u32, echo: u32) -> Vec<u8> {
    let mut option = vec![1, 1, 8, 10];
    option.extend(value.to_be_bytes());
    option.extend(echo.to_be_bytes());
    option
}

/// No copies.
pub(crate) const NONE: [u64; 0] = [];

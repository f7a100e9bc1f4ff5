//! Packets at a constant rate: datagrams through a UDP socket, SYN floods through a raw one.

use super::codepoint::set_codepoint;
use crate::experiment::{CbrFlow, CbrKind, PORT, forged_address, unassigned_address};
use crate::experiment::{client_address, server_address};
use gentle_experiment::PacketTimes;
use gentle_wire::{EmitError, Ipv4Header, Tcp, TcpFlags, protocol};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, sendto, socket};
use std::io;
use std::net::{SocketAddrV4, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};

/// Source ports of a flood, used in turn: [`PORTS`] ports from this one.
const FIRST_PORT: u64 = 1_024;
const PORTS: u64 = 60_000;

/// Sender of packets at a constant rate.
pub(super) struct CbrSender {
    flow: CbrFlow,
    kind: Kind,
    sent: u64,
    times: PacketTimes,
}

enum Kind {
    Datagrams { socket: UdpSocket, payload: Vec<u8> },
    Flood { socket: OwnedFd },
}

impl CbrSender {
    pub(super) fn new(flow: CbrFlow) -> io::Result<CbrSender> {
        let kind = match flow.kind {
            CbrKind::Udp => {
                let client = client_address(flow.host, 0);
                let server = server_address(flow.host, flow.tunnel);
                let (from, to) = match flow.from_client {
                    true => (client, server),
                    false => (server, client),
                };
                let socket = UdpSocket::bind((from, flow.port()))?;
                set_codepoint(&socket, flow.dscp)?;
                socket.set_nonblocking(true)?;
                socket.connect((to, PORT))?;
                Kind::Datagrams { socket, payload: vec![0; flow.payload() as usize] }
            }
            CbrKind::SynFlood => {
                let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
                Kind::Flood {
                    // IPPROTO_RAW: written data begin with the IP header (raw(7)).
                    socket: socket(AddressFamily::Inet, SockType::Raw, flags, SockProtocol::Raw)?,
                }
            }
        };
        Ok(CbrSender { flow, kind, sent: 0, times: flow.times() })
    }

    /// Send time of the next packet, if any.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.times.next_at().map(|at| at.0)
    }

    /// Sends all packets that are due.
    pub(super) fn send_due(&mut self, now_ns: u64) -> io::Result<()> {
        while self.next_ns().is_some_and(|at| at <= now_ns) {
            match self.send() {
                // A packet for which the host has no buffer space is lost.
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                _ => {
                    self.sent += 1;
                    self.times.advance();
                }
            }
        }
        Ok(())
    }

    fn send(&self) -> io::Result<usize> {
        match &self.kind {
            Kind::Datagrams { socket, payload } => socket.send(payload),
            Kind::Flood { socket } => {
                let packet = syn(&self.flow, self.sent).map_err(io::Error::other)?;
                let to = SocketAddrV4::new(unassigned_address(self.flow.from_client), 0);
                let to = SockaddrIn::from(to);
                Ok(sendto(socket.as_raw_fd(), &packet, &to, MsgFlags::empty())?)
            }
        }
    }
}

/// The `number`th packet of a flood, from its IP header on.
fn syn(flood: &CbrFlow, number: u64) -> Result<Vec<u8>, EmitError> {
    let from = forged_address((number / PORTS) as u16);
    let to = unassigned_address(flood.from_client);
    let mut tcp = Tcp {
        src_port: (FIRST_PORT + number % PORTS) as u16,
        dst_port: PORT,
        seq: number as u32,
        ack: 0,
        flags: TcpFlags::SYN,
        window: u16::MAX,
        payload_len: 0,
        options: &[],
        payload: &[],
    };
    let mut ip = Ipv4Header { id: number as u16, tos: flood.dscp << 2, ..Ipv4Header::new(from, to, protocol::TCP, 0) };
    let headers = (ip.header_len() + tcp.header_len()) as u32;
    let length = flood.ip_bytes.max(headers);
    ip.payload_len = length - ip.header_len() as u32;
    tcp.payload_len = length - headers;
    // The payload is zeros.
    let mut packet = vec![0; length as usize];
    let header_len = ip.emit(&mut packet)?;
    tcp.emit(&ip.pseudo_header(), &mut packet[header_len..])?;
    Ok(packet)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gentle_wire::{LinkType, TcpFlags, Transport, Tunnels, dissect};

    #[test]
    fn a_flood_is_syns_of_the_length_asked_for_each_from_elsewhere() {
        let mut flood = CbrFlow {
            kind: CbrKind::SynFlood,
            workload: 0,
            from_client: true,
            rate_bps: 1_000_000,
            ip_bytes: 40,
            start_ns: 0,
            jitter: 0.0,
            seed: 0,
            stop_ns: 1_000_000_000,
            dscp: 46,
            host: 0,
            tunnel: 0,
        };
        let mut seen = std::collections::HashSet::new();
        for (number, ip_bytes) in [(0, 40), (1, 60), (59_999, 40), (60_000, 1500)] {
            flood.ip_bytes = ip_bytes;
            let packet = syn(&flood, number).unwrap();
            assert_eq!(packet.len(), ip_bytes as usize);
            let packet = dissect(LinkType::RAW, &packet, ip_bytes, Tunnels::Outer).unwrap();
            let Transport::Tcp(tcp) = packet.transport else {
                panic!("{packet:?}");
            };
            assert_eq!((tcp.seq, packet.ip.tos), (number as u32, 46 << 2));
            assert!(tcp.flags.any(TcpFlags::SYN) && !tcp.flags.any(TcpFlags::ACK));
            assert!(seen.insert((packet.ip.src, tcp.src_port)));
        }
    }
}

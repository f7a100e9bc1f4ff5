//! Writer of captures.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Link type of raw IP.
const LINK_RAW: u32 = 101;

/// Builder of a pcap file with nanosecond timestamps and raw IP packets.
pub struct PcapFile(Vec<u8>);

impl Default for PcapFile {
    fn default() -> PcapFile {
        let mut file = Vec::new();
        file.extend(0xa1b2_3c4d_u32.to_be_bytes());
        file.extend([0, 2, 0, 4]);
        file.extend([0; 8]);
        file.extend(u32::from(u16::MAX).to_be_bytes());
        file.extend(LINK_RAW.to_be_bytes());
        PcapFile(file)
    }
}

impl PcapFile {
    /// Adds an IP packet whose payload is `captured` followed by `cut` bytes that were not captured.
    pub fn packet(&mut self, time_ns: u64, ip: &Ip, captured: &[u8], cut: u16) {
        let payload_len = captured.len() + usize::from(cut);
        let header = ip.header(payload_len as u16);
        let len = header.len() + captured.len();
        for number in [
            (time_ns / 1_000_000_000) as u32,
            (time_ns % 1_000_000_000) as u32,
            len as u32,
            (len + usize::from(cut)) as u32,
        ] {
            self.0.extend(number.to_be_bytes());
        }
        self.0.extend(header);
        self.0.extend(captured);
    }

    /// Adds a UDP datagram between port 443 of a server and a client. Two bits of `client` select the client, the third
    /// IPv6. `cut` bytes after the payload were not captured.
    pub fn datagram(&mut self, time_ns: u64, client: u8, from_server: bool, payload: &[u8], cut: u16) {
        let mut ends = [end(client & 3 | 4, client), end(8, client)];
        let mut ports = [50_000 + u16::from(client & 3), 443];
        if from_server {
            ends.reverse();
            ports.reverse();
        }
        let mut datagram = Vec::with_capacity(8 + payload.len());
        datagram.extend(ports.map(u16::to_be_bytes).concat());
        datagram.extend((8 + payload.len() as u16 + cut).to_be_bytes());
        datagram.extend([0, 0]);
        datagram.extend(payload);
        let ip = Ip { addresses: ends, id: 0, ttl: 64, protocol: 17 };
        self.packet(time_ns, &ip, &datagram, cut);
    }

    /// Returns the file.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Variable fields of an IP header.
pub struct Ip {
    /// Source and destination, both of the same IP version.
    pub addresses: [IpAddr; 2],
    /// Identification; not used for IPv6.
    pub id: u16,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// Protocol of the payload.
    pub protocol: u8,
}

impl Ip {
    fn header(&self, payload_len: u16) -> Vec<u8> {
        let mut header = Vec::with_capacity(40);
        let v4 = self.addresses[0].is_ipv4();
        if v4 {
            header.extend([0x45, 0]);
            header.extend((20 + payload_len).to_be_bytes());
            header.extend(self.id.to_be_bytes());
            header.extend([0x40, 0, self.ttl, self.protocol, 0, 0]);
        } else {
            header.extend([0x60, 0, 0, 0]);
            header.extend(payload_len.to_be_bytes());
            header.extend([self.protocol, self.ttl]);
        }
        for address in self.addresses {
            match address {
                IpAddr::V4(address) => header.extend(address.octets()),
                IpAddr::V6(address) => header.extend(address.octets()),
            }
        }
        header
    }
}

/// Address of a host; the third bit of `family` selects IPv6.
pub fn end(host: u8, family: u8) -> IpAddr {
    match family >> 2 & 1 {
        0 => Ipv4Addr::new(192, 0, 2, host).into(),
        _ => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, host.into()).into(),
    }
}

/// Time in nanoseconds, from a microsecond to half a minute in sixteen steps.
pub fn time_step(step: u8) -> u64 {
    1_000 << (u32::from(step & 15) * 5 / 3)
}

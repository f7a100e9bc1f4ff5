//! Hand-written segments, and captures of them.

use std::net::IpAddr;

pub(crate) const FIN: u8 = 1;
pub(crate) const SYN: u8 = 2;
pub(crate) const RST: u8 = 4;
pub(crate) const PSH: u8 = 8;
pub(crate) const ACK: u8 = 16;

/// Begin of the captures, seconds since 1970.
const BEGIN: u64 = 1_600_000_000;

/// Segment; [`Segment::client`] and [`Segment::server`] create one between two fixed hosts, and methods change it.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    /// Time since the beginning of the capture, microseconds.
    pub(crate) at_us: u64,
    pub(crate) src: (IpAddr, u16),
    pub(crate) dst: (IpAddr, u16),
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) flags: u8,
    pub(crate) window: u16,
    pub(crate) payload: u16,
    /// IP identification.
    pub(crate) id: u16,
    pub(crate) ttl: u8,
    pub(crate) timestamps: Option<(u32, u32)>,
    pub(crate) sack: Vec<(u32, u32)>,
    pub(crate) interface: u32,
    /// Type and code of an ICMP message that quotes the segment and goes to its source instead of it.
    pub(crate) icmp: Option<(u8, u8)>,
}

pub(crate) const CLIENT: (&str, u16) = ("192.0.2.1", 40_000);
pub(crate) const SERVER: (&str, u16) = ("198.51.100.2", 443);

/// Address and port of an end of a connection.
pub(crate) fn end((address, port): (&str, u16)) -> (IpAddr, u16) {
    (address.parse().expect("an address"), port)
}

impl Segment {
    /// Creates a segment from `src` to `dst`, `at_s` seconds after the beginning.
    pub(crate) fn between(at_s: f64, src: (&str, u16), dst: (&str, u16), flags: u8) -> Segment {
        Segment {
            at_us: (at_s * 1e6).round() as u64,
            src: end(src),
            dst: end(dst),
            seq: 0,
            ack: 0,
            flags,
            window: 1000,
            payload: 0,
            id: 0,
            ttl: 60,
            timestamps: None,
            sack: Vec::new(),
            interface: 0,
            icmp: None,
        }
    }

    pub(crate) fn client(at_s: f64, flags: u8) -> Segment {
        Segment::between(at_s, CLIENT, SERVER, flags)
    }

    pub(crate) fn server(at_s: f64, flags: u8) -> Segment {
        Segment::between(at_s, SERVER, CLIENT, flags)
    }

    pub(crate) fn seq(self, seq: u32) -> Segment {
        Segment { seq, ..self }
    }

    pub(crate) fn ack(self, ack: u32) -> Segment {
        Segment { ack, ..self }
    }

    pub(crate) fn payload(self, payload: u16) -> Segment {
        Segment { payload, ..self }
    }

    pub(crate) fn window(self, window: u16) -> Segment {
        Segment { window, ..self }
    }

    pub(crate) fn id(self, id: u16) -> Segment {
        Segment { id, ..self }
    }

    pub(crate) fn ttl(self, ttl: u8) -> Segment {
        Segment { ttl, ..self }
    }

    pub(crate) fn stamps(self, value: u32, echo: u32) -> Segment {
        Segment {
            timestamps: Some((value, echo)),
            ..self
        }
    }

    pub(crate) fn sack(self, blocks: &[(u32, u32)]) -> Segment {
        Segment {
            sack: blocks.to_vec(),
            ..self
        }
    }

    /// ICMP message of this type and code that quotes the segment.
    pub(crate) fn icmp(self, kind: u8, code: u8) -> Segment {
        Segment {
            icmp: Some((kind, code)),
            ..self
        }
    }

    pub(crate) fn interface(self, interface: u32) -> Segment {
        Segment { interface, ..self }
    }

    pub(crate) fn port(mut self, port: u16) -> Segment {
        if self.src.1 == CLIENT.1 {
            self.src.1 = port;
        } else {
            self.dst.1 = port;
        }
        self
    }

    /// The packet a second time, `us` microseconds later.
    pub(crate) fn again(&self, us: u64) -> Segment {
        Segment {
            at_us: self.at_us + us,
            ..self.clone()
        }
    }

    /// Encodes a raw IP packet.
    pub(crate) fn packet(&self) -> Vec<u8> {
        let segment = self.segment();
        let Some((kind, code)) = self.icmp else {
            return segment;
        };
        let mut message = vec![kind, code, 0, 0, 0, 0, 0, 0];
        let header = if self.src.0.is_ipv4() { 20 } else { 40 };
        message.extend(&segment[..header + 8]);
        let length = message.len() as u16;
        let mut packet = Vec::new();
        match self.src.0 {
            IpAddr::V4(src) => {
                packet.extend([0x45, 0]);
                packet.extend((20 + length).to_be_bytes());
                packet.extend([0, 0, 0x40, 0, 64, 1, 0, 0, 203, 0, 113, 254]);
                packet.extend(src.octets());
            }
            IpAddr::V6(src) => {
                packet.extend([0x60, 0, 0, 0]);
                packet.extend(length.to_be_bytes());
                packet.extend([58, 64]);
                packet.extend([0xfd; 16]);
                packet.extend(src.octets());
            }
        }
        packet.extend(message);
        packet
    }

    fn segment(&self) -> Vec<u8> {
        let mut options = Vec::new();
        if let Some((value, echo)) = self.timestamps {
            options.extend([1, 1, 8, 10]);
            options.extend(value.to_be_bytes());
            options.extend(echo.to_be_bytes());
        }
        if !self.sack.is_empty() {
            options.extend([1, 1, 5, 2 + 8 * self.sack.len() as u8]);
            for (from, to) in &self.sack {
                options.extend(from.to_be_bytes());
                options.extend(to.to_be_bytes());
            }
        }
        let mut tcp = Vec::new();
        tcp.extend(self.src.1.to_be_bytes());
        tcp.extend(self.dst.1.to_be_bytes());
        tcp.extend(self.seq.to_be_bytes());
        tcp.extend(self.ack.to_be_bytes());
        tcp.extend([((20 + options.len()) as u8 / 4) << 4, self.flags]);
        tcp.extend(self.window.to_be_bytes());
        tcp.extend([0; 4]);
        tcp.extend(options);
        tcp.resize(tcp.len() + usize::from(self.payload), 0x55);
        let mut packet = Vec::new();
        match (self.src.0, self.dst.0) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                packet.extend([0x45, 0]);
                packet.extend((20 + tcp.len() as u16).to_be_bytes());
                packet.extend(self.id.to_be_bytes());
                packet.extend([0x40, 0, self.ttl, 6, 0, 0]);
                packet.extend(src.octets());
                packet.extend(dst.octets());
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                packet.extend([0x60, 0, 0, 0]);
                packet.extend((tcp.len() as u16).to_be_bytes());
                packet.extend([6, self.ttl]);
                packet.extend(src.octets());
                packet.extend(dst.octets());
            }
            _ => unreachable!("both ends have the same version"),
        }
        packet.extend(tcp);
        packet
    }
}

/// A pcap file of raw IP with timestamps in microseconds.
pub(crate) fn pcap(segments: &[Segment]) -> Vec<u8> {
    let mut file = pcap_header();
    for segment in segments {
        pcap_record(segment, &mut file);
    }
    file
}

/// File header of pcap.
pub(crate) fn pcap_header() -> Vec<u8> {
    const RAW: u32 = 101;
    [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, RAW]
        .into_iter()
        .flat_map(u32::to_le_bytes)
        .collect()
}

/// Appends the record of one packet.
pub(crate) fn pcap_record(segment: &Segment, file: &mut Vec<u8>) {
    let packet = segment.packet();
    let length = packet.len() as u32;
    let seconds = BEGIN + segment.at_us / 1_000_000;
    for word in [
        seconds as u32,
        (segment.at_us % 1_000_000) as u32,
        length,
        length,
    ] {
        file.extend(word.to_le_bytes());
    }
    file.extend(packet);
}

/// A pcapng file of raw IP with `interfaces` interfaces, named `eth0` and so on.
pub(crate) fn pcapng(segments: &[Segment], interfaces: u32) -> Vec<u8> {
    fn block(kind: u32, body: &[u8], file: &mut Vec<u8>) {
        let padded = body.len().next_multiple_of(4);
        let length = (12 + padded as u32).to_le_bytes();
        file.extend(kind.to_le_bytes());
        file.extend(length);
        file.extend(body);
        file.resize(file.len() + padded - body.len(), 0);
        file.extend(length);
    }
    let mut file = Vec::new();
    let mut section = 0x1a2b_3c4d_u32.to_le_bytes().to_vec();
    section.extend([1, 0, 0, 0]);
    section.extend([0xff; 8]);
    block(0x0a0d_0d0a, &section, &mut file);
    for interface in 0..interfaces {
        let mut body = vec![101, 0, 0, 0, 0, 0, 0, 0, 2, 0, 4, 0];
        body.extend(format!("eth{interface}").as_bytes());
        body.extend([0; 4]);
        block(1, &body, &mut file);
    }
    for segment in segments {
        let ticks = BEGIN * 1_000_000 + segment.at_us;
        let packet = segment.packet();
        let length = packet.len() as u32;
        let mut body: Vec<u8> = [
            segment.interface,
            (ticks >> 32) as u32,
            ticks as u32,
            length,
            length,
        ]
        .into_iter()
        .flat_map(u32::to_le_bytes)
        .collect();
        body.extend(packet);
        block(6, &body, &mut file);
    }
    file
}

//! Segments with chosen fields, and captures of them.

use gentle_capture::{InterfaceDescription, PcapNgWriter, PcapWriter, RawPacket, Resolution};
use gentle_units::{Instant, Nanos};
use gentle_wire::{
    EmitError, Ipv4Header, Ipv6Header, LinkType, PseudoHeader, Tcp, TcpFlags, TcpOption, TcpOptions, Unreachable,
    protocol,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub(crate) const FIN: u8 = 1;
pub(crate) const SYN: u8 = 2;
pub(crate) const RST: u8 = 4;
pub(crate) const PSH: u8 = 8;
pub(crate) const ACK: u8 = 16;

/// Beginning of the captures, since 1970.
const BEGIN: Instant = Instant::from_secs(1_600_000_000);

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
    /// Further options, encoded.
    pub(crate) options: Vec<u8>,
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
            options: Vec::new(),
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
        Segment { timestamps: Some((value, echo)), ..self }
    }

    pub(crate) fn sack(self, blocks: &[(u32, u32)]) -> Segment {
        Segment { sack: blocks.to_vec(), ..self }
    }

    /// Adds an encoded option.
    pub(crate) fn option(mut self, option: &[u8]) -> Segment {
        self.options.extend(option);
        self
    }

    /// ICMP message of this type and code that quotes the segment.
    pub(crate) fn icmp(self, kind: u8, code: u8) -> Segment {
        Segment { icmp: Some((kind, code)), ..self }
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
        Segment { at_us: self.at_us + us, ..self.clone() }
    }

    /// Time of the segment since 1970.
    pub(crate) fn time(&self) -> Instant {
        BEGIN + Nanos::from_micros(self.at_us)
    }

    /// Encodes a raw IP packet.
    pub(crate) fn packet(&self) -> Vec<u8> {
        let packet = self.segment();
        let Some((kind, code)) = self.icmp else {
            return packet;
        };
        let header = if self.src.0.is_ipv4() { 20 } else { 40 };
        let message = Unreachable { code, quoted: &packet[..header + 8] };
        let (router, protocol) = match self.src.0 {
            IpAddr::V4(_) => (Ipv4Addr::new(203, 0, 113, 254).into(), protocol::ICMP),
            IpAddr::V6(_) => (Ipv6Addr::from([0xfd; 16]).into(), protocol::ICMPV6),
        };
        let ip = (protocol, 64, 0);
        ip_packet(router, self.src.0, ip, message.message_len(), |sum, out| {
            let len = match router {
                IpAddr::V4(_) => message.emit_v4(out)?,
                IpAddr::V6(_) => message.emit_v6(sum, out)?,
            };
            out[0] = kind;
            Ok(len)
        })
    }

    fn segment(&self) -> Vec<u8> {
        let padding = [TcpOption::NoOperation; 2];
        let timestamps = self.timestamps.map(|(value, echo)| TcpOption::Timestamps(value, echo));
        let sack = (!self.sack.is_empty()).then_some(TcpOption::Sack(&self.sack));
        let options: Vec<TcpOption<'_>> =
            [timestamps, sack].into_iter().flatten().flat_map(|option| [padding[0], padding[1], option]).collect();
        let options = TcpOptions::new(&options).expect("two options fit");
        let options = [options.as_bytes(), &self.options].concat();
        let payload = vec![0x55; self.payload.into()];
        let tcp = Tcp {
            src_port: self.src.1,
            dst_port: self.dst.1,
            seq: self.seq,
            ack: self.ack,
            flags: TcpFlags(self.flags.into()),
            window: self.window,
            payload_len: self.payload.into(),
            options: &options,
            payload: &payload,
        };
        let ip = (protocol::TCP, self.ttl, self.id);
        let len = tcp.header_len() + payload.len();
        ip_packet(self.src.0, self.dst.0, ip, len, |sum, out| tcp.emit(sum, out))
    }
}

/// An IP packet between addresses of the same version with a protocol, a time to live, an identification (IPv4), and a
/// payload of `len` bytes that `emit` writes.
pub(crate) fn ip_packet(
    src: IpAddr,
    dst: IpAddr,
    (protocol, ttl, id): (u8, u8, u16),
    len: usize,
    emit: impl FnOnce(&PseudoHeader, &mut [u8]) -> Result<usize, EmitError>,
) -> Vec<u8> {
    let mut packet = vec![0; 40 + len];
    let (header, pseudo_header) = match (src, dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let ip = Ipv4Header { ttl, id, ..Ipv4Header::new(src, dst, protocol, len as u32) };
            (ip.emit(&mut packet), ip.pseudo_header())
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let ip = Ipv6Header { hop_limit: ttl, ..Ipv6Header::new(src, dst, protocol, len as u32) };
            (ip.emit(&mut packet), ip.pseudo_header())
        }
        _ => unreachable!("both ends have the same version"),
    };
    let header = header.expect("a packet of at most 64 KiB");
    let payload = emit(&pseudo_header, &mut packet[header..]).expect("a valid payload");
    packet.truncate(header + payload);
    packet
}

/// A pcap file of raw IP with timestamps in microseconds.
pub(crate) fn pcap(segments: &[Segment]) -> Vec<u8> {
    let packets = segments.iter().map(|segment| (segment, segment.packet()));
    pcap_of(LinkType::RAW, packets)
}

/// A pcap file of packets that have the times of segments, in microseconds.
pub(crate) fn pcap_of<'a>(link: LinkType, packets: impl IntoIterator<Item = (&'a Segment, Vec<u8>)>) -> Vec<u8> {
    let mut writer =
        PcapWriter::new(Vec::new(), link, Some(65_535), Resolution::Micros).expect("a list can be written");
    for (segment, data) in packets {
        let packet = raw(segment, link, &data);
        writer.packet(&packet).expect("a time before 2106");
    }
    writer.into_inner()
}

/// A pcapng file of raw IP with `interfaces` interfaces, named `eth0` and so on.
pub(crate) fn pcapng(segments: &[Segment], interfaces: u32) -> Vec<u8> {
    let mut writer = PcapNgWriter::new(Vec::new()).expect("a list can be written");
    for interface in 0..interfaces {
        let description =
            InterfaceDescription { name: Some(&format!("eth{interface}")), ..InterfaceDescription::new(LinkType::RAW) };
        writer.interface(&description).expect("a short name");
    }
    for segment in segments {
        let data = segment.packet();
        let packet = raw(segment, LinkType::RAW, &data);
        writer.packet(&packet).expect("an interface that exists");
    }
    writer.into_inner()
}

fn raw<'a>(segment: &Segment, link: LinkType, data: &'a [u8]) -> RawPacket<'a> {
    RawPacket { time: segment.time(), interface: segment.interface, link, original_len: data.len() as u32, data }
}

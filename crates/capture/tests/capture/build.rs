//! Captures assembled byte by byte, so that the tests know every offset.

use gentle_capture::{CaptureError, CaptureReader, Merge, RawPacket, Sink, Warning};
use gentle_units::Instant;
use std::io::{self, Cursor, Read, Write};
use std::ops::ControlFlow;

/// Packet as returned by the reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) time: Instant,
    pub(crate) interface: u32,
    pub(crate) link: u16,
    pub(crate) original_len: u32,
    pub(crate) data: Vec<u8>,
}

impl From<&RawPacket<'_>> for Packet {
    fn from(packet: &RawPacket<'_>) -> Packet {
        Packet {
            time: packet.time,
            interface: packet.interface,
            link: packet.link.0,
            original_len: packet.original_len,
            data: packet.data.to_vec(),
        }
    }
}

/// Packets on interface 0, Ethernet, of different sizes, some longer on the wire than captured.
pub(crate) fn packets(unit: u64) -> Vec<Packet> {
    (0..7u32)
        .map(|i| Packet {
            time: Instant(1_700_000_000_000_000_000 + u64::from(i) * 1_234_567_891 / unit * unit),
            interface: 0,
            link: 1,
            original_len: 14 * i + u32::from(i % 2 == 0),
            data: (0..14 * i).map(|byte| byte as u8 ^ 0x5a).collect(),
        })
        .collect()
}

/// Byte order of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order {
    pub(crate) big_endian: bool,
}

pub(crate) const ORDERS: [Order; 2] = [Order { big_endian: false }, Order { big_endian: true }];

impl Order {
    pub(crate) fn u16(self, value: u16) -> [u8; 2] {
        if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    pub(crate) fn u32(self, value: u32) -> [u8; 4] {
        if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    }
}

/// File header: the 24 bytes before the records.
pub(crate) fn pcap_header(order: Order, nanos: bool, version: (u16, u16), network: u32) -> Vec<u8> {
    let magic = if nanos { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
    let mut file = order.u32(magic).to_vec();
    file.extend(order.u16(version.0));
    file.extend(order.u16(version.1));
    file.extend([0; 8]);
    file.extend(order.u32(65_535));
    file.extend(order.u32(network));
    file
}

pub(crate) fn pcap_record(order: Order, words: [u32; 4], data: &[u8]) -> Vec<u8> {
    let mut record: Vec<u8> = words.into_iter().flat_map(|word| order.u32(word)).collect();
    record.extend(data);
    record
}

pub(crate) fn pcap(order: Order, nanos: bool, packets: &[Packet]) -> Vec<u8> {
    let unit = if nanos { 1 } else { 1_000 };
    let mut file = pcap_header(order, nanos, (2, 4), 1);
    for packet in packets {
        let words = [
            (packet.time.0 / 1_000_000_000) as u32,
            (packet.time.0 % 1_000_000_000 / unit) as u32,
            packet.data.len() as u32,
            packet.original_len,
        ];
        file.extend(pcap_record(order, words, &packet.data));
    }
    file
}

/// Builder of a pcapng file.
pub(crate) struct PcapNg {
    pub(crate) order: Order,
    pub(crate) file: Vec<u8>,
}

impl PcapNg {
    pub(crate) fn new(order: Order) -> PcapNg {
        let mut new = PcapNg { order, file: Vec::new() };
        new.section(order);
        new
    }

    pub(crate) fn block(&mut self, kind: u32, body: &[u8]) -> &mut PcapNg {
        let padding = body.len().next_multiple_of(4) - body.len();
        let length = self.order.u32((12 + body.len() + padding) as u32);
        self.file.extend(self.order.u32(kind));
        self.file.extend(length);
        self.file.extend(body);
        self.file.extend(&[0; 3][..padding]);
        self.file.extend(length);
        self
    }

    pub(crate) fn section(&mut self, order: Order) -> &mut PcapNg {
        self.order = order;
        let mut body = order.u32(0x1a2b_3c4d).to_vec();
        body.extend(order.u16(1));
        body.extend(order.u16(0));
        body.extend([0xff; 8]);
        self.block(0x0a0d_0d0a, &body)
    }

    pub(crate) fn interface(&mut self, link: u16, snap: u32, options: &[(u16, &[u8])]) -> &mut PcapNg {
        let mut body = self.order.u16(link).to_vec();
        body.extend([0; 2]);
        body.extend(self.order.u32(snap));
        for (code, value) in options {
            body.extend(self.order.u16(*code));
            body.extend(self.order.u16(value.len() as u16));
            body.extend(*value);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        self.block(1, &body)
    }

    pub(crate) fn enhanced(&mut self, interface: u32, ticks: u64, original_len: u32, data: &[u8]) -> &mut PcapNg {
        let words = [interface, (ticks >> 32) as u32, ticks as u32, data.len() as u32, original_len];
        let mut body: Vec<u8> = words.into_iter().flat_map(|word| self.order.u32(word)).collect();
        body.extend(data);
        self.block(6, &body)
    }

    pub(crate) fn obsolete(&mut self, interface: u16, ticks: u64, original_len: u32, data: &[u8]) -> &mut PcapNg {
        let mut body = self.order.u16(interface).to_vec();
        body.extend(self.order.u16(99));
        for word in [(ticks >> 32) as u32, ticks as u32, data.len() as u32, original_len] {
            body.extend(self.order.u32(word));
        }
        body.extend(data);
        self.block(2, &body)
    }

    pub(crate) fn simple(&mut self, original_len: u32, data: &[u8]) -> &mut PcapNg {
        let mut body = self.order.u32(original_len).to_vec();
        body.extend(data);
        self.block(3, &body)
    }
}

/// A pcapng file with these packets, with timestamps in nanoseconds.
pub(crate) fn pcapng(order: Order, packets: &[Packet]) -> Vec<u8> {
    let mut file = PcapNg::new(order);
    file.interface(1, 0, &[(9, &[9])]);
    for packet in packets {
        file.enhanced(0, packet.time.0, packet.original_len, &packet.data);
    }
    file.file
}

/// Compression function; [`COMPRESSIONS`] lists all by name.
pub(crate) type Compress = fn(&[u8]) -> Vec<u8>;
pub(crate) const COMPRESSIONS: [(&str, Compress); 5] =
    [("no", <[u8]>::to_vec), ("gzip", gzip), ("zstd", zstd), ("xz", xz), ("lz4", lz4)];

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

pub(crate) fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Reader of at most `piece` bytes at a time, with interruptions in between.
pub(crate) struct Trickle {
    from: Cursor<Vec<u8>>,
    piece: usize,
    is_interrupted: bool,
}

impl Trickle {
    pub(crate) fn new(bytes: Vec<u8>, piece: usize) -> Trickle {
        Trickle { from: Cursor::new(bytes), piece, is_interrupted: false }
    }
}

impl Read for Trickle {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        self.is_interrupted = !self.is_interrupted;
        if self.is_interrupted {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let piece = space.len().min(self.piece);
        self.from.read(&mut space[..piece])
    }
}

pub(crate) fn open(bytes: &[u8]) -> Result<CaptureReader, CaptureError> {
    CaptureReader::from_reader("test".into(), Box::new(Cursor::new(bytes.to_vec())))
}

/// All packets of a capture, and its warnings.
pub(crate) fn drain(mut reader: CaptureReader) -> Result<(Vec<Packet>, Vec<Warning>), CaptureError> {
    let mut packets = Vec::new();
    while let Some(packet) = reader.next()? {
        packets.push(Packet::from(&packet));
    }
    assert!(reader.next()?.is_none(), "the end is the end");
    Ok((packets, reader.warnings().to_vec()))
}

/// Sink that takes packets, and sometimes breaks off.
#[derive(Default)]
struct Taken(Vec<Packet>);

impl Sink for Taken {
    fn packet(&mut self, _: usize, packet: &RawPacket<'_>) -> ControlFlow<()> {
        self.0.push(Packet::from(packet));
        match self.0.len() % 3 {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Packets and warnings of a capture; checks that reading by packet and by stream gives the same.
pub(crate) fn read(bytes: &[u8]) -> (Vec<Packet>, Vec<Warning>) {
    let (packets, warnings) = drain(open(bytes).unwrap()).unwrap();
    let mut merge = Merge::new(vec![open(bytes).unwrap()]);
    let mut taken = Taken::default();
    while merge.read(&mut taken).unwrap() {}
    assert_eq!(taken.0, packets);
    assert_eq!(merge.readers()[0].warnings(), warnings);
    (packets, warnings)
}

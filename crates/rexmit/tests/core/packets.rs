//! Hand-made packets.

use gentle_rexmit::{Config, Direction, Due, Frame, Retransmitter, Selection, Timing, Vlan};
use gentle_units::Nanos;
use gentle_wire::LinkType;

pub(crate) const FIN: u8 = 1;
pub(crate) const SYN: u8 = 2;
pub(crate) const RST: u8 = 4;
pub(crate) const ACK: u8 = 16;

/// Ethernet addresses of the two hosts.
const LINK: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];

/// TCP segment in Ethernet, with a valid checksum.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    pub(crate) v6: bool,
    /// Last bytes of the sender's and receiver's addresses.
    pub(crate) hosts: (u8, u8),
    pub(crate) ports: (u16, u16),
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) flags: u8,
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
    pub(crate) fn answer(&self, flags: u8) -> Segment {
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

    /// TCP header with options and data.
    fn segment(&self) -> Vec<u8> {
        let mut tcp = Vec::new();
        tcp.extend(self.ports.0.to_be_bytes());
        tcp.extend(self.ports.1.to_be_bytes());
        tcp.extend(self.seq.to_be_bytes());
        tcp.extend(self.ack.to_be_bytes());
        tcp.extend([
            (5 + self.options.len() as u8 / 4) << 4,
            self.flags,
            0xff,
            0xff,
        ]);
        tcp.extend([0; 4]);
        tcp.extend(&self.options);
        tcp.extend(&self.data);
        tcp
    }

    fn addresses(&self) -> (Vec<u8>, Vec<u8>) {
        let of = |host: u8| match self.v6 {
            false => vec![192, 0, 2, host],
            true => vec![0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host],
        };
        (of(self.hosts.0), of(self.hosts.1))
    }

    pub(crate) fn ip(&self) -> Vec<u8> {
        let mut tcp = self.segment();
        let sum = self.sum(&tcp);
        tcp[16..18].copy_from_slice(&(!sum).to_be_bytes());
        self.around(&tcp)
    }

    /// IP packet as the stack leaves it to a device with checksum offload: the checksum field has the pseudo-header sum
    /// only.
    pub(crate) fn ip_partial(&self) -> Vec<u8> {
        let mut tcp = self.segment();
        let sum = self.sum_of_pseudo_header(tcp.len());
        tcp[16..18].copy_from_slice(&sum.to_be_bytes());
        self.around(&tcp)
    }

    fn around(&self, tcp: &[u8]) -> Vec<u8> {
        let (src, dst) = self.addresses();
        let mut ip = Vec::new();
        if self.v6 {
            ip.extend([0x60, 0, 0, 0, 0, tcp.len() as u8, 6, 64]);
        } else {
            ip.extend([0x45, 0, 0, 20 + tcp.len() as u8, 0, 1, 0x40, 0, 64, 6, 0, 0]);
        }
        ip.extend(src);
        ip.extend(dst);
        ip.extend(tcp);
        ip
    }

    pub(crate) fn frame(&self) -> Vec<u8> {
        ethernet(self.v6, &self.ip())
    }

    fn sum_of_pseudo_header(&self, length: usize) -> u16 {
        let (src, dst) = self.addresses();
        ones_complement([src, dst, vec![0, 6, 0, length as u8]].concat())
    }

    /// Sum over pseudo-header and segment.
    fn sum(&self, tcp: &[u8]) -> u16 {
        let mut bytes = self.sum_of_pseudo_header(tcp.len()).to_be_bytes().to_vec();
        bytes.extend(tcp);
        ones_complement(bytes)
    }

    /// Whether the checksum in an IP packet between these hosts is valid.
    pub(crate) fn is_right(&self, ip: &[u8]) -> bool {
        self.sum(&ip[if self.v6 { 40 } else { 20 }..]) == 0xffff
    }
}

/// Internet checksum, RFC 1071, by its definition.
fn ones_complement(mut bytes: Vec<u8>) -> u16 {
    if bytes.len() % 2 == 1 {
        bytes.push(0);
    }
    bytes.chunks(2).fold(0, |sum: u16, word| {
        let (sum, carry) = sum.overflowing_add(u16::from(word[0]) << 8 | u16::from(word[1]));
        sum + u16::from(carry)
    })
}

pub(crate) fn ethernet(v6: bool, ip: &[u8]) -> Vec<u8> {
    let ethertype = if v6 { [0x86, 0xdd] } else { [0x08, 0x00] };
    [&LINK[..], &ethertype, ip].concat()
}

/// ICMP or ICMPv6 error from host 9 to the sender of `segment` that quotes `quoted` bytes of it.
pub(crate) fn icmp_error(segment: &Segment, kind: u8, quoted: usize) -> Vec<u8> {
    let (src, _) = segment.addresses();
    let mut message = vec![kind, 1, 0, 0, 0, 0, 0, 0];
    message.extend(segment.ip().iter().take(quoted));
    let mut ip = Vec::new();
    if segment.v6 {
        ip.extend([0x60, 0, 0, 0, 0, message.len() as u8, 58, 64]);
    } else {
        ip.extend([
            0x45,
            0,
            0,
            20 + message.len() as u8,
            0,
            1,
            0,
            0,
            64,
            1,
            0,
            0,
        ]);
    }
    ip.extend(
        Segment {
            hosts: (9, 9),
            ..segment.clone()
        }
        .addresses()
        .0,
    );
    ip.extend(src);
    ip.extend(message);
    ethernet(segment.v6, &ip)
}

/// Configuration with the paper's fixed delay, for both sides.
pub(crate) fn config() -> Config {
    Config {
        timing: Timing::fixed(Nanos::from_millis(200)),
        ..Config::new(Selection {
            client: true,
            server: true,
            ..Selection::default()
        })
    }
}

/// Core with a clock.
pub(crate) struct Wire {
    pub(crate) core: Retransmitter,
    pub(crate) now: Nanos,
}

impl Wire {
    pub(crate) fn new(config: Config) -> Wire {
        Wire {
            core: Retransmitter::new(config, 1),
            now: Nanos::from_secs(1_000),
        }
    }

    /// Passes a frame whose VLAN tag the kernel has stripped.
    pub(crate) fn tagged(&mut self, direction: Direction, bytes: &[u8], vlan: Option<Vlan>) {
        let frame = Frame {
            bytes,
            original_len: bytes.len() as u32,
            link: LinkType::ETHERNET,
            vlan,
            partial_checksum: false,
            exact_time: true,
        };
        self.core.frame(self.now, direction, &frame);
    }

    /// Like [`Wire::tagged`], but without a timestamp of the kernel.
    pub(crate) fn untimed(&mut self, direction: Direction, bytes: &[u8]) {
        let frame = Frame {
            bytes,
            original_len: bytes.len() as u32,
            link: LinkType::ETHERNET,
            vlan: None,
            partial_checksum: false,
            exact_time: false,
        };
        self.core.frame(self.now, direction, &frame);
    }

    pub(crate) fn out(&mut self, bytes: &[u8]) {
        self.tagged(Direction::Out, bytes, None);
    }

    pub(crate) fn arrives(&mut self, bytes: &[u8]) {
        self.tagged(Direction::In, bytes, None);
    }

    /// Advances the time; returns the copies sent, with their times in milliseconds since the start of the wait.
    pub(crate) fn wait(&mut self, time: Nanos) -> Vec<(u64, Vec<u8>)> {
        let (start, end) = (self.now, self.now + time);
        let mut sent = Vec::new();
        while let Some(due) = self.core.next_deadline().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            while let Some(due) = self.core.poll(self.now) {
                if let Due::Copy(copy) = due {
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

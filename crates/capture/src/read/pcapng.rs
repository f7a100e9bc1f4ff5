//! pcapng: blocks of a type, a length, a body and the length again (draft-ietf-opsawg-pcapng).
//!
//! Five types of blocks are read: sections, interfaces, packets of two kinds, and the counters of the capturing
//! program. Others are skipped without being kept, whatever their size. A packet block with damaged content and a valid
//! length is ignored; an invalid length ends the file, because the next block cannot be found.

use crate::read::clock::Clock;
use crate::read::error::{Damage, Fault};
use crate::read::input::{Input, Record};
use crate::read::{Interface, Statistics, WarningKind};
use gentle_units::Instant;
use gentle_wire::LinkType;
use std::io;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
/// Obsolete packet block of old files: as the enhanced packet block, with 16 bits of interface and 16 bits of drop
/// count.
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

/// Length of a block without body, bytes: type, length, and the length at the end.
const EMPTY_BLOCK: usize = 12;
/// Offset of the data in an enhanced packet block, bytes.
const PACKET_HEADER: usize = 28;
/// Offset of the data in a simple packet block, bytes.
const SIMPLE_HEADER: usize = 12;
/// Offset of the options in an interface description block, bytes.
const INTERFACE_HEADER: usize = 16;
/// Length of the length field at the end of a block, bytes.
const TRAILER: usize = 4;

/// Largest block that is kept in memory, bytes, which bounds packets: the limit of libpcap.
const MAX_BLOCK: usize = 16 * 1024 * 1024;

/// Largest number of interfaces in a capture. Real captures have a few in each section; without a limit, a forged file
/// could fill the memory.
const MAX_INTERFACES: usize = 65_536;

/// Number of bytes of an interface's name or description that are kept.
const MAX_TEXT: usize = 255;

/// Framing of a pcapng file.
#[derive(Debug)]
pub(crate) struct PcapNg {
    big_endian: bool,
    /// Interfaces of all sections.
    interfaces: Vec<Interface>,
    /// Interfaces of the current section.
    section: Vec<SectionInterface>,
    /// Index of the section's first interface.
    first: u32,
    /// Time of the packet before.
    last: Instant,
    /// Whether the warning about simple packets without time was given.
    warned_no_time: bool,
}

/// Properties of an interface that are needed to read its packets.
#[derive(Debug)]
struct SectionInterface {
    clock: Clock,
    link: LinkType,
    /// Largest captured length, bytes; `u32::MAX` without a limit.
    snap_length: u32,
}

/// Result of looking for a packet: whether one was found.
type PacketFound = Result<bool, Box<Fault>>;

impl PcapNg {
    /// Checks the first section header without consuming it. The inner error describes a file that is not supported.
    pub(crate) fn new(input: &mut Input) -> Result<Result<PcapNg, String>, io::Error> {
        input.want(16)?;
        let head = input.window();
        let big_endian = head.get(8) == Some(&0x1a);
        let pcapng = PcapNg {
            big_endian,
            interfaces: Vec::new(),
            section: Vec::new(),
            first: 0,
            last: Instant::ZERO,
            warned_no_time: false,
        };
        if let Some(&[a, b, c, d]) = head.get(12..16) {
            let version = (pcapng.u16([a, b]), pcapng.u16([c, d]));
            if !is_supported(version) {
                let (major, minor) = version;
                return Ok(Err(format!("it is pcapng of version {major}.{minor}, which this program does not know")));
            }
        }
        Ok(Ok(pcapng))
    }

    pub(crate) fn big_endian(&self) -> bool {
        self.big_endian
    }

    pub(crate) fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// Finds the next packet and describes it in `record`; returns `false` at the end of the file.
    pub(crate) fn next(&mut self, input: &mut Input, record: &mut Record) -> PacketFound {
        loop {
            if !input.want(EMPTY_BLOCK)? {
                return self.end(input);
            }
            let (kind, total) = self.block(input);
            if matches!(kind, ENHANCED_PACKET | PACKET) {
                return self.packet(input, kind, total, record);
            }
            if self.other(input, kind, total, record)? {
                return Ok(true);
            }
        }
    }

    /// Type and size of the block at the start of the window.
    #[inline]
    fn block(&self, input: &Input) -> (u32, usize) {
        match *input.window() {
            [a, b, c, d, e, f, g, h, ..] => (self.u32([a, b, c, d]), self.size([e, f, g, h])),
            _ => (0, 0),
        }
    }

    /// Size of a block with this length field. Lengths have to be multiples of 4; some writers do not count the
    /// padding, so they are rounded up, as in Wireshark.
    #[inline]
    fn size(&self, length: [u8; 4]) -> usize {
        (self.u32(length).wrapping_add(3) & !3) as usize
    }

    /// Reads an enhanced or obsolete packet block.
    #[inline]
    fn packet(&mut self, input: &mut Input, kind: u32, total: usize, record: &mut Record) -> PacketFound {
        check_length(input.offset(), total, PACKET_HEADER + TRAILER, MAX_BLOCK)?;
        if !input.want(total)? {
            return self.end(input);
        }
        self.check_trailer(input, total)?;
        let block = input.window();
        let Some(header) = block.first_chunk::<PACKET_HEADER>() else {
            return self.end(input);
        };
        let at = |i: usize| self.u32([header[i], header[i + 1], header[i + 2], header[i + 3]]);
        let interface = if kind == ENHANCED_PACKET { at(8) } else { u32::from(self.u16([header[8], header[9]])) };
        let ticks = u64::from(at(12)) << 32 | u64::from(at(16));
        let (len, original_len) = (at(20), at(24));
        let Some(described) = self.section.get(interface as usize) else {
            return self.unknown_interface(input, total, interface);
        };
        if len as usize > total - PACKET_HEADER - TRAILER {
            return self.bad_block(input, total, PACKET_HEADER, len);
        }
        self.last = described.clock.time(ticks);
        let data = (len as usize).next_multiple_of(4);
        let options = block.get(PACKET_HEADER + data..total - TRAILER);
        let dropped = match kind {
            ENHANCED_PACKET => options.map_or(0, |options| self.dropped_before(options)),
            // 65,535 means unknown.
            _ => match self.u16([header[10], header[11]]) {
                u16::MAX => 0,
                dropped => u64::from(dropped),
            },
        };
        if dropped > 0
            && let Some(interface) = self.interfaces.get_mut((self.first + interface) as usize)
        {
            let sum = &mut interface.statistics.dropped_between;
            *sum = sum.saturating_add(dropped);
        }
        *record = Record {
            time: self.last,
            interface: self.first + interface,
            link: described.link,
            original_len,
            at: input.take(total) + PACKET_HEADER,
            len: len as usize,
        };
        Ok(true)
    }

    /// Packets dropped between this packet and the one before, from the option `epb_dropcount`.
    #[inline]
    fn dropped_before(&self, options: &[u8]) -> u64 {
        const DROP_COUNT: u16 = 4;
        if options.len() < 4 {
            return 0;
        }
        self.well_formed_options(options)
            .find_map(|(code, value)| match (code, <&[u8; 8]>::try_from(value)) {
                (DROP_COUNT, Ok(&bytes)) if self.big_endian => Some(u64::from_be_bytes(bytes)),
                (DROP_COUNT, Ok(&bytes)) => Some(u64::from_le_bytes(bytes)),
                _ => None,
            })
            .unwrap_or(0)
    }

    /// Reads any other block; returns whether it was a packet.
    #[inline(never)]
    fn other(&mut self, input: &mut Input, kind: u32, total: usize, record: &mut Record) -> PacketFound {
        match kind {
            SECTION_HEADER => self.begin_section(input).map(|()| false),
            INTERFACE_DESCRIPTION => self.interface(input, total).map(|()| false),
            SIMPLE_PACKET => self.simple_packet(input, total, record),
            INTERFACE_STATISTICS => self.statistics(input, total).map(|()| false),
            _ => self.skip_block(input, total, EMPTY_BLOCK).map(|()| false),
        }
    }

    /// Reads a section header block.
    fn begin_section(&mut self, input: &mut Input) -> Result<(), Box<Fault>> {
        let offset = input.offset();
        input.want(16)?;
        let &[_, _, _, _, a, b, c, d, ref order @ .., e, f, g, h] = input
            .window()
            .first_chunk::<16>()
            .ok_or_else(|| Damage::cut_short(offset, "a section header".into(), input.window().len()))?;
        self.big_endian = match order {
            [0x1a, 0x2b, 0x3c, 0x4d] => true,
            [0x4d, 0x3c, 0x2b, 0x1a] => false,
            other => {
                return Err(corrupt(
                    offset,
                    "a section header with the byte-order magic 1a 2b 3c 4d, in either order",
                    other.iter().map(|byte| format!("{byte:02x} ")).collect::<String>().trim_end(),
                ));
            }
        };
        let version = (self.u16([e, f]), self.u16([g, h]));
        if !is_supported(version) {
            let found = format!("version {}.{}", version.0, version.1);
            return Err(corrupt(offset, "a section of pcapng 1.0", &found));
        }
        self.section.clear();
        // At most MAX_INTERFACES.
        self.first = self.interfaces.len() as u32;
        self.skip_block(input, self.size([a, b, c, d]), 28)
    }

    /// Reads an interface description block.
    fn interface(&mut self, input: &mut Input, total: usize) -> Result<(), Box<Fault>> {
        let offset = input.offset();
        check_length(input.offset(), total, INTERFACE_HEADER + TRAILER, MAX_BLOCK)?;
        if !input.want(total)? {
            return self.end(input).map(|_| ());
        }
        self.check_trailer(input, total)?;
        if self.interfaces.len() == MAX_INTERFACES {
            let expected = format!("at most {MAX_INTERFACES} interfaces");
            return Err(corrupt(offset, &expected, "one more"));
        }
        let at = input.take(total);
        let block = input.bytes(at, total - TRAILER);
        let link = LinkType(self.u16([block[8], block[9]]));
        let snap_length = match self.u32([block[12], block[13], block[14], block[15]]) {
            0 => None,
            length => Some(length),
        };
        let mut interface = Interface {
            link,
            snap_length,
            fcs_length: None,
            name: None,
            description: None,
            statistics: Statistics::default(),
        };
        let outcome = self.options(&mut interface, &block[INTERFACE_HEADER..]);
        self.section.push(SectionInterface {
            clock: outcome.clock,
            link,
            snap_length: snap_length.unwrap_or(u32::MAX),
        });
        self.interfaces.push(interface);
        match outcome.malformed {
            None => Ok(()),
            Some(found) => Err(Box::new(Fault::Damage(Damage {
                kind: WarningKind::BadOptions,
                offset,
                expected: "well-formed options of an interface".into(),
                found,
            }))),
        }
    }

    /// Reads the options of an interface up to the first malformed one.
    fn options(&self, interface: &mut Interface, mut options: &[u8]) -> Options {
        let (mut resolution, mut offset) = (6, 0);
        let mut malformed = None;
        while let [a, b, c, d, rest @ ..] = options {
            let (code, len) = (self.u16([*a, *b]), usize::from(self.u16([*c, *d])));
            if code == 0 {
                break;
            }
            let Some(value) = rest.get(..len) else {
                malformed = Some(format!("option {code} of {len} bytes where {} are left", rest.len()));
                break;
            };
            match (code, value) {
                (2, name) => interface.name = Some(text(name)),
                (3, description) => interface.description = Some(text(description)),
                (9, &[value]) => resolution = value,
                (13, &[value]) => interface.fcs_length = Some(value),
                (14, value) if let Ok(&bytes) = <&[u8; 8]>::try_from(value) => {
                    offset = if self.big_endian { i64::from_be_bytes(bytes) } else { i64::from_le_bytes(bytes) };
                }
                (9 | 13 | 14, _) => malformed = Some(format!("option {code} of {len} bytes")),
                _ => {}
            }
            options = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        }
        Options { clock: Clock::new(resolution, offset), malformed }
    }

    /// Reads an interface statistics block. Counters are cumulative, so the last block counts.
    fn statistics(&mut self, input: &mut Input, total: usize) -> Result<(), Box<Fault>> {
        const HEADER: usize = 20;
        check_length(input.offset(), total, HEADER + TRAILER, MAX_BLOCK)?;
        if !input.want(total)? {
            return self.end(input).map(|_| ());
        }
        self.check_trailer(input, total)?;
        let at = input.take(total);
        let block = input.bytes(at, total - TRAILER);
        let interface = self.u32([block[8], block[9], block[10], block[11]]);
        let mut found = Statistics::default();
        for (code, value) in self.well_formed_options(&block[HEADER..]) {
            let Ok(&bytes) = <&[u8; 8]>::try_from(value) else {
                continue;
            };
            let number = if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) };
            match code {
                4 => found.received = Some(number),
                5 => found.dropped_by_interface = Some(number),
                6 => found.accepted = Some(number),
                7 => found.dropped_by_system = Some(number),
                8 => found.delivered = Some(number),
                _ => {}
            }
        }
        // Statistics of an interface that is not described are ignored.
        let known = self.first as usize + interface as usize;
        if (interface as usize) < self.section.len()
            && let Some(interface) = self.interfaces.get_mut(known)
        {
            interface.statistics.update(found);
        }
        Ok(())
    }

    /// Codes and values of options, up to the first malformed one.
    fn well_formed_options<'a>(&self, mut options: &'a [u8]) -> impl Iterator<Item = (u16, &'a [u8])> {
        std::iter::from_fn(move || {
            let [a, b, c, d, rest @ ..] = options else {
                return None;
            };
            let (code, len) = (self.u16([*a, *b]), usize::from(self.u16([*c, *d])));
            let value = rest.get(..len).filter(|_| code != 0)?;
            options = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
            Some((code, value))
        })
    }

    /// Reads a simple packet block.
    fn simple_packet(&mut self, input: &mut Input, total: usize, record: &mut Record) -> PacketFound {
        check_length(input.offset(), total, SIMPLE_HEADER + TRAILER, MAX_BLOCK)?;
        if !input.want(total)? {
            return self.end(input);
        }
        self.check_trailer(input, total)?;
        if !self.warned_no_time {
            // The block is not consumed, so the next call reads it.
            self.warned_no_time = true;
            return Err(Box::new(Fault::Damage(Damage {
                kind: WarningKind::NoTime,
                offset: input.offset(),
                expected: "packets with a time".into(),
                found: "simple packets, which have none and get the previous packet's".into(),
            })));
        }
        let Some(described) = self.section.first() else {
            return self.unknown_interface(input, total, 0);
        };
        let block = input.window();
        let original_len = self.u32([block[8], block[9], block[10], block[11]]);
        let len = original_len.min(described.snap_length);
        if len as usize > total - SIMPLE_HEADER - TRAILER {
            return self.bad_block(input, total, SIMPLE_HEADER, len);
        }
        *record = Record {
            time: self.last,
            interface: self.first,
            link: described.link,
            original_len,
            at: input.take(total) + SIMPLE_HEADER,
            len: len as usize,
        };
        Ok(true)
    }

    /// Skips a block without keeping it.
    fn skip_block(&mut self, input: &mut Input, total: usize, least: usize) -> Result<(), Box<Fault>> {
        let offset = input.offset();
        check_length(offset, total, least, u32::MAX as usize)?;
        let body = (total - TRAILER) as u64;
        let skipped = input.skip(body)?;
        if skipped < body || !input.want(TRAILER)? {
            let left = skipped as usize + input.window().len();
            return Err(cut_block(offset, total, left));
        }
        if let Some(&trailer) = input.window().first_chunk() {
            match_trailer(offset, total, self.size(trailer))?;
        }
        input.take(TRAILER);
        Ok(())
    }

    /// Checks the length at the end of a block that is completely in the window.
    #[inline]
    fn check_trailer(&self, input: &Input, total: usize) -> Result<(), Box<Fault>> {
        match input.window().get(total - TRAILER..total) {
            Some(&[a, b, c, d]) => match_trailer(input.offset(), total, self.size([a, b, c, d])),
            _ => Ok(()),
        }
    }

    #[cold]
    fn unknown_interface(&self, input: &mut Input, total: usize, interface: u32) -> PacketFound {
        let offset = input.offset();
        input.take(total);
        let expected = match self.section.len() {
            0 => "a packet of an interface that was described before it, but none was".into(),
            n => format!("a packet of an interface from 0 to {}", n - 1),
        };
        Err(Box::new(Fault::Damage(Damage {
            kind: WarningKind::UnknownInterface,
            offset,
            expected,
            found: format!("one of interface {interface}"),
        })))
    }

    #[cold]
    fn bad_block(&self, input: &mut Input, total: usize, header: usize, len: u32) -> PacketFound {
        let offset = input.offset();
        input.take(total);
        Err(Box::new(Fault::Damage(Damage {
            kind: WarningKind::BadBlock,
            offset,
            expected: format!("a packet of at most {} bytes", total - header - TRAILER),
            found: format!("one of {len} bytes"),
        })))
    }

    /// Handles the end of the file, where less than a block is left.
    #[cold]
    fn end(&self, input: &Input) -> PacketFound {
        let left = input.window();
        if left.is_empty() {
            return Ok(false);
        }
        let (offset, left) = (input.offset(), left.len());
        if left < EMPTY_BLOCK {
            return Err(Damage::cut_short(offset, "a block of at least 12 bytes".into(), left));
        }
        Err(cut_block(offset, self.block(input).1, left))
    }

    #[inline]
    fn u16(&self, bytes: [u8; 2]) -> u16 {
        if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    #[inline]
    fn u32(&self, bytes: [u8; 4]) -> u32 {
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }
}

/// Clock from the options of an interface, and a description of a malformed option.
struct Options {
    clock: Clock,
    malformed: Option<String>,
}

/// Whether the version is supported. Some programs wrote 1.2 for 1.0, which libpcap and Wireshark read, too.
fn is_supported(version: (u16, u16)) -> bool {
    matches!(version, (1, 0 | 2))
}

/// Text up to the first zero byte, at most [`MAX_TEXT`] bytes.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end.min(MAX_TEXT)]).into_owned()
}

#[cold]
fn corrupt(offset: u64, expected: &str, found: &str) -> Box<Fault> {
    Box::new(Fault::Damage(Damage {
        kind: WarningKind::Corrupt,
        offset,
        expected: expected.into(),
        found: found.into(),
    }))
}

#[cold]
fn cut_block(offset: u64, total: usize, left: usize) -> Box<Fault> {
    Damage::cut_short(offset, format!("a block of {total} bytes"), left)
}

#[inline]
fn check_length(offset: u64, total: usize, least: usize, most: usize) -> Result<(), Box<Fault>> {
    if total >= least && total <= most {
        return Ok(());
    }
    let expected = format!("a block of {least} to {most} bytes");
    Err(corrupt(offset, &expected, &format!("a length of {total}")))
}

#[inline]
fn match_trailer(offset: u64, total: usize, trailer: usize) -> Result<(), Box<Fault>> {
    if trailer == total {
        return Ok(());
    }
    let expected = format!("a block that ends with its length of {total} bytes");
    Err(corrupt(offset, &expected, &format!("a length of {trailer} there")))
}

//! Identification of a file by its first bytes.

use crate::read::input::Input;
use std::io;

/// Format of a file.
pub(crate) enum Identity {
    Pcap(Variant),
    PcapNg,
    /// Not supported; the text describes the file and what can be done about it.
    Other(String),
}

/// Byte order and time resolution of a pcap file, from its magic number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Variant {
    pub(crate) big_endian: bool,
    /// Whether fractions of a second are nanoseconds, not microseconds.
    pub(crate) nanos: bool,
}

/// Number of first bytes that are examined.
const HEAD: usize = 64;

/// Identifies the stream, of which nothing is consumed.
pub(crate) fn identify(input: &mut Input) -> Result<Identity, io::Error> {
    // Four bytes identify pcap, so that a live stream is not blocked until more arrive.
    input.want(4)?;
    if let Some(variant) = pcap(input.window()) {
        return Ok(Identity::Pcap(variant));
    }
    input.want(12)?;
    if let [0x0a, 0x0d, 0x0d, 0x0a, _, _, _, _, order @ ..] = input.window()
        && (order.starts_with(&[0x1a, 0x2b, 0x3c, 0x4d])
            || order.starts_with(&[0x4d, 0x3c, 0x2b, 0x1a])
            || order.len() < 4)
    {
        return Ok(Identity::PcapNg);
    }
    input.want(HEAD)?;
    Ok(Identity::Other(match input.damage() {
        Some(how) if input.window().is_empty() => how.to_owned(),
        _ => other(input.window()),
    }))
}

fn pcap(head: &[u8]) -> Option<Variant> {
    let (big_endian, nanos) = match head.first_chunk()? {
        [0xa1, 0xb2, 0xc3, 0xd4] => (true, false),
        [0xd4, 0xc3, 0xb2, 0xa1] => (false, false),
        [0xa1, 0xb2, 0x3c, 0x4d] => (true, true),
        [0x4d, 0x3c, 0xb2, 0xa1] => (false, true),
        _ => return None,
    };
    Some(Variant { big_endian, nanos })
}

/// Advice for formats that Wireshark can read.
pub(crate) const CONVERT: &str = "convert it with `editcap -F pcapng FILE FILE.pcapng`";

/// Other capture formats that Wireshark reads, by magic number.
const CONVERTIBLE: &[(&[u8], &str)] = &[
    (b"\xa1\xb2\xcd\x34", MODIFIED),
    (b"\x34\xcd\xb2\xa1", MODIFIED),
    (b"\x1c\x00\x01\xac", "a pcap variant of IXIA hardware (lcap)"),
    (b"\xac\x01\x00\x1c", "a pcap variant of IXIA hardware (lcap)"),
    (b"\x1c\x00\x01\xab", "a pcap variant of IXIA software (lcap)"),
    (b"\xab\x01\x00\x1c", "a pcap variant of IXIA software (lcap)"),
    (b"snoop\0\0\0", "a snoop capture (Solaris, RFC 1761)"),
    (b"btsnoop\0", "a Bluetooth snoop capture"),
    (b"RTSS", "a Microsoft NetMon 1 capture"),
    (b"GMBU", "a Microsoft NetMon 2 capture"),
    (b"iptrace 1.0", "an AIX iptrace capture"),
    (b"iptrace 2.0", "an AIX iptrace capture"),
    (b"TRSNIFF data    \x1a", "a Sniffer capture"),
    (b"XCP\0", "a NetXRay or Sniffer Windows capture"),
    (b"\xaa\xaa\xaa\xaa", "a 5View capture"),
    (b"\x7fver", "an EtherPeek or OmniPeek capture"),
    (b"ObserverPktBuf", "a Network Instruments Observer capture"),
    (b"\x05VNF", "a Visual Networks capture"),
    (b"\x00\x00\x02\x00\x12\x05\x00\x10", "a Tektronix K12 capture"),
];

const MODIFIED: &str = "a modified pcap capture (Kuznetzov's tcpdump of 1999)";

/// Files that no program converts to a supported capture, by magic number, with what to do instead.
const NOT_CONVERTIBLE: &[(&[u8], &str)] = &[
    (b"\xa1\x2b\x3c\x4d", NAVTEL),
    (b"\x4d\x3c\x2b\xa1", NAVTEL),
    (b"\xa1\xb2\x34\xcd", MESQUITA),
    (b"\xcd\x34\xb2\xa1", MESQUITA),
    (b"BZh", "bzip2 data: decompress it with `bunzip2` first"),
    (b"\x1f\x9d", "compress(1) data: decompress it with `uncompress` first"),
    (b"\x1f\x8b", "gzip data: decompress it first"),
    (b"\x28\xb5\x2f\xfd", "zstd data: decompress it first"),
    (b"\xfd7zXZ\0", "xz data: decompress it first"),
    (b"LZIP", "lzip data: decompress it with `lzip -d` first"),
    (b"PK\x03\x04", "a ZIP archive: unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it first"),
    (b"\x7fELF", "a program (ELF)"),
    (b"%PDF", "a PDF document"),
    (b"PAR1", "a Parquet file"),
    (b"SQLite format 3\0", "an SQLite database"),
];

const NAVTEL: &str = "a pcap variant of Navtel, which nothing known converts";
const MESQUITA: &str = "a pcap variant of Mesquita's patches, which nothing known converts";

fn other(head: &[u8]) -> String {
    let named = |table: &[(&[u8], &'static str)]| {
        table.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, name)| *name)
    };
    if head.is_empty() {
        return "the file is empty".into();
    }
    if let Some(name) = named(CONVERTIBLE) {
        return format!("it looks like {name}: {CONVERT}");
    }
    if let Some(name) = named(NOT_CONVERTIBLE) {
        return format!("it looks like {name}");
    }
    if head.len() >= 20 && head[..4] == [0x0a, 0x0d, 0x0d, 0x0a] {
        return "it begins as pcapng, but its byte-order magic is not one (a transfer in text mode does that)".into();
    }
    if head.iter().all(|&byte| byte == 0) {
        return "it begins with zeros only".into();
    }
    if let Some(text) = text(head) {
        return text.into();
    }
    if endace(head) {
        return format!("it looks like an Endace ERF capture: {CONVERT}");
    }
    let shown = head.iter().take(8).map(|byte| format!("{byte:02x}"));
    format!("it begins with bytes {}, which no known capture does", shown.collect::<Vec<_>>().join(" "))
}

/// Kind of text, if the file is text.
fn text(head: &[u8]) -> Option<&'static str> {
    // A character may be cut at the end of the head.
    let valid = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => std::str::from_utf8(&head[..error.valid_up_to()]).ok()?,
        Err(_) => return None,
    };
    let printable = |c: char| !c.is_control() || matches!(c, '\t' | '\n' | '\r' | '\u{c}' | '\u{1b}');
    if !valid.chars().all(printable) {
        return None;
    }
    Some(match valid.trim_start_matches('\u{feff}').trim_start().chars().next() {
        Some('{' | '[') => "it looks like a JSON text",
        Some('<') => "it looks like XML or HTML",
        _ => "it looks like text (packets printed by tcpdump or tshark cannot be read, only captures written with -w)",
    })
}

/// Whether the file begins like an ERF record: with a registered type, and a length that covers its header.
fn endace(head: &[u8]) -> bool {
    let Some(header) = head.first_chunk::<16>() else {
        return false;
    };
    let kind = header[8] & 0x7f;
    let record = u16::from_be_bytes([header[10], header[11]]);
    let wire = u16::from_be_bytes([header[14], header[15]]);
    // The upper half of the timestamp is seconds since 1970, least significant byte first; times from 1996 on are
    // plausible.
    let seconds = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
    (1..=48).contains(&kind) && record >= 16 && wire > 0 && seconds > 820_000_000
}

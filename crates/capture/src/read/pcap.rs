//! pcap: a file header of 24 bytes, then records of a 16-byte header and the packet (draft-ietf-opsawg-pcap).
//!
//! Old and odd files are read as Wireshark's `wiretap/libpcap.c` reads them: before version 2.3 the two lengths of a
//! record stand in the other order, in version 2.3 they do in some files, so they are swapped where the captured length
//! would exceed the original one; DG/UX writes version 543.0 with swapped lengths; AIX writes version 2.2 with
//! nanoseconds and interface types of SNMP for link types. The time zone of the header is ignored, as everywhere.

mod zeros;

use crate::read::error::{Damage, Fault};
use crate::read::identify::{CONVERT, Variant};
use crate::read::input::{Input, Record};
use crate::read::{FormatKind, Interface, RawPacket, Sink, Statistics, WarningKind};
use gentle_units::Instant;
use gentle_wire::LinkType;

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

/// Largest length of a packet, bytes; a larger one is damage. The largest snap length of libpcap and Wireshark.
const MAX_LEN: usize = 256 * 1024;

/// Largest length of a packet of the link types [`LARGE`], bytes.
const MAX_LEN_LARGE: usize = 16 * 1024 * 1024;
/// Link types whose packets are not network packets and can be larger: D-Bus, USBPcap and EBHSCR.
const LARGE: [u16; 3] = [231, 249, 279];

/// Number of records that are examined to recognise variants with longer record headers.
const PROBED: usize = 8;

/// Order of the captured and the original length in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lengths {
    CapturedFirst,
    OriginalFirst,
    /// The smaller length is the captured one.
    Either,
}

/// Framing of a pcap file.
#[derive(Debug)]
pub(crate) struct Pcap {
    variant: Variant,
    lengths: Lengths,
    link: LinkType,
    /// Unit of the fraction of a second, nanoseconds.
    unit: u64,
    max_len: usize,
    interface: Option<Interface>,
    /// Fractions of a second; valid ones are smaller.
    fractions: u32,
    /// Time of the packet before.
    last: Instant,
    /// Offset of a packet with an invalid time that was reported and is to be delivered.
    reported: Option<u64>,
    /// Length of a file header that is cut short, bytes.
    header_cut: Option<usize>,
}

impl Pcap {
    /// Reads the file header. The inner error describes a file that is not supported.
    pub(crate) fn new(variant: Variant, input: &mut Input) -> Result<Result<Pcap, String>, std::io::Error> {
        let whole = input.want(FILE_HEADER)?;
        let Some(header) = input.window().first_chunk::<FILE_HEADER>().filter(|_| whole) else {
            let cut = input.window().len();
            input.take(cut);
            return Ok(Ok(Pcap {
                variant,
                lengths: Lengths::CapturedFirst,
                link: LinkType(0),
                unit: 1,
                max_len: MAX_LEN,
                interface: None,
                fractions: 0,
                last: Instant::ZERO,
                reported: None,
                header_cut: Some(cut),
            }));
        };
        let u16_at = |at: usize| variant.u16([header[at], header[at + 1]]);
        let u32_at = |at: usize| variant.u32([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (major, minor) = (u16_at(4), u16_at(6));
        let lengths = match (major, minor) {
            (2, ..=2) | (543, 0) => Lengths::OriginalFirst,
            (2, 3) => Lengths::Either,
            (2, _) => Lengths::CapturedFirst,
            _ => {
                return Ok(Err(format!(
                    "it has the magic number of pcap, but version {major}.{minor}, which does not exist"
                )));
            }
        };
        let aix = (major, minor) == (2, 2) && !variant.nanos;
        let network = u32_at(20);
        let mut link = LinkType(network as u16);
        if aix {
            link = aix_link(link);
        }
        // If bit 26 is set, the four highest bits are the length of the frame check sequence in units of 16 bits.
        let fcs_length = (network & 0x0400_0000 != 0).then_some((network >> 28) as u8 * 2);
        let snap_length = u32_at(16);
        let nanos = variant.nanos || aix;
        let pcap = Pcap {
            variant: Variant { nanos, ..variant },
            lengths,
            link,
            unit: if nanos { 1 } else { 1_000 },
            fractions: if nanos { 1_000_000_000 } else { 1_000_000 },
            last: Instant::ZERO,
            reported: None,
            max_len: if LARGE.contains(&link.0) { MAX_LEN_LARGE } else { MAX_LEN },
            interface: Some(Interface {
                link,
                snap_length: (snap_length != 0).then_some(snap_length),
                fcs_length,
                name: None,
                description: None,
                statistics: Statistics::default(),
            }),
            header_cut: None,
        };
        input.take(FILE_HEADER);
        if let Some(other) = pcap.other_variant(input.window()) {
            return Ok(Err(other));
        }
        Ok(Ok(pcap))
    }

    pub(crate) fn kind(&self) -> FormatKind {
        if self.variant.nanos { FormatKind::PcapNanos } else { FormatKind::PcapMicros }
    }

    pub(crate) fn big_endian(&self) -> bool {
        self.variant.big_endian
    }

    pub(crate) fn interfaces(&self) -> &[Interface] {
        self.interface.as_slice()
    }

    /// Finds the next packet and describes it in `record`; returns `false` at the end of the file.
    #[inline(always)]
    pub(crate) fn next(&mut self, input: &mut Input, record: &mut Record) -> Result<bool, Box<Fault>> {
        match self.whole(input.window()) {
            Some(fields) => {
                self.take(fields, input, record);
                Ok(true)
            }
            None => self.rare(input, record),
        }
    }

    /// Passes the packets to `to` that are completely in the window, up to the first that needs [`Pcap::rare`]. Returns
    /// `false` if there was none.
    ///
    /// Delivered one by one, packets would pass through memory, and a load of data just stored in parts stalls. This
    /// loop saves `gentle analyze` a tenth of its instructions (callgrind) and 6 % of its time.
    #[inline(always)]
    pub(crate) fn read<S: Sink>(&mut self, input: &mut Input, to: &mut S) -> bool {
        let window = input.window();
        let mut rest = window;
        let mut last = self.last;
        while let Some(fields) = self.whole(rest) {
            let [.., len, original_len] = fields;
            let (record, behind) = rest.split_at(RECORD_HEADER + len as usize);
            rest = behind;
            last = self.time(fields);
            let packet =
                RawPacket { time: last, interface: 0, link: self.link, original_len, data: &record[RECORD_HEADER..] };
            if to.packet(0, &packet).is_break() {
                break;
            }
        }
        self.last = last;
        let read = window.len() - rest.len();
        input.take(read);
        read > 0
    }

    /// Fields of the record at the start of the window, if it is complete and its length and time valid.
    #[inline(always)]
    fn whole(&self, window: &[u8]) -> Option<[u32; 4]> {
        let fields = self.fields(window.first_chunk::<RECORD_HEADER>()?);
        let len = fields[2] as usize;
        let is_valid = len != 0 && len <= self.max_len && fields[1] < self.fractions;
        (is_valid && RECORD_HEADER + len <= window.len()).then_some(fields)
    }

    /// Slow path of [`Pcap::next`], for a record that is not completely in the window, whose length is zero or too large,
    /// or whose time is invalid.
    #[cold]
    #[inline(never)]
    fn rare(&mut self, input: &mut Input, record: &mut Record) -> Result<bool, Box<Fault>> {
        if !input.want(RECORD_HEADER)? {
            return self.end(input);
        }
        let Some(header) = input.window().first_chunk::<RECORD_HEADER>() else {
            return self.end(input);
        };
        let fields = self.fields(header);
        let [.., len, original_len] = fields;
        if len == 0 && original_len == 0 && self.is_unwritten(input)? {
            return Err(self.pass_zeros(input)?);
        }
        if len as usize > self.max_len || len == 0 {
            self.check(input, len)?;
        }
        if !input.want(RECORD_HEADER + len as usize)? {
            return self.end(input);
        }
        if fields[1] >= self.fractions && self.reported != Some(input.offset()) {
            // The record is not consumed, so the next call reads it.
            self.reported = Some(input.offset());
            return Err(self.bad_time(input, fields[1]));
        }
        self.take(fields, input, record);
        Ok(true)
    }

    #[cold]
    fn bad_time(&self, input: &Input, fraction: u32) -> Box<Fault> {
        let unit = match self.variant.nanos {
            true => "nanoseconds",
            false => "microseconds",
        };
        Box::new(Fault::Damage(Damage {
            kind: WarningKind::BadTime,
            offset: input.offset(),
            expected: format!("a fraction of a second below {} {unit}", self.fractions),
            found: format!("{fraction}; the packet gets the time of the one before it"),
        }))
    }

    /// Consumes the record with these fields at the start of the window.
    #[inline(always)]
    fn take(&mut self, fields: [u32; 4], input: &mut Input, record: &mut Record) {
        let [seconds, fraction, len, original_len] = fields;
        if fraction < self.fractions {
            self.last = self.time(fields);
        } else if self.last == Instant::ZERO {
            self.last = Instant(u64::from(seconds) * 1_000_000_000);
        }
        *record = Record {
            time: self.last,
            interface: 0,
            link: self.link,
            original_len,
            at: input.take(RECORD_HEADER + len as usize) + RECORD_HEADER,
            len: len as usize,
        };
    }

    /// Time of a packet with these fields.
    #[inline(always)]
    fn time(&self, [seconds, fraction, ..]: [u32; 4]) -> Instant {
        Instant(u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * self.unit)
    }

    /// Seconds, fraction, captured and original length.
    #[inline]
    fn fields(&self, header: &[u8; RECORD_HEADER]) -> [u32; 4] {
        let [seconds, fraction, first, second] = self.variant.u32s(header);
        let swap = match self.lengths {
            Lengths::CapturedFirst => false,
            Lengths::OriginalFirst => true,
            Lengths::Either => first > second,
        };
        if swap { [seconds, fraction, second, first] } else { [seconds, fraction, first, second] }
    }

    /// Checks a record for a length that is too large, and for the header of another file.
    #[cold]
    fn check(&self, input: &Input, len: u32) -> Result<(), Box<Fault>> {
        let damage = |found| {
            Err(Box::new(Fault::Damage(Damage {
                kind: WarningKind::Corrupt,
                offset: input.offset(),
                expected: format!("a packet of at most {} bytes", self.max_len),
                found,
            })))
        };
        if len as usize > self.max_len {
            return damage(format!("a length of {len} bytes"));
        }
        let magic = [0xa1b2_c3d4, 0xa1b2_3c4d];
        let joined = input.window().first_chunk::<RECORD_HEADER>().is_some_and(|header| {
            let read = |variant: Variant| {
                (variant.u32([header[0], header[1], header[2], header[3]]), variant.u16([header[4], header[5]]))
            };
            [false, true].into_iter().any(|big_endian| {
                let (number, major) = read(Variant { big_endian, nanos: false });
                magic.contains(&number) && major == 2
            })
        });
        if joined {
            return damage("the header of another pcap file (join captures with `mergecap -a -w OUT FILE...`)".into());
        }
        Ok(())
    }

    /// Handles the end of the file, where less than a record is left.
    #[cold]
    fn end(&mut self, input: &Input) -> Result<bool, Box<Fault>> {
        let left = input.window();
        let expected = match (self.header_cut.take(), left.first_chunk::<RECORD_HEADER>()) {
            (Some(cut), _) => {
                return Err(Damage::cut_short(0, format!("a file header of {FILE_HEADER} bytes"), cut));
            }
            (None, Some(header)) => {
                format!("a packet of {} bytes behind its header", self.fields(header)[2])
            }
            (None, None) if left.is_empty() => return Ok(false),
            (None, None) => format!("a packet header of {RECORD_HEADER} bytes"),
        };
        Err(Damage::cut_short(input.offset(), expected, left.len()))
    }

    /// Name of the variant with longer record headers, if the file is one. These variants have the common magic number
    /// and are recognised by records that are plausible in no other way. Only records in the window are examined,
    /// because the next packet of a live stream may take long.
    fn other_variant(&self, window: &[u8]) -> Option<String> {
        if self.plausible(window, RECORD_HEADER) {
            return None;
        }
        let name = if self.plausible(window, RECORD_HEADER + 4) {
            "Nokia's"
        } else if self.plausible(window, RECORD_HEADER + 8) {
            "modified (Red Hat's tcpdump of 1999)"
        } else {
            return None;
        };
        Some(format!("it looks like a pcap variant, {name}: {CONVERT}"))
    }

    /// Whether the first records are plausible with headers of this length.
    fn plausible(&self, mut window: &[u8], header_len: usize) -> bool {
        for _ in 0..PROBED {
            let Some(header) = window.first_chunk::<RECORD_HEADER>() else {
                return true;
            };
            let [_, fraction, len, original_len] = self.fields(header);
            if fraction >= self.fractions || len as usize > self.max_len || len > original_len {
                return false;
            }
            match window.get(header_len + len as usize..) {
                Some(rest) => window = rest,
                None => return true,
            }
        }
        true
    }
}

impl Variant {
    /// Decodes the four numbers of a record header.
    #[inline]
    fn u32s(self, bytes: &[u8; RECORD_HEADER]) -> [u32; 4] {
        let at = |i: usize| {
            let number = u32::from_le_bytes([bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]]);
            if self.big_endian { number.swap_bytes() } else { number }
        };
        [at(0), at(4), at(8), at(12)]
    }

    #[inline]
    fn u16(self, bytes: [u8; 2]) -> u16 {
        if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    #[inline]
    fn u32(self, bytes: [u8; 4]) -> u32 {
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }
}

/// Converts the link type of AIX, an `ifType` of RFC 1573.
fn aix_link(link: LinkType) -> LinkType {
    LinkType(match link.0 {
        6 => 1,   // Ethernet
        9 => 6,   // token ring
        15 => 10, // FDDI
        24 => 0,  // loopback
        other => other,
    })
}

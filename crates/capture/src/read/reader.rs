//! Reader of the packets of one capture.

use crate::read::compression::Progress;
use crate::read::error::{Damage, Fault};
use crate::read::identify::{self, Identity};
use crate::read::input::{Input, Opened, Record};
use crate::read::pcap::Pcap;
use crate::read::pcapng::PcapNg;
use crate::read::{CaptureError, Compression, Format, FormatKind, Interface, RawPacket, Sink, Warning, WarningKind};
use gentle_units::Instant;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// Reads the packets of one capture, in the order of the file.
///
/// Memory is bounded whatever the file contains: a window of 256 KiB, which a large record extends to at most 16 MiB;
/// at most 65,536 interfaces; and for a compressed file 1.5 MiB of chunks and the memory of the decompressor, which for
/// zstd and xz depends on the file and is at most 128 MiB.
pub struct CaptureReader {
    name: String,
    /// Opens the capture again; `None` for a stream.
    again: Option<Arc<Again>>,
    input: Input,
    framing: Framing,
    format: Format,
    progress: Option<Progress>,
    size: Option<u64>,
    warnings: Vec<Warning>,
    strict: bool,
    ended: bool,
    /// Interfaces whose packets are delivered; `None`: all.
    chosen: Option<Chosen>,
    /// Packet found last. Written and read field by field: loading it as a whole right after storing its parts stalls
    /// the processor, which took 14 % of the time of `gentle analyze` (perf).
    record: Record,
}

type Again = dyn Fn() -> Result<CaptureReader, CaptureError> + Send + Sync;
type IsChosen = dyn Fn(u32, &Interface) -> bool + Send + Sync;

/// Choice of interfaces.
#[derive(Clone)]
struct Chosen {
    is_chosen: Arc<IsChosen>,
    /// Whether each interface described so far is chosen, and its number of packets.
    interfaces: Vec<(bool, u64)>,
}

impl Chosen {
    /// Counts a packet of `interface`, one of `described`; returns whether the interface is chosen.
    #[inline]
    fn takes(&mut self, interface: u32, described: &[Interface]) -> bool {
        if interface as usize >= self.interfaces.len() {
            self.extend(described);
        }
        let Some((chosen, packets)) = self.interfaces.get_mut(interface as usize) else {
            return true;
        };
        *packets += 1;
        *chosen
    }

    #[cold]
    fn extend(&mut self, described: &[Interface]) {
        for (number, interface) in described.iter().enumerate().skip(self.interfaces.len()) {
            let chosen = (self.is_chosen)(number as u32, interface);
            self.interfaces.push((chosen, 0));
        }
    }
}

enum Framing {
    Pcap(Pcap),
    PcapNg(PcapNg),
}

impl CaptureReader {
    /// Opens a capture; `-` is standard input, read as a stream.
    ///
    /// # Errors
    /// If the file cannot be read or is not a supported capture.
    pub fn open(path: &Path) -> Result<CaptureReader, CaptureError> {
        let name = path.display().to_string();
        if path.as_os_str() == "-" {
            return CaptureReader::from_reader(name, Box::new(io::stdin()));
        }
        let io_error = |source| CaptureError::Io { file: path.display().to_string(), source };
        let file = File::open(path).map_err(io_error)?;
        let metadata = file.metadata().map_err(io_error)?;
        if metadata.is_dir() {
            return Err(io_error(io::ErrorKind::IsADirectory.into()));
        }
        let reader = CaptureReader::from_reader(name, Box::new(file))?;
        let path = path.to_owned();
        Ok(match metadata.is_file() {
            true => reader.reopened_by(metadata.len(), move || CaptureReader::open(&path)),
            false => reader,
        })
    }

    /// Opens the capture again from its beginning; `None` for a stream.
    ///
    /// # Errors
    /// As [`CaptureReader::open`].
    pub fn reopen(&self) -> Option<Result<CaptureReader, CaptureError>> {
        let again = self.again.as_ref()?;
        Some(again().map(|reader| CaptureReader {
            strict: self.strict,
            chosen: self.chosen.as_ref().map(|chosen| Chosen { interfaces: Vec::new(), ..chosen.clone() }),
            ..reader
        }))
    }

    /// Says that the capture has `size` bytes and can be read twice: `again` opens it from its beginning.
    pub fn reopened_by(
        mut self,
        size: u64,
        again: impl Fn() -> Result<CaptureReader, CaptureError> + Send + Sync + 'static,
    ) -> CaptureReader {
        self.size = Some(size);
        self.again = Some(Arc::new(again));
        self
    }

    /// Reads a capture from a stream of bytes, which messages call `name`.
    ///
    /// # Errors
    /// As [`CaptureReader::open`].
    pub fn from_reader(name: String, from: Box<dyn Read + Send>) -> Result<CaptureReader, CaptureError> {
        let io_error = |source| CaptureError::Io { file: name.clone(), source };
        let Opened { mut input, compression, progress } = Input::open(from).map_err(io_error)?;
        if !compression.is_supported() {
            return Err(CaptureError::NotACapture {
                found: format!(
                    "it is compressed with {compression}, which cannot be read here; decompress it first: {compression} -d {name}"
                ),
                file: name,
            });
        }
        let framing = Framing::find(&mut input).map_err(io_error)?;
        let framing = framing.map_err(|found| CaptureError::NotACapture {
            file: name.clone(),
            found: match compression {
                Compression::None => found,
                compression => format!("it is compressed with {compression}, and inside {found}"),
            },
        })?;
        let (kind, big_endian) = match &framing {
            Framing::Pcap(pcap) => (pcap.kind(), pcap.big_endian()),
            Framing::PcapNg(pcapng) => (FormatKind::PcapNg, pcapng.big_endian()),
        };
        Ok(CaptureReader {
            name,
            again: None,
            input,
            framing,
            format: Format { kind, big_endian, compression },
            progress,
            size: None,
            warnings: Vec::new(),
            strict: false,
            ended: false,
            chosen: None,
            record: Record::NONE,
        })
    }

    /// Sets whether damage is an error ([`CaptureError::Damaged`]) instead of a warning; initially it is a warning.
    pub fn strict(mut self, strict: bool) -> CaptureReader {
        self.strict = strict;
        self
    }

    /// Delivers only packets of the interfaces for which `is_chosen` returns true. It is called once for each interface,
    /// with its number, and for all of a section's interfaces that come before its first packet.
    pub fn choose(mut self, is_chosen: impl Fn(u32, &Interface) -> bool + Send + Sync + 'static) -> CaptureReader {
        self.chosen = Some(Chosen { is_chosen: Arc::new(is_chosen), interfaces: Vec::new() });
        self
    }

    /// Whether the interface with this number was chosen ([`CaptureReader::choose`]), and the number of its packets so
    /// far; `None` if none was chosen from, or if no packet came after its description.
    pub fn chosen(&self, interface: u32) -> Option<(bool, u64)> {
        let chosen = self.chosen.as_ref()?;
        chosen.interfaces.get(interface as usize).copied()
    }

    /// Next packet, or `None` at the end of the file or of its readable part, and after an error.
    ///
    /// # Errors
    /// If reading fails, or the file is damaged and the reader strict.
    #[inline]
    #[allow(clippy::should_implement_trait)] // A packet borrows from the reader, which an iterator's items cannot.
    pub fn next(&mut self) -> Result<Option<RawPacket<'_>>, CaptureError> {
        Ok(match self.find()? {
            true => Some(self.record.packet(&self.input)),
            false => None,
        })
    }

    /// Passes the next packets to `to`, those that are in the window, and at least one; returns `false` at the end.
    #[inline]
    pub(crate) fn read<S: Sink>(&mut self, to: &mut S) -> Result<bool, CaptureError> {
        if let Framing::Pcap(pcap) = &mut self.framing
            && !self.ended
            && self.chosen.is_none()
            && pcap.read(&mut self.input, to)
        {
            return Ok(true);
        }
        self.read_one(to)
    }

    /// Passes one packet to `to`. `dyn` for the same reason as in `Merge::read_earliest`.
    #[inline(never)]
    fn read_one(&mut self, to: &mut dyn Sink) -> Result<bool, CaptureError> {
        let found = self.find()?;
        if found {
            // A break has no effect: one call delivers one packet.
            let _ = to.packet(0, &self.current());
        }
        Ok(found)
    }

    /// Finds the next packet, which [`CaptureReader::current`] returns then. Returns its time, or `None` at the end.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<Option<Instant>, CaptureError> {
        Ok(self.find()?.then_some(self.record.time))
    }

    /// Packet found by [`CaptureReader::advance`].
    #[inline]
    pub(crate) fn current(&self) -> RawPacket<'_> {
        self.record.packet(&self.input)
    }

    /// Finds the next packet and describes it in `record`; returns `false` at the end.
    #[inline(always)]
    fn find(&mut self) -> Result<bool, CaptureError> {
        loop {
            if self.ended {
                return Ok(false);
            }
            let record = &mut self.record;
            let found = match &mut self.framing {
                Framing::Pcap(pcap) => pcap.next(&mut self.input, record),
                Framing::PcapNg(pcapng) => pcapng.next(&mut self.input, record),
            };
            match found {
                Ok(true) if self.is_chosen() => return Ok(true),
                Ok(true) => {}
                Ok(false) => self.end()?,
                Err(fault) => self.handle_fault(*fault)?,
            }
        }
    }

    /// Whether the packet found last is of a chosen interface.
    #[inline(always)]
    fn is_chosen(&mut self) -> bool {
        let Some(chosen) = &mut self.chosen else {
            return true;
        };
        let described = match &self.framing {
            Framing::Pcap(pcap) => pcap.interfaces(),
            Framing::PcapNg(pcapng) => pcapng.interfaces(),
        };
        chosen.takes(self.record.interface, described)
    }

    /// Handles an end of the file between two packets, at which a compressed stream may be damaged.
    #[cold]
    fn end(&mut self) -> Result<(), CaptureError> {
        self.ended = true;
        match self.input.damage() {
            None => Ok(()),
            Some(found) => {
                let damage = Damage {
                    kind: WarningKind::Compression,
                    offset: self.input.offset(),
                    expected: "more packets, or an end".into(),
                    found: found.to_owned(),
                };
                self.warn(damage)
            }
        }
    }

    #[cold]
    /// Adds a warning for damage, or returns the error.
    fn handle_fault(&mut self, fault: Fault) -> Result<(), CaptureError> {
        let mut damage = match fault {
            Fault::Io(source) => {
                self.ended = true;
                return Err(CaptureError::Io { file: self.name.clone(), source });
            }
            Fault::Damage(damage) => damage,
        };
        if damage.kind == WarningKind::CutShort
            && let Some(found) = self.input.damage()
        {
            damage.kind = WarningKind::Compression;
            damage.found = found.to_owned();
        }
        self.ended |= damage.kind.ends_reading();
        self.warn(damage)
    }

    /// Adds a warning, or counts another occurrence; an error if the reader is strict.
    fn warn(&mut self, damage: Damage) -> Result<(), CaptureError> {
        if let Some(before) = self.warnings.iter_mut().find(|w| w.kind == damage.kind) {
            before.count += 1;
            return Ok(());
        }
        let warning = Warning {
            file: self.name.clone(),
            kind: damage.kind,
            offset: damage.offset,
            compression: self.format.compression,
            expected: damage.expected,
            found: damage.found,
            count: 1,
        };
        if self.strict && warning.kind.is_damage() {
            self.ended = true;
            return Err(CaptureError::Damaged(Box::new(warning)));
        }
        self.warnings.push(warning);
        Ok(())
    }

    /// Name of the file as given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Interfaces described so far. A pcap file has one. A pcapng file describes each before its first packet, so that
    /// [`RawPacket::interface`] is always an index into the list, and every section adds its own.
    pub fn interfaces(&self) -> &[Interface] {
        match &self.framing {
            Framing::Pcap(pcap) => pcap.interfaces(),
            Framing::PcapNg(pcapng) => pcapng.interfaces(),
        }
    }

    /// Format of the file.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Offset of the next packet in the decompressed capture, bytes.
    pub fn offset(&self) -> u64 {
        self.input.offset()
    }

    /// Bytes of the file on disk that have been read, of [`CaptureReader::size`], to show progress. A compressed file
    /// is read some chunks ahead.
    pub fn consumed(&self) -> u64 {
        match &self.progress {
            Some(progress) => progress.bytes(),
            None => self.input.offset(),
        }
    }

    /// Size of the file on disk when it was opened, bytes; `None` for a stream.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// Warnings so far, at most one of each [`WarningKind`].
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }
}

impl Framing {
    /// Identifies the format of the stream; the inner error describes a stream that is not a capture.
    fn find(input: &mut Input) -> Result<Result<Framing, String>, io::Error> {
        Ok(match identify::identify(input)? {
            Identity::Pcap(variant) => Pcap::new(variant, input)?.map(Framing::Pcap),
            Identity::PcapNg => PcapNg::new(input)?.map(Framing::PcapNg),
            Identity::Other(found) => Err(found),
        })
    }
}

//! One capture as a sequence of packets.

use crate::read::compression::{self, Progress};
use crate::read::error::{Damage, Fault};
use crate::read::identify::{self, Identity};
use crate::read::input::Input;
use crate::read::pcap::Pcap;
use crate::read::pcapng::PcapNg;
use crate::read::{
    CaptureError, Compression, Format, FormatKind, Interface, RawPacket, Sink, Warning, WarningKind,
};
use gentle_units::Nanos;
use gentle_wire::LinkType;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Reads the packets of one capture, in the order in which they were written.
///
/// Memory is bounded whatever the file contains: a window of 256 KiB, which a single large record makes grow, to 16 MiB
/// at most; the interfaces, 65,536 at most; and for a compressed file 1.5 MiB of chunks and what its decompressor needs,
/// for zstd and xz as much as the file was compressed with, 128 MiB at most.
pub struct CaptureReader {
    name: String,
    /// The file, where it can be opened again.
    path: Option<PathBuf>,
    input: Input,
    framing: Framing,
    format: Format,
    progress: Option<Progress>,
    size: Option<u64>,
    warnings: Vec<Warning>,
    strict: bool,
    ended: bool,
    /// The packet found last. It is written field by field and read so: a processor that has to load as a whole what it has
    /// just stored in parts waits until it is through; that was 14 % of the time of `gentle analyze` (perf).
    record: Record,
}

enum Framing {
    Pcap(Pcap),
    PcapNg(PcapNg),
}

/// A packet found in the window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record {
    pub(crate) time: Nanos,
    pub(crate) interface: u32,
    pub(crate) link: LinkType,
    pub(crate) original_len: u32,
    /// Where its bytes are, for [`Input::bytes`].
    pub(crate) at: usize,
    pub(crate) len: usize,
}

impl Record {
    const NONE: Record = Record {
        time: Nanos::ZERO,
        interface: 0,
        link: LinkType(0),
        original_len: 0,
        at: 0,
        len: 0,
    };

    #[inline]
    fn packet<'a>(&self, input: &'a Input) -> RawPacket<'a> {
        RawPacket {
            time: self.time,
            interface: self.interface,
            link: self.link,
            original_len: self.original_len,
            data: input.bytes(self.at, self.len),
        }
    }
}

impl CaptureReader {
    /// Opens a capture; `-` is standard input, as a stream.
    pub fn open(path: &Path) -> Result<CaptureReader, CaptureError> {
        let name = path.display().to_string();
        if path.as_os_str() == "-" {
            return CaptureReader::from_reader(name, Box::new(io::stdin()));
        }
        let io_error = |source| CaptureError::Io {
            file: path.display().to_string(),
            source,
        };
        let file = File::open(path).map_err(io_error)?;
        let metadata = file.metadata().map_err(io_error)?;
        if metadata.is_dir() {
            return Err(io_error(io::ErrorKind::IsADirectory.into()));
        }
        let mut reader = CaptureReader::from_reader(name, Box::new(file))?;
        if metadata.is_file() {
            reader.size = Some(metadata.len());
            reader.path = Some(path.to_owned());
        }
        Ok(reader)
    }

    /// Opens the capture again from its beginning; `None` for a stream.
    pub fn reopen(&self) -> Option<Result<CaptureReader, CaptureError>> {
        let path = self.path.as_ref()?;
        Some(CaptureReader::open(path).map(|reader| reader.strict(self.strict)))
    }

    /// Reads a capture from any stream of bytes, which `name` stands for in messages.
    pub fn from_reader(
        name: String,
        from: Box<dyn Read + Send>,
    ) -> Result<CaptureReader, CaptureError> {
        let io_error = |source| CaptureError::Io {
            file: name.clone(),
            source,
        };
        let opened = compression::open(from).map_err(io_error)?;
        let mut input = opened.input;
        let framing = Framing::find(&mut input).map_err(io_error)?;
        let framing = framing.map_err(|found| CaptureError::NotACapture {
            file: name.clone(),
            found: match opened.compression {
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
            path: None,
            input,
            framing,
            format: Format {
                kind,
                big_endian,
                compression: opened.compression,
            },
            progress: opened.progress,
            size: None,
            warnings: Vec::new(),
            strict: false,
            ended: false,
            record: Record::NONE,
        })
    }

    /// Whether damage is an error ([`CaptureError::Damaged`]) instead of a warning. It is not unless this says so.
    pub fn strict(mut self, strict: bool) -> CaptureReader {
        self.strict = strict;
        self
    }

    /// The next packet, or `None` at the end of the file or of what can be read of it. After an error there is none.
    #[inline]
    #[allow(clippy::should_implement_trait)] // A packet borrows from the reader, which an iterator's items cannot.
    pub fn next(&mut self) -> Result<Option<RawPacket<'_>>, CaptureError> {
        Ok(match self.find()? {
            true => Some(self.record.packet(&self.input)),
            false => None,
        })
    }

    /// Hands the next packets to `to`: those that are in the window, and at least one; `false` at the end.
    #[inline]
    pub(crate) fn read<S: Sink>(&mut self, to: &mut S) -> Result<bool, CaptureError> {
        if let Framing::Pcap(pcap) = &self.framing
            && !self.ended
            && pcap.read(&mut self.input, to)
        {
            return Ok(true);
        }
        self.read_one(to)
    }

    /// The next packet alone. `dyn` for the reason that `Merge::read_earliest` has.
    #[inline(never)]
    fn read_one(&mut self, to: &mut dyn Sink) -> Result<bool, CaptureError> {
        let found = self.find()?;
        if found {
            // It is the only one anyway.
            let _ = to.packet(0, &self.current());
        }
        Ok(found)
    }

    /// Finds the next packet and keeps it for [`CaptureReader::current`]; its time, or `None` at the end.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<Option<Nanos>, CaptureError> {
        Ok(self.find()?.then_some(self.record.time))
    }

    /// The packet that [`CaptureReader::advance`] has found.
    #[inline]
    pub(crate) fn current(&self) -> RawPacket<'_> {
        self.record.packet(&self.input)
    }

    /// Whether there is a next packet; then it is in `record`.
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
                Ok(true) => return Ok(true),
                Ok(false) => self.end()?,
                Err(fault) => self.suffer(*fault)?,
            }
        }
    }

    /// The file ends between two packets; its compression may say that it should not.
    #[cold]
    fn end(&mut self) -> Result<(), CaptureError> {
        self.ended = true;
        match self.input.broken() {
            None => Ok(()),
            Some(how) => {
                let damage = Damage {
                    kind: WarningKind::Compression,
                    offset: self.input.offset(),
                    expected: "more packets, or an end".into(),
                    found: how.to_owned(),
                };
                self.warn(damage)
            }
        }
    }

    #[cold]
    fn suffer(&mut self, fault: Fault) -> Result<(), CaptureError> {
        let mut damage = match fault {
            Fault::Io(source) => {
                self.ended = true;
                return Err(CaptureError::Io {
                    file: self.name.clone(),
                    source,
                });
            }
            Fault::Damage(damage) => damage,
        };
        if damage.kind == WarningKind::CutShort
            && let Some(how) = self.input.broken()
        {
            damage.kind = WarningKind::Compression;
            damage.found = how.to_owned();
        }
        self.ended |= damage.kind.ends_the_file();
        self.warn(damage)
    }

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

    /// The file's name as it was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The interfaces seen so far. A pcap file has one; pcapng describes each before its first packet, so that
    /// [`RawPacket::interface`] is always among them, and every section adds its own.
    pub fn interfaces(&self) -> &[Interface] {
        match &self.framing {
            Framing::Pcap(pcap) => pcap.interfaces(),
            Framing::PcapNg(pcapng) => pcapng.interfaces(),
        }
    }

    /// How the file is written.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Bytes of the capture, decompressed if it is compressed, before the next packet.
    pub fn offset(&self) -> u64 {
        self.input.offset()
    }

    /// Bytes of the file on disk that have been read, for a display of progress: to be set against
    /// [`CaptureReader::size`]. A compressed file is read some chunks ahead.
    pub fn consumed(&self) -> u64 {
        match &self.progress {
            Some(progress) => progress.bytes(),
            None => self.input.offset(),
        }
    }

    /// Bytes of the file on disk, when it was opened; `None` for a stream.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// What was amiss up to here, at most one of each [`WarningKind`].
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }
}

impl Framing {
    /// Finds out what the stream is; the inner error says what it is instead of a capture.
    fn find(input: &mut Input) -> Result<Result<Framing, String>, io::Error> {
        Ok(match identify::identify(input)? {
            Identity::Pcap(variant) => Pcap::new(variant, input)?.map(Framing::Pcap),
            Identity::PcapNg => PcapNg::new(input)?.map(Framing::PcapNg),
            Identity::Other(found) => Err(found),
        })
    }
}

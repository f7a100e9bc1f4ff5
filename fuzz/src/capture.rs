//! Reading a capture of any bytes.

use gentle_capture::{CaptureError, CaptureReader, Merge, RawPacket, Sink, Warning};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Cursor, Read};
use std::ops::ControlFlow;

/// Reads a stream in small pieces, as a pipe may give it.
struct Trickle<R> {
    from: R,
    piece: usize,
}

impl<R: Read> Read for Trickle<R> {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        let len = space.len().min(self.piece);
        self.from.read(&mut space[..len])
    }
}

/// What reading a capture came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Packets read.
    pub packets: u64,
    /// Bytes they had on the wire.
    pub wire_bytes: u64,
    /// A hash of everything that was said of them, and of the warnings.
    digest: u64,
}

/// What is being read.
#[derive(Default)]
struct Reading {
    packets: u64,
    wire_bytes: u64,
    digest: DefaultHasher,
}

impl Reading {
    fn note(&mut self, packet: &RawPacket<'_>) {
        self.packets += 1;
        self.wire_bytes += u64::from(packet.original_len);
        packet.time.hash(&mut self.digest);
        (
            packet.interface,
            packet.link,
            packet.original_len,
            packet.data,
        )
            .hash(&mut self.digest);
    }

    fn end(mut self, warnings: &[Warning]) -> Outcome {
        for warning in warnings {
            warning.to_string().hash(&mut self.digest);
        }
        Outcome {
            packets: self.packets,
            wire_bytes: self.wire_bytes,
            digest: self.digest.finish(),
        }
    }
}

impl Sink for Reading {
    fn packet(&mut self, file: usize, packet: &RawPacket<'_>) -> ControlFlow<()> {
        assert_eq!(file, 0);
        self.note(packet);
        // Breaks off now and then.
        match packet.data.len() % 3 {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Reads a bare capture in one piece, in small ones, as a stream, and strictly, and holds the four against each other;
/// `None` if it is not a capture.
pub fn read_every_way(bytes: &[u8], piece: usize) -> Option<Outcome> {
    let whole = read_all(
        &mut open(Cursor::new(bytes.to_vec())).ok()?,
        bytes.len() as u64,
    );
    let trickle = Trickle {
        from: Cursor::new(bytes.to_vec()),
        piece: piece.max(1),
    };
    match open(trickle) {
        Ok(mut reader) => {
            assert_eq!(whole, read_all(&mut reader, bytes.len() as u64));
            assert_eq!(whole, read_as_stream(bytes));
            read_strictly(bytes, whole.packets, reader.warnings());
        }
        // Variants with longer record headers are known by what has arrived of the first records when the file is
        // opened: a live stream is not waited for.
        Err(error) => assert!(error.to_string().contains("pcap variant"), "{error}"),
    }
    Some(whole)
}

/// Opens a stream as a capture.
///
/// # Errors
/// If it is none.
pub fn open(from: impl Read + Send + 'static) -> Result<CaptureReader, CaptureError> {
    CaptureReader::from_reader("fuzz".to_owned(), Box::new(from))
}

/// Reads all packets of a capture that has, decompressed, at most `size` bytes.
pub fn read_all(reader: &mut CaptureReader, size: u64) -> Outcome {
    let mut reading = Reading::default();
    let mut before = reader.offset();
    loop {
        let packet = match reader.next() {
            Ok(Some(packet)) => packet,
            Ok(None) => break,
            Err(error) => panic!("only a file or a strict reader fails: {error}"),
        };
        let (link, interface, captured) = (packet.link, packet.interface, packet.data.len() as u64);
        reading.note(&packet);
        let offset = reader.offset();
        assert!(offset >= before + captured, "a packet lies before another");
        assert!(offset <= size, "a packet ends behind the end");
        before = offset;
        assert_eq!(reader.interfaces()[interface as usize].link, link);
    }
    assert!(matches!(reader.next(), Ok(None)), "the end is the end");
    assert!(before <= reader.offset() && reader.offset() <= size);
    for interface in reader.interfaces() {
        for text in [&interface.name, &interface.description]
            .into_iter()
            .flatten()
        {
            // A byte that is no UTF-8 takes three.
            assert!(text.len() <= 3 * 255);
        }
    }
    let warnings = reader.warnings();
    for (at, warning) in warnings.iter().enumerate() {
        assert!(
            warnings[..at]
                .iter()
                .all(|other| other.kind != warning.kind)
        );
        assert!(warning.offset <= size && warning.count > 0);
    }
    reading.end(warnings)
}

/// As the analysis reads it.
fn read_as_stream(bytes: &[u8]) -> Outcome {
    let reader = open(Cursor::new(bytes.to_vec())).expect("a capture");
    let mut merge = Merge::new(vec![reader]);
    let mut reading = Reading::default();
    while merge.read(&mut reading).expect("it is not strict") {}
    assert!(!merge.read(&mut reading).expect("the end is the end"));
    reading.end(merge.readers()[0].warnings())
}

/// A strict reader fails if there was damage, after packets that the other reader had found too.
fn read_strictly(bytes: &[u8], packets: u64, warnings: &[Warning]) {
    let opened = open(Cursor::new(bytes.to_vec()));
    let mut reader = opened.expect("a capture").strict(true);
    let mut found = 0;
    let damaged = loop {
        match reader.next() {
            Ok(Some(_)) => found += 1,
            Ok(None) => break false,
            Err(error) => break !error.to_string().is_empty(),
        }
    };
    assert_eq!(
        damaged,
        warnings.iter().any(|warning| warning.kind.is_damage())
    );
    assert!(found == packets || damaged && found < packets);
    assert!(
        matches!(reader.next(), Ok(None)),
        "after an error there is nothing"
    );
}

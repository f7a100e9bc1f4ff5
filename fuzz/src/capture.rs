//! Readers of captures of arbitrary bytes.

use gentle_capture::{CaptureError, CaptureReader, Merge, RawPacket, Sink, Warning};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Cursor, Read};
use std::ops::ControlFlow;

/// Reads a stream in small pieces, like a pipe.
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

/// Result of reading a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Number of packets read.
    pub packets: u64,
    /// Sum of the packets' lengths on the wire, bytes.
    pub wire_bytes: u64,
    /// Hash of all properties of the packets, and of the warnings.
    digest: u64,
}

/// State of reading a capture.
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
        (packet.interface, packet.link, packet.original_len, packet.data).hash(&mut self.digest);
    }

    fn end(mut self, warnings: &[Warning]) -> Outcome {
        for warning in warnings {
            warning.to_string().hash(&mut self.digest);
        }
        Outcome { packets: self.packets, wire_bytes: self.wire_bytes, digest: self.digest.finish() }
    }
}

impl Sink for Reading {
    fn packet(&mut self, file: usize, packet: &RawPacket<'_>) -> ControlFlow<()> {
        assert_eq!(file, 0);
        self.note(packet);
        // Stop the merge from time to time.
        match packet.data.len() % 3 {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Reads an uncompressed capture in one piece, in small pieces, as a stream, and strictly, and compares the results;
/// `None` if it is not a capture.
pub fn read_every_way(bytes: &[u8], piece: usize) -> Option<Outcome> {
    let whole = read_all(&mut open(Cursor::new(bytes.to_vec())).ok()?, bytes.len() as u64);
    let trickle = Trickle { from: Cursor::new(bytes.to_vec()), piece: piece.max(1) };
    match open(trickle) {
        Ok(mut reader) => {
            assert_eq!(whole, read_all(&mut reader, bytes.len() as u64));
            assert_eq!(whole, read_as_stream(bytes));
            read_strictly(bytes, whole.packets, reader.warnings());
        }
        // pcap variants with longer record headers are recognised only if the first records have arrived when the file
        // is opened, because the reader does not wait for a live stream.
        Err(error) => assert!(error.to_string().contains("pcap variant"), "{error}"),
    }
    Some(whole)
}

/// Opens a stream as a capture.
///
/// # Errors
/// The stream is not a capture.
pub fn open(from: impl Read + Send + 'static) -> Result<CaptureReader, CaptureError> {
    CaptureReader::from_reader("fuzz".to_owned(), Box::new(from))
}

/// Reads all packets of a capture of at most `size` bytes (decompressed).
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
        for text in [&interface.name, &interface.description].into_iter().flatten() {
            // Each byte that is not UTF-8 becomes three bytes.
            assert!(text.len() <= 3 * 255);
        }
    }
    let warnings = reader.warnings();
    for (at, warning) in warnings.iter().enumerate() {
        assert!(warnings[..at].iter().all(|other| other.kind != warning.kind));
        assert!(warning.offset <= size && warning.count > 0);
    }
    reading.end(warnings)
}

/// Reads a capture in the way of the analysis.
fn read_as_stream(bytes: &[u8]) -> Outcome {
    let reader = open(Cursor::new(bytes.to_vec())).expect("a capture");
    let mut merge = Merge::new(vec![reader]);
    let mut reading = Reading::default();
    while merge.read(&mut reading).expect("it is not strict") {}
    assert!(!merge.read(&mut reading).expect("the end is the end"));
    reading.end(merge.readers()[0].warnings())
}

/// Checks that a strict reader fails if there was damage, after packets that the other reader has found too.
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
    assert_eq!(damaged, warnings.iter().any(|warning| warning.kind.is_damage()));
    assert!(found == packets || damaged && found < packets);
    assert!(matches!(reader.next(), Ok(None)), "after an error there is nothing");
}

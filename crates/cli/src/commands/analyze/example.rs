//! The capture of `gentle analyze --example`.
//!
//! `gentle-captures` made it, so its losses are known. A test regenerates it.

use crate::output::OutputFile;
use anyhow::Context;
use gentle_capture::{CaptureError, CaptureReader, PcapWriter, Resolution};
use std::io::Cursor;
use std::path::Path;

/// The capture: pcap, compressed with gzip.
const CAPTURE: &[u8] = include_bytes!("../../../example.pcap.gz");

/// Opens the capture.
pub(super) fn open() -> Result<CaptureReader, CaptureError> {
    let stream = Box::new(Cursor::new(CAPTURE));
    let reader = CaptureReader::from_reader("--example".to_owned(), stream)?;
    Ok(reader.reopened_by(CAPTURE.len() as u64, open))
}

/// Writes the capture to a file, without compression.
pub(super) fn write(path: &Path) -> anyhow::Result<()> {
    let mut file = OutputFile::create(path)?;
    let name = file.name();
    let mut reader = open()?;
    // A pcap file has one interface.
    let link = reader.interfaces().first().context("the example has a file header")?.link;
    let writer = PcapWriter::new(&mut file, link, None, Resolution::Nanos);
    let mut writer = writer.with_context(|| name.clone())?;
    while let Some(packet) = reader.next()? {
        writer.packet(&packet).with_context(|| name.clone())?;
    }
    file.commit()
}

//! Splits the packet capture of a run into one before the queues and one after them. In a single file a reader would
//! take the second observation of a packet for a retransmission.

use super::ResultsError;
use crate::traffic::CapturePoint;
use gentle_capture::{CaptureReader, InterfaceDescription, PcapNgWriter, RawPacket};
use gentle_wire::LinkType;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Copies the packets in `from` that were seen at `points` to `to`.
///
/// # Errors
/// One of the files cannot be read or written.
pub fn split(from: &Path, to: &Path, points: &[CapturePoint]) -> Result<(), ResultsError> {
    let writing = |source| ResultsError::Write { path: to.to_owned(), source };
    let mut reader = CaptureReader::open(from)?.strict(true);
    let file = BufWriter::new(File::create(to).map_err(writing)?);
    let mut writer = PcapNgWriter::new(file).map_err(writing)?;
    for point in points {
        let interface =
            InterfaceDescription { name: Some(point.name()), ..InterfaceDescription::new(LinkType::ETHERNET) };
        writer.interface(&interface).map_err(writing)?;
    }
    while let Some(packet) = reader.next()? {
        let seen_at = CapturePoint::ALL.get(packet.interface as usize);
        let Some(interface) = points.iter().position(|point| Some(point) == seen_at) else {
            continue;
        };
        let packet = RawPacket { interface: interface as u32, ..packet };
        writer.packet(&packet).map_err(writing)?;
    }
    writer.into_inner().flush().map_err(writing)
}

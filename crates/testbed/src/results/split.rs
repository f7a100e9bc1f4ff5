//! Splits the packet capture of a run into one before the queues and one after them. In a single file a reader would
//! take the second observation of a packet for a retransmission.

use super::ResultsError;
use crate::conduct::Point;
use pcap_file::DataLink;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption, InterfaceTsResolution,
};
use pcap_file::pcapng::{PcapNgReader, PcapNgWriter};
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;

/// Copies the packets in `from` that were seen at `points` to `to`.
///
/// # Errors
/// One of the files cannot be read or written.
pub fn split(from: &Path, to: &Path, points: &[Point]) -> Result<(), ResultsError> {
    let reading = |problem: String| ResultsError::Packets {
        path: from.to_owned(),
        problem,
    };
    let writing = |problem: String| ResultsError::Packets {
        path: to.to_owned(),
        problem,
    };
    let file = File::open(from).map_err(|error| reading(error.to_string()))?;
    let mut reader = PcapNgReader::new(BufReader::with_capacity(1 << 20, file))
        .map_err(|error| reading(error.to_string()))?;
    let file = File::create(to).map_err(|error| writing(error.to_string()))?;
    let mut writer =
        PcapNgWriter::new(BufWriter::new(file)).map_err(|error| writing(error.to_string()))?;
    for point in points {
        let mut interface = InterfaceDescriptionBlock::new(DataLink::ETHERNET, 0);
        interface.options = vec![
            InterfaceDescriptionOption::IfName(point.name().into()),
            InterfaceDescriptionOption::IfTsResol(InterfaceTsResolution::NANO),
        ];
        writer
            .write_pcapng_block(interface)
            .map_err(|error| writing(error.to_string()))?;
    }
    while let Some(block) = reader.next_block() {
        let (block, _) = block.map_err(|error| reading(error.to_string()))?;
        let Some(packet) = block.as_enhanced_packet() else {
            continue;
        };
        let seen_at = Point::ALL.get(packet.interface_id as usize);
        let Some(interface) = points.iter().position(|point| Some(point) == seen_at) else {
            continue;
        };
        let mut packet = packet.clone();
        packet.interface_id = interface as u32;
        writer
            .write_pcapng_block(packet)
            .map_err(|error| writing(error.to_string()))?;
    }
    let mut file = writer.into_inner();
    file.flush().map_err(|error| writing(error.to_string()))
}

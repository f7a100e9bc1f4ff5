//! A simulation that Wireshark can open: the packets at the bottleneck's entries and exits as pcapng.
//!
//! Each direction has three interfaces: `entry` (offered to the queue), `exit` (sent) and `drop` (with a comment that
//! says why and after how long). Time 0 of the file is the start of the run. Frames are cut behind their headers; what
//! is missing would be zeros, over which the checksums are right. The left hosts are 10.1.x.x, one port a connection,
//! the right host is 10.2.0.1, port 9 (discard).

mod frame;

use crate::engine::{DropCause, Packet, Simulation, Stopped, Tap};
use gentle_aqm::{Packet as _, Spec};
use gentle_experiment::{Direction, RunSpec, Scenario, Watch};
use gentle_units::Nanos;
use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption, InterfaceTsResolution,
};
use pcap_file::pcapng::blocks::opt_common::CommonOption;
use std::io::Write;
use std::time::Duration;
use thiserror::Error;

/// Why a capture was not written whole.
#[derive(Debug, Error)]
pub enum CaptureError {
    /// The writer failed.
    #[error("the capture could not be written")]
    Write(#[source] WriteError),
    /// The run was stopped.
    #[error("the run was stopped before its end")]
    Stopped,
}

/// What the pcapng writer reports; it does not let its own type be named.
type WriteError = Box<dyn std::error::Error + Send + Sync>;

/// Runs `scenario` under `spec` with `seed` and writes what passes the bottleneck to `writer`.
///
/// It is the run that `compare` makes of the same three. Memory does not grow with the file.
///
/// # Errors
/// The run was stopped, or `writer` failed.
pub fn capture<W: Write>(
    scenario: &Scenario,
    spec: &Spec,
    seed: u64,
    writer: W,
    watch: &Watch<'_>,
) -> Result<(), CaptureError> {
    let mut recorder = Recorder::new(scenario, writer).map_err(CaptureError::Write)?;
    let end = (scenario.duration + scenario.drain).as_secs_f64();
    let run = RunSpec {
        scenario,
        scheme: spec,
        seed,
        bins: &[],
    };
    Simulation::new(&run, &mut recorder)
        .run(|now| watch.reached(now.as_secs_f64() / end))
        .map_err(|Stopped| CaptureError::Stopped)?;
    match recorder.failed {
        Some(error) => Err(CaptureError::Write(error)),
        None => Ok(()),
    }
}

/// Interfaces of one direction, in the order in which they are described.
#[derive(Debug, Clone, Copy)]
enum Place {
    Entry,
    Exit,
    Drop,
}

const PLACES: [(Place, &str); 3] = [
    (Place::Entry, "entry"),
    (Place::Exit, "exit"),
    (Place::Drop, "drop"),
];

struct Recorder<W: Write> {
    writer: PcapNgWriter<W>,
    /// The first error; nothing is written after it.
    failed: Option<WriteError>,
    overhead: [u32; 2],
    frame: Vec<u8>,
}

impl<W: Write> Recorder<W> {
    fn new(scenario: &Scenario, writer: W) -> Result<Self, WriteError> {
        let mut writer = PcapNgWriter::new(writer)?;
        for direction in Direction::BOTH {
            for (_, place) in PLACES {
                let mut interface = InterfaceDescriptionBlock::new(DataLink::ETHERNET, 0);
                interface.options = vec![
                    InterfaceDescriptionOption::IfName(
                        format!("{} {place}", direction.name()).into(),
                    ),
                    InterfaceDescriptionOption::IfSpeed(
                        scenario.link(direction).rate.bits_per_second(),
                    ),
                    InterfaceDescriptionOption::IfTsResol(InterfaceTsResolution::NANO),
                ];
                writer.write_pcapng_block(interface)?;
            }
        }
        Ok(Recorder {
            writer,
            failed: None,
            overhead: Direction::BOTH.map(|direction| scenario.link(direction).overhead),
            frame: Vec::new(),
        })
    }

    fn record(
        &mut self,
        now: Nanos,
        direction: Direction,
        place: Place,
        packet: &Packet,
        comment: Option<String>,
    ) {
        if self.failed.is_some() {
            return;
        }
        let ip_bytes = packet.bytes() - self.overhead[direction.index()];
        let ip_bytes = ip_bytes.min(frame::LONGEST_IP_PACKET);
        frame::write(packet, ip_bytes, &mut self.frame);
        let block = EnhancedPacketBlock {
            interface_id: (direction.index() * PLACES.len() + place as usize) as u32,
            timestamp: Duration::from_nanos(now.0),
            original_len: frame::ETHERNET_HEADER + ip_bytes,
            data: self.frame.as_slice().into(),
            options: comment
                .map(|text| EnhancedPacketOption::Common(CommonOption::Comment(text.into())))
                .into_iter()
                .collect(),
        };
        if let Err(error) = self.writer.write_pcapng_block(block) {
            self.failed = Some(error.into());
        }
    }
}

impl<W: Write> Tap for Recorder<W> {
    fn offered(&mut self, now: Nanos, direction: Direction, packet: &Packet) {
        self.record(now, direction, Place::Entry, packet, None);
    }

    fn sent(&mut self, now: Nanos, direction: Direction, packet: &Packet) {
        self.record(now, direction, Place::Exit, packet, None);
    }

    fn dropped(&mut self, now: Nanos, direction: Direction, packet: &Packet, cause: DropCause) {
        let comment = match packet.arrived() {
            // Refused on arrival, so never stamped; nothing else can be dropped at the very start.
            Nanos::ZERO => format!("dropped: {cause}"),
            arrived => format!(
                "dropped: {cause}, {:.3} ms after it entered the queue",
                now.saturating_sub(arrived).as_secs_f64() * 1e3
            ),
        };
        self.record(now, direction, Place::Drop, packet, Some(comment));
    }
}

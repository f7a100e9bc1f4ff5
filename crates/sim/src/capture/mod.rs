//! Capture of a run, for Wireshark: the packets at the bottleneck's entries and exits as pcapng.
//!
//! Each direction has an interface for each [`QueueSide`]; the packets of `drop` have the reason and the sojourn time in
//! a comment. Time 0 of the file is the start of the run. Frames are cut after their headers; the checksums are as for
//! a payload of zeros. [`frame`] has the addresses.

mod frame;

use crate::engine::{DropCause, Packet, Simulation, Stopped, Tap};
use gentle_aqm::{Packet as _, Spec};
use gentle_capture::{InterfaceDescription, PcapNgWriter, QueueSide, RawPacket};
use gentle_experiment::{Direction, RunSpec, Scenario, Watch};
use gentle_units::Instant;
use gentle_wire::LinkType;
use std::io::{self, Write};
use thiserror::Error;

/// Errors of [`capture`].
#[derive(Debug, Error)]
pub enum CaptureError {
    /// The writer failed.
    #[error("the capture could not be written")]
    Write(#[source] io::Error),
    /// The run was stopped.
    #[error("the run was interrupted before its end")]
    Stopped,
}

/// Runs `scenario` under `spec` with `seed` and writes what passes the bottleneck to `writer`.
///
/// The run is the same as in a comparison with this scenario, scheme and seed. Memory does not grow with the file.
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
    let scenario = &scenario.under(spec);
    let mut recorder = Recorder::new(scenario, writer).map_err(CaptureError::Write)?;
    let end = scenario.ends_at().as_secs_f64();
    let run = RunSpec { scenario, scheme: spec, seed, bins: &[], keep_connections: false };
    Simulation::new(&run, &mut recorder)
        .run(|now| watch.reached(now.as_secs_f64() / end))
        .map_err(|Stopped| CaptureError::Stopped)?;
    match recorder.failed {
        Some(error) => Err(CaptureError::Write(error)),
        None => Ok(()),
    }
}

struct Recorder<W: Write> {
    writer: PcapNgWriter<W>,
    /// The first error; nothing is written after it.
    failed: Option<io::Error>,
    overhead: [u32; 2],
    frame: Vec<u8>,
}

impl<W: Write> Recorder<W> {
    fn new(scenario: &Scenario, writer: W) -> io::Result<Self> {
        let mut writer = PcapNgWriter::new(writer)?;
        for direction in Direction::BOTH {
            for side in QueueSide::ALL {
                writer.interface(&InterfaceDescription {
                    name: Some(&format!("{} {}", direction.name(), side.name())),
                    description: Some(side.description()),
                    speed: Some(scenario.link(direction).rate.bits_per_second()),
                    ..InterfaceDescription::new(LinkType::ETHERNET)
                })?;
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
        now: Instant,
        direction: Direction,
        side: QueueSide,
        packet: &Packet,
        comment: Option<String>,
    ) {
        if self.failed.is_some() {
            return;
        }
        let ip_bytes = packet.bytes() - self.overhead[direction.index()];
        let ip_bytes = ip_bytes.min(frame::LONGEST_IP_PACKET);
        frame::write(packet, ip_bytes, &mut self.frame);
        let packet = RawPacket {
            time: now,
            interface: (direction.index() * QueueSide::ALL.len() + side as usize) as u32,
            link: LinkType::ETHERNET,
            original_len: frame::ETHERNET_HEADER + ip_bytes,
            data: &self.frame,
        };
        let written = match comment {
            Some(comment) => self.writer.packet_with_comment(&packet, &comment),
            None => self.writer.packet(&packet),
        };
        self.failed = written.err();
    }
}

impl<W: Write> Tap for Recorder<W> {
    fn offered(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        self.record(now, direction, QueueSide::Entry, packet, None);
    }

    fn sent(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        self.record(now, direction, QueueSide::Exit, packet, None);
    }

    fn dropped(&mut self, now: Instant, direction: Direction, packet: &Packet, cause: DropCause) {
        let comment = match packet.arrived() {
            // Dropped on arrival, before the queue set the time.
            Instant::ZERO => format!("dropped: {cause}"),
            arrived => format!(
                "dropped: {cause}, {:.3} ms after it entered the queue",
                now.saturating_since(arrived).as_secs_f64() * 1e3
            ),
        };
        self.record(now, direction, QueueSide::Drop, packet, Some(comment));
    }
}

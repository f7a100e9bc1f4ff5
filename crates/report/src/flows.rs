//! Lists of flows, as replayed by `gentle compare --traffic FILE.csv`.

use crate::failure::of_csv;
use crate::format::seconds;
use gentle_experiment::{Direction, Flow, Initiator};
use std::io::{self, Write};

/// Writes flows in the format that [`Scenario::from_flows`](gentle_experiment::Scenario::from_flows) reads (`docs/reference/scenarios.md`):
/// `start_s,bytes,rtt_s,direction,initiator`, the last three empty where a flow leaves them to the scenario.
pub struct Writer<W: Write> {
    out: csv::Writer<W>,
}

impl<W: Write> Writer<W> {
    /// Creates a writer and writes the header.
    pub fn new(to: W) -> io::Result<Self> {
        let mut out = csv::Writer::from_writer(to);
        out.write_record(["start_s", "bytes", "rtt_s", "direction", "initiator"]).map_err(of_csv)?;
        Ok(Self { out })
    }

    /// Writes one flow; the order does not matter.
    ///
    /// A flow without payload is an error ([`io::ErrorKind::InvalidInput`]), as it cannot be replayed.
    pub fn write(&mut self, flow: &Flow) -> io::Result<()> {
        if flow.bytes == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a flow without payload cannot be replayed"));
        }
        self.out
            .write_record([
                seconds(flow.at).as_str(),
                &flow.bytes.to_string(),
                &flow.rtt.map(seconds).unwrap_or_default(),
                flow.direction.map_or("", Direction::name),
                flow.initiator.map_or("", Initiator::name),
            ])
            .map_err(of_csv)
    }

    /// Flushes the buffer. Dropping the writer flushes it too, but ignores errors.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

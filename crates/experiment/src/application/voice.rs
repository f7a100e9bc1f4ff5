//! Voice calls: speech both ways at once, at a constant rate.

use super::datagram::{Datagram, DatagramEnd, Message};
use super::flow::{FlowTimes, Offered, interval, length};
use super::meter::Meter;
use super::playout::Playout;
use super::stream::Stream;
use crate::error::ScenarioError;
use crate::metrics::application::ApplicationRecord;
use crate::metrics::serial::nanos;
use crate::scenario::section::Section;
use gentle_units::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Packets of a call without silence suppression.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Voice {
    /// Speech in a packet.
    #[serde(with = "nanos")]
    pub interval: Nanos,
    /// Length of an IP packet, bytes.
    pub packet: u32,
    /// Time that the receiver adds to the shortest transit before it plays a packet.
    #[serde(with = "nanos")]
    pub playout: Nanos,
}

impl Voice {
    pub(crate) fn read(section: &mut Section<'_>) -> Result<Voice, ScenarioError> {
        Ok(Voice {
            // RFC 3551, section 4.2.
            interval: interval(section, "interval", Nanos::from_millis(20))?,
            // G.711: 160 bytes of speech, and the headers of RTP, UDP and IPv4.
            packet: length(section, "packet", 200)?,
            // The nominal delay of Cisco's voice gateways.
            playout: match section.take("playout") {
                Some(item) => {
                    let (time, longest) = (item.time()?, Nanos::from_secs(10));
                    if time > longest {
                        return Err(item.error(format!("expected at most {longest}")));
                    }
                    time
                }
                None => Nanos::from_millis(60),
            },
        })
    }

    /// Rate of what the client and the server send.
    pub(super) fn offered(&self) -> [Offered; 2] {
        [Offered::packets(self.packet, self.interval); 2]
    }

    pub(super) fn ends(&self, times: &FlowTimes) -> [Box<dyn DatagramEnd>; 2] {
        let speech = times
            .first
            .map(|first| Stream::new(first, self.interval, times.stop));
        [0, 1].map(|end| -> Box<dyn DatagramEnd> {
            Box::new(VoiceEnd {
                packet: self.packet,
                meter: Meter::new(times.warmup),
                speech: speech[end],
                playout: Playout::new(speech[1 - end], self.playout, times.warmup),
            })
        })
    }
}

impl fmt::Display for Voice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} bytes each {}, played after {}",
            self.packet, self.interval, self.playout
        )
    }
}

struct VoiceEnd {
    packet: u32,
    meter: Meter,
    speech: Stream,
    playout: Playout,
}

impl DatagramEnd for VoiceEnd {
    fn next_at(&self) -> Nanos {
        self.speech.next_at()
    }

    fn on_timer(&mut self, now: Nanos, out: &mut Vec<Datagram>, record: &mut ApplicationRecord) {
        while self.speech.take(now).is_some() {
            let datagram = (self.meter).send(now, self.packet, Message::Packet, record);
            out.push(datagram);
        }
    }

    fn on_datagram(
        &mut self,
        now: Nanos,
        datagram: &Datagram,
        _: &mut Vec<Datagram>,
        record: &mut ApplicationRecord,
    ) {
        self.meter.receive(now, datagram, record);
        self.playout.arrive(now, datagram.number, record);
    }

    fn finish(&mut self, record: &mut ApplicationRecord) {
        self.playout.finish(record);
    }
}

//! Voice calls: speech both ways at once, at a constant rate.

use super::datagram::DatagramEnd;
use super::flow::{DatagramApplication, FlowTimes, Offered, interval, length};
use super::playout::Playout;
use super::stream::Stream;
use super::stream_end::StreamEnd;
use crate::error::ScenarioError;
use crate::results::{Better, HarmNumbers};
use crate::section::Section;
use gentle_units::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Packets of a call without silence suppression.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Voice {
    /// Speech in a packet.
    pub interval: Nanos,
    /// Length of an IP packet, bytes.
    pub packet: u32,
    /// Time that the receiver adds to the shortest transit before it plays a packet.
    pub playout: Nanos,
}

impl DatagramApplication for Voice {
    const NAME: &'static str = "voice";
    const FLOWS: Option<&'static str> = Some("calls");
    const HARM: HarmNumbers = &[("delay_s.p99", Better::Lower)];

    fn read(section: &mut Section<'_>) -> Result<Voice, ScenarioError> {
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
    fn offered(&self) -> [Offered; 2] {
        [Offered::packets(self.packet, self.interval); 2]
    }

    fn ends(&self, times: &FlowTimes) -> [Box<dyn DatagramEnd>; 2] {
        let speech = times.first.map(|first| Stream::new(first, self.interval, times.stop));
        [0, 1].map(|end| -> Box<dyn DatagramEnd> {
            let playout = Playout::new(speech[1 - end], self.playout, times.warmup);
            let end = StreamEnd::new(self.packet, speech[end], times.warmup);
            Box::new(end.with_playout(playout))
        })
    }
}

impl fmt::Display for Voice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes each {}, played after {}", self.packet, self.interval, self.playout)
    }
}

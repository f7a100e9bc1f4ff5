//! Online games: the client reports what the player does, the server what happens in the world.

use super::datagram::DatagramEnd;
use super::flow::{DatagramApplication, FlowTimes, Offered, interval, length};
use super::stream::Stream;
use super::stream_end::StreamEnd;
use crate::error::ScenarioError;
use crate::results::{Better, HarmNumbers};
use crate::section::Section;
use gentle_units::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Packets of a player. The defaults are the modes of the distributions that J. Färber fitted to Counter-Strike
/// ("Traffic Modelling for Fast Action Network Games", Multimedia Tools and Applications 23(1), 2004): a client sends
/// 80 bytes each 40 ms, a server 120 bytes each 55 ms to each player.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Game {
    /// Interval of the client's packets.
    pub up_interval: Nanos,
    /// Length of the client's IP packets, bytes.
    pub up_packet: u32,
    /// Interval of the server's packets.
    pub down_interval: Nanos,
    /// Length of the server's IP packets, bytes.
    pub down_packet: u32,
}

impl DatagramApplication for Game {
    const NAME: &'static str = "game";
    const FLOWS: Option<&'static str> = Some("players");
    const HARM: HarmNumbers = &[("delay_s.p99", Better::Lower)];

    fn read(section: &mut Section<'_>) -> Result<Game, ScenarioError> {
        Ok(Game {
            up_interval: interval(section, "up_interval", Nanos::from_millis(40))?,
            up_packet: length(section, "up_packet", 108)?,
            down_interval: interval(section, "down_interval", Nanos::from_millis(55))?,
            down_packet: length(section, "down_packet", 148)?,
        })
    }

    /// Rate of what the client and the server send.
    fn offered(&self) -> [Offered; 2] {
        [Offered::packets(self.up_packet, self.up_interval), Offered::packets(self.down_packet, self.down_interval)]
    }

    fn ends(&self, times: &FlowTimes) -> [Box<dyn DatagramEnd>; 2] {
        let [client, server] = times.first;
        let end = |packet, first, interval| -> Box<dyn DatagramEnd> {
            let ticks = Stream::new(first, interval, times.stop);
            Box::new(StreamEnd::new(packet, ticks, times.warmup))
        };
        [end(self.up_packet, client, self.up_interval), end(self.down_packet, server, self.down_interval)]
    }
}

impl fmt::Display for Game {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} bytes each {} from the player, {} bytes each {} from the server",
            self.up_packet, self.up_interval, self.down_packet, self.down_interval
        )
    }
}

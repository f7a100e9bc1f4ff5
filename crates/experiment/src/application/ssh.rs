//! Keystrokes in a remote terminal, and their echoes.

use super::REQUEST;
use super::dialogue::{Drawn, Transactions};
use crate::draw::{Stream, exponential_time};
use crate::error::ScenarioError;
use crate::results::{Better, HarmNumbers};
use crate::section::Section;
use gentle_units::Nanos;
use gentle_units::text::plural;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;

/// Sessions of typing, which does not wait for the echo.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ssh {
    /// Mean time between keystrokes, nanoseconds, exponential.
    pub gap_ns: u64,
    /// Payload of a keystroke, and of its echo, bytes.
    pub packet: u32,
}

impl Ssh {
    /// Default of [`Ssh::gap_ns`]: the mean time between keystrokes of 168,000 typists (Dhakal et al., "Observations on
    /// Typing from 136 Million Keystrokes", CHI 2018: 239 ms).
    pub const GAP: Nanos = Nanos::from_millis(239);
    /// Default of [`Ssh::packet`]: one character in `SSH_MSG_CHANNEL_DATA` (RFC 4254, section 5.2) with OpenSSH's
    /// default cipher, chacha20-poly1305: 4 bytes of length, 16 with padding, 16 of authentication.
    pub const PACKET: u32 = 36;
}

impl Transactions for Ssh {
    const NAME: &'static str = "ssh";
    const USERS: (&'static str, &'static str) = ("sessions", "2");
    const HARM: HarmNumbers = &[("transaction_s.p99", Better::Lower)];
    const WAITS: bool = false;

    fn read(section: &mut Section<'_>) -> Result<Ssh, ScenarioError> {
        Ok(Ssh {
            gap_ns: match section.take("gap") {
                Some(item) => item.positive_time()?.0,
                None => Ssh::GAP.0,
            },
            packet: match section.take("packet") {
                Some(item) => item.size(REQUEST)? as u32,
                None => Ssh::PACKET,
            },
        })
    }

    fn draw(&self, _: u16, rng: &mut Stream) -> Drawn {
        Drawn {
            pause: exponential_time(Nanos(self.gap_ns), rng),
            stages: VecDeque::from([vec![u64::from(self.packet)]]),
            last: false,
        }
    }

    fn request_bytes(&self) -> u32 {
        self.packet
    }

    fn mean_bytes_and_pause(&self, _: u16) -> (f64, Nanos) {
        (f64::from(self.packet), Nanos(self.gap_ns))
    }

    fn describe(&self, users: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let users = plural(u64::from(users), "typist", "typists");
        write!(f, "{users}, mean gap {}, {} bytes and their echo", Nanos(self.gap_ns), self.packet)
    }
}

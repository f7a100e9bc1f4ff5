//! Keystrokes in a remote terminal, and their echoes.

use super::dialogue::Drawn;
use crate::draw::{Stream, exponential_time};
use gentle_units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

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

    pub(super) fn draw(&self, rng: &mut Stream) -> Drawn {
        Drawn {
            pause: exponential_time(Nanos(self.gap_ns), rng),
            stages: VecDeque::from([vec![u64::from(self.packet)]]),
            last: false,
        }
    }
}

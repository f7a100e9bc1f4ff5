//! Ends of a connection.

use serde::Serialize;

/// Payload in bytes of the request that a connecting receiver sends: one small segment.
pub const REQUEST_BYTES: u64 = 300;

/// End that opens the connection (active open, RFC 9293).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Initiator {
    /// The end that sends the data (as in Braud, Heusse and Duda 2018: SYN, data and FIN use the same link).
    Sender,
    /// The end that receives the data, like a browser: its SYN uses the reverse link.
    Receiver,
}

impl Initiator {
    /// Name in scenario files: `sender` or `receiver`.
    pub const fn name(self) -> &'static str {
        match self {
            Initiator::Sender => "sender",
            Initiator::Receiver => "receiver",
        }
    }
}

//! Report of a connect.

use schemars::JsonSchema;
use serde::Serialize;
use std::net::SocketAddr;

/// Version of the JSON; increases when a field is removed or changes its meaning.
pub const VERSION: u32 = 1;

/// End of a connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The handshake completed, even if the server reset the connection at once.
    Connected,
    /// The server answered with a reset (ECONNREFUSED).
    Refused,
    /// A router, a firewall or this host reports that there is no way (EHOSTUNREACH, ENETUNREACH, EACCES and others).
    Unreachable,
    /// No answer came before the timeout, or before the kernel gave up.
    TimedOut,
    /// The name has no address in the families that are probed.
    Unresolved,
    /// This host failed, for example because it has no free local port.
    Error,
}

impl Outcome {
    /// Name as in JSON and metrics, such as `timed-out`.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Connected => "connected",
            Outcome::Refused => "refused",
            Outcome::Unreachable => "unreachable",
            Outcome::TimedOut => "timed-out",
            Outcome::Unresolved => "unresolved",
            Outcome::Error => "error",
        }
    }
}

/// One connect.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Connect {
    /// Version of this format, 1.
    pub version: u32,
    /// Start, Unix time in seconds.
    pub time: f64,
    /// Target as given.
    pub target: String,
    /// Address and port connected to; `None` if the name has no address.
    #[schemars(with = "Option<String>")]
    pub address: Option<SocketAddr>,
    /// End of the connect.
    pub outcome: Outcome,
    /// Time from before connect(2) until the process learns of the outcome, seconds. The resolution is that of the monotonic
    /// clock; on a busy machine the process learns of it late.
    pub connect_s: f64,
    /// RTT of the handshake as the kernel measured it, seconds; the resolution is 1 ms if a SYN was retransmitted. `None` if
    /// the connect failed, or a SYN was retransmitted and the connection has no TCP timestamps.
    pub rtt_s: Option<f64>,
    /// SYNs sent; 0 if connect(2) failed at once.
    pub syns: u32,
    /// SYNs lost on the path, or ignored by the server, before one was answered.
    pub lost_syns: u32,
    /// SYN/ACKs lost on the path.
    pub lost_synacks: u32,
    /// Losses of which the kernel's numbers do not show the side.
    pub lost_unknown: u32,
    /// Whether the SYN/ACK arrived after a needless retransmission of the SYN.
    pub late: bool,
    /// SYNs without an answer, if the connect timed out; it is not known whether they arrived.
    pub unanswered: u32,
    /// Message of the system or the resolver, if the connect failed with one.
    pub error: Option<String>,
}

impl Connect {
    /// Whether a packet of a completed handshake was lost.
    pub fn has_loss(&self) -> bool {
        self.lost_syns > 0 || self.lost_synacks > 0 || self.lost_unknown > 0
    }
}

/// Events of a prober.
#[derive(Debug)]
pub enum Event<'a> {
    /// A connect ended.
    Connect(&'a Connect),
    /// Connects were not started.
    Skipped {
        /// Target as given.
        target: &'a str,
        /// Address and port that would have been connected to; `None` if the name has no address.
        address: Option<SocketAddr>,
        /// Number of connects.
        count: u64,
    },
    /// A name no longer has the address used so far.
    Moved {
        /// Target as given.
        target: &'a str,
        /// Address used so far.
        from: SocketAddr,
        /// Address used from now on.
        to: SocketAddr,
    },
}

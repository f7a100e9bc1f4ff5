//! Results of a live analysis.

use crate::connections::{CLIENT, Classification, Connection};
use crate::measure::cause_of;
use crate::results::{Cause, CauseKind, DroppedFor, HandshakeRtt, Lookups, PlaceNames, Quantiles, Top, TopEntry};
use crate::row::Outcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Length of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// The last 10 s, in steps of a second.
    Seconds,
    /// The last 60 to 70 s, in steps of 10 s.
    Minute,
    /// The last 60 to 65 min, in steps of 5 min.
    Hour,
}

impl Span {
    /// All spans, shortest first.
    pub const ALL: [Span; 3] = [Span::Seconds, Span::Minute, Span::Hour];
}

/// Statistics of the attempts decided in a window; percentiles to two significant digits.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// Time that the window covers, seconds; less than its length soon after the start.
    pub seconds: f64,
    /// Attempts: completed and failed ones.
    pub attempts: u64,
    /// Attempts that were completed.
    pub completed: u64,
    /// Completed attempts that waited for a retransmission, or whose answer was later than the initial RTO.
    pub slow: u64,
    /// Attempts that were refused, or that were not completed before the client gave up.
    pub failed: u64,
    /// Completed attempts that lost a SYN or SYN/ACK.
    pub with_loss: u64,
    /// Time that completed attempts waited for retransmissions, seconds.
    pub waited_s: f64,
    /// Time that failed attempts waited, seconds.
    pub failed_s: f64,
    /// Time from the first SYN until the handshake was complete at the capture point, of completed attempts, seconds.
    pub connect_s: Quantiles,
    /// Round-trip times of handshakes without retransmissions.
    pub rtt_s: HandshakeRtt,
    /// Causes of slow and failed attempts, longest wait first.
    pub causes: Vec<Cause>,
    /// Parts for which middleboxes drop SYNs.
    pub dropped_for: Vec<DroppedFor>,
    /// Servers, clients and prefixes that lose most time.
    pub top: Top,
    /// Ports of the servers with most attempts.
    pub ports: Vec<TopEntry>,
    /// Lookups of names that ended in the window, 12 s after their newest query; `None` if there is none.
    pub lookups: Option<Lookups>,
    /// Names of these servers, clients and prefixes, by address or prefix: given with `--names`, or of DNS answers that passed, the
    /// latest one of several.
    pub names: PlaceNames,
}

/// Attempt that was decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    /// Time of the first SYN, Unix time, seconds.
    pub time: f64,
    /// Address and port of the client.
    pub client: SocketAddr,
    /// Address and port of the server.
    pub server: SocketAddr,
    /// Name of the client, as `name`.
    pub client_name: Option<String>,
    /// Name of the server: given with `--names`, or of a DNS answer that passed.
    pub name: Option<String>,
    /// Outcome.
    pub outcome: Outcome,
    /// Whether the attempt was completed later than without retransmissions.
    pub slow: bool,
    /// SYNs, including copies.
    pub syns: u16,
    /// SYN/ACKs, including copies.
    pub synacks: u16,
    /// Time from the first SYN until the handshake was complete at the capture point, seconds.
    pub connect_s: Option<f64>,
    /// Time that the client waited for retransmissions, seconds.
    pub waited_s: f64,
    /// Cause, as far as the attempt alone shows it; `loss` for a loss whose kind the causes of windows show.
    pub cause: Option<CauseKind>,
}

impl Attempt {
    pub(super) fn new(
        connection: &Connection,
        class: &Classification,
        ends: [SocketAddr; 2],
        names: [Option<&str>; 2],
    ) -> Attempt {
        let [client, server] = ends;
        let [client_name, name] = names.map(|name| name.map(str::to_owned));
        let is_complete = class.outcome.is_complete();
        let waited = match is_complete {
            true => class.waited + class.waited_with_data,
            false => connection.delay_sums(CLIENT).0,
        };
        Attempt {
            time: connection.first.since_origin().as_secs_f64(),
            client,
            server,
            client_name,
            name,
            outcome: class.outcome,
            slow: is_complete && class.is_slow(),
            syns: connection.syns,
            synacks: connection.synacks,
            connect_s: connection.connect_time().filter(|_| is_complete).map(|took| took.as_secs_f64()),
            waited_s: waited.as_secs_f64(),
            cause: cause_of(class),
        }
    }

    /// Whether the attempt was not completed.
    pub fn has_failed(&self) -> bool {
        !self.outcome.is_complete()
    }
}

//! Sources of counters that cannot be read.

use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, ErrorKind};

/// Source of counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Counters of TCP and IP, /proc/net/netstat and /proc/net/snmp.
    Counters,
    /// Listening sockets, sock_diag(7).
    Listeners,
    /// Connection tracking, /proc/net/stat/nf_conntrack.
    Conntrack,
    /// Queue disciplines, rtnetlink(7).
    Qdiscs,
    /// Reasons of dropped packets, tracepoint skb:kfree_skb.
    DropReasons,
}

/// Source that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Missing {
    /// The source.
    pub source: Source,
    /// Fact, with its reason: "reasons of dropped packets cannot be read: tracefs is not mounted".
    pub sentence: String,
    /// Action that makes the source readable.
    pub remedy: String,
}

impl Missing {
    /// Describes an error of a file or socket.
    pub(crate) fn new(source: Source, what: &str, error: &io::Error, remedy: &str) -> Missing {
        let remedy = match error.kind() {
            ErrorKind::PermissionDenied => "run the command as root",
            _ => remedy,
        };
        Missing { source, sentence: format!("{what} cannot be read: {error}"), remedy: remedy.to_owned() }
    }
}

//! Network namespaces of a run and the devices between them.
//!
//! ```text
//!  client ──c0 u0── up ──u1 rup── router ──rdown d0── down ──d1 s0── server
//!                    │              │  │               │
//!            delay to the client    queues      delay to the server
//! ```
//!
//! The gateways of tunnels are in `up` and `down`.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Names of the five network namespaces of a run.
///
/// The client sends the data of direction `down`, the server that of direction `up`, whichever of them connects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespaces {
    /// Host that sends data in direction `down`.
    pub client: String,
    /// Wire between the router and the client; delays packets after the queue of direction `up`.
    pub up: String,
    /// Router with a queue in each direction.
    pub router: String,
    /// Wire between the router and the server; delays packets after the queue of direction `down`.
    pub down: String,
    /// Host that sends data in direction `up`.
    pub server: String,
}

/// One of the two hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostName {
    /// Host that sends data in direction `down`.
    Client,
    /// Host that sends data in direction `up`.
    Server,
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HostName::Client => "the client",
            HostName::Server => "the server",
        })
    }
}

/// Device of the router with the queue of direction `down`, the queue under test.
pub const ROUTER_DOWN: &str = "rdown";
/// Device of the router with the queue of direction `up`.
pub const ROUTER_UP: &str = "rup";

impl Namespaces {
    /// Names without a prefix, for a machine that has no other namespaces.
    pub fn plain() -> Namespaces {
        Namespaces::with_prefix("")
    }

    /// Names that begin with `prefix`, for a host that may have other namespaces.
    pub fn with_prefix(prefix: &str) -> Namespaces {
        let name = |what| format!("{prefix}{what}");
        Namespaces {
            client: name("client"),
            up: name("up"),
            router: name("router"),
            down: name("down"),
            server: name("server"),
        }
    }

    /// All five names.
    pub fn all(&self) -> [&str; 5] {
        [&self.client, &self.up, &self.router, &self.down, &self.server]
    }
}

//! The five namespaces and the devices between them.
//!
//! ```text
//!  client ──c0 u0── up ──u1 rup── router ──rdown d0── down ──d1 s0── server
//!                    │              │  │               │
//!            delay to the client    queues      delay to the server
//! ```

use serde::{Deserialize, Serialize};

/// Names of the namespaces. Data in direction `down` comes from the client, data in direction `up` from the server,
/// whoever connects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Names {
    /// The host whose packets go down.
    pub client: String,
    /// The wire between the router and the client: what has passed the queue of direction `up` is delayed there.
    pub up: String,
    /// The router with a queue in each direction.
    pub router: String,
    /// The wire between the router and the server.
    pub down: String,
    /// The host whose packets go up.
    pub server: String,
}

/// The router's device whose queue packets in direction `down` pass: the one under test.
pub const ROUTER_DOWN: &str = "rdown";
/// The router's device whose queue packets in direction `up` pass.
pub const ROUTER_UP: &str = "rup";

impl Names {
    /// Plain names, for a machine that has nothing else.
    pub fn plain() -> Names {
        Names::with_prefix("")
    }

    /// Names that begin with `prefix`, for a host that may have namespaces of its own.
    pub fn with_prefix(prefix: &str) -> Names {
        let name = |what| format!("{prefix}{what}");
        Names {
            client: name("client"),
            up: name("up"),
            router: name("router"),
            down: name("down"),
            server: name("server"),
        }
    }

    /// All of them.
    pub fn all(&self) -> [&str; 5] {
        [
            &self.client,
            &self.up,
            &self.router,
            &self.down,
            &self.server,
        ]
    }
}

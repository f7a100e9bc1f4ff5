//! The clock of the engine: Unix time when it started, and from then on a clock that nobody sets.

use gentle_units::Nanos;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    unix: Nanos,
    started: Instant,
}

impl Clock {
    pub(super) fn start() -> Clock {
        let unix = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Clock {
            unix: Nanos(unix.as_nanos() as u64),
            started: Instant::now(),
        }
    }

    /// Unix time of the start.
    pub(super) fn started(&self) -> Nanos {
        self.unix
    }

    pub(super) fn now(&self) -> Nanos {
        self.unix + Nanos(self.started.elapsed().as_nanos() as u64)
    }
}

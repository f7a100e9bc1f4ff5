//! Configuration of the engine.

use crate::budget::Limits;
use crate::select::Selection;
use crate::timing::Timing;
use gentle_units::Nanos;

/// Configuration of the engine.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Handshakes to watch.
    pub selection: Selection,
    /// Delays of the copies.
    pub timing: Timing,
    /// Maximum number of copies per packet.
    pub copies: u32,
    /// Delay after which every packet is sent a second time, in addition to the copies; `None`: no duplicates.
    pub duplicate: Option<Nanos>,
    /// Limits on the total number of copies.
    pub limits: Limits,
    /// Number of consecutive unanswered handshakes after which a host gets no copies until it answers; 0: no limit.
    pub give_up: u32,
    /// Copy SYNs and SYN/ACKs with data (TCP Fast Open) too.
    pub with_data: bool,
    /// Count copies without sending them.
    pub dry_run: bool,
    /// Initial RTO of the stack, after which it retransmits a packet itself; the reference for the time that a copy
    /// saves.
    pub stack_rto: Nanos,
    /// Maximum number of handshakes in the table.
    pub table: usize,
    /// Maximum number of paths in the table.
    pub paths: usize,
    /// Age after which the estimate of a path expires.
    pub age: Nanos,
}

impl Config {
    /// Creates a configuration for `selection` with the defaults of the command.
    pub fn new(selection: Selection) -> Config {
        Config {
            selection,
            timing: Timing::LEARNED,
            copies: 3,
            duplicate: None,
            limits: Limits { per_second: 1_000, share_percent: 25 },
            give_up: 5,
            with_data: false,
            dry_run: false,
            // RFC 6298, 2.1; Linux: TCP_TIMEOUT_INIT (include/net/tcp.h).
            stack_rto: Nanos::from_secs(1),
            table: 65_536,
            paths: 16_384,
            age: Nanos::from_secs(3_600),
        }
    }
}

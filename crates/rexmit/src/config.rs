//! What is wanted of the engine.

use crate::budget::Limits;
use crate::select::Selection;
use crate::timing::Timing;
use gentle_units::Nanos;

/// All of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Which handshakes.
    pub selection: Selection,
    /// When.
    pub timing: Timing,
    /// How many copies of a packet at most.
    pub copies: u32,
    /// Every packet is sent a second time after this, on top of the copies.
    pub duplicate: Option<Nanos>,
    /// How many copies in all.
    pub limits: Limits,
    /// After so many handshakes in a row without an answer a host is left alone until it answers; 0: never.
    pub give_up: u32,
    /// SYNs and SYN/ACKs with data (TCP Fast Open) are copied too.
    pub with_data: bool,
    /// Nothing is sent, only counted.
    pub dry_run: bool,
    /// After this the stack sends a packet again itself: the measure of what a copy saves.
    pub stack_rto: Nanos,
    /// Handshakes remembered at a time.
    pub table: usize,
    /// Paths remembered.
    pub paths: usize,
    /// What was learned of a path counts for so long.
    pub age: Nanos,
}

impl Config {
    /// Watches nothing yet; the rest is what the command takes for default.
    pub fn new(selection: Selection) -> Config {
        Config {
            selection,
            timing: Timing::LEARNED,
            copies: 3,
            duplicate: None,
            limits: Limits {
                per_second: 1_000,
                share_percent: 25,
            },
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

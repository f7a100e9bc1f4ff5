//! Summaries of the handshakes so far, as JSON lines and for views.

use gentle_host::Finding;
use gentle_trace::live::{Attempt, Window};
use schemars::JsonSchema;
use serde::Serialize;

/// Version of [`WatchLine`].
pub const VERSION: u32 = 1;

/// Line of `gentle watch --json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum WatchLine {
    /// Slow or failed attempt, when it is decided.
    Attempt(Attempt),
    /// Counter of the host that increased, or is at its limit; read every 10 s.
    Host(Finding),
    /// Summary at the end of each interval.
    Summary(Box<Summary>),
}

/// Counts about a watch itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Counts {
    /// Packets that were analysed since the start.
    pub packets: u64,
    /// Packets that the kernel dropped because they came faster than they were analysed, since the start.
    pub missed: u64,
    /// Fraction of the connections whose data is analysed. Of others, only SYN, FIN and RST are.
    pub sample: f64,
    /// Fraction of the connections whose handshakes are analysed: less than 1 under a flood, when all would be too many.
    pub handshake_sample: f64,
    /// Connections that are followed now; closed ones are for a minute.
    pub connections: u64,
    /// Connections forgotten before their end because memory was short, since the start.
    pub forgotten: u64,
    /// Attempts that do not count because packets of them may have been missed, since the start.
    pub left_out: u64,
    /// Failed attempts that count, but have no line and no capture because there were too many, since the start.
    pub unlisted: u64,
}

/// Handshakes of the last seconds, minute and hour.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Summary {
    /// Version of this format.
    pub version: u32,
    /// Unix time, seconds.
    pub time: f64,
    /// Network device, or `any`.
    pub device: String,
    /// Time since the start, seconds.
    pub up_s: f64,
    /// Attempts decided in the last 10 s.
    pub seconds: Window,
    /// Attempts decided in the last minute (60 to 70 s).
    pub minute: Window,
    /// Attempts decided in the last hour (60 to 65 min).
    pub hour: Window,
    /// Counts about the watch itself.
    #[serde(flatten)]
    pub counts: Counts,
}

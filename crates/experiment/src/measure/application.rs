//! Numbers of applications.

use super::table::{metrics, number, results};
use super::{Metric, Number};
use crate::metrics::application::ApplicationRecord;
use crate::results::{Distribution, Mean};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

results! {
    /// Results of one application: of all workloads with its name. Datagrams, frames and transactions that began after the
    /// warm-up; what an application does not have is without value.
    #[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
    pub struct ApplicationResult of ApplicationRecord {
        /// Name: the workloads' group, or their kind.
        application: String;
        /// Kind of the workloads, as in scenario files: `voice`, `pages`.
        kind: String;
        /// Datagrams sent, both ways.
        datagrams: u64 = count(|a| a.datagrams);
        /// Time from sending a datagram to its arrival.
        delay_s: Distribution = times(|a| a.delay()) => Time [".mean" Lower, ".p50" Lower, ".p95" Lower, ".p99" Lower];
        /// Difference between the delays of consecutive datagrams of a flow, without sign (RFC 3550, section 6.4.1).
        jitter_s: Distribution = times(|a| a.jitter()) => Time [".mean" Lower, ".p99" Lower];
        /// Datagrams that did not arrive, as a fraction of those sent.
        loss: Mean = mean(|a| a.lost_fraction()) => Share [".mean" Lower];
        /// Datagrams lost or too late to be played, as a fraction of those sent.
        useless: Mean = mean(|a| a.useless_fraction()) => Share [".mean" Lower];
        /// Video frames sent.
        frames: u64 = count(|a| a.frames);
        /// Frames complete too late or never, as a fraction of those sent.
        late_frames: Mean = mean(|a| a.late_frame_fraction()) => Share [".mean" Lower];
        /// Interruptions that a user notices, per minute.
        stalls_per_minute: Mean = mean(|a| a.stalls_per_minute()) => Frequency [".mean" Lower];
        /// Fraction of the time in which the application was interrupted.
        stalled: Mean = mean(|a| a.stalled_fraction()) => Share [".mean" Lower];
        /// Time from the first SYN until the client can send its request.
        connect_s: Distribution = times(|a| a.connect_times()) => Time [".mean" Lower];
        /// Duration of transactions: of a page, a lookup, a keystroke until its echo.
        transaction_s: Distribution = times(|a| a.transactions())
            => Time [".mean" Lower, ".p50" Lower, ".p95" Lower, ".p99" Lower];
        /// Transactions that ended.
        transactions: u64 = count(|a| a.transactions().count());
        /// Transactions that were given up.
        failed: u64 = count(|a| a.failed) => Count ["" Lower];
        /// Transactions without an end when the run ended.
        unfinished: u64 = count(|a| a.unfinished) => Count ["" Lower];
        /// Payload delivered per second of the measured window, bits.
        goodput_bps: Mean = mean_at(|a, at| a.goodput_bps(at.run.window())) => Rate [".mean" Higher];
    }
}

impl ApplicationResult {
    /// The number at `path`: in a constant, the compiler refuses a path without a number.
    pub const fn number(path: &str) -> &'static Number {
        number(Self::ENTRIES, path)
    }

    /// Numbers of the results of an application, named by their path there, in a fixed order.
    pub fn metrics() -> Vec<Metric> {
        metrics(Self::ENTRIES)
    }
}

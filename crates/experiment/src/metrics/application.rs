//! Measurements of applications: what the user of a call, a game or a page notices.

use super::histogram::TimeHistogram;
use gentle_units::Nanos;
use serde::{Deserialize, Serialize};

/// Measurements of one application: of all flows of the workloads that have its name.
///
/// Backends count a datagram, a frame or a transaction if it begins after the warm-up. Times and counts that an
/// application does not have stay empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ApplicationRecord {
    /// Datagrams sent, both ways.
    pub datagrams: u64,
    /// Datagrams that arrived.
    pub arrived: u64,
    /// Datagrams that arrived too late to be of use: after the playout time of their speech.
    pub late: u64,
    /// Time from sending a datagram to its arrival.
    delay: TimeHistogram,
    /// Differences between the delays of consecutive datagrams of a flow, without sign (RFC 3550, section 6.4.1: |D|).
    jitter: TimeHistogram,
    /// Frames of a video sent.
    pub frames: u64,
    /// Frames that were complete too late, or never.
    pub late_frames: u64,
    /// Interruptions that a user notices: of speech, or of moving pictures.
    pub stalls: u64,
    /// Duration of all stalls together.
    #[serde(rename = "stalled_ns")]
    pub stalled: Nanos,
    /// Time during which frames or speech were due, of all flows together.
    #[serde(rename = "active_ns")]
    pub active: Nanos,
    /// Time from the first SYN until the client can send its request.
    connect: TimeHistogram,
    /// Duration of transactions: of a page, a lookup, a keystroke until its echo.
    transaction: TimeHistogram,
    /// Transactions that were given up.
    pub failed: u64,
    /// Transactions without an end when the run ended.
    pub unfinished: u64,
    /// Payload delivered to applications.
    pub bytes: u64,
}

impl ApplicationRecord {
    /// Counts a datagram that was sent.
    pub fn sent(&mut self) {
        self.datagrams += 1;
    }

    /// Counts a datagram that arrived, with the time since it was sent, the difference to the time of the datagram of
    /// the flow that arrived before, and its payload.
    pub fn arrived(&mut self, delay: Nanos, before: Option<Nanos>, bytes: u64) {
        self.arrived += 1;
        self.bytes += bytes;
        self.delay.record(delay);
        if let Some(before) = before {
            self.jitter.record(Nanos(delay.0.abs_diff(before.0)));
        }
    }

    /// Counts an interruption.
    pub fn stalled(&mut self, duration: Nanos) {
        self.stalls += 1;
        self.stalled += duration;
    }

    /// Counts a connection that was established.
    pub fn connected(&mut self, time: Nanos) {
        self.connect.record(time);
    }

    /// Counts a transaction that ended after `time`, with the payload that it brought.
    pub fn transaction(&mut self, time: Nanos, bytes: u64) {
        self.transaction.record(time);
        self.bytes += bytes;
    }

    /// Adds the counts of `other`, for which [`ApplicationRecord::compact`] has been called: of the other end of the
    /// flows, measured elsewhere.
    pub fn add(&mut self, other: &ApplicationRecord) {
        for (to, from) in [
            (&mut self.datagrams, other.datagrams),
            (&mut self.arrived, other.arrived),
            (&mut self.late, other.late),
            (&mut self.frames, other.frames),
            (&mut self.late_frames, other.late_frames),
            (&mut self.stalls, other.stalls),
            (&mut self.stalled.0, other.stalled.0),
            (&mut self.active.0, other.active.0),
            (&mut self.failed, other.failed),
            (&mut self.unfinished, other.unfinished),
            (&mut self.bytes, other.bytes),
        ] {
            *to = to.saturating_add(from);
        }
        self.delay.add(&other.delay);
        self.jitter.add(&other.jitter);
        self.connect.add(&other.connect);
        self.transaction.add(&other.transaction);
    }

    /// One-way delays.
    pub(crate) fn delay(&self) -> &TimeHistogram {
        &self.delay
    }

    /// Differences between consecutive delays.
    pub(crate) fn jitter(&self) -> &TimeHistogram {
        &self.jitter
    }

    /// Times to connect.
    pub(crate) fn connect_times(&self) -> &TimeHistogram {
        &self.connect
    }

    /// Durations of transactions.
    pub(crate) fn transactions(&self) -> &TimeHistogram {
        &self.transaction
    }

    /// Fraction of datagrams that did not arrive.
    pub(crate) fn lost_fraction(&self) -> Option<f64> {
        fraction(self.datagrams.saturating_sub(self.arrived), self.datagrams)
    }

    /// Fraction of datagrams that were of no use: lost or late.
    pub(crate) fn useless_fraction(&self) -> Option<f64> {
        let arrived = self.datagrams.saturating_sub(self.arrived);
        fraction(arrived + self.late, self.datagrams)
    }

    /// Fraction of frames that were late or missing.
    pub(crate) fn late_frame_fraction(&self) -> Option<f64> {
        fraction(self.late_frames, self.frames)
    }

    /// Fraction of the active time that was stalled.
    pub(crate) fn stalled_fraction(&self) -> Option<f64> {
        (self.active > Nanos::ZERO).then(|| self.stalled.as_secs_f64() / self.active.as_secs_f64())
    }

    /// Stalls per minute of active time.
    pub(crate) fn stalls_per_minute(&self) -> Option<f64> {
        let minutes = self.active.as_secs_f64() / 60.0;
        (minutes > 0.0).then(|| self.stalls as f64 / minutes)
    }

    /// Payload delivered per second of the measured window, bits.
    pub(crate) fn goodput_bps(&self, window: Nanos) -> Option<f64> {
        (window > Nanos::ZERO).then(|| 8.0 * self.bytes as f64 / window.as_secs_f64())
    }

    /// Ends recording, which reduces the memory of the record to what it needs.
    pub fn compact(&mut self) {
        for times in [&mut self.delay, &mut self.jitter, &mut self.connect, &mut self.transaction] {
            times.compact();
        }
    }
}

fn fraction(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

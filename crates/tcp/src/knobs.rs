//! Access to the knobs of a profile by name, for scenario files.

use crate::congestion::CongestionControl;
use crate::profile::{AckPolicy, Ecn, Growth, LossMarking, Profile, RtoEstimator, Undo};
use gentle_units::{Nanos, format_size, parse_size, suggestion};
use std::ops::RangeInclusive;
use thiserror::Error;

/// One knob of a [`Profile`].
pub struct Knob {
    /// Name of the knob and of the field.
    pub name: &'static str,
    /// One-line description.
    pub help: &'static str,
    /// Type of value: `time`, `bytes`, `number`, `true or false`, or the names of the alternatives.
    pub takes: &'static str,
    get: fn(&Profile) -> String,
    set: fn(&mut Profile, &str) -> Result<(), String>,
}

/// Errors of setting a knob.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KnobError {
    /// No knob has this name.
    #[error(
        "unknown TCP knob '{name}'{}; there are {}",
        suggestion(name, KNOBS.iter().map(|knob| knob.name)),
        names()
    )]
    Unknown {
        /// Name that was given.
        name: String,
    },
    /// The value is invalid.
    #[error("TCP knob '{name}' cannot be '{value}': expected {expected}")]
    Value {
        /// Name of the knob.
        name: &'static str,
        /// Value that was given.
        value: String,
        /// Values that are accepted.
        expected: String,
    },
}

fn names() -> String {
    let names: Vec<&str> = Profile::knobs().iter().map(|knob| knob.name).collect();
    names.join(", ")
}

impl Profile {
    /// All knobs, in the order of the fields.
    pub fn knobs() -> &'static [Knob] {
        KNOBS
    }

    /// Sets the knob `name` from text, as in `set("initial_rto", "3s")`.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        let knob = find(name)?;
        (knob.set)(self, value.trim()).map_err(|expected| KnobError::Value {
            name: knob.name,
            value: value.to_owned(),
            expected,
        })
    }

    /// Value of the knob `name`, in the syntax that [`set`](Profile::set) reads.
    pub fn get(&self, name: &str) -> Result<String, KnobError> {
        Ok((find(name)?.get)(self))
    }
}

fn find(name: &str) -> Result<&'static Knob, KnobError> {
    KNOBS.iter().find(|knob| knob.name == name).ok_or_else(|| KnobError::Unknown { name: name.to_owned() })
}

/// Type of a knob; `range` is in its base unit (nanoseconds, bytes, or the number itself).
trait Value: Sized {
    const TAKES: &'static str;
    fn read(text: &str, range: RangeInclusive<u64>) -> Result<Self, String>;
    fn show(&self) -> String;
}

/// Range that permits any value of the type.
const ANY: RangeInclusive<u64> = 0..=u64::MAX;
/// Longest time that a knob takes: one day.
const DAY: u64 = 86_400_000_000_000;

impl Value for Nanos {
    const TAKES: &'static str = "time";
    fn read(text: &str, range: RangeInclusive<u64>) -> Result<Nanos, String> {
        let (low, high) = (Nanos(*range.start()), Nanos(*range.end()));
        text.parse::<Nanos>()
            .ok()
            .filter(|time| range.contains(&time.0))
            .ok_or_else(|| format!("a time from {low} to {high}, such as 200ms"))
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

/// `infinite` is the largest value.
impl Value for u32 {
    const TAKES: &'static str = "number";
    fn read(text: &str, range: RangeInclusive<u64>) -> Result<u32, String> {
        let high = (*range.end()).min(u64::from(u32::MAX));
        let number = match text {
            "infinite" => Some(u64::from(u32::MAX)),
            _ => text.parse().ok(),
        };
        number
            .filter(|number| (*range.start()..=high).contains(number))
            .map(|number| number as u32)
            .ok_or_else(|| format!("a whole number from {} to {high}", range.start()))
    }
    fn show(&self) -> String {
        if *self == u32::MAX { "infinite".to_owned() } else { self.to_string() }
    }
}

impl Value for u16 {
    const TAKES: &'static str = "number";
    fn read(text: &str, range: RangeInclusive<u64>) -> Result<u16, String> {
        let high = (*range.end()).min(u64::from(u16::MAX));
        <u32 as Value>::read(text, *range.start()..=high).map(|number| number as u16)
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for bool {
    const TAKES: &'static str = "true or false";
    fn read(text: &str, _range: RangeInclusive<u64>) -> Result<bool, String> {
        match text {
            "true" | "on" => Ok(true),
            "false" | "off" => Ok(false),
            _ => Err("true or false".to_owned()),
        }
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

macro_rules! choice {
    ($($type:ident),*) => {$(
        impl Value for $type {
            const TAKES: &'static str = $type::TEXTS;
            fn read(text: &str, _range: RangeInclusive<u64>) -> Result<$type, String> {
                $type::from_text(text).ok_or_else(|| $type::TEXTS.to_owned())
            }
            fn show(&self) -> String {
                self.to_string()
            }
        }
    )*};
}
choice!(RtoEstimator, CongestionControl, Growth, Ecn, LossMarking, Undo, AckPolicy);

macro_rules! knobs {
    ($($field:ident: $type:ident in $range:expr, $help:literal;)*) => {
        &[
            Knob {
                name: "receive_window",
                help: "receive window, with window_tuning the largest; the application reads at once",
                takes: "bytes",
                get: |profile| format_size(u64::from(profile.receive_window)),
                set: |profile, text| {
                    profile.receive_window = parse_size(text)
                        .ok()
                        .filter(|bytes| (1..=1 << 30).contains(bytes))
                        .ok_or_else(|| "a size from 1b to 1gb, such as 4mb".to_owned())?
                        as u32;
                    Ok(())
                },
            },
            $(Knob {
                name: stringify!($field),
                help: $help,
                takes: <$type as Value>::TAKES,
                get: |profile| profile.$field.show(),
                set: |profile, text| {
                    profile.$field = <$type as Value>::read(text, $range)?;
                    Ok(())
                },
            }),*
        ]
    };
}

/// One millisecond, in nanoseconds.
const MS: u64 = 1_000_000;

static KNOBS: &[Knob] = knobs! {
    mss: u16 in 1..=65_495, "payload bytes of a full segment";
    window_tuning: bool in ANY, "the receive window grows with what arrives in a round trip";
    initial_rto: Nanos in MS..=DAY, "retransmission timeout before any round trip is known";
    rto_fallback: Nanos in MS..=DAY, "timeout after a handshake that gave no round-trip time";
    min_rto: Nanos in 0..=DAY, "lower bound of 4*RTTVAR (linux) or of the timeout (rfc6298)";
    max_rto: Nanos in MS..=DAY, "upper bound of the timeout";
    rto_slop: Nanos in 0..=DAY, "added to every estimated timeout";
    rto_estimator: RtoEstimator in ANY, "how the timeout follows from round-trip times";
    timer_granularity: Nanos in 1_000..=10_000 * MS, "tick of the timers";
    timer_wheel: bool in ANY, "timers are late by up to an eighth, as Linux's timer wheel rounds them";
    syn_retries: u32 in 0..=1000, "SYN retransmissions before the attempt fails, syn_linear_timeouts not counted";
    syn_linear_timeouts: u32 in 0..=127, "repetitions of the SYN's timeout before it doubles";
    connect_timeout: Nanos in 0..=DAY, "time after which the attempt fails whatever the retries; 0 for none";
    synack_retries: u32 in 0..=1000, "SYN/ACK retransmissions before the half-open connection is dropped";
    synack_timer_restart: bool in ANY, "a duplicate SYN restarts the SYN/ACK's backoff";
    synack_echoes_first_syn: bool in ANY, "a repeated SYN/ACK echoes the timestamp of the first SYN";
    retries: u32 in 1..=100_000, "retransmissions of one segment before the connection fails";
    congestion_control: CongestionControl in ANY, "algorithm of the congestion window";
    iw: u32 in 1..=10_000, "initial window in segments";
    iw_syn_losses: u32 in 0..=u64::MAX, "after more handshake retransmissions than this the initial window is 1";
    syn_undo: bool in ANY, "handshake retransmissions that prove spurious do not count for iw_syn_losses";
    initial_ssthresh: u32 in 2..=u64::MAX, "initial slow start threshold in segments, or infinite";
    hystart: bool in ANY, "leave slow start on growing delay (CUBIC)";
    hystart_plus: bool in ANY, "HyStart++ (RFC 9406) instead of HyStart, with any algorithm but BBR";
    growth: Growth in ANY, "what of an ACK makes the window grow: the segments it acknowledges, or that it came";
    abc_limit: u32 in 0..=1000, "segments by which one ACK may raise the window in slow start; 0 for no limit";
    idle_restart: bool in ANY, "decay the window over idle time";
    idle_reset: bool in ANY, "with idle_restart: fall to the initial window at once";
    pacing: bool in ANY, "data leaves at twice (slow start) or 1.2 times a window per round trip; BBR always paces";
    tso: bool in ANY, "with pacing: segments leave in bursts as Linux sizes them, not one by one";
    tso_unpaced: bool in ANY, "segments leave in bursts as Linux sizes them without pacing too";
    max_burst: u32 in 0..=u64::MAX, "new segments one ACK may release; 0 for no limit";
    cwnd_moderation: u32 in 0..=1000, "when recovery ends, segments the window may exceed what is in flight; 0 for no limit";
    sack: bool in ANY, "selective acknowledgements";
    dsack: bool in ANY, "report duplicates to the sender";
    timestamps: bool in ANY, "timestamps";
    ecn: Ecn in ANY, "explicit congestion notification";
    ecn_option: u32 in 0..=3, "segments with the AccECN option: 0 none, 1 few, 2 all while it seems to arrive, 3 all";
    ecn_option_beacon: u32 in 0..=3, "with ecn_option 1: AccECN options in a round trip at least";
    ect1: bool in ANY, "ECN-capable packets carry ECT(1), as L4S has it, instead of ECT(0)";
    dupthresh: u32 in 1..=1000, "duplicate ACKs that prove a loss";
    max_reordering: u32 in 1..=100_000, "how far observed reordering may raise dupthresh";
    loss_marking: LossMarking in ANY, "which holes are lost, with rack off";
    rack: bool in ANY, "time-based loss detection";
    tlp: bool in ANY, "tail loss probe";
    early_retransmit: bool in ANY, "lower threshold when few segments are in flight";
    limited_transmit: bool in ANY, "new segments on the first duplicate ACKs";
    prr: bool in ANY, "proportional rate reduction";
    recovery_burst: u32 in 0..=u64::MAX, "with prr off: segments one ACK may release in recovery; 0 for no limit";
    frto: bool in ANY, "detect spurious timeouts";
    undo: Undo in ANY, "evidence on which a reduction of the window is undone";
    rto_forgets_sack: bool in ANY, "a timeout forgets what was SACKed";
    ack_policy: AckPolicy in ANY, "when acknowledgements are delayed";
    delack: Nanos in 0..=10_000 * MS, "delay of an acknowledgement; the shortest with policy linux";
    delack_max: Nanos in 0..=10_000 * MS, "longest delay of an acknowledgement, policy linux";
    exact_ato: bool in ANY, "policy linux: the delay is counted in ticks and doubles when it expires, as in Linux";
    sack_compression: bool in ANY, "policy linux: one selective acknowledgement a millisecond, as in Linux";
    delack_segments: u32 in 1..=1000, "an acknowledgement at once for so many full segments";
    quickack_segments: u32 in 0..=1000, "segments acknowledged one by one at the start, after a duplicate and after idle time";
    fin_on_data: bool in ANY, "FIN rides on the last data segment";
    fin_sack: bool in ANY, "an out-of-order FIN is covered by SACK";
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_knob_is_read_back_as_written_in_every_profile() {
        for name in Profile::NAMES {
            let profile = Profile::by_name(name).unwrap();
            let mut copy = Profile::by_name(Profile::NAMES[0]).unwrap();
            for knob in Profile::knobs() {
                copy.set(knob.name, &profile.get(knob.name).unwrap()).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
            // Equality proves that no field lacks a knob.
            assert_eq!(copy, profile, "{name}");
        }
    }

    #[test]
    fn a_wrong_knob_is_told_which_there_are() {
        let mut profile = Profile::default();
        let error = profile.set("initial-rto", "3s").unwrap_err().to_string();
        assert!(error.contains("initial_rto, rto_fallback"), "{error}");
        let error = profile.set("initial_rto", "3").unwrap_err().to_string();
        assert!(error.contains("such as 200ms"), "{error}");
        let error = profile.set("iw", "0").unwrap_err().to_string();
        assert!(error.contains("from 1 to 10000"), "{error}");
        let error = profile.set("ecn", "maybe").unwrap_err().to_string();
        assert!(error.contains("off or accept or request or accecn"), "{error}");
        assert_eq!(profile, Profile::default());
        profile.set("initial_rto", "3s").unwrap();
        assert_eq!(profile.get("initial_rto").unwrap(), "3s");
        assert!(Profile::by_name("windows").unwrap_err().to_string().contains("freebsd-9.3"));
    }
}

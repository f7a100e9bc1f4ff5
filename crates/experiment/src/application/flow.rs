//! Applications over datagrams by name, and their flows.

use super::datagram::{DatagramEnd, SHORTEST_DATAGRAM};
use super::dns::Dns;
use super::game::Game;
use super::ping::Ping;
use super::video_call::VideoCall;
use super::voice::Voice;
use crate::direction::Direction;
use crate::error::ScenarioError;
use crate::results::HarmNumbers;
use crate::section::Section;
use gentle_units::{Instant, Nanos};
use serde::{Deserialize, Serialize};
use std::fmt;

/// An application over datagrams with its parameters. `Display` describes these in one line.
pub(crate) trait DatagramApplication: fmt::Display + Sized {
    /// Name in scenario files.
    const NAME: &'static str;
    /// Key for the number of flows; `None`: there is one.
    const FLOWS: Option<&'static str> = None;
    /// Numbers by which harm to it is measured.
    const HARM: HarmNumbers;

    /// Reads its keys.
    fn read(section: &mut Section<'_>) -> Result<Self, ScenarioError>;

    /// Mean traffic that the client and the server of a flow offer to the links.
    fn offered(&self) -> [Offered; 2];

    /// State machines of the client and the server of a flow.
    fn ends(&self, times: &FlowTimes) -> [Box<dyn DatagramEnd>; 2];
}

/// Declares [`Application`] with its kinds.
macro_rules! applications {
    ($($(#[$doc:meta])* $kind:ident,)*) => {
        /// Application over datagrams with its parameters.
        #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Application {
            $($(#[$doc])* $kind($kind),)*
        }

        impl Application {
            /// Names in scenario files.
            pub(crate) const NAMES: &[&str] = &[$($kind::NAME),*];

            /// Reads the number of flows, and the application's own keys.
            pub(crate) fn read(name: &str, section: &mut Section<'_>) -> Result<(u32, Application), ScenarioError> {
                let mut flows = |key: Option<&'static str>| match key.and_then(|key| section.take(key)) {
                    Some(item) => Ok(item.count(1..=1_000)? as u32),
                    None => Ok(1),
                };
                match name {
                    $($kind::NAME => Ok((flows($kind::FLOWS)?, Application::$kind($kind::read(section)?))),)*
                    _ => Err(section.error(format!("'{name}' is no application over datagrams"))),
                }
            }

            /// Name in scenario files.
            pub(crate) fn name(&self) -> &'static str {
                match self {
                    $(Application::$kind(_) => $kind::NAME,)*
                }
            }

            /// Numbers by which harm to the application is measured.
            pub(crate) fn harm(&self) -> HarmNumbers {
                match self {
                    $(Application::$kind(_) => $kind::HARM,)*
                }
            }

            /// Mean traffic that the client and the server of a flow offer to the links.
            pub(crate) fn offered(&self) -> [Offered; 2] {
                match self {
                    $(Application::$kind(application) => application.offered(),)*
                }
            }

            fn ends(&self, times: &FlowTimes) -> [Box<dyn DatagramEnd>; 2] {
                match self {
                    $(Application::$kind(application) => application.ends(times),)*
                }
            }
        }

        impl fmt::Display for Application {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Application::$kind(application) => application.fmt(f),)*
                }
            }
        }
    };
}

applications! {
    /// Voice call.
    Voice,
    /// Online game.
    Game,
    /// Video call.
    VideoCall,
    /// Name lookups.
    Dns,
    /// Pings.
    Ping,
}

/// Mean traffic of one end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offered {
    /// Mean interval of the packets.
    pub(crate) interval: Nanos,
    /// Mean length of an IP packet, bytes.
    pub(super) ip_bytes: f64,
}

impl Offered {
    pub(super) fn packets(ip_bytes: u32, interval: Nanos) -> Offered {
        Offered { interval, ip_bytes: ip_bytes.into() }
    }

    pub(crate) fn bits_per_second(&self, overhead: u32) -> f64 {
        8.0 * (self.ip_bytes + f64::from(overhead)) / self.interval.as_secs_f64()
    }
}

/// Times of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FlowTimes {
    /// Time from which the flow exists.
    #[serde(rename = "start_ns")]
    pub start: Instant,
    /// Times at which the client and the server begin to send.
    #[serde(rename = "first_ns")]
    pub first: [Instant; 2],
    /// Time at which sending stops; answers and repetitions may follow.
    #[serde(rename = "stop_ns")]
    pub stop: Instant,
    /// End of the warm-up.
    #[serde(rename = "warmup_ns")]
    pub warmup: Instant,
    /// Seed of the flow's random numbers.
    pub seed: u64,
}

/// One flow of datagrams: a client and a server that send to each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatagramFlow {
    /// Index of the workload in the scenario.
    pub workload: usize,
    /// Link that carries the server's datagrams; the client's use the other one.
    pub direction: Direction,
    /// Round-trip time in addition to the links' delays.
    #[serde(rename = "extra_rtt_ns")]
    pub extra_rtt: Nanos,
    /// Application.
    pub application: Application,
    /// Times.
    pub times: FlowTimes,
}

impl DatagramFlow {
    /// New state machines: the client and the server.
    pub fn ends(&self) -> [Box<dyn DatagramEnd>; 2] {
        self.application.ends(&self.times)
    }

    /// The link that carries what the client (`end` 0) or the server (1) sends.
    pub fn direction_of(&self, end: usize) -> Direction {
        match end {
            0 => self.direction.reverse(),
            _ => self.direction,
        }
    }
}

/// Reads the length of an IP packet, which has room for all headers and fits into an Ethernet frame.
pub(super) fn length(section: &mut Section<'_>, key: &'static str, default: u32) -> Result<u32, ScenarioError> {
    match section.take(key) {
        Some(item) => Ok(item.size(u64::from(SHORTEST_DATAGRAM)..=1_500)? as u32),
        None => Ok(default),
    }
}

/// Reads the interval of a regular source.
pub(super) fn interval(section: &mut Section<'_>, key: &'static str, default: Nanos) -> Result<Nanos, ScenarioError> {
    let Some(item) = section.take(key) else {
        return Ok(default);
    };
    let time = item.time()?;
    // Mice and game servers of 8,000 reports a second are the fastest regular sources.
    let shortest = Nanos::from_micros(100);
    if time < shortest {
        return Err(item.error(format!("expected at least {shortest}")));
    }
    Ok(time)
}

#[cfg(test)]
mod tests {
    use super::super::datagram::{Datagram, HEADER_WORDS};
    use super::*;
    use crate::metrics::application::ApplicationRecord;
    use crate::scenario::Scenario;
    use proptest::prelude::*;

    const KINDS: [&str; 5] = [
        "kind = \"voice\"",
        "kind = \"game\"",
        "kind = \"video_call\"",
        "kind = \"dns\"\ngap = \"300ms\"\ntimeout = \"1s\"",
        "kind = \"ping\"",
    ];

    fn flow(kind: &str, seed: u64) -> DatagramFlow {
        let text = format!(
            "duration = \"6s\"\nwarmup = \"1s\"\n[link.down]\nrate = \"1mbit\"\n[link.up]\nrate = \"1mbit\"\n[[workload]]\n{kind}"
        );
        let scenario = Scenario::from_toml("x.toml", &text, &|_| Ok(String::new())).unwrap();
        scenario.datagram_flows(seed).remove(0)
    }

    /// Runs both ends; each datagram takes the next of `fates` in turn: milliseconds until it arrives, or lost if 0.
    /// `stray` are headers that arrive out of nowhere, every 100 ms. The record, and the last time at which an end acted.
    fn run(flow: &DatagramFlow, fates: &[u64], stray: &[[u32; HEADER_WORDS]]) -> (ApplicationRecord, Instant) {
        let (mut ends, mut record) = (flow.ends(), ApplicationRecord::default());
        let mut under_way: Vec<(Instant, usize, Datagram)> = Vec::new();
        let mut fates = fates.iter().cycle();
        let mut strays = (1..).zip(stray).map(|(n, words)| {
            let at = Instant::from_millis(100 * n);
            (at, Datagram::from_words(words, 200))
        });
        let (mut out, mut next_stray) = (Vec::new(), strays.next());
        let mut acted = Instant::ZERO;
        loop {
            let timers = ends.each_ref().map(|end| end.next_at());
            let arrival = (under_way.iter().map(|(at, ..)| *at).min()).unwrap_or(Instant::NEVER);
            let stray_at = next_stray.map_or(Instant::NEVER, |(at, _)| at);
            let now = timers[0].min(timers[1]).min(arrival).min(stray_at);
            if now == Instant::NEVER {
                break;
            }
            let mut from = None;
            if arrival == now {
                let place = under_way.iter().position(|(at, ..)| *at == now).unwrap();
                let (_, to, datagram) = under_way.remove(place);
                ends[to].on_datagram(now, &datagram, &mut out, &mut record);
                from = Some(to);
            } else if let Some(side) = timers.iter().position(|at| *at == now) {
                ends[side].on_timer(now, &mut out, &mut record);
                assert!(ends[side].next_at() > now, "an endpoint that makes no progress");
                acted = now;
                from = Some(side);
            } else {
                if let Some((_, Some(datagram))) = next_stray {
                    for end in &mut ends {
                        end.on_datagram(now, &datagram, &mut out, &mut record);
                    }
                }
                // Answers to strays go nowhere.
                out.clear();
                next_stray = strays.next();
            }
            for datagram in out.drain(..) {
                assert!(datagram.ip_bytes >= SHORTEST_DATAGRAM && datagram.ip_bytes <= 1_500);
                let ms = *fates.next().unwrap();
                if let Some(from) = from.filter(|_| ms > 0) {
                    under_way.push((now + Nanos::from_millis(ms), 1 - from, datagram));
                }
            }
        }
        for end in &mut ends {
            end.finish(&mut record);
        }
        record.compact();
        (record, acted)
    }

    #[test]
    fn ends_do_the_same_with_the_same_seed_and_stop_in_time() {
        for kind in KINDS {
            let (flow, other) = (flow(kind, 1), flow(kind, 2));
            let (record, acted) = run(&flow, &[20], &[]);
            assert_eq!(run(&flow, &[20], &[]).0, record, "{kind}");
            assert_ne!(run(&other, &[20], &[]).1, acted, "{kind}");
            assert!(acted < Instant::from_secs(8), "{kind}: {acted}");
            assert!(record.datagrams > 20, "{kind}");
            assert_eq!(record.arrived, record.datagrams, "{kind}");
            assert_eq!(record.delay().mean_s(), Some(0.02), "{kind}");
            assert_eq!((record.late, record.stalls, record.failed), (0, 0, 0), "{kind}");
            assert_eq!(record.late_frames, 0, "{kind}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn counts_add_up_whatever_happens_to_datagrams(
            kind in 0..KINDS.len(),
            seed: u64,
            fates in prop::collection::vec(prop_oneof![2 => 1_u64..400, 1 => Just(0_u64)], 1..40),
        ) {
            let (record, _) = run(&flow(KINDS[kind], seed), &fates, &[]);
            prop_assert!(record.arrived <= record.datagrams);
            prop_assert!(record.late <= record.arrived);
            prop_assert!(record.late_frames <= record.frames + 1);
            prop_assert_eq!(record.delay().count(), record.arrived);
            prop_assert!(record.jitter().count() <= record.arrived);
            prop_assert!(record.unfinished == 0);
            let asked = record.transactions().count() + record.failed;
            prop_assert!(asked <= record.datagrams);
            if KINDS[kind].contains("ping") {
                prop_assert_eq!(asked, 25);
            }
        }

        #[test]
        fn headers_out_of_nowhere_are_survived(
            kind in 0..KINDS.len(),
            stray in prop::collection::vec((0_u32..7, any::<[u32; HEADER_WORDS]>()), 1..60),
        ) {
            let stray: Vec<_> = (stray.into_iter())
                .map(|(kind, [_, rest @ ..])| {
                    let mut words = [kind; HEADER_WORDS];
                    words[1..].copy_from_slice(&rest);
                    words
                })
                .collect();
            run(&flow(KINDS[kind], 1), &[20, 0, 35], &stray);
        }
    }
}

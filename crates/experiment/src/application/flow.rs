//! Applications over datagrams by name, and the flows of a scenario.

use super::datagram::{DatagramEnd, SHORTEST_DATAGRAM};
use super::dns::Dns;
use super::game::Game;
use super::ping::Ping;
use super::video_call::VideoCall;
use super::voice::Voice;
use crate::direction::Direction;
use crate::error::ScenarioError;
use crate::metrics::serial::{nanos, nanos_pair};
use crate::scenario::Scenario;
use crate::scenario::section::Section;
use crate::workload::{Traffic, random_stream, spread};
use gentle_units::Nanos;
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Application over datagrams with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Application {
    /// Voice call.
    Voice(Voice),
    /// Online game.
    Game(Game),
    /// Video call.
    VideoCall(VideoCall),
    /// Name lookups.
    Dns(Dns),
    /// Pings.
    Ping(Ping),
}

/// Kind of an application over datagrams, before its parameters are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Voice,
    Game,
    VideoCall,
    Dns,
    Ping,
}

/// Flows of an application over datagrams.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DatagramTraffic {
    /// Application.
    pub application: Application,
    /// Number of flows: of calls, of players.
    pub flows: u32,
    /// Time from which the flows send.
    pub start: Nanos,
    /// Time at which they stop; `None`: the end of the arrival process.
    pub stop: Option<Nanos>,
}

impl Kind {
    /// Reads the number of flows, and the application's own keys.
    pub(crate) fn read(
        self,
        section: &mut Section<'_>,
    ) -> Result<(u32, Application), ScenarioError> {
        let mut count = |key| match section.take(key) {
            Some(item) => Ok(item.count(1..=1_000)? as u32),
            None => Ok(1),
        };
        Ok(match self {
            Kind::Voice => (count("calls")?, Application::Voice(Voice::read(section)?)),
            Kind::Game => (count("players")?, Application::Game(Game::read(section)?)),
            Kind::VideoCall => (
                count("calls")?,
                Application::VideoCall(VideoCall::read(section)?),
            ),
            Kind::Dns => (1, Application::Dns(Dns::read(section)?)),
            Kind::Ping => (1, Application::Ping(Ping::read(section)?)),
        })
    }
}

impl Application {
    /// Name in scenario files.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Application::Voice(_) => "voice",
            Application::Game(_) => "game",
            Application::VideoCall(_) => "video_call",
            Application::Dns(_) => "dns",
            Application::Ping(_) => "ping",
        }
    }

    /// What the client and the server of a flow offer.
    fn offered(&self) -> [Offered; 2] {
        match self {
            Application::Voice(voice) => voice.offered(),
            Application::Game(game) => game.offered(),
            Application::VideoCall(call) => call.offered(),
            Application::Dns(dns) => dns.offered(),
            Application::Ping(ping) => ping.offered(),
        }
    }

    fn ends(&self, times: &FlowTimes) -> [Box<dyn DatagramEnd>; 2] {
        match self {
            Application::Voice(voice) => voice.ends(times),
            Application::Game(game) => game.ends(times),
            Application::VideoCall(call) => call.ends(times),
            Application::Dns(dns) => dns.ends(times),
            Application::Ping(ping) => ping.ends(times),
        }
    }
}

impl fmt::Display for Application {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Application::Voice(voice) => voice.fmt(f),
            Application::Game(game) => game.fmt(f),
            Application::VideoCall(call) => call.fmt(f),
            Application::Dns(dns) => dns.fmt(f),
            Application::Ping(ping) => ping.fmt(f),
        }
    }
}

impl DatagramTraffic {
    /// Mean offered load in bits per second in `direction`, averaged over `duration`, if the server's datagrams go
    /// `toward_client` and the link layer adds `overhead` bytes to each.
    pub(crate) fn bits_per_second(
        &self,
        direction: Direction,
        toward_client: Direction,
        duration: Nanos,
        overhead: u32,
    ) -> f64 {
        let [client, server] = self.application.offered();
        let offered = if direction == toward_client {
            server
        } else {
            client
        };
        let stop = self.stop.unwrap_or(duration).min(duration);
        let active = stop.saturating_sub(self.start).as_secs_f64() / duration.as_secs_f64();
        f64::from(self.flows) * active * offered.bits_per_second(overhead)
    }
}

impl fmt::Display for DatagramTraffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.application.name();
        write!(f, "{} × {name}, {}", self.flows, self.application)
    }
}

/// Mean traffic of one end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offered {
    /// Mean interval of the packets.
    pub(super) interval: Nanos,
    /// Mean length of an IP packet, bytes.
    pub(super) ip_bytes: f64,
}

impl Offered {
    pub(super) fn packets(ip_bytes: u32, interval: Nanos) -> Offered {
        Offered {
            interval,
            ip_bytes: ip_bytes.into(),
        }
    }

    fn bits_per_second(&self, overhead: u32) -> f64 {
        8.0 * (self.ip_bytes + f64::from(overhead)) / self.interval.as_secs_f64()
    }
}

/// Times of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FlowTimes {
    /// Time from which the flow exists.
    #[serde(rename = "start_ns", with = "nanos")]
    pub start: Nanos,
    /// Times at which the client and the server begin to send.
    #[serde(rename = "first_ns", with = "nanos_pair")]
    pub first: [Nanos; 2],
    /// Time at which sending stops; answers and repetitions may follow.
    #[serde(rename = "stop_ns", with = "nanos")]
    pub stop: Nanos,
    /// End of the warm-up.
    #[serde(rename = "warmup_ns", with = "nanos")]
    pub warmup: Nanos,
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
    /// Round-trip time in addition to that of the links.
    #[serde(rename = "extra_rtt_ns", with = "nanos")]
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

impl Scenario {
    /// Flows of datagrams of all workloads with `seed`, in the order of the workloads. The ends of a flow begin at
    /// random within their first interval, so that flows do not send in step.
    pub fn datagram_flows(&self, seed: u64) -> Vec<DatagramFlow> {
        let links = self.link_rtt();
        let mut flows = Vec::new();
        for (index, workload) in self.workloads.iter().enumerate() {
            let Traffic::Datagrams(traffic) = &workload.traffic else {
                continue;
            };
            let mut rng = random_stream(seed, index);
            let rtt = workload.rtt.unwrap_or((links, links));
            let stop = traffic.stop.unwrap_or(self.duration).min(self.duration);
            let intervals = traffic.application.offered().map(|end| end.interval);
            flows.extend((0..traffic.flows).map(|number| DatagramFlow {
                workload: index,
                direction: workload.direction,
                extra_rtt: spread(rtt, number, traffic.flows).saturating_sub(links),
                application: traffic.application,
                times: FlowTimes {
                    start: traffic.start,
                    first: intervals.map(|interval| {
                        let phase = Nanos(rng.random_range(0..interval.0.max(1)));
                        traffic.start.saturating_add(phase)
                    }),
                    stop,
                    warmup: self.warmup,
                    seed: rng.random(),
                },
            }));
        }
        flows
    }
}

/// Reads the length of an IP packet, which has room for all headers and fits into an Ethernet frame.
pub(super) fn length(
    section: &mut Section<'_>,
    key: &'static str,
    default: u32,
) -> Result<u32, ScenarioError> {
    match section.take(key) {
        Some(item) => Ok(item.size(u64::from(SHORTEST_DATAGRAM)..=1_500)? as u32),
        None => Ok(default),
    }
}

/// Reads the interval of a regular source.
pub(super) fn interval(
    section: &mut Section<'_>,
    key: &'static str,
    default: Nanos,
) -> Result<Nanos, ScenarioError> {
    let Some(item) = section.take(key) else {
        return Ok(default);
    };
    let time = item.time()?;
    let shortest = Nanos::from_millis(1);
    if time < shortest {
        return Err(item.error(format!("expected at least {shortest}")));
    }
    Ok(time)
}

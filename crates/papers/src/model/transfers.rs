//! Transfers of fixed sizes over a link that loses packets at random.

use crate::lab::{Failure, Lab, Observation};
use crate::setup::Setup;
use gentle_experiment::{Direction, Poisson, RunSpec, Sizes, Traffic};
use gentle_model::{Backoff, Path};
use gentle_sim::{DropCause, Packet, Tap};
use gentle_tcp::{Flags, Seq};
use gentle_units::{Instant, Nanos};
use std::collections::HashMap;

const SCENARIO: &str = include_str!("../../data/model/response-time.toml");

/// Round-trip time of the scenario, seconds.
const RTT_S: f64 = 0.1;

/// Stack of the hosts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stack {
    /// Name within claims.
    pub(super) name: &'static str,
    /// Name for readers.
    pub(super) label: &'static str,
    pub(super) profile: &'static str,
    pub(super) knobs: &'static [(&'static str, &'static str)],
    pub(super) initial_rto_s: f64,
    pub(super) backoff: Backoff,
    pub(super) initial_window: f64,
}

/// The stacks, with the values that the model has to know of them.
pub(super) const STACKS: [Stack; 3] = [
    Stack {
        name: "freebsd-9.3",
        label: "freebsd-9.3: RTO 3 s, window 4, NewReno",
        profile: "freebsd-9.3",
        knobs: &[],
        initial_rto_s: 3.0,
        backoff: Backoff::Doubling { linear: 4, retries: 8 },
        initial_window: 4.0,
    },
    Stack {
        name: "linux-reno",
        label: "linux-7.2: RTO 1 s, window 10, Reno",
        profile: "linux-7.2",
        knobs: &[("congestion_control", "reno")],
        initial_rto_s: 1.0,
        backoff: Backoff::Doubling { linear: 4, retries: 6 },
        initial_window: 10.0,
    },
    Stack {
        name: "linux-cubic",
        label: "linux-7.2: RTO 1 s, window 10, CUBIC",
        profile: "linux-7.2",
        knobs: &[],
        initial_rto_s: 1.0,
        backoff: Backoff::Doubling { linear: 4, retries: 6 },
        initial_window: 10.0,
    },
];

impl Stack {
    /// The model's path: packets are lost with probability `loss`, of a handshake the SYN alone.
    pub(super) fn path(&self, loss: f64) -> Path {
        Path {
            rtt_s: RTT_S,
            loss,
            handshake_loss: loss,
            initial_rto_s: self.initial_rto_s,
            backoff: self.backoff,
            initial_window: self.initial_window,
            segments_per_ack: 1.0,
        }
    }
}

/// A completed transfer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transfer {
    /// Size in segments.
    pub(super) segments: u64,
    /// Time from the first SYN to the acknowledgement of the FIN.
    pub(super) response: Nanos,
    /// Lost SYNs.
    pub(super) syns_lost: u32,
    /// Time from the first SYN to the last.
    pub(super) waited: Nanos,
}

/// State of a connection.
#[derive(Debug, Clone, Copy, Default)]
struct Connection {
    began: Instant,
    isn: Seq,
    /// Sequence number after the FIN, once it was sent.
    end: Option<Seq>,
    syns_lost: u32,
    waited: Nanos,
    is_over: bool,
}

/// Collects the transfers of a run.
#[derive(Debug, Clone)]
pub(super) struct Transfers {
    mss: u32,
    connections: HashMap<u32, Connection>,
    pub(super) completed: Vec<Transfer>,
}

impl Observation for Transfers {
    fn of(run: &RunSpec<'_>) -> Transfers {
        Transfers { mss: u32::from(run.scenario.profile.mss), connections: HashMap::new(), completed: Vec::new() }
    }
}

impl Tap for Transfers {
    fn offered(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        let segment = packet.segment();
        let (Direction::Down, Some(number)) = (direction, packet.connection()) else {
            return;
        };
        if segment.flags.contains(Flags::SYN) {
            let connection = self.connections.entry(number).or_insert(Connection {
                began: now,
                isn: segment.seq,
                ..Connection::default()
            });
            connection.waited = now - connection.began;
        } else if segment.flags.contains(Flags::FIN)
            && let Some(connection) = self.connections.get_mut(&number)
        {
            connection.end = Some(segment.seq + segment.len + 1);
        }
    }

    fn dropped(&mut self, _: Instant, direction: Direction, packet: &Packet, _: DropCause) {
        if direction == Direction::Down
            && packet.segment().flags.contains(Flags::SYN)
            && let Some(connection) = packet.connection().and_then(|number| self.connections.get_mut(&number))
        {
            connection.syns_lost += 1;
        }
    }

    fn delivered(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        if direction != Direction::Up {
            return;
        }
        let connection = packet.connection().and_then(|number| self.connections.get_mut(&number));
        if let Some(connection) = connection
            && let Some(end) = connection.end
            && !connection.is_over
            && packet.segment().ack >= end
        {
            connection.is_over = true;
            // SYN and FIN take a sequence number each.
            let bytes = end.0.wrapping_sub(connection.isn.0).saturating_sub(2);
            self.completed.push(Transfer {
                segments: u64::from(bytes.div_ceil(self.mss)),
                response: now - connection.began,
                syns_lost: connection.syns_lost,
                waited: connection.waited,
            });
        }
    }
}

/// Simulates transfers of the `sizes`, in segments, each with the number of transfers in a run. Returns the transfers
/// of each seed.
pub(super) fn transfers(
    lab: &Lab<'_>,
    stack: &Stack,
    loss: f64,
    sizes: &[(u64, u32)],
    seeds: &[u64],
) -> Result<Vec<Vec<Transfer>>, Failure> {
    let mut setup =
        Setup::from_toml("papers/model/response-time.toml", SCENARIO).scheme("pfifo", "pfifo limit=1000000");
    setup.set_profile(stack.profile);
    for (knob, value) in stack.knobs {
        setup.set_knob(knob, value);
    }
    let scenario = &mut setup.scenario;
    scenario.links[Direction::Down.index()].loss = loss;
    let workload = scenario.workloads[0].clone();
    scenario.workloads = sizes
        .iter()
        .map(|&(segments, number)| {
            let mut workload = workload.clone();
            workload.traffic = Traffic::Poisson(Poisson {
                gap: Nanos(scenario.duration.0 / u64::from(number)),
                sizes: Sizes::Fixed(segments),
            });
            workload
        })
        .collect();
    let watched = lab.watch::<Transfers>(&setup, seeds)?;
    Ok(watched.into_iter().map(|run| run.seen.completed.clone()).collect())
}

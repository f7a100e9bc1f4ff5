//! Workloads turned into connections, in order of time.

use super::web::{Model, Web, exponential};
use super::{Initiator, Traffic, Workload, flows::Flow, sizes::Sizes};
use crate::direction::Direction;
use gentle_units::Nanos;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;

/// How long a connection goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// Until so many bytes have been sent.
    Bytes(u64),
    /// Until a time.
    Until(Nanos),
}

/// A connection about to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When, after the start of the run.
    pub at: Nanos,
    /// How long it goes on.
    pub span: Span,
    /// The link that carries the data.
    pub direction: Direction,
    /// Which end connects.
    pub initiator: Initiator,
    /// Round-trip time on top of the links' own.
    pub extra_rtt: Nanos,
    /// The place of its workload in the scenario.
    pub workload: usize,
}

/// What a workload has to know of its scenario.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    /// No connection starts at or after it.
    pub(crate) end: Nanos,
    /// Payload of a full segment, bytes.
    pub(crate) mss: u64,
    /// Round-trip time of the links alone.
    pub(crate) link_rtt: Nanos,
}

/// The connections of one workload.
pub(crate) struct Arrivals {
    /// The workload's place in the scenario.
    index: usize,
    source: Source,
    rng: Xoshiro256PlusPlus,
    /// No connection starts at or after it.
    end: Nanos,
    mss: u64,
    direction: Direction,
    initiator: Initiator,
    rtt: (Nanos, Nanos),
    link_rtt: Nanos,
}

enum Source {
    Poisson {
        gap: Nanos,
        sizes: Sizes,
        last: Nanos,
    },
    Web(Web),
    Long {
        /// Starts and round-trip times, the latest start first.
        flows: Vec<(Nanos, Nanos)>,
        stop: Nanos,
    },
    Replay {
        flows: Arc<[Flow]>,
        next: usize,
    },
    /// Packets without connections come from elsewhere.
    Nothing,
}

impl Arrivals {
    /// The connections of `workload`, the scenario's number `index`, under `seed`.
    pub(crate) fn new(workload: &Workload, index: usize, seed: u64, setting: &Setting) -> Arrivals {
        let Setting { end, mss, link_rtt } = *setting;
        // Xoshiro's seeding (SplitMix64) makes unrelated streams of neighbouring seeds.
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(
            seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (index as u64 + 1),
        );
        let rtt = workload.rtt.unwrap_or((link_rtt, link_rtt));
        let source = match &workload.traffic {
            Traffic::Poisson { gap, sizes } => Source::Poisson {
                gap: *gap,
                sizes: *sizes,
                last: Nanos::ZERO,
            },
            Traffic::Web {
                sessions,
                session_gap,
                pages,
                page_gap,
                objects,
                object_gap,
                sizes,
            } => Source::Web(Web::new(
                Model {
                    sessions: *sessions,
                    session_gap: *session_gap,
                    pages: *pages,
                    page_gap: *page_gap,
                    objects: *objects,
                    object_gap: *object_gap,
                    sizes: *sizes,
                },
                &mut rng,
            )),
            Traffic::Long { flows, start, stop } => {
                let mut list: Vec<(Nanos, Nanos)> = (0..*flows)
                    .map(|i| {
                        let at = Nanos(rng.random_range(start.0.0..=start.1.0));
                        (at, spread(rtt, i, *flows))
                    })
                    .collect();
                list.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
                Source::Long {
                    flows: list,
                    stop: stop.unwrap_or(end),
                }
            }
            Traffic::Replay { flows } => Source::Replay {
                flows: Arc::clone(flows),
                next: 0,
            },
            Traffic::Udp(_) | Traffic::SynFlood(_) => Source::Nothing,
        };
        Arrivals {
            index,
            source,
            rng,
            end,
            mss,
            direction: workload.direction,
            initiator: workload.initiator,
            rtt,
            link_rtt,
        }
    }

    /// The next connection; `None`: that was the last one.
    pub(crate) fn next(&mut self) -> Option<Arrival> {
        let (direction, initiator) = (self.direction, self.initiator);
        let mut listed = None;
        let (at, span, rtt) = match &mut self.source {
            Source::Poisson { gap, sizes, last } => {
                *last += exponential(*gap, &mut self.rng);
                let bytes = sizes.sample(&mut self.rng) * self.mss;
                (*last, Span::Bytes(bytes), drawn(self.rtt, &mut self.rng))
            }
            Source::Web(web) => {
                let (at, segments) = web.next(&mut self.rng)?;
                let span = Span::Bytes(segments * self.mss);
                (at, span, drawn(self.rtt, &mut self.rng))
            }
            Source::Long { flows, stop } => {
                let (at, rtt) = flows.pop()?;
                (at, Span::Until(*stop), rtt)
            }
            Source::Replay { flows, next } => {
                let flow = flows.get(*next)?;
                *next += 1;
                let rtt = flow.rtt.unwrap_or_else(|| drawn(self.rtt, &mut self.rng));
                listed = Some((flow.direction, flow.initiator));
                (flow.at, Span::Bytes(flow.bytes), rtt)
            }
            Source::Nothing => return None,
        };
        if at >= self.end {
            return None;
        }
        let (listed_direction, listed_initiator) = listed.unwrap_or_default();
        Some(Arrival {
            at,
            span,
            direction: listed_direction.unwrap_or(direction),
            initiator: listed_initiator.unwrap_or(initiator),
            extra_rtt: rtt.saturating_sub(self.link_rtt),
            workload: self.index,
        })
    }
}

/// The `i`th of `n` values spread evenly over a range, its ends included.
fn spread((from, to): (Nanos, Nanos), i: u32, n: u32) -> Nanos {
    let width = u128::from((to - from).0);
    let step = width * u128::from(i) / u128::from(n.saturating_sub(1).max(1));
    from + Nanos(step as u64)
}

/// One value of a range. A range without width costs no random number, so that it does not shift the stream.
fn drawn((from, to): (Nanos, Nanos), rng: &mut Xoshiro256PlusPlus) -> Nanos {
    if from == to {
        return from;
    }
    Nanos(rng.random_range(from.0..=to.0))
}

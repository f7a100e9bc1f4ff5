//! Generation of a workload's connections in order of time.

use super::web::{Model, Web};
use super::{Initiator, Traffic, Workload, flows::Flow, sizes::Sizes};
use crate::direction::Direction;
use crate::draw::{Stream, exponential_time, spread, uniform_time};
use gentle_units::{Instant, Nanos};
use std::sync::Arc;

/// End of a connection's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// The connection closes after this number of bytes.
    Bytes(u64),
    /// The connection has data to send until this time.
    Until(Instant),
}

/// Start of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Time since the start of the run.
    pub at: Instant,
    /// End of the connection's data.
    pub span: Span,
    /// Link that carries the data.
    pub direction: Direction,
    /// End that connects.
    pub initiator: Initiator,
    /// Round-trip time in addition to that of the links.
    pub extra_rtt: Nanos,
    /// Index of the workload in the scenario.
    pub workload: usize,
}

/// Properties of a scenario on which arrivals depend.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArrivalContext {
    /// End of the arrival process: no connection starts at or after it.
    pub(crate) end: Instant,
    /// Payload of a full segment, bytes.
    pub(crate) mss: u64,
    /// Round-trip time of the links.
    pub(crate) link_rtt: Nanos,
}

/// Generator of one workload's connections.
pub(crate) struct Arrivals {
    /// Index of the workload in the scenario.
    index: usize,
    source: Source,
    rng: Stream,
    /// End of the arrival process.
    end: Instant,
    mss: u64,
    direction: Direction,
    initiator: Initiator,
    rtt: (Nanos, Nanos),
    link_rtt: Nanos,
    pace: Pace,
}

/// Relation between the times that a source draws and those of the run: `at = run + (drawn - at drawn) * stretch`.
#[derive(Debug, Clone, Copy)]
struct Pace {
    run: Instant,
    drawn: Instant,
    stretch: f64,
}

impl Pace {
    const UNCHANGED: Pace = Pace { run: Instant::ZERO, drawn: Instant::ZERO, stretch: 1.0 };

    fn is_unchanged(&self) -> bool {
        self.stretch == 1.0 && self.run == self.drawn
    }

    /// Time in the run of what was drawn for `drawn`.
    fn in_run(&self, drawn: Instant) -> Instant {
        if self.is_unchanged() {
            return drawn;
        }
        let after = drawn.saturating_since(self.drawn).as_secs_f64();
        self.run + Nanos::from_secs_f64(after * self.stretch)
    }

    /// The pace that multiplies rates by `factor` from `now` on.
    fn scaled(&self, now: Instant, factor: f64) -> Pace {
        let after = now.saturating_since(self.run).as_secs_f64();
        Pace {
            run: now,
            drawn: self.drawn + Nanos::from_secs_f64(after / self.stretch),
            stretch: self.stretch / factor,
        }
    }
}

enum Source {
    Poisson {
        gap: Nanos,
        sizes: Sizes,
        last: Instant,
    },
    Web(Web),
    Long {
        /// Starts and round-trip times, latest start first.
        flows: Vec<(Instant, Nanos)>,
        stop: Instant,
    },
    Replay {
        flows: Arc<[Flow]>,
        next: usize,
    },
    /// No connections whose start is known before the run: the workload consists of packets without connections, or of
    /// users ([`Dialogue`](crate::application::dialogue::Dialogue)).
    Nothing,
}

impl Arrivals {
    /// The connections of `workload`, which has the index `index` in the scenario and draws from `rng`.
    pub(crate) fn new(workload: &Workload, index: usize, mut rng: Stream, context: &ArrivalContext) -> Arrivals {
        let ArrivalContext { end, mss, link_rtt } = *context;
        let rtt = workload.rtt.unwrap_or((link_rtt, link_rtt));
        let source = match &workload.traffic {
            Traffic::Poisson { gap, sizes } => Source::Poisson { gap: *gap, sizes: *sizes, last: Instant::ZERO },
            Traffic::Web { sessions, session_gap, pages, page_gap, objects, object_gap, sizes } => {
                Source::Web(Web::new(
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
                ))
            }
            Traffic::Long { flows, start, stop } => {
                let mut list: Vec<(Instant, Nanos)> = (0..*flows)
                    .map(|i| {
                        let at = Instant::ZERO + uniform_time(*start, &mut rng);
                        (at, spread(rtt, i, *flows))
                    })
                    .collect();
                list.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
                Source::Long { flows: list, stop: stop.map_or(end, |stop| Instant::ZERO + stop) }
            }
            Traffic::Replay { flows } => Source::Replay { flows: Arc::clone(flows), next: 0 },
            Traffic::Udp(_) | Traffic::SynFlood(_) | Traffic::Datagrams(_) | Traffic::Dialogue(_) => Source::Nothing,
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
            pace: Pace::UNCHANGED,
        }
    }

    /// Multiplies the rate at which connections start at random by `factor` from `now` on, if their data goes in
    /// `direction`. `upcoming` is the connection that was drawn last, and has not started.
    pub(crate) fn scale(&mut self, now: Instant, direction: Direction, factor: f64, upcoming: &mut Option<Arrival>) {
        let is_random = matches!(self.source, Source::Poisson { .. } | Source::Web(_));
        if !is_random || self.direction != direction {
            return;
        }
        let before = self.pace;
        self.pace = before.scaled(now, factor);
        match upcoming {
            Some(arrival) => {
                let left = arrival.at.saturating_since(now).as_secs_f64();
                let stretch = self.pace.stretch / before.stretch;
                arrival.at = now + Nanos::from_secs_f64(left * stretch);
                if arrival.at >= self.end {
                    *upcoming = None;
                }
            }
            None => *upcoming = self.next(),
        }
    }

    /// The next connection; `None` after the last one.
    pub(crate) fn next(&mut self) -> Option<Arrival> {
        let (direction, initiator) = (self.direction, self.initiator);
        let mut listed = None;
        let (at, span, rtt) = match &mut self.source {
            Source::Poisson { gap, sizes, last } => {
                *last += exponential_time(*gap, &mut self.rng);
                let bytes = sizes.sample(&mut self.rng) * self.mss;
                (*last, Span::Bytes(bytes), uniform_time(self.rtt, &mut self.rng))
            }
            Source::Web(web) => {
                let (at, segments) = web.next(&mut self.rng)?;
                let span = Span::Bytes(segments * self.mss);
                (at, span, uniform_time(self.rtt, &mut self.rng))
            }
            Source::Long { flows, stop } => {
                let (at, rtt) = flows.pop()?;
                (at, Span::Until(*stop), rtt)
            }
            Source::Replay { flows, next } => {
                let flow = flows.get(*next)?;
                *next += 1;
                let rtt = flow.rtt.unwrap_or_else(|| uniform_time(self.rtt, &mut self.rng));
                listed = Some((flow.direction, flow.initiator));
                (Instant::ZERO + flow.at, Span::Bytes(flow.bytes), rtt)
            }
            Source::Nothing => return None,
        };
        let at = self.pace.in_run(at);
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

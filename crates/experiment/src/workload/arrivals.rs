//! Generation of a workload's connections in order of time.

use super::Workload;
use crate::direction::Direction;
use crate::draw::{Stream, uniform_time};
use crate::initiator::Initiator;
use crate::traffic::{Span, StartContext, Starts};
use gentle_units::{Instant, Nanos};

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
    /// Round-trip time in addition to the links' delays.
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
    /// Connections whose start is known before the run; `None`: the workload has none.
    starts: Option<Box<dyn Starts>>,
    /// Whether connections start at random, at a rate that may change.
    scales: bool,
    rng: Stream,
    /// End of the arrival process.
    end: Instant,
    direction: Direction,
    initiator: Initiator,
    rtt: (Nanos, Nanos),
    link_rtt: Nanos,
    pace: Pace,
}

/// Relation between the times that a source draws and the times of the run: `at = run + (drawn - at drawn) * stretch`.
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

impl Arrivals {
    /// The connections of `workload`, which has the index `index` in the scenario and draws from `rng`.
    pub(crate) fn new(workload: &Workload, index: usize, mut rng: Stream, context: &ArrivalContext) -> Arrivals {
        let ArrivalContext { end, mss, link_rtt } = *context;
        let rtt = workload.rtt.unwrap_or((link_rtt, link_rtt));
        let kind = workload.traffic.kind();
        Arrivals {
            index,
            starts: kind.starts(&StartContext { end, mss, rtt }, &mut rng),
            scales: kind.facts().scales,
            rng,
            end,
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
        if !self.scales || self.direction != direction {
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
        let start = self.starts.as_mut()?.next(&mut self.rng)?;
        let rtt = start.rtt.unwrap_or_else(|| uniform_time(self.rtt, &mut self.rng));
        let at = self.pace.in_run(start.at);
        if at >= self.end {
            return None;
        }
        Some(Arrival {
            at,
            span: start.span,
            direction: start.direction.unwrap_or(self.direction),
            initiator: start.initiator.unwrap_or(self.initiator),
            extra_rtt: rtt.saturating_sub(self.link_rtt),
            workload: self.index,
        })
    }
}

//! One run that a page shows while it lasts.

use crate::history::{Follower, History};
use crate::lookout::{Lookout, Seen, Sight};
use crate::meter::{Curves, Meter, Sums};
use crate::setup::{Setup, SetupError, load_of, with_buffer};
use crate::watcher::Watcher;
use gentle_aqm::{Spec, registry};
use gentle_experiment::{DEFAULT_BINS, Direction, RunSpec, Scenario};
use gentle_sim::{Backlog, Simulation};
use gentle_units::{Instant, Nanos, Rate};
use serde::Serialize;

/// How far beyond the moment shown the life of a connection is followed.
pub(crate) const FORESIGHT: Nanos = Nanos::from_secs(120);
/// Steps between two looks at whether the connection is over.
const STEPS: u64 = 10_000;

/// A change of a session while it runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// The rate of a link. Connections that start at random keep the load of the link under test, as in
    /// [`Scenario::change_links`].
    Rate(Direction, Rate),
    /// The offered load of the link under test, as a fraction of its rate.
    Load(f64),
    /// The buffer of the scheme under test in packets; without effect on a scheme without such a limit. Packets that wait
    /// stay.
    Buffer(u64),
    /// The loss of the next SYN or SYN/ACK that a host sends over the link under test.
    DropHandshake,
}

/// How far [`Session::advance`] came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// The requested time.
    Time,
    /// So many steps were made; the requested time lies ahead.
    Steps,
    /// The end of the run.
    End,
}

/// One scenario under one scheme with one seed, at some moment.
pub struct Session {
    scenario: Scenario,
    scheme: Spec,
    seed: u64,
    simulation: Simulation<Watcher>,
    /// The moment shown: every event up to it has happened.
    clock: Instant,
    /// Changes in order of time, including changes that lie ahead.
    changes: Vec<(Instant, Change)>,
    /// Number of changes made.
    made: usize,
    /// The scheme under test with its present buffer.
    current: Spec,
    load: f64,
    rates: [Rate; 2],
    ended: bool,
}

/// State of a session.
#[derive(Debug, Clone, Serialize)]
pub struct Snapshot {
    /// The moment, seconds.
    pub now_s: f64,
    /// The end of the run at the latest, seconds.
    pub end_s: f64,
    /// Whether nothing is left to happen.
    pub ended: bool,
    /// The scheme under test.
    pub scheme: String,
    /// Packets and bytes that wait, by direction.
    pub backlog: [(usize, u64); 2],
    /// Connections that are open.
    pub open: usize,
    /// Sums since the start.
    pub sums: Sums,
    /// Curves since the start; left out unless requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub curves: Option<Curves>,
}

impl Session {
    /// The run of a setup before its first event.
    ///
    /// # Errors
    /// The setup or the scheme is malformed.
    pub fn new(setup: &Setup, scheme: &str, seed: u64) -> Result<Session, SetupError> {
        let scheme: Spec = parse_scheme(scheme)?;
        let scenario = setup.scenario()?.under(&scheme).into_owned();
        let simulation = start(&scenario, &scheme, seed);
        Ok(Session {
            load: load_of(&scenario),
            rates: [0, 1].map(|side: usize| scenario.links[side].rate),
            scenario,
            current: scheme.clone(),
            scheme,
            seed,
            simulation,
            clock: Instant::ZERO,
            changes: Vec::new(),
            made: 0,
            ended: false,
        })
    }

    /// The scenario.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The moment shown.
    pub fn now(&self) -> Instant {
        self.clock
    }

    /// Collects events from now on, or no more.
    pub fn set_details(&mut self, details: bool) {
        self.simulation.tap_mut().set_details(details);
    }

    /// Takes the events collected, in rows of [`ROW`](crate::event::ROW) numbers.
    pub fn take_events(&mut self) -> Vec<f64> {
        self.simulation.tap_mut().take()
    }

    /// Continues to `until`, in at most so many steps.
    pub fn advance(&mut self, until: Instant, steps: u64) -> Reached {
        let mut left = steps;
        loop {
            let change_at = self.changes.get(self.made).map_or(Instant::NEVER, |(at, _)| *at);
            let target = until.min(change_at);
            while self.simulation.next_at() <= target {
                if left == 0 {
                    self.clock = self.clock.max(self.simulation.now());
                    return Reached::Steps;
                }
                left -= 1;
                if !self.simulation.step() {
                    self.ended = true;
                    self.clock = self.clock.max(self.simulation.now());
                    return Reached::End;
                }
            }
            if self.ended || self.simulation.next_at() > self.simulation.end() {
                self.ended = true;
                self.clock = target.min(self.simulation.end()).max(self.clock);
                return Reached::End;
            }
            self.clock = target.max(self.clock);
            if change_at > until {
                return Reached::Time;
            }
            let change = self.changes[self.made].1.clone();
            self.made += 1;
            self.make(&change);
        }
    }

    /// Continues until something happens to a packet. False: the run is over.
    pub fn step(&mut self) -> bool {
        let seen = self.simulation.tap().events_seen;
        while self.simulation.tap().events_seen == seen {
            let next = self.simulation.next_at();
            if next > self.simulation.end() || self.advance(next, 1) == Reached::End {
                return false;
            }
        }
        true
    }

    /// Goes back to the start. [`Session::advance`] makes the changes again, so that the same happens as before.
    pub fn back(&mut self) {
        self.made = 0;
        self.ended = false;
        self.clock = Instant::ZERO;
        self.simulation = start(&self.scenario, &self.scheme, self.seed);
        self.current = self.scheme.clone();
        self.load = load_of(&self.scenario);
        self.rates = [0, 1].map(|side: usize| self.scenario.links[side].rate);
    }

    /// Replaces all changes, each to be made at its moment. Goes back to the start unless only changes that lie ahead are
    /// different.
    pub fn replan(&mut self, mut changes: Vec<(Instant, Change)>) {
        changes.sort_by_key(|(at, _)| *at);
        let ahead = changes.get(self.made).is_none_or(|(at, _)| *at >= self.clock);
        let stays = ahead && changes.get(..self.made) == Some(&self.changes[..self.made]);
        self.changes = changes;
        if !stays {
            self.back();
        }
    }

    /// The run from its start, with the changes made so far.
    fn again(&self) -> Session {
        Session {
            scenario: self.scenario.clone(),
            scheme: self.scheme.clone(),
            seed: self.seed,
            simulation: start(&self.scenario, &self.scheme, self.seed),
            clock: Instant::ZERO,
            changes: self.changes.clone(),
            made: 0,
            current: self.scheme.clone(),
            load: load_of(&self.scenario),
            rates: [0, 1].map(|side: usize| self.scenario.links[side].rate),
            ended: false,
        }
    }

    fn make(&mut self, change: &Change) {
        let down = Direction::Down;
        match change {
            Change::Rate(direction, rate) => {
                let side = direction.index();
                let before = std::mem::replace(&mut self.rates[side], *rate);
                let factor = rate.bits_per_second() as f64 / before.bits_per_second() as f64;
                self.simulation.set_rate(*direction, *rate);
                self.simulation.scale_load(*direction, factor);
                if *direction == down {
                    let seconds = seconds_per_byte(*rate);
                    self.simulation.tap_mut().meter.set_seconds_per_byte(seconds);
                }
            }
            Change::Load(load) => {
                if *load > 0.0 && self.load > 0.0 {
                    self.simulation.scale_load(down, load / self.load);
                    self.load = *load;
                }
            }
            Change::Buffer(packets) => {
                let Some(spec) = with_buffer(&self.current, *packets) else {
                    return;
                };
                self.simulation.replace_queue(down, registry::build(&spec, self.seed));
                if self.scenario.link(Direction::Up).as_down {
                    let queue = registry::build(&spec, !self.seed);
                    self.simulation.replace_queue(Direction::Up, queue);
                }
                self.current = spec;
            }
            Change::DropHandshake => self.simulation.drop_next_handshake(down),
        }
    }

    /// The state, with curves if requested.
    pub fn snapshot(&self, curves: bool) -> Snapshot {
        let meter = &self.simulation.tap().meter;
        let backlog = Direction::BOTH.map(|direction| {
            let Backlog { packets, bytes } = self.simulation.backlog(direction);
            (packets, bytes)
        });
        Snapshot {
            now_s: self.clock.as_secs_f64(),
            end_s: self.simulation.end().as_secs_f64(),
            ended: self.ended,
            scheme: self.current.to_string(),
            backlog,
            open: self.simulation.open_connections(),
            sums: meter.sums().clone(),
            curves: curves.then(|| meter.curves()),
        }
    }

    /// The life of a connection, from its first packet to its end, or at most two minutes beyond the moment shown. The
    /// run is made again for that.
    pub fn history(&self, connection: u32) -> History {
        let mut again = self.again();
        again.simulation.tap_mut().follow(Follower::new(connection));
        let last = self.clock + FORESIGHT;
        while again.advance(last, STEPS) == Reached::Steps {
            let follower = again.simulation.tap().follower();
            if follower.is_none_or(|follower| follower.history().outcome.is_some()) {
                break;
            }
        }
        let follower = again.simulation.tap().follower();
        follower.map(|follower| follower.history().clone()).unwrap_or_default()
    }

    /// The first time from `after` on at which a sight is seen, and the connection concerned; nothing before the end of the
    /// run. The run is made again for that.
    pub fn find(&self, sight: Sight, after: Instant) -> Option<Seen> {
        let mut again = self.again();
        again.simulation.tap_mut().look_out(Lookout::new(sight, after));
        loop {
            let next = again.simulation.next_at();
            let reached = again.advance(next, STEPS);
            if let Some(seen) = again.simulation.tap().seen() {
                return Some(seen);
            }
            if reached == Reached::End {
                return None;
            }
        }
    }
}

pub(crate) fn parse_scheme(text: &str) -> Result<Spec, SetupError> {
    text.parse()
        .map_err(|error: gentle_aqm::SpecError| SetupError { place: "scheme".to_owned(), problem: error.to_string() })
}

fn seconds_per_byte(rate: Rate) -> f64 {
    8.0 / rate.bits_per_second() as f64
}

fn start(scenario: &Scenario, scheme: &Spec, seed: u64) -> Simulation<Watcher> {
    let run = RunSpec { scenario, scheme, seed, bins: &DEFAULT_BINS, keep_connections: false };
    let rate = scenario.link(Direction::Down).rate;
    Simulation::new(&run, Watcher::new(Meter::new(seconds_per_byte(rate))))
}

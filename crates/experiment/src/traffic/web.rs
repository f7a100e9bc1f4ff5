//! Web sessions, which consist of pages of objects (Feldmann et al. 1999), generated incrementally.

use super::{Around, Facts, Kind, Offering, Span, Start, StartContext, Starts, Traffic, events, stretched};
use crate::draw::{Stream, exponential, exponential_time};
use crate::error::ScenarioError;
use crate::section::Section;
use crate::sizes::Sizes;
use gentle_units::{Instant, Nanos, Rate};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

/// Web sessions (Feldmann et al. 1999, as `redfavor-2012` uses them): each object is a connection. Gaps and counts are exponentially
/// distributed.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Web {
    /// Total number of sessions.
    pub sessions: u32,
    /// Mean gap between the starts of sessions.
    pub session_gap: Nanos,
    /// Mean pages of a session, at least 1.
    pub pages: f64,
    /// Mean gap between the starts of pages.
    pub page_gap: Nanos,
    /// Mean objects of a page, at least 1.
    pub objects: f64,
    /// Mean gap between the starts of objects.
    pub object_gap: Nanos,
    /// Sizes of objects in segments.
    pub sizes: Sizes,
}

impl Web {
    pub(super) const FACTS: Facts = Facts { names: &["web"], scales: true, read: Self::read, ..Facts::PLAIN };

    fn read(_: &str, section: &mut Section<'_>, _: &Around<'_>) -> Result<Traffic, ScenarioError> {
        Ok(Traffic::Web(Web {
            sessions: section.require("sessions", "135")?.count(1..=1_000_000)? as u32,
            session_gap: section.require("session_gap", "\"500ms\"")?.positive_time()?,
            pages: section.require("pages", "240")?.real(1.0..=1e6)?,
            page_gap: section.require("page_gap", "\"5s\"")?.positive_time()?,
            objects: section.require("objects", "3")?.real(1.0..=1e6)?,
            object_gap: section.require("object_gap", "\"100ms\"")?.positive_time()?,
            sizes: Sizes::read(section.require("size", "{ pareto = 1.2, mean = 12 }")?)?,
        }))
    }
}

impl Kind for Web {
    fn facts(&self) -> &'static Facts {
        &Self::FACTS
    }

    fn bits_per_second(&self, to: &Offering<'_>) -> f64 {
        (to.drawn)()
    }

    fn started(&self, duration: Nanos) -> f64 {
        // Counts are rounded up, by half on average.
        f64::from(self.sessions).min(events(duration, self.session_gap))
            * (self.pages + 0.5).min(events(duration, self.page_gap))
            * (self.objects + 0.5).min(events(duration, self.object_gap))
    }

    fn starts(&self, context: &StartContext, rng: &mut Stream) -> Option<Box<dyn Starts>> {
        Some(Box::new(Sessions::new(*self, context.mss, rng)))
    }

    fn scale(&mut self, factor: f64, _: Option<Rate>) {
        let number = f64::from(self.sessions) * factor;
        self.sessions = number.round().clamp(1.0, f64::from(u32::MAX)) as u32;
        self.session_gap = stretched(self.session_gap, 1.0 / factor);
    }
}

impl fmt::Display for Web {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Web { sessions, pages, objects, sizes, .. } = self;
        write!(f, "{sessions} web sessions, mean {pages} pages of {objects} objects, {sizes}")
    }
}

/// The next event of a session or a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Instant,
    /// Session, which breaks ties in time.
    session: u32,
    objects_left: u32,
    event: Event,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The session starts a page, after which `pages_left` remain.
    Page { pages_left: u32 },
    /// The page starts an object.
    Object,
}

/// Generator of the objects of all sessions in order of time. Memory: one entry per active session and one per active
/// page.
#[derive(Debug)]
struct Sessions {
    model: Web,
    mss: u64,
    started: u32,
    next_session: Instant,
    due: BinaryHeap<Reverse<Due>>,
}

impl Sessions {
    fn new(model: Web, mss: u64, rng: &mut Stream) -> Sessions {
        Sessions {
            model,
            mss,
            started: 0,
            next_session: Instant::ZERO + exponential_time(model.session_gap, rng),
            due: BinaryHeap::new(),
        }
    }

    /// Start and size in segments of the next object; `None` after the last one.
    fn next_object(&mut self, rng: &mut Stream) -> Option<(Instant, u64)> {
        loop {
            let next_due = self.due.peek().map(|Reverse(due)| due.at);
            if self.started < self.model.sessions && next_due.is_none_or(|at| self.next_session <= at) {
                self.due.push(Reverse(Due {
                    at: self.next_session,
                    session: self.started,
                    objects_left: 0,
                    event: Event::Page { pages_left: count(self.model.pages, rng) - 1 },
                }));
                self.started += 1;
                self.next_session += exponential_time(self.model.session_gap, rng);
                continue;
            }
            let Reverse(due) = self.due.pop()?;
            match due.event {
                Event::Page { pages_left } => {
                    self.due.push(Reverse(Due {
                        objects_left: count(self.model.objects, rng) - 1,
                        event: Event::Object,
                        ..due
                    }));
                    if pages_left > 0 {
                        self.due.push(Reverse(Due {
                            at: due.at + exponential_time(self.model.page_gap, rng),
                            event: Event::Page { pages_left: pages_left - 1 },
                            ..due
                        }));
                    }
                }
                Event::Object => {
                    if due.objects_left > 0 {
                        self.due.push(Reverse(Due {
                            at: due.at + exponential_time(self.model.object_gap, rng),
                            objects_left: due.objects_left - 1,
                            ..due
                        }));
                    }
                    return Some((due.at, self.model.sizes.sample(rng)));
                }
            }
        }
    }
}

impl Starts for Sessions {
    fn next(&mut self, rng: &mut Stream) -> Option<Start> {
        let (at, segments) = self.next_object(rng)?;
        Some(Start::new(at, Span::Bytes(segments * self.mss)))
    }
}

/// An exponentially distributed number with the given mean, rounded up to at least 1.
fn count(mean: f64, rng: &mut Stream) -> u32 {
    (mean * exponential(rng)).ceil().clamp(1.0, 1e9) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn objects_come_in_order_and_in_the_expected_number() {
        let model = Web {
            sessions: 400,
            session_gap: Nanos::from_millis(500),
            pages: 20.0,
            page_gap: Nanos::from_secs(5),
            objects: 3.0,
            object_gap: Nanos::from_millis(100),
            sizes: Sizes::pareto(1.2, 12.0),
        };
        let mut rng = Stream::seed_from_u64(7);
        let mut web = Sessions::new(model, 1_448, &mut rng);
        let mut last = Instant::ZERO;
        let mut n = 0_u32;
        while let Some((at, segments)) = web.next_object(&mut rng) {
            assert!(at >= last);
            assert!(segments >= 1);
            last = at;
            n += 1;
        }
        // A rounded-up exponential of mean m has the mean 1 / (1 - exp(-1/m)): 20.5 and 3.53.
        let expected = 400.0 * 20.504 * 3.528;
        assert!((f64::from(n) - expected).abs() < 0.1 * expected, "{n}");
    }
}

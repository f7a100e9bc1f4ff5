//! Web sessions, which consist of pages of objects (Feldmann et al. 1999), generated incrementally.

use super::sizes::Sizes;
use crate::draw::{Stream, exponential, exponential_time};
use gentle_units::{Instant, Nanos};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Means of the model. Gaps and counts are exponentially distributed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Model {
    pub(super) sessions: u32,
    pub(super) session_gap: Nanos,
    pub(super) pages: f64,
    pub(super) page_gap: Nanos,
    pub(super) objects: f64,
    pub(super) object_gap: Nanos,
    pub(super) sizes: Sizes,
}

/// The next event of a session or a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Instant,
    /// Session, which breaks ties in time.
    session: u32,
    objects_left: u32,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// The session starts a page, after which `pages_left` remain.
    Page { pages_left: u32 },
    /// The page starts an object.
    Object,
}

/// Generator of the objects of all sessions in order of time. Memory: one entry per active session and one per active
/// page.
#[derive(Debug)]
pub(super) struct Web {
    model: Model,
    started: u32,
    next_session: Instant,
    due: BinaryHeap<Reverse<Due>>,
}

impl Web {
    pub(super) fn new(model: Model, rng: &mut Stream) -> Web {
        Web {
            model,
            started: 0,
            next_session: Instant::ZERO + exponential_time(model.session_gap, rng),
            due: BinaryHeap::new(),
        }
    }

    /// Start and size in segments of the next object; `None` after the last one.
    pub(super) fn next(&mut self, rng: &mut Stream) -> Option<(Instant, u64)> {
        loop {
            let next_due = self.due.peek().map(|Reverse(due)| due.at);
            if self.started < self.model.sessions && next_due.is_none_or(|at| self.next_session <= at) {
                self.due.push(Reverse(Due {
                    at: self.next_session,
                    session: self.started,
                    objects_left: 0,
                    kind: Kind::Page { pages_left: count(self.model.pages, rng) - 1 },
                }));
                self.started += 1;
                self.next_session += exponential_time(self.model.session_gap, rng);
                continue;
            }
            let Reverse(due) = self.due.pop()?;
            match due.kind {
                Kind::Page { pages_left } => {
                    self.due.push(Reverse(Due {
                        objects_left: count(self.model.objects, rng) - 1,
                        kind: Kind::Object,
                        ..due
                    }));
                    if pages_left > 0 {
                        self.due.push(Reverse(Due {
                            at: due.at + exponential_time(self.model.page_gap, rng),
                            kind: Kind::Page { pages_left: pages_left - 1 },
                            ..due
                        }));
                    }
                }
                Kind::Object => {
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
        let model = Model {
            sessions: 400,
            session_gap: Nanos::from_millis(500),
            pages: 20.0,
            page_gap: Nanos::from_secs(5),
            objects: 3.0,
            object_gap: Nanos::from_millis(100),
            sizes: Sizes::pareto(1.2, 12.0),
        };
        let mut rng = Stream::seed_from_u64(7);
        let mut web = Web::new(model, &mut rng);
        let mut last = Instant::ZERO;
        let mut n = 0_u32;
        while let Some((at, segments)) = web.next(&mut rng) {
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

//! Web pages over kept connections, as HTTP/2 (RFC 9113) loads them.

use super::dialogue::{Drawn, Transactions};
use super::{ANSWER, LogNormal, REQUEST};
use crate::draw::{Stream, exponential_time};
use crate::error::ScenarioError;
use crate::initiator::REQUEST_BYTES;
use crate::results::{Better, HarmNumbers};
use crate::section::Section;
use gentle_units::Nanos;
use gentle_units::text::plural;
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;
use std::ops::RangeInclusive;

/// Pages: first the document, then all objects at once.
///
/// The defaults describe the desktop pages in HTTP Archive's Web Almanac 2024, chapter "Page Weight"
/// (almanac.httparchive.org/en/2024/page-weight; crawl of October 2024): 71 requests in the median and 176 in the 90th
/// percentile, one of which is the document, of 18 KB. The median page weighs 2,652 KB; the distribution of single
/// objects is not published. Median and 90th percentile here, five times apart, have the mean that makes the 70 objects
/// of the median page weigh that much.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pages {
    /// Mean number of pages for which a connection is kept, geometrically distributed, at least 1.
    pub pages: f64,
    /// Mean time from a complete page to the next click, nanoseconds, exponential.
    pub think_ns: u64,
    /// Length of a request, bytes.
    pub request: u32,
    /// Length of a document, bytes.
    pub document: LogNormal,
    /// Number of objects of a page.
    pub objects: LogNormal,
    /// Length of an object, bytes.
    pub object: LogNormal,
}

/// Most objects of a page; the largest page of the Web Almanac 2024 makes about that many requests for images.
pub const MOST_OBJECTS: u64 = 15_000;

impl Pages {
    /// Default of [`Pages::document`].
    pub const DOCUMENT: LogNormal = LogNormal::constant(18 << 10);
    /// Default of [`Pages::objects`].
    pub const OBJECTS: LogNormal = LogNormal { median: 70, p90: 175 };
    /// Default of [`Pages::object`].
    pub const OBJECT: LogNormal = LogNormal { median: 16_400, p90: 87_300 };

    /// Mean payload of the answers of a page.
    fn mean_bytes(&self) -> f64 {
        self.document.mean() + self.objects.mean() * self.object.mean()
    }
}

impl Transactions for Pages {
    const NAME: &'static str = "pages";
    const HARM: HarmNumbers = &[("transaction_s.p95", Better::Lower)];

    fn read(section: &mut Section<'_>) -> Result<Pages, ScenarioError> {
        let mut log_normal = |key, default, range: RangeInclusive<u64>, count| {
            let item = section.take(key);
            item.map_or(Ok(default), |item| LogNormal::read(item, &range, count))
        };
        let document = log_normal("document", Pages::DOCUMENT, ANSWER, false)?;
        let objects = log_normal("objects", Pages::OBJECTS, 0..=MOST_OBJECTS, true)?;
        let object = log_normal("object", Pages::OBJECT, ANSWER, false)?;
        Ok(Pages {
            pages: section.require("pages", "8")?.real(1.0..=1e6)?,
            think_ns: section.require("think", "\"30s\"")?.positive_time()?.0,
            request: match section.take("request") {
                Some(item) => item.size(REQUEST)? as u32,
                None => REQUEST_BYTES as u32,
            },
            document,
            objects,
            object,
        })
    }

    fn draw(&self, _: u16, rng: &mut Stream) -> Drawn {
        let pause = exponential_time(Nanos(self.think_ns), rng);
        let last = rng.random_bool((1.0 / self.pages).clamp(0.0, 1.0));
        let mut stages = VecDeque::from([vec![self.document.sample(rng)]]);
        let objects = self.objects.sample(rng).min(MOST_OBJECTS);
        if objects > 0 {
            stages.push_back((0..objects).map(|_| self.object.sample(rng)).collect());
        }
        Drawn { pause, stages, last }
    }

    fn request_bytes(&self) -> u32 {
        self.request
    }

    fn mean_bytes_and_pause(&self, _: u16) -> (f64, Nanos) {
        (self.mean_bytes(), Nanos(self.think_ns))
    }

    fn describe(&self, users: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, mean pause {}, mean {} pages per connection; bytes of the document {}, objects {}, bytes of each {}",
            plural(u64::from(users), "user of web pages", "users of web pages"),
            Nanos(self.think_ns),
            self.pages,
            self.document,
            self.objects,
            self.object
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// The Web Almanac's median page: 2,652 KB in 71 requests.
    #[test]
    fn the_median_page_is_that_of_the_web_almanac() {
        let objects = Pages::OBJECTS.median as f64 * Pages::OBJECT.mean();
        let weight = (objects + Pages::DOCUMENT.mean()) / 1024.0;
        assert!((weight / 2_652.0 - 1.0).abs() < 0.01, "{weight}");
        assert_eq!(1 + Pages::OBJECTS.median, 71);
        assert_eq!(1 + Pages::OBJECTS.p90, 176);
    }

    #[test]
    fn pages_have_the_means_asked_for() {
        let pages = Pages {
            pages: 8.0,
            think_ns: 30_000_000_000,
            request: 300,
            document: Pages::DOCUMENT,
            objects: Pages::OBJECTS,
            object: Pages::OBJECT,
        };
        let mut rng = Stream::seed_from_u64(3);
        let n = 20_000;
        let drawn: Vec<Drawn> = (0..n).map(|_| pages.draw(1_448, &mut rng)).collect();
        let mean = |of: &dyn Fn(&Drawn) -> f64| drawn.iter().map(of).sum::<f64>() / f64::from(n);
        let close = |found: f64, expected: f64| {
            assert!((found / expected - 1.0).abs() < 0.03, "{found} {expected}");
        };
        close(mean(&|page| page.pause.as_secs_f64()), 30.0);
        close(mean(&|page| f64::from(u8::from(page.last))), 1.0 / 8.0);
        close(mean(&|page| page.stages.iter().flatten().sum::<u64>() as f64), pages.mean_bytes());
        assert!(drawn.iter().all(|page| page.stages[0] == [18_432]));
    }
}

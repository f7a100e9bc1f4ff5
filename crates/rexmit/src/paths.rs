//! Estimates learned for the paths to other networks.

use crate::bounded::Bounded;
use crate::estimate::{Estimate, Learned};
use crate::recent::Recent;
use crate::undecided::{Decision, UndecidedCopies, UndecidedCopy};
use gentle_units::{Instant, Nanos};
use gentle_wire::Address;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Prefix lengths that define a path: addresses in a prefix are assumed to share one path. Roughly the longest prefixes
/// announced on the Internet.
const PREFIX_V4: u8 = 24;
const PREFIX_V6: u8 = 48;

/// State of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Path {
    estimate: Option<Estimate>,
    recent: Recent,
    /// Number of doublings of the delay since the last sample (RFC 6298, 5.5 to 5.7).
    backoffs: u32,
    undecided: UndecidedCopies,
    /// Whether a second answer has been seen on this path, so that the absence of one is evidence.
    second_answers_seen: bool,
    samples: u64,
    /// Time of the last sample.
    measured: Instant,
}

/// Table of paths with a fixed capacity.
#[derive(Debug)]
pub(crate) struct Paths {
    paths: Bounded<IpNet, Path>,
    /// Age after which an estimate expires.
    age: Nanos,
}

/// Path as reported in the status and kept between runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathRecord {
    /// Prefix of the remote addresses.
    pub prefix: IpNet,
    /// Smoothed handshake time, microseconds.
    pub srtt_us: u64,
    /// Mean deviation of the handshake time, microseconds.
    pub rttvar_us: u64,
    /// Time that at most one in a hundred recent handshakes exceeded, microseconds.
    #[serde(default)]
    pub tail_us: u64,
    /// Number of handshakes measured.
    pub samples: u64,
    /// Time of the last sample, Unix time in nanoseconds (the clock of the engine).
    pub measured_ns: u64,
}

impl PathRecord {
    /// Inputs of the timeout.
    pub(crate) fn learned(&self) -> Learned {
        let time = |us: u64| Nanos(us.saturating_mul(1_000));
        Learned {
            estimate: Estimate { srtt: time(self.srtt_us), rttvar: time(self.rttvar_us) },
            tail: time(self.tail_us),
        }
    }
}

impl Paths {
    pub(crate) fn new(capacity: usize, age: Nanos) -> Paths {
        Paths { paths: Bounded::new(capacity), age }
    }

    /// Adds the sample of a handshake with `address`, sent at `sent`, and returns the decisions on earlier copies that
    /// follow.
    pub(crate) fn sample(&mut self, now: Instant, address: Address, sent: Instant, time: Nanos) -> Vec<Decision> {
        let age = self.age;
        self.change(now, network(address), |path| {
            match &mut path.estimate {
                Some(estimate) => estimate.add(time),
                None => path.estimate = Some(Estimate::first(time)),
            }
            path.recent.add(now, time, age);
            path.backoffs = 0;
            path.samples += 1;
            path.measured = now;
            let usual = match path.second_answers_seen {
                true => Nanos::ZERO,
                false => path.recent.tail(),
            };
            path.undecided.decide(sent, time, usual)
        })
    }

    /// Backs off (RFC 6298, 5.5): doubles the delay once per copy until the next sample. Either the delay was too short or
    /// a packet was lost, and nothing shows which.
    pub(crate) fn back_off(&mut self, now: Instant, address: Address, copies: u32) {
        self.change(now, network(address), |path| {
            path.backoffs = path.backoffs.saturating_add(copies);
        });
    }

    /// Records that both a packet and its copy were answered.
    pub(crate) fn second_answer(&mut self, now: Instant, address: Address) {
        self.change(now, network(address), |path| path.second_answers_seen = true);
    }

    /// Adds copies that the next samples will decide on.
    pub(crate) fn add_undecided(&mut self, now: Instant, copy: UndecidedCopy) {
        let address = copy.connection.dst.0;
        self.change(now, network(address), |path| path.undecided.add(copy));
    }

    pub(crate) fn learned(&self, now: Instant, address: Address) -> Option<Learned> {
        let path = self.fresh(now, network(address))?;
        Some(Learned { estimate: path.estimate?, tail: path.recent.tail() })
    }

    /// Shortest recent handshake time of the network of `address`.
    pub(crate) fn shortest(&self, now: Instant, address: Address) -> Option<Nanos> {
        self.fresh(now, network(address))?.recent.shortest()
    }

    /// Number of doublings of the delay towards `address`.
    pub(crate) fn backoffs(&self, now: Instant, address: Address) -> u32 {
        self.fresh(now, network(address)).map_or(0, |path| path.backoffs)
    }

    fn fresh(&self, now: Instant, prefix: IpNet) -> Option<&Path> {
        let path = self.paths.get(&prefix)?;
        (now.saturating_since(path.measured) <= self.age).then_some(path)
    }

    /// Changes a path, which becomes the youngest; an expired path is reset.
    fn change<T>(&mut self, now: Instant, prefix: IpNet, change: impl FnOnce(&mut Path) -> T) -> T {
        let old = self.paths.remove(&prefix);
        let old = old.filter(|path| now.saturating_since(path.measured) <= self.age);
        let mut path = old.unwrap_or(Path {
            estimate: None,
            recent: Recent::new(now),
            backoffs: 0,
            undecided: UndecidedCopies::default(),
            second_answers_seen: false,
            samples: 0,
            measured: now,
        });
        let result = change(&mut path);
        self.paths.insert(prefix, path);
        result
    }

    /// Records of all paths with a sample that has not expired.
    pub(crate) fn records(&self, now: Instant) -> Vec<PathRecord> {
        self.paths
            .iter()
            .filter(|(_, path)| now.saturating_since(path.measured) <= self.age)
            .filter_map(|(prefix, path)| {
                let estimate = path.estimate?;
                Some(PathRecord {
                    prefix: *prefix,
                    srtt_us: estimate.srtt.as_micros(),
                    rttvar_us: estimate.rttvar.as_micros(),
                    tail_us: path.recent.tail().as_micros(),
                    samples: path.samples,
                    measured_ns: path.measured.0,
                })
            })
            .collect()
    }

    /// Restores the paths of an earlier run, oldest first so that the youngest remain if the table is full. Records
    /// later than `now` come from a wrong clock and are dropped.
    pub(crate) fn restore(&mut self, now: Instant, mut records: Vec<PathRecord>) {
        records.sort_by_key(|record| record.measured_ns);
        for record in records {
            let measured = Instant(record.measured_ns);
            if measured > now || now.saturating_since(measured) > self.age {
                continue;
            }
            let learned = record.learned();
            let mut recent = Recent::new(measured);
            // The tail is the end of a bucket, which is the start of the next.
            if let Some(within) = learned.tail.0.checked_sub(1) {
                recent.add(measured, Nanos(within), self.age);
            }
            let path = Path {
                estimate: Some(learned.estimate),
                recent,
                backoffs: 0,
                undecided: UndecidedCopies::default(),
                second_answers_seen: false,
                samples: record.samples,
                measured,
            };
            self.paths.insert(record.prefix.trunc(), path);
        }
    }
}

/// Network of an address: all its addresses are assumed to share one path.
pub(crate) fn network(address: Address) -> IpNet {
    let address = IpAddr::from(address);
    let length = match address {
        IpAddr::V4(_) => PREFIX_V4,
        IpAddr::V6(_) => PREFIX_V6,
    };
    IpNet::new_assert(address, length).trunc()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        text.parse::<IpAddr>().expect("an address").into()
    }

    #[test]
    fn neighbours_share_what_was_learned_until_it_is_too_old() {
        let (at, ms) = (Instant::from_secs, Nanos::from_millis(30));
        let mut paths = Paths::new(8, Nanos::from_secs(60));
        paths.sample(at(60), address("192.0.2.7"), at(60), ms);
        let of = |paths: &Paths, now, text| {
            let learned = paths.learned(now, address(text));
            learned.map(|learned| learned.estimate.srtt)
        };
        assert_eq!(of(&paths, at(60 * 2), "192.0.2.200"), Some(ms));
        assert_eq!(of(&paths, at(60 * 2), "192.0.3.7"), None);
        assert_eq!(of(&paths, at(60 * 3), "192.0.2.7"), None);
        assert_eq!(paths.records(at(60 * 3)), []);
    }

    #[test]
    fn a_backoff_lasts_until_a_sample() {
        let mut paths = Paths::new(8, Nanos::from_secs(60));
        let (now, host) = (Instant::ZERO, address("2001:db8::1"));
        paths.back_off(now, host, 1);
        paths.back_off(now, host, 2);
        assert_eq!(paths.backoffs(now, host), 3);
        paths.sample(now, host, now, Nanos::from_millis(900));
        assert_eq!(paths.backoffs(now, host), 0);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let age = Nanos::from_secs(3600);
        let mut first = Paths::new(8, age);
        let now = Instant::from_secs(10_000);
        for (text, ms) in [("192.0.2.1", 50), ("2001:db8::1", 70)] {
            first.sample(now, address(text), now, Nanos::from_millis(ms));
        }
        let records = first.records(now);
        let mut second = Paths::new(8, age);
        second.restore(now, records.clone());
        assert_eq!(second.records(now), records);
        let mut before = Paths::new(8, age);
        before.restore(Instant::from_secs(9_999), records.clone());
        assert_eq!(before.records(now), []);
        let mut late = Paths::new(8, age);
        late.restore(Instant::from_secs(20_000), records);
        assert_eq!(late.records(Instant::from_secs(20_000)), []);
    }
}

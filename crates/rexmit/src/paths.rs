//! What was learned of the ways to other networks.

use crate::bounded::Bounded;
use crate::estimate::Estimate;
use gentle_units::Nanos;
use gentle_wire::Address;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Addresses that begin alike are taken to be one way: what is announced to the internet at the longest, roughly.
const PREFIX_V4: u8 = 24;
const PREFIX_V6: u8 = 48;

/// One way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Path {
    estimate: Option<Estimate>,
    /// How often the delay has been doubled since the last sample (RFC 6298, 5.5 to 5.7).
    doubled: u32,
    samples: u64,
    /// When the last sample came.
    measured: Nanos,
}

/// All of them, a fixed number at most.
#[derive(Debug)]
pub(crate) struct Paths {
    paths: Bounded<IpNet, Path>,
    /// An estimate older than this is none.
    age: Nanos,
}

/// A way as it is shown, and kept between runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathRecord {
    /// The addresses at the other end.
    pub prefix: IpNet,
    /// Smoothed handshake time, microseconds.
    pub srtt_us: u64,
    /// Its mean deviation, microseconds.
    pub rttvar_us: u64,
    /// Handshakes that it was learned from.
    pub samples: u64,
    /// When the last of them was, in nanoseconds of the clock that the engine uses: Unix time.
    pub measured_ns: u64,
}

impl Paths {
    pub(crate) fn new(capacity: usize, age: Nanos) -> Paths {
        Paths {
            paths: Bounded::new(capacity),
            age,
        }
    }

    /// A handshake with this address took so long.
    pub(crate) fn sample(&mut self, now: Nanos, address: Address, time: Nanos) {
        let prefix = prefix(address);
        let known = self.fresh(now, prefix);
        let mut estimate = known.and_then(|path| path.estimate);
        match &mut estimate {
            Some(estimate) => estimate.add(time),
            None => estimate = Some(Estimate::first(time)),
        }
        let path = Path {
            estimate,
            doubled: 0,
            samples: known.map_or(0, |path| path.samples) + 1,
            measured: now,
        };
        self.paths.insert(prefix, path);
    }

    /// The delay was too short or a packet was lost, and nothing tells which: it is doubled until the next sample.
    pub(crate) fn doubt(&mut self, now: Nanos, address: Address) {
        let prefix = prefix(address);
        let mut path = self.fresh(now, prefix).unwrap_or(Path {
            estimate: None,
            doubled: 0,
            samples: 0,
            measured: now,
        });
        path.doubled = path.doubled.saturating_add(1);
        self.paths.insert(prefix, path);
    }

    pub(crate) fn estimate(&self, now: Nanos, address: Address) -> Option<Estimate> {
        self.fresh(now, prefix(address))?.estimate
    }

    /// How often the delay towards an address is doubled.
    pub(crate) fn doubled(&self, now: Nanos, address: Address) -> u32 {
        self.fresh(now, prefix(address))
            .map_or(0, |path| path.doubled)
    }

    fn fresh(&self, now: Nanos, prefix: IpNet) -> Option<Path> {
        let path = self.paths.get(&prefix)?;
        (now.saturating_sub(path.measured) <= self.age).then_some(*path)
    }

    /// What has been measured and is not too old.
    pub(crate) fn records(&self, now: Nanos) -> Vec<PathRecord> {
        self.paths
            .iter()
            .filter(|(_, path)| now.saturating_sub(path.measured) <= self.age)
            .filter_map(|(prefix, path)| {
                let estimate = path.estimate?;
                Some(PathRecord {
                    prefix: *prefix,
                    srtt_us: estimate.srtt.as_micros(),
                    rttvar_us: estimate.rttvar.as_micros(),
                    samples: path.samples,
                    measured_ns: path.measured.0,
                })
            })
            .collect()
    }

    /// Takes up what an earlier run has measured, oldest first so that the youngest stay; later than `now` is a clock
    /// that was wrong, and left out.
    pub(crate) fn restore(&mut self, now: Nanos, mut records: Vec<PathRecord>) {
        records.sort_by_key(|record| record.measured_ns);
        for record in records {
            let measured = Nanos(record.measured_ns);
            let micros = |us: u64| Nanos(us.saturating_mul(1_000));
            if measured > now || now.saturating_sub(measured) > self.age {
                continue;
            }
            let path = Path {
                estimate: Some(Estimate {
                    srtt: micros(record.srtt_us),
                    rttvar: micros(record.rttvar_us),
                }),
                doubled: 0,
                samples: record.samples,
                measured,
            };
            self.paths.insert(record.prefix.trunc(), path);
        }
    }
}

fn prefix(address: Address) -> IpNet {
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
        let (minute, ms) = (Nanos::from_secs(60), Nanos::from_millis(30));
        let mut paths = Paths::new(8, minute);
        paths.sample(minute, address("192.0.2.7"), ms);
        let of = |paths: &Paths, now, text| paths.estimate(now, address(text)).map(|e| e.srtt);
        assert_eq!(of(&paths, minute * 2, "192.0.2.200"), Some(ms));
        assert_eq!(of(&paths, minute * 2, "192.0.3.7"), None);
        assert_eq!(of(&paths, minute * 3, "192.0.2.7"), None);
        assert_eq!(paths.records(minute * 3), []);
    }

    #[test]
    fn doubt_lasts_until_a_sample() {
        let mut paths = Paths::new(8, Nanos::from_secs(60));
        let (now, host) = (Nanos::ZERO, address("2001:db8::1"));
        paths.doubt(now, host);
        paths.doubt(now, host);
        assert_eq!(paths.doubled(now, host), 2);
        paths.sample(now, host, Nanos::from_millis(900));
        assert_eq!(paths.doubled(now, host), 0);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let age = Nanos::from_secs(3600);
        let mut first = Paths::new(8, age);
        let now = Nanos::from_secs(10_000);
        first.sample(now, address("192.0.2.1"), Nanos::from_millis(50));
        first.sample(now, address("2001:db8::1"), Nanos::from_millis(70));
        let records = first.records(now);
        let mut second = Paths::new(8, age);
        second.restore(now, records.clone());
        assert_eq!(second.records(now), records);
        let mut before = Paths::new(8, age);
        before.restore(Nanos::from_secs(9_999), records.clone());
        assert_eq!(before.records(now), []);
        let mut late = Paths::new(8, age);
        late.restore(Nanos::from_secs(20_000), records);
        assert_eq!(late.records(Nanos::from_secs(20_000)), []);
    }
}

//! Random streams of a run: each is derived here, from the seed of the run and the name of what draws from it.

use crate::direction::Direction;
use crate::workload::Workload;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use sha2::{Digest, Sha256};

/// Stream of random numbers.
pub type Stream = Xoshiro256PlusPlus;

/// Random streams of a run, independent of each other and of the streams of other seeds: the state of a stream is the
/// SHA-256 of seed and name.
///
/// The name of a workload is its kind, its group and its direction, and a number that distinguishes workloads of equal
/// names, in the order of their descriptions. So its random numbers depend neither on its place in the scenario nor on
/// other workloads with other names, and stay the same when its parameters change.
pub struct Streams {
    seed: u64,
    workloads: Vec<String>,
}

impl Streams {
    pub(crate) fn new(seed: u64, workloads: &[Workload]) -> Streams {
        Streams { seed, workloads: names(workloads) }
    }

    /// Stream of the workload at `index` in the scenario.
    pub fn workload(&self, index: usize) -> Stream {
        Stream::from_seed(self.digest("workload", &self.workloads[index], 0))
    }

    /// Seed of flow or user `number` of the workload at `index` in the scenario.
    pub fn member(&self, index: usize, number: u32) -> u64 {
        self.seed("member", &self.workloads[index], number)
    }

    /// Seed of the random decisions of the queue of `direction`.
    pub fn queue(&self, direction: Direction) -> u64 {
        self.seed("queue", direction.name(), 0)
    }

    /// Stream of what the link of `direction` does to packets: loss, jitter and reordering.
    pub fn link(&self, direction: Direction) -> Stream {
        Stream::from_seed(self.digest("link", direction.name(), 0))
    }

    /// Seed of the random numbers of a kernel under test.
    pub fn kernel(&self) -> u64 {
        self.seed("kernel", "", 0)
    }

    fn seed(&self, domain: &str, name: &str, number: u32) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.digest(domain, name, number);
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }

    fn digest(&self, domain: &str, name: &str, number: u32) -> [u8; 32] {
        let mut hashing = Sha256::new();
        hashing.update(self.seed.to_le_bytes());
        hashing.update(number.to_le_bytes());
        // No domain has a line feed.
        hashing.update(domain);
        hashing.update("\n");
        hashing.update(name);
        hashing.finalize().into()
    }
}

/// Names of the workloads, each different.
fn names(workloads: &[Workload]) -> Vec<String> {
    let named = |workload: &Workload| {
        let (kind, direction) = (workload.traffic.kind().name(), workload.direction.name());
        let group = workload.group.as_deref().unwrap_or_default();
        format!("{kind} {direction} {group}")
    };
    let names: Vec<String> = workloads.iter().map(named).collect();
    let mut numbers = vec![0; names.len()];
    for (index, name) in names.iter().enumerate() {
        let mut namesakes: Vec<usize> = (0..names.len()).filter(|i| names[*i] == *name).collect();
        if namesakes[0] < index || namesakes.len() == 1 {
            continue;
        }
        namesakes.sort_by_cached_key(|i| serde_json::to_string(&workloads[*i]).expect("workloads have text keys"));
        for (number, i) in namesakes.into_iter().enumerate() {
            numbers[i] = number;
        }
    }
    let numbered = names.into_iter().zip(numbers);
    numbered.map(|(name, number)| format!("{number} {name}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use rand::Rng;
    use std::collections::HashSet;

    const SCENARIO: &str = r#"
        duration = "10s"
        [link.down]
        rate = "10mbit"
        delay = "10ms"
        [link.up]
        rate = "10mbit"
        delay = "10ms"
        [[workload]]
        kind = "poisson"
        gap = "10ms"
        size = { segments = 3 }
        [[workload]]
        kind = "poisson"
        gap = "20ms"
        size = { segments = 3 }
        [[workload]]
        kind = "poisson"
        gap = "20ms"
        size = { segments = 3 }
        group = "other"
        [[workload]]
        kind = "voice"
    "#;

    fn scenario() -> Scenario {
        Scenario::from_toml("test.toml", SCENARIO, &|_| unreachable!()).unwrap()
    }

    /// The first number of each stream of a run.
    fn first(streams: &Streams) -> Vec<u64> {
        let mut all = Vec::new();
        for index in 0..streams.workloads.len() {
            all.push(streams.workload(index).next_u64());
            all.extend((0..3).map(|number| streams.member(index, number)));
        }
        for direction in Direction::BOTH {
            all.push(streams.queue(direction));
            all.push(streams.link(direction).next_u64());
        }
        all.push(streams.kernel());
        all
    }

    #[test]
    fn all_streams_differ() {
        let scenario = scenario();
        let seeds = [0, 1, 2, u64::MAX];
        let all: Vec<u64> = (seeds.iter()).flat_map(|seed| first(&scenario.streams(*seed))).collect();
        let different: HashSet<&u64> = all.iter().collect();
        assert_eq!(different.len(), all.len());
        assert_eq!(first(&scenario.streams(1)), first(&scenario.streams(1)));
    }

    #[test]
    fn a_workload_draws_the_same_wherever_it_stands() {
        let scenario = scenario();
        let own = scenario.streams(1);
        let mut turned = scenario.clone();
        turned.workloads.reverse();
        let last = turned.workloads.len() - 1;
        for index in 0..=last {
            let moved = turned.streams(1).workload(last - index);
            assert_eq!(own.workload(index), moved, "{index}");
        }
        let mut alone = scenario.clone();
        alone.workloads.drain(..2);
        assert_eq!(own.workload(2), alone.streams(1).workload(0));
    }
}

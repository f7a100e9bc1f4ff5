//! Losses at a full queue do not depend on the phases of sources (Floyd and Jacobson 1991).

use gentle_experiment::{Scenario, Settings};
use gentle_sim::compare;
use std::sync::atomic::AtomicBool;

/// Loss of sources of `rates` in kb/s that share 1 Mb/s, by seed; `more` are keys of each.
fn losses(rates: [f64; 3], more: &str, scheme: &str, seeds: &[u64]) -> Vec<[f64; 3]> {
    let source = |rate: f64| {
        format!("[[workload]]\nkind = \"udp\"\nrate = \"{rate}kbit\"\npacket = 1000\ngroup = \"{rate}\"\n{more}\n")
    };
    let text = format!(
        "duration = \"200s\"\nwarmup = \"20s\"\n[link.down]\nrate = \"1.014mbit\"\ndelay = \"1ms\"\n\
         [link.up]\nrate = \"1mbit\"\ndelay = \"1ms\"\n{}",
        rates.map(source).concat()
    );
    let scenario = Scenario::from_toml("x.toml", &text, &|_| unreachable!("no file")).unwrap();
    let settings = Settings { seeds: seeds.to_vec(), bins: Vec::new() };
    let schemes = [scheme.parse().unwrap()];
    let result = compare(&scenario, &schemes, &settings, &(), &AtomicBool::new(false));
    let of_seed = |seed: usize| {
        [0, 1, 2].map(|group| {
            let name = format!("groups.{group}.links.down.loss.mean");
            let series = result.results[0].by_seed.iter().find(|series| series.name == name);
            series.unwrap().values[seed].unwrap()
        })
    };
    (0..seeds.len()).map(of_seed).collect()
}

const EVEN: [f64; 3] = [100.0, 400.0, 2_000.0];
const ODD: [f64; 3] = [100.3, 400.7, 2_000.0];

#[test]
fn rates_with_and_without_a_common_divisor_lose_the_same() {
    let seeds = [1, 2, 3];
    let even = losses(EVEN, "", "pfifo limit=50", &seeds);
    let odd = losses(ODD, "", "pfifo limit=50", &seeds);
    for of_seed in even.iter().chain(&odd) {
        for (group, loss) in of_seed.iter().enumerate() {
            // The fast source, whose packets come in each service time, gets the places first.
            let expected = if group == 2 { 0.45..0.65 } else { 0.60..0.90 };
            assert!(expected.contains(loss), "{even:?} {odd:?}");
            assert!((loss - even[0][group]).abs() < 0.06, "{even:?} {odd:?}");
        }
    }
}

/// As wide as intervals can vary, arrivals are nearly random, and all sources lose nearly the same part: 0.6 if they were.
#[test]
fn random_arrivals_lose_alike() {
    for of_seed in losses(EVEN, "jitter = 1", "pfifo limit=50", &[1, 2]) {
        assert!(of_seed.iter().all(|loss| (loss - 0.6).abs() < 0.13), "{of_seed:?}");
    }
}

/// Exactly periodic sources keep their phase, which is what jitter is for.
#[test]
fn periodic_sources_are_locked() {
    let [even] = losses(EVEN, "jitter = 0", "pfifo limit=50", &[1])[..] else { panic!("one seed") };
    let [again] = losses(EVEN, "jitter = 0", "pfifo limit=50", &[2])[..] else { panic!("one seed") };
    assert_eq!(even, again);
    let [odd] = losses(ODD, "jitter = 0", "pfifo limit=50", &[1])[..] else { panic!("one seed") };
    assert!((even[0] - odd[0]).abs() > 0.5, "{even:?} {odd:?}");
}

#[test]
fn a_start_can_be_a_range() {
    let locked = "jitter = 0\nstart = [\"0s\", \"100ms\"]";
    let seeds = losses(EVEN, locked, "pfifo limit=50", &[1, 2, 3, 4]);
    assert!(seeds.iter().any(|of_seed| *of_seed != seeds[0]), "{seeds:?}");
    // A fair queue gives all that they need, whatever the phases.
    for of_seed in losses(EVEN, locked, "fq_codel", &[1, 2]) {
        assert!(of_seed[0] == 0.0 && of_seed[1] == 0.0 && of_seed[2] > 0.7, "{of_seed:?}");
    }
}

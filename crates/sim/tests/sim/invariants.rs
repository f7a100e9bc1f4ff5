//! Invariants of all schemes: packets are conserved, and all schemes see the same connections.

use gentle_aqm::{Spec, registry};
use gentle_experiment::results::{Comparison, SchemeResult};
use gentle_experiment::{DEFAULT_BINS, Observer, Run, Scenario, Settings};
use gentle_sim::compare;
use gentle_units::Nanos;
use std::sync::atomic::{AtomicBool, Ordering};

fn every_scheme() -> Vec<Spec> {
    registry::SCHEMES.iter().map(|s| Spec::of(s)).collect()
}

fn settings(seeds: u64) -> Settings {
    Settings { seeds: (1..=seeds).collect(), bins: DEFAULT_BINS.to_vec() }
}

fn run(traffic: &str, seconds: u64, schemes: &[Spec], seeds: u64) -> Comparison {
    let mut scenario = Scenario::builtin(traffic).unwrap();
    scenario.set_duration(Nanos::from_secs(seconds));
    compare(&scenario, schemes, &settings(seeds), &(), &AtomicBool::new(false))
}

/// Packets offered = packets sent + packets dropped: the run drains, so none is left in a queue.
fn conserved(result: &SchemeResult) {
    for link in [&result.links.down, &result.links.up] {
        let dropped: u64 = link.drops.values().sum();
        assert_eq!(link.offered, link.sent + dropped, "{}", result.label);
    }
    assert_eq!(result.connections, result.completed + result.unfinished + result.failed, "{}", result.label);
}

#[test]
fn every_scheme_sees_the_same_connections_and_loses_none_from_view() {
    for traffic in ["real", "real-reverse", "short"] {
        let comparison = run(traffic, 40, &every_scheme(), 2);
        let first = &comparison.results[0];
        assert!(first.connections > 400);
        for result in &comparison.results {
            assert_eq!(result.connections, first.connections, "{}", result.label);
            conserved(result);
            let sizes: u64 = result.response_time_by_size.iter().map(|bin| bin.n).sum();
            assert_eq!(sizes, result.completed, "{}", result.label);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    let json = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let comparison = pool.install(|| run("real-reverse", 30, &every_scheme(), 3));
        serde_json::to_string(&comparison).unwrap()
    };
    let one = json(1);
    assert!(one == json(2), "1 and 2 threads differ");
    assert!(one == json(5), "1 and 5 threads differ");
}

#[test]
fn different_seeds_give_different_connections() {
    let mut scenario = Scenario::builtin("real").unwrap();
    scenario.set_duration(Nanos::from_secs(60));
    let schemes = ["pfifo limit=50".parse().unwrap()];
    let means: Vec<_> = (1..=3)
        .map(|seed| {
            let settings = Settings { seeds: vec![seed], bins: Vec::new() };
            let c = compare(&scenario, &schemes, &settings, &(), &AtomicBool::new(false));
            c.results[0].response_time_s.mean
        })
        .collect();
    assert!(means[0] != means[1] && means[1] != means[2], "{means:?}");
}

/// Stops the comparison after a number of finished runs.
struct StopAfter<'a>(std::sync::atomic::AtomicUsize, &'a AtomicBool);

impl Observer for StopAfter<'_> {
    fn started(&self, _: Run) {}
    fn reached(&self, _: Run, _: f64) {}
    fn finished(&self, _: Run) {
        if self.0.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.1.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn an_interrupted_comparison_keeps_what_it_has() {
    let mut scenario = Scenario::builtin("real").unwrap();
    scenario.set_duration(Nanos::from_secs(20));
    let schemes: Vec<Spec> = ["pfifo limit=50", "codel", "spa"].map(|spec| spec.parse().unwrap()).to_vec();
    let stop = AtomicBool::new(false);
    let observer = StopAfter(4.into(), &stop);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let comparison = pool.install(|| compare(&scenario, &schemes, &settings(3), &observer, &stop));
    assert!(comparison.interrupted);
    // Of four finished runs three are of the first seed, the only one that every scheme has.
    assert!(comparison.results.iter().all(|r| r.seeds == 1));
    assert!(comparison.results.iter().all(|r| r.completed > 0));
}

/// On a link that loses everything, connections fail or stay open, and are counted as such.
#[test]
fn a_dead_link_is_reported_not_hidden() {
    let text = r#"
duration = "20s"
drain = "200s"
[link.down]
rate = "1mbit"
loss = 1.0
[link.up]
rate = "1mbit"
[[workload]]
kind = "poisson"
gap = "1s"
size = { segments = 3 }
"#;
    let none = |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    let scenario = Scenario::from_toml("dead.toml", text, &none).unwrap();
    let schemes = ["pfifo".parse().unwrap()];
    let c = compare(&scenario, &schemes, &settings(1), &(), &AtomicBool::new(false));
    let result = &c.results[0];
    assert!(result.connections > 5);
    assert_eq!(result.completed, 0);
    assert_eq!(result.response_time_s.mean, None);
    assert_eq!(result.loss.syn, Some(1.0));
    conserved(result);
}

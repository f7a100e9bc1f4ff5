//! Records of runs: their form, and the comparison that is made of them.

use gentle_aqm::Spec;
use gentle_experiment::results::Comparison;
use gentle_experiment::{RunRecord, Scenario, assemble};

/// A run that was written when version 3 was new: as long as the version is 3, it is read and written as it stands.
const VERSION_3: &str = include_str!("../data/record-3.json");

#[test]
fn records_of_version_3_stay_as_they_are() {
    let record: RunRecord = serde_json::from_str(VERSION_3).unwrap();
    assert_eq!((record.version, record.seed), (3, 1));
    assert_eq!(serde_json::to_string(&record).unwrap() + "\n", VERSION_3);
    let unknown = VERSION_3.replacen("\"syn\":", "\"sin\":", 1);
    assert!(serde_json::from_str::<RunRecord>(&unknown).is_err());
}

/// A scenario with calls of these names.
fn calls(names: &[&str]) -> Scenario {
    let link = ["down", "up"].map(|direction| format!("[link.{direction}]\nrate = '2mbit'\ndelay = '10ms'\n")).concat();
    let workloads = names.iter().map(|name| format!("[[workload]]\nkind = 'voice'\ngroup = '{name}'\n"));
    let text = format!("duration = '30s'\n{link}{}", workloads.collect::<String>());
    let no_files = |_: &str| -> Result<String, std::io::Error> { unreachable!("the scenario names no files") };
    Scenario::from_toml("test", &text, &no_files).unwrap()
}

/// The run of a seed with calls of these names, adapted from a run of the simulator.
fn run(names: &[&str], seed: u64) -> RunRecord {
    let mut record: serde_json::Value = serde_json::from_str(VERSION_3).unwrap();
    record["seed"] = seed.into();
    let delay = 20_000_000 * seed;
    let application = serde_json::json!({
        "datagrams": 100,
        "arrived": 90 + seed,
        "late": 1,
        "delay": { "buckets": [[delay, 90 + seed]], "n": 90 + seed, "zeros": 0, "sum_ns": delay * (90 + seed), "max_ns": delay },
        "stalls": seed,
        "stalled_ns": 400_000_000,
        "active_ns": 30_000_000_000_u64,
        "bytes": 1_000_000,
    });
    record["applications"] = vec![application; names.len()].into();
    record["groups"] = vec![record["all"].clone(); names.len()].into();
    serde_json::from_value(record).unwrap()
}

fn comparison(names: &[&str], runs: Vec<Option<RunRecord>>) -> Comparison {
    let scheme: Spec = runs.iter().flatten().next().unwrap().scheme.parse().unwrap();
    let seeds: Vec<u64> = (1..=runs.len() as u64).collect();
    assemble(&calls(names), &[scheme], &seeds, vec![runs])
}

#[test]
fn applications_are_aggregated_over_seeds() {
    let names = ["desk", "hall"];
    let comparison = comparison(&names, vec![Some(run(&names, 1)), Some(run(&names, 2))]);
    assert!(!comparison.interrupted);
    assert_eq!(comparison.results[0].connections, 2 * 124);
    let applications = &comparison.results[0].applications;
    let found: Vec<(&str, &str)> = (applications.iter()).map(|a| (a.application.as_str(), a.kind.as_str())).collect();
    assert_eq!(found, [("desk", "voice"), ("hall", "voice")]);
    for application in applications {
        assert_eq!(application.datagrams, 200);
        // 9 and 8 of 100 lost, one more late.
        assert!((application.loss.mean.unwrap() - 0.085).abs() < 1e-12);
        assert!((application.useless.mean.unwrap() - 0.095).abs() < 1e-12);
        assert!((application.delay_s.mean.unwrap() - 0.030).abs() < 1e-12);
        assert_eq!(application.delay_s.p99, Some(0.040));
        assert_eq!(application.stalls_per_minute.mean, Some(3.0));
        // A megabyte within two seconds.
        assert_eq!(application.goodput_bps.mean, Some(4e6));
        assert_eq!(application.jitter_s.mean, None);
    }
    let named = |name: &str| {
        let series = &comparison.results[0].by_seed;
        series.iter().find(|series| series.name == name).unwrap()
    };
    assert_eq!(named("applications.1.delay_s.p99").values, [Some(0.020), Some(0.040)]);
}

#[test]
fn missing_runs_are_told() {
    let names = ["desk"];
    let comparison = comparison(&names, vec![Some(run(&names, 1)), None, Some(run(&names, 3))]);
    assert!(comparison.interrupted);
    assert_eq!(comparison.seeds, [1, 3]);
}

#[test]
fn a_record_has_the_parts_of_its_scenario() {
    let record = run(&["desk", "hall"], 1);
    let bins = [3, 10, 100];
    assert!(record.fits(2, 2, &bins));
    assert!(!record.fits(2, 1, &bins));
    assert!(!record.fits(1, 2, &bins));
    assert!(!record.fits(2, 2, &bins[..1]));
}

//! Merging of run records: the same bytes as a single call gives, in any order and from any machine.

use gentle_aqm::{DropReason, Spec};
use gentle_experiment::{
    Aborted, Backend, Class, Direction, Ending, Experiment, MergeError, Observer, Record, RecordError, Recorder, Run,
    RunRecord, RunSpec, Scenario, Settings, Watch, compare, merge,
};
use gentle_tcp::{Stats, Waits};
use gentle_units::{Instant, Nanos};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::convert::Infallible;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, OnceLock};

/// Reports random events that depend on the scheme and the seed only.
struct Dice;

impl Backend for Dice {
    type Error = Infallible;

    fn name(&self) -> String {
        "dice".to_owned()
    }

    fn engine(&self) -> String {
        "none".to_owned()
    }

    fn run(&self, run: &RunSpec<'_>, _: &Watch<'_>) -> Result<RunRecord, Aborted<Infallible>> {
        let scheme = run.scheme.to_string();
        let salt = scheme.bytes().fold(7_u64, |h, b| h.wrapping_mul(31) + u64::from(b));
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(salt ^ run.seed);
        let mut recorder = Recorder::new(run, &self.name(), &self.engine());
        let mut now = Instant::ZERO;
        for _ in 0..rng.random_range(20..60) {
            now += Nanos::from_micros(rng.random_range(1..900_000));
            let direction = Direction::BOTH[rng.random_range(0..2)];
            let class = [Class::Syn, Class::SynAck, Class::Data, Class::Other][rng.random_range(0..4)];
            if !recorder.offered(now, direction, class) {
                continue;
            }
            if rng.random_range(0..4) == 0 {
                recorder.dropped(direction, class, Some(DropReason::Aqm));
                continue;
            }
            let delay = Nanos(rng.random_range(0..3) * rng.random_range(1..90_000_000));
            recorder.left(now, direction, delay);
            recorder.carried(direction, now, now + Nanos::from_millis(3), 900);
            recorder.sent(direction);
            let mut waits = Waits::default();
            waits.add(now, now + Nanos(rng.random_range(0..900_000_000)));
            let stats = Stats {
                segments_sent: rng.random_range(3..30),
                rtt_samples: 1,
                rtt_sum: Nanos(rng.random_range(1..900_000_000)),
                waits,
                ..Stats::default()
            };
            let time = Nanos(rng.random_range(1..4_000_000_000));
            let ending = match rng.random_range(0..9) {
                0 => Ending::Failed,
                1 => Ending::Unfinished,
                _ => Ending::Completed(time),
            };
            let segments = rng.random_range(1..40);
            recorder.connection(0, now, segments, ending, Some(time), &[&stats]);
            recorder.goodput(direction, rng.random_range(1..1_000_000), Instant::ZERO, now);
        }
        Ok(recorder.finish())
    }
}

/// Keeps the records of all runs.
#[derive(Default)]
struct Keep {
    experiment: OnceLock<Experiment>,
    settings: Option<Settings>,
    records: Mutex<Vec<Record>>,
}

impl Observer for Keep {
    fn planned(&self, scenario: &Scenario, schemes: &[Spec]) {
        let settings = self.settings.as_ref().expect("set before the runs");
        self.experiment.get_or_init(|| Experiment::new("gentle compare", scenario, schemes, settings));
    }
    fn started(&self, _: Run) {}
    fn reached(&self, _: Run, _: f64) {}
    fn recorded(&self, _: Run, record: &RunRecord) {
        let experiment = self.experiment.get().expect("planned before").clone();
        let run = record.clone();
        self.records.lock().unwrap().push(Record { experiment, run });
    }
    fn finished(&self, _: Run) {}
}

const SCHEMES: [&str; 3] = ["spa", "pfifo limit=50", "codel target=20ms"];

fn scenario() -> Scenario {
    let mut scenario = Scenario::builtin("real").unwrap();
    scenario.set_duration(Nanos::from_secs(30));
    scenario
}

/// The JSON of the comparison that one call gives, and the records of its runs.
fn one_call(scenario: &Scenario, schemes: &[&str], seeds: &[u64]) -> (String, Vec<Record>) {
    let schemes: Vec<Spec> = schemes.iter().map(|s| s.parse().unwrap()).collect();
    let settings = Settings { seeds: seeds.to_vec(), bins: vec![3, 10] };
    let keep = Keep { settings: Some(settings.clone()), ..Keep::default() };
    let stop = AtomicBool::new(false);
    let Ok(comparison) = compare(&Dice, scenario, &schemes, &settings, &keep, &stop);
    let json = serde_json::to_string(&comparison).unwrap();
    (json, keep.records.into_inner().unwrap())
}

/// The JSON of the records put together after each was written and read again.
fn merged(records: Vec<Record>) -> Result<String, MergeError> {
    let named = records.into_iter().enumerate().map(|(index, record)| {
        let read = Record::from_json(&record.to_json()).unwrap();
        assert_eq!(read, record);
        (index.to_string(), read)
    });
    let merged = merge(named.collect())?;
    Ok(serde_json::to_string(&merged.comparison).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Seeds spread over any calls, records in any order, some of them twice.
    #[test]
    fn any_partition_in_any_order_gives_the_bytes_of_one_call(
        parts in prop::collection::vec(0_usize..3, 5),
        order in Just((0..30).collect::<Vec<usize>>()).prop_shuffle(),
        twice in 0_usize..15,
    ) {
        let scenario = scenario();
        let seeds: Vec<u64> = (4..9).collect();
        let (expected, _) = one_call(&scenario, &SCHEMES, &seeds);
        let mut records = Vec::new();
        for part in 0..3 {
            let of_part = seeds.iter().zip(&parts).filter(|(_, p)| **p == part);
            let seeds: Vec<u64> = of_part.map(|(seed, _)| *seed).collect();
            if !seeds.is_empty() {
                records.extend(one_call(&scenario, &SCHEMES, &seeds).1);
            }
        }
        prop_assert_eq!(records.len(), 15);
        records.push(records[twice].clone());
        let mut shuffled: Vec<(usize, Record)> = order.into_iter().zip(records).collect();
        shuffled.sort_by_key(|(place, _)| *place);
        let shuffled = shuffled.into_iter().map(|(_, record)| record).collect();
        prop_assert_eq!(merged(shuffled).unwrap(), expected);
    }
}

#[test]
fn missing_runs_are_told() {
    let (_, mut records) = one_call(&scenario(), &SCHEMES, &[1, 2]);
    records.retain(|record| (record.run.scheme.as_str(), record.run.seed) != ("spa", 2));
    let json: serde_json::Value = serde_json::from_str(&merged(records).unwrap()).unwrap();
    assert_eq!(json["interrupted"], true);
    assert_eq!(json["seeds"], serde_json::json!([1]));
}

#[test]
fn runs_that_do_not_belong_together_are_refused() {
    let (_, records) = one_call(&scenario(), &SCHEMES, &[1]);
    let with = |other: &Scenario| {
        let mut both = records.clone();
        both.extend(one_call(other, &SCHEMES, &[2]).1);
        merged(both).unwrap_err().to_string()
    };
    let mut longer = scenario();
    longer.set_duration(Nanos::from_secs(31));
    assert!(with(&longer).contains("differ in links, hosts, traffic or duration"));
    // Not seen in what results say of a scenario.
    let mut lossy = scenario();
    lossy.links[0].loss = 0.01;
    assert!(with(&lossy).contains("differ in links, hosts, traffic or duration"));
    let mut short = Scenario::builtin("short").unwrap();
    short.set_duration(Nanos::from_secs(30));
    assert!(with(&short).contains("one is of the scenario 'real', the other of 'short'"));
    assert_eq!(merged(Vec::new()), Err(MergeError::Empty));

    let mut forged = records[0].clone();
    forged.run.gentle = "0.0.1".to_owned();
    let error = merged(vec![records[0].clone(), forged]).unwrap_err();
    assert!(error.to_string().contains("gentle 0.0.1"), "{error}");

    // The run of another seed under the first one's name.
    let (_, mut other) = one_call(&scenario(), &SCHEMES, &[1, 2]);
    other.retain(|record| record.run.scheme == records[0].run.scheme && record.run.seed == 2);
    let mut forged = other[0].clone();
    forged.run.seed = 1;
    let error = merged(vec![records[0].clone(), forged]).unwrap_err();
    assert!(error.to_string().contains("with seed 1, and differ"), "{error}");
}

#[test]
fn what_is_no_record_gets_a_sentence() {
    let record = one_call(&scenario(), &SCHEMES, &[1]).1.remove(0);
    let json = record.to_json();
    let refused = |text: &str| Record::from_json(text).unwrap_err();
    assert_eq!(refused("{}"), RecordError::Syntax { line: 1, column: 2 });
    assert_eq!(refused(&json.replace("\"run\":{\"version\":3", "\"run\":{\"version\":1")), RecordError::Version(1));
    for (from, to) in [
        ("\"bins\":[3,10]", "\"bins\":[3]"),
        ("\"groups\":[]", "\"groups\":[\"a\"]"),
        ("\"seed\":1", "\"seed\":9"),
        ("\"scheme\":\"", "\"scheme\":\"x"),
    ] {
        assert!(json.contains(from), "{from}");
        assert_eq!(refused(&json.replacen(from, to, 1)), RecordError::Inconsistent, "{to}");
    }
    let unknown = json.replacen("\"syn\":", "\"sin\":", 1);
    assert!(matches!(refused(&unknown), RecordError::Syntax { .. }));
}

/// A file that `gentle compare --record` wrote when version 3 was new: as long as the version is 3, it is read and
/// written as it stands.
#[test]
fn records_of_version_3_stay_as_they_are() {
    let json = include_str!("../data/record-3.json");
    let record = Record::from_json(json).unwrap();
    assert_eq!((record.run.version, record.run.seed), (3, 1));
    assert_eq!(record.to_json(), json);
    let merged = merge(vec![("one".to_owned(), record)]).unwrap();
    assert_eq!(merged.comparison.results[0].connections, 124);
    assert!(!merged.comparison.interrupted);
}

/// Records of two seeds with the applications `names`, made by hand from a record of the simulator.
fn with_applications(names: &[&str]) -> [String; 2] {
    [1_u64, 2].map(|seed| {
        let mut record: serde_json::Value =
            serde_json::from_str(include_str!("../data/record-3.json")).unwrap();
        let applications = |of: &dyn Fn(&str) -> serde_json::Value| -> serde_json::Value {
            names.iter().map(|name| of(name)).collect()
        };
        let experiment = &mut record["experiment"];
        experiment["scenario"]["seeds"] = serde_json::json!([1, 2]);
        experiment["applications"] =
            applications(&|name| serde_json::json!({ "name": name, "kind": "voice" }));
        record["run"]["seed"] = seed.into();
        record["run"]["applications"] = applications(&|_| {
            let delay = 20_000_000 * seed;
            serde_json::json!({
                "datagrams": 100,
                "arrived": 90 + seed,
                "late": 1,
                "delay": { "buckets": [[delay, 90 + seed]], "n": 90 + seed, "zeros": 0, "sum_ns": delay * (90 + seed), "max_ns": delay },
                "stalls": seed,
                "stalled_ns": 400_000_000,
                "active_ns": 30_000_000_000_u64,
                "bytes": 1_000_000,
            })
        });
        record.to_string()
    })
}

#[test]
fn applications_merge_in_any_order() {
    let records = with_applications(&["desk", "hall"]).map(|text| Record::from_json(&text).unwrap());
    let [a, b] = records.map(|record| (record.run.seed.to_string(), record));
    let merged = |records: Vec<(String, Record)>| merge(records).unwrap().comparison;
    let comparison = merged(vec![a.clone(), b.clone()]);
    assert_eq!(serde_json::to_string(&comparison).unwrap(), serde_json::to_string(&merged(vec![b, a])).unwrap());
    let applications = &comparison.results[0].applications;
    let names: Vec<(&str, &str)> = (applications.iter()).map(|a| (a.application.as_str(), a.kind.as_str())).collect();
    assert_eq!(names, [("desk", "voice"), ("hall", "voice")]);
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
fn a_record_has_the_applications_of_its_experiment() {
    let [record, _] = with_applications(&["desk"]);
    let [more, _] = with_applications(&["desk", "hall"]);
    assert!(Record::from_json(&record).is_ok());
    let applications = r#""applications":[{"kind":"voice","name":"desk"},{"kind":"voice","name":"hall"}]"#;
    assert!(more.contains(applications), "{more}");
    let more = more.replace(applications, r#""applications":[{"kind":"voice","name":"desk"}]"#);
    assert_eq!(Record::from_json(&more).unwrap_err(), RecordError::Inconsistent);
}

//! Stores of runs: from any sequence and number of calls, results equal the results of a single call.

use gentle_aqm::{DropReason, Spec};
use gentle_experiment::{
    Aborted, Backend, Class, Direction, Ending, Observer, Part, Recorder, Run, RunRecord, RunSpec, Scenario, Settings,
    Watch,
};
use gentle_runs::{Executed, Folder, Found, Plan, Records, Store, StoreError, execute, records_in, reference};
use gentle_sim::Simulator;
use gentle_tcp::{Stats, Waits};
use gentle_units::{Instant, Nanos};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tempfile::TempDir;

/// Reports random events that depend on the scheme and the seed only.
#[derive(Default)]
struct Dice {
    engine: &'static str,
    /// Runs made.
    made: AtomicU64,
}

impl Backend for Dice {
    type Error = Infallible;

    fn name(&self) -> String {
        "dice".to_owned()
    }

    fn engine(&self) -> String {
        self.engine.to_owned()
    }

    fn run(&self, run: &RunSpec<'_>, _: &Watch<'_>) -> Result<RunRecord, Aborted<Infallible>> {
        self.made.fetch_add(1, Ordering::Relaxed);
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

const SCHEMES: [&str; 3] = ["spa", "pfifo limit=50", "codel target=20ms"];

fn scenario() -> Scenario {
    let mut scenario = Scenario::builtin("real").unwrap();
    scenario.set_duration(Nanos::from_secs(30));
    scenario
}

fn plan(schemes: &[&str], seeds: &[u64]) -> Plan {
    Plan {
        scenario: scenario(),
        schemes: schemes.iter().map(|scheme| scheme.parse().unwrap()).collect(),
        settings: Settings { seeds: seeds.to_vec(), bins: vec![3, 10] },
        reference: None,
        harm: false,
    }
}

fn folder(directory: &Path) -> Folder {
    records_in(directory).unwrap()
}

/// The JSON of the comparison that a plan gives with a store, and counts of reused and made runs.
fn kept(plan: &Plan, backend: &Dice, store: &dyn Store) -> (String, Result<Found, StoreError>) {
    let records = Records::new(store);
    let stop = AtomicBool::new(false);
    let Ok(Executed { comparison, .. }) = execute(plan, backend, Some(&records), |_| (), &stop);
    (serde_json::to_string(&comparison).unwrap(), records.finish())
}

/// The JSON of the comparison that a plan gives without a store.
fn alone(plan: &Plan) -> String {
    let Ok(executed) = execute(plan, &Dice::default(), None, |_| (), &AtomicBool::new(false));
    serde_json::to_string(&executed.comparison).unwrap()
}

fn found(found: u64, made: u64) -> Found {
    Found { found, made, damaged: None }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Calls for any schemes and seeds, each into one of two stores, which are then copied together.
    #[test]
    fn any_calls_before_leave_the_result_as_it_is(
        calls in prop::collection::vec((prop::sample::subsequence(&SCHEMES, 1..=3), 4_u64..9, 1_u64..4, any::<bool>()), 0..5),
    ) {
        let directories = [TempDir::new().unwrap(), TempDir::new().unwrap()];
        let stores = [folder(directories[0].path()), folder(directories[1].path())];
        let mut wanted = std::collections::BTreeSet::new();
        for (schemes, first, number, which) in &calls {
            let seeds: Vec<u64> = (*first..first + number).collect();
            let plan = plan(schemes, &seeds);
            let (json, _) = kept(&plan, &Dice::default(), &stores[usize::from(*which)]);
            prop_assert_eq!(json, alone(&plan));
            wanted.extend(schemes.iter().flat_map(|scheme| seeds.iter().map(move |seed| (*scheme, *seed))));
        }
        for name in stores[1].names().unwrap() {
            stores[0].put(&name, &stores[1].get(&name).unwrap()).unwrap();
        }
        let all = plan(&SCHEMES, &[4, 5, 6, 7, 8]);
        let known = wanted.iter().filter(|(_, seed)| *seed < 9).count() as u64;
        let backend = Dice::default();
        let (json, outcome) = kept(&all, &backend, &stores[0]);
        prop_assert_eq!(json, alone(&all));
        prop_assert_eq!(outcome.unwrap(), found(known, 15 - known));
        prop_assert_eq!(backend.made.into_inner(), 15 - known);
    }
}

/// Stops a comparison when some of its runs have ended.
struct Stopping<'a> {
    left: AtomicU64,
    stop: &'a AtomicBool,
}

impl Observer for Stopping<'_> {
    fn started(&self, _: Run) {}
    fn reached(&self, _: Run, _: f64) {}
    fn finished(&self, _: Run) {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn a_comparison_that_was_stopped_goes_on() {
    let directory = TempDir::new().unwrap();
    let store = folder(directory.path());
    let plan = plan(&SCHEMES, &[1, 2, 3]);
    let records = Records::new(&store);
    let stop = AtomicBool::new(false);
    let backend = Dice::default();
    let observer = |_: Option<&Part>| Stopping { left: AtomicU64::new(4), stop: &stop };
    let Ok(executed) = execute(&plan, &backend, Some(&records), observer, &stop);
    assert!(executed.comparison.interrupted);
    let made = backend.made.into_inner();
    assert!((4..9).contains(&made), "{made}");
    assert_eq!(records.finish().unwrap(), found(0, made));
    let (json, outcome) = kept(&plan, &Dice::default(), &store);
    assert_eq!(outcome.unwrap(), found(made, 9 - made));
    assert_eq!(json, alone(&plan));
}

#[test]
fn what_decides_a_result_tells_runs_apart() {
    let directory = TempDir::new().unwrap();
    let store = folder(directory.path());
    let one = plan(&["spa"], &[1]);
    let made = |plan: &Plan, backend: Dice| kept(plan, &backend, &store).1.unwrap().made;
    assert_eq!(made(&one, Dice::default()), 1);
    assert_eq!(made(&one, Dice::default()), 0);
    assert_eq!(made(&one, Dice { engine: "other code", ..Dice::default() }), 1);
    let mut lossy = one.clone();
    lossy.scenario.links[0].loss = 0.01;
    let mut bins = one.clone();
    bins.settings.bins = vec![3];
    for other in [plan(&["spa"], &[2]), plan(&["spa child=pie"], &[1]), lossy, bins] {
        assert_eq!(made(&other, Dice::default()), 1, "{other:?}");
    }
    // Texts for readers do not change the identity of a run.
    let mut named = one;
    named.scenario.title = "another title".to_owned();
    assert_eq!(made(&named, Dice::default()), 0);
}

#[test]
fn damaged_records_are_made_again() {
    let directory = TempDir::new().unwrap();
    let store = folder(directory.path());
    let plan = plan(&["spa"], &[1, 2]);
    kept(&plan, &Dice::default(), &store).1.unwrap();
    let names = store.names().unwrap();
    let [first, second] = [&names[0], &names[1]].map(|name| store.get(name).unwrap());
    assert!(names[0].starts_with("spa-seed-1-"), "{names:?}");
    let text = String::from_utf8(first.clone()).unwrap();
    let damages = [
        Vec::new(),
        first[..first.len() / 2].to_vec(),
        second,
        text.replace("\"bins\":[3,10]", "\"bins\":[10,3]").into_bytes(),
        text.replace("\"seed\":1", "\"seed\":3").into_bytes(),
        text.replace("\"version\":3", "\"version\":2").into_bytes(),
        text.replacen("\"sent\":", "\"sent\":1", 1).into_bytes(),
        text.replacen("\"syn\":", "\"sin\":", 1).into_bytes(),
    ];
    for damage in damages {
        assert_ne!(damage, first);
        store.put(&names[0], &damage).unwrap();
        let (json, outcome) = kept(&plan, &Dice::default(), &store);
        assert_eq!(json, alone(&plan));
        let damaged = Some(store.place(&names[0]));
        assert_eq!(outcome.unwrap(), Found { found: 1, made: 1, damaged });
        assert_eq!(store.get(&names[0]).unwrap(), first);
    }
}

/// A store on a full disk.
struct Full;

impl Store for Full {
    fn names(&self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }
    fn find(&self, _: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(None)
    }
    fn put(&self, name: &str, _: &[u8]) -> Result<(), StoreError> {
        Err(StoreError { place: self.place(name), error: io::ErrorKind::StorageFull.into() })
    }
    fn place(&self, name: &str) -> String {
        format!("full/{name}")
    }
}

#[test]
fn runs_that_cannot_be_kept_are_compared_all_the_same() {
    let plan = plan(&SCHEMES, &[1, 2]);
    let (json, outcome) = kept(&plan, &Dice::default(), &Full);
    assert_eq!(json, alone(&plan));
    let error = outcome.unwrap_err().to_string();
    assert!(error.starts_with("full/"), "{error}");
    let nowhere = TempDir::new().unwrap();
    std::fs::write(nowhere.path().join("file"), "").unwrap();
    let error = records_in(&nowhere.path().join("file")).unwrap_err().to_string();
    assert!(error.contains("file/records"), "{error}");
}

/// Two applications for a few seconds in the simulator.
fn with_parts() -> Plan {
    let text = "
        duration = '4s'
        link = { down = { rate = '2mbit', delay = '10ms' }, up = { rate = '2mbit', delay = '10ms' } }
        [[workload]]
        kind = 'voice'
        [[workload]]
        kind = 'long'
        group = 'backup'
    ";
    let no_files = |_: &str| -> Result<String, io::Error> { unreachable!("the scenario names no files") };
    let scenario = Scenario::from_toml("test", text, &no_files).unwrap();
    let settings = Settings { seeds: vec![1, 2], bins: vec![3] };
    let schemes = ["pfifo limit=50", "fq_codel"].map(|scheme| scheme.parse().unwrap()).to_vec();
    Plan { scenario, schemes, settings, reference: Some("fq_codel".to_owned()), harm: true }
}

#[test]
fn the_runs_of_parts_alone_are_kept_too() {
    let directory = TempDir::new().unwrap();
    let store = folder(directory.path());
    let plan = with_parts();
    let made = |stop: &AtomicBool| {
        let records = Records::new(&store);
        let executed = execute(&plan, &Simulator, Some(&records), |_| (), stop).unwrap();
        (executed, records.finish().unwrap())
    };
    let (first, outcome) = made(&AtomicBool::new(false));
    let runs = plan.runs() as u64;
    assert_eq!((runs, plan.parts().len()), (12, 2));
    assert_eq!(outcome, found(0, runs));
    assert_eq!(first.comparison.results[0].harm.len(), 2);
    let (second, outcome) = made(&AtomicBool::new(false));
    assert_eq!(outcome, found(runs, 0));
    let [first, second] = [first, second].map(|executed| serde_json::to_string(&executed.comparison).unwrap());
    assert_eq!(first, second);
    assert!(first.contains("\"reference\":\"fq_codel\""));
}

#[test]
fn harm_that_is_missing_is_told() {
    let plan = with_parts();
    let stop = AtomicBool::new(false);
    // All of the whole, and one run of the first part.
    let observer =
        |part: Option<&Part>| Stopping { left: AtomicU64::new(if part.is_some() { 1 } else { 99 }), stop: &stop };
    let executed = execute(&plan, &Simulator, None, observer, &stop).unwrap();
    assert!(executed.parts_are_missing && !executed.comparison.interrupted);
    assert!(executed.comparison.results[0].harm.is_empty());
}

#[test]
fn a_reference_is_one_of_the_schemes() {
    let schemes: Vec<Spec> = SCHEMES.iter().map(|scheme| scheme.parse().unwrap()).collect();
    let wanted = |text: &str| reference(&schemes, &text.parse().unwrap()).map_err(|error| error.to_string());
    assert_eq!(wanted("codel target=20ms").unwrap(), "codel target=20ms");
    assert_eq!(wanted("codel").unwrap(), "codel target=20ms");
    let unknown = wanted("pie").unwrap_err();
    assert!(
        unknown.contains("'pie' is not among the schemes compared; expected one of: spa, pfifo limit=50"),
        "{unknown}"
    );
    assert!(wanted("codel target=7ms").is_err());
}

//! The kernel's queues and ours, fed the same packets: every packet sent, marked or dropped has to be the same one.
//!
//! GENTLE_DECISIONS=N draws N schedules of each pattern for each scheme instead of one.

use crate::kernel::{kernel, machine};
use crate::modules::{RUNS_ON, kernel_folder};
use gentle_aqm::Spec;
use gentle_testbed::build::{Cache, Kernel, modules, plugins};
use gentle_testbed::decisions::{Case, Decisions, Pattern, Tally, Traffic, generate};
use gentle_units::Nanos;
use std::path::Path;
use tempfile::TempDir;

/// Calls of the queue in each schedule.
const STEPS: usize = 2000;

/// Links and senders of three kinds, by turns: 2.4, 10 and 30 Mb/s of mean packets.
const LINKS: [(Nanos, u32, f64); 3] = [
    (Nanos::from_micros(3000), 12, 0.5),
    (Nanos::from_micros(800), 3, 0.0),
    (Nanos::from_micros(300), 40, 0.9),
];

fn schedules() -> u64 {
    match std::env::var("GENTLE_DECISIONS") {
        Ok(text) => text
            .parse()
            .expect("GENTLE_DECISIONS: expected a whole number"),
        Err(_) => 1,
    }
}

fn cases(spec: &str) -> Vec<Case> {
    let spec: Spec = spec.parse().unwrap();
    let mut cases = Vec::new();
    for turn in 0..schedules() {
        for pattern in Pattern::ALL {
            let seed = cases.len() as u64;
            let (service, flows, ecn) = LINKS[(turn % 3) as usize];
            let traffic = Traffic {
                pattern,
                steps: STEPS,
                service,
                flows,
                ecn,
                // Linux looks for a flow where the tag is, and CHOKe takes one flow for another.
                tags: spec.scheme().name != "choke",
            };
            cases.push(Case::new(&spec, seed, generate(&traffic, seed)));
        }
    }
    cases
}

/// Compares all, and returns what was compared.
fn compare(kernel: Kernel, cases: &[Case]) -> Tally {
    let cache = Cache::of_user().unwrap();
    let build = |sources: &Path| modules(&kernel, sources, &cache, &RUNS_ON).unwrap();
    let mut loaded = build(&kernel_folder().join("testing/replay"));
    loaded.extend(build(&kernel_folder()));
    let folder = TempDir::new().unwrap();
    let replays = cases
        .iter()
        .enumerate()
        .map(|(number, case)| case.prepare(folder.path(), number).unwrap());
    let task = Decisions {
        replays: replays.collect(),
    };
    let mut machine = machine(kernel.clone());
    machine.files = Some(folder.path().to_owned());
    machine.modules = loaded;
    machine.plugins = plugins(&kernel_folder(), &cache, &RUNS_ON).unwrap();
    let outcome = machine.run(task, &RUNS_ON, &|_| {}).unwrap();
    assert_eq!(outcome.answer.schedules, cases.len());
    assert_eq!(outcome.complaints(), [""; 0]);
    let mut all = Tally::default();
    for (number, case) in cases.iter().enumerate() {
        match case.check(folder.path(), number) {
            Ok(tally) => all += tally,
            Err(error) => panic!("{}, schedule {number}: {error}", case.kernel),
        }
    }
    all
}

fn equal(specs: &[&str], change: impl Fn(&mut Case)) {
    let Some(kernel) = kernel() else { return };
    let mut all: Vec<Case> = specs.iter().flat_map(|spec| cases(spec)).collect();
    all.iter_mut().for_each(change);
    let tally = compare(kernel, &all);
    assert_eq!(tally.steps, STEPS * all.len());
    assert!(tally.sent > 0 && tally.dropped > 0, "{tally:?}");
    eprintln!("{}: {tally:?}", specs.join("; "));
}

#[test]
fn fifos_and_codel() {
    let specs = [
        "pfifo limit=50",
        "bfifo limit=30000",
        "codel",
        "codel ecn target=20ms interval=50ms limit=60",
        "codel ecn ce_threshold=10ms",
    ];
    // Setting the same options again must not disturb what goes on.
    equal(&specs, |case| case.set_again = true);
}

#[test]
fn fair_queues() {
    equal(
        &[
            "fq_codel",
            "fq_codel flows=8 limit=100 quantum=300 noecn drop_batch=4",
            "fq_codel flows=16 memory_limit=60000",
            "sfq",
            "sfq limit=60 divisor=16 depth=10 flows=8 headdrop",
            "sfq limit=40 quantum=300 divisor=8",
        ],
        |_| {},
    );
}

#[test]
fn red_and_choke() {
    equal(
        &[
            "red probability=0.1 bandwidth=4mbit",
            "red probability=0.1 ecn",
            "red probability=0.5 ecn nodrop",
            "red probability=0.5 ecn harddrop",
            "choke min=5 max=15",
            "choke min=5 max=15 ecn probability=0.2",
        ],
        |_| {},
    );
}

/// Since its flags have an attribute of their own (Linux 5.7), `tc` puts `adaptive` there only, and `red_change` of
/// Linux looks for it where it was before: the timer that would adapt is never started.
#[test]
fn adaptive_red_that_tc_sets_up_does_not_adapt() {
    equal(&["ared probability=0.1"], |case| {
        case.ours = "red probability=0.1".parse().unwrap();
    });
}

#[test]
fn pie_and_its_fair_form() {
    equal(
        &[
            "pie",
            "pie ecn bytemode tupdate=29ms target=5ms limit=70",
            "pie dq_rate_estimator alpha=4 beta=30",
            "fq_pie",
            "fq_pie flows=4 ecn ecn_prob=50 limit=100 target=5ms",
        ],
        |_| {},
    );
}

#[test]
fn schemes_of_our_own() {
    equal(
        &[
            "spa",
            "spa ecn fin=priority limit=60",
            "spa fin=none target=20ms maxlen=66",
            "spa held=3 limit=20 share=60",
            "spa share=100",
            "gsp",
            "gsp threshold=30ms limit=20 tau=200ms",
            "gsp threshold=20000b mode=basic interval=50ms",
            "gsp threshold=12p limit=40 alpha=4 tau=200ms maxtime=2s",
        ],
        |case| case.set_again = true,
    );
}

/// As with RED, options that are set again begin a new average.
#[test]
fn redfavor() {
    equal(
        &["redfavor", "redfavor limit=30000 probability=0.2 ecn"],
        |_| {},
    );
}

#[test]
fn priority_from_stock_parts() {
    equal(&["syn_prio limit=30", "syn_fin_prio limit=30"], |_| {});
}

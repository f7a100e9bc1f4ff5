//! Simulator compared with a real kernel: the same connections under the same schemes, measured on Linux 7.2 (see
//! `tests/kernel/README.md`).

use gentle_aqm::Spec;
use gentle_experiment::results::SchemeResult;
use gentle_experiment::{DEFAULT_BINS, Direction, Scenario, Settings};
use gentle_sim::compare;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

/// Results of a run on the kernel.
struct Measured {
    scheme: String,
    mean_s: f64,
    /// Mean response time by size; `None`: no connections of that size.
    by_size_s: Vec<Option<f64>>,
    handshake_s: f64,
}

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn measured(traffic: &str) -> Vec<Measured> {
    let text = file("measured.csv");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows = reader.records().map(Result::unwrap);
    rows.filter(|row| &row[0] == traffic)
        .map(|row| {
            let ms = |column: usize| row[column].parse::<f64>().ok().map(|ms| ms / 1e3);
            Measured {
                scheme: row[1].to_owned(),
                mean_s: ms(4).unwrap(),
                by_size_s: (6..10).map(ms).collect(),
                handshake_s: ms(10).unwrap(),
            }
        })
        .collect()
}

/// Runs of the simulator, each with other shifts of the starts and another seed for the queues.
const RUNS: u64 = 8;

/// Means over the runs of the simulator.
#[derive(Debug, Clone, Copy, Default)]
struct Simulated {
    mean_s: f64,
    /// Mean response time of 1-3 segments.
    short_s: f64,
    handshake_s: f64,
    drops: f64,
    /// Fraction of the SYNs lost.
    syn_loss: f64,
}

impl Simulated {
    /// Adds `1 / RUNS` of a run.
    fn add(&mut self, run: &SchemeResult) {
        let share = 1.0 / RUNS as f64;
        let value = |value: Option<f64>| share * value.expect("connections completed");
        self.mean_s += value(run.response_time_s.mean);
        self.short_s += value(run.response_time_by_size[0].mean_s);
        self.handshake_s += value(run.handshake_s.mean);
        self.drops += share * run.drops.values().sum::<u64>() as f64;
        self.syn_loss += value(run.loss.syn);
    }
}

/// The connections of a measurement, with every start shifted by less than a millisecond.
fn shifted(traffic: &str, run: u64) -> String {
    let mut state = run;
    let mut list = "start_s,bytes\n".to_owned();
    for row in csv::Reader::from_reader(file(traffic).as_bytes()).records() {
        let row = row.unwrap();
        // The generator of Knuth's MMIX.
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let shift_s = (state >> 40) as f64 / (1_u64 << 24) as f64 * 1e-3;
        let start_s = row[0].parse::<f64>().unwrap() + shift_s;
        list.push_str(&format!("{start_s:.9},{}\n", &row[1]));
    }
    list
}

/// Simulates the connections of the measurement. A single run would be chance: shifted starts change the mean of
/// `spa fin=none` under `short` from 1.25 to 2.5 s.
fn simulated(traffic: &str, schemes: &[Spec]) -> Vec<Simulated> {
    let name = format!("{traffic}.csv");
    let mut means = vec![Simulated::default(); schemes.len()];
    for run in 1..=RUNS {
        let mut scenario = Scenario::from_flows(&name, &shifted(&name, run)).unwrap();
        scenario.set_profile("linux-7.2").unwrap();
        if traffic == "10m" {
            scenario.set_rate(Direction::Down, "10mbit".parse().unwrap());
            scenario.set_rate(Direction::Up, "2mbit".parse().unwrap());
        }
        let settings = Settings { seeds: vec![run], bins: DEFAULT_BINS.to_vec() };
        let result = compare(&scenario, schemes, &settings, &(), &AtomicBool::new(false));
        for (mean, result) in means.iter_mut().zip(&result.results) {
            mean.add(result);
        }
    }
    means
}

/// Types of traffic that were measured.
const TRAFFIC: [&str; 3] = ["real", "10m", "short"];

/// Measured and simulated results of each scheme.
fn pairs(traffic: &str) -> &'static [(Measured, Simulated)] {
    static PAIRS: [OnceLock<Vec<(Measured, Simulated)>>; 3] = [const { OnceLock::new() }; 3];
    let position = TRAFFIC.iter().position(|name| *name == traffic).unwrap();
    PAIRS[position].get_or_init(|| {
        let measured = measured(traffic);
        assert_eq!(measured.len(), 16, "{traffic}");
        let schemes: Vec<Spec> = measured.iter().map(|m| m.scheme.parse().unwrap()).collect();
        let simulated = simulated(traffic, &schemes);
        measured.into_iter().zip(simulated).collect()
    })
}

/// `simulated.csv`, from which the book has its table: `UPDATE_DOCS=1 cargo test -p gentle-sim --test kernel` writes it,
/// `UPDATE_DOCS=1 cargo test -p gentle --test docs` then the table.
#[test]
fn the_simulated_means_are_those_on_file() {
    let mut text = "traffic,scheme,mean_ms,s1_3_ms\n".to_owned();
    for traffic in TRAFFIC {
        for (kernel, result) in pairs(traffic) {
            let (mean_ms, short_ms) = (1e3 * result.mean_s, 1e3 * result.short_s);
            let scheme = &kernel.scheme;
            text.push_str(&format!("{traffic},{scheme},{mean_ms:.0},{short_ms:.0}\n"));
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel/simulated.csv");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, text).unwrap();
        return;
    }
    assert!(
        std::fs::read_to_string(&path).unwrap_or_default() == text,
        "tests/kernel/simulated.csv is out of date; UPDATE_DOCS=1 regenerates it"
    );
}

/// Reports all ratios outside of the tolerance in one failure.
fn all_within(tolerance: f64, ratios: &[(String, f64)]) {
    let off: Vec<_> = ratios.iter().filter(|(_, ratio)| (ratio - 1.0).abs() > tolerance).collect();
    assert!(off.is_empty(), "simulated/measured is off by more than {tolerance}: {off:#?}");
}

/// Compares mean response times of all and of short connections, and handshake times.
fn means_agree(traffic: &str, over_all: f64, short: f64) {
    let mut all = Vec::new();
    let mut shortest = Vec::new();
    for (kernel, result) in pairs(traffic) {
        let label = |what: &str| format!("{}: {what}", kernel.scheme);
        let mean = result.mean_s / kernel.mean_s;
        all.push((label("mean"), mean));
        let of_short = result.short_s / kernel.by_size_s[0].unwrap();
        shortest.push((label("1-3 segments"), of_short));
        let handshake = result.handshake_s / kernel.handshake_s;
        shortest.push((label("handshake"), handshake));
    }
    all_within(over_all, &all);
    all_within(short, &shortest);
}

/// On the kernel itself the means change by up to 2 %, and the means of short connections by 4 %, if every start is
/// shifted by up to a millisecond.
#[test]
fn real_traffic_has_the_kernels_response_times() {
    means_agree("real", 0.08, 0.14);
}

#[test]
fn ten_megabit_traffic_has_the_kernels_response_times() {
    // The kernel ran this traffic once; PIE, whose drops are random, has the largest deviation.
    means_agree("10m", 0.06, 0.07);
}

/// On the kernel itself these means vary by 5 to 20 % between runs, and by more for SPA with FINs that overtake data,
/// which collapses.
#[test]
fn short_traffic_has_the_kernels_response_times() {
    let ratios: Vec<(String, f64)> = pairs("short")
        .iter()
        .filter(|(kernel, _)| !kernel.scheme.starts_with("spa fin=priority"))
        .map(|(kernel, result)| {
            // The recorded run is one of several, with a mean of 1.73 s and a standard deviation of 0.29 s
            // (docs/research/kernel-proof.md, "Table III").
            let kernel_s = match &*kernel.scheme {
                "spa fin=none share=100" => 1.73,
                _ => kernel.mean_s,
            };
            (kernel.scheme.clone(), result.mean_s / kernel_s)
        })
        .collect();
    assert_eq!(ratios.len(), 14);
    all_within(0.2, &ratios);
}

/// Schemes that clearly differ on the kernel have the same order in the simulator.
#[test]
fn the_order_of_the_schemes_is_the_kernels() {
    for traffic in ["real", "10m"] {
        let pairs = pairs(traffic);
        let short = |pair: &(Measured, Simulated)| (pair.0.by_size_s[0].unwrap(), pair.1.short_s);
        for a in pairs {
            for b in pairs {
                let ((kernel_a, sim_a), (kernel_b, sim_b)) = (short(a), short(b));
                if kernel_a < 0.75 * kernel_b {
                    assert!(
                        sim_a < sim_b,
                        "{traffic}: {} is faster than {} on the kernel ({kernel_a:.3} s, {kernel_b:.3} s) but not here ({sim_a:.3} s, {sim_b:.3} s)",
                        a.0.scheme,
                        b.0.scheme
                    );
                }
            }
        }
    }
}

/// Under `short`, with current Linux hosts, SPA as published collapses; a length limit does not prevent this; priority
/// for SYN alone does (docs/research/papers/spa-2018.md).
#[test]
fn short_traffic_shows_the_collapse_of_fin_priority() {
    let kernel: BTreeMap<String, f64> = measured("short").into_iter().map(|m| (m.scheme, m.mean_s)).collect();
    let specs = [
        "codel",
        "spa fin=priority maxlen=0 share=100",
        "spa fin=priority maxlen=100 share=100",
        "spa fin=none share=100",
    ];
    let schemes = specs.map(|spec| spec.parse().unwrap());
    let results = simulated("short", &schemes);
    let mean = |i: usize| results[i].mean_s;
    let drops = |i: usize| results[i].drops;
    for collapsed in [1, 2] {
        // Mean response times of seconds and twice CoDel's drops, as on the kernel.
        assert!(kernel[specs[collapsed]] > 2.5 * kernel["codel"]);
        assert!(mean(collapsed) > 2.5 * mean(0), "{}: {}", specs[collapsed], mean(collapsed));
        assert!(drops(collapsed) > 1.7 * drops(0), "{}", specs[collapsed]);
    }
    assert!(mean(3) < 1.4 * mean(0), "{}: {}", specs[3], mean(3));
    assert_eq!(results[3].syn_loss, 0.0, "{}", specs[3]);
}

/// With SACK off at the hosts, priority for FIN does little harm (kernel: 2.79 s against CoDel's 2.33 s; with SACK 4.6
/// to 7.6 s against 1.7 s).
#[test]
fn without_sack_the_priority_of_fin_does_little_harm() {
    let mut scenario = Scenario::from_flows("short.csv", &file("short.csv")).unwrap();
    scenario.set_profile("linux-7.2").unwrap();
    scenario.set_knob("sack", "off").unwrap();
    let schemes = ["codel", "spa fin=priority maxlen=0 share=100"].map(|spec| spec.parse().unwrap());
    let settings = Settings { seeds: vec![1, 2, 3], bins: DEFAULT_BINS.to_vec() };
    let results = compare(&scenario, &schemes, &settings, &(), &AtomicBool::new(false)).results;
    let mean = |i: usize| results[i].response_time_s.mean.unwrap();
    assert!(mean(1) < 1.6 * mean(0), "spa {}, codel {}", mean(1), mean(0));
}

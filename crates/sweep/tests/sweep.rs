//! Sweeps without the command: what runs, what is left out, what comes back.

use bytes::Bytes;
use gentle_aqm::Spec;
use gentle_experiment::{Aborted, Backend, RunRecord, RunSpec, Scenario, Settings, Watch};
use gentle_runs::Store;
use gentle_sim::Simulator;
use gentle_sweep::{
    Batch, BatchError, Grid, Inputs, Stores, Sweep, SweepError, connections_in, run, run_batch, runs_in,
};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

const FLOWS: &str = "start_s,bytes\n0,20000\n0.1,3000\n0.2,500000\n1,1448\n";

fn read(path: &str) -> io::Result<String> {
    match Path::new(path).extension().and_then(|ending| ending.to_str()) {
        Some("csv") => Ok(FLOWS.to_owned()),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

fn sweep(text: &str) -> Sweep {
    let grid = Grid::from_toml("grid.toml", text, &read);
    let grid = grid.unwrap_or_else(|error| panic!("{error}"));
    Sweep::new(grid, &Simulator).unwrap_or_else(|error| panic!("{error}"))
}

/// Batches of a sweep without results.
fn batches(sweep: &Sweep) -> Vec<Batch> {
    let mut batches = sweep.batches(sweep.survey().unwrap().seconds, 2);
    std::iter::from_fn(|| batches.next(sweep).unwrap()).collect()
}

/// A store of runs without their connections.
fn only(runs: &dyn Store) -> Stores<'_> {
    Stores { runs, connections: None }
}

/// Keys of the runs of a grid with their labels, as the finished table has them after running it all.
fn finished(text: &str, store: &Path) -> (u64, Vec<String>) {
    let sweep = sweep(text);
    let connections = sweep.grid().connections.then(|| connections_in(store).unwrap());
    let store = runs_in(store).unwrap();
    let stores = Stores { runs: &store, connections: connections.as_ref().map(|folder| folder as &dyn Store) };
    let outcome = run(&sweep, &Simulator, stores, &(), &AtomicBool::new(false)).unwrap();
    let get = |name: &str| store.get(name).map_err(io::Error::other);
    let mut csv = Vec::new();
    gentle_sweep::csv(sweep.rows(&get), &mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    (outcome.made, csv.lines().map(str::to_owned).collect())
}

#[test]
fn options_multiply_only_the_schemes_that_have_them() {
    let grid = "schemes = [\"pfifo limit=9\", \"codel\", \"codel target=7ms\", \"pie\"]\nseeds = 1\n[axes]\nduration = \"1s\"\nload = [0.5, 0.9]\nscheme.codel.target = [\"5ms\", \"20ms\", \"50ms\"]\n";
    let all = sweep(grid);
    // At each load: pfifo, codel three times, codel with its own target, pie.
    assert_eq!(all.survey().unwrap().runs, 2 * (1 + 3 + 1 + 1));
    let folder = TempDir::new().unwrap();
    let (_, lines) = finished(grid, folder.path());
    assert_eq!(lines.len(), 13);
    let any = "schemes = [\"pfifo\", \"codel\", \"pie\"]\nseeds = 1\n[axes]\nduration = \"1s\"\nscheme.target = [\"5ms\", \"20ms\"]\n";
    assert_eq!(sweep(any).survey().unwrap().runs, 1 + 2 + 2);
}

#[test]
fn a_changed_grid_makes_only_what_is_new() {
    let folder = TempDir::new().unwrap();
    let grid = |loads: &str, seeds: u32| {
        format!(
            "schemes = [\"pfifo limit=9\", \"codel\"]\nseeds = {seeds}\n[axes]\nduration = \"1s\"\nload = {loads}\n"
        )
    };
    assert_eq!(finished(&grid("[0.5, 0.9]", 2), folder.path()).0, 8);
    assert_eq!(finished(&grid("[0.9, 0.7, 0.5]", 2), folder.path()).0, 4);
    assert_eq!(finished(&grid("[0.9]", 3), folder.path()).0, 2);
    // An equal scenario in other words: another axis with the value that it already had.
    let same = grid("[0.9]", 3) + "profile = \"linux-7.2\"\nlink.down.delay = \"42ms\"\n";
    let (made, lines) = finished(&same, folder.path());
    assert_eq!(made, 0);
    assert!(lines[0].contains("link.down.delay,load,profile"), "{}", lines[0]);
    assert!(lines[1].contains(",0.042,0.9,linux-7.2,"), "{}", lines[1]);
}

#[test]
fn a_sample_fills_every_part_of_a_range() {
    let text = "schemes = [\"pfifo limit=9\"]\nseeds = 1\n[sample]\nlatin_hypercube = 20\nseed = 3\n[axes]\nduration = \"1s\"\nload = { from = 0.5, to = 1.5 }\nlink.up.delay = { from = \"1ms\", to = \"1s\", log = true }\n";
    let folder = TempDir::new().unwrap();
    let (made, lines) = finished(text, folder.path());
    assert_eq!(made, 20);
    let column = |name: &str| {
        let at = lines[0].split(',').position(|known| known == name).unwrap();
        // The ranges of sizes contain commas.
        let cells = lines[1..].iter().map(|line| line.replace("\"3,10,100\"", "x"));
        let values: Vec<f64> = cells.map(|line| line.split(',').nth(at).unwrap().parse().unwrap()).collect();
        values
    };
    let parts: BTreeSet<u32> = column("load").iter().map(|load| ((load - 0.5) * 20.0) as u32).collect();
    assert_eq!(parts.len(), 20);
    let parts: BTreeSet<u32> =
        column("link.up.delay").iter().map(|delay| ((libm::log10(*delay) + 3.0) / 3.0 * 20.0) as u32).collect();
    assert_eq!(parts.len(), 20);
    assert_eq!(lines, finished(text, TempDir::new().unwrap().path()).1);
}

#[test]
fn listed_points_and_flow_lists() {
    let text = "schemes = [\"codel\"]\nseeds = [4]\ntraffic = \"flows.csv\"\n[[point]]\nset = { rate = \"1mbit\" }\nlabels = { place = \"home\" }\n[[point]]\nset = { rate = \"9mbit\" }\n[[point]]\ntraffic = \"short\"\nset = { duration = \"1s\" }\nlabels = { place = 4 }\n";
    let folder = TempDir::new().unwrap();
    let (made, lines) = finished(text, folder.path());
    assert_eq!((made, lines.len()), (3, 4));
    assert!(lines[0].contains(",seed,duration,place,rate,"), "{}", lines[0]);
    assert!(lines[1].contains(",4,,home,1000000,"), "{}", lines[1]);
    assert!(lines[3].contains(",4,1,4,,"), "{}", lines[3]);
    let replayed = "schemes = [\"codel\"]\nseeds = 1\n[traffic]\nduration = \"2s\"\n[traffic.link.down]\nrate = \"1mbit\"\n[traffic.link.up]\nrate = \"1mbit\"\n[[traffic.workload]]\nkind = \"replay\"\nfile = \"a.csv\"\n[axes]\nworkload.0.file = [\"a.csv\", \"b.csv\"]\n";
    let all = sweep(replayed);
    // Two names of one content: one run, at two points.
    let survey = all.survey().unwrap();
    assert_eq!((survey.runs, survey.missing, all.inputs().len()), (2, 1, 1));
    assert_eq!(finished(replayed, folder.path()).1.len(), 3);
}

#[test]
fn seeds_are_added_where_the_interval_is_wide() {
    let grid = |most: u32| {
        format!(
            "schemes = [\"pfifo limit=9\", \"codel\"]\nseeds = 2\nuntil_ci = 0.05\nmetric = \"utilization\"\nmax_seeds = {most}\n[axes]\nduration = \"3s\"\nload = [0.5, 1.5]\n"
        )
    };
    let [one, two] = [(); 2].map(|()| TempDir::new().unwrap());
    let (made, lines) = finished(&grid(12), one.path());
    let label = |line: &str| line.split(',').skip(18).take(1).collect::<String>();
    let mut by_scheme: BTreeMap<String, u32> = BTreeMap::new();
    for line in &lines[1..] {
        *by_scheme.entry(label(line)).or_default() += 1;
    }
    assert!(made > 8, "{made}");
    assert!(made <= 4 * 12);
    assert_eq!(lines.len() as u64, made + 1);
    // In two steps: the second continues with the results of the first.
    let first = finished(&grid(3), two.path());
    assert!(first.0 < made);
    let second = finished(&grid(12), two.path());
    assert_eq!(first.0 + second.0, made);
    assert_eq!(second.1, lines);
}

#[test]
fn a_batch_is_a_pure_function_of_its_bytes() {
    let all = sweep(
        "traffic = \"flows.csv\"\nschemes = [\"codel\", \"pie\"]\nseeds = 3\n[axes]\nrate = [\"1mbit\", \"9mbit\"]\n",
    );
    let made = batches(&all);
    assert_eq!(made.iter().map(Batch::runs).sum::<usize>(), 12);
    let bytes = made[0].to_json();
    assert_eq!(Batch::from_json(&bytes).unwrap(), made[0]);
    let run = |bytes: &[u8]| run_batch(&Simulator, bytes, all.inputs(), &AtomicBool::new(false));
    let results = run(&bytes).unwrap();
    assert_eq!(run(&bytes).unwrap(), results);
    assert_eq!(&results.runs[..4], b"PAR1");
    assert_eq!(results.connections, None);
    // Bytes that another machine could get.
    let text = String::from_utf8(bytes.clone()).unwrap();
    let other = text.replacen(env!("CARGO_PKG_VERSION"), "9.9.9", 1);
    let Err(BatchError::Version { made, here }) = run(other.as_bytes()) else {
        panic!("another version is refused");
    };
    assert!(made.contains("gentle 9.9.9") && here.contains(env!("CARGO_PKG_VERSION")));
    // This version, built from other sources.
    let other = text.replacen(&Simulator.engine(), &"0".repeat(32), 1);
    let Err(BatchError::Version { made, .. }) = run(other.as_bytes()) else {
        panic!("another engine is refused");
    };
    assert!(made.contains("engine 00000000"), "{made}");
    let cut = &bytes[..bytes.len() / 2];
    assert!(matches!(run(cut), Err(BatchError::Syntax(_))));
    let changed = text.replace("1mbit", "2mbit");
    assert!(matches!(run(changed.as_bytes()), Err(BatchError::Content(_))));
    let without = run_batch(&Simulator, &bytes, &Inputs::new(), &AtomicBool::new(false));
    assert!(matches!(without, Err(BatchError::Content(_))));
    let stopped = run_batch(&Simulator, &bytes, all.inputs(), &AtomicBool::new(true));
    assert_eq!(stopped, Err(BatchError::Stopped));
}

#[test]
fn connections_are_kept_beside_their_runs() {
    let grid = |connections: bool| {
        format!(
            "schemes = [\"pfifo limit=9\", \"codel\"]\nseeds = 2\nconnections = {connections}\n[axes]\nduration = \"20s\"\nload = [0.5, 1.1]\n"
        )
    };
    let folder = TempDir::new().unwrap();
    assert_eq!(finished(&grid(false), folder.path()).0, 8);
    assert!(!folder.path().join("connections").exists());
    // Runs of which the connections are not known count as missing.
    let (made, lines) = finished(&grid(true), folder.path());
    assert_eq!(made, 8);
    assert_eq!(finished(&grid(true), folder.path()), (0, lines.clone()));
    assert_eq!(finished(&grid(false), folder.path()), (0, lines.clone()));
    let mut times: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut numbers = BTreeSet::new();
    for file in std::fs::read_dir(folder.path().join("connections")).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let reader = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
        for row in reader.get_row_iter(None).unwrap() {
            let row = row.unwrap();
            let names = || row.get_column_iter().map(|(name, _)| name);
            let at = |name| names().position(|known| known == name).unwrap();
            let key = row.get_string(at("key")).unwrap();
            let number = row.get_uint(at("connection")).unwrap();
            assert!(numbers.insert((key.clone(), number)));
            assert!((0.0..20.0).contains(&row.get_double(at("start_s")).unwrap()));
            let response = row.get_double(at("response_time_s")).ok();
            let outcome = row.get_string(at("outcome")).unwrap();
            assert_eq!(response.is_some(), outcome == "completed");
            if let Some(response) = response {
                times.entry(key.clone()).or_default().push(response);
            }
        }
    }
    // Their mean equals the run's.
    let head: Vec<&str> = lines[0].split(',').collect();
    let mean = head.iter().position(|name| *name == "response_time_s.mean");
    for line in &lines[1..] {
        let cells = csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
        let cells = cells.into_records().next().unwrap().unwrap();
        let (key, mean): (&str, f64) = (&cells[0], cells[mean.unwrap()].parse().unwrap());
        let times = &times[key];
        let found = times.iter().sum::<f64>() / times.len() as f64;
        assert!((found - mean).abs() < 1e-9, "{key}: {found} and {mean}");
    }
}

/// A store in which any bit of a file, its end, its name or its content is another gives an error that names the file, or
/// the same table.
#[test]
fn a_damaged_store_never_gives_another_table() {
    let grid = |loads: &str| {
        format!(
            "schemes = [\"pfifo limit=9\", \"codel\"]\nseeds = 3\nconnections = true\n[axes]\nduration = \"2s\"\nload = [{loads}]\n"
        )
    };
    let folder = TempDir::new().unwrap();
    // Each writes a file.
    for load in ["0.5", "0.9", "1.1"] {
        finished(&grid(load), folder.path());
    }
    let text = &grid("0.5, 0.9, 1.1");
    let (_, expected) = finished(text, folder.path());
    let store = runs_in(folder.path()).unwrap();
    let names = store.names().unwrap();
    assert_eq!(names.len(), 3, "{names:?}");
    let files: Vec<Vec<u8>> = names.iter().map(|name| store.get(name).unwrap()).collect();
    let all = sweep(text);
    let table = |files: &BTreeMap<String, Vec<u8>>| -> Result<Vec<String>, SweepError> {
        let again = sweep(text);
        for (name, content) in files {
            again.add(name, content.clone())?;
        }
        let get = |name: &str| Ok(files[name].clone());
        let mut csv = Vec::new();
        gentle_sweep::csv(again.rows(&get), &mut csv)?;
        let csv = String::from_utf8(csv).unwrap();
        Ok(csv.lines().map(str::to_owned).collect())
    };
    let whole: BTreeMap<String, Vec<u8>> = names.iter().cloned().zip(files.clone()).collect();
    assert_eq!(table(&whole).unwrap(), expected);
    let name = &names[1];
    let refused = |content: Vec<u8>, what: &str| {
        let mut files = whole.clone();
        files.insert(name.clone(), content);
        let error = table(&files).expect_err(what).to_string();
        assert!(error.starts_with(&format!("{name}: ")) && error.contains("remove it"), "{error}");
    };
    let bits = 8 * files[1].len();
    for step in 0..997 {
        let bit = step * 7_919 % bits;
        let mut content = files[1].clone();
        content[bit / 8] ^= 1 << (bit % 8);
        refused(content, &format!("bit {bit}"));
    }
    for end in (0..files[1].len()).step_by(61) {
        refused(files[1][..end].to_vec(), "the end is missing");
    }
    refused([&files[1][..], b"PAR1"].concat(), "more");
    let connections = folder.path().join("connections").join(name);
    refused(std::fs::read(connections).unwrap(), "connections");
    // The name of a file says nothing about its runs.
    let swapped = names.iter().cloned().zip(files.iter().rev().cloned()).collect();
    assert_eq!(table(&swapped).unwrap(), expected);
    let renamed = (0..).map(|n| format!("{n}.parquet")).zip(files.iter().cloned());
    assert_eq!(table(&renamed.collect()).unwrap(), expected);
    // Unless it is another one than before when it is read again.
    for (name, content) in &whole {
        all.add(name, content.clone()).unwrap();
    }
    let get = |name: &str| {
        let at = names.iter().position(|known| known == name).unwrap();
        Ok(files[files.len() - 1 - at].clone())
    };
    let error = gentle_sweep::whole(all.rows(&get)).unwrap_err().to_string();
    assert!(error.contains("replaced"), "{error}");
}

/// A backend for one scheme, with its engine, which differs from scenarios and fails for a seed.
struct Narrow(&'static str);

impl Backend for Narrow {
    type Error = String;

    fn name(&self) -> String {
        "narrow".to_owned()
    }

    fn engine(&self) -> String {
        self.0.to_owned()
    }

    fn prepare(&self, scenario: &mut Scenario, schemes: &[Spec], _: &Settings) -> Result<Vec<Spec>, String> {
        let is_codel = |spec: &&Spec| spec.scheme().name == "codel";
        let codel: Vec<Spec> = schemes.iter().filter(is_codel).cloned().collect();
        if codel.is_empty() {
            return Err("none of the schemes runs here".to_owned());
        }
        scenario.assumptions.push("Everything is narrow.".to_owned());
        Ok(codel)
    }

    fn run(&self, run: &RunSpec<'_>, watch: &Watch<'_>) -> Result<RunRecord, Aborted<String>> {
        assert_eq!(run.scheme.scheme().name, "codel");
        match run.seed {
            9 => Err(Aborted::Failed("seed 9 does not fit".to_owned())),
            _ => Simulator.run(run, watch).map_err(|_| Aborted::Stopped),
        }
    }
}

#[test]
fn a_backend_runs_what_it_can_under_its_own_name() {
    let grid = |schemes: &str, seeds: &str| {
        let text = format!("schemes = {schemes}\nseeds = {seeds}\n[axes]\nduration = \"1s\"\n");
        Grid::from_toml("grid.toml", &text, &read).unwrap()
    };
    let both = "[\"pie\", \"codel\"]";
    let narrow = Sweep::new(grid(both, "[1, 2]"), &Narrow("old")).unwrap();
    assert_eq!(narrow.assumptions(), ["Everything is narrow."]);
    let batch = batches(&narrow).remove(0).to_json();
    let folder = TempDir::new().unwrap();
    let store = runs_in(folder.path()).unwrap();
    let never = AtomicBool::new(false);
    let outcome = run(&narrow, &Narrow("old"), only(&store), &(), &never).unwrap();
    assert_eq!((outcome.made, narrow.foreign()), (2, 0));
    // A program built from other sources makes the runs again.
    let newer = Sweep::new(grid("[\"codel\"]", "[1, 2]"), &Narrow("new")).unwrap();
    let outcome = run(&newer, &Narrow("new"), only(&store), &(), &never).unwrap();
    assert_eq!((outcome.found, outcome.made, newer.foreign()), (0, 2, 2));
    // Its runs differ from the simulator's.
    let simulated = Sweep::new(grid("[\"codel\"]", "[1, 2]"), &Simulator).unwrap();
    assert!(simulated.assumptions().is_empty());
    let outcome = run(&simulated, &Simulator, only(&store), &(), &never).unwrap();
    assert_eq!((outcome.found, outcome.made), (0, 2));
    let error = run_batch(&Simulator, &batch, narrow.inputs(), &never).unwrap_err();
    assert!(error.to_string().contains("requires narrow, but this worker has simulator"), "{error}");
    let error = Sweep::new(grid("[\"pie\"]", "1"), &Narrow("old")).unwrap_err();
    assert_eq!(error.to_string(), "none of the schemes runs here");
    let failing = Sweep::new(grid(both, "[9]"), &Narrow("old")).unwrap();
    let error = run(&failing, &Narrow("old"), only(&store), &(), &never).unwrap_err();
    assert!(error.to_string().contains("seed 9 does not fit"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The runs of a grid are a set: the order of schemes, seeds and values of axes does not matter.
    #[test]
    fn keys_ignore_order(
        loads in Just(vec!["0.5", "0.7", "0.9"]).prop_shuffle(),
        seeds in Just(vec!["1", "2", "7"]).prop_shuffle(),
        schemes in Just(vec!["\"codel\"", "\"pie\"", "\"pfifo limit=9\""]).prop_shuffle(),
    ) {
        let names = |loads: &[&str], seeds: &[&str], schemes: &[&str]| {
            let text = format!(
                "schemes = [{}]\nseeds = [{}]\n[axes]\nduration = \"1s\"\nload = [{}]\n",
                schemes.join(","), seeds.join(","), loads.join(",")
            );
            let all = sweep(&text);
            let mut runs = BTreeSet::new();
            for batch in batches(&all) {
                let json: serde_json::Value = serde_json::from_slice(&batch.to_json()).unwrap();
                for point in json["points"].as_array().unwrap() {
                    for scheme in point["schemes"].as_array().unwrap() {
                        for seed in scheme["seeds"].as_array().unwrap() {
                            runs.insert(format!("{} {} {seed}", point["fingerprint"], scheme["scheme"]));
                        }
                    }
                }
            }
            runs
        };
        let expected = names(&["0.5", "0.7", "0.9"], &["1", "2", "7"], &["\"codel\"", "\"pie\"", "\"pfifo limit=9\""]);
        prop_assert_eq!(expected.len(), 27);
        prop_assert_eq!(names(&loads, &seeds, &schemes), expected);
    }

    /// Any text is a grid or an error, and any bytes are a batch or an error.
    #[test]
    fn nothing_panics(text in ".{0,200}", key in "[a-z.]{1,20}", value in "[-0-9a-z.\"{}=, ]{0,30}", bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Grid::from_toml("x", &text, &read);
        if let Ok(grid) = Grid::from_toml("x", &format!("seeds = 1\n[axes]\n{key} = {value}\n"), &read) {
            let _ = Sweep::new(grid, &Simulator).map(|sweep| sweep.survey());
        }
        let _ = run_batch(&Simulator, &bytes, &Inputs::new(), &AtomicBool::new(false));
        let _ = sweep("seeds = 1").add("x.parquet", bytes);
    }
}

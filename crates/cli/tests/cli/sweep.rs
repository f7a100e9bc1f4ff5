//! Sweeps: grids, stores, the finished table.

use crate::command::{gentle, names, stderr, stdout, text};
use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Six points, two schemes, two seeds: 24 runs.
const GRID: &str = r#"
traffic = "short"
schemes = ["pfifo limit=20", "codel"]
seeds = 2

[axes]
duration = "5s"
load = ["70%", "110%"]
rate = { from = "1mbit", to = "4mbit", steps = 3, log = true }
"#;

fn grid(folder: &TempDir, text: &str) -> String {
    let path = folder.path().join("grid.toml");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn files(store: &Path) -> Vec<String> {
    names(&store.join("runs"))
}

/// CSV and Parquet of a sweep, and its JSON.
fn outputs(folder: &TempDir, args: &[&str]) -> (String, Vec<u8>, Value) {
    let [csv, parquet] = ["x.csv", "x.parquet"].map(|name| folder.path().join(name));
    let outputs = ["--csv", text(&csv), "--parquet", text(&parquet), "--json"];
    let json = stdout(gentle(&["sweep", "--quiet"]).args(args).args(outputs));
    (fs::read_to_string(csv).unwrap(), fs::read(parquet).unwrap(), serde_json::from_str(&json).unwrap())
}

#[test]
fn a_table_for_people() {
    let folder = TempDir::new().unwrap();
    grid(&folder, GRID);
    let args = ["sweep", "grid.toml", "--store=results", "--quiet"];
    let table = stdout(gentle(&args).current_dir(folder.path()));
    insta::assert_snapshot!("sweep", table);
}

#[test]
fn help() {
    insta::assert_snapshot!("help_sweep", stdout(&mut gentle(&["sweep", "--help"])));
}

#[test]
fn the_table_depends_on_the_grid_alone() {
    let folder = TempDir::new().unwrap();
    let whole = grid(&folder, GRID);
    let [one, two, resumed] = ["one", "two", "resumed"].map(|name| folder.path().join(name));
    let call = |store: &Path, threads| outputs(&folder, &[&whole, "--store", text(store), threads]);
    let first = call(&one, "--threads=1");
    assert_eq!(first.2["runs"], 24);
    assert_eq!(first.2["made"], 24);
    assert_eq!(first.0.lines().count(), 25);
    let second = call(&two, "--threads=2");
    assert_eq!((&first.0, &first.1), (&second.0, &second.1));
    assert_eq!(files(&one), files(&two));
    // A part of the grid first, with its axes in another order; then the whole.
    let part = folder.path().join("part.toml");
    let smaller = GRID.replace("[\"70%\", \"110%\"]", "1.1").replace("seeds = 2", "seeds = [2]");
    fs::write(&part, smaller).unwrap();
    let made = outputs(&folder, &[text(&part), "--store", text(&resumed)]);
    assert_eq!(made.2["made"], 6);
    let third = call(&resumed, "--threads=2");
    assert_eq!((&third.2["found"], &third.2["made"]), (&6.into(), &18.into()));
    assert_eq!((&first.0, &first.1), (&third.0, &third.1));
    // Nothing is left to do.
    let fourth = call(&resumed, "--threads=1");
    assert_eq!(fourth.2["made"], 0);
    assert_eq!((&first.0, &first.1), (&fourth.0, &fourth.1));
}

#[test]
fn runs_are_those_of_a_comparison() {
    let folder = TempDir::new().unwrap();
    let path = grid(
        &folder,
        "traffic = \"short\"\nschemes = [\"codel\"]\nseeds = [7]\nbins = [1, 5]\n[axes]\nduration = \"3s\"\nrate = \"3mbit\"\nload = 0.8\ntcp.initial_rto = \"3s\"\n",
    );
    let store = folder.path().join("store");
    let (csv, _, _) = outputs(&folder, &[&path, "--store", text(&store)]);
    let compared = [
        "compare",
        "--traffic=short",
        "--scheme=codel",
        "--seeds=1",
        "--first-seed=7",
        "--bins=1,5",
        "--duration=3s",
        "--rate=3mbit",
        "--load=80%",
        "--tcp=initial_rto=3s",
        "--quiet",
        "--json",
    ];
    let compared: Value = serde_json::from_str(&stdout(&mut gentle(&compared))).unwrap();
    let mut lines = csv.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    // The ranges of sizes are the only text with a comma.
    let line = lines.next().unwrap().replace("\"1,5\"", "ranges");
    let cells: Vec<&str> = line.split(',').collect();
    assert_eq!(head.len(), cells.len());
    let cell = |name: &str| cells[head.iter().position(|known| *known == name).unwrap()];
    assert_eq!(cell("tcp"), "initial_rto=3s");
    assert_eq!(cell("rate_bps"), "3000000");
    assert_eq!(cell("load"), "0.8");
    for series in compared["results"][0]["by_seed"].as_array().unwrap() {
        let value = cell(series["name"].as_str().unwrap());
        assert_eq!(value.parse().ok(), series["values"][0].as_f64(), "{}", series["name"]);
    }
}

/// A call and lookups in addition to connections.
const HOUSEHOLD: &str = r#"
duration = "10s"
[link.down]
rate = "4mbit"
delay = "20ms"
[link.up]
rate = "1mbit"
delay = "20ms"
[[workload]]
kind = "voice"
[[workload]]
kind = "dns"
gap = "200ms"
[[workload]]
kind = "poisson"
gap = "50ms"
size = { zipf = 1.7, max = 100 }
"#;

/// Rows of a CSV file by column.
fn rows(csv: &str) -> Vec<HashMap<String, String>> {
    // The ranges of sizes are the only text with a comma.
    let csv = csv.replace("\"3,10,100\"", "ranges");
    let mut lines = csv.lines().map(|line| line.split(',').map(str::to_owned));
    let head: Vec<String> = lines.next().unwrap().collect();
    lines.map(|cells| head.iter().cloned().zip(cells).collect()).collect()
}

/// Labels stay as written, also where one of them could be a size.
#[test]
fn labels_of_points_are_texts_as_written() {
    let folder = TempDir::new().unwrap();
    let path = grid(
        &folder,
        r#"
traffic = "short"
schemes = ["codel"]
seeds = 1
[[point]]
labels = { name = "10m" }
set = { duration = "2s" }
[[point]]
labels = { name = "another" }
set = { duration = "3s" }
"#,
    );
    let store = folder.path().join("store");
    let (csv, _, _) = outputs(&folder, &[&path, "--store", text(&store)]);
    let names: Vec<String> = rows(&csv).iter().map(|row| row["name"].clone()).collect();
    assert_eq!(names, ["10m", "another"]);
}

#[test]
fn applications_have_the_values_of_a_comparison() {
    let folder = TempDir::new().unwrap();
    let household = folder.path().join("household.toml");
    fs::write(&household, HOUSEHOLD).unwrap();
    let path = grid(
        &folder,
        r#"
schemes = ["pfifo limit=50", "fq_codel"]
seeds = 2
[[point]]
traffic = "household.toml"
set = { rate = "1mbit" }
[[point]]
traffic = "household.toml"
set = { rate = "8mbit" }
[[point]]
traffic = "short"
set = { rate = "2mbit", duration = "3s" }
"#,
    );
    let (csv, _, _) = outputs(&folder, &[&path, "--store", text(&folder.path().join("store"))]);
    let rows = rows(&csv);
    assert_eq!(rows.len(), 12);
    let mut compared = 0;
    for rate in ["1", "8"] {
        let args = [
            "compare",
            "--traffic",
            text(&household),
            "--scheme=pfifo limit=50",
            "--scheme=fq_codel",
            "--seeds=2",
            "--quiet",
            "--json",
            &format!("--rate={rate}mbit"),
        ];
        let json: Value = serde_json::from_str(&stdout(&mut gentle(&args))).unwrap();
        for result in json["results"].as_array().unwrap() {
            for (seed, index) in [("1", 0), ("2", 1)] {
                let row = rows
                    .iter()
                    .find(|row| {
                        row["rate"] == format!("{rate}000000")
                            && row["scheme"] == result["label"].as_str().unwrap()
                            && row["seed"] == seed
                    })
                    .unwrap();
                for series in result["by_seed"].as_array().unwrap() {
                    let path = series["name"].as_str().unwrap();
                    let Some((number, metric)) =
                        path.strip_prefix("applications.").and_then(|rest| rest.split_once('.'))
                    else {
                        continue;
                    };
                    let name = ["voice", "dns"][number.parse::<usize>().unwrap()];
                    let value = series["values"][index].as_f64();
                    let cell = &row[&format!("{name}.{metric}")];
                    assert_eq!(cell.parse().ok(), value, "{path} of {name}: {cell}");
                    compared += usize::from(value.is_some());
                }
            }
        }
    }
    // Eleven numbers of a call have values, and ten of lookups, or more.
    assert!(compared > 8 * 21, "{compared}");
    // Traffic without the applications has no values of them.
    for row in rows.iter().filter(|row| row["rate"] == "2000000") {
        assert_eq!((&*row["voice.delay_s.p99"], &*row["dns.failed"]), ("", ""));
    }
}

#[test]
fn seeds_are_added_until_a_number_of_an_application_is_certain() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("household.toml"), HOUSEHOLD).unwrap();
    let swept = |metric: &str| {
        grid(
            &folder,
            &format!(
                "traffic = \"household.toml\"\nschemes = [\"pfifo limit=50\"]\nseeds = 2\nuntil_ci = 0.2\n\
                 metric = \"{metric}\"\nmax_seeds = 12\n[axes]\nrate = [\"1mbit\", \"8mbit\"]\n"
            ),
        )
    };
    let store = folder.path().join("store");
    let (csv, _, json) = outputs(&folder, &[&swept("voice.delay_s.p99"), "--store", text(&store)]);
    let rows = rows(&csv);
    assert_eq!(json["runs"], rows.len());
    let seeds = |rate: &str| {
        let delays = rows.iter().filter(|row| row["rate"] == rate);
        let delays: Vec<f64> = delays.map(|row| row["voice.delay_s.p99"].parse().unwrap()).collect();
        let n = delays.len() as f64;
        let mean = delays.iter().sum::<f64>() / n;
        let squares = delays.iter().map(|delay| (delay - mean).powi(2));
        // A confidence interval has at least 1.96 standard errors to each side.
        let least = 1.96 * (squares.sum::<f64>() / (n - 1.0) / n).sqrt();
        assert!(n >= 12.0 || least <= 0.2 * mean, "{rate}: {delays:?}");
        n
    };
    // The queue is full at times at the lower rate, and short at the higher.
    assert!(seeds("1000000") > seeds("8000000"), "{csv}");
    let args = ["sweep", &swept("vice.delay_s.p99"), "--store", "none"];
    let complaint = stderr(gentle(&args).current_dir(folder.path()), 1);
    assert!(complaint.contains("did you mean 'voice.delay_s.p99'"), "{complaint}");
}

#[test]
fn what_had_finished_is_kept() {
    let folder = TempDir::new().unwrap();
    let path = grid(&folder, &GRID.replace("seeds = 2", "seeds = 3000"));
    let store = folder.path().join("store");
    let child = Command::new(cargo_bin("gentle"))
        .args(["sweep", &path, "--store", text(&store), "--json", "--threads=1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while !store.join("runs").exists() || files(&store).is_empty() {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(20));
    }
    let signal = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(signal.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("run the same command again to resume"), "{said}");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["interrupted"], true);
    let made = json["made"].as_u64().unwrap();
    assert!((1..36_000).contains(&made), "{made}");
    // Whole files only, all of whose runs count.
    assert!(files(&store).iter().all(|name| name.ends_with(".parquet")));
    let path = grid(&folder, GRID);
    let (_, _, json) = outputs(&folder, &[&path, "--store", text(&store)]);
    assert_eq!(json["runs"], 24);
    assert!(json["found"].as_u64().unwrap() > 0);
}

#[test]
fn two_at_once_lose_nothing() {
    let folder = TempDir::new().unwrap();
    let path = grid(&folder, &GRID.replace("seeds = 2", "seeds = 20"));
    let [shared, alone] = ["shared", "alone"].map(|name| folder.path().join(name));
    let both: Vec<_> = (0..2)
        .map(|_| {
            Command::new(cargo_bin("gentle"))
                .args(["sweep", &path, "--store", text(&shared), "--json", "--quiet"])
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for child in both {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    let together = outputs(&folder, &[&path, "--store", text(&shared)]);
    assert_eq!(together.2["made"], 0);
    let alone = outputs(&folder, &[&path, "--store", text(&alone)]);
    assert_eq!((together.0, together.1), (alone.0, alone.1));
}

#[test]
fn mistakes_get_a_sentence() {
    let folder = TempDir::new().unwrap();
    let store = folder.path().join("store");
    let fails = |grid_text: &str| {
        let path = grid(&folder, grid_text);
        let message = stderr(&mut gentle(&["sweep", &path, "--store", text(&store)]), 1);
        message.replace(&path, "grid.toml")
    };
    for (text, expected) in [
        ("seeds = 0", "grid.toml:1:9: seeds: invalid value 0"),
        ("sedes = 1", "unknown key 'sedes' (did you mean 'seeds'?)"),
        (
            "traffic = \"shrot\"",
            "'shrot' is not a scenario; expected real, real-reverse, short, 10m, home-evening, office, calls, rrul, a \
             scenario file",
        ),
        ("schemes = [\"cdel\"]", "did you mean 'codel'"),
        ("[axes]\nrate = { from = \"1mbit\", to = \"2ms\", steps = 2 }", "expected the same unit"),
        ("[axes]\nrate = { from = 1, to = 2 }", "missing 'steps'"),
        ("[axes]\nrate = [\"1mbit\", \"fast\"]\nload = 0.5", "grid.toml:2:8: rate: 'fast'"),
        ("[axes]\nlink.dwon.rate = \"1mbit\"", "unknown key 'dwon' in link (did you mean 'down'?)"),
        ("schemes = [\"codel\"]\n[axes]\nscheme.limt = 5\n", "no scheme can vary this option"),
        ("[axes]\nworkload.3.gap = \"5ms\"\n", "no element 3; expected 0 to 0"),
        ("[axes]\nseed = [1, 2]\n", "'seed' is a column of the results"),
        ("until_ci = 0.1\nmetric = \"loss\"", "no metric 'loss'"),
        ("[sample]\nlatin_hypercube = 5", "a sample needs axes"),
    ] {
        let message = fails(text);
        assert!(message.contains(expected), "{text}: {message}");
    }
    let path = grid(&folder, GRID);
    let over = ["sweep", &path, "--store", text(&store), "--csv", &path];
    let message = stderr(&mut gentle(&over), 2);
    assert!(message.contains("which is an input"), "{message}");
    fs::create_dir_all(store.join("runs")).unwrap();
    fs::write(store.join("runs/x.parquet"), "PAR1").unwrap();
    let message = stderr(&mut gentle(&["sweep", &path, "--store", text(&store)]), 1);
    assert!(message.contains("x.parquet: ") && message.contains("remove it"), "{message}");
}

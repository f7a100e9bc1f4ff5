//! The scenarios and the sweep of `evaluation/`, shortened.

use crate::command::{gentle, names, stdout, text};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evaluation")
}

/// Downloads survive a flood of new flows under `gentle`, by the guaranteed share of the oldest band; where hosts are told
/// apart, each of the two has nearly a third of the link.
#[test]
fn downloads_go_on_under_attack() {
    let attacks = folder().join("attacks");
    assert_eq!(names(&attacks).len(), 4);
    for name in names(&attacks) {
        let file = attacks.join(&name);
        let args = [
            "compare",
            "--quiet",
            "--json",
            "--seeds=1",
            "--duration=20s",
        ];
        let schemes =
            ["fq_codel", "gentle", "gentle hosts=dst"].map(|scheme| format!("--scheme={scheme}"));
        let traffic = format!("--traffic={}", text(&file));
        let json = stdout(gentle(&args).args(schemes).arg(traffic));
        let json: Value = serde_json::from_str(&json).unwrap();
        let goodput = |number: usize| {
            let found = json.pointer(&format!("/results/{number}/long_goodput_bps/mean"));
            found.and_then(Value::as_f64).unwrap()
        };
        let (fq_codel, gentle, by_host) = (goodput(0), goodput(1), goodput(2));
        assert!(gentle > 150_000.0, "{name}: {gentle}");
        assert!(gentle > fq_codel / 2.0, "{name}: {gentle}, {fq_codel}");
        assert!(by_host > 2_700_000.0, "{name}: {by_host}");
    }
}

#[test]
fn the_sweep_over_the_design_runs() {
    let text = fs::read_to_string(folder().join("design.toml")).unwrap();
    let replace = |text: String, (from, to): (&str, &str)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    };
    let shorter = [
        ("latin_hypercube = 60", "latin_hypercube = 2"),
        ("seeds = 2", "seeds = 1"),
        ("\"60s\"", "\"2s\""),
        ("\"1gbit\"", "\"4mbit\""),
    ];
    let grid = shorter.into_iter().fold(text, replace);
    let temporary = TempDir::new().unwrap();
    fs::write(temporary.path().join("grid.toml"), grid).unwrap();
    let args = ["sweep", "grid.toml", "--store=results", "--quiet", "--json"];
    let json = stdout(gentle(&args).current_dir(temporary.path()));
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["runs"], 2 * 19, "{json}");
}

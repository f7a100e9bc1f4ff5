//! Users of pages, typists and on/off users on a Linux kernel, compared with the simulator.

use crate::kernel::kernel;
use crate::run::{gentle, number};
use serde_json::Value;
use tempfile::TempDir;

/// Runs `text` under `schemes` on the kernel and in the simulator.
fn both(text: &str, schemes: &[&str], seeds: u32) -> [Value; 2] {
    let folder = TempDir::new().unwrap();
    let scenario = folder.path().join("dialogues.toml");
    std::fs::write(&scenario, text).unwrap();
    let mut args = vec![
        "--traffic".to_owned(),
        scenario.to_str().unwrap().to_owned(),
        format!("--seeds={seeds}"),
        "--quiet".to_owned(),
    ];
    args.extend(schemes.iter().map(|scheme| format!("--scheme={scheme}")));
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let testbed = ["testbed", "compare", "--backing=stock", "--threads=2"];
    [
        gentle(&[&testbed[..], &args].concat()),
        gentle(&[&["compare"], &args[..]].concat()),
    ]
}

fn links(down: &str, up: &str) -> String {
    format!(
        "[hosts]\nprofile = \"linux-7.2\"\n[link.down]\nrate = \"{down}\"\ndelay = \"20ms\"\n\
         [link.up]\nrate = \"{up}\"\ndelay = \"20ms\"\n"
    )
}

#[test]
fn lone_dialogues_take_as_long_as_in_the_simulator() {
    if kernel().is_none() {
        return;
    }
    for workload in [
        "kind = \"pages\"\nusers = 1\nthink = \"1s\"\npages = 3",
        "kind = \"pages\"\nusers = 1\nthink = \"100ms\"\npages = 6\nservice = \"30ms\"\ndocument = 4000\nobjects = 5",
        "kind = \"ssh\"\nsessions = 1",
        "kind = \"on_off\"\nusers = 1\noff = \"300ms\"\nsize = { zipf = 1.2, max = 200 }",
    ] {
        let text = format!(
            "duration = \"60s\"\n{}[[workload]]\n{workload}\n",
            links("20mbit", "5mbit")
        );
        let [measured, simulated] = both(&text, &["pfifo limit=1000"], 1);
        for metric in [
            "transactions",
            "failed",
            "unfinished",
            "transaction_s/mean",
            "transaction_s/p99",
        ] {
            let path = format!("/results/0/applications/0/{metric}");
            let [kernel, simulator] = [&measured, &simulated].map(|of| number(of, &path));
            let tolerance = if metric.contains("_s") { 0.001 } else { 0.0 };
            assert!(
                (kernel - simulator).abs() <= tolerance,
                "{workload} {metric}: {simulator} instead of {kernel}"
            );
        }
    }
}

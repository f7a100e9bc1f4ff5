//! Random set-ups of other origin, in batches for each of which a machine is booted.

use super::super::laboratory::Laboratory;
use super::GENTLE;
use gentle_testkit::draw::{Draw, simplest};
use gentle_testkit::trees::{Kinds, Tree, judge, script};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Set-ups for each boot.
const BATCH: u64 = 40;

/// Longest time for making a finding smaller.
const SHRINKING: Duration = Duration::from_secs(60);

#[test]
fn random_setups_are_restored_exactly_or_refused() {
    let found = Laboratory::new().map(|laboratory| tried(&laboratory, 1..=8));
    assert_eq!(found.unwrap_or_default(), [""; 0]);
}

#[test]
#[ignore = "make test-all"]
fn full_size_random_setups_are_restored_exactly_or_refused() {
    let Some(laboratory) = Laboratory::new() else {
        return;
    };
    let batches = (1..=400).step_by(BATCH as usize);
    let found: Vec<String> = batches.flat_map(|first| tried(&laboratory, first..=first + BATCH - 1)).collect();
    assert_eq!(found, [""; 0]);
}

/// Tries fresh seeds for GENTLE_SEARCH_SECONDS; findings are scripts in GENTLE_SEARCH_FOLDER.
#[test]
#[ignore = "make search"]
fn fresh_setups() {
    let variable = |name| std::env::var(name).unwrap_or_else(|_| panic!("{name}, as make search sets it"));
    let seconds = variable("GENTLE_SEARCH_SECONDS").parse().expect("a number");
    let folder = PathBuf::from(variable("GENTLE_SEARCH_FOLDER"));
    std::fs::create_dir_all(&folder).expect("a folder for findings");
    let Some(laboratory) = Laboratory::new() else {
        return;
    };
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut first = now.expect("a time after 1970").as_millis() as u64;
    let (mut seeds, mut found) = (0, 0);
    while Instant::now() < deadline {
        for finding in tried(&laboratory, first..=first + BATCH - 1) {
            let file = folder.join(format!("machine-{first}-{found}.txt"));
            std::fs::write(&file, &finding).expect("a file for a finding");
            println!("{}: {}", file.display(), finding.lines().next().unwrap_or_default());
            found += 1;
        }
        first += BATCH;
        seeds += BATCH;
    }
    println!("{seeds} set-ups, {found} findings");
    assert_eq!(found, 0, "see {}", folder.display());
}

/// Tries the set-ups of these seeds; returns the findings: invariant, what was printed, and the script of a small case.
fn tried(laboratory: &Laboratory, seeds: std::ops::RangeInclusive<u64>) -> Vec<String> {
    let mut draws: Vec<(u64, Draw)> = seeds.map(|seed| (seed, Draw::of_seed(seed))).collect();
    let scripts: Vec<String> = draws.iter_mut().map(|(_, draw)| of(draw)).collect();
    let checked = judged(laboratory, &scripts);
    let mut findings = Vec::new();
    for ((seed, draw), checked) in draws.iter().zip(checked) {
        let Err((invariant, details)) = checked else {
            continue;
        };
        println!("seed {seed}: {invariant}\n{details}");
        let deadline = Instant::now() + SHRINKING;
        let choices = simplest(draw.made().to_vec(), deadline, |draw| {
            let script = of(draw);
            judged(laboratory, &[script])[0].as_ref().is_err_and(|found| found.0 == invariant)
        });
        let script = of(&mut Draw::repeating(&choices));
        let smaller = judged(laboratory, std::slice::from_ref(&script)).remove(0);
        let details = smaller.err().map_or(details, |found| found.1);
        findings.push(format!("seed {seed}: {invariant}\n{details}\nScript:\n{script}"));
    }
    findings
}

fn of(draw: &mut Draw) -> String {
    script(&Tree::any(draw, Kinds::All))
}

/// Runs scripts one after the other in a machine.
fn judged(laboratory: &Laboratory, scripts: &[String]) -> Vec<Result<(), (&'static str, String)>> {
    const BETWEEN: &str = "##### next";
    let mut all = format!("sysctl -qw net.ipv6.conf.default.disable_ipv6=1\nexport GENTLE={GENTLE}\n");
    for script in scripts {
        // A script that fails must not end the others.
        all += &format!(
            "echo '{BETWEEN}'\n(\n{script}\n) || :\nip link del wan 2>/dev/null || :\nip link del in-wan 2>/dev/null || :\n"
        );
    }
    let printed = laboratory.succeed(&["sh", "-c", &all]);
    let parts = printed.split(BETWEEN).skip(1).map(judge);
    parts.collect()
}

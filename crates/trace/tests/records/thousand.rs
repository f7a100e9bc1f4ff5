//! A thousand captures with known truth.

use crate::captures::generate;
use crate::{json, merged, one_pass, record};
use gentle_captures::random::Truth;
use gentle_trace::Options;
use gentle_trace::record::Record;
use gentle_units::Nanos;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use tempfile::TempDir;

const CAPTURES: usize = 1_000;

/// Generates capture number `n`: an access network each, most of them at the same time as others.
fn capture(folder: &TempDir, n: usize) -> (PathBuf, Truth) {
    let path = folder.path().join(format!("{n:04}.pcap"));
    let seed = (n + 1).to_string();
    let loss = ["0.01", "0.1", "0.3"][n % 3];
    let args = [
        "--seed",
        &seed,
        "--connections",
        "12",
        "--packets",
        "150",
        "--span",
        "30s",
        "--syn-loss",
        loss,
        "--synack-loss",
        loss,
        "--unanswered",
        "0.05",
    ];
    let later = Nanos::from_secs((n as u64 * 7_919) % 100_000);
    let truth = generate(&path, &args, later);
    (path, truth)
}

#[test]
fn a_thousand_captures_add_up_to_the_truth() {
    let folder = TempDir::new().unwrap();
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, PathBuf, Truth, Record)>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= CAPTURES {
                        break;
                    }
                    let (path, truth) = capture(&folder, n);
                    let record = record(std::slice::from_ref(&path), &Options::default(), None);
                    done.lock().unwrap().push((n, path, truth, record));
                }
            });
        }
    });
    // In the order in which they were done, which differs between runs.
    let done = done.into_inner().unwrap();
    let sum = |of: fn(&Truth) -> u64| done.iter().map(|(_, _, truth, _)| of(truth)).sum::<u64>();
    let expected = [
        sum(|truth| truth.packets),
        sum(|truth| truth.attempts),
        sum(|truth| truth.successes),
        sum(|truth| truth.failures),
        sum(|truth| truth.refused),
        sum(|truth| truth.duplicate_syn),
        sum(|truth| truth.duplicate_synack),
        sum(|truth| truth.attempts_with_duplicate_syn),
        sum(|truth| truth.successes_with_duplicate_syn),
    ];
    let mut paths: Vec<PathBuf> = done.iter().map(|(_, path, _, _)| path.clone()).collect();
    paths.sort();
    let whole = merged(done.into_iter().map(|(_, _, _, record)| record).collect());
    let handshakes = &whole.handshakes;
    let found = [
        whole.captures.iter().map(|capture| capture.packets).sum(),
        handshakes.attempts,
        handshakes.successes,
        handshakes.failures,
        whole.outcomes.refused.attempts,
        handshakes.duplicate_syn,
        handshakes.duplicate_synack,
        handshakes.attempts_with_duplicate_syn,
        handshakes.successes_with_duplicate_syn,
    ];
    assert_eq!(found, expected);
    assert!(handshakes.attempts > 11 * CAPTURES as u64);
    assert_eq!(json(&whole), json(&one_pass(&paths, &Options::default(), None)));
}

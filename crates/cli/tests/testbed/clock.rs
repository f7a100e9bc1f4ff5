//! Clock of the machine.

use crate::kernel::{exec, kernel};
use std::time::{Duration, Instant};

fn stdout(options: &[&str], script: &str) -> String {
    let output = exec(options, &["sh", "-c", script]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn idle_time_costs_nothing() {
    let Some(_) = kernel() else { return };
    let started = Instant::now();
    let times = stdout(&[], "date +%s; sleep 1000; date +%s");
    assert!(started.elapsed() < Duration::from_secs(300));
    // 1 January 2026, and a thousand seconds later.
    assert_eq!(times, "1767225600\n1767226600\n");
}

#[test]
fn real_time_can_be_had() {
    let Some(_) = kernel() else { return };
    let started = Instant::now();
    stdout(&["--real-time"], "sleep 2");
    assert!(started.elapsed() >= Duration::from_secs(2));
}

/// Testbed of spa-2018: delays of 42 ms in one direction and 52 ms in the other, and no others.
const PING: &str = "set -e; \
    ip netns add a; ip netns add b; ip link add va netns a type veth peer name vb netns b; \
    ip -n a addr add 10.0.0.1/24 dev va; ip -n b addr add 10.0.0.2/24 dev vb; \
    ip -n a link set va up; ip -n b link set vb up; \
    ip netns exec a tc qdisc add dev va root netem delay 42ms; \
    ip netns exec b tc qdisc add dev vb root netem delay 52ms; \
    ip netns exec a ping -q -c 2 10.0.0.2 >/dev/null; \
    ip netns exec a ping -c 20 10.0.0.2";

/// Reading the clock advances it by a quarter of a microsecond, so that a program that polls it does not wait forever.
const LOOKS_MS: f64 = 0.002;

#[test]
fn delays_are_exact_and_runs_are_alike() {
    let Some(_) = kernel() else { return };
    for _ in 0..2 {
        let text = stdout(&[], PING);
        assert!(text.contains("20 received"), "{text}");
        let (_, times) = text.split_once("mdev = ").unwrap();
        let times: Vec<f64> = times.split(['/', ' ']).map_while(|time| time.parse().ok()).collect();
        let [min, mean, max, _] = times[..] else {
            panic!("{text}");
        };
        for time in [min, mean, max] {
            assert!((94.0..=94.0 + LOOKS_MS).contains(&time), "{text}");
        }
    }
}

//! Start and end of the measurement, and inputs at the limits of what is accepted.

use gentle_experiment::results::SchemeResult;
use gentle_experiment::{Scenario, Settings};
use gentle_sim::compare;
use std::sync::atomic::AtomicBool;

fn read(text: &str) -> Result<Scenario, String> {
    let none = |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    Scenario::from_toml("edge.toml", text, &none).map_err(|error| error.to_string())
}

fn run_with(scenario: &Scenario, seeds: Vec<u64>) -> SchemeResult {
    let schemes = [scenario.links[0].qdisc.clone()];
    let settings = Settings { seeds, bins: vec![3] };
    let stop = AtomicBool::new(false);
    compare(scenario, &schemes, &settings, &(), &stop).results.remove(0)
}

fn run(text: &str) -> SchemeResult {
    run_with(&read(text).unwrap(), vec![1])
}

/// A packet queued before the end of the warm-up and lost after it counts neither as offered nor as lost.
#[test]
fn packets_from_before_the_end_of_the_warm_up_do_not_count_when_they_are_lost_after_it() {
    let result = run(r#"
duration = "40s"
warmup = "10s"
[link.down]
rate = "10kbit"
loss = 1.0
qdisc = "pfifo limit=1000"
[link.up]
rate = "1mbit"
[[workload]]
kind = "udp"
rate = "100kbit"
stop = "9s"
[[workload]]
kind = "udp"
rate = "1kbit"
start = "11s"
"#);
    let down = &result.links.down;
    let dropped: u64 = down.drops.values().sum();
    assert!(down.sent + dropped <= down.offered, "{down:?}");
    assert!(result.loss.all <= Some(1.0));
}

#[test]
fn marks_and_retransmissions_of_the_warm_up_are_left_out() {
    let result = run(r#"
duration = "30s"
warmup = "29s"
[hosts]
ecn = "request"
[link.down]
rate = "2.4mbit"
delay = "20ms"
qdisc = "codel ecn"
[link.up]
rate = "2.4mbit"
delay = "20ms"
[[workload]]
kind = "long"
flows = 4
stop = "20s"
"#);
    assert_eq!(result.links.down.offered, 0);
    assert_eq!(result.marks, 0);
    assert_eq!(result.rtt_s.mean, None);
    assert_eq!(result.retransmission.packet_probability, None);
}

/// A longer `--duration` extends flows and datagrams without a fixed end.
#[test]
fn long_flows_and_datagrams_follow_the_duration() {
    for kind in ["kind = \"long\"", "kind = \"udp\"\nrate = \"2mbit\""] {
        let mut scenario = read(&format!(
            "duration = \"20s\"\n[link.down]\nrate = \"1mbit\"\n[link.up]\nrate = \"1mbit\"\n[[workload]]\n{kind}"
        ))
        .unwrap();
        scenario.set_duration("60s".parse().unwrap());
        let used = run_with(&scenario, vec![1]).utilization.unwrap();
        assert!(used > 0.95, "{kind}: {used}");
    }
}

#[test]
fn a_duration_of_nanoseconds_ends_soon() {
    let result = run(r#"
duration = "100ns"
drain = "300s"
[link.down]
rate = "10mbit"
loss = 1.0
[link.up]
rate = "1mbit"
[[workload]]
kind = "long"
"#);
    assert_eq!(result.links.down.sent, 0);
}

#[test]
fn datagrams_that_no_access_link_can_carry_are_refused() {
    let error = read(
        "duration = \"1s\"\n[link.down]\nrate = \"1mbit\"\n[link.up]\nrate = \"1mbit\"\n\
         [access]\nrate = \"1kbit\"\n[[workload]]\nkind = \"udp\"\nrate = \"2kbit\"",
    )
    .unwrap_err();
    assert!(error.starts_with("edge.toml:10:8: "), "{error}");
    assert!(error.contains("at most 1kbit"), "{error}");
}

#[test]
fn link_and_random_streams_differ_for_every_seed() {
    let text = "duration = \"200s\"\n[link.down]\nrate = \"1mbit\"\nloss = 0.3\n[link.up]\nrate = \"1mbit\"\nloss = 0.3\n\
                [[workload]]\nkind = \"udp\"\nrate = \"100kbit\"\n[[workload]]\nkind = \"udp\"\nrate = \"100kbit\"\ndirection = \"up\"";
    let scenario = read(text).unwrap();
    for seed in 0..3 {
        let links = run_with(&scenario, vec![seed]).links;
        assert!(links.down.drops["loss"] != links.up.drops["loss"], "seed {seed}");
    }
}

//! Commands planned from scenarios.

use gentle_aqm::Spec;
use gentle_deploy::Backing;
use gentle_experiment::Scenario;
use gentle_testbed::experiment::{Experiment, ExperimentError, Namespaces, plan};
use std::collections::HashSet;

fn planned(scenario: &Scenario, scheme: &str) -> Experiment {
    let scheme: Spec = scheme.parse().unwrap();
    let planned = plan(scenario, &scheme, 1, Backing::Stock, &Namespaces::plain()).unwrap();
    planned.experiment
}

fn lines(experiment: &Experiment) -> String {
    let mut text = String::new();
    for step in &experiment.setup {
        text.push_str(&format!("{step}\n"));
    }
    for change in &experiment.changes {
        text.push_str(&format!("# after {} s\n", change.at_ns as f64 / 1e9));
        for step in &change.steps {
            text.push_str(&format!("{step}\n"));
        }
    }
    text
}

#[test]
fn the_network_of_the_paper() {
    let mut real = Scenario::builtin("real").unwrap();
    real.set_profile("freebsd-9.3").unwrap();
    insta::assert_snapshot!(lines(&planned(&real, "codel target=20ms")));
}

const VARIED: &str = r#"
duration = "20s"

[hosts]
profile = "linux-7.2"
sack = false

[link.down]
rate = "10mbit"
delay = "5ms"
loss = 0.01
overhead = "38b"
changes = [{ at = "10s", rate = "2mbit" }]

[link.up]
rate = "1mbit"
delay = "7ms"
qdisc = "fq_codel"

[[workload]]
kind = "long"
rtt = "12ms"

[[workload]]
kind = "long"
rtt = "40ms"
initiator = "receiver"
"#;

fn varied() -> Scenario {
    scenario(VARIED)
}

fn scenario(text: &str) -> Scenario {
    Scenario::from_toml("varied.toml", text, &|_| Err(std::io::ErrorKind::NotFound.into())).unwrap()
}

/// The scenario with segments of `mss` bytes.
fn with_mss(mss: u16) -> Scenario {
    scenario(&VARIED.replace("sack = false", &format!("mss = {mss}")))
}

#[test]
fn rates_that_change_loss_overhead_and_round_trip_times() {
    insta::assert_snapshot!(lines(&planned(&varied(), "pfifo limit=100")));
}

#[test]
fn what_the_testbed_has_not_is_refused_with_a_reason() {
    let mut scenario = varied();
    let gsp: Spec = "gsp".parse().unwrap();
    let problem = plan(&scenario, &gsp, 1, Backing::Stock, &Namespaces::plain()).unwrap_err();
    assert!(matches!(problem, ExperimentError::Queue(_)), "{problem}");
    scenario.access = Some(gentle_experiment::Access { rate: "100mbit".parse().unwrap(), hosts: 4 });
    let codel: Spec = "codel".parse().unwrap();
    let problem = plan(&scenario, &codel, 1, Backing::Stock, &Namespaces::plain()).unwrap_err();
    assert!(problem.to_string().contains("no access links"), "{problem}");
    let mut own_tcp = varied();
    let tcp = &mut own_tcp.workloads[0].initiator_tcp;
    tcp.set_knob("initial_rto", "200ms").unwrap();
    let problem = plan(&own_tcp, &codel, 1, Backing::Stock, &Namespaces::plain()).unwrap_err();
    assert_eq!(problem, ExperimentError::WorkloadTcp);
    let mut tunnelled = varied();
    tunnelled.workloads[0].tunnel = 255;
    let problem = plan(&tunnelled, &codel, 1, Backing::Stock, &Namespaces::plain()).unwrap_err();
    let (tunnel, most) = (255, 254);
    assert_eq!(problem, ExperimentError::Tunnel { tunnel, most });
    // Linux sends segments of at least 88 bytes (TCP_MIN_MSS). Those in a tunnel hold 28 bytes less than those outside.
    let mut tunnelled = with_mss(115);
    tunnelled.workloads[0].tunnel = 254;
    let problem = plan(&tunnelled, &codel, 1, Backing::Stock, &Namespaces::plain()).unwrap_err();
    let (least, mss) = (116, 115);
    assert_eq!(problem, ExperimentError::Mss { least, mss });
    let mut far = varied();
    far.workloads[0].host = Some(255);
    let problem = plan(&far, &codel, 1, Backing::Stock, &Namespaces::plain()).unwrap_err();
    let most = 254;
    assert_eq!(problem, ExperimentError::Host { host: 255, most });
}

#[test]
fn tunnels_are_devices_and_routes() {
    let mut scenario = with_mss(1_400);
    let before = lines(&planned(&scenario, "codel"));
    let before: HashSet<&str> = before.lines().collect();
    scenario.workloads[0].tunnel = 1;
    scenario.workloads[1].tunnel = 254;
    scenario.workloads[1].host = Some(9);
    let tunnelled = planned(&scenario, "codel");
    assert_eq!(tunnelled.tunnels, [1, 254]);
    let after = lines(&tunnelled);
    let new = after.lines().filter(|line| !before.contains(line));
    insta::assert_snapshot!(new.collect::<Vec<_>>().join("\n"));
}

#[test]
fn hosts_are_addresses() {
    let mut scenario = varied();
    scenario.workloads[0].host = Some(7);
    let experiment = planned(&scenario, "cake dual-srchost");
    let lines = lines(&experiment);
    for address in ["10.1.7.1", "10.1.7.2", "10.2.7.1"] {
        let added = format!("address add {address}/32");
        assert!(lines.contains(&added), "{added}: {lines}");
    }
}

#[test]
fn names_of_namespaces_do_not_collide_with_those_of_the_host() {
    let real = Scenario::builtin("real").unwrap();
    let codel: Spec = "codel".parse().unwrap();
    let namespaces = Namespaces::with_prefix("gentle-7-");
    let planned = plan(&real, &codel, 1, Backing::Stock, &namespaces).unwrap();
    let text = lines(&planned.experiment);
    assert!(text.contains("ip netns add gentle-7-router"));
    assert!(!text.contains("netns router"), "{text}");
}

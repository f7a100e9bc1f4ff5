//! Harm of traffic to other traffic, and queues of both directions, in the simulator.

use gentle_experiment::{DEFAULT_BINS, Direction, Scenario, Settings};
use gentle_sim::compare;
use std::sync::atomic::AtomicBool;

const LINKS: &str = "
duration = \"60s\"
drain = \"30s\"
[link.down]
rate = \"2mbit\"
delay = \"20ms\"
";

/// Short connections of one group together with another group's.
const GROUPS: &str = "
[[workload]]
kind = \"poisson\"
group = \"bulk\"
gap = \"2s\"
size = { segments = 200 }
[[workload]]
kind = \"poisson\"
group = \"short\"
gap = \"300ms\"
size = { segments = 3 }
";

fn scenario(up: &str, workloads: &str) -> Scenario {
    let text = format!("{LINKS}[link.up]\nrate = \"2mbit\"\ndelay = \"20ms\"\n{up}\n{workloads}");
    let read = |_: &str| unreachable!("no file is named");
    Scenario::from_toml("x.toml", &text, &read).unwrap()
}

fn settings() -> Settings {
    Settings { seeds: vec![1, 2, 3], bins: DEFAULT_BINS.to_vec() }
}

#[test]
fn a_part_sends_the_same_alone_and_is_harmed_by_the_others() {
    let scenario = scenario("", GROUPS);
    let parts = scenario.parts();
    let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["bulk", "short"]);
    let alone = scenario.alone(&parts[1]);
    let of_group = |scenario: &Scenario| {
        let connections = scenario.schedule(7).filter(|arrival| arrival.workload == 1);
        connections.collect::<Vec<_>>()
    };
    assert_eq!(of_group(&scenario), of_group(&alone));
    assert_eq!(alone.schedule(7).count(), of_group(&alone).len());

    let schemes = ["pfifo limit=100", "fq_codel"].map(|spec| spec.parse().unwrap());
    let run = |scenario: &Scenario| compare(scenario, &schemes, &settings(), &(), &AtomicBool::new(false));
    let mut together = run(&scenario);
    together.add_harm(&parts[1], &run(&alone));
    let harm: Vec<f64> = (together.results.iter()).map(|result| result.harm[0].harm.mean.unwrap()).collect();
    // Alone, a connection needs two round trips; behind 100 packets it waits for 0.6 s.
    assert!(harm.iter().all(|harm| (0.0..1.0).contains(harm)), "{harm:?}");
    assert!(harm[0] > 0.5 && harm[1] < harm[0], "{harm:?}");
    let first = &together.results[0].harm[0];
    assert_eq!((first.part.as_str(), first.kind.as_ref()), ("short", None));
    assert_eq!(first.values.len(), 3);
    let (with, without) = (first.together.mean.unwrap(), first.alone.mean.unwrap());
    assert!(with > without, "{with} {without}");
}

/// Flows that do not end are harmed in what they get, and packets at a constant rate in their delay as well.
#[test]
fn groups_of_long_flows_and_datagrams_are_harmed() {
    let scenario = scenario(
        "",
        "[[workload]]\nkind = \"long\"\ngroup = \"download\"\n\
         [[workload]]\nkind = \"udp\"\nrate = \"1mbit\"\ngroup = \"stream\"\ndirection = \"down\"\n\
         [[workload]]\nkind = \"long\"\ngroup = \"upload\"\ndirection = \"up\"\n",
    );
    let parts = scenario.parts();
    let schemes = ["pfifo limit=100".parse().unwrap()];
    let run = |scenario: &Scenario| {
        let stop = AtomicBool::new(false);
        compare(scenario, &schemes, &settings(), &(), &stop)
    };
    let mut together = run(&scenario);
    for part in &parts {
        together.add_harm(part, &run(&scenario.alone(part)));
    }
    let harm = together.results[0].harm.iter();
    let harm: Vec<(&str, &str, f64)> =
        harm.map(|harm| (harm.part.as_str(), harm.number.as_str(), harm.harm.mean.unwrap())).collect();
    let [download, rate, delay, upload] = harm[..] else {
        panic!("{harm:?}");
    };
    assert_eq!(download.0, "download");
    assert_eq!((rate.0, rate.1), ("stream", "links.down.rate_bps.mean"));
    assert_eq!((delay.0, delay.1), ("stream", "links.down.queue_delay_s.p99"));
    assert_eq!((upload.0, upload.1), ("upload", "links.up.rate_bps.mean"));
    // The stream takes a half of the download's link, and waits in its queue.
    assert!((0.3..0.7).contains(&download.2), "{harm:?}");
    assert!(rate.2 < 0.3 && delay.2 > 0.9, "{harm:?}");
}

#[test]
fn the_only_part_is_not_harmed() {
    let scenario =
        scenario("", "[[workload]]\nkind = \"poisson\"\ngroup = \"all\"\ngap = \"200ms\"\nsize = { segments = 10 }");
    let part = &scenario.parts()[0];
    let schemes = ["codel".parse().unwrap()];
    let run = |scenario: &Scenario| compare(scenario, &schemes, &settings(), &(), &AtomicBool::new(false));
    let mut together = run(&scenario);
    together.add_harm(part, &run(&scenario.alone(part)));
    let harm = &together.results[0].harm[0];
    assert_eq!(harm.values, [Some(0.0); 3]);
    assert_eq!(harm.harm.mean, Some(0.0));
}

#[test]
fn a_reverse_link_can_have_the_scheme_under_test() {
    let up = "[[workload]]\nkind = \"long\"\ndirection = \"up\"\nflows = 2";
    let as_down = scenario("qdisc = \"as down\"", up);
    let named = scenario("qdisc = \"pfifo limit=400\"", up);
    assert_ne!(as_down.fingerprint(), named.fingerprint());
    let run = |scenario: &Scenario, scheme: &str| {
        let schemes = [scheme.parse().unwrap()];
        let stop = AtomicBool::new(false);
        compare(scenario, &schemes, &settings(), &(), &stop)
    };
    let [mut both, mut one] = [&as_down, &named].map(|scenario| run(scenario, "pfifo limit=400"));
    assert_eq!(both.scenario.up.qdisc, "the scheme under test");
    // The same queues give the same bytes, whether flags or files name them.
    one.scenario = both.scenario.clone();
    let bytes = |comparison: &_| serde_json::to_string(comparison).unwrap();
    assert_eq!(bytes(&both), bytes(&one));
    both = run(&as_down, "codel");
    let delay = |comparison: &gentle_experiment::results::Comparison| {
        comparison.results[0].links.up.queue_delay_s.mean.unwrap()
    };
    assert!(delay(&both) < 0.1 * delay(&one), "{} {}", delay(&both), delay(&one));
    assert_eq!(as_down.under(&"codel".parse().unwrap()).link(Direction::Up).qdisc.to_string(), "codel");
}

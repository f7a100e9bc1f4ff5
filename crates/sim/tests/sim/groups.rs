//! Groups of workloads: separate results, and separate TCP settings.

use gentle_aqm::Spec;
use gentle_experiment::results::{GroupResult, SchemeResult};
use gentle_experiment::{Scenario, Settings};
use gentle_sim::compare;
use std::sync::atomic::AtomicBool;

/// Runs two groups and an ungrouped workload over a lossy link that they saturate; `own` is inserted into the first
/// workload.
fn run(own: &str) -> SchemeResult {
    let text = format!(
        r#"
duration = "60s"
warmup = "5s"
[link.down]
rate = "2.4mbit"
delay = "42ms"
loss = 0.05
[link.up]
rate = "400kbit"
delay = "52ms"
[[workload]]
kind = "poisson"
gap = "1.2s"
size = {{ zipf = 1.7, max = 600 }}
group = "few"
{own}
[[workload]]
kind = "poisson"
gap = "133ms"
size = {{ zipf = 1.7, max = 600 }}
group = "many"
[[workload]]
kind = "poisson"
gap = "5s"
size = {{ segments = 2 }}
group = "many"
"#
    );
    let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let scenario = Scenario::from_toml("groups.toml", &text, &none).unwrap();
    let settings = Settings { seeds: vec![1, 2], bins: vec![3] };
    let scheme: Spec = "pfifo limit=50".parse().unwrap();
    let stop = AtomicBool::new(false);
    let mut results = compare(&scenario, &[scheme], &settings, &(), &stop).results;
    results.remove(0)
}

fn sent_twice(group: &GroupResult) -> f64 {
    group.retransmission.connections_with_syn_loss.unwrap()
}

#[test]
fn groups_add_up_to_the_whole() {
    let all = run("");
    let names: Vec<&str> = all.groups.iter().map(|group| group.group.as_str()).collect();
    assert_eq!(names, ["few", "many"]);
    let sum = |count: fn(&GroupResult) -> u64| all.groups.iter().map(count).sum::<u64>();
    assert_eq!(sum(|group| group.connections), all.connections);
    assert_eq!(sum(|group| group.completed), all.completed);
    assert_eq!(sum(|group| group.unfinished), all.unfinished);
    assert_eq!(sum(|group| group.failed), all.failed);
    for bin in 0..2 {
        let of_groups = all.groups.iter().map(|group| group.response_time_by_size[bin].n);
        assert_eq!(of_groups.sum::<u64>(), all.response_time_by_size[bin].n);
    }
    // The mean over all connections is between the means of the groups.
    let means = all.groups.iter().map(|group| group.response_time_s.mean.unwrap());
    let (low, high) = means.fold((f64::MAX, 0.0_f64), |(low, high), mean| (low.min(mean), high.max(mean)));
    assert!((low..=high).contains(&all.response_time_s.mean.unwrap()));
}

#[test]
fn a_workload_has_the_tcp_that_it_is_given_and_the_others_keep_theirs() {
    // The path's RTT is 94 ms: every SYN of the first group is sent twice, none of its SYN/ACKs is.
    let impatient = run("initiator_tcp = { initial_rto = \"50ms\" }");
    let plain = run("");
    assert_eq!(sent_twice(&impatient.groups[0]), 1.0);
    assert!(sent_twice(&impatient.groups[1]) < 0.2);
    assert!(sent_twice(&plain.groups[0]) < 0.3);
    // The same connections start in both runs.
    for (one, other) in impatient.groups.iter().zip(&plain.groups) {
        assert_eq!(one.connections, other.connections);
    }
    // Setting the TCP of both hosts, not only the connecting one, adds retransmitted SYN/ACKs.
    let both = run("tcp = { initial_rto = \"50ms\" }");
    let again = |result: &SchemeResult| result.groups[0].retransmission.syn_probability.unwrap();
    assert!(again(&both) > again(&impatient), "{} {}", again(&both), again(&impatient));
    // FreeBSD's profile waits three seconds before it retransmits a lost SYN.
    let patient = run("tcp = { profile = \"freebsd-9.3\" }");
    let waited = |result: &SchemeResult| result.groups[0].retransmission.delay_mean_with_syn_loss_s.unwrap();
    assert!(waited(&patient) >= 3.0, "{}", waited(&patient));
    assert!(waited(&plain) < 3.0, "{}", waited(&plain));
}

/// Found by the search: a packet of the group was being sent when the rate fell to a hundredth.
#[test]
fn a_group_has_at_most_the_whole_link_when_the_rate_falls() {
    let text = r#"
duration = "2s"
[link.down]
rate = "1mbit"
changes = [{ at = "1ms", rate = "10kbit" }]
[link.up]
rate = "1mbit"
[[workload]]
kind = "udp"
rate = "900kbit"
jitter = 0
group = "all"
"#;
    let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let scenario = Scenario::from_toml("falls.toml", text, &none).unwrap();
    let settings = Settings { seeds: vec![1], bins: vec![3] };
    let stop = AtomicBool::new(false);
    let results = compare(&scenario, &["pfifo".parse().unwrap()], &settings, &(), &stop).results;
    let group = &results[0].groups[0];
    let share = group.links.down.as_ref().unwrap().share.mean;
    assert_eq!(share, Some(1.0));
}

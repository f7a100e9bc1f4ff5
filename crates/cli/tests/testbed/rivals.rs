//! `gentle qdisc` with the qdiscs of Linux that need more than a line of `tc`: shapers above other schemes, and options
//! that the kernel does not dump as they were set.

use crate::kernel::{exec, kernel};
use crate::modules::kernel_folder;
use assert_cmd::cargo::cargo_bin;

/// Applies `scheme` to a device with the qdisc `before`, twice, shows it and removes it. Returns what `gentle qdisc
/// show` printed, after checking that the second time nothing happens, and that `before` comes back.
fn deployed(before: &str, scheme: &str) -> String {
    let gentle = cargo_bin("gentle");
    let gentle = gentle.to_str().unwrap();
    let script = format!(
        "set -e; ip link add d0 type dummy; ip link set d0 up; tc qdisc replace dev d0 root handle 7: {before}; \
         tc qdisc show dev d0 >$TMPDIR/before; tc class show dev d0 >>$TMPDIR/before; \
         {gentle} qdisc apply --replace d0 '{scheme}' 2>/dev/null; \
         {gentle} qdisc apply d0 '{scheme}' 2>&1 | grep -q 'nothing to do'; \
         {gentle} qdisc show d0; {gentle} qdisc remove d0 2>/dev/null; \
         tc qdisc show dev d0 >$TMPDIR/after; tc class show dev d0 >>$TMPDIR/after; \
         diff $TMPDIR/before $TMPDIR/after"
    );
    let folder = kernel_folder();
    let modules = ["--modules", folder.to_str().unwrap()];
    let output = exec(&modules, &["sh", "-c", &script]).output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{scheme}: {output:?}");
    shown
}

#[test]
fn a_shaper_and_what_is_beneath_are_set_up_shown_and_removed() {
    let Some(_) = kernel() else { return };
    let shown = deployed("dualpi2 limit 77 alpha 0.5 overflow", "htb rate=20mbit child=spa share=60");
    for words in ["htb 5a1:", "20mbit", "spa 5a2:"] {
        assert!(shown.contains(words), "{shown}");
    }
    let shown = deployed("tbf rate 5mbit burst 3000 latency 20ms", "tbf rate=20mbit child=fq maxrate=1mbit");
    assert!(shown.contains("fq 5a2:"), "{shown}");
    assert!(!shown.contains("handshakes"), "{shown}");
    let shown = deployed("fq limit 77 maxrate 2mbit", "dualpi2 overflow target=10ms");
    for words in ["dualpi2 5a1:", "target 10ms", "memory_limit_bytes 30280000"] {
        assert!(shown.contains(words), "{shown}");
    }
}

#[test]
fn the_tins_of_cake_have_the_counters_that_tc_shows() {
    let Some(_) = kernel() else { return };
    let gentle = cargo_bin("gentle");
    let script = format!(
        "set -e; {gentle} qdisc apply d0 cake --rate 10mbit &>/dev/null; \
         for n in 1 2 3; do echo test > /dev/udp/10.9.0.2/9; done; \
         tc -s -j qdisc show dev d0; {gentle} qdisc show d0 --json",
        gentle = gentle.display()
    );
    let script = format!(
        "ip link add d0 type dummy && ip link set d0 up && ip address add 10.9.0.1/24 dev d0 && \
         ip neighbour add 10.9.0.2 lladdr 02:00:00:00:00:01 dev d0 && {script}"
    );
    let output = exec(&[], &["bash", "-c", &script]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let values: Vec<serde_json::Value> =
        serde_json::Deserializer::from_slice(&output.stdout).into_iter().collect::<Result<_, _>>().unwrap();
    let [tc, gentle] = &values[..] else {
        panic!("{values:?}");
    };
    let counters = gentle["qdiscs"][0]["counters"].as_array().unwrap();
    let counter = |name: &str| {
        let found = counters.iter().find(|counter| counter["name"] == name);
        found.map(|counter| counter["value"].clone())
    };
    let tins = tc[0]["tins"].as_array().unwrap();
    assert_eq!(tins.len(), 3);
    assert!(tins[1]["sent_packets"].as_u64().unwrap() >= 3, "{tins:?}");
    for (number, tin) in (1..).zip(tins) {
        for (ours, theirs) in [
            ("packets", "sent_packets"),
            ("bytes", "sent_bytes"),
            ("drops", "drops"),
            ("ack_drops", "ack_drops"),
            ("ecn_mark", "ecn_mark"),
            ("backlog_bytes", "backlog_bytes"),
            ("peak_delay_us", "peak_delay_us"),
            ("avg_delay_us", "avg_delay_us"),
            ("sparse_flows", "sparse_flows"),
            ("bulk_flows", "bulk_flows"),
            ("unresponsive_flows", "unresponsive_flows"),
        ] {
            let found = counter(&format!("tin{number}_{ours}"));
            assert_eq!(found.as_ref(), tin.get(theirs), "{number} {ours}: {tin}");
        }
    }
    assert_eq!(counter("tin4_packets"), None);
}

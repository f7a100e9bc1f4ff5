//! Prometheus, `gentle watch` and `gentle probe` in a network namespace.

use crate::server::{PROMETHEUS, Running, api, get, query, value, wait};
use crate::{RULES, expressions, promtool};
use nix::sched::{CloneFlags, unshare};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

const WATCH: &str = "127.0.0.1:9781";
const PROBE: &str = "127.0.0.1:9780";

/// Ports of servers: each first SYN passes, each first SYN is dropped, no server, server and no server for probes.
const PROMPT: u16 = 8001;
const SLOW: u16 = 8002;
const REFUSED: u16 = 8003;
const PROBED: u16 = 8004;
const CLOSED: u16 = 8005;
/// Connects to the first three ports: 4.2 % are slow, 12.5 % fail.
const PROMPTS: usize = 400;
const SLOWS: usize = 20;
const REFUSALS: usize = 60;

/// Largest number of series of gentle watch, as stated in the rules.
const SERIES: usize = 181;

fn sh(line: &str) {
    let output = Command::new("sh").args(["-ec", line]).output().expect("a shell");
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

fn gentle(arguments: &[&str], folder: &Path) -> Running {
    let log = File::create(folder.join(arguments[0])).expect("a file");
    Running::start(
        Command::new(assert_cmd::cargo::cargo_bin!("gentle"))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a file"))
            .stderr(log),
    )
}

/// Prometheus that collects each second, with the rules; alerts are pending for 2 s instead of minutes.
fn prometheus(folder: &Path) -> Running {
    let rules: Vec<String> = RULES
        .lines()
        .map(|line| match line.trim_start().strip_prefix("for: ") {
            Some(_) => "        for: 2s".to_owned(),
            None => line.to_owned(),
        })
        .collect();
    fs::write(folder.join("rules.yml"), rules.join("\n")).expect("a file");
    let jobs = [("gentle-watch", WATCH), ("gentle-probe", PROBE)]
        .map(|(name, address)| format!("  - {{job_name: {name}, static_configs: [{{targets: [\"{address}\"]}}]}}\n"));
    let config = format!(
        "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [rules.yml]\nscrape_configs:\n{}",
        jobs.concat()
    );
    fs::write(folder.join("prometheus.yml"), config).expect("a file");
    let log = File::create(folder.join("log")).expect("a file");
    Running::start(
        Command::new("prometheus")
            .current_dir(folder)
            .arg("--config.file=prometheus.yml")
            .arg("--storage.tsdb.path=data")
            .arg(format!("--web.listen-address={PROMETHEUS}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log),
    )
}

/// Starts a server that accepts connections and closes them.
fn serve(port: u16) {
    let listener = TcpListener::bind(("127.0.0.1", port)).expect("a port");
    thread::spawn(move || listener.incoming().for_each(drop));
}

/// Connects, and waits until the server has accepted, so that its listen queue does not overflow on a busy machine.
fn connect(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok_and(|mut stream| matches!(stream.read(&mut [0]), Ok(0)))
}

fn connect_all() {
    let slow: Vec<_> = (0..SLOWS).map(|_| thread::spawn(|| connect(SLOW))).collect();
    assert!((0..PROMPTS).all(|_| connect(PROMPT)));
    assert!(!(0..REFUSALS).any(|_| connect(REFUSED)));
    assert!(slow.into_iter().all(|connect| connect.join().expect("a connect")));
}

/// Names of the alerts that fire.
fn firing() -> BTreeSet<String> {
    let alerts = api("alerts")["alerts"].clone();
    let alerts = alerts.as_array().expect("alerts").iter();
    let firing = alerts.filter(|alert| alert["state"] == "firing");
    firing
        .map(|alert| {
            let annotations = alert["annotations"].to_string();
            assert!(!annotations.contains("error") && !annotations.contains("{{"), "{annotations}");
            alert["labels"]["alertname"].as_str().expect("a name").to_owned()
        })
        .collect()
}

#[test]
fn a_server_collects_what_happened_and_alerts() {
    // The threads and programs of this test inherit the namespace.
    if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
        eprintln!("skipped: a network namespace: {error}");
        return;
    }
    sh("ip link set lo up; nft add table inet loss; \
        nft add chain inet loss arriving '{ type filter hook prerouting priority 0; }'; \
        nft add set inet loss seen '{ type inet_service; flags dynamic; size 65535; }'");
    sh(&format!(
        "nft 'add rule inet loss arriving tcp dport {SLOW} tcp flags & (syn|ack) == syn \
         update @seen {{ tcp sport limit rate 1/hour burst 1 packets }} drop'"
    ));
    [PROMPT, SLOW, PROBED].into_iter().for_each(serve);
    let folder = tempfile::tempdir().expect("a folder");
    let ports = [PROMPT, SLOW, REFUSED].map(|port| format!("--port={port}"));
    let watch = ["watch", "--interface=lo", "--plain", "--listen", WATCH].into_iter();
    let watch = gentle(&watch.chain(ports.iter().map(String::as_str)).collect::<Vec<_>>(), folder.path());
    let targets = [PROBED, CLOSED].map(|port| format!("127.0.0.1:{port}"));
    let probe = gentle(&["probe", "--quiet", "--rate=10", "--listen", PROBE, &targets[0], &targets[1]], folder.path());
    let prometheus = prometheus(folder.path());
    let log = || {
        ["log", "watch", "probe"].map(|name| fs::read_to_string(folder.path().join(name)).unwrap_or_default()).concat()
    };

    // Counters are collected as zero before they increase.
    wait(|| get(PROMETHEUS, "/-/ready").ok().filter(|text| text.contains("Ready")), log);
    wait(|| (value("sum(up)") == Some(2.0)).then_some(()), log);
    wait(|| value("gentle_watch_attempts_total{outcome=\"prompt\"}"), log);
    connect_all();
    let total = PROMPTS + SLOWS + REFUSALS;
    wait(|| (value("sum(gentle_watch_attempts_total)")? >= total as f64).then_some(()), log);
    let count = |expression: &str| value(expression).map(|value| value as usize);
    for (port, outcome, expected) in [(PROMPT, "prompt", PROMPTS), (SLOW, "slow", SLOWS), (REFUSED, "failed", REFUSALS)]
    {
        assert_eq!(
            count(&format!("gentle_watch_attempts_total{{outcome=\"{outcome}\"}}")),
            Some(expected),
            "{}",
            log()
        );
        // A port that never answered has no series.
        let port = if outcome == "failed" { "other".to_owned() } else { port.to_string() };
        let port = format!("gentle_watch_port_attempts_total{{port=\"{port}\",outcome=\"{outcome}\"}}");
        assert_eq!(count(&port), Some(expected), "{}", log());
    }
    assert_eq!(count("gentle_watch_connect_seconds_count"), Some(PROMPTS + SLOWS));
    assert!(count("gentle_watch_connect_seconds_bucket{le=\"0.95\"}") <= Some(PROMPTS));
    assert_eq!(count("gentle_watch_missed_packets_total"), Some(0));
    assert_eq!(value("gentle_watch_sample_ratio"), Some(1.0));
    assert!(count("count({__name__=~\"gentle_watch_.*\"})") <= Some(SERIES));

    // Alerts about what happened, and no others. One target of the probes is refused.
    let expected = ["GentleProbeUnreachable", "GentleWatchFailedConnects", "GentleWatchSlowConnects"];
    let expected: BTreeSet<String> = expected.map(str::to_owned).into();
    wait(|| firing().is_superset(&expected).then_some(()), || format!("{:?}", firing()));
    assert!(
        firing().iter().all(|name| expected.contains(name) || name == "GentleProbeFailedConnects"),
        "{:?}",
        firing()
    );
    let unreachable = query("ALERTS{alertname=\"GentleProbeUnreachable\"}");
    assert!(unreachable.iter().all(|found| found["metric"]["target"] == targets[1]), "{unreachable:?}");
    assert!(value("gentle_probe_connects_total{outcome=\"connected\"}") > Some(0.0));
    assert!(value("gentle_probe_connects_total{outcome=\"refused\"}") > Some(0.0));

    for target in api("targets")["activeTargets"].as_array().expect("targets") {
        assert!(target["health"] == "up" && target["lastError"] == "", "{target}");
    }
    for group in api("rules")["groups"].as_array().expect("groups") {
        for rule in group["rules"].as_array().expect("rules") {
            assert!(rule["health"] == "ok" && rule["lastError"].is_null(), "{rule}");
        }
    }
    for expression in expressions() {
        let range = expression.replace("$__rate_interval", "1m").replace("$__range", "10m");
        query(&range.replace("$instance", ".+"));
    }
    for address in [WATCH, PROBE] {
        lint(&get(address, "/metrics").expect("metrics"));
    }

    assert!(watch.end().success(), "{}", log());
    // A target was never reached.
    assert_eq!(probe.end().code(), Some(1), "{}", log());
    let log = fs::read_to_string(folder.path().join("log")).expect("a log");
    let warnings: Vec<&str> =
        log.lines().filter(|line| line.contains("level=warn") || line.contains("level=error")).collect();
    assert!(warnings.is_empty(), "{warnings:#?}");
    assert!(prometheus.end().success(), "{log}");
}

/// Checks metrics with promtool, which reads the older text format: it has the suffix `_total` in the names of families.
fn lint(metrics: &str) {
    let counters: BTreeSet<&str> =
        metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter")).collect();
    let lines = metrics.lines().filter(|line| !line.starts_with("# UNIT ") && *line != "# EOF").map(|line| {
        let mut words: Vec<String> = line.splitn(4, ' ').map(str::to_owned).collect();
        if words[0] == "#" && counters.contains(&*words[2]) {
            words[2] += "_total";
        }
        words.join(" ") + "\n"
    });
    let (succeeds, words) = promtool(&["check", "metrics"], &lines.collect::<String>());
    assert!(succeeds && words.trim().is_empty(), "{words}");
}

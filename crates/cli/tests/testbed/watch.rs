//! Live analyses on Linux in virtual time (`watch/make`): counts are the kernel's, and causes those of an analysis of a capture at
//! the same device.

use crate::kernel::{exec, kernel};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

const POINTS: [&str; 3] = ["client", "router", "server"];

/// Scenes that `make` knows, and causes of which the client sees at least three attempts.
const SCENES: [(&str, &[&str]); 5] = [
    ("random-loss", &["random-loss", "loss", "loss-without-queue"]),
    ("congestion", &["congestion", "loss", "loss-without-queue"]),
    ("listen-queue", &["listen-queue", "loss", "new-connections-dropped"]),
    ("drop", &["dropped-in-part"]),
    ("refused", &["refused"]),
];

/// Duration of a scene, seconds of virtual time.
const SECONDS: u32 = 150;

/// Watches of a scene: truth of the kernels, and by point the lines of the watch and the analysis of the capture.
struct Scene {
    truth: Value,
    lines: BTreeMap<&'static str, Vec<Value>>,
    /// Without those of a flood, which is not captured.
    analyses: BTreeMap<&'static str, Value>,
    /// Times of the SYNs with a comment in the rings, in the order of their files.
    commented: BTreeMap<&'static str, Vec<f64>>,
}

/// Makes a scene; `None` where no kernel can be built.
fn make(name: &str, seconds: u32) -> Option<Scene> {
    kernel()?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/testbed/watch/make");
    let gentle = assert_cmd::cargo::cargo_bin("gentle");
    let seconds = seconds.to_string();
    let program = ["python3", script.to_str().unwrap(), gentle.to_str().unwrap(), name, &seconds];
    let output = exec(&[], &program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let folder = TempDir::new().unwrap();
    let mut tar = Command::new("tar").arg("-xC").arg(folder.path()).stdin(Stdio::piped()).spawn().unwrap();
    tar.stdin.take().unwrap().write_all(&output.stdout).unwrap();
    assert!(tar.wait().unwrap().success());
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let lines = |point: &&'static str| {
        let text = read(&format!("{point}.json"));
        (*point, text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    };
    let analysis = |point: &&'static str| {
        let capture = folder.path().join(format!("{point}.pcap"));
        let output = Command::new(&gentle).args(["analyze", "--json"]).arg(capture).output().unwrap();
        (*point, serde_json::from_slice(&output.stdout).unwrap())
    };
    let commented = |point: &&'static str| {
        // There is no folder without slow attempts.
        let files = folder.path().join(point).read_dir().into_iter().flatten();
        let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        files.sort();
        (*point, files.iter().flat_map(|file| commented(file)).collect())
    };
    Some(Scene {
        truth: serde_json::from_str(&read("truth.json")).unwrap(),
        lines: POINTS.iter().map(lines).collect(),
        analyses: POINTS
            .iter()
            .filter(|point| folder.path().join(format!("{point}.pcap")).exists())
            .map(analysis)
            .collect(),
        commented: POINTS.iter().map(commented).collect(),
    })
}

/// Times of packets with a comment, by tshark.
fn commented(file: &Path) -> Vec<f64> {
    let fields = ["-Y", "frame.comment", "-T", "fields", "-e", "frame.time_epoch"];
    let output = Command::new("tshark").arg("-r").arg(file).args(fields).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(|time| time.parse().unwrap()).collect()
}

impl Scene {
    fn of<'a>(&'a self, point: &str, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.lines[point].iter().filter(move |line| line["type"] == kind)
    }

    /// Sum of a number of the attempts' packets, less one each.
    fn repeated(&self, point: &str, packets: &str) -> u64 {
        self.of(point, "attempt").map(|attempt| attempt[packets].as_u64().unwrap().saturating_sub(1)).sum()
    }

    /// Sum of findings of the host.
    fn found(&self, point: &str, kind: &str) -> u64 {
        let of_kind = self.of(point, "host").filter(|finding| finding["kind"] == kind);
        of_kind.map(|finding| finding["count"].as_u64().unwrap()).sum()
    }

    fn counter(&self, host: &str, name: &str) -> u64 {
        self.truth["counters"][host][name].as_u64().unwrap()
    }

    /// Attempts of the last hour when the watch ended.
    fn hour(&self, point: &str) -> &Value {
        &self.of(point, "summary").last().unwrap()["hour"]
    }
}

/// Attempts by cause, of a watch or an analysis.
fn causes(result: &Value) -> BTreeMap<String, u64> {
    let causes = result["causes"].as_array().unwrap().iter();
    causes
        .map(|cause| (cause["kind"].as_str().unwrap().to_owned(), cause["group"]["attempts"].as_u64().unwrap()))
        .collect()
}

/// Checks that each count of a watch is the kernel's, and that its causes are those of the capture.
fn check(name: &str, scene: &Scene) {
    for point in POINTS {
        assert_eq!(scene.truth["codes"][point], 0, "{name}, {point}");
        let last = scene.of(point, "summary").last().unwrap();
        assert_eq!((&last["missed"], &last["forgotten"]), (&0.into(), &0.into()), "{name}, {point}");
        let (hour, analysis) = (scene.hour(point), &scene.analyses[point]);
        for (watched, captured) in [("attempts", "attempts"), ("completed", "successes"), ("failed", "failures")] {
            assert_eq!(hour[watched], analysis["handshakes"][captured], "{name}, {point}: {watched}");
        }
        let (watched, captured) = (causes(hour), causes(analysis));
        let all: u64 = captured.values().sum();
        let same: u64 = captured.iter().map(|(kind, n)| *n.min(watched.get(kind).unwrap_or(&0))).sum();
        assert!(same * 20 >= all * 19, "{name}, {point}: {watched:?}, in the capture {captured:?}");
        let slow_or_failed = scene.of(point, "attempt").count() as u64;
        let counts = ["slow", "failed"].map(|count| hour[count].as_u64().unwrap());
        assert_eq!(slow_or_failed, counts[0] + counts[1], "{name}, {point}");
    }
    let connections = &scene.truth["connections"];
    assert_eq!(&scene.hour("client")["attempts"], connections, "{name}");
    let retransmitted = scene.counter("client", "TCPSynRetrans");
    assert_eq!(scene.repeated("client", "syns"), retransmitted, "{name}");
    assert_eq!(scene.found("client", "syn_retransmitted"), retransmitted, "{name}");
    let retransmitted = scene.counter("server", "TCPSynRetrans");
    assert_eq!(scene.repeated("server", "synacks"), retransmitted, "{name}");
    assert_eq!(scene.found("server", "syn_retransmitted"), retransmitted, "{name}");
    let dropped = ["listen_queue_overflow", "listen_drop"].map(|kind| scene.found("server", kind));
    assert_eq!(dropped[0] + dropped[1], scene.counter("server", "ListenDrops"), "{name}");
}

#[test]
fn counts_are_those_of_the_kernel_and_causes_those_of_a_capture() {
    let scene = |(name, expected): (&str, &[&str])| {
        let Some(scene) = make(name, SECONDS) else { return };
        check(name, &scene);
        let causes = causes(scene.hour("client"));
        let affected: u64 = expected.iter().filter_map(|kind| causes.get(*kind)).sum();
        assert!(affected >= 3, "{name}: {causes:?}");
    };
    // Machines of one processor each, two at a time.
    std::thread::scope(|scope| {
        let (first, second) = SCENES.split_at(2);
        let other = scope.spawn(move || first.iter().copied().for_each(scene));
        second.iter().copied().for_each(scene);
        other.join().unwrap();
    });
}

/// Changes of the system's clock in the scene `clock` so far, by third of its time, seconds.
const STEPS: [f64; 3] = [0.0, 3_600.0, -3_600.0];

#[test]
fn a_clock_that_is_set_changes_no_count_and_no_capture() {
    let Some(scene) = make("clock", SECONDS) else { return };
    assert_eq!(scene.hour("client")["attempts"], scene.truth["connections"]);
    assert_eq!(scene.repeated("client", "syns"), scene.counter("client", "TCPSynRetrans"));
    assert_eq!(scene.repeated("server", "synacks"), scene.counter("server", "TCPSynRetrans"));
    let end = scene.truth["ended"].as_f64().unwrap();
    for point in POINTS {
        assert_eq!(scene.truth["codes"][point], 0, "{point}");
        let last = scene.of(point, "summary").last().unwrap();
        assert!((last["time"].as_f64().unwrap() - end).abs() < 5.0, "{point}: {last}, {end}");
        // Times are those of the clock when the attempt was decided.
        let times: Vec<f64> = scene.of(point, "attempt").map(|attempt| attempt["time"].as_f64().unwrap()).collect();
        let start = end - STEPS[2] - f64::from(SECONDS + 300);
        let third = |time: &f64| {
            let is_then = |step: &f64| (start..start + f64::from(SECONDS + 300)).contains(&(time - step));
            STEPS.iter().position(is_then).unwrap_or_else(|| panic!("{point}: {time}, from {start}"))
        };
        let thirds: Vec<usize> = times.iter().map(third).collect();
        assert!(thirds.is_sorted() && thirds.ends_with(&[2]), "{point}: {thirds:?}");
        assert!(thirds.starts_with(&[0]) && thirds.contains(&1), "{point}: {thirds:?}");
        // The ring has each attempt, with the same time.
        assert_eq!(scene.commented[point].len(), times.len(), "{point}");
        let same = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-6;
        assert!(times.iter().zip(&scene.commented[point]).all(same), "{point}: {times:?} {:?}", scene.commented[point]);
    }
}

/// 400 ms of a million SYNs per second, which no other machine could send without losses of its own.
#[test]
fn a_flood_of_a_million_syns_per_second_makes_no_attempt_fail() {
    let Some(scene) = make("flood", 30) else { return };
    for point in POINTS {
        assert_eq!(scene.truth["codes"][point], 0, "{point}");
        let last = scene.of(point, "summary").last().unwrap();
        assert_eq!((&last["missed"], &last["hour"]["failed"]), (&0.into(), &0.into()), "{point}");
        let sizes = scene.truth["memory_kb"][point].as_array().unwrap().iter().flat_map(Value::as_u64);
        assert!(sizes.max().unwrap() < 100_000, "{point}");
    }
    let connections = scene.truth["connections"].as_u64().unwrap();
    assert_eq!(scene.hour("client")["attempts"], connections);
    assert_eq!(scene.repeated("client", "syns"), scene.counter("client", "TCPSynRetrans"));
    // Between the flood and the server, attempts are left out at most while it lasts and its attempts wait for their decision.
    let last = scene.of("server", "summary").last().unwrap();
    assert!(last["packets"].as_u64() > Some(400_000) && last["left_out"].as_u64() > Some(0), "{last}");
    let counted = last["hour"]["attempts"].as_u64().unwrap();
    assert!((connections / 2..connections).contains(&counted), "{counted} of {connections}");
    for attempt in scene.of("server", "attempt") {
        let is_same =
            |other: &Value| (&other["client"], &other["outcome"]) == (&attempt["client"], &attempt["outcome"]);
        assert!(scene.of("client", "attempt").any(is_same), "{attempt}");
    }
}

/// Memory after a quarter of the time is that at the end: windows of an hour are full after 65 min.
#[test]
#[ignore = "make test-all"]
fn full_size_memory_is_constant_for_hours_of_light_traffic() {
    let Some(scene) = make("light", HOURS * 3_600) else { return };
    for point in POINTS {
        let sizes: Vec<u64> =
            scene.truth["memory_kb"][point].as_array().unwrap().iter().flat_map(Value::as_u64).collect();
        let largest = |sizes: &[u64]| sizes.iter().copied().max().unwrap();
        let (before, after) = sizes.split_at(sizes.len() / 2);
        assert!(largest(after) <= largest(before) * 11 / 10, "{point}: {sizes:?}");
        assert!(largest(after) < 100_000, "{point}: {sizes:?}");
    }
    assert_eq!(scene.repeated("client", "syns"), scene.counter("client", "TCPSynRetrans"));
}

/// Duration of the light traffic, hours of virtual time.
const HOURS: u32 = 4;

//! Helpers for the tests within the machine.

use serde_json::Value;
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Checks that the test runs within a machine; to be called first, as on a host it would change the host's network.
pub(super) fn only_here() {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    assert_eq!(name.trim(), "testbed", "runs within a machine only; another test starts it there");
}

/// Runs a command line without quotation marks.
pub(super) fn attempt(line: &str) -> Output {
    let mut words = line.split_whitespace();
    let program = words.next().expect("a program");
    Command::new(program).args(words).output().unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// Runs a command line, which must succeed; returns its output.
pub(super) fn run(line: &str) -> String {
    let output = attempt(line);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {words}");
    String::from_utf8(output.stdout).expect("text")
}

/// Runs a command line, which must be rejected with `said` in the message.
pub(super) fn refused(line: &str, said: &str) {
    let output = attempt(line);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{line}: it was taken");
    assert!(words.contains(said), "{line}: no '{said}' in: {words}");
}

/// Unloads a module of gentle, which must not be in use.
pub(super) fn unload(scheme: &str) {
    let name = std::ffi::CString::new(format!("sch_{scheme}")).expect("a name");
    rustix::system::delete_module(&name, 0).unwrap_or_else(|error| panic!("{scheme}: {error}"));
}

/// Creates a device that accepts every packet.
pub(super) fn dummy(name: &str) {
    run(&format!("ip link add {name} type dummy"));
    run(&format!("ip link set {name} up"));
}

/// Qdiscs of a device with their counters.
pub(super) fn qdiscs(dev: &str) -> Vec<Value> {
    let text = run(&format!("tc -s -j qdisc show dev {dev}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Qdisc of this kind.
pub(super) fn qdisc(dev: &str, kind: &str) -> Option<Value> {
    qdiscs(dev).into_iter().find(|qdisc| qdisc["kind"] == kind)
}

/// Options of the qdisc of this kind.
pub(super) fn options(dev: &str, kind: &str) -> Value {
    qdisc(dev, kind).map_or(Value::Null, |qdisc| qdisc["options"].clone())
}

/// Waits until every qdisc of a device is empty by all counters, for `limit` at most. Reads text: the JSON of tc 6.1 is not valid where there is an
/// hfsc.
pub(super) fn drains(dev: &str, limit: Duration, what: &str) {
    let began = Instant::now();
    let mut pause = Duration::from_millis(10);
    loop {
        let text = run(&format!("tc -s qdisc show dev {dev}"));
        let mut backlogs = text.lines().filter(|line| line.starts_with(" backlog"));
        if backlogs.all(|backlog| backlog.starts_with(" backlog 0b 0p")) {
            return;
        }
        assert!(began.elapsed() < limit, "{what}: {text}");
        sleep(pause);
        pause = pause * 3 / 2;
    }
}

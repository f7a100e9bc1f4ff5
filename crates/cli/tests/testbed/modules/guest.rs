//! What the tests within the machine share.

use serde_json::Value;
use std::process::{Command, Output};

/// To be called first by every test that runs within: on a host it would change the host's network.
pub(super) fn only_here() {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    assert_eq!(
        name.trim(),
        "testbed",
        "runs within a machine only; another test starts it there"
    );
}

/// A command line without quotation marks.
pub(super) fn attempt(line: &str) -> Output {
    let mut words = line.split_whitespace();
    let program = words.next().expect("a program");
    Command::new(program)
        .args(words)
        .output()
        .unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// One that has to succeed; returns its output.
pub(super) fn run(line: &str) -> String {
    let output = attempt(line);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {words}");
    String::from_utf8(output.stdout).expect("text")
}

/// One that has to be refused, with `said` among what is said.
pub(super) fn refused(line: &str, said: &str) {
    let output = attempt(line);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{line}: it was taken");
    assert!(words.contains(said), "{line}: no '{said}' in: {words}");
}

/// Takes a module of ours out of the kernel, which nothing may use any more.
pub(super) fn unload(scheme: &str) {
    let name = std::ffi::CString::new(format!("sch_{scheme}")).expect("a name");
    rustix::system::delete_module(&name, 0).unwrap_or_else(|error| panic!("{scheme}: {error}"));
}

/// A device that takes everything sent to it.
pub(super) fn dummy(name: &str) {
    run(&format!("ip link add {name} type dummy"));
    run(&format!("ip link set {name} up"));
}

/// The qdiscs of a device with their counters.
pub(super) fn qdiscs(dev: &str) -> Vec<Value> {
    let text = run(&format!("tc -s -j qdisc show dev {dev}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The qdisc of this kind.
pub(super) fn qdisc(dev: &str, kind: &str) -> Option<Value> {
    qdiscs(dev).into_iter().find(|qdisc| qdisc["kind"] == kind)
}

/// The options of the qdisc of this kind.
pub(super) fn options(dev: &str, kind: &str) -> Value {
    qdisc(dev, kind).map_or(Value::Null, |qdisc| qdisc["options"].clone())
}

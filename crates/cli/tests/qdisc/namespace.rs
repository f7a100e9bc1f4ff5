//! Network namespace with a pair of devices and its own `/run`.

use gentle_testkit::unshare;
use std::path::Path;
use std::process::Output;

/// Setup for every script; `wan` and `peer` are the two ends of a cable. It waits until the kernel reports both as up, for
/// scripts compare the state of devices.
const BEFORE: &str = "\
mount -t tmpfs none /run
mount -t sysfs none /sys
ip link add wan type veth peer name peer
ip link set wan up
ip link set peer up
timeout 5 sh -c 'until grep -q up /sys/class/net/wan/operstate && grep -q up /sys/class/net/peer/operstate; do sleep 0.01; done'
";

/// Runs a shell script in a new namespace; `None` if that is not permitted.
pub(crate) fn run(script: &str) -> Option<Output> {
    unshare::run(Path::new(env!("CARGO_BIN_EXE_gentle")), BEFORE, script)
}

/// Standard output of a script, which must succeed.
pub(crate) fn stdout(script: &str) -> Option<String> {
    let output = run(script)?;
    let text = |bytes| String::from_utf8(bytes).expect("text");
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{script}\n{stdout}{stderr}");
    Some(stdout)
}

/// Whether the kernel has these queues; prints a message if not.
pub(crate) fn has(queues: &[&str]) -> bool {
    let missing = queues
        .iter()
        .find(|queue| run(&format!("tc qdisc add dev wan root {queue}")).is_none_or(|output| !output.status.success()));
    if let Some(queue) = missing {
        eprintln!("skipped: this kernel has no {queue}");
    }
    missing.is_none()
}

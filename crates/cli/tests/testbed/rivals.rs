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
    let shown = deployed(
        "dualpi2 limit 77 alpha 0.5 overflow",
        "htb rate=20mbit child=spa target=20ms",
    );
    for words in ["htb 5a1:", "20mbit", "spa 5a2:", "target 20ms"] {
        assert!(shown.contains(words), "{shown}");
    }
    let shown = deployed(
        "tbf rate 5mbit burst 3000 latency 20ms",
        "tbf rate=20mbit child=fq maxrate=1mbit",
    );
    assert!(shown.contains("fq 5a2:"), "{shown}");
    assert!(!shown.contains("handshakes"), "{shown}");
    let shown = deployed("fq limit 77 maxrate 2mbit", "dualpi2 overflow target=10ms");
    for words in ["dualpi2 5a1:", "target 10ms", "memory_limit_bytes 30280000"] {
        assert!(shown.contains(words), "{shown}");
    }
}

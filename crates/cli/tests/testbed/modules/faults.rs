//! Faults that the debugging kernel must report: without this test, the absence of reports would prove nothing.

use super::laboratory::{NOT_STOPPED, kernel_folder};
use crate::kernel::{kernel, machine};
use gentle_testbed::Command;
use gentle_testbed::build::{Cache, Flavour, modules};

/// Faults of `kernel/testing/faults`, and the start of the kernel's report of each.
const FAULTS: [(&str, &str); 12] = [
    ("double-free", "BUG: KASAN: double-free in faults_"),
    ("free-timer", "ODEBUG: free active"),
    ("leak", "unreferenced object 0x"),
    ("list", "list_del corruption"),
    ("lock-context", "WARNING: inconsistent lock state"),
    ("lock-order", "WARNING: possible circular locking dependency detected"),
    ("out-of-bounds", "BUG: KASAN: slab-out-of-bounds in faults_out_of_bounds"),
    ("rcu", "WARNING: suspicious RCU usage"),
    ("shift", "UBSAN: shift-out-of-bounds in "),
    ("sleep", "BUG: sleeping function called from invalid context"),
    ("use-after-free", "BUG: KASAN: slab-use-after-free in faults_use_after_free"),
    ("warn", "gentle_faults: as asked for"),
];

/// Each fault needs a separate machine: lockdep is off after its first report, and KASAN reports only once.
#[test]
fn the_debugging_kernel_reports_every_kind_of_fault() {
    let Some(kernel) = kernel() else { return };
    if kernel.flavour != Flavour::Debug {
        eprintln!("skipped: the plain kernel watches for nothing (GENTLE_TESTBED_KERNEL=debug)");
        return;
    }
    let sources = kernel_folder().join("testing/faults");
    let built = modules(&kernel, &sources, &Cache::of_user().unwrap(), &NOT_STOPPED).unwrap();
    for (fault, report) in FAULTS {
        let mut machine = machine(kernel.clone());
        machine.modules = built.clone();
        let script = format!("echo {fault} >/proc/gentle_faults");
        let command = Command { argv: vec!["sh".to_owned(), "-c".to_owned(), script] };
        let outcome = machine.run(command, &NOT_STOPPED, &|_| {}).unwrap();
        assert_eq!(outcome.answer.status, 0, "{fault}: {outcome:?}");
        assert!(!outcome.warnings().is_empty(), "{fault}: {outcome:?}");
        let blind = |line: &String| line.contains("no longer watches locks");
        if fault.starts_with("lock-") {
            assert!(outcome.console.lines().iter().any(blind), "{outcome:#?}");
        }
        let leaks = outcome.leaks.as_deref().unwrap_or_default().lines();
        let mut said = outcome.console.lines().iter().map(String::as_str).chain(leaks);
        assert!(said.any(|line| line.contains(report)), "{fault}: no '{report}' in {outcome:#?}");
    }
}

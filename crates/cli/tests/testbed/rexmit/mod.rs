//! Command `gentle rexmit` on a real kernel. Each of these tests runs twice: outside, it boots a machine, in which the
//! same test of the same program does the work.

mod changes;
mod engine;
mod kernel_engine;
mod learned;
mod network;
mod published;

use crate::kernel::{exec, kernel};

/// Environment variable that is set in tests inside the machine.
const INSIDE: &str = "GENTLE_TESTS_INSIDE";

/// Whether this is the machine. If not, runs the named test in a machine, where it must pass.
fn inside(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    if kernel().is_none() {
        return false;
    }
    let this = std::env::current_exe().unwrap();
    let this = this.to_str().unwrap();
    let variable = format!("{INSIDE}=1");
    let again = ["env", &variable, this, "--exact", test, "--nocapture"];
    let output = exec(&[], &again).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
    // Measurements are shown if the test is run with --nocapture.
    for line in said.lines() {
        if let Some(row) = line.find('|') {
            println!("{}", &line[row..]);
        }
    }
    false
}

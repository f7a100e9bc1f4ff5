//! The simulator gives the same bytes in WebAssembly as natively.

use std::fs;
use std::path::Path;
use std::process::Command;

const TARGET: &str = "wasm32-unknown-unknown";

/// Standard output of a program, which must succeed.
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| {
        panic!("{command:?}: {error}; scripts/bootstrap test installs what is missing")
    });
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {complaints}");
    String::from_utf8(output.stdout).expect("text")
}

/// Runs the program of a module that imports nothing; succeeds unless it traps.
const RUN: &str = "const bytes = require('fs').readFileSync(process.argv[1]);
const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), {});
exports.main(0, 0);";

/// Builds the program such that it traps unless it finds `digest`; returns whether it ran to its end in Node.js.
fn finds(digest: &str) -> bool {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wasm");
    output(
        Command::new(env!("CARGO"))
            .args([
                "build",
                "--locked",
                "--package=gentle-sim-wasm",
                "--target",
                TARGET,
            ])
            .arg("--target-dir")
            .arg(&folder)
            .env("GENTLE_EXPECTED", digest),
    );
    let module = folder.join(TARGET).join("debug/gentle-sim-wasm.wasm");
    assert!(fs::metadata(&module).is_ok(), "cargo has built it");
    let run = Command::new("node").args(["-e", RUN]).arg(module).output();
    let run = run.expect("node runs; scripts/bootstrap test installs it");
    let complaints = String::from_utf8_lossy(&run.stderr);
    // A trap is the module's answer; any other failure is an error of the test.
    assert!(
        run.status.success() || complaints.contains("RuntimeError: unreachable"),
        "{complaints}"
    );
    run.status.success()
}

#[test]
fn webassembly_gives_native_bytes() {
    let digest = output(&mut Command::new(env!("CARGO_BIN_EXE_gentle-sim-wasm")));
    let digest = digest.trim();
    assert_eq!(digest.len(), 64, "{digest}");
    assert!(
        finds(digest),
        "the records of runs in WebAssembly have other bytes"
    );
    // The check can fail.
    assert!(!finds("another digest"));
}

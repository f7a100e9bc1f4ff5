//! Wire engine as a process on a host.

use super::network::{Network, run};
use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Engine that runs until it is stopped.
pub(crate) struct Engine {
    process: Child,
}

impl Engine {
    /// Starts `gentle rexmit` on a host; returns when it listens.
    pub(crate) fn start(network: &Network, host: &str, arguments: &[&str]) -> Engine {
        let interface = if host == "client" { "c0" } else { "s0" };
        let mut process = network
            .command(host, cargo_bin("gentle").to_str().unwrap())
            .args(["rexmit", "--interface", interface])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let mut errors = BufReader::new(process.stderr.take().unwrap());
        // The kernel under test has no Landlock, which is a warning.
        while !said.contains("watching") {
            let read = errors.read_line(&mut said).unwrap();
            assert!(read > 0, "{said}");
        }
        Engine { process }
    }

    /// Status of the engine.
    pub(crate) fn status(&self) -> Value {
        let text = run(Command::new(cargo_bin("gentle")).args(["rexmit", "status", "--json"]));
        serde_json::from_str(&text).unwrap()
    }

    /// Suspends or resumes the engine.
    pub(crate) fn signal(&self, signal: &str) {
        let process = self.process.id().to_string();
        run(Command::new("sh").args(["-c", "kill -$1 $0", &process, signal]));
    }

    /// Terminates the engine as systemd does; returns its last output.
    pub(crate) fn stop(self) -> String {
        let process = self.process.id().to_string();
        run(Command::new("sh").args(["-c", "kill -TERM $0", &process]));
        let output = self.process.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

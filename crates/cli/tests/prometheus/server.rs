//! Programs of a test, and HTTP requests to them.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

/// Address of Prometheus.
pub(crate) const PROMETHEUS: &str = "127.0.0.1:9090";

/// Longest wait for an event.
const PATIENCE: Duration = Duration::from_secs(30);

/// Program that is ended with its test.
pub(crate) struct Running(Child);

impl Running {
    pub(crate) fn start(command: &mut Command) -> Running {
        Running(command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}; see scripts/bootstrap test")))
    }

    /// Ends the program with SIGTERM.
    pub(crate) fn end(mut self) -> ExitStatus {
        let pid = i32::try_from(self.0.id()).expect("a process");
        kill(Pid::from_raw(pid), Signal::SIGTERM).expect("a running process");
        self.0.wait().expect("a child")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until `done` returns a value; otherwise fails with what `state` returns.
#[track_caller]
pub(crate) fn wait<T>(mut done: impl FnMut() -> Option<T>, state: impl FnOnce() -> String) -> T {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        if let Some(value) = done() {
            return value;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("not within {PATIENCE:?}: {}", state());
}

/// Body of a page.
pub(crate) fn get(address: &str, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    // HTTP/1.0, so that the answer has no chunks.
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
    body.ok_or_else(|| io::Error::other(answer))
}

/// Answer of Prometheus' API, which must be a success without warnings.
pub(crate) fn api(path: &str) -> Value {
    let text = get(PROMETHEUS, &format!("/api/v1/{path}")).expect("an answer");
    let answer: Value = serde_json::from_str(&text).expect("JSON");
    assert!(answer["status"] == "success" && answer["warnings"].is_null(), "{path}: {answer}");
    answer["data"].clone()
}

/// Results of an expression.
pub(crate) fn query(expression: &str) -> Vec<Value> {
    let escaped: String = expression.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let data = api(&format!("query?query={escaped}"));
    data["result"].as_array().unwrap_or_else(|| panic!("{expression}: {data}")).clone()
}

/// Value of an expression with one result; `None` without one.
pub(crate) fn value(expression: &str) -> Option<f64> {
    let found = query(expression);
    assert!(found.len() <= 1, "{expression}: {found:?}");
    found.first()?["value"][1].as_str()?.parse().ok()
}

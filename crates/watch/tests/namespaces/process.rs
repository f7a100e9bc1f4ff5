//! Watch in a separate process: this test binary, started again with only the test [`watches_until_standard_input_ends`].

use crate::network::PORT;
use gentle_host::Finding;
use gentle_packets::Host;
use gentle_trace::Options;
use gentle_trace::live::{Attempt, Window};
use gentle_units::Nanos;
use gentle_watch::{Config, Counts, Observer, Summary, Watch};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// Variables with the folder of the ring, which may be empty, and the memory limit.
const FOLDER: &str = "GENTLE_WATCH_TEST_FOLDER";
const MEMORY: &str = "GENTLE_WATCH_TEST_MEMORY";

/// Watch of `eth0` in another process, which is killed when this value is dropped.
pub(crate) struct Process {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
}

impl Process {
    /// Starts a watch on a host, with a ring of 1 MiB if there is a folder.
    pub(crate) fn start(host: &Host, folder: Option<&Path>, memory: u64) -> Process {
        let folder = folder.map(Path::to_owned).unwrap_or_default();
        let mut child = host.run(move || {
            Command::new(std::env::current_exe().expect("this program"))
                .args(["--ignored", "--exact", "process::watches_until_standard_input_ends", "--nocapture"])
                .env(FOLDER, folder)
                .env(MEMORY, memory.to_string())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("a process")
        });
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().expect("a pipe"));
        let (sender, lines) = channel();
        // Lines are read at once, so that the watch never waits for a reader.
        thread::spawn(move || {
            let values = BufReader::new(stdout).lines().map_while(Result::ok);
            let values = values.filter_map(|line| serde_json::from_str(&line).ok()).filter(Value::is_object);
            for value in values {
                let _ = sender.send(value);
            }
        });
        let process = Process { child, stdin, lines };
        assert_eq!(process.next()["type"], "open");
        process
    }

    /// Next line of the watch.
    pub(crate) fn next(&self) -> Value {
        self.lines.recv().expect("the watch has not ended")
    }

    /// Ends the watch; returns all lines that are left.
    pub(crate) fn end(mut self) -> Vec<Value> {
        drop(self.stdin.take());
        let lines = self.lines.iter().collect();
        assert!(self.child.wait().expect("an end").success());
        lines
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Prints what is found; of the attempts, only those to the server's port.
struct Printer;

impl Printer {
    fn print(&self, kind: &str, value: Value) {
        let line = serde_json::json!({ "type": kind, "value": value });
        writeln!(std::io::stdout().lock(), "\n{line}").expect("a reader");
    }
}

impl Observer for Printer {
    fn attempt(&mut self, attempt: &Attempt, _is_listed: bool) {
        if attempt.server.port() == PORT {
            self.print("attempt", serde_json::to_value(attempt).expect("JSON"));
        }
    }

    fn summary(&mut self, summary: Summary) {
        self.print("summary", serde_json::to_value(summary).expect("JSON"));
    }

    fn counts(&mut self, _counts: &Counts) {}

    fn minute(&mut self, _minute: Window) {}

    fn host(&mut self, _finding: Finding, _repeats: bool) {}

    fn limit_ended(&mut self, _limit: Finding) {}

    fn note(&mut self, sentence: String) {
        self.print("note", sentence.into());
    }

    fn comment(&self, attempt: &Attempt) -> String {
        format!("attempt of port {}", attempt.client.port())
    }
}

#[test]
#[ignore = "other tests start it as a process"]
fn watches_until_standard_input_ends() {
    let variable = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    let (folder, memory) = (PathBuf::from(variable(FOLDER)), variable(MEMORY).parse().expect("a size"));
    let config = Config {
        device: Some("eth0".to_owned()),
        options: Options { memory_limit: memory, ..Options::default() },
        ring: (folder != Path::new("")).then_some((folder, 1 << 20)),
        top: 10,
        interval: Nanos::from_secs(1),
    };
    let mut watch = Watch::open(config).expect("a watch");
    Printer.print("open", Value::Null);
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        stopped.store(true, Ordering::Relaxed);
    });
    watch.run(&stop, &mut Printer).expect("no error");
    let status = std::fs::read_to_string("/proc/self/status").expect("the status");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix("kB")?.trim().parse().ok());
    Printer.print("peak", Value::from(peak.map(|kb: u64| kb * 1024)));
}

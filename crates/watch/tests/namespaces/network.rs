//! Network of a client and a server, and a watch of one of them.

use gentle_host::{Finding, FindingKind};
use gentle_packets::{Host, Pair};
use gentle_trace::Options;
use gentle_trace::live::{Attempt, Window};
use gentle_units::Nanos;
use gentle_watch::{Config, Counts, Observer, Summary, Watch};
use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

pub(crate) const PORT: u16 = 80;
pub(crate) const SERVER: &str = "192.0.2.2:80";
pub(crate) const SERVER_V6: &str = "[2001:db8::2]:80";

/// Time within which everything that a test waits for happens, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Client and server, one of which is watched.
pub(crate) struct Network {
    hosts: Pair,
}

impl Deref for Network {
    type Target = Pair;

    fn deref(&self) -> &Pair {
        &self.hosts
    }
}

impl Network {
    /// Creates the network; `None` if that is not possible here.
    pub(crate) fn new() -> Option<Network> {
        let network = Network { hosts: Pair::new()? };
        // SYNs at 0, 1 and 2 s or, without linear timeouts, at 0, 1 and 3 s.
        network.client.sh("echo 2 > /proc/sys/net/ipv4/tcp_syn_retries");
        Some(network)
    }

    /// Connects `count` times at once, and closes each connection; returns those that were connected.
    pub(crate) fn connects(&self, address: &str, count: usize) -> Vec<Connected> {
        let address: SocketAddr = address.parse().expect("an address");
        let connects: Vec<JoinHandle<Option<Connected>>> =
            (0..count).map(|_| self.client.start(move || connect_once(address))).collect();
        connects.into_iter().filter_map(|connect| connect.join().expect("it ends")).collect()
    }

    /// Connects `count` times at once, and closes each connection; returns the number that were connected.
    pub(crate) fn connect(&self, address: &str, count: usize) -> usize {
        self.connects(address, count).len()
    }
}

/// Connection that was made and closed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Connected {
    /// Port of the client.
    pub(crate) port: u16,
    /// Time that the connect took.
    pub(crate) took: Duration,
}

/// Connects and closes after the server has closed its side; `None` if it was not connected.
pub(crate) fn connect_once(address: SocketAddr) -> Option<Connected> {
    let begin = Instant::now();
    let mut stream = TcpStream::connect(address).ok()?;
    let took = begin.elapsed();
    let port = stream.local_addr().expect("an address").port();
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let _ = stream.read(&mut [0]);
    Some(Connected { port, took })
}

/// Everything that a watch has reported.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) summaries: Vec<Summary>,
    pub(crate) minutes: Vec<Window>,
    pub(crate) found: Vec<Finding>,
    /// Findings in `found` that repeat the previous reading.
    pub(crate) repeats: u64,
    /// Limits that are no longer reached.
    pub(crate) ended: Vec<Finding>,
    pub(crate) notes: Vec<String>,
}

impl Seen {
    pub(crate) fn count(&self, matching: impl Fn(&Attempt) -> bool) -> usize {
        self.attempts.iter().filter(|attempt| matching(attempt)).count()
    }

    /// Number of SYNs, and of SYN/ACKs, that were sent again.
    pub(crate) fn repeated(&self) -> (u64, u64) {
        let again = |count: u16| u64::from(count.saturating_sub(1));
        self.attempts.iter().fold((0, 0), |sum, attempt| (sum.0 + again(attempt.syns), sum.1 + again(attempt.synacks)))
    }

    /// Number of events of a kind that the host reported.
    pub(crate) fn events(&self, kind: FindingKind) -> u64 {
        self.found.iter().filter(|finding| finding.kind == kind).map(|finding| finding.count).sum()
    }
}

struct Recorder(Arc<Mutex<Seen>>);

impl Recorder {
    fn record(&self, record: impl FnOnce(&mut Seen)) {
        record(&mut self.0.lock().expect("no panic"));
    }
}

impl Observer for Recorder {
    fn attempt(&mut self, attempt: &Attempt, _is_listed: bool) {
        self.record(|seen| seen.attempts.push(attempt.clone()));
    }

    fn summary(&mut self, summary: Summary) {
        self.record(|seen| seen.summaries.push(summary));
    }

    fn counts(&mut self, _counts: &Counts) {}

    fn minute(&mut self, minute: Window) {
        self.record(|seen| seen.minutes.push(minute));
    }

    fn host(&mut self, finding: Finding, repeats: bool) {
        self.record(|seen| {
            seen.repeats += u64::from(repeats);
            seen.found.push(finding);
        });
    }

    fn limit_ended(&mut self, limit: Finding) {
        self.record(|seen| seen.ended.push(limit));
    }

    fn note(&mut self, sentence: String) {
        self.record(|seen| seen.notes.push(sentence));
    }

    fn comment(&self, attempt: &Attempt) -> String {
        format!("attempt of port {}", attempt.client.port())
    }
}

/// Watch on a separate thread of a host.
pub(crate) struct Watching {
    seen: Arc<Mutex<Seen>>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// Settings of a watch of `eth0` without a ring.
pub(crate) fn config() -> Config {
    Config {
        device: Some("eth0".to_owned()),
        options: Options { memory_limit: 64_000_000, ..Options::default() },
        ring: None,
        top: 10,
        interval: Nanos::from_secs(1),
    }
}

/// Settings of a watch with a ring of this size in a folder.
pub(crate) fn with_ring(folder: impl Into<PathBuf>, size: u64) -> Config {
    Config { ring: Some((folder.into(), size)), ..config() }
}

impl Watching {
    pub(crate) fn start(host: &Host, config: Config) -> Watching {
        let (seen, stop) = (Arc::default(), Arc::default());
        let (recorder, stopped) = (Recorder(Arc::clone(&seen)), Arc::clone(&stop));
        let mut watch = host.run(move || Watch::open(config).expect("a watch"));
        let thread = host.start(move || {
            let mut recorder = recorder;
            watch.run(&stopped, &mut recorder).expect("no error");
        });
        Watching { seen, stop, thread }
    }

    /// Waits until something was reported; returns whether it was.
    pub(crate) fn sees(&self, mut expected: impl FnMut(&Seen) -> bool) -> bool {
        let deadline = Instant::now() + PATIENCE;
        while !expected(&self.seen.lock().expect("no panic")) {
            if self.thread.is_finished() || Instant::now() >= deadline {
                return false;
            }
            thread::sleep(Duration::from_millis(20));
        }
        true
    }

    /// Whether something was reported by now.
    pub(crate) fn sees_now(&self, expected: impl FnOnce(&Seen) -> bool) -> bool {
        expected(&self.seen.lock().expect("no panic"))
    }

    /// Waits until something was reported.
    #[track_caller]
    pub(crate) fn expect(&self, what: &str, expected: impl FnMut(&Seen) -> bool) {
        assert!(self.sees(expected), "{what}: {:#?}", self.seen.lock().expect("no panic"));
    }

    /// Waits until as many attempts were decided.
    #[track_caller]
    pub(crate) fn expect_attempts(&self, count: usize) {
        self.expect(&format!("{count} attempts"), |seen| seen.attempts.len() >= count);
    }

    /// Ends the watch.
    pub(crate) fn stop(self) -> Seen {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the watch has not failed");
        std::mem::take(&mut *self.seen.lock().expect("no panic"))
    }
}

//! Metrics in the OpenMetrics text format, version 1.0. The number of series is bounded: labels are causes, outcomes, and at most
//! [`PORTS`] ports of servers.

use crate::summary::Counts;
use gentle_host::{Finding, FindingKind};
use gentle_trace::live::{Attempt, Window};
use gentle_trace::results::{Cause, CauseKind};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

/// Upper bounds of the histogram, seconds. Pairs surround the times of SYNs: 1, 3 and 7 s.
const BUCKETS: [f64; 16] =
    [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.95, 1.5, 2.95, 3.5, 6.95, 7.95, 20.0];

/// Largest number of ports with series; attempts at further ones count for the port `other`.
const PORTS: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByOutcome {
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByCause {
    cause: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByPort {
    port: String,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByKind {
    kind: &'static str,
}

/// Time counter, seconds.
type Seconds = Counter<f64, AtomicU64>;

/// Counters of a watch.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    attempts: Family<ByOutcome, Counter>,
    by_port: Family<ByPort, Counter>,
    ports: Mutex<BTreeSet<u16>>,
    seconds: Histogram,
    caused: Family<ByCause, Counter>,
    waited: Family<ByCause, Seconds>,
    lookups: Counter,
    slow_lookups: Family<ByCause, Counter>,
    lookups_waited: Family<ByCause, Seconds>,
    host: Family<ByKind, Counter>,
    packets: Counter,
    missed: Counter,
    forgotten: Counter,
    left_out: Counter,
    sample: Gauge<f64, AtomicU64>,
    handshake_sample: Gauge<f64, AtomicU64>,
    connections: Gauge,
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics::new()
    }
}

/// Outcomes by which attempts are counted.
const OUTCOMES: [&str; 3] = ["prompt", "slow", "failed"];

impl Metrics {
    /// Metrics without attempts.
    pub fn new() -> Metrics {
        let mut registry = Registry::with_prefix("gentle_watch");
        let metrics = Metrics {
            attempts: Family::default(),
            by_port: Family::default(),
            ports: Mutex::default(),
            seconds: Histogram::new(BUCKETS),
            caused: Family::default(),
            waited: Family::default(),
            lookups: Counter::default(),
            slow_lookups: Family::default(),
            lookups_waited: Family::default(),
            host: Family::default(),
            packets: Counter::default(),
            missed: Counter::default(),
            forgotten: Counter::default(),
            left_out: Counter::default(),
            sample: Gauge::default(),
            handshake_sample: Gauge::default(),
            connections: Gauge::default(),
            registry: Registry::default(),
        };
        let help = "Connection attempts: completed without a wait (prompt), completed after one (slow), or failed";
        registry.register("attempts", help, metrics.attempts.clone());
        registry.register("port_attempts", "Connection attempts by port of the server", metrics.by_port.clone());
        let help = "Time from the first SYN until the handshake was complete";
        registry.register_with_unit("connect", help, Unit::Seconds, metrics.seconds.clone());
        let help = "Slow and failed attempts by cause, counted at the end of each minute";
        registry.register("caused", help, metrics.caused.clone());
        let help = "Time that attempts waited by cause, counted at the end of each minute";
        registry.register_with_unit("waited", help, Unit::Seconds, metrics.waited.clone());
        let help = "Lookups of names that ended, counted at the end of each minute";
        registry.register("lookups", help, metrics.lookups.clone());
        let help = "Slow and unanswered lookups of names by cause, counted at the end of each minute";
        registry.register("slow_lookups", help, metrics.slow_lookups.clone());
        let help = "Time that slow and unanswered lookups waited by cause, counted at the end of each minute";
        registry.register_with_unit("slow_lookups_waited", help, Unit::Seconds, metrics.lookups_waited.clone());
        let help =
            "Counters of the host that drop or repeat handshakes; of a limit, the readings at which it was reached";
        registry.register("host_events", help, metrics.host.clone());
        registry.register("packets", "Packets analysed", metrics.packets.clone());
        let help = "Packets that came faster than they were analysed";
        registry.register("missed_packets", help, metrics.missed.clone());
        let help = "Connections forgotten because memory was short";
        registry.register("forgotten_connections", help, metrics.forgotten.clone());
        let help = "Attempts that do not count because packets of them may have been missed";
        registry.register("left_out_attempts", help, metrics.left_out.clone());
        let help = "Fraction of the connections whose handshakes are analysed";
        let ratio = Unit::Other("ratio".to_owned());
        registry.register_with_unit("handshake_sample", help, ratio, metrics.handshake_sample.clone());
        let help = "Fraction of the connections whose data is analysed";
        registry.register_with_unit("sample", help, Unit::Other("ratio".to_owned()), metrics.sample.clone());
        registry.register(
            "connections",
            "Connections that are followed, closed ones for a minute",
            metrics.connections.clone(),
        );
        // Series exist from the start, so that their first increase is visible.
        for outcome in OUTCOMES {
            let _ = metrics.attempts.get_or_create(&ByOutcome { outcome });
        }
        for kind in CauseKind::ALL {
            let (number, waited) = match kind.is_of_lookups() {
                true => (&metrics.slow_lookups, &metrics.lookups_waited),
                false => (&metrics.caused, &metrics.waited),
            };
            let _ = (number.get_or_create(&cause(kind)), waited.get_or_create(&cause(kind)));
        }
        for kind in FindingKind::ALL {
            let _ = metrics.host.get_or_create(&ByKind { kind: kind.name() });
        }
        metrics.sample.set(1.0);
        metrics.handshake_sample.set(1.0);
        Metrics { registry, ..metrics }
    }

    /// Counts a decided attempt.
    pub fn attempt(&self, attempt: &Attempt) {
        let outcome = match (attempt.has_failed(), attempt.slow) {
            (true, _) => OUTCOMES[2],
            (false, true) => OUTCOMES[1],
            (false, false) => OUTCOMES[0],
        };
        self.attempts.get_or_create(&ByOutcome { outcome }).inc();
        let port = self.port(attempt);
        for each in OUTCOMES {
            let attempts = self.by_port.get_or_create(&ByPort { port: port.clone(), outcome: each });
            attempts.inc_by(u64::from(each == outcome));
        }
        if let Some(seconds) = attempt.connect_s {
            self.seconds.observe(seconds);
        }
    }

    /// Label of the server's port: the first ports that answered have series. A scan has no answers from others.
    fn port(&self, attempt: &Attempt) -> String {
        let port = attempt.server.port();
        let mut ports = self.ports.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if ports.len() < PORTS && !attempt.has_failed() {
            ports.insert(port);
        }
        if ports.contains(&port) { port.to_string() } else { "other".to_owned() }
    }

    /// Counts a finding of the host.
    pub fn host(&self, finding: &Finding) {
        self.host.get_or_create(&ByKind { kind: finding.kind.name() }).inc_by(finding.count);
    }

    /// Counts the causes and lookups of a minute.
    pub fn minute(&self, minute: &Window) {
        let count = |causes: &[Cause], number: &Family<ByCause, Counter>, waited: &Family<ByCause, Seconds>| {
            for found in causes {
                number.get_or_create(&cause(found.kind)).inc_by(found.group.attempts);
                waited.get_or_create(&cause(found.kind)).inc_by(found.group.waited_s);
            }
        };
        count(&minute.causes, &self.caused, &self.waited);
        if let Some(lookups) = &minute.lookups {
            self.lookups.inc_by(lookups.lookups);
            count(&lookups.causes, &self.slow_lookups, &self.lookups_waited);
        }
    }

    /// Updates what is known about the watch itself.
    pub fn counts(&self, counts: &Counts) {
        let raise = |counter: &Counter, to: u64| counter.inc_by(to.saturating_sub(counter.get()));
        raise(&self.packets, counts.packets);
        raise(&self.missed, counts.missed);
        raise(&self.forgotten, counts.forgotten);
        raise(&self.left_out, counts.left_out);
        self.sample.set(counts.sample);
        self.handshake_sample.set(counts.handshake_sample);
        self.connections.set(counts.connections as i64);
    }

    /// Formats all metrics.
    ///
    /// # Errors
    /// If the library cannot encode a metric.
    pub fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

fn cause(kind: CauseKind) -> ByCause {
    ByCause { cause: kind.name() }
}

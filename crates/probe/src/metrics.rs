//! Metrics in the OpenMetrics text format, version 1.0.

use crate::connect::{Connect, Event};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use std::fmt;
use std::net::SocketAddr;

/// Upper bounds of the histogram, seconds. Pairs surround the times of SYNs: 1, 3 and 7 s, and 2 s on Linux 6.5.
const BUCKETS: [f64; 18] =
    [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.95, 1.5, 1.95, 2.5, 2.95, 3.5, 6.95, 7.95, 10.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Address {
    target: String,
    address: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByOutcome {
    target: String,
    address: String,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByPacket {
    target: String,
    address: String,
    packet: &'static str,
}

/// Counters and histograms of all targets.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    connects: Family<ByOutcome, Counter>,
    lost: Family<ByPacket, Counter>,
    late: Family<Address, Counter>,
    skipped: Family<Address, Counter>,
    seconds: Family<Address, Histogram, fn() -> Histogram>,
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics::new()
    }
}

impl Metrics {
    /// Metrics without series.
    pub fn new() -> Metrics {
        let mut registry = Registry::with_prefix("gentle_probe");
        let histogram: fn() -> Histogram = || Histogram::new(BUCKETS);
        let seconds = Family::new_with_constructor(histogram);
        let (connects, lost, late, skipped) =
            (Family::default(), Family::default(), Family::default(), Family::default());
        registry.register("connects", "Connects that ended", connects.clone());
        let help = "Packets lost in completed handshakes";
        registry.register("lost", help, lost.clone());
        let help = "Completed handshakes whose SYN/ACK arrived after a needless retransmission";
        registry.register("late", help, late.clone());
        let help = "Connects not started because too many were under way or the machine was busy";
        registry.register("skipped", help, skipped.clone());
        registry.register_with_unit("connect", "Time until connected", Unit::Seconds, seconds.clone());
        Metrics { registry, connects, lost, late, skipped, seconds }
    }

    /// Counts an event. The series of an address that a name no longer has are removed.
    pub fn count(&self, event: &Event<'_>) {
        match event {
            Event::Connect(connect) => self.count_connect(connect),
            Event::Skipped { target, address, count } => {
                self.skipped.get_or_create(&series(target, *address)).inc_by(*count);
            }
            Event::Moved { target, from, .. } => self.remove(target, *from),
        }
    }

    fn count_connect(&self, connect: &Connect) {
        let series = series(&connect.target, connect.address);
        let Address { target, address } = series.clone();
        let outcome = connect.outcome.name();
        self.connects.get_or_create(&ByOutcome { target, address, outcome }).inc();
        // Series exist from the first connect on, so that their first increase is visible.
        for (packet, count) in lost_packets(connect) {
            let Address { target, address } = series.clone();
            self.lost.get_or_create(&ByPacket { target, address, packet }).inc_by(count.into());
        }
        self.late.get_or_create(&series).inc_by(connect.late.into());
        self.skipped.get_or_create(&series).inc_by(0);
        let times = self.seconds.get_or_create(&series);
        if connect.outcome == crate::Outcome::Connected {
            times.observe(connect.connect_s);
        }
    }

    fn remove(&self, target: &str, from: SocketAddr) {
        let series = series(target, Some(from));
        use crate::Outcome::{Connected, Error, Refused, TimedOut, Unreachable, Unresolved};
        for outcome in [Connected, Refused, Unreachable, TimedOut, Unresolved, Error] {
            let Address { target, address } = series.clone();
            self.connects.remove(&ByOutcome { target, address, outcome: outcome.name() });
        }
        for packet in ["syn", "synack", "unknown"] {
            let Address { target, address } = series.clone();
            self.lost.remove(&ByPacket { target, address, packet });
        }
        self.late.remove(&series);
        self.skipped.remove(&series);
        self.seconds.remove(&series);
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

fn series(target: &str, address: Option<SocketAddr>) -> Address {
    let address = address.map_or(String::new(), |address| address.ip().to_string());
    Address { target: target.to_owned(), address }
}

fn lost_packets(connect: &Connect) -> [(&'static str, u32); 3] {
    [("syn", connect.lost_syns), ("synack", connect.lost_synacks), ("unknown", connect.lost_unknown)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Outcome, VERSION};

    #[test]
    fn metrics_are_in_the_text_format() {
        let address: SocketAddr = "192.0.2.1:443".parse().expect("an address");
        let connect = Connect {
            version: VERSION,
            time: 0.0,
            target: "a\"b:443".to_owned(),
            address: Some(address),
            outcome: Outcome::Connected,
            connect_s: 1.02,
            rtt_s: Some(0.02),
            syns: 2,
            lost_syns: 1,
            lost_synacks: 0,
            lost_unknown: 0,
            late: false,
            unanswered: 0,
            error: None,
        };
        let metrics = Metrics::new();
        metrics.count(&Event::Connect(&connect));
        metrics.count(&Event::Skipped { target: "c:80", address: None, count: 3 });
        let text = metrics.text().expect("text");
        let labels = "target=\"a\\\"b:443\",address=\"192.0.2.1\"";
        for line in [
            "# TYPE gentle_probe_connects counter".to_owned(),
            format!("gentle_probe_connects_total{{{labels},outcome=\"connected\"}} 1"),
            format!("gentle_probe_lost_total{{{labels},packet=\"syn\"}} 1"),
            format!("gentle_probe_lost_total{{{labels},packet=\"synack\"}} 0"),
            format!("gentle_probe_late_total{{{labels}}} 0"),
            "gentle_probe_skipped_total{target=\"c:80\",address=\"\"} 3".to_owned(),
            format!("gentle_probe_connect_seconds_bucket{{le=\"0.95\",{labels}}} 0"),
            format!("gentle_probe_connect_seconds_bucket{{le=\"1.5\",{labels}}} 1"),
            "# EOF".to_owned(),
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        let to = "192.0.2.2:443".parse().expect("an address");
        metrics.count(&Event::Moved { target: &connect.target, from: address, to });
        assert!(!metrics.text().expect("text").contains("192.0.2.1"));
    }
}

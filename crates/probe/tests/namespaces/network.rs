//! Network of a client and a server, and the probes of the client.

use gentle_packets::Pair;
use gentle_probe::{Config, Connect, Event, Families, Outcome, Prober, Target, TargetSummary};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub(crate) const PORT: u16 = 80;
pub(crate) const SERVER: &str = "192.0.2.2:80";
pub(crate) const SERVER_V6: &str = "[2001:db8::2]:80";

/// Client that probes, and server.
pub(crate) struct Network {
    hosts: Pair,
}

impl Deref for Network {
    type Target = Pair;

    fn deref(&self) -> &Pair {
        &self.hosts
    }
}

/// Everything that a prober has reported.
pub(crate) struct Report {
    pub(crate) connects: Vec<Connect>,
    /// Number of connects that had ended when the network was changed.
    pub(crate) before_change: usize,
    pub(crate) skipped: u64,
    pub(crate) summaries: Vec<TargetSummary>,
}

impl Network {
    /// Creates the network; `None` if that is not possible here.
    pub(crate) fn new() -> Option<Network> {
        Some(Network { hosts: Pair::new()? })
    }

    /// Probes until `count` connects to each target have ended.
    pub(crate) fn probe(&self, targets: &[String], rate: f64, count: u64, timeout: Duration) -> Report {
        self.probe_with(targets, rate, count, timeout, |_| false, || ())
    }

    /// Probes, and calls `change` as soon as `is_time`, which gets the connects that have ended.
    pub(crate) fn probe_with(
        &self,
        targets: &[String],
        rate: f64,
        count: u64,
        timeout: Duration,
        is_time: impl Fn(&[Connect]) -> bool + Send + 'static,
        change: impl FnOnce() + Send + 'static,
    ) -> Report {
        let targets: Vec<Target> = targets.iter().map(|target| target.parse().expect("a target")).collect();
        let config = Config { targets, families: Families::Both, rate, count: Some(count), timeout };
        let probing = self.client.start(move || {
            let mut prober = Prober::new(config).expect("a prober");
            let mut report =
                Report { connects: Vec::new(), before_change: usize::MAX, skipped: 0, summaries: Vec::new() };
            let mut change = Some(change);
            let observe = &mut |event: &Event<'_>| match event {
                Event::Connect(connect) => {
                    report.connects.push((*connect).clone());
                    if let Some(change) = change.take_if(|_| is_time(&report.connects)) {
                        change();
                        report.before_change = report.connects.len();
                    }
                }
                Event::Skipped { count, .. } => report.skipped += count,
                Event::Moved { .. } => panic!("no target has a name"),
            };
            prober.run(&AtomicBool::new(false), observe).expect("probes");
            report.summaries = prober.summaries();
            report
        });
        probing.join().expect("the probes have ended")
    }
}

/// Rule of nft: the first `count` packets of each connection with these flags are dropped. Connections to different ports may
/// have the same port of the client.
pub(crate) fn drop_first(flags: &str, count: u32) -> String {
    format!(
        "nft 'add set inet loss seen {{ type inet_service . inet_service; flags dynamic; size 65535; }}; \
         add rule inet loss arriving tcp flags & (syn|ack) == {flags} \
         update @seen {{ tcp sport . tcp dport limit rate 1/hour burst {count} packets }} drop'"
    )
}

/// Drops the first SYNs of each connection at the server, and the first SYN/ACKs at the client.
pub(crate) fn lose(network: &Network, syns: u32, synacks: u32) -> impl FnOnce() + Send + use<> {
    let (client, server) = (Arc::clone(&network.client), Arc::clone(&network.server));
    move || {
        if syns > 0 {
            server.sh(&drop_first("syn", syns));
        }
        if synacks > 0 {
            client.sh(&drop_first("(syn|ack)", synacks));
        }
    }
}

/// Whether each target has been connected to often enough that the prober knows how fast the path is.
pub(crate) fn all_connected(connects: &[Connect], targets: &[String]) -> bool {
    targets.iter().all(|target| connects.iter().filter(|connect| connect.target == *target).count() >= 2)
}

/// Connects that ended after packets were dropped, all of which must be completed.
pub(crate) fn after_change(report: &Report) -> Vec<&Connect> {
    let connects: Vec<&Connect> = report.connects.iter().skip(report.before_change).collect();
    for connect in &connects {
        assert_eq!(connect.outcome, Outcome::Connected, "{connect:?}");
    }
    connects
}

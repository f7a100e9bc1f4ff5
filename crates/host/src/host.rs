//! Host: all sources together.

use crate::conntrack::Conntrack;
use crate::counters::{Counters, Values};
use crate::finding::Finding;
use crate::ledger::Ledger;
use crate::listeners::Listeners;
use crate::missing::{Missing, Source};
use crate::qdiscs::Qdiscs;
use crate::reasons::Reasons;
use crate::tcp_counters;

/// Counters of this host.
///
/// They are of the network namespace of the thread that calls [`Host::open`]; reasons of dropped packets are of the
/// machine ([`crate::FindingKind::is_of_machine`]). Memory is bounded, by [`crate::MAX_SOCKETS`] and
/// [`crate::MAX_QDISCS`].
#[derive(Debug)]
pub struct Host {
    counters: Option<Counters>,
    listeners: Option<Listeners>,
    conntrack: Option<Conntrack>,
    qdiscs: Option<Qdiscs>,
    reasons: Option<Reasons>,
    missing: Vec<Missing>,
    before: Option<Values>,
    ledger: Ledger,
}

impl Host {
    /// Opens all sources that are readable; [`Host::missing`] has the others.
    ///
    /// Files and sockets stay open, so privileges can be given up afterwards. Only the removal of the instance of tracefs,
    /// when the host is dropped, needs root again; otherwise the next call as root removes it.
    pub fn open() -> Host {
        let mut missing = Vec::new();
        let (counters, listeners) = (keep(Counters::open(), &mut missing), keep(Listeners::open(), &mut missing));
        let (conntrack, qdiscs) = (keep(Conntrack::open(), &mut missing), keep(Qdiscs::open(), &mut missing));
        let reasons = keep(Reasons::open(), &mut missing);
        Host { counters, listeners, conntrack, qdiscs, reasons, missing, before: None, ledger: Ledger::default() }
    }

    /// Sources that cannot be read, with the reason and with an action that makes them readable.
    pub fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// Findings since the previous read. The first read is the baseline: its findings are the limits that are reached now.
    pub fn read(&mut self) -> Vec<Finding> {
        let mut list = Vec::new();
        let now = self.counters.as_ref().and_then(Counters::read);
        let sockets = self.listeners.as_mut().and_then(Listeners::read).unwrap_or_default();
        list.extend(sockets.full());
        if let Some(now) = now {
            if let Some(before) = &self.before {
                let always_cookies = self.counters.as_ref().is_some_and(Counters::always_cookies);
                list.extend(sockets.drops(before, &now));
                list.extend(tcp_counters::findings(before, &now, always_cookies));
            }
            self.before = Some(now);
        }
        list.extend(self.read_conntrack());
        list.extend(self.qdiscs.as_mut().map(Qdiscs::read).unwrap_or_default());
        list.extend(self.reasons.as_mut().map(Reasons::read).unwrap_or_default());
        for finding in &mut list {
            self.ledger.enter(finding);
        }
        list
    }

    /// Present value of a counter of the group TcpExt, such as `TCPSynRetrans`; `None` if this kernel does not have it.
    pub fn counter(&self, name: &str) -> Option<u64> {
        self.counters.as_ref()?.read()?.get("TcpExt", name)
    }

    /// Findings of connection tracking, whose module can be loaded by a later rule of the firewall.
    fn read_conntrack(&mut self) -> Vec<Finding> {
        if self.conntrack.is_none() {
            self.conntrack = Conntrack::open().ok();
            if self.conntrack.is_some() {
                self.missing.retain(|missing| missing.source != Source::Conntrack);
            }
        }
        self.conntrack.as_mut().map(Conntrack::read).unwrap_or_default()
    }
}

/// The source, or a note that it is missing.
fn keep<T>(opened: Result<T, Missing>, missing: &mut Vec<Missing>) -> Option<T> {
    opened.map_err(|reason| missing.push(reason)).ok()
}

//! Lanes: a target in one address family, with the state of its probes.

use crate::recent::RecentTimes;
use crate::summary::Tally;
use std::net::SocketAddr;
use std::time::Instant;

/// Address of a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Addressing {
    /// The name has not been resolved yet.
    Pending,
    /// The name has addresses, but none in the family of this lane.
    Absent,
    /// The name cannot be resolved; the message says why.
    Unresolved(String),
    At(SocketAddr),
}

pub(crate) struct Lane {
    /// Target as given.
    pub(crate) target: String,
    pub(crate) addressing: Addressing,
    /// Due time of the next start; `None` before the first, and after the last.
    pub(crate) due: Option<Instant>,
    /// Connects started or skipped.
    pub(crate) slots: u64,
    /// Connects under way.
    pub(crate) under_way: usize,
    pub(crate) recent: RecentTimes,
    pub(crate) tally: Tally,
}

impl Lane {
    pub(crate) fn new(target: String, addressing: Addressing) -> Lane {
        Lane {
            target,
            addressing,
            due: None,
            slots: 0,
            under_way: 0,
            recent: RecentTimes::default(),
            tally: Tally::default(),
        }
    }

    pub(crate) fn address(&self) -> Option<SocketAddr> {
        match self.addressing {
            Addressing::At(address) => Some(address),
            Addressing::Pending | Addressing::Absent | Addressing::Unresolved(_) => None,
        }
    }

    /// Whether connects are started.
    pub(crate) fn is_active(&self) -> bool {
        matches!(self.addressing, Addressing::At(_) | Addressing::Unresolved(_))
    }

    /// Whether no connect is under way, and none will be started.
    pub(crate) fn is_done(&self, count: u64) -> bool {
        match self.addressing {
            Addressing::Pending => false,
            Addressing::Absent => self.under_way == 0,
            Addressing::Unresolved(_) | Addressing::At(_) => self.under_way == 0 && self.slots >= count,
        }
    }

    /// Adopts the addresses of a name in the family of this lane; returns the address used so far if it is replaced.
    ///
    /// An address in use is kept while the name has it, since some names change the order of their addresses at every
    /// resolution. An address is also kept if the name cannot be resolved any more.
    pub(crate) fn resolved(&mut self, addresses: &[SocketAddr], otherwise: Addressing) -> Option<SocketAddr> {
        let before = self.address();
        if before.is_some_and(|address| addresses.contains(&address)) {
            return None;
        }
        match (addresses.first(), before) {
            (Some(first), _) => {
                self.addressing = Addressing::At(*first);
                self.recent = RecentTimes::default();
                before
            }
            (None, Some(_)) => None,
            (None, None) => {
                self.addressing = otherwise;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_kept_while_the_name_has_it() {
        let [a, b] = ["192.0.2.1:80", "192.0.2.2:80"].map(|text| text.parse::<SocketAddr>().expect("an address"));
        let mut lane = Lane::new("a:80".to_owned(), Addressing::Pending);
        assert!(!lane.is_active() && !lane.is_done(0));
        assert_eq!(lane.resolved(&[], Addressing::Unresolved("no".to_owned())), None);
        assert!(lane.is_active() && lane.is_done(0));
        assert_eq!(lane.resolved(&[a, b], Addressing::Absent), None);
        assert_eq!(lane.resolved(&[b, a], Addressing::Absent), None);
        assert_eq!(lane.address(), Some(a));
        assert_eq!(lane.resolved(&[], Addressing::Absent), None);
        assert_eq!(lane.address(), Some(a));
        assert_eq!(lane.resolved(&[b], Addressing::Absent), Some(a));
        assert_eq!(lane.address(), Some(b));
    }
}

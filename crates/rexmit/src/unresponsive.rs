//! Hosts that do not answer, and get no more copies.

use crate::bounded::Bounded;
use gentle_wire::Address;

/// Maximum number of hosts in the table.
const CAPACITY: usize = 4096;

/// Number of consecutive unanswered handshakes of each host.
#[derive(Debug)]
pub(crate) struct UnresponsiveHosts {
    hosts: Bounded<Address, u32>,
    /// Number of unanswered handshakes from which on a host gets no copies; 0: no limit.
    limit: u32,
}

impl UnresponsiveHosts {
    pub(crate) fn new(limit: u32) -> UnresponsiveHosts {
        UnresponsiveHosts { hosts: Bounded::new(CAPACITY), limit }
    }

    /// Records an unanswered handshake.
    pub(crate) fn unanswered(&mut self, host: Address) {
        match self.hosts.get_mut(&host) {
            Some(count) => *count = count.saturating_add(1),
            None => {
                self.hosts.insert(host, 1);
            }
        }
    }

    /// Records an answer, which resets the count of the host.
    pub(crate) fn answered(&mut self, host: Address) {
        self.hosts.remove(&host);
    }

    /// Whether a host gets no copies until it answers.
    pub(crate) fn is_suppressed(&self, host: Address) -> bool {
        self.limit > 0 && self.hosts.get(&host).is_some_and(|count| *count >= self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_resets_the_count() {
        let (host, other) = (Address::v4([192, 0, 2, 1]), Address::v4([192, 0, 2, 2]));
        let mut hosts = UnresponsiveHosts::new(2);
        hosts.unanswered(host);
        assert!(!hosts.is_suppressed(host));
        hosts.unanswered(host);
        assert!(hosts.is_suppressed(host) && !hosts.is_suppressed(other));
        hosts.answered(host);
        assert!(!hosts.is_suppressed(host));
    }
}

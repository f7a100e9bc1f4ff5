//! Bound on the spurious copies (RFC 5682) to each network.

use crate::bounded::Bounded;
use ipnet::IpNet;

/// Maximum number of networks with a known deficit; the budget of all others is full.
const CAPACITY: usize = 16_384;

/// Maximum number of undecided or spurious copies to a network at a time: the number of connections that browsers open
/// to a host.
const MAX_COPIES: u32 = 6;

/// Cost of a copy, in handshakes. Over any period a network gets at most [`MAX_COPIES`] spurious copies plus one per hundred
/// handshakes.
const HANDSHAKES_PER_COPY: u32 = 100;

/// Budget of each network. A copy counts as spurious until it is known to have been needed.
#[derive(Debug)]
pub(crate) struct SpuriousBudget {
    /// Deficit from the full budget, in handshakes.
    deficits: Bounded<IpNet, u32>,
}

impl SpuriousBudget {
    pub(crate) fn new() -> SpuriousBudget {
        SpuriousBudget { deficits: Bounded::new(CAPACITY) }
    }

    /// Records the start of a handshake.
    pub(crate) fn opened(&mut self, network: IpNet) {
        self.give(network, 1);
    }

    /// Whether more than one copy is missing from the budget, after `more` copies: recent copies were, or may have been,
    /// spurious.
    pub(crate) fn has_deficit(&self, network: IpNet, more: u32) -> bool {
        let deficit = self.deficits.get(&network).copied().unwrap_or(0);
        deficit.saturating_add(more.saturating_mul(HANDSHAKES_PER_COPY)) > HANDSHAKES_PER_COPY
    }

    /// Charges for a copy; false if the budget does not suffice.
    pub(crate) fn copy(&mut self, network: IpNet) -> bool {
        let deficit = self.deficits.get(&network).copied().unwrap_or(0) + HANDSHAKES_PER_COPY;
        if deficit > MAX_COPIES * HANDSHAKES_PER_COPY {
            return false;
        }
        self.deficits.insert(network, deficit);
        true
    }

    /// Refunds `copies` that were not spurious.
    pub(crate) fn refund(&mut self, network: IpNet, copies: u32) {
        self.give(network, copies.saturating_mul(HANDSHAKES_PER_COPY));
    }

    fn give(&mut self, network: IpNet, handshakes: u32) {
        if let Some(deficit) = self.deficits.get_mut(&network) {
            *deficit = deficit.saturating_sub(handshakes);
            if *deficit == 0 {
                self.deficits.remove(&network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_costs_a_hundred_handshakes_unless_it_was_needed() {
        let network: IpNet = "192.0.2.0/24".parse().expect("a prefix");
        let mut budget = SpuriousBudget::new();
        let copies = |budget: &mut SpuriousBudget| (0..20).filter(|_| budget.copy(network)).count();
        assert_eq!(copies(&mut budget), 6);
        for _ in 0..250 {
            budget.opened(network);
        }
        assert_eq!(copies(&mut budget), 2);
        budget.refund(network, 3);
        assert_eq!(copies(&mut budget), 3);
        budget.refund(network, u32::MAX);
        assert_eq!(copies(&mut budget), 6);
    }
}

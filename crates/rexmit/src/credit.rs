//! Credit that bounds the needless copies to a network.

use crate::bounded::Bounded;
use ipnet::IpNet;

/// Maximum number of networks with a known deficit; the credit of all others is full.
const CAPACITY: usize = 16_384;

/// Maximum number of undecided or needless copies to a network at a time: the number of connections that browsers open
/// to a host.
pub(crate) const MOST: u32 = 6;

/// Cost of a copy, in handshakes. Over any period a network gets at most [`MOST`] needless copies plus one per hundred
/// handshakes.
const HANDSHAKES: u32 = 100;

/// Credit of each network. A copy counts as needless until it is known to have been needed.
#[derive(Debug)]
pub(crate) struct Credit {
    /// Deficit from the full credit, in handshakes.
    missing: Bounded<IpNet, u32>,
}

impl Credit {
    pub(crate) fn new() -> Credit {
        Credit {
            missing: Bounded::new(CAPACITY),
        }
    }

    /// Records the start of a handshake.
    pub(crate) fn opened(&mut self, network: IpNet) {
        self.give(network, 1);
    }

    /// Whether the network has used more than one copy of its credit: recent copies were, or may have been, needless.
    pub(crate) fn is_strained(&self, network: IpNet) -> bool {
        let missing = self.missing.get(&network).copied().unwrap_or(0);
        missing > HANDSHAKES
    }

    /// Charges for a copy; false if the credit does not suffice.
    pub(crate) fn copy(&mut self, network: IpNet) -> bool {
        let missing = self.missing.get(&network).copied().unwrap_or(0) + HANDSHAKES;
        if missing > MOST * HANDSHAKES {
            return false;
        }
        self.missing.insert(network, missing);
        true
    }

    /// Refunds `copies` that were not needless.
    pub(crate) fn refund(&mut self, network: IpNet, copies: u32) {
        self.give(network, copies.saturating_mul(HANDSHAKES));
    }

    fn give(&mut self, network: IpNet, handshakes: u32) {
        if let Some(missing) = self.missing.get_mut(&network) {
            *missing = missing.saturating_sub(handshakes);
            if *missing == 0 {
                self.missing.remove(&network);
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
        let mut credit = Credit::new();
        let copies = |credit: &mut Credit| (0..20).filter(|_| credit.copy(network)).count();
        assert_eq!(copies(&mut credit), 6);
        for _ in 0..250 {
            credit.opened(network);
        }
        assert_eq!(copies(&mut credit), 2);
        credit.refund(network, 3);
        assert_eq!(copies(&mut credit), 3);
        credit.refund(network, u32::MAX);
        assert_eq!(copies(&mut credit), 6);
    }
}

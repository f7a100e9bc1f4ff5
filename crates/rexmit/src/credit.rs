//! How many copies a network may get that turn out to be needless.

use crate::bounded::Bounded;
use ipnet::IpNet;

/// Networks whose credit is known at a time; of others it is full.
const CAPACITY: usize = 16_384;

/// Copies to a network whose need is not known, at once: as many connections as browsers open to a host.
pub(crate) const MOST: u32 = 6;

/// A copy costs as much as this many handshakes bring in. Over any time a network gets at most [`MOST`] needless copies and
/// one for each hundred handshakes.
const HANDSHAKES: u32 = 100;

/// Each copy is taken for needless until it is known to have been needed.
#[derive(Debug)]
pub(crate) struct Credit {
    /// What is missing to the full credit, in handshakes.
    missing: Bounded<IpNet, u32>,
}

impl Credit {
    pub(crate) fn new() -> Credit {
        Credit {
            missing: Bounded::new(CAPACITY),
        }
    }

    /// A handshake has begun.
    pub(crate) fn opened(&mut self, network: IpNet) {
        self.give(network, 1);
    }

    /// Whether more than one copy of late was needless, or may have been.
    pub(crate) fn is_strained(&self, network: IpNet) -> bool {
        let missing = self.missing.get(&network).copied().unwrap_or(0);
        missing > HANDSHAKES
    }

    /// Pays for a copy; whether there was enough.
    pub(crate) fn copy(&mut self, network: IpNet) -> bool {
        let missing = self.missing.get(&network).copied().unwrap_or(0) + HANDSHAKES;
        if missing > MOST * HANDSHAKES {
            return false;
        }
        self.missing.insert(network, missing);
        true
    }

    /// So many copies were no needless ones.
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

//! Budgets for copies, so that an outage does not cause a storm of retransmissions.

use crate::bounded::Bounded;
use gentle_units::Instant;
use gentle_wire::Address;

/// Limits on the number of copies and duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Copies and duplicates per second; also the burst size.
    pub per_second: u32,
    /// Copies per hundred connection-opening packets; duplicates do not count.
    pub share_percent: u32,
}

/// Burst of the share budget, in copies, so that the first losses of a quiet host are not suppressed.
pub const SHARE_BURST: u64 = 100;

const SECOND: u64 = 1_000_000_000;

/// Maximum number of sources with a separate budget.
const MAX_SOURCES: usize = 4096;

/// Budget for all sources together, and at most half of its rate for each source: a host that scans networks leaves the
/// rest to the others.
#[derive(Debug)]
pub(crate) struct Budgets {
    all: Budget,
    each: Limits,
    /// Budgets of the sources that have had copies.
    sources: Bounded<Address, Budget>,
}

impl Budgets {
    pub(crate) fn new(limits: Limits) -> Budgets {
        let each = Limits { per_second: limits.per_second.div_ceil(2), ..limits };
        Budgets { all: Budget::new(limits, SHARE_BURST), each, sources: Bounded::new(MAX_SOURCES) }
    }

    /// Records a packet that opens a connection.
    pub(crate) fn opened(&mut self, source: Address) {
        self.all.opened();
        if let Some(budget) = self.sources.get_mut(&key(source)) {
            budget.opened();
        }
    }

    /// Charges for a copy.
    pub(crate) fn copy(&mut self, now: Instant, source: Address) -> Result<(), Exhausted> {
        self.pay(source, |budget| budget.copy(now))
    }

    /// Charges for a duplicate.
    pub(crate) fn duplicate(&mut self, now: Instant, source: Address) -> Result<(), Exhausted> {
        self.pay(source, |budget| budget.duplicate(now))
    }

    fn pay(&mut self, source: Address, pay: impl Fn(&mut Budget) -> Result<(), Exhausted>) -> Result<(), Exhausted> {
        let source = key(source);
        match self.sources.get_mut(&source) {
            Some(budget) => pay(budget)?,
            None => {
                let mut budget = Budget::new(self.each, SHARE_BURST / 2);
                pay(&mut budget)?;
                self.sources.insert(source, budget);
            }
        }
        pay(&mut self.all)
    }
}

/// Budget key of a source: an IPv6 host chooses its addresses from a whole /64 (RFC 7421), so only the prefix counts.
fn key(source: Address) -> Address {
    let mut source = source;
    if !source.is_v4() {
        source.0[8..].fill(0);
    }
    source
}

/// Two token buckets: one by rate, one by share of the opened connections.
#[derive(Debug)]
struct Budget {
    limits: Limits,
    /// Tokens of the rate limit, in copies times nanoseconds per second.
    rate: u128,
    refilled: Instant,
    /// Tokens of the share limit, in hundredths of a copy.
    share: u64,
    /// Burst of the share limit, in hundredths of a copy.
    max_share: u64,
}

/// Limit that is exhausted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exhausted {
    Rate,
    Share,
}

impl Budget {
    fn new(limits: Limits, burst: u64) -> Budget {
        Budget {
            limits,
            rate: u128::from(limits.per_second) * u128::from(SECOND),
            refilled: Instant::ZERO,
            share: burst * 100,
            max_share: burst * 100,
        }
    }

    fn opened(&mut self) {
        self.share = (self.share + u64::from(self.limits.share_percent)).min(self.max_share);
    }

    fn copy(&mut self, now: Instant) -> Result<(), Exhausted> {
        if self.share < 100 {
            return Err(Exhausted::Share);
        }
        self.duplicate(now)?;
        self.share -= 100;
        Ok(())
    }

    fn duplicate(&mut self, now: Instant) -> Result<(), Exhausted> {
        let per_second = u128::from(self.limits.per_second);
        let passed = now.saturating_since(self.refilled);
        self.refilled = self.refilled.max(now);
        let full = per_second * u128::from(SECOND);
        self.rate = (self.rate + u128::from(passed.0) * per_second).min(full);
        self.rate = self.rate.checked_sub(u128::from(SECOND)).ok_or(Exhausted::Rate)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gentle_units::Nanos;

    #[test]
    fn a_second_has_so_many() {
        let mut budget = Budget::new(Limits { per_second: 10, share_percent: 100 }, SHARE_BURST);
        let start = Instant::from_secs(5);
        let sent = |budget: &mut Budget, now| (0..50).filter(|_| budget.copy(now).is_ok()).count();
        assert_eq!(sent(&mut budget, start), 10);
        assert_eq!(budget.copy(start), Err(Exhausted::Rate));
        assert_eq!(sent(&mut budget, start + Nanos::from_millis(300)), 3);
    }

    #[test]
    fn a_share_of_what_was_opened() {
        let mut budget = Budget::new(Limits { per_second: 1_000_000, share_percent: 25 }, SHARE_BURST);
        let sent = |budget: &mut Budget| (0..1000).filter(|_| budget.copy(Instant::ZERO).is_ok()).count();
        assert_eq!(sent(&mut budget), 100);
        for _ in 0..40 {
            budget.opened();
        }
        assert_eq!(sent(&mut budget), 10);
        assert_eq!(budget.copy(Instant::ZERO), Err(Exhausted::Share));
    }

    #[test]
    fn a_source_that_takes_all_it_can_leaves_the_others_half() {
        let mut budgets = Budgets::new(Limits { per_second: 100, share_percent: 25 });
        let host = |last| Address::v4([192, 0, 2, last]);
        let now = Instant::from_secs(5);
        let sent = |budgets: &mut Budgets, source| (0..1000).filter(|_| budgets.copy(now, source).is_ok()).count();
        assert_eq!(sent(&mut budgets, host(1)), 50);
        assert_eq!(sent(&mut budgets, host(1)), 0);
        assert_eq!(sent(&mut budgets, host(2)), 50);
    }

    #[test]
    fn the_addresses_of_an_ipv6_network_share_a_budget() {
        let of = |text: &str| key(text.parse::<std::net::IpAddr>().expect("an address").into());
        assert_eq!(of("2001:db8::1"), of("2001:db8::2:3:4:5"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }
}

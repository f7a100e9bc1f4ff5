//! Position of the capture point (handshake-2009, section 3).

use super::Distribution;
use crate::VantagePoint;
use crate::results::Vantage;
use crate::sum::sum;
use serde::{Deserialize, Serialize};

/// Evidence about the position of the capture point.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VantageCounts {
    /// First SYNs (client) and SYN/ACKs (server) of each connection.
    seen: [u64; 2],
    /// Packets among `seen` that had passed no router.
    fresh: [u64; 2],
    pub(crate) syn_before_synack: u64,
    pub(crate) syn_after_synack: u64,
    pub(crate) synack_before_ack: u64,
    pub(crate) synack_after_ack: u64,
}

/// Usual initial values of TTL and hop limit: 64 (RFC 1700; Linux, BSD, macOS), 128 (Windows), 255 (routers, Solaris).
const INITIAL_TTLS: [u8; 3] = [64, 128, 255];

/// Smallest share of packets that passed no router at which a side is on the capture's network.
const MOST: f64 = 0.9;
/// Largest share of the round-trip time at which a side is near.
const SHORT_HALF: f64 = 0.05;
/// Smallest share of the round-trip time at which a side is far, if also longer than [`LONGEST_REPLY_S`], the longest
/// that an end host takes to reply.
const LONG_HALF: f64 = 0.25;
const LONGEST_REPLY_S: f64 = 0.001;

sum! {
    VantageCounts { seen, fresh, syn_before_synack, syn_after_synack, synack_before_ack, synack_after_ack }
}

impl VantageCounts {
    /// Counts the first SYN (side 0) or SYN/ACK (side 1) of a connection.
    pub(crate) fn ttl(&mut self, side: usize, ttl: u8) {
        self.seen[side] += 1;
        self.fresh[side] += u64::from(INITIAL_TTLS.contains(&ttl));
    }

    fn fresh_share(&self, side: usize) -> Option<f64> {
        (self.seen[side] > 0).then(|| self.fresh[side] as f64 / self.seen[side] as f64)
    }

    /// Result; `rtt` has the server half and the client half of the round-trip time.
    pub(crate) fn result(&self, given: Option<VantagePoint>, rtt: [&Distribution; 2]) -> Vantage {
        let side = given.or(self.guess(rtt));
        Vantage {
            side: side.map_or("unknown", VantagePoint::name),
            given: given.is_some(),
            syns: self.seen[0],
            syns_unrouted: self.fresh[0],
            synacks: self.seen[1],
            synacks_unrouted: self.fresh[1],
            evidence: Vec::new(),
            duplicate_syn_means: String::new(),
            duplicate_synack_means: String::new(),
            syn_before_synack: self.syn_before_synack,
            syn_after_synack: self.syn_after_synack,
            synack_before_ack: self.synack_before_ack,
            synack_after_ack: self.synack_after_ack,
        }
    }

    fn guess(&self, rtt: [&Distribution; 2]) -> Option<VantagePoint> {
        let fresh = [self.fresh_share(0), self.fresh_share(1)];
        let halves = [rtt[0].quantiles().p50, rtt[1].quantiles().p50];
        let share = |half: usize| match halves {
            [Some(server), Some(client)] if server + client > 0.0 => Some([server, client][half] / (server + client)),
            _ => None,
        };
        let short = |half: usize| share(half).is_some_and(|share| share < SHORT_HALF);
        // A long link without routers can lose packets like any other part of the path.
        let far = |half: usize| {
            share(half).is_some_and(|share| share >= LONG_HALF) && halves[half].is_some_and(|s| s > LONGEST_REPLY_S)
        };
        let fresh = fresh.map(|share| share.map(|share| share >= MOST));
        match fresh {
            [Some(true), Some(true)] if far(0) && far(1) => Some(VantagePoint::Middle),
            // One local network: the nearer end.
            [Some(true), Some(true)] if short(1) => Some(VantagePoint::Client),
            [Some(true), Some(true)] if short(0) => Some(VantagePoint::Server),
            [Some(true), Some(true)] => None,
            [Some(true), _] if far(1) => Some(VantagePoint::Middle),
            [Some(true), _] => Some(VantagePoint::Client),
            [_, Some(true)] if far(0) => Some(VantagePoint::Middle),
            [_, Some(true)] => Some(VantagePoint::Server),
            // Beyond the first router, but so near that no queue lies between.
            [Some(false), Some(false)] if short(1) => Some(VantagePoint::Client),
            [Some(false), Some(false)] if short(0) => Some(VantagePoint::Server),
            [Some(false), Some(false)] => Some(VantagePoint::Middle),
            // Nothing is known of at least one side.
            _ => None,
        }
    }
}

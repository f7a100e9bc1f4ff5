//! Connections that the capture has twice, before and after address translation (NAT): `tcpdump -i any` on the host that
//! translates, or on a bridge of containers.
//!
//! Translation changes addresses and ports of one end or of both, and leaves the sequence numbers, the timestamps and,
//! on Linux, the IP identification. Two attempts are *views* of one connection if
//! - their initial sequence numbers are equal;
//! - the later SYN follows the earlier one within [`LONGEST`] with a lower time to live, since the packet was forwarded, or
//!   with an equal one if timestamp and IP identification are equal;
//! - the timestamps are equal; or, without any, one end has the same address and port in both, and the IP identifications
//!   are equal, or all of that happened with two SYNs within [`AT_ONCE`];
//! - SYN/ACKs of both, if there are any, have the same initial sequence number.
//!
//! A scanner that uses one sequence number for all its targets (nmap, masscan) sends each SYN once, with another IP
//! identification. The later view does not count again; one that is answered shows that the SYN was not lost.

use super::Connections;
use super::compact_time::CompactTime;
use super::connection::ConnectionFlags;
use super::exchange::{CLIENT, SERVER};
use super::flight::Sent;
use crate::segment::Segment;
use gentle_units::{Instant, Nanos};

/// Longest time from one view of a SYN to the next: a queue between them may be full.
const LONGEST: Nanos = Nanos::from_millis(100);
/// Longest time without other evidence: an idle host forwards in less.
const AT_ONCE: Nanos = Nanos::from_millis(1);
/// Largest number of hops between two views on one host: bridge, container, host.
const HOPS: u8 = 3;
/// Number of SYNs remembered, by initial sequence number: enough for a busy link within a round trip (96 KiB).
const REMEMBERED: usize = 4096;

/// SYN that was captured lately.
#[derive(Debug, Clone, Copy, Default)]
struct Syn {
    isn: u32,
    /// Place of its attempt.
    at: u32,
    /// Place of the earliest view of that.
    first: u32,
    stamp: u32,
    time: Instant,
    ip_id: u16,
    ttl: u8,
    is_there: bool,
}

/// SYNs that were captured lately.
#[derive(Debug)]
pub(super) struct RecentSyns(Vec<Syn>);

impl Default for RecentSyns {
    fn default() -> RecentSyns {
        RecentSyns(vec![Syn::default(); REMEMBERED])
    }
}

impl RecentSyns {
    fn place(&mut self, isn: u32) -> &mut Syn {
        // Multiplication by 2^32 divided by the golden ratio spreads neighbours (Knuth, 6.4).
        let spread = isn.wrapping_mul(0x9e37_79b9) >> (u32::BITS - REMEMBERED.ilog2());
        &mut self.0[spread as usize]
    }

    /// Newest SYN of the attempt at `at`, if it is remembered.
    pub(super) fn newest_of(&mut self, at: u32, isn: u32) -> Option<Sent> {
        let syn = *self.place(isn);
        (syn.is_there && syn.isn == isn && syn.at == at).then(|| Sent {
            at: CompactTime::at(syn.time),
            ip_id: syn.ip_id,
            stamp: syn.stamp as u16,
        })
    }
}

impl Connections {
    /// Looks for an earlier view of the attempt at `at`, to which `segment`, a SYN, belongs.
    pub(super) fn syn_in_view(&mut self, at: u32, segment: &Segment) {
        let isn = segment.seq;
        let before = *self.recent_syns.place(isn);
        let mut first = at;
        if before.is_there && before.isn == isn {
            if before.at == at {
                first = before.first;
            } else if let Some(is_sure) = self.is_view(&before, at, segment) {
                let flags = &mut self.table.get_mut(at).flags;
                let is_sure = is_sure || flags.has(ConnectionFlags::MAYBE_LATER_VIEW);
                flags.add(ConnectionFlags::MAYBE_LATER_VIEW);
                if is_sure {
                    flags.add(ConnectionFlags::LATER_VIEW);
                    first = before.first;
                }
            }
        }
        *self.recent_syns.place(isn) = Syn {
            isn,
            at,
            first,
            stamp: segment.timestamp.0,
            time: segment.time,
            ip_id: segment.ip_id,
            ttl: segment.ttl,
            is_there: true,
        };
    }

    /// Whether the attempt at `at` may be a view of the one with the SYN `before`, and, if so, whether that is sure.
    fn is_view(&self, before: &Syn, at: u32, segment: &Segment) -> Option<bool> {
        let stamp = segment.timestamp.0;
        let has_stamp = stamp != 0;
        let has_id = segment.ip_id != 0 && segment.ip_id == before.ip_id;
        let was_forwarded = match before.ttl.checked_sub(segment.ttl)? {
            // Translated without forwarding, as by eBPF.
            0 => has_stamp && has_id,
            hops => hops <= HOPS,
        };
        let is_sure = has_stamp || has_id;
        let longest = if is_sure { LONGEST } else { AT_ONCE };
        let may_be = was_forwarded
            && stamp == before.stamp
            && segment.time.saturating_since(before.time) <= longest
            && self.is_attempt_with(before.at, segment.seq)
            && (has_stamp || self.shared_ends(before.at, at) != [false, false]);
        may_be.then_some(is_sure)
    }

    /// Whether the connection at `at` is still the attempt with this initial sequence number.
    fn is_attempt_with(&self, at: u32, isn: u32) -> bool {
        let connection = self.table.get(at);
        connection.isn[CLIENT] == isn
            && connection.flags.has(ConnectionFlags::SYN)
            && !connection.flags.has(ConnectionFlags::VACANT)
    }

    /// Whether two connections have the same client, address and port, and the same server.
    fn shared_ends(&self, a: u32, b: u32) -> [bool; 2] {
        let ends = |at: u32| {
            let [client, server] = self.addresses(at);
            let [from, to] = self.table.get(at).ports();
            [(client, from), (server, to)]
        };
        let (a, b) = (ends(a), ends(b));
        [a[CLIENT] == b[CLIENT], a[SERVER] == b[SERVER]]
    }

    /// Records that `segment`, a SYN/ACK of the connection at `at`, answers another view of it, too.
    pub(super) fn synack_in_view(&mut self, at: u32, segment: &Segment) {
        let isn = segment.ack.wrapping_sub(1);
        let syn = *self.recent_syns.place(isn);
        if !syn.is_there || syn.isn != isn {
            return;
        }
        let other = if at == syn.first { syn.at } else { syn.first };
        let answers = match self.table.get(at).flags.has(ConnectionFlags::SYN) {
            true => other != at && (at == syn.at || at == syn.first),
            // The server answers from another address than the SYN went to.
            false => self.shared_ends(other, at) == [true, false],
        };
        if !answers || !self.is_attempt_with(other, isn) {
            return;
        }
        let is_first = self.table.get(at).synacks == 0;
        let view = self.table.get(other);
        let numbers = (segment.seq, segment.ack);
        let has_same = view.isn[SERVER] == segment.seq
            || (view.loss_state.as_ref()).is_some_and(|it| it.other_synacks.contains(&numbers));
        if is_first && view.synacks > 0 && !has_same {
            // Two connections after all.
            for view in [other, at] {
                self.table.get_mut(view).flags.take(ConnectionFlags::LATER_VIEW);
            }
        } else {
            let flags = &mut self.table.get_mut(other).flags;
            flags.add(ConnectionFlags::ANSWERED_ELSEWHERE);
        }
    }
}

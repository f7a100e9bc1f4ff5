//! IP fragments to whole packets, as far as the analysis needs them: the transport header and the length.

use gentle_units::Nanos;
use gentle_wire::{Address, Ip, Packet};
use std::collections::VecDeque;

/// Packets put together at a time; of more, the oldest is given up.
const PENDING: usize = 256;
/// The bytes kept of each: a transport header and its options.
const HEAD: usize = 80;
/// A packet is given up when its fragments do not come within this (RFC 8200, 4.5: 60 s).
const LONGEST: Nanos = Nanos::from_secs(60);

/// What identifies the fragments of a packet (RFC 791, 3.2; RFC 8200, 4.5).
type Key = (Address, Address, u32, u8);

#[derive(Debug)]
struct Pending {
    key: Key,
    since: Nanos,
    ip: Ip,
    head: [u8; HEAD],
    /// Bytes of `head` that were captured, from the front.
    head_len: usize,
    received: u32,
    /// Known from the last fragment on.
    total: Option<u32>,
    wire_len: u32,
}

/// A packet of which every fragment has come.
#[derive(Debug)]
pub(crate) struct Whole {
    ip: Ip,
    head: [u8; HEAD],
    head_len: usize,
    total: u32,
    /// Bytes of all its fragments on the wire.
    pub(crate) wire_len: u32,
}

impl Whole {
    /// What it is.
    pub(crate) fn packet(&self) -> Option<Packet<'_>> {
        gentle_wire::reassembled(&self.ip, &self.head[..self.head_len], self.total).ok()
    }
}

/// Packets of which some fragments have come.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    pending: VecDeque<Pending>,
}

impl Fragments {
    /// A fragment with the captured bytes `data` of its IP payload. The whole packet, once this completes it.
    ///
    /// Fragments that overlap are not told apart: their lengths are added up.
    pub(crate) fn add(
        &mut self,
        time: Nanos,
        ip: &Ip,
        data: &[u8],
        wire_len: u32,
    ) -> Option<Whole> {
        let fragment = ip.fragment?;
        while self
            .pending
            .front()
            .is_some_and(|oldest| time.saturating_sub(oldest.since) > LONGEST)
        {
            self.pending.pop_front();
        }
        let key = (ip.src, ip.dst, fragment.id, ip.protocol);
        let at = match self.pending.iter().position(|pending| pending.key == key) {
            Some(at) => at,
            None => {
                if self.pending.len() == PENDING {
                    self.pending.pop_front();
                }
                self.pending.push_back(Pending {
                    key,
                    since: time,
                    ip: *ip,
                    head: [0; HEAD],
                    head_len: 0,
                    received: 0,
                    total: None,
                    wire_len: 0,
                });
                self.pending.len() - 1
            }
        };
        let pending = &mut self.pending[at];
        let offset = fragment.offset as usize;
        if offset <= pending.head_len && offset < HEAD {
            let end = (offset + data.len()).min(HEAD);
            pending.head[offset..end].copy_from_slice(&data[..end - offset]);
            pending.head_len = pending.head_len.max(end);
        }
        if fragment.offset == 0 {
            pending.ip = *ip;
        }
        pending.received = pending.received.saturating_add(ip.payload_len);
        pending.wire_len = pending.wire_len.saturating_add(wire_len);
        if !fragment.more {
            pending.total = Some(fragment.offset.saturating_add(ip.payload_len));
        }
        let total = pending.total?;
        if pending.received < total {
            return None;
        }
        let pending = self.pending.remove(at)?;
        Some(Whole {
            ip: pending.ip,
            head: pending.head,
            head_len: pending.head_len,
            total,
            wire_len: pending.wire_len,
        })
    }
}

//! IP reassembly, as far as the analysis needs it: transport header and length.

use gentle_units::{Instant, Nanos};
use gentle_wire::{Address, Ip, Packet};
use std::collections::VecDeque;

/// Largest number of packets under reassembly; a further one discards the oldest.
const PENDING: usize = 256;
/// Number of bytes kept per packet: a transport header and its options.
const HEAD: usize = 80;
/// Reassembly timeout (RFC 8200, 4.5: 60 s).
const LONGEST: Nanos = Nanos::from_secs(60);

/// Identity of a fragmented packet: source, destination, identification, protocol (RFC 791, 3.2; RFC 8200, 4.5).
type Key = (Address, Address, u32, u8);

/// Packet of which some fragments have arrived.
#[derive(Debug)]
struct Pending {
    key: Key,
    since: Instant,
    ip: Ip,
    head: [u8; HEAD],
    /// Number of captured bytes at the start of `head`.
    head_len: usize,
    received: u32,
    /// Length of the payload, bytes; known once the last fragment has arrived.
    total: Option<u32>,
    wire_len: u32,
}

/// Reassembled packet.
#[derive(Debug)]
pub(crate) struct Whole {
    ip: Ip,
    head: [u8; HEAD],
    head_len: usize,
    total: u32,
    /// Bytes of all fragments on the wire.
    pub(crate) wire_len: u32,
}

impl Whole {
    /// Parses the packet; `None` if it is malformed.
    pub(crate) fn packet(&self) -> Option<Packet<'_>> {
        gentle_wire::reassembled(&self.ip, &self.head[..self.head_len], self.total).ok()
    }
}

/// Packets under reassembly.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    pending: VecDeque<Pending>,
}

impl Fragments {
    /// Adds a fragment with the captured bytes `data` of its IP payload; returns the packet if this completes it.
    ///
    /// Overlapping fragments are not recognised: their lengths are added up.
    pub(crate) fn add(&mut self, time: Instant, ip: &Ip, data: &[u8], wire_len: u32) -> Option<Whole> {
        let fragment = ip.fragment?;
        while self.pending.front().is_some_and(|oldest| time.saturating_since(oldest.since) > LONGEST) {
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

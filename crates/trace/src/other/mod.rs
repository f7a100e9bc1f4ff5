//! Handshakes of QUIC, SCTP and DCCP.
//!
//! Each protocol tracks the packets that open a connection and their retransmissions. The state of attempts is in a
//! table of fixed size ([`table::Table`]): when it is full, or attempts have been idle for long, the oldest are
//! forgotten. Their counts are kept, but a later retransmission counts as a new attempt.

mod counts;
mod dccp;
mod numbers;
mod quic;
mod sctp;
mod step;
mod table;
#[cfg(test)]
mod tests;

use crate::results::OtherProtocols;
use crate::sum::sum;
use counts::Counts;
use dccp::Dccp;
use gentle_units::{Instant, Nanos};
use gentle_wire::{Address, Ip, Packet, Transport};
use quic::Quic;
use sctp::Sctp;
use serde::{Deserialize, Serialize};

/// Source and destination of a packet: addresses with ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Flow {
    src: (Address, u16),
    dst: (Address, u16),
}

impl Flow {
    fn new(ip: &Ip, src_port: u16, dst_port: u16) -> Flow {
        Flow { src: (ip.src, src_port), dst: (ip.dst, dst_port) }
    }

    /// Flow in the opposite direction.
    fn back(self) -> Flow {
        Flow { src: self.dst, dst: self.src }
    }
}

/// Handshakes of all protocols but TCP.
#[derive(Debug)]
pub(crate) struct Others {
    quic: Quic,
    sctp: Sctp,
    dccp: Dccp,
}

impl Others {
    /// Remembers attempts for `idle_timeout`, in at most `memory_limit_bytes`, but at least 16 attempts of each
    /// protocol. Nothing is allocated before the first attempt.
    pub(crate) fn new(memory_limit_bytes: usize, idle_timeout: Nanos) -> Others {
        let quarter = memory_limit_bytes / 4;
        Others {
            quic: Quic::new(2 * quarter, idle_timeout),
            sctp: Sctp::new(quarter, idle_timeout),
            dccp: Dccp::new(quarter, idle_timeout),
        }
    }

    /// Handles a packet. Packets come in the order of the capture; their times may go back.
    #[inline]
    pub(crate) fn observe(&mut self, time: Instant, packet: &Packet<'_>) {
        match &packet.transport {
            Transport::Udp(udp) => self.quic.observe(time, &packet.ip, udp),
            Transport::Sctp(sctp) => self.sctp.observe(time, &packet.ip, sctp),
            Transport::Dccp(dccp) => self.dccp.observe(time, packet, dccp),
            Transport::Tcp(_) | Transport::Fragment(_) | Transport::Other => {}
        }
    }

    /// Counts by protocol.
    pub(crate) fn finish(self) -> OtherCounts {
        OtherCounts { quic: self.quic.finish(), sctp: self.sctp.finish(), dccp: self.dccp.finish() }
    }
}

/// Handshake counts by protocol.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OtherCounts {
    quic: Counts,
    sctp: Counts,
    dccp: Counts,
}

sum! { OtherCounts { quic, sctp, dccp } }

impl OtherCounts {
    /// Results by protocol.
    pub(crate) fn result(self) -> OtherProtocols {
        OtherProtocols { quic: self.quic.result(), sctp: self.sctp.result(), dccp: self.dccp.result() }
    }
}

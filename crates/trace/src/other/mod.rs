//! Handshakes beyond TCP: QUIC, SCTP and DCCP.
//!
//! Each protocol looks for the packets that open a connection and for their retransmissions, and forgets all others as
//! soon as they are recognised. What is remembered of an attempt lies in a table of fixed size ([`table::Table`]): when
//! it is full, or an attempt has been idle for long, the oldest ones are forgotten. What had been counted of them stays
//! counted; only what they would have done later goes unseen, and a retransmission that comes later still counts as a
//! new attempt.

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
use dccp::Dccp;
use gentle_units::Nanos;
use gentle_wire::{Address, Ip, Packet, Transport};
use quic::Quic;
use sctp::Sctp;

/// From where to where a packet goes: addresses with ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Flow {
    src: (Address, u16),
    dst: (Address, u16),
}

impl Flow {
    fn new(ip: &Ip, src_port: u16, dst_port: u16) -> Flow {
        Flow {
            src: (ip.src, src_port),
            dst: (ip.dst, dst_port),
        }
    }

    /// The other way.
    fn back(self) -> Flow {
        Flow {
            src: self.dst,
            dst: self.src,
        }
    }
}

/// The handshakes of all protocols but TCP.
#[derive(Debug)]
pub(crate) struct Others {
    quic: Quic,
    sctp: Sctp,
    dccp: Dccp,
}

impl Others {
    /// Remembers attempts for `idle_timeout`, in at most `memory_limit_bytes` (of which 16 attempts of each protocol may
    /// be in use at least). Nothing is allocated before there is an attempt.
    pub(crate) fn new(memory_limit_bytes: usize, idle_timeout: Nanos) -> Others {
        let quarter = memory_limit_bytes / 4;
        Others {
            quic: Quic::new(2 * quarter, idle_timeout),
            sctp: Sctp::new(quarter, idle_timeout),
            dccp: Dccp::new(quarter, idle_timeout),
        }
    }

    /// Takes a packet into account. Packets come in the order of the capture; their times may go back.
    #[inline]
    pub(crate) fn observe(&mut self, time: Nanos, packet: &Packet<'_>) {
        match &packet.transport {
            Transport::Udp(udp) => self.quic.observe(time, &packet.ip, udp),
            Transport::Sctp(sctp) => self.sctp.observe(time, &packet.ip, sctp),
            Transport::Dccp(dccp) => self.dccp.observe(time, packet, dccp),
            Transport::Tcp(_) | Transport::Fragment(_) | Transport::Other => {}
        }
    }

    /// What it came to.
    pub(crate) fn finish(self) -> OtherProtocols {
        OtherProtocols {
            quic: self.quic.finish(),
            sctp: self.sctp.finish(),
            dccp: self.dccp.finish(),
        }
    }
}

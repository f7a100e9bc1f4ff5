//! Datagrams at a constant rate.

use crate::experiment::Datagrams;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};

/// A sender of datagrams.
pub(super) struct Source {
    datagrams: Datagrams,
    socket: UdpSocket,
    payload: Vec<u8>,
    sent: u64,
}

impl Source {
    pub(super) fn new(
        datagrams: Datagrams,
        from: Ipv4Addr,
        to: SocketAddrV4,
    ) -> io::Result<Source> {
        let socket = UdpSocket::bind((from, 0))?;
        socket.set_nonblocking(true)?;
        socket.connect(to)?;
        Ok(Source {
            payload: vec![0; datagrams.payload as usize],
            datagrams,
            socket,
            sent: 0,
        })
    }

    /// When the next is due; reckoned from the start, so that rounding does not add up.
    pub(super) fn next_ns(&self) -> Option<u64> {
        let bits = u128::from(self.sent) * u128::from(self.datagrams.ip_bytes) * 8;
        let after = bits * 1_000_000_000 / u128::from(self.datagrams.rate_bps.max(1));
        let at = u128::from(self.datagrams.start_ns) + after;
        u64::try_from(at)
            .ok()
            .filter(|at| *at < self.datagrams.stop_ns)
    }

    /// Sends what is due.
    pub(super) fn send_due(&mut self, now_ns: u64) -> io::Result<()> {
        while self.next_ns().is_some_and(|at| at <= now_ns) {
            match self.socket.send(&self.payload) {
                // A host without room for it loses it, as any would.
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                _ => self.sent += 1,
            }
        }
        Ok(())
    }
}

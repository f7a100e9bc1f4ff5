//! The kernel's `TCP_INFO` of a connection (tcp(7)).

use std::io;
use std::os::fd::AsFd;

/// `TCP_FIN_WAIT2`, include/net/tcp_states.h: everything sent, FIN included, has been acknowledged; the peer has not
/// closed.
const FIN_WAIT2: u8 = 5;
/// `TCP_TIME_WAIT`: both sides have closed, this side first.
const TIME_WAIT: u8 = 6;
/// `TCP_CLOSE`: the kernel has no state of the connection left.
const CLOSE: u8 = 7;

/// Fields of `TCP_INFO` that the testbed reports.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TcpInfo {
    /// Connection state (`tcpi_state`).
    state: u8,
    /// Segments retransmitted, SYNs included.
    pub(super) total_retrans: u32,
    /// Duplicates reported by the other end with DSACK.
    pub(super) dsack_dups: u32,
    /// Smoothed round-trip time, microseconds.
    pub(super) rtt_us: u32,
}

impl TcpInfo {
    /// Whether the other end has acknowledged the FIN of this end.
    pub(super) fn all_acknowledged(&self) -> bool {
        matches!(self.state, FIN_WAIT2 | TIME_WAIT | CLOSE)
    }
}

/// Reads the `TCP_INFO` of a socket.
pub(super) fn of(socket: &impl AsFd) -> io::Result<TcpInfo> {
    let info = gentle_packets::tcp_info(socket)?;
    Ok(TcpInfo {
        state: info.tcpi_state,
        total_retrans: info.tcpi_total_retrans,
        dsack_dups: info.tcpi_dsack_dups,
        rtt_us: info.tcpi_rtt,
    })
}

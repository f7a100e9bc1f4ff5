//! Numbers of the kernel about a handshake: `TCP_INFO` (tcp(7)).

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// State of a socket whose SYN has not been answered; include/net/tcp_states.h.
const SYN_SENT: u8 = 2;

/// Option of the connection: both ends use TCP timestamps; include/uapi/linux/tcp.h.
const TIMESTAMPS: u8 = 1;

/// Fields of `TCP_INFO` about a handshake.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TcpInfo {
    /// Whether the SYN has not been answered.
    pub(crate) is_unanswered: bool,
    /// SYNs retransmitted, provided that no data was sent.
    pub(crate) retransmissions: u32,
    /// RTT of the handshake from the echoed timestamp if SYNs were retransmitted; `None` without timestamps.
    pub(crate) rtt: Option<Duration>,
    /// RTO, in ticks of the kernel: before the first retransmission, the initial one.
    pub(crate) rto: Duration,
    /// Time since the SYN/ACK or a later packet arrived, up to a tick too long: at most the time since the SYN/ACK.
    pub(crate) since_answer: Duration,
}

/// Reads the `TCP_INFO` of a socket.
pub(crate) fn of(socket: &impl AsFd) -> io::Result<TcpInfo> {
    let info = gentle_packets::tcp_info(socket)?;
    let has_rtt = info.tcpi_options & TIMESTAMPS != 0 && info.tcpi_rtt > 0;
    let since_answer = info.tcpi_last_ack_recv.max(info.tcpi_last_data_recv);
    Ok(TcpInfo {
        is_unanswered: info.tcpi_state == SYN_SENT,
        retransmissions: info.tcpi_total_retrans,
        rtt: has_rtt.then(|| Duration::from_micros(info.tcpi_rtt.into())),
        rto: Duration::from_micros(info.tcpi_rto.into()),
        since_answer: Duration::from_millis(since_answer.into()),
    })
}

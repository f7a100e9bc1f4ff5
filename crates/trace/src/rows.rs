//! Converts closed connections to [`Row`]s.

use crate::anonymize::Anonymizer;
use crate::connections::{CLIENT, ClosedConnection, ConnectionFlags, SERVER};
use crate::options::{Options, VantagePoint};
use crate::row::{Row, Side};
use std::io;

/// Receiver of the row of each connection, called when the connection is closed, evicted or the trace ends. Connections
/// that end together come in the order in which they began.
pub type RowSink<'a> = dyn FnMut(&Row) -> io::Result<()> + 'a;

/// Writer of rows; does nothing without a sink.
pub(crate) struct RowWriter<'a, 'b> {
    rows: Option<&'a mut RowSink<'b>>,
    anonymizer: Option<&'a Anonymizer>,
    vantage: Option<VantagePoint>,
}

impl<'a, 'b> RowWriter<'a, 'b> {
    pub(crate) fn new(
        rows: Option<&'a mut RowSink<'b>>,
        anonymizer: Option<&'a Anonymizer>,
        options: &Options,
    ) -> RowWriter<'a, 'b> {
        RowWriter { rows, anonymizer, vantage: options.vantage }
    }

    /// Writes the row of a closed connection.
    pub(crate) fn write(&mut self, closed: &ClosedConnection) -> io::Result<()> {
        let Some(rows) = &mut self.rows else {
            return Ok(());
        };
        let ClosedConnection { connection, addresses, close } = closed;
        let addresses = *addresses;
        let [client, server] = match self.anonymizer {
            Some(anonymizer) => addresses.map(|address| anonymizer.address(address)),
            None => addresses,
        };
        let [client_port, server_port] = connection.ports();
        let side = |side: usize| {
            let (of_handshake, of_data) = connection.delay_sums(side);
            Side {
                segments: connection.segments[side].into(),
                bytes: connection.bytes[side],
                retransmissions: connection.retransmissions(side),
                retransmission_delay: connection.waited(side),
                retransmission_delay_sum: of_handshake + of_data,
            }
        };
        let class = connection.classify(self.vantage);
        let syn_seen = connection.flags.has(ConnectionFlags::SYN);
        let synack_at = connection.synack_at.get().filter(|_| syn_seen);
        let ack_at = connection.ack_at.get().filter(|_| syn_seen);
        rows(&Row {
            start: connection.first,
            end: connection.last,
            client,
            client_port,
            server,
            server_port,
            syn_seen,
            established: syn_seen && connection.flags.has(ConnectionFlags::ESTABLISHED),
            rtt_server: synack_at,
            rtt_client: synack_at.zip(ack_at).map(|(synack, ack)| ack.saturating_sub(synack)),
            syn_retransmissions: connection.handshake_retransmissions(CLIENT),
            synack_retransmissions: connection.handshake_retransmissions(SERVER),
            outcome: connection.is_attempt().then_some(class.outcome),
            handshake_lost: class.repeats.lost,
            handshake_late: class.repeats.late,
            handshake_deferred: class.repeats.deferred,
            handshake_copies: connection.handshake_copies(),
            handshake_delay: class.waited,
            response_time: connection.response.get(),
            from_client: side(CLIENT),
            from_server: side(SERVER),
            close: *close,
        })
    }
}

//! Connections that are over as [`Row`]s.

use crate::RowSink;
use crate::anonymize::Anonymizer;
use crate::connections::{CLIENT, Departure, SERVER, State};
use crate::row::{Row, Side};
use std::io;

/// Makes rows, if anybody wants them.
pub(crate) struct Rows<'a, 'b> {
    rows: Option<&'a mut RowSink<'b>>,
    anonymizer: Option<&'a Anonymizer>,
}

impl<'a, 'b> Rows<'a, 'b> {
    pub(crate) fn new(
        rows: Option<&'a mut RowSink<'b>>,
        anonymizer: Option<&'a Anonymizer>,
    ) -> Rows<'a, 'b> {
        Rows { rows, anonymizer }
    }

    /// A connection is over.
    pub(crate) fn write(&mut self, departure: &Departure) -> io::Result<()> {
        let Some(rows) = &mut self.rows else {
            return Ok(());
        };
        let Departure {
            connection,
            ends,
            close,
        } = departure;
        let ends = *ends;
        let [client, server] = match self.anonymizer {
            Some(anonymizer) => ends.map(|address| anonymizer.address(address)),
            None => ends,
        };
        let [client_port, server_port] = connection.ports();
        let side = |side: usize| {
            let (of_handshake, of_data) = connection.delays(side);
            Side {
                segments: connection.segments[side].into(),
                bytes: connection.bytes[side],
                retransmissions: connection.retransmissions(side),
                retransmission_delay: of_handshake.saturating_add(of_data),
            }
        };
        let syn_seen = connection.state.has(State::SYN);
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
            established: syn_seen && connection.state.has(State::ESTABLISHED),
            rtt_server: synack_at,
            rtt_client: synack_at
                .zip(ack_at)
                .map(|(synack, ack)| ack.saturating_sub(synack)),
            syn_retransmissions: connection.handshake_retransmissions(CLIENT),
            synack_retransmissions: connection.handshake_retransmissions(SERVER),
            handshake_delay: connection.handshake_delay(),
            response_time: connection.response.get(),
            from_client: side(CLIENT),
            from_server: side(SERVER),
            close: *close,
        })
    }
}

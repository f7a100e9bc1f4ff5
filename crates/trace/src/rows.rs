//! Converts closed connections to [`Row`]s.

use crate::RowSink;
use crate::anonymize::Anonymizer;
use crate::connections::{CLIENT, Departure, SERVER, State};
use crate::options::{self, Options};
use crate::row::{Row, Side};
use std::io;

/// Writer of rows; does nothing without a sink.
pub(crate) struct Rows<'a, 'b> {
    rows: Option<&'a mut RowSink<'b>>,
    anonymizer: Option<&'a Anonymizer>,
    vantage: Option<options::Side>,
}

impl<'a, 'b> Rows<'a, 'b> {
    pub(crate) fn new(
        rows: Option<&'a mut RowSink<'b>>,
        anonymizer: Option<&'a Anonymizer>,
        options: &Options,
    ) -> Rows<'a, 'b> {
        Rows {
            rows,
            anonymizer,
            vantage: options.vantage,
        }
    }

    /// Writes the row of a connection that is over.
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
        let judged = connection.judge(self.vantage);
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
            outcome: connection.is_attempt().then_some(judged.outcome),
            handshake_lost: judged.repeats.lost,
            handshake_late: judged.repeats.late,
            handshake_put_off: judged.repeats.put_off,
            handshake_copies: connection.handshake_copies(),
            handshake_delay: judged.waited,
            response_time: connection.response.get(),
            from_client: side(CLIENT),
            from_server: side(SERVER),
            close: *close,
        })
    }
}

//! The end of a connection that opens it (active OPEN, RFC 9293, section 3.10.1), with the record of the connection.

use super::super::observations::{Connection, ConnectionOutcome};
use super::super::tcp_info;
use super::outgoing::Outgoing;
use super::socket::{connect, receive};
use super::unsent::limit_unsent;
use super::{EventContext, Status};
use crate::experiment::Flow;
use std::io;
use std::net::TcpStream;

/// A connection that this host opens.
pub(super) struct Active {
    stream: TcpStream,
    connecting: bool,
    outgoing: Outgoing,
    connection: Connection,
}

impl Active {
    /// Starts to connect for `flow`, which has the index `number`; `outgoing` is what it will write.
    pub(super) fn open(flow: &Flow, number: u32, outgoing: Outgoing, paces: bool, now_ns: u64) -> io::Result<Active> {
        let stream = connect(flow, paces)?;
        if matches!(outgoing, Outgoing::Until(_)) {
            limit_unsent(&stream)?;
        }
        Ok(Active {
            connection: Connection::started(flow, number, stream.local_addr()?.port(), now_ns),
            stream,
            connecting: true,
            outgoing,
        })
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub(super) fn is_connecting(&self) -> bool {
        self.connecting
    }

    /// Payload received so far.
    pub(super) fn received(&self) -> u64 {
        self.connection.received
    }

    /// The bytes that the connection still has to write.
    pub(super) fn outgoing(&mut self) -> &mut Outgoing {
        &mut self.outgoing
    }

    pub(super) fn has_written_all(&self) -> bool {
        matches!(self.outgoing, Outgoing::Nothing)
    }

    /// Returns whether the connection is established, and an error that the kernel has reported for it.
    pub(super) fn establish(&mut self, now_ns: u64) -> io::Result<bool> {
        if let Some(error) = self.stream.take_error()? {
            return Err(error);
        }
        if self.connecting {
            // Not connected yet: the event was a different one.
            if self.stream.peer_addr().is_err() {
                return Ok(false);
            }
            self.connecting = false;
            self.connection.connected_ns = Some(now_ns);
            let info = tcp_info::of(&self.stream)?;
            self.connection.syn_retransmitted = info.total_retrans;
        }
        Ok(true)
    }

    /// Writes as much as the kernel accepts.
    pub(super) fn write(&mut self, now_ns: u64) -> io::Result<()> {
        self.outgoing.write(&self.stream, now_ns)
    }

    /// Reads all available data; returns whether the other end has closed.
    pub(super) fn receive(&mut self, context: &mut EventContext<'_>) -> io::Result<bool> {
        let connection = &mut self.connection;
        receive(&self.stream, context.buffer, |bytes| {
            connection.first_byte_ns.get_or_insert(context.now_ns);
            connection.received += bytes.len() as u64;
        })
    }

    /// Completes the record if the connection has ended, by the result of an event.
    pub(super) fn conclude(&mut self, result: io::Result<Status>, now_ns: u64) -> Status {
        self.connection.outcome = match result {
            Ok(Status::Open) => return Status::Open,
            Ok(Status::Over) => ConnectionOutcome::Completed,
            Err(_) => ConnectionOutcome::Failed,
        };
        self.connection.ended_ns = Some(now_ns);
        self.read_counters();
        Status::Over
    }

    fn read_counters(&mut self) {
        self.connection.read_counters(&self.stream, self.connecting);
    }

    /// Record of the finished connection.
    pub(super) fn into_connection(self) -> Connection {
        self.connection
    }

    /// Record of a connection that is still open at the end of the run.
    pub(super) fn unfinished(mut self) -> Connection {
        self.read_counters();
        self.connection
    }
}

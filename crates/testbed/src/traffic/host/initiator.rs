//! The connecting end of a connection. It behaves like the simulator's (`gentle-sim`, engine/connection.rs).

use super::super::observations::{Connection, ConnectionOutcome};
use super::super::tcp_info;
use super::outgoing::Outgoing;
use super::responder::Request;
use super::socket::connect;
use super::unsent::limit_unsent;
use super::{EventContext, REQUEST_PORT, Status};
use crate::experiment::{Flow, PORT};
use std::io::{self, Read};
use std::net::TcpStream;

/// Connecting end of a connection.
pub(super) struct Initiator {
    stream: TcpStream,
    sends: bool,
    connecting: bool,
    outgoing: Outgoing,
    connection: Connection,
}

impl Initiator {
    /// Starts to connect.
    pub(super) fn connect(
        flow: &Flow,
        number: u32,
        paces: bool,
        now_ns: u64,
    ) -> io::Result<Initiator> {
        let port = if flow.initiator_sends {
            PORT
        } else {
            REQUEST_PORT
        };
        let stream = connect(flow, port, paces)?;
        let outgoing = match (flow.initiator_sends, flow.bytes) {
            (true, Some(bytes)) => Outgoing::Bytes(bytes),
            (true, None) => {
                limit_unsent(&stream)?;
                Outgoing::Until(flow.until_ns)
            }
            (false, bytes) => Outgoing::Request(
                Request {
                    bytes,
                    until_ns: flow.until_ns,
                }
                .encode(),
            ),
        };
        Ok(Initiator {
            connection: Connection::started(flow, number, &stream, now_ns)?,
            stream,
            sends: flow.initiator_sends,
            connecting: true,
            outgoing,
        })
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub(super) fn ready(&mut self, context: &mut EventContext<'_>) -> Status {
        let outcome = match self.proceed(context) {
            Ok(Status::Open) => return Status::Open,
            Ok(Status::Over) => ConnectionOutcome::Completed,
            Err(_) => ConnectionOutcome::Failed,
        };
        self.connection.outcome = outcome;
        self.connection.ended_ns = Some(context.now_ns);
        self.read_counters();
        Status::Over
    }

    fn proceed(&mut self, context: &mut EventContext<'_>) -> io::Result<Status> {
        if let Some(error) = self.stream.take_error()? {
            return Err(error);
        }
        if self.connecting {
            // Not connected yet: the event was a different one.
            if self.stream.peer_addr().is_err() {
                return Ok(Status::Open);
            }
            self.connecting = false;
            self.connection.connected_ns = Some(context.now_ns);
            let info = tcp_info::of(&self.stream)?;
            self.connection.syn_retransmitted = info.total_retrans;
        }
        self.outgoing.write(&self.stream, context.now_ns)?;
        let peer_closed = self.receive(context)?;
        if self.sends {
            let written = matches!(self.outgoing, Outgoing::Nothing);
            let complete = written && tcp_info::of(&self.stream)?.all_acknowledged();
            return Ok(if complete { Status::Over } else { Status::Open });
        }
        Ok(if peer_closed {
            Status::Over
        } else {
            Status::Open
        })
    }

    /// Reads all available data; returns whether the other end has closed.
    fn receive(&mut self, context: &mut EventContext<'_>) -> io::Result<bool> {
        loop {
            match (&self.stream).read(context.buffer) {
                Ok(0) => return Ok(true),
                Ok(n) => {
                    self.connection.first_byte_ns.get_or_insert(context.now_ns);
                    self.connection.received += n as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads the kernel's counters.
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

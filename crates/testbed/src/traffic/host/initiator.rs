//! The connecting end of a connection. It behaves like the simulator's (`gentle-sim`, engine/connection.rs).

use super::super::observations::Connection;
use super::super::tcp_info;
use super::active::Active;
use super::outgoing::Outgoing;
use super::responder::Request;
use super::{EventContext, Status};
use crate::experiment::Flow;
use std::io;
use std::net::TcpStream;

/// Connecting end of a connection.
pub(super) struct Initiator {
    end: Active,
    sends: bool,
}

impl Initiator {
    /// Starts to connect.
    pub(super) fn connect(flow: &Flow, number: u32, paces: bool, now_ns: u64) -> io::Result<Initiator> {
        let (bytes, until_ns) = (flow.bytes, flow.until_ns);
        let outgoing = match (flow.initiator_sends, bytes) {
            (true, Some(bytes)) => Outgoing::Bytes(bytes),
            (true, None) => Outgoing::Until(until_ns),
            (false, bytes) => Outgoing::Request(Request { bytes, until_ns }.encode()),
        };
        Ok(Initiator { end: Active::open(flow, number, outgoing, paces, now_ns)?, sends: flow.initiator_sends })
    }

    pub(super) fn stream(&self) -> &TcpStream {
        self.end.stream()
    }

    pub(super) fn ready(&mut self, context: &mut EventContext<'_>) -> Status {
        let result = self.proceed(context);
        self.end.conclude(result, context.now_ns)
    }

    fn proceed(&mut self, context: &mut EventContext<'_>) -> io::Result<Status> {
        if !self.end.establish(context.now_ns)? {
            return Ok(Status::Open);
        }
        self.end.write(context.now_ns)?;
        let peer_closed = self.end.receive(context)?;
        let over = match self.sends {
            true => self.end.has_written_all() && tcp_info::of(self.end.stream())?.all_acknowledged(),
            false => peer_closed,
        };
        Ok(if over { Status::Over } else { Status::Open })
    }

    /// Record of the finished connection.
    pub(super) fn into_connection(self) -> Connection {
        self.end.into_connection()
    }

    /// Record of a connection that is still open at the end of the run.
    pub(super) fn unfinished(self) -> Connection {
        self.end.unfinished()
    }
}

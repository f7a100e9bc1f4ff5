//! DCCP (RFC 4340, 8.1): Request, Response, Ack.
//!
//! An attempt is identified by the client's address and port, the server's, the service code and an initial sequence
//! number. A further Request is a retransmission: it has the next sequence number (8.1.1); one with a number seen
//! before is a copy made by the capture. A further Response answers a further Request (8.1.3). An attempt succeeds with
//! the client's Ack or DataAck after a Response.

use super::Flow;
use super::counts::Counts;
use super::numbers::Numbers;
use super::step::Step;
use super::table::Table;
use gentle_units::{Instant, Nanos};
use gentle_wire::Packet;

const REQUEST: u8 = 0;
const RESPONSE: u8 = 1;
const ACK: u8 = 3;
const DATA_ACK: u8 = 4;

/// Mask of a sequence number, which has 48 bits (RFC 4340, 7.1).
const SEQUENCE: u64 = (1 << 48) - 1;

/// Largest distance of a Request's sequence number from the first one's in the same attempt. Each is one more than the
/// previous, and with intervals that double up to 64 s fewer are sent in the 8 minutes of RFC 4340, 8.1.1.
const REQUESTS: u64 = 32;

/// DCCP handshakes.
#[derive(Debug)]
pub(super) struct Dccp {
    attempts: Table<Flow, Attempt>,
    counts: Counts,
}

/// Attempt, stored by the flow from client to server.
#[derive(Debug)]
struct Attempt {
    service: Option<u32>,
    /// Sequence number of the first Request minus [`REQUESTS`], so that a Request captured out of order before it has
    /// one too.
    origin: u64,
    requests: Numbers,
    responses: Numbers,
    request: Step,
    response: Step,
    lossy: bool,
    succeeded: bool,
}

/// Service code of a Request (RFC 4340, 5.1), which follows the generic header of 16 bytes.
fn service_code(packet: &Packet<'_>) -> Option<u32> {
    let (&code, _) = packet.payload.get(16..)?.split_first_chunk()?;
    Some(u32::from_be_bytes(code))
}

impl Dccp {
    pub(super) fn new(bytes: usize, idle: Nanos) -> Dccp {
        Dccp { attempts: Table::new(bytes, idle), counts: Counts::default() }
    }

    pub(super) fn observe(&mut self, time: Instant, packet: &Packet<'_>, dccp: &gentle_wire::Dccp) {
        let flow = Flow::new(&packet.ip, dccp.src_port, dccp.dst_port);
        match dccp.packet_type {
            REQUEST => self.request(time, flow, dccp.seq, service_code(packet)),
            RESPONSE => self.response(time, flow.back(), dccp.seq),
            ACK | DATA_ACK => self.ack(time, flow),
            _ => {}
        }
    }

    fn request(&mut self, time: Instant, flow: Flow, seq: u64, service: Option<u32>) {
        if let Some(attempt) = self.attempts.get(time, &flow) {
            let place = seq.wrapping_sub(attempt.origin) & SEQUENCE;
            if place <= 2 * REQUESTS && attempt.service == service {
                if attempt.requests.insert(place) {
                    attempt.request.again(time);
                    self.counts.retransmission("request", &mut attempt.lossy);
                }
                return;
            }
        }
        self.counts.attempt();
        let mut attempt = Attempt {
            service,
            origin: seq.wrapping_sub(REQUESTS),
            requests: Numbers::default(),
            responses: Numbers::default(),
            request: Step::default(),
            response: Step::default(),
            lossy: false,
            succeeded: false,
        };
        attempt.requests.insert(REQUESTS);
        attempt.request.begin(time);
        self.attempts.insert(time, flow, attempt);
    }

    fn response(&mut self, time: Instant, flow: Flow, seq: u64) {
        let Some(attempt) = self.attempts.get(time, &flow) else {
            return;
        };
        attempt.request.end();
        let first = attempt.responses.largest().is_none();
        if !attempt.responses.insert(seq) {
            return;
        }
        if !first {
            attempt.response.again(time);
            self.counts.retransmission("response", &mut attempt.lossy);
            return;
        }
        attempt.response.begin(time);
        if !attempt.lossy
            && let Some(begun) = attempt.request.first()
        {
            self.counts.rtt(time.saturating_since(begun));
        }
    }

    fn ack(&mut self, time: Instant, flow: Flow) {
        let Some(attempt) = self.attempts.get(time, &flow) else {
            return;
        };
        if attempt.succeeded || attempt.responses.largest().is_none() {
            return;
        }
        attempt.succeeded = true;
        attempt.response.end();
        self.counts.success(attempt.request.lost() + attempt.response.lost());
    }

    pub(super) fn finish(self) -> Counts {
        self.counts
    }
}

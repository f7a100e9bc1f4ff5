//! SCTP (RFC 9260, 5.1): INIT, INIT ACK, COOKIE ECHO, COOKIE ACK.
//!
//! An attempt is identified by the client's address and port, the server's, and the client's initiate tag. A further
//! INIT with that tag, a further INIT ACK to it and a further COOKIE ECHO are retransmissions; the COOKIE ACK is the
//! success. An association that continues with another address of a multihomed side counts as another attempt.
//!
//! These chunks never follow others in a packet (RFC 9260, 6.10), so the first chunk identifies the packet.

use super::Flow;
use super::counts::Counts;
use super::step::Step;
use super::table::Table;
use gentle_units::{Instant, Nanos};
use gentle_wire::{Ip, SctpChunk};

/// Longest delay of a copy made by the capture or a switch if both packets have the same IP identification; a
/// retransmission has another one.
const COPY_WITH_ID: Nanos = Nanos::from_millis(10);

/// Longest delay of a copy if there is no IP identification to compare.
const COPY_WITHOUT_ID: Nanos = Nanos::from_millis(1);

/// SCTP handshakes.
#[derive(Debug)]
pub(super) struct Sctp {
    attempts: Table<Flow, Attempt>,
    counts: Counts,
}

/// Attempt, stored by the flow from client to server.
#[derive(Debug)]
struct Attempt {
    client_tag: u32,
    init: Message,
    init_ack: Message,
    cookie_echo: Message,
    lossy: bool,
    succeeded: bool,
}

/// Message of the handshake with its retransmissions.
#[derive(Debug, Default)]
struct Message {
    step: Step,
    newest: Option<(Instant, u16)>,
}

impl Message {
    /// Records a transmission; returns true if it is a retransmission.
    fn sent(&mut self, time: Instant, ip: &Ip) -> bool {
        let id = ip.id.unwrap_or(0);
        let Some((before, id_before)) = self.newest.replace((time, id)) else {
            self.step.begin(time);
            return false;
        };
        let longest = if id == 0 { COPY_WITHOUT_ID } else { COPY_WITH_ID };
        if id == id_before && time.max(before) - time.min(before) <= longest {
            return false;
        }
        self.step.again(time);
        true
    }
}

/// Initiate tag of an INIT or INIT ACK (RFC 9260, 3.3.2).
fn initiate_tag(chunk: &SctpChunk<'_>) -> Option<u32> {
    let (&tag, _) = chunk.value.split_first_chunk()?;
    // Zero is not a valid tag.
    Some(u32::from_be_bytes(tag)).filter(|&tag| tag != 0)
}

impl Sctp {
    pub(super) fn new(bytes: usize, idle: Nanos) -> Sctp {
        Sctp { attempts: Table::new(bytes, idle), counts: Counts::default() }
    }

    pub(super) fn observe(&mut self, time: Instant, ip: &Ip, sctp: &gentle_wire::Sctp<'_>) {
        let Some(chunk) = sctp.chunks_iter().next() else {
            return;
        };
        let flow = Flow::new(ip, sctp.src_port, sctp.dst_port);
        match chunk.kind {
            SctpChunk::INIT => {
                if let Some(tag) = initiate_tag(&chunk) {
                    self.init(time, ip, flow, tag);
                }
            }
            SctpChunk::INIT_ACK => self.init_ack(time, ip, flow.back(), sctp.tag),
            SctpChunk::COOKIE_ECHO => self.cookie_echo(time, ip, flow),
            SctpChunk::COOKIE_ACK => self.cookie_ack(time, flow.back(), sctp.tag),
            _ => {}
        }
    }

    fn init(&mut self, time: Instant, ip: &Ip, flow: Flow, tag: u32) {
        if let Some(attempt) = self.attempts.get(time, &flow)
            && attempt.client_tag == tag
        {
            if attempt.init.sent(time, ip) {
                self.counts.retransmission("init", &mut attempt.lossy);
            }
            return;
        }
        self.counts.attempt();
        let mut attempt = Attempt {
            client_tag: tag,
            init: Message::default(),
            init_ack: Message::default(),
            cookie_echo: Message::default(),
            lossy: false,
            succeeded: false,
        };
        attempt.init.sent(time, ip);
        self.attempts.insert(time, flow, attempt);
    }

    fn init_ack(&mut self, time: Instant, ip: &Ip, flow: Flow, tag: u32) {
        let Some(attempt) = self.attempts.get(time, &flow) else {
            return;
        };
        if attempt.client_tag != tag {
            return;
        }
        attempt.init.step.end();
        let first = attempt.init_ack.newest.is_none();
        if attempt.init_ack.sent(time, ip) {
            self.counts.retransmission("init-ack", &mut attempt.lossy);
        }
        if first
            && !attempt.lossy
            && let Some(begun) = attempt.init.step.first()
        {
            self.counts.rtt(time.saturating_since(begun));
        }
    }

    fn cookie_echo(&mut self, time: Instant, ip: &Ip, flow: Flow) {
        let Some(attempt) = self.attempts.get(time, &flow) else {
            return;
        };
        attempt.init.step.end();
        attempt.init_ack.step.end();
        if attempt.cookie_echo.sent(time, ip) {
            self.counts.retransmission("cookie-echo", &mut attempt.lossy);
        }
    }

    fn cookie_ack(&mut self, time: Instant, flow: Flow, tag: u32) {
        let Some(attempt) = self.attempts.get(time, &flow) else {
            return;
        };
        if attempt.client_tag != tag || attempt.succeeded {
            return;
        }
        attempt.succeeded = true;
        let steps = [&attempt.init, &attempt.init_ack, &attempt.cookie_echo];
        self.counts.success(steps.iter().map(|m| m.step.lost()).sum());
        attempt.cookie_echo.step.end();
    }

    pub(super) fn finish(self) -> Counts {
        self.counts
    }
}

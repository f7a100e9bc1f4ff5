//! A TCP connection: two end points, and the application that drives them.

use super::dialogue::Talk;
use super::packet::Path;
use gentle_experiment::Direction;
use gentle_experiment::{Arrival, Initiator, REQUEST_BYTES, Span};
use gentle_tcp::{Endpoint, Outbox, Profile, Segment, Seq, Stats};
use gentle_units::Instant;
use std::sync::Arc;

/// A connection and what has to be remembered of it.
// The fields keep their order in memory (`repr(C)`): those that the simulation reads for each packet of the connection come
// first and share cache lines; the end points, which are large, follow.
#[repr(C)]
pub(crate) struct Connection {
    pub(crate) path: Path,
    /// The earliest timer event planned for the initiator and for the responder.
    pub(crate) planned: [Instant; 2],
    /// The dialogue on the connection; `None`: data goes one way.
    pub(crate) talk: Option<Box<Talk>>,
    /// Which way the initiator's packets go.
    pub(crate) initiator_direction: Direction,
    pub(crate) initiator_sends: bool,
    /// Whether the initiator's and the responder's application have written what they have to say.
    spoken: [bool; 2],
    /// Whether they have closed.
    closed: [bool; 2],
    /// A long-lived connection whose time is over.
    pub(crate) stopped: bool,
    /// The place of its workload in the scenario.
    pub(crate) workload: usize,
    pub(crate) initiator: Endpoint,
    /// Exists once a SYN has arrived.
    pub(crate) responder: Option<Endpoint>,
    pub(crate) started: Instant,
    pub(crate) span: Span,
    pub(crate) completed_at: Option<Instant>,
    /// Payload received by the data's receiver when measuring began, and both ends' counters then.
    received_before: u64,
    stats_before: [Stats; 2],
}

impl Connection {
    /// Opens a connection; the SYN goes to `out`.
    pub(crate) fn open(arrival: &Arrival, path: Path, initiator: &Arc<Profile>, out: &mut impl Outbox) -> Connection {
        let now = arrival.at;
        let initiator_sends = arrival.initiator == Initiator::Sender;
        Connection {
            path,
            workload: arrival.workload,
            started: now,
            span: arrival.span,
            initiator_direction: if initiator_sends { arrival.direction } else { arrival.direction.reverse() },
            initiator_sends,
            initiator: Endpoint::connect(Arc::clone(initiator), isn(path.serial, 0), now, out),
            responder: None,
            planned: [Instant::NEVER; 2],
            completed_at: None,
            spoken: [false; 2],
            closed: [false; 2],
            stopped: false,
            received_before: 0,
            stats_before: Default::default(),
            talk: None,
        }
    }

    /// The end point on that side, once it exists.
    pub(crate) fn end(&mut self, responder: bool) -> Option<&mut Endpoint> {
        if responder { self.responder.as_mut() } else { Some(&mut self.initiator) }
    }

    /// Hands a segment to one side; what it answers goes to `out`.
    #[inline]
    pub(crate) fn deliver(
        &mut self,
        now: Instant,
        to_responder: bool,
        segment: &Segment,
        congestion_experienced: bool,
        responder: &Arc<Profile>,
        out: &mut impl Outbox,
    ) {
        use gentle_tcp::Flags;
        match self.end(to_responder) {
            Some(end) => end.on_segment(now, segment, congestion_experienced, out),
            // A listening host; only a SYN makes it do something.
            None if segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK) => {
                let isn = isn(self.path.serial, 1);
                let profile = Arc::clone(responder);
                let end = Endpoint::accept(profile, isn, now, segment, congestion_experienced, out);
                self.responder = Some(end);
            }
            None => {}
        }
        if self.talk.is_none() {
            self.act(now, to_responder, out);
        }
    }

    /// The application on one side. It writes when its turn has come (a sender that connects: once established, as a
    /// program does whose `connect` has returned; a responder: once the request is there), closes at once after what it
    /// wrote, and otherwise when its peer has closed.
    ///
    /// Writing and closing are two calls, so the FIN of what fits into the window travels on its own, and else on the
    /// last segment: as under Linux and BSD.
    #[inline]
    fn act(&mut self, now: Instant, responder: bool, out: &mut impl Outbox) {
        let side = usize::from(responder);
        if !self.spoken[side] && self.may_speak(responder) {
            self.speak(now, responder, out);
        }
        if !self.closed[side] && self.end(responder).is_some_and(|end| end.peer_closed()) {
            self.close(now, responder, out);
        }
        if !responder && self.is_complete() && self.completed_at.is_none() {
            self.completed_at = Some(now);
        }
    }

    fn may_speak(&mut self, responder: bool) -> bool {
        let awaits_request = responder && !self.initiator_sends;
        self.end(responder)
            .is_some_and(|end| if awaits_request { end.received() >= REQUEST_BYTES } else { end.is_established() })
    }

    fn speak(&mut self, now: Instant, responder: bool, out: &mut impl Outbox) {
        let sends = self.initiator_sends != responder;
        let span = self.span;
        self.spoken[usize::from(responder)] = true;
        if let Some(end) = self.end(responder) {
            match (sends, span) {
                (true, Span::Bytes(bytes)) => end.write(now, bytes, out),
                (true, Span::Until(_)) => end.write_forever(now, out),
                (false, _) if responder => {}
                (false, _) => end.write(now, REQUEST_BYTES, out),
            }
        }
        if sends && matches!(span, Span::Bytes(_)) {
            self.close(now, responder, out);
        }
    }

    pub(crate) fn close(&mut self, now: Instant, responder: bool, out: &mut impl Outbox) {
        self.closed[usize::from(responder)] = true;
        if let Some(end) = self.end(responder) {
            end.close(now, out);
        }
    }

    /// Whether the application on one side has closed.
    pub(crate) fn has_closed(&self, responder: bool) -> bool {
        self.closed[usize::from(responder)]
    }

    /// Closes a connection that would continue forever.
    pub(crate) fn stop(&mut self, now: Instant, out: &mut impl Outbox) {
        self.stopped = true;
        self.close(now, !self.initiator_sends, out);
    }

    /// Whether the initiator knows that everything, FIN included, has arrived.
    fn is_complete(&self) -> bool {
        if self.initiator_sends { self.initiator.all_acked() } else { self.initiator.peer_closed() }
    }

    /// Whether TCP has given up on it.
    pub(crate) fn is_failed(&self) -> bool {
        self.initiator.is_failed() || self.responder.as_ref().is_some_and(Endpoint::is_failed)
    }

    /// Whether nothing more will happen.
    pub(crate) fn is_over(&self) -> bool {
        self.is_failed() || (self.initiator.is_closed() && self.responder.as_ref().is_some_and(Endpoint::is_closed))
    }

    /// Measuring begins: what was before does not count.
    pub(crate) fn begin_measuring(&mut self) {
        self.received_before = self.received();
        self.stats_before[0] = self.initiator.stats().clone();
        if let Some(responder) = &self.responder {
            self.stats_before[1] = responder.stats().clone();
        }
    }

    /// Both ends' counters, now and when measuring began.
    pub(crate) fn stats(&self) -> impl Iterator<Item = (&Stats, &Stats)> {
        let ends = std::iter::once(self.initiator.stats());
        let ends = ends.chain(self.responder.as_ref().map(Endpoint::stats));
        ends.zip(&self.stats_before)
    }

    /// The link that carries the data.
    pub(crate) fn data_direction(&self) -> Direction {
        match self.initiator_sends {
            true => self.initiator_direction,
            false => self.initiator_direction.reverse(),
        }
    }

    /// Payload received since measuring began.
    pub(crate) fn goodput_bytes(&self) -> u64 {
        self.received() - self.received_before
    }

    /// Payload received by the data's receiver.
    fn received(&self) -> u64 {
        if self.initiator_sends {
            self.responder.as_ref().map_or(0, Endpoint::received)
        } else {
            self.initiator.received()
        }
    }
}

/// Initial sequence numbers differ between connections, so that some wrap around.
fn isn(serial: u32, side: u32) -> Seq {
    Seq(serial.wrapping_mul(2).wrapping_add(side).wrapping_mul(0x9e37_79b1))
}

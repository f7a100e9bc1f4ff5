//! One end of a connection: its state, and the dispatch of segments, timers and application calls.

use crate::accecn::AccEcn;
use crate::ack_policy::Due;
use crate::handshake::Handshake;
use crate::profile::{AckPolicy, Profile};
use crate::receiver::{Fit, Receiver};
use crate::rto::Rtt;
use crate::segment::{Ect, Flags, Options, Outbox, Segment};
use crate::sender::Sender;
use crate::seq::Seq;
use crate::stats::Stats;
use gentle_units::{Instant, Nanos};
use std::sync::Arc;

/// Connection state. The closing states of RFC 9293 follow from the sender and the receiver, which track the FIN of
/// their direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    SynSent,
    SynReceived,
    Established,
    Failed,
}

/// One end of a connection. Both ends can send and receive.
///
/// An end point performs no I/O and has no clock: every call takes the current time, and segments to send are appended
/// to `out`. After every call the caller has to ask [`next_timer`](Endpoint::next_timer).
// Fields in order of use, as in `Sender`: first the fields that arriving data touches, then fields of acknowledgements,
// then the rest.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Endpoint {
    pub(crate) profile: Arc<Profile>,
    pub(crate) state: State,
    /// Options agreed upon in the handshake.
    pub(crate) sack: bool,
    pub(crate) timestamps: bool,
    /// Whether the ends agreed on the feedback of RFC 3168.
    pub(crate) ecn: bool,
    /// ECN field of every packet, and of new data.
    pub(crate) ect: Ect,
    pub(crate) data_ect: Ect,
    /// Payload of a full segment without the AccECN option, bytes.
    pub(crate) mss: u32,
    /// `None`: the ends did not agree on Accurate ECN.
    pub(crate) accecn: Option<Box<AccEcn>>,
    /// Expiry of the delayed acknowledgement; `Instant::NEVER`: not set.
    pub(crate) delack_at: Instant,
    pub(crate) rx: Receiver,
    pub(crate) tx: Sender,
    pub(crate) rtt: Rtt,
    pub(crate) stats: Stats,
    pub(crate) handshake: Handshake,
}

/// Maximum number of bytes that the application reads in a call, as on the testbed.
const READ: u32 = 256 << 10;

// A simulation holds one for each end of every open connection.
const _: () = assert!(size_of::<Endpoint>() <= 896);

impl Endpoint {
    pub(crate) fn new(profile: Arc<Profile>, state: State, isn: Seq, now: Instant) -> Endpoint {
        Endpoint {
            state,
            sack: profile.sack,
            timestamps: profile.timestamps,
            ecn: false,
            ect: Ect::Not,
            data_ect: Ect::Not,
            mss: u32::from(profile.mss),
            accecn: None,
            handshake: Handshake::new(now),
            tx: Sender::new(&profile, isn, now),
            rx: Receiver::new(&profile),
            rtt: Rtt::new(&profile),
            delack_at: Instant::NEVER,
            stats: Stats::default(),
            profile,
        }
    }

    /// Processes an arriving segment. `ce`: its packet was marked "congestion experienced" (RFC 3168).
    pub fn on_segment(&mut self, now: Instant, segment: &Segment, ce: bool, out: &mut impl Outbox) {
        match self.state {
            State::Established => {
                if ce || !self.take_expected(now, segment, out) {
                    self.process(now, segment, ce, out);
                }
            }
            State::SynSent => self.on_segment_in_syn_sent(now, segment, ce, out),
            State::SynReceived => self.on_segment_in_syn_received(now, segment, ce, out),
            State::Failed => {}
        }
    }

    /// Handles the timers due at `now`, if any.
    pub fn on_timer(&mut self, now: Instant, out: &mut impl Outbox) {
        if now >= self.delack_at {
            // An acknowledgement of out-of-order data that waited is no delayed one.
            if !self.rx.compression().is_some_and(|of| of.is_waiting()) {
                self.rx.ack.expired(&self.profile, self.rtt.rto());
            }
            self.send_ack(now, out);
        }
        if let Some(pacing) = &self.tx.pacing
            && now >= pacing.timer_at
        {
            self.on_pacing_timer(now, out);
        }
        if now >= self.tx.timer_at {
            match self.state {
                State::SynSent => self.on_syn_timer(now, out),
                State::SynReceived => self.on_synack_timer(now, out),
                State::Established => self.on_sender_timer(now, out),
                State::Failed => {}
            }
        }
    }

    /// Time at which [`on_timer`](Endpoint::on_timer) has to be called; `None`: no timer is set.
    #[inline]
    pub fn next_timer(&self) -> Option<Instant> {
        let mut at = self.tx.timer_at.min(self.delack_at);
        if let Some(pacing) = &self.tx.pacing {
            at = at.min(pacing.timer_at);
        }
        (at != Instant::NEVER).then_some(at)
    }

    /// Queues `bytes` more bytes of application data.
    pub fn write(&mut self, now: Instant, bytes: u64, out: &mut impl Outbox) {
        self.note_application_limit();
        self.tx.write(bytes);
        self.send_if_open(now, out);
    }

    /// Queues unlimited application data, until [`close`](Endpoint::close).
    pub fn write_forever(&mut self, now: Instant, out: &mut impl Outbox) {
        self.note_application_limit();
        self.tx.write_forever();
        self.send_if_open(now, out);
    }

    /// Closes the sending direction: a FIN follows the data queued, or, after
    /// [`write_forever`](Endpoint::write_forever), the data sent so far.
    pub fn close(&mut self, now: Instant, out: &mut impl Outbox) {
        self.tx.close();
        self.send_if_open(now, out);
    }

    fn send_if_open(&mut self, now: Instant, out: &mut impl Outbox) {
        if self.state == State::Established {
            self.restart_after_idle(now);
            self.transmit(now, out);
        }
    }

    /// Header prediction, as in `tcp_rcv_established`: the fast path of [`process`](Endpoint::process) for the next
    /// expected data segment without news for the sender; otherwise returns `false` and changes nothing.
    #[inline]
    fn take_expected(&mut self, now: Instant, segment: &Segment, out: &mut impl Outbox) -> bool {
        let (rx, tx) = (&mut self.rx, &self.tx);
        let unusual = Flags::SYN | Flags::RST | Flags::FIN | Flags::CWR;
        if segment.len == 0
            || !segment.flags.contains(Flags::ACK)
            || segment.flags.intersects(unusual)
            || segment.seq != rx.unwrap.wire(rx.nxt)
            || !rx.is_plain()
            || rx.ce.is_some()
            || self.accecn.is_some()
            || segment.sack_count > 0
            || segment.ack != tx.unwrap.wire(tx.una)
            || tx.una + u64::from(segment.window) > tx.window_end
            || !tx.board.is_empty()
            || tx.probe_high > 0
        {
            return false;
        }
        if segment.options.contains(Options::TIMESTAMPS) {
            if rx.nxt == rx.acknowledged {
                rx.note_timestamp(segment.ts_val);
            }
            rx.window.echoed(timestamp(now), segment.ts_ecr, segment.len);
        }
        rx.nxt += u64::from(segment.len);
        let push = segment.flags.contains(Flags::PSH);
        rx.ack.data(&self.profile, now, segment.len, push, self.rtt.rto());
        if rx.window.received(now, segment.len, (rx.nxt, 0), 0, 0) {
            rx.ack.opened(&self.profile);
        }
        self.transmit(now, out);
        self.acknowledge(now, out);
        true
    }

    /// Processes a segment in a synchronised state.
    pub(crate) fn process(&mut self, now: Instant, segment: &Segment, ce: bool, out: &mut impl Outbox) {
        let Some(start) = self.rx.unwrap.position(segment.seq, self.rx.nxt) else {
            return;
        };
        let end = start + u64::from(segment.seq_len());
        let acceptable = end >= self.rx.acknowledged.min(self.rx.nxt) && self.rx.window.admits(start);
        if segment.flags.intersects(Flags::SYN | Flags::RST) {
            self.on_control(now, segment, ce, acceptable, out);
            return;
        }
        if !segment.flags.contains(Flags::ACK) {
            return;
        }
        if self.accecn.is_some() {
            self.note_arrival(segment, ce, acceptable);
        }
        if segment.options.contains(Options::TIMESTAMPS) {
            // In TIME-WAIT, ts_recent is not updated (tcp_timewait_state_process; tcp_twrespond of FreeBSD): the
            // acknowledgement of a repeated FIN echoes the first FIN, and its sender measures the time since then as a
            // round trip.
            if start <= self.rx.acknowledged && !self.is_closed() {
                self.rx.note_timestamp(segment.ts_val);
            }
            let window = &mut self.rx.window;
            window.echoed(timestamp(now), segment.ts_ecr, segment.len);
        }
        if !self.on_ack(now, segment, out) {
            return;
        }
        if segment.seq_len() > 0 {
            if !acceptable && start > self.rx.nxt {
                self.rx.ack.force();
            } else {
                self.on_data(now, start, segment, ce, out);
            }
        }
        self.transmit(now, out);
        self.acknowledge(now, out);
    }

    /// Handles a SYN or RST in a synchronised state.
    #[cold]
    fn on_control(&mut self, now: Instant, segment: &Segment, ce: bool, acceptable: bool, out: &mut impl Outbox) {
        if !segment.flags.contains(Flags::RST) {
            // A repeated SYN/ACK: our ACK of it was lost. Any other SYN: send a challenge ACK (RFC 5961, section 4.2).
            if self.accecn.is_some() {
                self.answer_syn(now, segment, ce, out);
            } else {
                self.send_ack(now, out);
            }
        } else if acceptable {
            self.fail();
        }
    }

    /// Processes a segment that occupies sequence space: payload, FIN or both.
    #[inline]
    fn on_data(&mut self, now: Instant, start: u64, segment: &Segment, ce: bool, out: &mut impl Outbox) {
        if self.ecn {
            self.echo_mark(segment, ce);
        }
        let was_closed = self.rx.closed();
        let fin = segment.flags.contains(Flags::FIN);
        let queued = self.rx.queued();
        match self.rx.take(start, segment.len, fin, self.profile.fin_sack) {
            Fit::InOrder { filled } => {
                if segment.len > 0 {
                    let push = segment.flags.contains(Flags::PSH);
                    self.rx.ack.data(&self.profile, now, segment.len, push, self.rtt.rto());
                    if self.rx.ce.is_some() {
                        self.report_change(now, segment, ce, out);
                    }
                    self.size_window(now, segment.len, start, queued);
                    if filled && self.profile.window_tuning {
                        self.rx.unread = (self.rx.nxt - start).min(u64::from(u32::MAX)) as u32;
                    }
                }
                if self.rx.closed() && !was_closed {
                    self.rx.ack.peer_closed(&self.profile);
                }
                if self.rx.has_gap() {
                    self.request_behind_gap();
                } else if filled {
                    self.rx.ack.force();
                }
            }
            Fit::OutOfOrder => {
                if self.rx.ce.is_some() {
                    self.report_change(now, segment, ce, out);
                }
                // Without SACK, only an acknowledgement with an unchanged window counts as a duplicate.
                if self.sack {
                    let beyond = self.rx.out_of_order_bytes();
                    let window = &mut self.rx.window;
                    if window.received_beyond(segment.len, beyond, queued) {
                        self.rx.ack.opened(&self.profile);
                    }
                }
                self.request_behind_gap();
            }
            Fit::Duplicate => {
                self.stats.duplicates_received += 1;
                if self.accecn.is_some() {
                    self.note_duplicate(start);
                }
                self.rx.ack.enter_quickack(&self.profile);
                self.rx.ack.force();
            }
        }
    }

    /// Updates the receive window after data in order, `len` bytes from `start` on, before which out-of-order data
    /// occupied `queued`.
    fn size_window(&mut self, now: Instant, len: u32, start: u64, queued: u64) {
        let rx = &mut self.rx;
        let end = start + u64::from(len);
        let reached = (end, rx.nxt.saturating_sub(end));
        let beyond = rx.out_of_order_bytes();
        if rx.window.received(now, len, reached, beyond, queued) {
            rx.ack.opened(&self.profile);
        }
    }

    /// Sends or schedules the pending acknowledgement.
    #[inline]
    fn acknowledge(&mut self, now: Instant, out: &mut impl Outbox) {
        let unacknowledged = self.rx.nxt - self.rx.acknowledged;
        if self.rx.compression().is_some_and(|of| of.is_pending()) {
            self.acknowledge_behind_gap(now, unacknowledged, out);
        } else {
            match self.rx.ack.due(&self.profile, unacknowledged, self.rtt.srtt()) {
                Due::Nothing => {}
                Due::Now => self.send_ack(now, out),
                Due::After(delay) => self.delack_at = self.delack_at.min(self.expiry(now, delay)),
            }
        }
        if self.rx.unread > 0 {
            self.read(now, out);
        }
    }

    /// Lets the application read what a filled gap made deliverable. A read that at least doubles the window is
    /// acknowledged (`__tcp_cleanup_rbuf`).
    #[cold]
    fn read(&mut self, now: Instant, out: &mut impl Outbox) {
        while self.rx.unread > 0 {
            self.rx.unread = self.rx.unread.saturating_sub(READ);
            let (nxt, queued) = (self.rx.nxt, self.rx.queued());
            if !self.rx.closed() && self.rx.window.doubles(nxt, queued) {
                self.send_ack(now, out);
            }
        }
    }

    /// Requests an acknowledgement while data is missing.
    fn request_behind_gap(&mut self) {
        let compresses = self.profile.sack_compression && self.sack && self.profile.ack_policy == AckPolicy::Linux;
        let start = self.rx.nxt;
        match self.rx.compression().filter(|_| compresses) {
            Some(of) => {
                of.arrived(start);
                self.rx.ack.schedule();
            }
            None => self.rx.ack.force(),
        }
    }

    /// Sends the acknowledgement of data behind a gap, or lets it wait for more.
    #[inline(never)]
    fn acknowledge_behind_gap(&mut self, now: Instant, unacknowledged: u64, out: &mut impl Outbox) {
        let received = self.rx.window.rtt();
        let rtt = self.rtt.srtt().map_or(received, |sent| sent.min(received));
        let urgent = self.rx.ack.is_urgent(unacknowledged);
        match self.rx.compression().filter(|_| !urgent) {
            Some(of) => match of.delay(rtt) {
                Some(delay) => self.delack_at = self.delack_at.min(now + delay),
                None => self.send_ack(now, out),
            },
            None => self.send_ack(now, out),
        }
    }

    /// Sends a pure acknowledgement.
    pub(crate) fn send_ack(&mut self, now: Instant, out: &mut impl Outbox) {
        self.stats.acks_sent += 1;
        if let Some(pacing) = &mut self.tx.pacing {
            pacing.passed(now);
        }
        let ack = self.segment(now, self.tx.nxt, Flags::ACK);
        out.push(ack);
    }

    /// Builds a segment at `position` with acknowledgement, window, timestamps, SACK blocks and ECN feedback.
    // Inlined and never passed by reference, so that it is built in registers: built in memory, it would be read again before
    // its parts have got there.
    #[inline(always)]
    pub(crate) fn segment(&mut self, now: Instant, position: u64, flags: Flags) -> Segment {
        let mut segment = Segment::new(self.tx.unwrap.wire(position), flags);
        segment.ect = self.ect;
        segment.ack = self.rx.unwrap.wire(self.rx.nxt);
        segment.window = self.rx.window.offered(self.rx.nxt, self.rx.queued());
        if self.timestamps {
            segment.options |= Options::TIMESTAMPS;
            segment.ts_val = timestamp(now);
            segment.ts_ecr = self.rx.ts_recent;
        }
        let dsack = self.rx.has_dsack();
        if self.sack && self.rx.has_sack() {
            (segment.sack, segment.sack_count) = self.rx.sack_blocks(self.profile.dsack);
        }
        if self.rx.echo_congestion {
            segment.flags |= Flags::ECE;
        }
        if self.accecn.is_some() {
            segment = self.report_marks(now, segment, dsack);
        }
        self.rx.acknowledged = self.rx.nxt;
        self.rx.ack.sent(&self.profile);
        if let Some(of) = self.rx.compression() {
            of.sent();
        }
        self.delack_at = Instant::NEVER;
        segment
    }

    pub(crate) fn fail(&mut self) {
        self.state = State::Failed;
        self.tx.timer_at = Instant::NEVER;
        self.delack_at = Instant::NEVER;
        if let Some(pacing) = &mut self.tx.pacing {
            pacing.timer_at = Instant::NEVER;
        }
        self.tx.release();
    }

    /// Whether the three-way handshake is complete on this side.
    #[inline]
    pub fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// Time at which the handshake was completed on this side.
    pub fn established_at(&self) -> Option<Instant> {
        (self.handshake.established_at != Instant::NEVER).then_some(self.handshake.established_at)
    }

    /// Payload bytes received in order.
    #[inline]
    pub fn received(&self) -> u64 {
        self.rx.received()
    }

    /// Whether the peer's FIN arrived in order.
    #[inline]
    pub fn peer_closed(&self) -> bool {
        self.rx.closed()
    }

    /// Whether [`close`](Endpoint::close) was called and everything is acknowledged, FIN included.
    #[inline]
    pub fn all_acked(&self) -> bool {
        self.tx.fin_acked()
    }

    /// Whether both directions are closed and acknowledged, or the connection failed. A late retransmission of the
    /// peer's FIN is still answered.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.state == State::Failed || (self.tx.fin_acked() && self.rx.closed())
    }

    /// Whether the connection failed: too many retransmissions, or a reset.
    #[inline]
    pub fn is_failed(&self) -> bool {
        self.state == State::Failed
    }

    /// Payload bytes of this side that the peer has acknowledged.
    #[inline]
    pub fn bytes_acked(&self) -> u64 {
        self.tx.bytes_acked()
    }

    /// Payload bytes queued and not yet sent; meaningless after [`write_forever`](Endpoint::write_forever).
    pub fn bytes_unsent(&self) -> u64 {
        self.tx.limit.saturating_sub(self.tx.nxt)
    }

    /// Payload bytes queued and not yet acknowledged, sent or not; huge after
    /// [`write_forever`](Endpoint::write_forever).
    #[inline]
    pub fn bytes_unacked(&self) -> u64 {
        self.tx.limit.saturating_sub(self.tx.una.max(1))
    }

    /// Congestion window in segments.
    #[inline]
    pub fn cwnd(&self) -> u32 {
        self.tx.window.cwnd
    }

    /// Slow start threshold in segments; `u32::MAX` before the first reduction.
    #[inline]
    pub fn ssthresh(&self) -> u32 {
        self.tx.window.ssthresh
    }

    /// Smoothed round-trip time; `None` before the first sample.
    #[inline]
    pub fn srtt(&self) -> Option<Nanos> {
        self.rtt.srtt()
    }

    /// Current retransmission timeout, backoff included.
    #[inline]
    pub fn rto(&self) -> Nanos {
        self.rtt.rto()
    }

    /// Segments believed to be in the network.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.tx.board.in_flight()
    }

    /// Counters of this end point.
    #[inline]
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Profile of this end point.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }
}

/// Clock of the timestamps option: milliseconds (`TCP_TS_HZ` of Linux, `kern.hz` of FreeBSD); never zero, which stands
/// for "no echo".
#[inline]
pub(crate) fn timestamp(now: Instant) -> u32 {
    (now.as_millis() as u32).wrapping_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the header-prediction path with full processing for all segments of a transfer with losses.
    #[test]
    fn prediction_changes_nothing() {
        for profile in [Profile::default(), Profile::freebsd_9_3(), Profile::ns_2()] {
            let profile = Arc::new(profile);
            let mut now = Instant::from_millis(1);
            let mut forth = Vec::new();
            let mut sender = Endpoint::connect(Arc::clone(&profile), Seq(7), now, &mut forth);
            let mut back = Vec::new();
            let syn = forth.remove(0);
            let mut receiver = Endpoint::accept(profile, Seq(9), now, &syn, false, &mut back);
            let mut predicted = 0;
            for round in 0..400 {
                now += Nanos::from_millis(20);
                for segment in std::mem::take(&mut back) {
                    sender.on_segment(now, &segment, false, &mut forth);
                }
                if round == 0 {
                    sender.write(now, 400_000, &mut forth);
                }
                sender.on_timer(now, &mut forth);
                receiver.on_timer(now, &mut back);
                for (n, segment) in std::mem::take(&mut forth).into_iter().enumerate() {
                    if (n + 5 * round) % 17 == 16 {
                        continue;
                    }
                    if receiver.state == State::Established {
                        let (mut full, mut answer) = (receiver.clone(), back.clone());
                        full.process(now, &segment, false, &mut answer);
                        let (mut quick, mut quick_answer) = (receiver.clone(), back.clone());
                        if quick.take_expected(now, &segment, &mut quick_answer) {
                            predicted += 1;
                            assert_eq!(quick_answer, answer);
                            assert_eq!(format!("{quick:?}"), format!("{full:?}"));
                        }
                    }
                    receiver.on_segment(now, &segment, false, &mut back);
                }
            }
            assert_eq!(receiver.received(), 400_000);
            assert!(predicted > 100, "{predicted}");
        }
    }

    /// A sender fills the receive window and loses a segment. The acknowledgement of its retransmission has the rest of
    /// the window, since all the data behind it is still to be read; reading gives a second one.
    #[test]
    fn reading_what_a_filled_gap_delivers_opens_the_window() {
        let profile = Arc::new(Profile { receive_window: 300_000, ..Profile::default() });
        let mut now = Instant::from_millis(1);
        let (mut forth, mut back) = (Vec::new(), Vec::new());
        let mut sender = Endpoint::connect(Arc::clone(&profile), Seq(7), now, &mut forth);
        let syn = forth.remove(0);
        let mut receiver = Endpoint::accept(profile, Seq(9), now, &syn, false, &mut back);
        let mut opened = Vec::new();
        for round in 0..60 {
            now += Nanos::from_millis(20);
            for segment in std::mem::take(&mut back) {
                sender.on_segment(now, &segment, false, &mut forth);
            }
            if round == 0 {
                sender.write_forever(now, &mut forth);
            }
            sender.on_timer(now, &mut forth);
            receiver.on_timer(now, &mut back);
            for (n, segment) in std::mem::take(&mut forth).into_iter().enumerate() {
                if (round, n) == (40, 0) {
                    continue;
                }
                let before = back.len();
                receiver.on_segment(now, &segment, false, &mut back);
                if let [first, second] = &back[before..] {
                    assert_eq!(first.ack, second.ack);
                    opened.push((first.window, second.window));
                }
            }
        }
        let [(first, second)] = opened[..] else {
            panic!("{opened:?}");
        };
        assert!(second >= 2 * first && second > 200_000, "{first}, {second}");
    }
}

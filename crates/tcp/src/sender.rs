//! Sending half: its state, and the transmission of new segments and retransmissions.

use crate::congestion::{Congestion, Controller, Flow, HyStartPlus, Opening, Window};
use crate::endpoint::{Endpoint, State, timestamp};
use crate::pacing::Pacing;
use crate::profile::Profile;
use crate::rack::Rack;
use crate::rate::DeliveryRate;
use crate::recovery::{CaState, Reduction};
use crate::scoreboard::{FIN, LOST, PUSH, RETRANS, SACKED, Scoreboard};
use crate::segment::{Flags, Outbox, Segment};
use crate::seq::{Seq, Unwrap};
use crate::timer::Timer;
use crate::undo::Undoing;
use gentle_units::Instant;

/// Limit of an endless transfer: far below the end of `u64`, so that sums do not overflow.
const FOREVER: u64 = 1 << 62;

/// Sending half of an end point. Positions as in [`Unwrap`]: 0 is the SYN, 1 the first byte.
///
/// Fields used for every acknowledgement and every new segment come first, in few cache lines; those used only in loss
/// recovery come last. `repr(C)` keeps this order.
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct Sender {
    /// Expiry of the timer; `Instant::NEVER`: not set.
    pub(crate) timer_at: Instant,
    pub(crate) timer: Timer,
    pub(crate) ca: CaState,
    closing: bool,
    /// Whether the window, not the application, limited sending in the last round trip.
    cwnd_limited: bool,
    pub(crate) unwrap: Unwrap,
    /// Oldest unacknowledged position.
    pub(crate) una: u64,
    /// Next position to send.
    pub(crate) nxt: u64,
    /// One past the last byte written; position of the FIN once the application has closed.
    pub(crate) limit: u64,
    /// Right edge of the peer's receive window.
    pub(crate) window_end: u64,
    /// Value of `nxt` when a tail loss probe was sent; 0: no probe is outstanding.
    pub(crate) probe_high: u64,
    /// `None`: data leaves as soon as the windows allow.
    pub(crate) pacing: Option<Box<Pacing>>,
    pub(crate) board: Scoreboard,
    pub(crate) window: Window,
    /// Maximum number of outstanding segments in the current round trip, which ends at `usage_end`.
    max_packets_out: u32,
    usage_end: u64,
    last_data: Instant,
    /// Value of `nxt` when the current state was entered; the state ends when this position is acknowledged.
    pub(crate) high: u64,
    /// Right edge of the highest SACKed segment, at least `una`: forward acknowledgement.
    pub(crate) fack: u64,
    /// Consecutive timeouts without progress.
    pub(crate) timeouts: u32,
    /// Consecutive duplicate acknowledgements.
    pub(crate) dupacks: u32,
    /// Number of out-of-order segments that prove a loss: `dupthresh`, raised by observed reordering.
    pub(crate) reordering: u32,
    pub(crate) reordering_seen: bool,
    /// Whether F-RTO is checking a timeout (RFC 5682).
    pub(crate) frto: bool,
    /// Whether the tail loss probe was a retransmission.
    pub(crate) probe_retransmitted: bool,
    /// Whether the next new segment carries CWR (RFC 3168, section 6.1.2).
    pub(crate) cwr_pending: bool,
    pub(crate) rack: Rack,
    pub(crate) congestion: Congestion,
    /// `None`: off, or the initial slow start is over.
    pub(crate) hystart_plus: Option<Box<HyStartPlus>>,
    /// `None`: congestion control is not rate-based.
    pub(crate) rate: Option<Box<DeliveryRate>>,
    pub(crate) undoing: Undoing,
    pub(crate) reduction: Reduction,
    /// No segment below this position awaits retransmission.
    pub(crate) retransmit_from: u64,
    /// SACK blocks of the last acknowledgement, which need not be processed again.
    pub(crate) recv_sack_cache: [(u64, u64); 3],
}

impl Sender {
    pub(crate) fn new(profile: &Profile, isn: Seq, now: Instant) -> Sender {
        Sender {
            unwrap: Unwrap::new(isn),
            una: 0,
            nxt: 1,
            limit: 1,
            closing: false,
            window_end: 0,
            pacing: Pacing::new(profile),
            board: Scoreboard::new(),
            fack: 1,
            recv_sack_cache: [(0, 0); 3],
            retransmit_from: 0,
            window: Window { cwnd: profile.iw, credit: 0, ssthresh: profile.initial_ssthresh },
            congestion: Congestion::new(profile, now),
            hystart_plus: HyStartPlus::new(profile),
            rate: profile.congestion_control.is_rate_based().then(|| Box::new(DeliveryRate::new())),
            cwnd_limited: false,
            max_packets_out: 0,
            usage_end: 0,
            last_data: now,
            ca: CaState::Open,
            high: 0,
            reduction: Reduction::default(),
            undoing: Undoing::default(),
            rack: Rack::default(),
            dupacks: 0,
            reordering: profile.dupthresh,
            reordering_seen: false,
            frto: false,
            probe_high: 0,
            probe_retransmitted: false,
            cwr_pending: false,
            timer: Timer::Rto,
            timer_at: Instant::NEVER,
            timeouts: 0,
        }
    }

    pub(crate) fn write(&mut self, bytes: u64) {
        if !self.closing {
            self.limit = self.limit.saturating_add(bytes).min(FOREVER);
        }
    }

    pub(crate) fn write_forever(&mut self) {
        if !self.closing {
            self.limit = FOREVER;
        }
    }

    pub(crate) fn close(&mut self) {
        if !self.closing {
            self.closing = true;
            if self.limit == FOREVER {
                self.limit = self.nxt;
            }
        }
    }

    #[inline]
    pub(crate) fn fin_acked(&self) -> bool {
        self.closing && self.una > self.limit
    }

    #[inline]
    pub(crate) fn bytes_acked(&self) -> u64 {
        self.una.min(self.limit).saturating_sub(1)
    }

    #[inline]
    pub(crate) fn is_closing(&self) -> bool {
        self.closing
    }

    /// Whether data or a FIN has not been sent yet.
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        self.nxt < self.limit || (self.closing && self.nxt == self.limit)
    }

    /// Frees memory that a closed connection does not need.
    pub(crate) fn release(&mut self) {
        self.board = Scoreboard::new();
        if let Some(rate) = &mut self.rate {
            rate.release();
        }
    }

    /// Whether the window may grow, which requires that it was fully used (`tcp_is_cwnd_limited`; see RFC 7661).
    #[inline]
    pub(crate) fn may_grow(&self) -> bool {
        self.cwnd_limited || (self.window.in_slow_start() && self.window.cwnd < self.max_packets_out.saturating_mul(2))
    }

    /// Records the usage of the window after sending (`tcp_cwnd_validate`).
    #[inline]
    fn note_usage(&mut self, limited: bool) {
        let out = self.board.len();
        if self.una >= self.usage_end || limited || (!self.cwnd_limited && out > self.max_packets_out) {
            self.cwnd_limited = limited;
            self.max_packets_out = out;
            self.usage_end = self.nxt;
        }
    }
}

impl Endpoint {
    /// Reduces the window when sending resumes after idle time (RFC 2861; RFC 5681, section 4.1).
    pub(crate) fn restart_after_idle(&mut self, now: Instant) {
        let tx = &mut self.tx;
        if !tx.board.is_empty() || tx.last_data == Instant::ZERO {
            return;
        }
        let idle = now.saturating_since(tx.last_data);
        tx.congestion.on_restart(now, idle);
        let rto = self.rtt.rto();
        if !self.profile.idle_restart || tx.rate.is_some() || idle <= rto {
            return;
        }
        let restart = self.profile.iw.min(tx.window.cwnd);
        if self.profile.idle_reset {
            tx.window.cwnd = restart;
            return;
        }
        // tcp_cwnd_restart: halve for every timeout that has passed; ssthresh keeps three quarters of the old window
        // (tcp_current_ssthresh).
        let kept = tx.window.cwnd / 2 + tx.window.cwnd / 4;
        tx.window.ssthresh = tx.window.ssthresh.max(kept);
        let mut left = idle.0;
        while left > rto.0 && tx.window.cwnd > restart {
            tx.window.cwnd /= 2;
            left -= rto.0;
        }
        tx.window.cwnd = tx.window.cwnd.max(restart);
        tx.window.credit = 0;
    }

    /// Sends new segments as far as the windows allow.
    #[inline]
    pub(crate) fn transmit(&mut self, now: Instant, out: &mut impl Outbox) {
        if self.tx.has_unsent() {
            let burst = if self.profile.max_burst > 0 { self.profile.max_burst } else { u32::MAX };
            self.send_new(now, burst, false, out);
        }
    }

    /// Sends at most `burst` new segments; `probe` ignores the congestion window. Returns the number sent.
    pub(crate) fn send_new(&mut self, now: Instant, burst: u32, probe: bool, out: &mut impl Outbox) -> u32 {
        if self.tx.pacing.is_some() {
            return self.send_paced(now, burst, probe, out);
        }
        let most = if probe { burst } else { burst.min(self.tx.window.cwnd.saturating_sub(self.window_used())) };
        let mut sent = self.send_full_segments(now, most, out);
        let mut limited = false;
        while sent < burst && self.tx.has_unsent() {
            if !probe && self.window_used() >= self.tx.window.cwnd {
                limited = true;
                break;
            }
            if !self.send_one_new(now, false, out) {
                break;
            }
            sent += 1;
        }
        self.after_sending(now, sent, limited, probe);
        sent
    }

    /// Accounts for an attempt to send new segments, of which `sent` left; `limited`: the congestion window held others
    /// back.
    #[inline]
    pub(crate) fn after_sending(&mut self, now: Instant, sent: u32, limited: bool, probe: bool) {
        // Segments sent in recovery count against its budget; a probe is scheduled in case these were the last.
        if self.tx.ca.reduces() {
            self.tx.reduction.sent += sent;
        }
        if sent > 0 || limited {
            let full = self.tx.board.in_flight() >= self.tx.window.cwnd;
            self.tx.note_usage(limited || full);
        }
        if sent > 0 {
            let in_flight = self.tx.board.in_flight();
            self.tx.congestion.on_sent(now, sent, in_flight);
        }
        if sent > 0 && !probe {
            self.schedule_probe(now, false);
        }
    }

    /// Number of segments that occupy the congestion window.
    #[inline]
    pub(crate) fn window_used(&self) -> u32 {
        // Without limited transmit, duplicate ACKs before recovery release nothing.
        if self.tx.ca == CaState::Disorder && !self.profile.limited_transmit {
            self.tx.board.len()
        } else {
            self.tx.board.in_flight()
        }
    }

    /// Fast path: sends at most `most` new segments that are full, not the last, and differ only in their sequence
    /// numbers, which holds for almost all segments. Returns the number sent.
    #[inline]
    pub(crate) fn send_full_segments(&mut self, now: Instant, most: u32, out: &mut impl Outbox) -> u32 {
        let len = self.full_payload(now);
        // A segment with the last byte written is not sent here.
        let end = self.tx.window_end.min(self.tx.limit.saturating_sub(1));
        let mut next = self.tx.nxt + u64::from(len);
        // Only the first of several segments carries CWR or reports a duplicate.
        if most == 0 || next > end || len == 0 || self.tx.cwr_pending || self.rx.has_sack() {
            return 0;
        }
        let was_empty = self.tx.board.is_empty();
        let mut start = self.tx.nxt;
        self.rx.ack.data_sent(now);
        let mut segment = self.segment(now, start, Flags::ACK);
        segment.len = len;
        segment.ect = self.data_ect;
        let mut seq = segment.seq;
        let mut sent = 0;
        loop {
            self.tx.board.push(start, len as u16, 0, now);
            out.push(Segment { seq, ..segment });
            sent += 1;
            start = next;
            next += u64::from(len);
            if sent == most || next > end {
                break;
            }
            seq = seq + len;
            self.rx.ack.data_sent(now);
        }
        self.tx.nxt = start;
        self.tx.last_data = now;
        self.stats.segments_sent += sent;
        self.stats.data_sent += sent;
        if was_empty || self.tx.timer == Timer::Probe {
            self.rearm_rto(now);
        }
        sent
    }

    /// Sends the next new segment, if the peer's window has room for it. With `behind`, the segment leaves at once with a
    /// full one before it, and is cut to the rest of the window unless a short one is outstanding
    /// (`tcp_mss_split_point`, with Nagle's rule as in `tcp_minshall_check`).
    // Out of line: needed only at the end of the data written and of the peer's window.
    #[inline(never)]
    pub(crate) fn send_one_new(&mut self, now: Instant, behind: bool, out: &mut impl Outbox) -> bool {
        let full = self.full_payload(now);
        let tx = &mut self.tx;
        let start = tx.nxt;
        let mut len = (tx.limit - start).min(u64::from(full));
        let room = tx.window_end.saturating_sub(start);
        if room < len {
            // Sender-side silly window avoidance: otherwise a short segment only when nothing is outstanding.
            let short_end = tx.pacing.as_ref().map_or(u64::MAX, |pacing| pacing.short_end);
            let fills = behind && short_end <= tx.una;
            if !(tx.board.is_empty() || fills) || room == 0 {
                if tx.board.is_empty() && tx.timer_at == Instant::NEVER {
                    tx.timer = Timer::Persist;
                    self.tx.timer_at = self.expiry(now, self.rtt.rto());
                }
                return false;
            }
            len = room;
        }
        if len < u64::from(full)
            && let Some(pacing) = &mut tx.pacing
        {
            pacing.short_end = start + len;
        }
        let last = start + len == tx.limit;
        let fin = last && tx.closing && (len == 0 || self.profile.fin_on_data);
        if len == 0 && !fin {
            return false;
        }
        let was_empty = tx.board.is_empty();
        let flags = (if fin { FIN } else { 0 }) | (if last { PUSH } else { 0 });
        let occupied = len + u64::from(fin);
        tx.nxt += occupied;
        tx.board.push(start, occupied as u16, flags, now);
        tx.last_data = now;
        let reduced = std::mem::take(&mut tx.cwr_pending);
        self.rx.ack.data_sent(now);
        self.emit(now, start, occupied as u32, flags, false, out);
        if self.ecn
            && len > 0
            && let Some(segment) = out.last_mut()
        {
            segment.ect = self.data_ect;
            if reduced {
                segment.flags |= Flags::CWR;
            }
        }
        if was_empty || self.tx.timer == Timer::Probe {
            self.rearm_rto(now);
        }
        true
    }

    /// Retransmits segments marked lost, oldest first, as far as the window allows (`tcp_xmit_retransmit_queue`).
    pub(crate) fn retransmit_lost(&mut self, now: Instant, out: &mut impl Outbox) {
        if self.tx.board.lost <= self.tx.board.retrans {
            return;
        }
        let most = self.burst_segments();
        // Segments and bytes of the burst that pacing has let go.
        let mut burst = (0, 0);
        let mut index = self.tx.board.find(self.tx.retransmit_from);
        while let Some(&sent) = self.tx.board.get(index) {
            let is_due = sent.flags & (LOST | SACKED | RETRANS) == LOST;
            if burst.0 > 0 && (!is_due || burst.0 == most) {
                self.end_burst(now, burst.1, burst.0, out);
                burst = (0, 0);
            }
            if self.tx.board.in_flight() >= self.tx.window.cwnd || (burst.0 == 0 && self.is_held(now)) {
                break;
            }
            if is_due {
                self.retransmit(now, index, out);
                burst = (burst.0 + 1, burst.1 + u64::from(sent.len));
                if index == 0 && self.tx.timer != Timer::Reorder {
                    self.arm_rto_paced(now);
                }
                if self.tx.board.lost <= self.tx.board.retrans {
                    index += 1;
                    break;
                }
            }
            index += 1;
        }
        if burst.0 > 0 {
            self.end_burst(now, burst.1, burst.0, out);
        }
        self.tx.retransmit_from = self.tx.board.get(index).map_or(self.tx.nxt, |sent| sent.start);
    }

    /// Retransmits the segment at `index`.
    #[inline(never)]
    fn retransmit(&mut self, now: Instant, index: usize, out: &mut impl Outbox) {
        let Some(&sent) = self.tx.board.get(index) else {
            return;
        };
        // Segments that pacing does not delay, as after a timeout, carry the time at which they were due
        // (`tcp_wstamp_ns`).
        let due = match &self.tx.pacing {
            None => now,
            Some(pacing) => now + pacing.wait(now),
        };
        let previous = self.tx.board.mark_retransmitted(index, due);
        if self.tx.limit != FOREVER {
            self.stats.waits.add(previous, now);
        }
        self.tx.undoing.retransmitted(timestamp(due));
        if let Some(rate) = &mut self.tx.rate {
            rate.sent_again(index);
        }
        if self.tx.ca.reduces() {
            self.tx.reduction.sent += 1;
        }
        self.tx.last_data = now;
        self.emit(due, sent.start, u32::from(sent.len), sent.flags, true, out);
    }

    /// Retransmits the segment at `index`, whether or not pacing permits it.
    pub(crate) fn retransmit_alone(&mut self, now: Instant, index: usize, out: &mut impl Outbox) {
        self.retransmit(now, index, out);
        if let Some(sent) = self.tx.board.get(index) {
            self.end_burst(now, u64::from(sent.len), 1, out);
        }
    }

    #[inline(always)]
    fn emit(&mut self, now: Instant, start: u64, occupied: u32, flags: u8, again: bool, out: &mut impl Outbox) {
        let fin = flags & FIN != 0;
        let payload = occupied - u32::from(fin);
        let mut wire = Flags::ACK;
        if fin {
            wire |= Flags::FIN;
        }
        if flags & PUSH != 0 && payload > 0 {
            wire |= Flags::PSH;
        }
        let mut segment = self.segment(now, start, wire);
        segment.len = payload;
        segment.retransmitted = again;
        if again && self.accecn.is_some() {
            segment = self.shorten(segment);
        }
        let stats = &mut self.stats;
        stats.segments_sent += 1;
        stats.data_sent += u32::from(payload > 0);
        stats.fin_sent += u32::from(fin);
        if again {
            stats.segments_retransmitted += 1;
            stats.data_retransmitted += u32::from(payload > 0);
            stats.fin_retransmitted += u32::from(fin);
        }
        out.push(segment);
    }

    /// Initialises the sender after the handshake; `losses` of the handshake may reduce the initial window.
    pub(crate) fn open_sender(&mut self, now: Instant, window: u32, losses: u32) {
        debug_assert_eq!(self.state, State::Established);
        let tx = &mut self.tx;
        tx.una = 1;
        tx.nxt = 1;
        tx.high = 1;
        tx.timer_at = Instant::NEVER;
        tx.window_end = 1 + u64::from(window);
        tx.last_data = now;
        if losses > self.profile.iw_syn_losses {
            tx.window.cwnd = 1;
        }
    }

    /// Starts congestion control once the handshake has given a round-trip time.
    pub(crate) fn open_congestion(&mut self, now: Instant) {
        let opening =
            Opening { ecn: self.ecn || self.accecn.is_some(), nxt: self.tx.nxt, seed: self.tx.unwrap.wire(0).0 };
        if self.tx.rate.is_some() {
            self.with_flow(now, |congestion, flow| {
                congestion.on_open(&opening, Some(flow));
            });
        } else {
            self.tx.congestion.on_open(&opening, None);
            self.update_pacing_rate();
        }
    }

    /// Lets rate-based congestion control act on the connection; without such, does nothing.
    pub(crate) fn with_flow(&mut self, now: Instant, act: impl FnOnce(&mut Congestion, &mut Flow)) {
        let tx = &mut self.tx;
        if let (Some(pacing), Some(rate)) = (&mut tx.pacing, &mut tx.rate) {
            let mut flow = Flow {
                now,
                state: tx.ca,
                in_flight: tx.board.in_flight(),
                lost: tx.reduction.lost,
                mss: self.mss,
                srtt: self.rtt.srtt(),
                min_rtt: self.rtt.min(),
                window: &mut tx.window,
                pacing,
                rate,
            };
            act(&mut tx.congestion, &mut flow);
        }
    }

    /// Informs congestion control that data was sent while nothing was in flight.
    pub(crate) fn start_transmission(&mut self, now: Instant) {
        self.with_flow(now, |congestion, flow| congestion.on_transmission(flow));
    }

    /// Marks samples of the delivery rate as limited by the application, if it writes only after everything was sent
    /// (`tcp_rate_check_app_limited`).
    pub(crate) fn note_application_limit(&mut self) {
        let tx = &mut self.tx;
        if let Some(rate) = &mut tx.rate
            && tx.limit.saturating_sub(tx.nxt) < u64::from(self.mss)
            && tx.board.in_flight() < tx.window.cwnd
            && tx.board.lost <= tx.board.retrans
        {
            rate.limit_by_application(tx.board.in_flight());
        }
    }
}

//! Loss recovery: loss detection and the reduction of the window.
//!
//! The states are Linux's (`tcp_fastretrans_alert`): **Open**, no anomaly; **Disorder**, something arrived out of
//! order; **Cwr**, the window is being reduced because of ECN or a tail loss probe; **Recovery**, fast recovery;
//! **Loss**, after a timeout. FreeBSD and ns-2 differ here in which holes count as lost and how many segments an
//! acknowledgement releases; both are knobs of the profile.

use crate::ack::AckEvent;
use crate::congestion::Controller;
use crate::endpoint::Endpoint;
use crate::profile::LossMarking;
use crate::scoreboard::{LOST, RETRANS, SACKED};
use crate::timer::Timer;
use gentle_units::{Instant, Nanos};

/// Congestion state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CaState {
    Open,
    Disorder,
    Cwr,
    Recovery,
    Loss,
}

impl CaState {
    /// Whether the window is being reduced to `ssthresh`.
    #[inline]
    pub(crate) fn reduces(self) -> bool {
        matches!(self, CaState::Cwr | CaState::Recovery)
    }
}

/// Progress of a window reduction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reduction {
    /// Window before the reduction.
    pub(crate) prior_cwnd: u32,
    /// Segments delivered since the start (`prr_delivered`).
    delivered: u32,
    /// Segments sent since the start (`prr_out`).
    pub(crate) sent: u32,
    /// Positions below this have been examined by count-based loss marking.
    marked_to: u64,
    /// Segments marked lost over the life of the connection.
    pub(crate) lost: u32,
}

/// Data to send after the window has been adapted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resend {
    /// No retransmission.
    Nothing,
    /// Segments marked lost.
    Lost,
    /// New data first: F-RTO's test (RFC 5682, section 2.1, step 2b).
    New,
}

impl Endpoint {
    /// Processes an acknowledgement that is not plain progress, or any in a state other than Open
    /// (`tcp_fastretrans_alert`).
    #[inline(never)]
    pub(crate) fn fastretrans_alert(&mut self, now: Instant, event: &mut AckEvent) -> Resend {
        if event.ece {
            // ECN requires the reduction, even if retransmissions prove spurious.
            self.tx.undoing.prior_ssthresh = 0;
        }
        if self.tx.ca == CaState::Open {
            self.tx.undoing.first_stamp = 0;
        } else if self.tx.una >= self.tx.high {
            match self.tx.ca {
                // Held until something above `high` is acknowledged, for CWR to reach the receiver.
                CaState::Cwr if self.tx.una != self.tx.high => {
                    self.end_reduction();
                    self.tx.ca = CaState::Open;
                }
                CaState::Recovery => {
                    if !self.sack {
                        self.tx.board.sacked = 0;
                    }
                    if self.try_undo_recovery(event.echo) {
                        return Resend::Nothing;
                    }
                    self.end_reduction();
                }
                _ => {}
            }
        }
        match self.tx.ca {
            CaState::Recovery => {
                if !event.advanced {
                    self.add_reno_sack(event.dupacks);
                } else if self.try_undo_partial(event.prior_una, event.echo) {
                    return Resend::Nothing;
                }
                if self.try_undo_dsack() {
                    self.try_to_open(event.ece);
                }
                self.identify_losses(now, event);
                if self.tx.ca != CaState::Recovery {
                    if self.tx.board.lost == 0 {
                        return Resend::Nothing;
                    }
                    self.enter_recovery(now, event.ece);
                }
            }
            CaState::Loss => {
                let resend = self.process_loss(event);
                self.identify_losses(now, event);
                if self.tx.ca != CaState::Open && !event.lost_retransmission {
                    return resend;
                }
                return self.open_or_recover(now, event).max_with(resend);
            }
            CaState::Open | CaState::Disorder | CaState::Cwr => {
                return self.open_or_recover(now, event);
            }
        }
        Resend::Lost
    }

    fn open_or_recover(&mut self, now: Instant, event: &mut AckEvent) -> Resend {
        if !self.sack {
            if event.advanced {
                self.tx.board.sacked = 0;
            }
            self.add_reno_sack(event.dupacks);
        }
        if self.tx.ca <= CaState::Disorder {
            self.try_undo_dsack();
        }
        self.identify_losses(now, event);
        if self.tx.board.lost == 0 {
            self.try_to_open(event.ece);
            return Resend::Nothing;
        }
        self.enter_recovery(now, event.ece);
        Resend::Lost
    }

    /// Processes an acknowledgement in Loss (`tcp_process_loss`; F-RTO with SACK: RFC 5682, section 3.1).
    fn process_loss(&mut self, event: &AckEvent) -> Resend {
        let recovered = self.tx.una >= self.tx.high;
        if event.advanced && self.try_undo_loss(false, event.echo) {
            return Resend::Nothing;
        }
        if self.tx.frto {
            // Step 3b: never-retransmitted data arrived, so the timeout was spurious.
            if event.original_delivered && self.try_undo_loss(true, event.echo) {
                return Resend::Nothing;
            }
            if self.tx.nxt > self.tx.high {
                if event.newly_sacked || event.dupacks > 0 {
                    // Step 3a: the loss was real.
                    self.tx.frto = false;
                }
            } else if event.advanced && !recovered {
                self.tx.high = self.tx.nxt;
                if self.tx.has_unsent() && self.tx.window_end > self.tx.nxt {
                    return Resend::New;
                }
                self.tx.frto = false;
            }
        }
        if recovered {
            self.try_undo_recovery(event.echo);
            return Resend::Nothing;
        }
        if !self.sack {
            if self.tx.nxt > self.tx.high && event.dupacks > 0 {
                self.add_reno_sack(event.dupacks);
            } else if event.advanced {
                self.tx.board.sacked = 0;
            }
        }
        Resend::Lost
    }

    /// Marks the segments that the acknowledgement proves lost.
    fn identify_losses(&mut self, now: Instant, event: &mut AckEvent) {
        if self.tx.board.is_empty() {
            return;
        }
        if !self.sack {
            // RFC 6582: the oldest segment, at the third duplicate and at every partial acknowledgement.
            let proven = self.tx.ca < CaState::Recovery && self.tx.board.sacked >= self.tx.reordering;
            if proven || (self.tx.ca == CaState::Recovery && event.advanced) {
                self.mark_head_lost();
            } else {
                self.consider_early_retransmit(now, event);
            }
        } else if self.profile.rack {
            let prior = self.tx.board.retrans;
            if self.rack_mark_lost(now) {
                event.set_timer = false;
            }
            event.lost_retransmission |= prior > self.tx.board.retrans;
        } else if self.tx.ca == CaState::Recovery {
            self.mark_by_count();
            if self.profile.loss_marking == LossMarking::Fack {
                self.mark_lost_retransmissions();
            }
        } else if self.tx.ca < CaState::Recovery {
            if self.loss_is_proven() {
                self.tx.reduction.marked_to = self.tx.una;
                self.mark_by_count();
            } else {
                self.consider_early_retransmit(now, event);
            }
        }
    }

    /// Current marking rule: forward acknowledgement is valid only while no reordering was observed
    /// (`tcp_disable_fack`).
    fn marking(&self) -> LossMarking {
        match self.profile.loss_marking {
            LossMarking::Fack if self.tx.reordering_seen => LossMarking::Rfc6675,
            marking => marking,
        }
    }

    /// Whether a loss is proven, so that fast recovery begins (with RACK off).
    fn loss_is_proven(&self) -> bool {
        match self.marking() {
            LossMarking::Rfc6675 => self.tx.board.sacked >= self.tx.reordering,
            LossMarking::Fack => {
                self.tx.board.sacked > 0 && self.tx.board.find(self.tx.fack) as u32 > self.tx.reordering
            }
            LossMarking::Holes => self.tx.dupacks >= self.profile.dupthresh,
        }
    }

    /// Marks the holes far enough below the SACKed segments as lost.
    fn mark_by_count(&mut self) {
        let above = self.tx.board.find(self.tx.fack);
        let reordering = self.tx.reordering as usize;
        let bound = if self.tx.board.sacked == 0 {
            0
        } else {
            match self.marking() {
                LossMarking::Holes => above,
                LossMarking::Fack => above.saturating_sub(reordering),
                LossMarking::Rfc6675 => self.below_sacked(above, reordering),
            }
        };
        let mut index = self.tx.board.find(self.tx.reduction.marked_to);
        while index < bound {
            self.mark_lost_once(index);
            index += 1;
        }
        if let Some(sent) = self.tx.board.get(index) {
            self.tx.reduction.marked_to = self.tx.reduction.marked_to.max(sent.start);
        }
        if self.tx.board.lost == 0 && self.tx.ca != CaState::Recovery {
            self.mark_head_lost();
        }
    }

    /// Index of the `n`-th SACKed segment counted down from `above`.
    fn below_sacked(&self, above: usize, n: usize) -> usize {
        let mut left = n;
        let mut index = above;
        while index > 0 && left > 0 {
            index -= 1;
            if self.tx.board.get(index).is_some_and(|sent| sent.is(SACKED)) {
                left -= 1;
            }
        }
        if left == 0 { index } else { 0 }
    }

    /// Marks a segment lost unless its retransmission is in flight.
    fn mark_lost_once(&mut self, index: usize) {
        if self.tx.board.get(index).is_some_and(|sent| sent.flags & (SACKED | LOST | RETRANS) == 0) {
            self.mark_lost(index);
        }
    }

    pub(crate) fn mark_head_lost(&mut self) {
        if self.tx.board.front().is_some_and(|sent| !sent.is(LOST | SACKED)) {
            self.mark_lost(0);
        }
    }

    /// Marks a segment, or its retransmission, lost.
    pub(crate) fn mark_lost(&mut self, index: usize) {
        let Some(start) = self.tx.board.get(index).map(|sent| sent.start) else {
            return;
        };
        if self.tx.board.mark_lost(index) {
            self.tx.reduction.lost += 1;
            self.tx.retransmit_from = self.tx.retransmit_from.min(start);
        }
    }

    /// Early retransmit: with too few segments in flight for three duplicate ACKs, fewer suffice, after a quarter RTT
    /// to allow for reordering (RFC 5827; `tcp_pause_early_retransmit`).
    fn consider_early_retransmit(&mut self, now: Instant, event: &mut AckEvent) {
        let board = &self.tx.board;
        let eligible = self.profile.early_retransmit
            && !self.tx.reordering_seen
            && self.tx.ca <= CaState::Disorder
            && board.retrans == 0
            && board.sacked > 0
            && board.len() < 4
            && board.len() > board.sacked
            && !self.tx.has_unsent();
        if !eligible || (self.tx.timer == Timer::EarlyRetransmit && self.tx.timer_at != Instant::NEVER) {
            return;
        }
        let pause = self.rtt.srtt().map_or(Nanos::ZERO, |srtt| Nanos(srtt.0 / 4)).max(Nanos::from_millis(2));
        if self.tx.timer == Timer::Rto && self.tx.timer_at <= now + pause {
            self.mark_head_lost();
            return;
        }
        self.tx.timer = Timer::EarlyRetransmit;
        self.tx.timer_at = self.expiry(now, pause);
        event.set_timer = false;
    }

    /// Without SACK, counts each duplicate ACK as one segment that arrived (`tcp_add_reno_sack`).
    fn add_reno_sack(&mut self, dupacks: u32) {
        if !self.sack {
            self.tx.board.sacked += dupacks;
            self.limit_reno_sacks();
        }
    }

    /// Subtracts the duplicate ACKs of cumulatively acknowledged segments; the first of these was the hole.
    pub(crate) fn remove_reno_sacks(&mut self, acked: u32) {
        if acked > 0 {
            self.tx.board.sacked = self.tx.board.sacked.saturating_sub(acked - 1);
        }
        self.limit_reno_sacks();
    }

    fn limit_reno_sacks(&mut self) {
        let out = self.tx.board.len();
        let holes = self.tx.board.lost.max(1).min(out);
        self.tx.board.sacked = self.tx.board.sacked.min(out - holes);
    }

    /// Records reordering: a higher segment arrived before the one at `low`, which was sent once
    /// (`tcp_check_sack_reordering`). `late`: found only when the low one was acknowledged.
    pub(crate) fn note_reordering(&mut self, low: u64, late: bool) {
        let tx = &mut self.tx;
        if tx.fack <= low && !late {
            return;
        }
        let distance = tx.fack.saturating_sub(low).div_ceil(u64::from(self.mss));
        let limit = self.profile.max_reordering.max(self.profile.dupthresh);
        tx.reordering = tx.reordering.max((distance.min(u64::from(limit))) as u32);
        tx.reordering_seen = true;
    }

    fn try_to_open(&mut self, ece: bool) {
        if !self.any_retransmission() {
            self.tx.undoing.first_stamp = 0;
        }
        if ece {
            self.enter_cwr();
        }
        if self.tx.ca != CaState::Cwr {
            self.keep_open();
        }
    }

    pub(crate) fn keep_open(&mut self) {
        let board = &self.tx.board;
        let state = if board.sacked + board.lost > 0 { CaState::Disorder } else { CaState::Open };
        if self.tx.ca != state {
            self.tx.ca = state;
            self.tx.high = self.tx.nxt;
        }
    }

    /// Value to which `ssthresh` returns if the reduction is undone (`tcp_current_ssthresh`).
    fn current_ssthresh(&self) -> u32 {
        let window = &self.tx.window;
        if self.tx.ca.reduces() {
            window.ssthresh
        } else {
            window.ssthresh.max((u64::from(window.cwnd) * 3 / 4) as u32)
        }
    }

    /// Starts a reduction of the window (`tcp_init_cwnd_reduction`).
    pub(crate) fn start_reduction(&mut self) {
        let tx = &mut self.tx;
        tx.high = tx.nxt;
        tx.probe_high = 0;
        tx.window.credit = 0;
        tx.reduction.prior_cwnd = tx.window.cwnd;
        tx.reduction.delivered = 0;
        tx.reduction.sent = 0;
        tx.window.ssthresh = tx.congestion.on_loss(tx.window.cwnd);
        tx.hystart_plus = None;
        tx.cwr_pending = self.ecn;
    }

    /// Ends a reduction of the window.
    pub(crate) fn end_reduction(&mut self) {
        let tx = &mut self.tx;
        if tx.rate.is_some() {
            return;
        }
        if tx.window.ssthresh < u32::MAX && (tx.ca == CaState::Cwr || tx.undoing.marker > 0) {
            tx.window.cwnd = tx.window.ssthresh;
        }
        if self.profile.cwnd_moderation > 0 {
            tx.window.cwnd = tx.window.cwnd.min(tx.board.in_flight() + self.profile.cwnd_moderation);
        }
    }

    /// Reduces the window because of ECN, once per round trip (RFC 3168, section 6.1.2; `tcp_enter_cwr`).
    fn enter_cwr(&mut self) {
        self.tx.undoing.prior_ssthresh = 0;
        if self.tx.ca < CaState::Cwr {
            self.tx.undoing.marker = 0;
            self.start_reduction();
            self.tx.ca = CaState::Cwr;
            self.stats.ecn_reductions += 1;
        }
    }

    /// Enters fast recovery.
    pub(crate) fn enter_recovery(&mut self, _now: Instant, ece: bool) {
        if !self.any_retransmission() {
            self.tx.undoing.first_stamp = 0;
        }
        self.tx.undoing.prior_ssthresh = 0;
        self.start_undo();
        if !self.tx.ca.reduces() {
            if !ece {
                self.tx.undoing.prior_ssthresh = self.current_ssthresh();
            }
            self.start_reduction();
        }
        self.tx.congestion.on_recovery(&mut self.tx.window);
        self.tx.ca = CaState::Recovery;
        self.stats.fast_recoveries += 1;
    }

    /// Sets the window during a reduction, after `delivered` segments arrived and `lost` were marked.
    ///
    /// With PRR: RFC 6937, section 3, with the slow start bound when `advanced` without further loss, else packet
    /// conservation (`tcp_cwnd_reduction`). Without: the pipe rule of RFC 6675, section 5, step C.
    pub(crate) fn reduce(&mut self, delivered: u32, lost: u32, advanced: bool) {
        let tx = &mut self.tx;
        if tx.rate.is_some() {
            return;
        }
        let in_flight = tx.board.in_flight();
        let ssthresh = tx.window.ssthresh;
        let reduction = &mut tx.reduction;
        if !self.profile.prr {
            let mut allowed = ssthresh.saturating_sub(in_flight);
            if tx.ca == CaState::Recovery {
                if self.profile.recovery_burst > 0 {
                    allowed = allowed.min(self.profile.recovery_burst);
                }
                // The first retransmission is always allowed.
                allowed = allowed.max(u32::from(reduction.sent == 0));
                tx.window.cwnd = in_flight + allowed;
            } else {
                tx.window.cwnd = ssthresh;
            }
            return;
        }
        reduction.delivered += delivered;
        let mut count = if in_flight > ssthresh {
            let share = u64::from(ssthresh) * u64::from(reduction.delivered);
            share.div_ceil(u64::from(reduction.prior_cwnd.max(1))) as i64 - i64::from(reduction.sent)
        } else {
            let conserved = (i64::from(reduction.delivered) - i64::from(reduction.sent)).max(i64::from(delivered));
            let bound = conserved + i64::from(advanced && lost == 0);
            bound.min(i64::from(ssthresh - in_flight))
        };
        if reduction.sent == 0 {
            count = count.max(1);
        }
        tx.window.cwnd = in_flight + count.max(0) as u32;
    }

    /// Enters Loss after a timeout: everything sent long enough ago is lost (`tcp_enter_loss`).
    pub(crate) fn enter_loss(&mut self, now: Instant) {
        let fresh = self.tx.ca < CaState::Recovery;
        self.mark_lost_by_timeout(now);
        if self.tx.ca <= CaState::Disorder
            || self.tx.una >= self.tx.high
            || (self.tx.ca == CaState::Loss && self.tx.timeouts == 0)
        {
            self.tx.undoing.prior_ssthresh = self.current_ssthresh();
            self.tx.reduction.prior_cwnd = self.tx.window.cwnd;
            self.tx.window.ssthresh = self.tx.congestion.on_loss(self.tx.window.cwnd);
            self.tx.congestion.on_timeout(&mut self.tx.window, now);
            self.start_undo();
        }
        let tx = &mut self.tx;
        tx.hystart_plus = None;
        tx.window.cwnd = tx.board.in_flight() + 1;
        tx.window.credit = 0;
        if tx.ca <= CaState::Disorder && tx.board.sacked >= self.profile.dupthresh {
            tx.reordering = tx.reordering.min(self.profile.dupthresh);
        }
        tx.ca = CaState::Loss;
        tx.high = tx.nxt;
        tx.probe_high = 0;
        tx.dupacks = 0;
        tx.cwr_pending = self.ecn;
        tx.frto = self.profile.frto && (fresh || tx.timeouts > 0);
        self.with_flow(now, |congestion, flow| congestion.on_enter_loss(flow));
    }

    fn mark_lost_by_timeout(&mut self, now: Instant) {
        let reneged = self.tx.board.front().is_some_and(|sent| sent.is(SACKED));
        if reneged || self.profile.rto_forgets_sack || !self.sack {
            self.tx.board.forget_sacks();
            self.tx.recv_sack_cache = [(0, 0); 3];
            self.tx.fack = self.tx.una;
        }
        for index in 0..self.tx.board.len() as usize {
            // Segments sent within the last round trip may still be in flight.
            let recent = index > 0
                && !reneged
                && self.profile.rack
                && self.sack
                && self.tx.board.get(index).is_some_and(|sent| sent.sent + self.tx.rack.rtt > now);
            if !recent {
                self.mark_lost(index);
            }
        }
        self.tx.reduction.marked_to = self.tx.nxt;
        self.tx.retransmit_from = self.tx.una;
    }
}

impl Resend {
    fn max_with(self, other: Resend) -> Resend {
        if self == Resend::Nothing { other } else { self }
    }
}

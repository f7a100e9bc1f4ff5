//! Undoing of window reductions when the retransmissions prove spurious.
//!
//! Linux accepts three kinds of evidence: an acknowledgement echoes a timestamp older than the first retransmission
//! (Eifel, RFC 3522 and RFC 4015); DSACKs have reported every retransmission as a duplicate (RFC 2883, RFC 3708); after
//! a timeout, never-retransmitted data is acknowledged (F-RTO, RFC 5682). FreeBSD has a fourth: a timeout is answered
//! sooner than a retransmission could have been.

use crate::congestion::Controller;
use crate::endpoint::Endpoint;
use crate::profile::Undo;
use crate::recovery::CaState;
use gentle_units::Instant;

/// State needed to undo a reduction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Undoing {
    /// Value of `una` at the start of the loss episode; 0: nothing to undo.
    pub(crate) marker: u64,
    /// Retransmissions of the episode not reported as duplicates; negative: none sent yet.
    pub(crate) outstanding: i32,
    /// Value of `ssthresh` before the reduction; 0: undo is prohibited.
    pub(crate) prior_ssthresh: u32,
    /// Timestamp of the episode's first retransmission; 0 before it.
    pub(crate) first_stamp: u32,
    /// Time until which an acknowledgement proves a timeout spurious ([`Undo::BadRetransmit`]).
    pub(crate) bad_retransmit_until: Instant,
}

impl Undoing {
    #[inline]
    pub(crate) fn retransmitted(&mut self, stamp: u32) {
        self.outstanding = self.outstanding.max(0) + 1;
        if self.first_stamp == 0 {
            self.first_stamp = stamp;
        }
    }

    /// Accounts for `n` reported duplicates.
    pub(crate) fn duplicates(&mut self, n: u32) {
        if self.marker > 0 && self.outstanding > 0 {
            self.outstanding = (self.outstanding - n as i32).max(0);
        }
    }
}

impl Endpoint {
    /// Starts a loss episode (`tcp_init_undo`).
    pub(crate) fn start_undo(&mut self) {
        let tx = &mut self.tx;
        tx.undoing.marker = tx.una;
        let probes = u32::from(tx.probe_high > 0 && tx.probe_retransmitted);
        let retransmissions = (tx.board.retrans + probes) as i32;
        // Zero would mean "all reported as duplicates".
        tx.undoing.outstanding = if retransmissions > 0 { retransmissions } else { -1 };
    }

    /// Whether an acknowledgement echoes a timestamp from before the first retransmission (`tcp_packet_delayed`).
    pub(crate) fn answers_original(&self, echo: u32) -> bool {
        if self.profile.undo != Undo::EifelDsack {
            return false;
        }
        match self.tx.undoing.first_stamp {
            0 => self.sack || self.tx.una < self.tx.high,
            first => self.timestamps && echo != 0 && (echo.wrapping_sub(first) as i32) < 0,
        }
    }

    fn may_undo(&self, echo: u32) -> bool {
        self.profile.undo == Undo::EifelDsack
            && self.tx.undoing.marker > 0
            && (self.tx.undoing.outstanding == 0 || self.answers_original(echo))
    }

    /// Undoes a reduction (`tcp_undo_cwnd_reduction`); `unmark`: also clears loss marks.
    pub(crate) fn undo_reduction(&mut self, unmark: bool) {
        let tx = &mut self.tx;
        if unmark {
            tx.board.unmark_lost();
            tx.retransmit_from = tx.nxt;
        }
        if tx.undoing.prior_ssthresh > 0 {
            let prior_cwnd = tx.reduction.prior_cwnd;
            tx.congestion.on_undo(&mut tx.window, prior_cwnd);
            if tx.undoing.prior_ssthresh > tx.window.ssthresh {
                tx.window.ssthresh = tx.undoing.prior_ssthresh;
                tx.cwr_pending = false;
            }
        }
        tx.undoing.marker = 0;
        tx.rack.advanced = true;
        self.stats.undos += 1;
    }

    /// Ends recovery, and undoes it if it was spurious. Returns `true` if the state must be held
    /// ([`holds_state`](Endpoint::holds_state)).
    pub(crate) fn try_undo_recovery(&mut self, echo: u32) -> bool {
        if self.may_undo(echo) {
            self.undo_reduction(false);
        } else {
            self.tx.rack.recovery_over();
        }
        if self.holds_state() {
            return true;
        }
        self.tx.ca = CaState::Open;
        false
    }

    /// Whether the state is held until something above `high` is acknowledged: without SACK, against false fast
    /// retransmits (RFC 6582, section 3.2, step 1).
    fn holds_state(&mut self) -> bool {
        if self.sack || self.tx.una != self.tx.high {
            return false;
        }
        if !self.any_retransmission() {
            self.tx.undoing.first_stamp = 0;
        }
        true
    }

    /// Undoes the reduction if DSACKs have reported every retransmission (`tcp_try_undo_dsack`).
    pub(crate) fn try_undo_dsack(&mut self) -> bool {
        if self.profile.undo != Undo::EifelDsack || self.tx.undoing.marker == 0 || self.tx.undoing.outstanding != 0 {
            return false;
        }
        self.tx.rack.recovery_undone();
        self.undo_reduction(false);
        true
    }

    /// Undoes recovery on a partial acknowledgement caused by the original transmission. Returns `true` to wait and
    /// mark nothing more.
    pub(crate) fn try_undo_partial(&mut self, prior_una: u64, echo: u32) -> bool {
        if self.tx.undoing.marker == 0 || !self.answers_original(echo) {
            return false;
        }
        self.note_reordering(prior_una, true);
        if self.tx.board.retrans > 0 {
            return true;
        }
        if !self.any_retransmission() {
            self.tx.undoing.first_stamp = 0;
        }
        self.undo_reduction(true);
        self.keep_open();
        false
    }

    /// Undoes Loss if timestamps or DSACKs prove the timeout spurious, or F-RTO has (`proven`).
    pub(crate) fn try_undo_loss(&mut self, proven: bool, echo: u32) -> bool {
        if !proven && !self.may_undo(echo) {
            return false;
        }
        self.undo_reduction(true);
        self.tx.timeouts = 0;
        if self.holds_state() {
            return true;
        }
        if proven || self.sack {
            self.tx.ca = CaState::Open;
        }
        true
    }

    /// Undoes a timeout if new data is acknowledged within half a round trip of the first one (FreeBSD).
    pub(crate) fn try_undo_bad_retransmit(&mut self, now: Instant) {
        let until = std::mem::take(&mut self.tx.undoing.bad_retransmit_until);
        if now < until && self.tx.ca == CaState::Loss {
            self.undo_reduction(true);
            self.tx.ca = CaState::Open;
        }
    }

    /// Whether a retransmission is in flight or the oldest segment was ever retransmitted (`tcp_any_retrans_done`).
    pub(crate) fn any_retransmission(&self) -> bool {
        self.tx.board.retrans > 0 || self.tx.board.front().is_some_and(|sent| sent.is(crate::scoreboard::EVER_RETRANS))
    }
}

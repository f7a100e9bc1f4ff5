//! Processing of an acknowledgement (`tcp_ack`): scoreboard, round-trip time, recovery state, congestion window.

use crate::congestion::{Controller, Progress};
use crate::endpoint::Endpoint;
use crate::profile::{Growth, LossMarking};
use crate::recovery::{CaState, Resend};
use crate::scoreboard::{EVER_RETRANS, FORGOTTEN, SACKED};
use crate::segment::{Flags, Options, Outbox, Segment};
use crate::seq::Seq;
use crate::timer::Timer;
use gentle_units::{Instant, Nanos};

/// Effects of one acknowledgement.
#[derive(Debug, Clone, Default)]
pub(crate) struct AckEvent {
    /// Value of `una` before the acknowledgement.
    pub(crate) prior_una: u64,
    /// Whether the cumulative acknowledgement advanced.
    pub(crate) advanced: bool,
    /// Segments delivered, by cumulative acknowledgement, SACK or DSACK.
    delivered: u32,
    /// Whether a SACK block covered a segment not SACKed before.
    pub(crate) newly_sacked: bool,
    /// Whether a segment below `high` that was sent once was delivered: F-RTO's evidence.
    pub(crate) original_delivered: bool,
    /// Whether a retransmitted segment was acknowledged cumulatively.
    retransmitted_acked: bool,
    /// One if this is a duplicate acknowledgement (RFC 5681, section 2), else zero.
    pub(crate) dupacks: u32,
    /// Whether it reports a duplicate; `dsack_of_probe`: a duplicate of the tail loss probe.
    dsack: bool,
    dsack_of_probe: bool,
    /// Whether it reports marks: by the ECN echo (ECE), or by an ACE field that has increased.
    pub(crate) ece: bool,
    /// Bytes that it SACKed.
    sacked_bytes: u64,
    /// Echoed timestamp; 0: none.
    pub(crate) echo: u32,
    /// Whether a retransmission was marked lost.
    pub(crate) lost_retransmission: bool,
    /// Whether the sender's timer must be restarted.
    pub(crate) set_timer: bool,
    /// Send times of the first and last segment that it SACKed and that was sent once.
    sacked_sent: Option<(Instant, Instant)>,
    /// Segments in flight before it.
    prior_in_flight: u32,
    /// Round-trip time of the segment delivered last.
    rtt: Option<Nanos>,
    /// Whether it acknowledges a lone segment that is not full, and nothing else.
    lone: bool,
}

impl Endpoint {
    /// Processes an acknowledgement; returns `false` if it acknowledges data never sent.
    #[inline]
    pub(crate) fn on_ack(&mut self, now: Instant, segment: &Segment, out: &mut impl Outbox) -> bool {
        let Some(ack) = self.tx.unwrap.position(segment.ack, self.tx.una) else {
            return false;
        };
        if ack > self.tx.nxt {
            self.send_ack(now, out);
            return false;
        }
        let window_end = ack + u64::from(segment.window);
        let window_moved = window_end > self.tx.window_end;
        if window_moved {
            self.tx.window_end = window_end;
            if self.tx.timer == Timer::Persist {
                self.tx.timer_at = Instant::NEVER;
                self.rtt.reset_backoff(&self.profile);
            }
        }
        if !self.tx.board.is_empty() || (self.sack && segment.sack_count > 0) {
            if !self.is_plain(segment, ack) || !self.take_plain_ack(now, ack) {
                self.take_ack(now, segment, ack, window_moved, out);
            }
        } else {
            if self.accecn.is_some() && ack >= self.tx.una {
                self.take_marks_alone(now, segment, &mut AckEvent::default());
            }
            if self.tx.probe_high > 0 {
                self.on_probe_ack(ack, false, false);
            }
        }
        true
    }

    /// Whether an acknowledgement advances `una` in an undisturbed connection and carries nothing else.
    #[inline]
    fn is_plain(&self, segment: &Segment, ack: u64) -> bool {
        let tx = &self.tx;
        ack > tx.una
            && segment.sack_count == 0
            && tx.ca == CaState::Open
            && tx.board.sacked == 0
            && tx.probe_high == 0
            && tx.rate.is_none()
            && self.accecn.is_none()
            && !(self.ecn && segment.flags.contains(Flags::ECE))
    }

    /// Fast path of [`take_ack`](Endpoint::take_ack) for a plain acknowledgement of segments that were sent once;
    /// otherwise returns `false` and changes nothing.
    // Out of line like take_ack.
    #[inline(never)]
    fn take_plain_ack(&mut self, now: Instant, ack: u64) -> bool {
        let Some((acked, first_sent, last)) = self.tx.board.pop_untouched(ack) else {
            return false;
        };
        let tracks_delivery = self.tracks_delivery();
        let tx = &mut self.tx;
        tx.una = ack;
        tx.timeouts = 0;
        tx.dupacks = 0;
        tx.fack = tx.fack.max(ack);
        tx.undoing.bad_retransmit_until = Instant::ZERO;
        if tracks_delivery {
            // The last segment is also the one sent last, and an RTT below the minimum needs no check, as none was
            // retransmitted.
            tx.rack.delivered(now, &last, Nanos::ZERO);
        }
        self.take_rtt(now, first_sent, last.sent);
        if self.profile.rack {
            self.tx.rack.adapt(self.tx.una, self.tx.nxt);
        }
        self.note_delivered(now, acked, 0);
        self.reset_timer(now);
        if self.tx.may_grow() {
            self.grow_window(now, acked);
        }
        self.update_pacing_rate();
        true
    }

    /// Processes the acknowledgement of everything before `ack`, with SACKs, loss detection and recovery.
    // Out of line, because an end point that only receives never gets here.
    #[inline(never)]
    fn take_ack(&mut self, now: Instant, segment: &Segment, ack: u64, window_moved: bool, out: &mut impl Outbox) {
        let mut event = AckEvent {
            prior_una: self.tx.una,
            advanced: ack > self.tx.una,
            echo: if segment.options.contains(Options::TIMESTAMPS) { segment.ts_ecr } else { 0 },
            ece: self.ecn && segment.flags.contains(Flags::ECE),
            prior_in_flight: self.tx.board.in_flight(),
            ..AckEvent::default()
        };
        let prior_fack = if self.tx.board.sacked > 0 && self.sack { self.tx.fack } else { self.tx.una };
        let prior_lost = self.tx.reduction.lost;
        if self.sack && segment.sack_count > 0 {
            self.take_sacks(now, segment, ack, prior_fack, &mut event);
        }
        if ack < self.tx.una || self.tx.board.is_empty() {
            // Old acknowledgement, or nothing outstanding: only a DSACK or SACK matters.
            if self.accecn.is_some() && ack >= self.tx.una {
                self.take_marks_alone(now, segment, &mut event);
            }
            if event.dsack || event.newly_sacked {
                let resend = self.fastretrans_alert(now, &mut event);
                self.resend(now, resend, out);
            }
            if self.tx.probe_high > 0 {
                self.on_probe_ack(ack, event.dsack_of_probe, false);
            }
            return;
        }
        if event.advanced {
            self.tx.timeouts = 0;
            self.tx.dupacks = 0;
            self.advance(now, ack, prior_fack, &mut event);
            self.try_undo_bad_retransmit(now);
        }
        self.measure(now, &mut event);
        if self.profile.rack {
            self.tx.rack.adapt(self.tx.una, self.tx.nxt);
        }
        let marked = match &self.accecn {
            None if event.ece => event.delivered,
            None => 0,
            Some(_) => {
                let bytes = match event.advanced {
                    true => ack - event.prior_una,
                    false => event.sacked_bytes,
                };
                let progress = event.advanced || event.newly_sacked;
                let marks = self.take_marks(segment, event.delivered, bytes, progress);
                event.ece = marks > 0;
                marks
            }
        };
        self.note_delivered(now, event.delivered, marked);
        let moved = event.advanced || segment.seq_len() > 0 || window_moved;
        if self.tx.probe_high > 0 {
            self.on_probe_ack(ack, event.dsack_of_probe, !moved && !event.newly_sacked);
        }
        let mut resend = Resend::Nothing;
        if !moved || event.newly_sacked || event.dsack || event.ece || self.tx.ca != CaState::Open {
            if !moved && !event.dsack {
                event.dupacks = 1;
                self.tx.dupacks += 1;
            }
            resend = self.fastretrans_alert(now, &mut event);
        }
        if event.set_timer {
            self.reset_timer(now);
        }
        if self.tx.rate.is_some() {
            self.model_path(now, prior_lost, &event);
        } else {
            self.adapt_window(now, prior_lost, &event);
            self.update_pacing_rate();
        }
        if resend != Resend::Nothing {
            self.resend(now, resend, out);
        }
    }

    /// Sends the segments that recovery requests.
    #[inline(never)]
    fn resend(&mut self, now: Instant, resend: Resend, out: &mut impl Outbox) {
        match resend {
            Resend::Nothing => {}
            Resend::Lost => self.retransmit_lost(now, out),
            Resend::New => {
                self.transmit(now, out);
                if self.tx.nxt <= self.tx.high {
                    self.tx.frto = false;
                    self.retransmit_lost(now, out);
                }
            }
        }
    }

    /// Lets rate-based congestion control set window and pacing rate.
    fn model_path(&mut self, now: Instant, prior_lost: u32, event: &AckEvent) {
        let min_rtt = self.rtt.min();
        let lost = self.tx.reduction.lost.wrapping_sub(prior_lost);
        self.with_flow(now, |congestion, flow| {
            let mut sample = flow.rate.sample(now, event.delivered, lost, min_rtt);
            sample.prior_in_flight = event.prior_in_flight;
            sample.rtt_us = event.rtt.map(Nanos::as_micros);
            sample.delayed = event.lone && sample.delivered.is_some_and(|(_, since)| since == 1);
            congestion.on_sample(flow, &sample);
        });
    }

    /// Grows the window, or continues a reduction in progress (`tcp_cong_control`).
    #[inline]
    fn adapt_window(&mut self, now: Instant, prior_lost: u32, event: &AckEvent) {
        let tx = &mut self.tx;
        if tx.ca.reduces() {
            if event.delivered > 0 || !self.profile.prr {
                let lost = tx.reduction.lost.wrapping_sub(prior_lost);
                self.reduce(event.delivered, lost, event.advanced);
            }
            return;
        }
        // With much reordering, deliveries count in any order.
        let reordered = tx.reordering > self.profile.dupthresh && event.newly_sacked;
        if (event.advanced || reordered) && tx.may_grow() {
            self.grow_window(now, event.delivered);
        }
    }

    /// Processes the AccECN feedback of an acknowledgement that came while nothing was outstanding.
    #[cold]
    fn take_marks_alone(&mut self, now: Instant, segment: &Segment, event: &mut AckEvent) {
        let marks = self.take_marks(segment, event.delivered, 0, false);
        event.ece = marks > 0;
        self.note_delivered(now, event.delivered, marks);
    }

    /// Informs congestion control that `delivered` segments were delivered, and that `marked` were reported as marked.
    #[inline]
    fn note_delivered(&mut self, now: Instant, delivered: u32, marked: u32) {
        let tx = &mut self.tx;
        let progress = Progress { now, delivered, una: tx.una, nxt: tx.nxt };
        tx.congestion.on_delivered(&progress, marked);
    }

    /// Grows the window after `delivered` segments arrived while it was fully used.
    #[inline]
    fn grow_window(&mut self, now: Instant, delivered: u32) {
        let tx = &mut self.tx;
        let mut delivered = match self.profile.growth {
            Growth::Acked => delivered,
            Growth::Acks => 1,
        };
        if let Some(hystart_plus) = &mut tx.hystart_plus {
            delivered = hystart_plus.growth(&tx.window, delivered);
        }
        let progress = Progress { now, delivered, una: tx.una, nxt: tx.nxt };
        // RFC 3465, section 2.3: L = 1 in slow start after a timeout.
        let limit = if tx.ca == CaState::Loss { self.profile.abc_limit.min(1) } else { self.profile.abc_limit };
        tx.congestion.grow(&mut tx.window, &progress, limit);
    }

    /// Removes cumulatively acknowledged segments from the scoreboard (`tcp_clean_rtx_queue`).
    #[inline]
    fn advance(&mut self, now: Instant, ack: u64, prior_fack: u64, event: &mut AckEvent) {
        let min_rtt = self.rtt.min().unwrap_or(Nanos::ZERO);
        let tracks_delivery = self.tracks_delivery();
        let mut first_sent = None;
        let mut last_sent = Instant::ZERO;
        let mut lowest_original = u64::MAX;
        let mut acked = 0;
        let prior_sacked = self.tx.board.sacked;
        self.tx.una = ack;
        while let Some(&sent) = self.tx.board.front() {
            if sent.end() > ack {
                if sent.start < ack {
                    self.tx.board.trim_front((ack - sent.start) as u16);
                }
                break;
            }
            self.tx.board.pop();
            acked += 1;
            if let Some(rate) = &mut self.tx.rate {
                rate.acknowledged(&sent);
            }
            if sent.is(EVER_RETRANS) {
                event.retransmitted_acked = true;
            } else if !sent.is(SACKED | FORGOTTEN) {
                first_sent = first_sent.or(Some(sent.sent));
                last_sent = sent.sent;
                lowest_original = lowest_original.min(sent.start);
                event.original_delivered |= sent.end() <= self.tx.high;
            }
            if !sent.is(SACKED) {
                event.delivered += 1;
                if tracks_delivery && !self.answers_before(event.echo, &sent) {
                    self.tx.rack.delivered(now, &sent, min_rtt);
                }
            }
        }
        self.tx.fack = self.tx.fack.max(ack);
        event.set_timer |= acked > 0;
        if !self.sack {
            self.remove_reno_sacks(acked);
            if event.retransmitted_acked {
                // Without SACK, original and retransmission cannot be distinguished.
                event.original_delivered = false;
            }
        } else if lowest_original < prior_fack {
            // A hole was filled by its first transmission.
            self.note_reordering(lowest_original, false);
        }
        if let Some(first) = first_sent
            && !event.retransmitted_acked
        {
            self.take_rtt(now, first, last_sent);
            let latest = event.sacked_sent.take().map_or(last_sent, |times| times.1);
            event.rtt = Some(now.saturating_since(latest));
            event.lone = acked == 1
                && prior_sacked == 0
                && ack - event.prior_una < u64::from(self.mss)
                && !(event.newly_sacked || event.ece || event.dsack);
        } else if event.sacked_sent.is_none() && self.timestamps && event.echo != 0 && acked > 0 {
            event.rtt = self.take_echo(now, event.echo);
        }
    }

    /// Whether the send times of delivered segments are needed: by RACK, and to detect lost retransmissions.
    #[inline]
    fn tracks_delivery(&self) -> bool {
        self.sack && (self.profile.rack || self.profile.loss_marking == LossMarking::Fack)
    }

    /// Whether the echoed timestamp is older than the retransmission of `sent`, so the original was acknowledged.
    #[inline]
    fn answers_before(&self, echo: u32, sent: &crate::scoreboard::Sent) -> bool {
        sent.is(EVER_RETRANS)
            && self.timestamps
            && echo != 0
            && (echo.wrapping_sub(crate::endpoint::timestamp(sent.sent)) as i32) < 0
    }

    /// Takes an RTT sample from SACKed segments, if the cumulative acknowledgement gave none.
    #[inline]
    fn measure(&mut self, now: Instant, event: &mut AckEvent) {
        if let Some((first, last)) = event.sacked_sent.take() {
            self.take_rtt(now, first, last);
            event.rtt = Some(now.saturating_since(last));
            // Data sent before the last transmission of the oldest segment does not restart the timer.
            if !event.advanced {
                event.set_timer |= self.tx.board.front().is_some_and(|front| first < front.sent);
            }
        }
    }

    /// Takes the RTT samples of segments sent at `first` and `last` and acknowledged now: the first goes to the RTO
    /// estimator; the last, which was delayed least by delayed acknowledgement, to congestion control.
    #[inline]
    fn take_rtt(&mut self, now: Instant, first: Instant, last: Instant) {
        self.take_rtt_sample(now.saturating_since(first));
        let progress = Progress { now, delivered: 0, una: self.tx.una, nxt: self.tx.nxt };
        let latest = now.saturating_since(last);
        self.rtt.note_min(latest);
        let srtt = self.rtt.srtt();
        let mss = self.mss;
        let tx = &mut self.tx;
        let cwnd = tx.window.cwnd;
        tx.congestion.on_rtt(&mut tx.window, &progress, latest, || burst_delay(srtt, cwnd, mss));
        if let Some(hystart_plus) = &mut tx.hystart_plus
            && hystart_plus.ends_slow_start(&progress, latest)
        {
            tx.window.ssthresh = tx.window.cwnd;
            tx.hystart_plus = None;
        }
    }

    /// Takes an RTT sample in milliseconds from the echoed timestamp, if Karn's algorithm forbids any other.
    ///
    /// Of a segment sent before pacing permitted it, the echo may be in the future: then there is no sample, and the
    /// backoff of the timeout stays (`tcp_rtt_tsopt_us`).
    fn take_echo(&mut self, now: Instant, echo: u32) -> Option<Nanos> {
        let elapsed = crate::endpoint::timestamp(now).wrapping_sub(echo);
        if self.tx.pacing.is_some() && (elapsed as i32) < 0 {
            return None;
        }
        let sample = Nanos::from_millis(u64::from(elapsed.max(1)));
        self.take_rtt_sample(sample);
        Some(sample)
    }

    pub(crate) fn take_rtt_sample(&mut self, sample: Nanos) {
        self.stats.rtt_samples += 1;
        self.stats.rtt_sum += sample;
        self.rtt.sample(&self.profile, sample, self.tx.una, self.tx.nxt);
    }

    /// Processes the SACK blocks (`tcp_sacktag_write_queue`).
    #[inline(never)]
    fn take_sacks(&mut self, now: Instant, segment: &Segment, ack: u64, prior_fack: u64, event: &mut AckEvent) {
        let blocks = segment.sack_blocks();
        let mut seen = [(0, 0); 3];
        let mut lowest = u64::MAX;
        for (n, &block) in blocks.iter().enumerate() {
            let Some((start, end)) = self.block(block) else {
                continue;
            };
            if n == 0 && (start < ack || self.lies_within(start, end, blocks.get(1))) {
                self.on_dsack(start, end, event);
                continue;
            }
            if end > self.tx.nxt || end <= self.tx.una {
                continue;
            }
            seen[n] = (start, end);
            // Skip ranges that the previous acknowledgement has reported.
            let known = self.tx.recv_sack_cache.iter().find(|seen| seen.0 < end && start < seen.1);
            match known.copied() {
                Some((left, right)) => {
                    if start < left {
                        self.mark_sacked(now, start, left, prior_fack, &mut lowest, event);
                    }
                    if right < end {
                        self.mark_sacked(now, right, end, prior_fack, &mut lowest, event);
                    }
                }
                None => self.mark_sacked(now, start, end, prior_fack, &mut lowest, event),
            }
        }
        self.tx.recv_sack_cache = seen;
        if lowest < prior_fack && (self.tx.ca != CaState::Loss || self.tx.undoing.marker > 0) {
            self.note_reordering(lowest, false);
        }
    }

    fn block(&self, block: (Seq, Seq)) -> Option<(u64, u64)> {
        let start = self.tx.unwrap.position(block.0, self.tx.una)?;
        let end = self.tx.unwrap.position(block.1, self.tx.una)?;
        (start < end && end <= self.tx.nxt).then_some((start, end))
    }

    fn lies_within(&self, start: u64, end: u64, outer: Option<&(Seq, Seq)>) -> bool {
        outer.and_then(|&outer| self.block(outer)).is_some_and(|(left, right)| left <= start && end <= right)
    }

    /// Processes a DSACK for `[start, end)` (`tcp_dsack_seen`).
    fn on_dsack(&mut self, start: u64, end: u64, event: &mut AckEvent) {
        self.stats.dsacks_received += 1;
        // More duplicates than retransmissions: the network duplicated packets.
        if self.stats.dsacks_received > self.stats.segments_retransmitted - self.stats.syn_retransmitted {
            return;
        }
        let duplicates = (end - start).div_ceil(u64::from(self.mss)) as u32;
        event.dsack = true;
        event.delivered += duplicates;
        event.dsack_of_probe = self.tx.probe_high > 0 && self.tx.probe_high == end;
        if self.tx.reordering_seen && !event.dsack_of_probe {
            self.tx.rack.duplicate_seen = true;
        }
        if end > self.tx.undoing.marker {
            self.tx.undoing.duplicates(duplicates);
        }
    }

    /// Marks the segments within `[start, end)`, none of which was reported before, as SACKed.
    fn mark_sacked(
        &mut self,
        now: Instant,
        start: u64,
        end: u64,
        prior_fack: u64,
        lowest: &mut u64,
        event: &mut AckEvent,
    ) {
        let min_rtt = self.rtt.min().unwrap_or(Nanos::ZERO);
        let mut index = self.tx.board.find(start.max(self.tx.una));
        while let Some(&sent) = self.tx.board.get(index) {
            if sent.end() > end {
                break;
            }
            // A segment that begins before the block is not covered by it.
            if sent.start >= start && !sent.is(SACKED) {
                self.tx.rack.delivered(now, &sent, min_rtt);
                if !sent.is(EVER_RETRANS | FORGOTTEN) {
                    if sent.start < prior_fack {
                        *lowest = (*lowest).min(sent.start);
                    }
                    event.original_delivered |= sent.end() <= self.tx.high;
                    let first = event.sacked_sent.map_or(sent.sent, |times| times.0);
                    event.sacked_sent = Some((first, sent.sent));
                }
                if let Some(rate) = &mut self.tx.rate {
                    rate.delivered(index, &sent);
                }
                self.tx.board.mark_sacked(index);
                event.newly_sacked = true;
                event.sacked_bytes += u64::from(sent.len);
                event.delivered += 1;
                self.tx.fack = self.tx.fack.max(sent.end());
            }
            index += 1;
        }
    }
}

/// Maximum delay of acknowledgements by aggregation: `hystart_ack_delay`, four times 64 KiB at the rate of two windows
/// per round trip, at most a millisecond.
fn burst_delay(srtt: Option<Nanos>, cwnd: u32, mss: u32) -> Nanos {
    const BURST: u64 = 4 * 65_536;
    let Some(srtt) = srtt else {
        return Nanos::ZERO;
    };
    let two_windows = 2 * u64::from(cwnd) * u64::from(mss);
    Nanos(srtt.0.saturating_mul(BURST) / two_windows.max(1)).min(Nanos::from_millis(1))
}

//! The three-way handshake (RFC 9293, section 3.5) and the retransmission of its segments.

use crate::accecn::{Field, REQUEST};
use crate::ecn::Feedback;
use crate::endpoint::{Endpoint, State, timestamp};
use crate::profile::{Ecn, Profile};
use crate::segment::{Flags, Options, Outbox, Segment};
use crate::seq::Seq;
use gentle_units::{Instant, Nanos};
use std::sync::Arc;

/// State of the handshake.
#[derive(Debug, Clone)]
pub(crate) struct Handshake {
    started: Instant,
    /// Time of the last transmission of the SYN or SYN/ACK.
    sent: Instant,
    pub(crate) established_at: Instant,
    /// Number of timeouts so far.
    timeouts: u32,
    /// Number of retransmissions so far, including those triggered by duplicate SYNs.
    retransmissions: u32,
}

impl Handshake {
    pub(crate) fn new(now: Instant) -> Handshake {
        Handshake { started: now, sent: now, established_at: Instant::NEVER, timeouts: 0, retransmissions: 0 }
    }
}

impl Endpoint {
    /// Opens a connection: sends the SYN.
    pub fn connect(profile: Arc<Profile>, isn: Seq, now: Instant, out: &mut impl Outbox) -> Endpoint {
        let mut endpoint = Endpoint::new(profile, State::SynSent, isn, now);
        endpoint.send_syn(now, out);
        endpoint.arm_syn_timer(now);
        endpoint
    }

    /// Accepts a connection: answers the first SYN with a SYN/ACK. `ce`: the SYN's packet was marked CE.
    pub fn accept(
        profile: Arc<Profile>,
        isn: Seq,
        now: Instant,
        syn: &Segment,
        ce: bool,
        out: &mut impl Outbox,
    ) -> Endpoint {
        let mut endpoint = Endpoint::new(profile, State::SynReceived, isn, now);
        let feedback = endpoint.profile.answer_to_syn(syn, ce);
        endpoint.agree(syn, ce, feedback);
        endpoint.send_synack(now, out);
        endpoint.arm_synack_timer(now);
        endpoint
    }

    /// Adopts the options of the peer's SYN or SYN/ACK.
    fn agree(&mut self, syn: &Segment, ce: bool, feedback: Feedback) {
        self.rx.synchronize(syn.seq);
        self.rx.ts_recent = syn.ts_val;
        self.sack &= syn.options.contains(Options::SACK_PERMITTED);
        self.timestamps &= syn.options.contains(Options::TIMESTAMPS);
        self.set_ecn(feedback, Field::of(syn, ce));
        if syn.mss > 0 {
            self.mss = self.mss.min(u32::from(syn.mss));
        }
        self.tx.window_end = u64::from(syn.window) + 1;
    }

    fn handshake_segment(&mut self, now: Instant, flags: Flags) -> Segment {
        let mut segment = Segment::new(self.tx.unwrap.wire(0), flags);
        segment.mss = self.profile.mss;
        segment.ect = self.profile.handshake_ect();
        segment.window = self.rx.window.offered(self.rx.nxt, 0);
        segment.retransmitted = self.stats.syn_sent > 0;
        if self.sack {
            segment.options |= Options::SACK_PERMITTED;
        }
        if self.timestamps {
            segment.options |= Options::TIMESTAMPS;
            segment.ts_val = timestamp(now);
            segment.ts_ecr = self.rx.ts_recent;
        }
        self.stats.syn_sent += 1;
        self.stats.segments_sent += 1;
        if segment.retransmitted {
            self.stats.syn_retransmitted += 1;
            self.stats.segments_retransmitted += 1;
            self.stats.waits.add_handshake(self.handshake.sent, now);
            self.handshake.retransmissions += 1;
        }
        self.handshake.sent = now;
        segment
    }

    fn send_syn(&mut self, now: Instant, out: &mut impl Outbox) {
        let mut segment = self.handshake_segment(now, Flags::SYN);
        // A retransmitted SYN does not request ECN, in case a middlebox drops such SYNs (RFC 3168, section 6.1.1.1); the
        // first retransmission still requests Accurate ECN (RFC 9768, section 3.1.4.1).
        if self.profile.ecn == Ecn::AccEcn && self.handshake.retransmissions <= 1 {
            segment.flags |= REQUEST;
        } else if self.profile.requests_ecn() && !segment.retransmitted {
            segment.flags |= Flags::ECE | Flags::CWR;
        }
        out.push(segment);
    }

    fn send_synack(&mut self, now: Instant, out: &mut impl Outbox) {
        let mut segment = self.handshake_segment(now, Flags::SYN | Flags::ACK);
        segment.ack = self.rx.unwrap.wire(1);
        if self.ecn {
            segment.flags |= Flags::ECE;
        }
        if let Some(accecn) = &mut self.accecn {
            // After a timeout the SYN/ACK is tried without, and only the first has the option (tcp_ecn_make_synack,
            // tcp_synack_options).
            if self.handshake.timeouts == 0 {
                segment.flags = segment.flags.with_ace(accecn.reflection());
            }
            accecn.synack_sent_again(self.handshake.retransmissions);
            if !segment.retransmitted
                && let Some(option) = self.initial_option()
            {
                segment.set_accecn_option(option);
            }
            self.check_feedback();
        }
        self.rx.acknowledged = 1;
        out.push(segment);
    }

    /// Arms the SYN timer: linear timeouts (`tcp_syn_linear_timeouts`), then exponential backoff.
    fn arm_syn_timer(&mut self, now: Instant) {
        let doublings = self.handshake.timeouts.saturating_sub(self.profile.syn_linear_timeouts);
        let at = self.expiry(now, self.backed_off(doublings));
        self.tx.timer_at = if self.profile.connect_timeout > Nanos::ZERO {
            at.min(self.handshake.started + self.profile.connect_timeout)
        } else {
            at
        };
    }

    fn arm_synack_timer(&mut self, now: Instant) {
        self.tx.timer_at = self.expiry(now, self.backed_off(self.handshake.timeouts));
    }

    fn backed_off(&self, doublings: u32) -> Nanos {
        let factor = 1u64.checked_shl(doublings).unwrap_or(u64::MAX);
        Nanos(self.profile.initial_rto.0.saturating_mul(factor)).min(self.profile.max_rto.max(self.profile.initial_rto))
    }

    pub(crate) fn on_syn_timer(&mut self, now: Instant, out: &mut impl Outbox) {
        let profile = &self.profile;
        let limit = profile.connect_timeout;
        let late = limit > Nanos::ZERO && now >= self.handshake.started + limit;
        if late || self.handshake.timeouts >= profile.syn_retries + profile.syn_linear_timeouts {
            self.fail();
            return;
        }
        self.handshake.timeouts += 1;
        self.send_syn(now, out);
        self.arm_syn_timer(now);
    }

    pub(crate) fn on_synack_timer(&mut self, now: Instant, out: &mut impl Outbox) {
        if self.handshake.timeouts >= self.profile.synack_retries {
            self.fail();
            return;
        }
        self.send_synack(now, out);
        self.handshake.timeouts += 1;
        self.arm_synack_timer(now);
    }

    pub(crate) fn on_segment_in_syn_sent(&mut self, now: Instant, segment: &Segment, ce: bool, out: &mut impl Outbox) {
        let acknowledges = segment.flags.contains(Flags::ACK) && self.tx.unwrap.position(segment.ack, 0) == Some(1);
        if segment.flags.contains(Flags::RST) {
            if acknowledges {
                self.fail();
            }
            return;
        }
        if !acknowledges || !segment.flags.contains(Flags::SYN) {
            return;
        }
        let feedback = self.profile.agreed_by_synack(segment);
        self.agree(segment, ce, feedback);
        let sent = self.profile.handshake_ect();
        if let Some(accecn) = &mut self.accecn {
            accecn.take_synack(segment, sent);
        }
        self.check_feedback();
        self.establish(now, segment);
        if self.accecn.is_some() {
            self.send_reflection(now, out);
        } else {
            self.send_ack(now, out);
        }
        self.transmit(now, out);
    }

    pub(crate) fn on_segment_in_syn_received(
        &mut self,
        now: Instant,
        segment: &Segment,
        ce: bool,
        out: &mut impl Outbox,
    ) {
        if segment.flags.contains(Flags::RST) {
            if self.rx.unwrap.position(segment.seq, self.rx.nxt) == Some(self.rx.nxt) {
                self.fail();
            }
            return;
        }
        if segment.flags.contains(Flags::SYN) {
            // Repeated SYN: the SYN/ACK was lost or is late (tcp_check_req, syncache_add).
            if !segment.flags.contains(Flags::ACK) && segment.seq == self.rx.unwrap.wire(0) {
                if !self.profile.synack_echoes_first_syn {
                    self.rx.ts_recent = segment.ts_val;
                }
                if let Some(accecn) = &mut self.accecn {
                    accecn.syn_again(segment, ce);
                }
                self.send_synack(now, out);
                if self.profile.synack_timer_restart {
                    self.handshake.timeouts = 0;
                }
                self.arm_synack_timer(now);
            }
            return;
        }
        if !segment.flags.contains(Flags::ACK) || self.tx.unwrap.position(segment.ack, 1) != Some(1) {
            return;
        }
        // ACK of the SYN/ACK, or, if that was lost, data after it.
        let sent = self.profile.handshake_ect();
        if let Some(accecn) = &mut self.accecn {
            accecn.take_third_ack(segment, sent);
            // Its timestamp is known from here on (`tcp_check_req`).
            self.rx.note_timestamp(segment.ts_val);
        }
        self.check_feedback();
        self.establish(now, segment);
        self.process(now, segment, ce, out);
    }

    /// Number of handshake retransmissions that count as losses when `segment` completes the handshake.
    fn handshake_losses(&self, segment: &Segment) -> u32 {
        let original = self.timestamps && segment.ts_ecr == timestamp(self.handshake.started);
        if self.profile.syn_undo && (self.handshake.timeouts == 0 || original) {
            0
        } else {
            self.handshake.retransmissions
        }
    }

    /// Enters the established state; `segment` acknowledges our SYN or SYN/ACK.
    fn establish(&mut self, now: Instant, segment: &Segment) {
        self.state = State::Established;
        self.handshake.established_at = now;
        let losses = self.handshake_losses(segment);
        self.open_sender(now, segment.window, losses);
        self.rx.window.open(now, self.rx.nxt);
        let sample = if self.handshake.retransmissions == 0 {
            // Karn's algorithm: sample only if nothing was retransmitted.
            Some(now.saturating_since(self.handshake.sent))
        } else if self.timestamps && segment.ts_ecr != 0 {
            // The echo identifies the transmission that was answered, with millisecond resolution (tcp_ack_update_rtt).
            let elapsed = timestamp(now).wrapping_sub(segment.ts_ecr);
            Some(Nanos::from_millis(u64::from(elapsed)).max(Nanos::from_millis(1)))
        } else {
            None
        };
        match sample {
            Some(sample) => self.take_rtt_sample(sample),
            None => self.rtt.fall_back(&self.profile),
        }
        self.open_congestion(now);
    }
}

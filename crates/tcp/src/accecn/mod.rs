//! Accurate ECN (RFC 9768) as Linux 7.2 has it (`include/net/tcp_ecn.h`): what each end counts and reports, and how the
//! sender of data finds the number of marks.
//!
//! The ACE field of every header counts the marked packets that have arrived, modulo 8. The AccECN option counts the
//! bytes that arrived with each value of the ECN field, modulo 2^24.

mod endpoint;
mod feedback;

use crate::profile::Profile;
use crate::segment::{AccEcnOption, Ect, Flags, Segment};
use gentle_units::{Instant, Nanos};

/// Mask of the ACE field, and the value that stands for no mark (`TCP_ACCECN_CEP_INIT_OFFSET`).
const ACE_MASK: u32 = 7;
const ACE_OFFSET: u32 = 5;
/// Flags of a SYN that requests Accurate ECN.
pub(crate) const REQUEST: Flags = Flags::from_bits(0x1c0);
/// Values from which the counters of the option start: ECT(1), CE, ECT(0).
const OPTION_OFFSETS: [u32; 3] = [1, 0, 1];
const OPTION_MASK: u32 = 0xff_ffff;
/// Failures of the feedback (`accecn_fail_mode`). No packet is ECN-capable after [`ACE_SEND`] or [`ACE_RECEIVE`], no
/// option is sent after [`OPTION_SEND`] or read after [`OPTION_RECEIVE`].
const ACE_SEND: u8 = 1;
const ACE_RECEIVE: u8 = 2;
const OPTION_SEND: u8 = 4;
const OPTION_RECEIVE: u8 = 8;

/// ECN field of a packet when it arrives, in the order of the option's counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Not,
    One,
    Ce,
    Zero,
}

impl Field {
    pub(crate) fn of(segment: &Segment, ce: bool) -> Field {
        match segment.ect {
            _ if ce => Field::Ce,
            ect => Field::sent(ect),
        }
    }

    fn sent(ect: Ect) -> Field {
        match ect {
            Ect::Not => Field::Not,
            Ect::Zero => Field::Zero,
            Ect::One => Field::One,
        }
    }

    /// ACE field that reports the ECN field of a SYN or SYN/ACK (RFC 9768, section 3.1.1, table 2).
    fn reflected(self) -> u8 {
        match self {
            Field::Not => 0b010,
            Field::One => 0b011,
            Field::Zero => 0b100,
            Field::Ce => 0b110,
        }
    }

    /// Inverse of [`reflected`](Field::reflected) (`tcp_accecn_extract_syn_ect`).
    fn from_reflection(ace: u8) -> Field {
        match ace {
            0b010 => Field::Not,
            0b000 | 0b100 => Field::Zero,
            0b110 => Field::Ce,
            _ => Field::One,
        }
    }

    /// Whether a network that obeys RFC 3168 may have turned this field into `arrived` (`tcp_ect_transition_valid`).
    fn may_become(self, arrived: Field) -> bool {
        arrived == self || !(self == Field::Not || arrived == Field::Not || self == Field::Ce)
    }

    /// Index of its counter in the option; packets that are not ECN-capable are not counted.
    fn counter(self) -> Option<usize> {
        (self as usize).checked_sub(1)
    }
}

/// State of the peer's option (`saw_accecn_opt`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Seen {
    Nothing,
    /// An option without counters.
    Empty,
    Counters,
    /// A counter that is zero where it cannot be, or no option until it was too late.
    Failure,
}

impl Seen {
    /// `tcp_accecn_option_init`.
    fn first(option: AccEcnOption) -> Seen {
        match (option.fields, option.counters) {
            (0, _) => Seen::Empty,
            (_, [0, ..]) | (3, [.., 0]) => Seen::Failure,
            _ => Seen::Counters,
        }
    }
}

/// Marks of a connection with Accurate ECN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// Marked packets that have arrived.
    pub received: u32,
    /// Marked packets that the peer is believed to have received.
    pub reported: u32,
}

/// State of Accurate ECN at one end.
#[derive(Debug, Clone)]
pub(crate) struct AccEcn {
    /// Marked packets that have arrived, and how many since the last segment sent, at most 15.
    received: u32,
    unreported: u8,
    /// Bytes that have arrived with ECT(1), CE and ECT(0).
    received_bytes: [u32; 3],
    last_field: Field,
    /// Counters that the next option must have at least (`accecn_minlen`), and segments that must carry the option.
    needed_fields: u8,
    demand: u8,
    option_at: Instant,
    /// Whether the last segment sent had the option and a DSACK, and where the last duplicate began.
    option_with_dsack: bool,
    duplicate: u64,
    /// Marks that the peer has reported, and bytes that it received with ECT(1), CE and ECT(0).
    reported: u32,
    reported_bytes: [u32; 3],
    /// The only counter that has lately grown: it is taken to grow further while no option arrives (`est_ecnfield`).
    growing: Option<usize>,
    /// Moving average of the segments that an acknowledgement covers, in 1/64; 0: no acknowledgement yet.
    mean_acked: u32,
    seen: Seen,
    failed: u8,
    /// Whether the timestamp of the segment being processed is newer than all before.
    stamp_advanced: bool,
    /// ECN field of the peer's last SYN or SYN/ACK.
    syn_field: Field,
}

impl AccEcn {
    pub(crate) fn new(syn_field: Field) -> AccEcn {
        AccEcn {
            received: 0,
            unreported: 0,
            received_bytes: [0; 3],
            last_field: Field::Not,
            needed_fields: 0,
            demand: 0,
            option_at: Instant::ZERO,
            option_with_dsack: false,
            duplicate: u64::MAX,
            reported: 0,
            reported_bytes: [0; 3],
            growing: None,
            mean_acked: 0,
            seen: Seen::Nothing,
            failed: 0,
            stamp_advanced: false,
            syn_field,
        }
    }

    /// Whether packets may be ECN-capable.
    pub(crate) fn is_capable(&self) -> bool {
        self.failed & (ACE_SEND | ACE_RECEIVE) == 0
    }

    /// Notes that the SYN/ACK was sent `retransmissions` times again; beyond one, no packet is ECN-capable.
    pub(crate) fn synack_sent_again(&mut self, retransmissions: u32) {
        if retransmissions > 1 {
            self.failed |= ACE_SEND;
        }
    }

    /// Notes a repeated SYN.
    pub(crate) fn syn_again(&mut self, syn: &Segment, ce: bool) {
        self.syn_field = Field::of(syn, ce);
        if syn.flags.ace() == 0 {
            self.failed |= ACE_RECEIVE;
        }
    }

    /// ACE field of a SYN/ACK, or of the acknowledgement of one.
    pub(crate) fn reflection(&self) -> u8 {
        self.syn_field.reflected()
    }

    /// Processes the SYN/ACK; the SYN was sent with the ECN field `sent` (`tcp_ecn_rcv_synack`).
    pub(crate) fn take_synack(&mut self, synack: &Segment, sent: Ect) {
        let ace = synack.flags.ace();
        if self.syn_field == Field::Ce && (ace == 0b101 || self.confirms(ace, sent)) {
            self.received = 1;
            self.unreported = 1;
        }
        if self.take_first_option(synack) {
            self.demand = 2;
        }
        self.note_acked(1);
    }

    /// Processes the segment that acknowledges the SYN/ACK, which was sent with the ECN field `sent`
    /// (`tcp_accecn_third_ack`).
    pub(crate) fn take_third_ack(&mut self, segment: &Segment, sent: Ect) {
        self.last_field = self.syn_field;
        self.take_first_option(segment);
        self.demand = 1;
        let has_sack = segment.sack_count > 0;
        match segment.flags.ace() {
            0b000 if !has_sack => self.failed |= ACE_RECEIVE | OPTION_RECEIVE,
            0b000 | 0b001 | 0b101 | 0b111 => {}
            ace => {
                if segment.seq_len() == 0
                    && !has_sack
                    && self.confirms(ace, sent)
                    && Field::from_reflection(ace) == Field::Ce
                {
                    self.reported = self.reported.max(1);
                }
            }
        }
    }

    /// Whether `ace` reports an ECN field that a packet sent with `sent` can have; if not, the feedback has failed.
    fn confirms(&mut self, ace: u8, sent: Ect) -> bool {
        let valid = Field::sent(sent).may_become(Field::from_reflection(ace));
        if !valid {
            self.failed |= ACE_RECEIVE;
        }
        valid
    }

    /// Reads the option of a segment of the handshake; returns whether it has one.
    fn take_first_option(&mut self, segment: &Segment) -> bool {
        let Some(option) = segment.accecn_option().filter(|_| self.seen < Seen::Counters) else {
            return false;
        };
        self.see(Seen::first(option));
        true
    }

    fn see(&mut self, seen: Seen) {
        self.seen = seen;
        if seen == Seen::Failure {
            self.failed |= OPTION_RECEIVE;
        }
    }

    /// Counts an arriving packet with `len` bytes of payload; returns whether its ECN field differs from the one before
    /// (`tcp_ecn_received_counters`).
    fn count(&mut self, field: Field, len: u32) -> bool {
        if let Some(index) = field.counter() {
            let marked = u32::from(field == Field::Ce);
            self.received = self.received.wrapping_add(marked);
            self.unreported = (self.unreported + marked as u8).min(15);
            if len > 0 {
                let bytes = &mut self.received_bytes[index];
                let before = std::mem::replace(bytes, bytes.wrapping_add(len));
                self.needed_fields = self.needed_fields.max(index as u8 + 1);
                // At least one option for every 2^22 bytes.
                if (*bytes ^ before) >> 22 != 0 {
                    self.demand = self.demand.max(1);
                }
            }
        }
        let changed = std::mem::replace(&mut self.last_field, field) != field;
        if changed || field == Field::Ce {
            self.demand = 2;
        }
        changed
    }

    /// Whether a segment sent at `now` has the option, if there is room (`tcp_established_options`).
    fn sends_option(&self, profile: &Profile, now: Instant, srtt: Option<Nanos>) -> bool {
        let beacon = || {
            let since = now.saturating_since(self.option_at).0;
            let beacon = u64::from(profile.ecn_option_beacon);
            beacon > 0 && since.saturating_mul(beacon) >= srtt.map_or(0, |srtt| srtt.0)
        };
        self.seen != Seen::Nothing
            && match profile.ecn_option {
                0 => false,
                1 => self.failed & OPTION_SEND == 0 && (self.demand > 0 || beacon()),
                2 => self.failed & OPTION_SEND == 0,
                _ => true,
            }
    }

    /// Number of counters that fit next to `blocks` SACK blocks and timestamps, and SACK blocks that then remain;
    /// `None` if those that are needed do not fit (`tcp_options_fit_accecn`).
    fn fit(&self, blocks: u8) -> Option<(u8, u8)> {
        match (blocks, self.needed_fields) {
            (0 | 1, _) => Some((3, blocks)),
            (2, 0..=2) | (3, 1..=2) => Some((2, 2)),
            (3, 0) => Some((0, 3)),
            _ => None,
        }
    }

    /// Sets the ACE field of a segment, and adds the option if `with_option`.
    fn report(&mut self, now: Instant, segment: &mut Segment, with_option: bool, dsack: bool) {
        let ace = self.received.wrapping_add(ACE_OFFSET) & ACE_MASK;
        segment.flags = segment.flags.with_ace(ace as u8);
        self.unreported = 0;
        self.option_with_dsack = false;
        let fit = self.fit(segment.sack_count).filter(|_| with_option);
        let Some((fields, blocks)) = fit else {
            return;
        };
        segment.sack_count = blocks;
        let mut counters = self.received_bytes;
        for (counter, offset) in counters.iter_mut().zip(OPTION_OFFSETS) {
            *counter = counter.wrapping_add(offset) & OPTION_MASK;
        }
        segment.set_accecn_option(AccEcnOption { fields, counters });
        self.needed_fields = 0;
        self.option_at = now;
        self.option_with_dsack = dsack;
        self.demand = self.demand.saturating_sub(1);
    }
}

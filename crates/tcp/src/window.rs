//! Receive window: fixed, or autotuned as in Linux.
//!
//! Linux (`net/ipv4/tcp_input.c`) starts with half of a buffer of 128 KiB. Each arriving segment moves the offered
//! window by two segments towards the room in the buffer (`tcp_grow_window`). Once per round trip the buffer is resized
//! for the data read in it and a sender that doubles its rate (`tcp_rcv_space_adjust`: dynamic right-sizing). The
//! application reads at once, so only out-of-order data stays in the buffer, and what a filled gap delivers until its
//! acknowledgement has been sent. Data in the buffer reduces the window (`tcp_space`); reading opens it again.

use crate::profile::Profile;
use gentle_units::{Instant, Nanos};

/// Initial buffer, bytes (`net.ipv4.tcp_rmem`, second value).
const BUFFER: u32 = 131_072;
/// Largest buffer that a socket may request, bytes (`net.core.rmem_max`).
const LARGEST_ASKED: u32 = 4 << 20;
/// Bytes of window per 256 bytes of buffer before the memory use of segments is known (`TCP_DEFAULT_SCALING_RATIO`).
const RATIO: u32 = 128;
/// Memory charged for a segment beyond its payload, bytes. Linux 7.2 charges 2416 for 1448 bytes received over veth, as
/// the windows that it offers show.
pub(crate) const OVERHEAD: u32 = 968;
/// Payload of a full segment over Ethernet, bytes.
const MSS: u32 = 1448;
/// Data that one buffer of a queue holds, bytes: `MAX_SKB_FRAGS` segments.
pub(crate) const BUFFER_DATA: u64 = 17 * MSS as u64;
/// Upper bound of the assumed largest segment before any was received, bytes (`tcp_initialize_rcv_mss`).
const DEFAULT_MSS: u32 = 536;
/// Data that right-sizing assumes for the first round trip, segments (`TCP_INIT_CWND`).
const FIRST_ROUND: u32 = 10;
/// Segments shorter than this, in bytes, do not open the window (`tcp_event_data_recv`).
const SHORTEST: u32 = 128;
/// Round-trip time below which the buffer grows less (`net.ipv4.tcp_rcvbuf_low_rtt`).
const LOW_RTT: Nanos = Nanos::from_millis(1);

/// Receive window of an end point.
#[derive(Debug, Clone)]
pub(crate) struct ReceiveWindow {
    tuned: bool,
    /// Window scale (RFC 7323, section 2.2).
    scale: u8,
    /// Maximum window ever offered, bytes.
    most: u32,
    mss: u32,
    /// Window offered beyond the data received, bytes (`rcv_ssthresh`).
    offer: u32,
    /// Right edge of the offered window; never moves back.
    edge: u64,
    /// Room in the buffer, in bytes of window (`window_clamp`).
    room: u32,
    buffer: u32,
    ratio: u32,
    largest_segment: u32,
    /// Eight times the receiver's RTT estimate (`rcv_rtt_est`); zero before the first sample.
    rtt8: Nanos,
    /// Last timestamp that was echoed.
    echo: u32,
    /// Bytes read in the last round trip that counted (`rcvq_space`).
    read: u32,
    round: Round,
    /// Start of an RTT measurement: data from this position on is a response to the window offered at this time
    /// (`rcv_rtt_est.seq`).
    flight: Option<Round>,
}

/// Start of a measured interval.
#[derive(Debug, Clone, Copy, Default)]
struct Round {
    at: Instant,
    position: u64,
}

impl ReceiveWindow {
    pub(crate) fn new(profile: &Profile) -> ReceiveWindow {
        let mss = u32::from(profile.mss);
        let tuned = profile.window_tuning;
        let most = profile.receive_window;
        let [buffer, _] = linux_receive_buffer(most);
        let first = match tuned {
            true => match scaled(buffer, RATIO) {
                short if short <= mss => short.max(1),
                long => long / mss * mss,
            },
            false => most,
        };
        let offer = first.min(most);
        ReceiveWindow {
            tuned,
            most,
            mss,
            offer,
            edge: 0,
            scale: 0,
            room: offer,
            buffer,
            ratio: RATIO,
            largest_segment: mss.min(DEFAULT_MSS),
            rtt8: Nanos::ZERO,
            echo: 0,
            read: offer.min(FIRST_ROUND * mss),
            round: Round::default(),
            flight: None,
        }
    }

    /// Opens the window when the connection is established (`tcp_init_buffer_space`): one segment of the buffer is
    /// reserved where it holds more than two.
    pub(crate) fn open(&mut self, now: Instant, nxt: u64) {
        self.round = Round { at: now, position: nxt };
        if self.tuned {
            let (all, two) = (scaled(self.buffer, RATIO), 2 * self.mss);
            self.room = match all > two {
                true => two.max(all - self.mss),
                false => all,
            };
            self.room = self.room.clamp(1, self.most);
            self.offer = self.offer.min(self.room);
            self.scale = scale(self.most);
        }
    }

    /// Window that the next segment carries, with everything before `nxt` received and `queued` bytes of the buffer
    /// occupied.
    #[inline]
    pub(crate) fn offered(&mut self, nxt: u64, queued: u64) -> u32 {
        let mut offer = u64::from(self.offer);
        if self.tuned {
            offer = offer.min(u64::from(self.room_beside(queued)));
        }
        let window = self.edge.max(nxt + offer) - nxt;
        // Rounded up to what the header can say, so that the edge moves a little while the window closes
        // (`tcp_select_window`).
        let window = window.next_multiple_of(1 << self.scale);
        self.edge = nxt + window;
        window as u32
    }

    /// Whether the window could be twice the one offered or more, with everything before `nxt` received and `queued`
    /// bytes occupied.
    pub(crate) fn doubles(&self, nxt: u64, queued: u64) -> bool {
        let twice = 2 * self.edge.saturating_sub(nxt);
        let open = self.offer.min(self.room_beside(queued));
        open > 0 && twice <= u64::from(self.room.min(open))
    }

    /// Whether data from `start` on is within the window.
    #[inline]
    pub(crate) fn admits(&self, start: u64) -> bool {
        start <= self.edge
    }

    /// Accounts for `len` new bytes in order up to `end`, with which `filled` bytes of out-of-order data became
    /// deliverable; all of this is read. The rest of such data ends `beyond` bytes after it. When the new bytes arrived,
    /// out-of-order data occupied `queued` bytes. Returns whether the window opened.
    #[inline(always)]
    pub(crate) fn received(&mut self, now: Instant, len: u32, read: (u64, u64), beyond: u64, queued: u64) -> bool {
        self.tuned && self.tune(now, len, read, beyond, queued)
    }

    fn tune(&mut self, now: Instant, len: u32, (end, filled): (u64, u64), beyond: u64, queued: u64) -> bool {
        self.measure_segment(len);
        self.measure_flight(now, end);
        // The segment itself still occupies the buffer.
        let room = self.room_beside(queued + u64::from(len + OVERHEAD));
        let opened = len >= SHORTEST && self.open_for(len, room);
        self.right_size(now, end, filled, beyond);
        opened
    }

    /// Accounts for `len` new bytes out of order (`tcp_data_queue_ofo`); such data ends `beyond` bytes after the data
    /// received, and occupied `queued` bytes before. Returns whether the window opened.
    pub(crate) fn received_beyond(&mut self, len: u32, beyond: u64, queued: u64) -> bool {
        if !self.tuned {
            return false;
        }
        self.measure_segment(len);
        let opened = len >= SHORTEST && self.open_for(len, self.room_beside(queued));
        self.grow_buffer(self.read, beyond);
        opened
    }

    /// Takes an RTT sample from a segment that echoes the timestamp `echo` (`tcp_rcv_rtt_measure_ts`); `clock` is the
    /// current time as a timestamp. Only a full segment is assumed to have been sent when the acknowledgement that it
    /// echoes arrived.
    #[inline]
    pub(crate) fn echoed(&mut self, clock: u32, echo: u32, len: u32) {
        if !self.tuned || echo == self.echo {
            return;
        }
        self.echo = echo;
        let age = clock.wrapping_sub(echo).cast_signed();
        if len < self.largest_segment || age < 0 {
            return;
        }
        let sample = Nanos::from_millis(u64::from(age.max(1).cast_unsigned()));
        let eight = Nanos(8 * sample.0);
        self.rtt8 = if self.rtt8 == Nanos::ZERO || eight < self.rtt8 {
            eight
        } else {
            Nanos(self.rtt8.0 - self.rtt8.0 / 8 + sample.0)
        };
    }

    /// Estimate of the round-trip time; zero before the first sample.
    pub(crate) fn rtt(&self) -> Nanos {
        Nanos(self.rtt8.0 / 8)
    }

    /// Updates the largest segment and the room in the buffer (`tcp_measure_rcv_mss`).
    fn measure_segment(&mut self, len: u32) {
        if len > self.largest_segment {
            self.largest_segment = len;
            self.ratio = (len << 8) / (len + OVERHEAD);
            self.room = scaled(self.buffer, self.ratio).min(self.most);
        }
    }

    /// Takes an RTT sample from the time in which one window arrives, an upper bound (`tcp_rcv_rtt_measure`).
    fn measure_flight(&mut self, now: Instant, nxt: u64) {
        if let Some(flight) = self.flight {
            if nxt < flight.position {
                return;
            }
            let eight = Nanos(8 * now.saturating_since(flight.at).0.max(1));
            if self.rtt8 == Nanos::ZERO || eight < self.rtt8 {
                self.rtt8 = eight;
            }
        }
        self.flight = Some(Round { at: now, position: self.edge });
    }

    /// Opens the window by up to two segments, as far as there is room (`tcp_grow_window`).
    fn open_for(&mut self, len: u32, room: u32) -> bool {
        let room = room.saturating_sub(self.offer);
        self.offer += room.min(2 * self.mss.max(len));
        room > 0
    }

    /// Space in the buffer next to out-of-order data that occupies `queued` bytes, in bytes of window (`tcp_space`).
    fn room_beside(&self, queued: u64) -> u32 {
        let occupied = (queued * u64::from(self.ratio)) >> 8;
        u64::from(self.room).saturating_sub(occupied) as u32
    }

    /// Resizes the buffer once per round trip (`tcp_rcv_space_adjust`). The application reads buffer by buffer, and what
    /// is left when it has read the first is subtracted and counts for the next round trip.
    fn right_size(&mut self, now: Instant, end: u64, filled: u64, beyond: u64) {
        let rtt = Nanos(self.rtt8.0 / 8);
        if rtt == Nanos::ZERO || now.saturating_since(self.round.at) < rtt {
            return;
        }
        let (first, left) = match filled < BUFFER_DATA {
            true => (end + filled, 0),
            false => (end, filled),
        };
        let read = first.saturating_sub(self.round.position).saturating_sub(left);
        let read = read.min(u64::from(u32::MAX)) as u32;
        if read > self.read {
            self.grow_buffer(read, beyond);
        }
        self.round = Round { at: now, position: first };
    }

    /// Grows the buffer (`tcp_rcvbuf_grow`): twice the data read in a round trip, because the measurement is one round
    /// trip late, and more if that data grows.
    fn grow_buffer(&mut self, read: u32, beyond: u64) {
        let (old, new) = (u64::from(self.read.max(1)), u64::from(read));
        self.read = read;
        let twice = 2 * new;
        let rtt = Nanos(self.rtt8.0 / 8);
        let more = if rtt < LOW_RTT { twice * rtt.0 / LOW_RTT.0 } else { 2 * twice * new.saturating_sub(old) / old };
        let window = (twice + more + beyond).min(u64::from(self.most)) as u32;
        let buffer = (u64::from(window) << 8).div_ceil(u64::from(self.ratio)) as u32;
        if buffer > self.buffer {
            self.buffer = buffer;
            self.room = window;
        }
    }
}

/// First and largest size of Linux's receive buffer, in bytes, with which it offers a window of at most `window` bytes to
/// senders of segments of 1448 bytes: what the second and third value of `net.ipv4.tcp_rmem` have to be.
pub fn linux_receive_buffer(window: u32) -> [u32; 2] {
    let ratio = u64::from((MSS << 8) / (MSS + OVERHEAD));
    let largest = (u64::from(window) << 8).div_ceil(ratio);
    let largest = u32::try_from(largest).unwrap_or(u32::MAX);
    [largest.min(BUFFER), largest]
}

/// Window scale for windows of up to `most` bytes: with it, 16 bits hold the size of the buffer that they need, or that
/// of the largest that a socket may request (`tcp_select_initial_window`).
fn scale(most: u32) -> u8 {
    let [_, largest] = linux_receive_buffer(most);
    (largest.max(LARGEST_ASKED).ilog2() - 15).min(14) as u8
}

/// Window for a buffer (`tcp_win_from_space`).
fn scaled(buffer: u32, ratio: u32) -> u32 {
    ((u64::from(buffer) * u64::from(ratio)) >> 8) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Transfer {
        window: ReceiveWindow,
        now: Instant,
        nxt: u64,
    }

    impl Transfer {
        fn new() -> Transfer {
            let mut window = ReceiveWindow::new(&Profile::linux_7_2());
            window.offered(1, 0);
            let now = Instant::from_secs(1);
            window.open(now, 1);
            Transfer { window, now, nxt: 1 }
        }

        /// Runs a round trip of 96 ms with so many segments, 1.211 ms apart; returns the windows offered after each.
        fn round(&mut self, segments: u64) -> Vec<u32> {
            let end = self.now + Nanos::from_millis(96);
            let offered = (0..segments)
                .map(|_| {
                    self.now += Nanos::from_micros(1211);
                    let clock = self.now.as_millis() as u32;
                    self.window.echoed(clock, clock - 95, MSS);
                    self.nxt += u64::from(MSS);
                    self.window.received(self.now, MSS, (self.nxt, 0), 0, 0);
                    self.window.offered(self.nxt, 0)
                })
                .collect();
            self.now = self.now.max(end);
            offered
        }
    }

    /// Windows that Linux 7.2.12 offered to a sender in slow start over 10 Mb/s and 94 ms, in units of 128 bytes. Its
    /// first window is 65,160 bytes.
    #[test]
    fn it_opens_as_linux_opens_it() {
        let mut transfer = Transfer::new();
        let first = transfer.round(10);
        let kernel = [67_072, 69_888, 72_832, 75_776, 76_928, 76_928];
        for (offered, kernel) in first.iter().zip(kernel) {
            assert!(kernel - offered < 128, "{first:?}");
        }
        // In the second round trip nothing changes: a first window of ten segments was assumed.
        assert!(transfer.round(20).iter().all(|offered| *offered == first[9]));
        let third = transfer.round(40);
        assert!(third[0] <= 76_928 && third[1] > 79_700, "{third:?}");
        assert!(third[39] > 145_000, "{third:?}");
    }

    #[test]
    fn a_fixed_window_stays() {
        let mut profile = Profile::linux_7_2();
        profile.window_tuning = false;
        let mut window = ReceiveWindow::new(&profile);
        window.open(Instant::ZERO, 1);
        assert!(!window.received(Instant::from_secs(1), MSS, (1449, 0), 0, 0));
        assert_eq!(window.offered(1449, 0), profile.receive_window);
    }

    /// The windows of a Linux 7.2 with a `tcp_rmem` of at most 109,656 bytes, from a packet trace.
    #[test]
    fn a_small_buffer_offers_less_at_first() {
        let mut profile = Profile::linux_7_2();
        profile.receive_window = 65_536;
        let mut window = ReceiveWindow::new(&profile);
        assert_eq!(window.offered(1, 0), 53_576);
        window.open(Instant::ZERO, 1);
        assert_eq!(window.scale, 7);
        for (nxt, offered) in [(1449, 56_320), (2897, 59_264), (4345, 62_080)] {
            window.received(Instant::from_millis(100), MSS, (nxt, 0), 0, 0);
            assert_eq!(window.offered(nxt, 0), offered);
        }
    }

    #[test]
    fn what_was_offered_is_not_taken_back() {
        let mut window = ReceiveWindow::new(&Profile::linux_7_2());
        let first = window.offered(1, 0);
        window.open(Instant::ZERO, 1);
        let scaled = window.offered(1, 0);
        assert_eq!(scaled, first.next_multiple_of(128));
        assert!(window.offered(101, 0) + 100 >= scaled);
    }

    /// A window that closes is rounded up to its unit of 128 bytes, so that its edge moves.
    #[test]
    fn the_edge_moves_while_the_window_closes() {
        let mut transfer = Transfer::new();
        let first = transfer.window.offered(1, 0);
        let full = 10 * u64::from(transfer.window.room);
        let mut edge = 1 + u64::from(first);
        for nxt in (1..20_000).step_by(MSS as usize).skip(1) {
            let offered = transfer.window.offered(nxt, full);
            assert_eq!(offered % 128, 0);
            let moved = nxt + u64::from(offered) - edge;
            assert!(moved < 128, "{moved}");
            edge += moved;
        }
        assert!(edge > 1 + u64::from(first) + 300, "{edge}");
    }

    #[test]
    fn data_beyond_a_gap_makes_room_for_itself() {
        let mut transfer = Transfer::new();
        transfer.round(10);
        let before = transfer.window.room;
        let beyond = 200 * u64::from(MSS);
        transfer.window.received_beyond(MSS, beyond, 0);
        assert!(transfer.window.room > before);
    }
}

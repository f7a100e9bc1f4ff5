//! COBALT, the control law of `cake`: CoDel (RFC 8289), which acts on sojourn times, and BLUE (Feng et al. 2002), which
//! acts on overflow, in the arithmetic of Linux (`net/sched/sch_cake.c`), independent of the storage of packets.
//!
//! CoDel marks or drops while a queue stays above its target. A flow that does not respond overflows the queue: BLUE
//! then raises a probability with which packets are dropped, and lowers it when the queue has run empty.

use crate::plumbing::packet::Packet;
use gentle_units::Instant;

/// Increment of BLUE's drop probability at an overflow, as a fraction of 2^32 (Linux: `p_inc`): 1/256.
const INCREMENT: u32 = 1 << 24;
/// Decrement of BLUE's drop probability when the queue is empty, as a fraction of 2^32 (Linux: `p_dec`): 1/4096.
const DECREMENT: u32 = 1 << 20;

/// Parameters in nanoseconds (Linux: `struct cobalt_params`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Params {
    /// Time above `target` before the first signal, and unit of the times between signals.
    pub(crate) interval: u64,
    /// Acceptable standing delay, and least time between two changes of BLUE's probability.
    pub(crate) target: u64,
    /// Transmission time of a full frame. Sojourn times of up to four of them never count as too long.
    pub(crate) mtu_time: u64,
}

/// Decision about a packet that has left the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Drop the packet, unless it is the last of its queue.
    pub(crate) drop: bool,
    /// The packet has been marked.
    pub(crate) marked: bool,
}

/// State of the control law of one queue (Linux: `struct cobalt_vars`). Times are in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cobalt {
    /// Time of the next signal of CoDel; without signals due, the time until which the queue counts as active.
    drop_next: i64,
    /// Time of the last change of BLUE's probability.
    blue_timer: i64,
    /// CoDel's number of signals, which determines the time between them.
    count: u32,
    /// 1/sqrt(count) as a fraction of 2^32.
    rec_inv_sqrt: u32,
    /// BLUE's drop probability as a fraction of 2^32.
    p_drop: u32,
    dropping: bool,
}

/// 1/sqrt(n) as a fraction of 2^32. Below 16 a single Newton step is imprecise, so Linux has these values in a table;
/// that for 0 serves the time before the first signal.
fn rec_inv_sqrt(n: u32) -> u32 {
    const TABLE: [u32; TABLED as usize] = [
        u32::MAX,
        u32::MAX,
        3_037_000_500,
        2_479_700_525,
        2_147_483_647,
        1_920_767_767,
        1_753_413_056,
        1_623_345_051,
        1_518_500_250,
        1_431_655_765,
        1_358_187_914,
        1_294_981_364,
        1_239_850_263,
        1_191_209_601,
        1_147_878_294,
        1_108_955_788,
    ];
    TABLE[n as usize]
}

/// Length of the table of [`rec_inv_sqrt`].
const TABLED: u32 = 16;

impl Cobalt {
    /// True if the law has forgotten all congestion: its queue may be given to another flow.
    #[inline]
    pub(crate) fn is_at_rest(&self, now: Instant) -> bool {
        self.p_drop == 0 && self.count == 0 && nanos(now) >= self.drop_next
    }

    /// Notes that a packet of the queue was dropped because memory is exhausted (Linux: `cobalt_queue_full`).
    pub(crate) fn on_overflow(&mut self, now: Instant, params: &Params) {
        let now = nanos(now);
        if elapsed(now, self.blue_timer) > params.target {
            self.p_drop = self.p_drop.saturating_add(INCREMENT);
            self.blue_timer = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// Notes a dequeue from the empty queue (Linux: `cobalt_queue_empty`).
    #[inline]
    pub(crate) fn on_empty(&mut self, now: Instant, params: &Params) {
        let now = nanos(now);
        if self.p_drop > 0 && elapsed(now, self.blue_timer) > params.target {
            self.p_drop = self.p_drop.saturating_sub(DECREMENT);
            self.blue_timer = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.set_rate();
            self.drop_next = self.control(self.drop_next, params);
        }
    }

    /// Decides about a packet that has just left the queue, and marks it if that is due and it is ECN-capable (Linux:
    /// `cobalt_should_drop`).
    ///
    /// `bulk_flows` is the number of flows that share the link, or 0 if they need not be considered: the sojourn time
    /// in which each of them sends two frames does not count as too long. `random` is called for a number if BLUE is
    /// active.
    #[inline]
    pub(crate) fn on_dequeue<P: Packet>(
        &mut self,
        now: Instant,
        packet: &mut P,
        bulk_flows: u32,
        params: &Params,
        random: impl FnOnce() -> u32,
    ) -> Verdict {
        let sojourn = now.0.wrapping_sub(packet.arrived().0);
        let now = nanos(now);
        let mut verdict = Verdict { drop: false, marked: false };
        let mut is_due = self.count > 0 && now >= self.drop_next;
        let mut is_late = now > self.drop_next;
        let shared = params.mtu_time.wrapping_mul(u64::from(bulk_flows) * 2);
        if sojourn > params.target && sojourn > shared && sojourn > params.mtu_time * 4 {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.control(now, params);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        if is_due && self.dropping {
            verdict.marked = packet.mark();
            verdict.drop = !verdict.marked;
            self.count = self.count.saturating_add(1);
            self.set_rate();
            self.drop_next = self.control(self.drop_next, params);
            is_late = now > self.drop_next;
        } else {
            while is_due {
                self.count -= 1;
                self.set_rate();
                self.drop_next = self.control(self.drop_next, params);
                is_late = now > self.drop_next;
                is_due = self.count > 0 && now >= self.drop_next;
            }
        }
        // BLUE drops ECN-capable packets, too: their sender has not responded to marks.
        if self.p_drop > 0 && !verdict.drop && random() < self.p_drop {
            verdict.drop = true;
        }
        if self.count == 0 {
            self.drop_next = now.wrapping_add(params.interval as i64);
        } else if is_late && !verdict.drop {
            self.drop_next = now;
        }
        verdict
    }

    /// Computes 1/sqrt(count) for a count that has changed by one (Linux: `cobalt_invsqrt`).
    #[inline]
    fn set_rate(&mut self) {
        if self.count < TABLED {
            self.rec_inv_sqrt = rec_inv_sqrt(self.count);
            return;
        }
        // A step of Newton's method: x' = x/2 * (3 - count * x^2).
        let x = u64::from(self.rec_inv_sqrt);
        let square = (x * x) >> 32;
        let value = (3u64 << 32).wrapping_sub(u64::from(self.count) * square) >> 2;
        self.rec_inv_sqrt = (value.wrapping_mul(x) >> 31) as u32;
    }

    /// Time of the signal after one at `t`: `t` + interval/sqrt(count) (Linux: `cobalt_control`).
    #[inline]
    fn control(&self, t: i64, params: &Params) -> i64 {
        // `reciprocal_scale` takes 32 bits: of an interval above 4.29 s Linux loses the upper ones.
        let interval = u64::from(params.interval as u32);
        t.wrapping_add(((interval * u64::from(self.rec_inv_sqrt)) >> 32) as i64)
    }
}

fn nanos(now: Instant) -> i64 {
    now.0.cast_signed()
}

/// Time since `then`; Linux compares it without sign.
fn elapsed(now: i64, then: i64) -> u64 {
    now.wrapping_sub(then).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestPacket;
    use gentle_units::Nanos;

    const PARAMS: Params = Params { interval: 100_000_000, target: 5_000_000, mtu_time: 0 };

    /// A packet that has waited for `ms` at `now`.
    fn waited(now: Instant, ms: u64) -> TestPacket {
        let mut packet = TestPacket::data(1, 1514);
        packet.arrived = now - Nanos::from_millis(ms);
        packet
    }

    fn never() -> u32 {
        panic!("BLUE is not active")
    }

    #[test]
    fn the_table_and_the_newton_steps_approach_the_root() {
        let mut cobalt = Cobalt::default();
        for n in 1..=5000u32 {
            cobalt.count = n;
            cobalt.set_rate();
            let found = f64::from(cobalt.rec_inv_sqrt) / 4_294_967_296.0;
            let exact = 1.0 / f64::from(n).sqrt();
            assert!((found / exact - 1.0).abs() < 0.002, "{n}: {found} {exact}");
        }
        // The rate falls again by steps in the other direction.
        for n in (1..5000u32).rev() {
            cobalt.count = n;
            cobalt.set_rate();
            let found = f64::from(cobalt.rec_inv_sqrt) / 4_294_967_296.0;
            let exact = 1.0 / f64::from(n).sqrt();
            assert!((found / exact - 1.0).abs() < 0.002, "{n}: {found} {exact}");
        }
    }

    #[test]
    fn signals_come_faster_while_the_queue_stays_above_target() {
        let mut cobalt = Cobalt::default();
        let mut times = Vec::new();
        for ms in 1000..2000 {
            let now = Instant::from_millis(ms);
            let verdict = cobalt.on_dequeue(now, &mut waited(now, 20), 0, &PARAMS, never);
            if verdict.drop {
                times.push(ms);
            }
        }
        let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(times.len() > 20, "{times:?}");
        assert!(gaps.first() > gaps.last(), "{gaps:?}");
        // 100 ms / sqrt(n) for the nth signal, in whole milliseconds.
        for (n, gap) in (2..).zip(&gaps) {
            let exact = 100.0 / f64::from(n).sqrt();
            assert!((*gap as f64 - exact).abs() < 1.5, "{n}: {gap}, {exact}");
        }
    }

    #[test]
    fn ecn_capable_packets_are_marked_and_sent() {
        let mut cobalt = Cobalt::default();
        let marks = (1000..2000).filter(|ms| {
            let now = Instant::from_millis(*ms);
            let mut packet = waited(now, 20).ecn_capable();
            let verdict = cobalt.on_dequeue(now, &mut packet, 0, &PARAMS, never);
            assert!(!verdict.drop);
            assert_eq!(verdict.marked, packet.ecn == crate::Ecn::Ce);
            verdict.marked
        });
        assert!(marks.count() > 20);
    }

    #[test]
    fn packets_within_the_time_of_four_frames_are_not_late() {
        let slow = Params { mtu_time: 10_000_000, ..PARAMS };
        for (ms, bulk_flows, signals) in [(40, 0, false), (41, 0, true), (41, 3, false)] {
            let mut cobalt = Cobalt::default();
            let any = (0..1000).any(|step| {
                let now = Instant::from_millis(1000 + step);
                let mut packet = waited(now, ms);
                cobalt.on_dequeue(now, &mut packet, bulk_flows, &slow, never).drop
            });
            assert_eq!(any, signals, "{ms} ms, {bulk_flows} flows");
        }
    }

    #[test]
    fn blue_grows_with_overflows_and_decays_while_empty() {
        let mut cobalt = Cobalt::default();
        let mut now = Instant::from_secs(1);
        for _ in 0..8 {
            cobalt.on_overflow(now, &PARAMS);
            // A second overflow within the target does not count.
            cobalt.on_overflow(now, &PARAMS);
            now += Nanos::from_millis(6);
        }
        assert_eq!(cobalt.p_drop, 8 * INCREMENT);
        let mut packet = waited(now, 0);
        let verdict =
            |cobalt: &mut Cobalt, packet: &mut _, number| cobalt.on_dequeue(now, packet, 0, &PARAMS, || number).drop;
        assert!(verdict(&mut cobalt, &mut packet, 8 * INCREMENT - 1));
        assert!(!verdict(&mut cobalt, &mut packet, 8 * INCREMENT));
        let mut steps = 0;
        while !cobalt.is_at_rest(now) {
            now += Nanos::from_millis(6);
            cobalt.on_empty(now, &PARAMS);
            steps += 1;
        }
        assert_eq!(steps, 8 * 16);
    }
}

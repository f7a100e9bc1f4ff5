//! CoDel's control law (RFC 8289) in the arithmetic of Linux (`include/net/codel_impl.h`), independent of the storage
//! of packets: `codel` applies it to its only queue, `fq_codel` to the queue of each flow.
//!
//! Time counts in units of 1024 ns in 32 bits and wraps after 73 minutes; the inverse square root is a Newton iteration
//! on 16 bits. Both are approximations of the kernel for speed, reproduced here so that each drop hits the same packet.

use crate::plumbing::linux;
use crate::plumbing::options::{Kind, OptionSpec, Options, Value};
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{DropReason, MarkReason, Signals};
use gentle_units::{Instant, Nanos};

/// Range of the times that `tc` passes to the kernel: microseconds in 32 bits.
const TIMES: Kind = Kind::Time(Nanos::ZERO, Nanos::from_micros(u32::MAX as u64));

pub(crate) const TARGET: OptionSpec = OptionSpec {
    name: "target",
    kind: TIMES,
    default: Some("5ms"),
    help: "acceptable standing delay (RFC 8289, section 4.2)",
};

pub(crate) const INTERVAL: OptionSpec = OptionSpec {
    name: "interval",
    kind: TIMES,
    default: Some("100ms"),
    help: "time above target before the first drop: about a worst-case RTT",
};

pub(crate) const CE_THRESHOLD: OptionSpec = OptionSpec {
    name: "ce_threshold",
    kind: TIMES,
    default: None,
    help: "sojourn time above which every ECN-capable packet is marked; off unless given",
};

/// CoDel's parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Acceptable standing delay. Linux: 5 ms.
    pub target: Nanos,
    /// Time above `target` before the first drop. Linux: 100 ms.
    pub interval: Nanos,
    /// Sojourn time above which every ECN-capable packet is marked; `None`: such marking is off.
    pub ce_threshold: Option<Nanos>,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
}

impl Config {
    pub(crate) fn from_options(options: &Options) -> Config {
        Config {
            target: options.time(TARGET.name),
            interval: options.time(INTERVAL.name),
            ce_threshold: match options.get(CE_THRESHOLD.name) {
                Some(Value::Time(t)) => Some(t),
                _ => None,
            },
            ecn: options.flag("ecn"),
        }
    }
}

/// Unit of time in nanoseconds (Linux: `1 << CODEL_SHIFT`).
pub(crate) const TICK_NS: u64 = 1024;

/// Converts to units of 1024 ns, modulo 2^32 (Linux: `codel_time_t`).
pub(crate) fn codel_time(t: Nanos) -> u32 {
    (t.0 / TICK_NS) as u32
}

fn after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

fn before(a: u32, b: u32) -> bool {
    after(b, a)
}

fn after_eq(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) >= 0
}

/// Parameters in the law's units, shared by all queues of a qdisc (Linux: `struct codel_params`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Params {
    target: u32,
    interval: u32,
    ce_threshold: u32,
    ecn: bool,
}

impl Params {
    /// [`Config::interval`] in units of [`TICK_NS`].
    pub(crate) fn interval(&self) -> u32 {
        self.interval
    }

    /// Marks a packet that has left the queue: see [`Qdisc::mark_departed`](crate::Qdisc::mark_departed).
    pub(crate) fn mark_departed<P: Packet>(&self, packet: &mut P, signals: &mut Signals<P>) -> bool {
        let marked = self.ecn && packet.mark();
        if marked {
            signals.marked(packet, MarkReason::Aqm);
        }
        marked
    }
}

impl From<Config> for Params {
    fn from(config: Config) -> Params {
        // CODEL_DISABLED_THRESHOLD: the largest sojourn time that the arithmetic can represent.
        const DISABLED: u32 = i32::MAX as u32;
        Params {
            target: codel_time(config.target),
            interval: codel_time(config.interval),
            ce_threshold: config.ce_threshold.map_or(DISABLED, codel_time),
            ecn: config.ecn,
        }
    }
}

/// The queue under the law.
pub(crate) trait Source<P> {
    /// Removes the packet at the head.
    fn pop(&mut self) -> Option<P>;

    /// Bytes in the whole qdisc. The law drops nothing while they are less than a frame: the link would go idle.
    fn backlog(&self) -> u64;
}

/// Maximum number of signals per call (Linux: `CODEL_MAX_DROPS_PER_DEQUEUE`).
const MAX_DROPS: u32 = 256;

/// State of the control law of one queue (Linux: `struct codel_vars`).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Codel {
    /// Signals since the dropping state was entered.
    count: u32,
    /// `count` when the dropping state was last entered.
    lastcount: u32,
    /// Time of the next drop in the dropping state.
    drop_next: u32,
    /// Time at which the delay will have been above target for an interval; 0: the delay is below target.
    first_above_time: u32,
    /// Sojourn time of the packet examined last.
    sojourn: u32,
    /// 1/sqrt(count) as a fraction of 2^16.
    rec_inv_sqrt: u16,
    dropping: bool,
}

impl Codel {
    /// Removes the packet to send at `now`, dropping or marking according to the law (Linux: `codel_dequeue`).
    #[inline]
    pub(crate) fn dequeue<P: Packet>(
        &mut self,
        now: Instant,
        params: &Params,
        source: &mut impl Source<P>,
        signals: &mut Signals<P>,
    ) -> Option<P> {
        let Some(mut packet) = source.pop() else {
            self.first_above_time = 0;
            self.dropping = false;
            return None;
        };
        let now = codel_time(now.since_origin());
        let mut ce = false;
        let drop = self.should_drop(Some(&packet), now, params, source);
        if self.dropping {
            if !drop {
                self.dropping = false;
            } else {
                let mut dropped = 0;
                // With a large backlog several drops can be due at once.
                while self.dropping && after_eq(now, self.drop_next) {
                    dropped += 1;
                    if dropped > MAX_DROPS {
                        self.drop_next = self.control_law(now, params);
                        break;
                    }
                    self.count = self.count.wrapping_add(1);
                    self.newton_step();
                    if params.ecn && packet.mark() {
                        ce = true;
                        self.drop_next = self.control_law(self.drop_next, params);
                        break;
                    }
                    signals.dropped(packet, DropReason::Aqm);
                    let next = source.pop();
                    if self.should_drop(next.as_ref(), now, params, source) {
                        self.drop_next = self.control_law(self.drop_next, params);
                    } else {
                        self.dropping = false;
                    }
                    packet = next?;
                }
            }
        } else if drop {
            let sent = if params.ecn && packet.mark() {
                ce = true;
                Some(packet)
            } else {
                signals.dropped(packet, DropReason::Aqm);
                let next = source.pop();
                self.should_drop(next.as_ref(), now, params, source);
                next
            };
            self.enter_dropping(now, params);
            packet = sent?;
        }
        let late = after(self.sojourn, params.ce_threshold) && packet.mark();
        if ce {
            signals.marked(&packet, MarkReason::Aqm);
        } else if late {
            signals.marked(&packet, MarkReason::CeThreshold);
        }
        Some(packet)
    }

    /// Counts packets of the queue that were dropped outside the law, which shortens the time to its next drop.
    pub(crate) fn count_overlimit_drops(&mut self, drops: u32) {
        self.count = self.count.wrapping_add(drops);
    }

    /// True if the delay has been above target for an interval (Linux: `codel_should_drop`).
    #[inline]
    fn should_drop<P: Packet>(
        &mut self,
        packet: Option<&P>,
        now: u32,
        params: &Params,
        source: &impl Source<P>,
    ) -> bool {
        let Some(packet) = packet else {
            self.first_above_time = 0;
            return false;
        };
        self.sojourn = now.wrapping_sub(codel_time(packet.arrived().since_origin()));
        if before(self.sojourn, params.target) || source.backlog() <= u64::from(linux::MTU) {
            self.first_above_time = 0;
            return false;
        }
        if self.first_above_time == 0 {
            self.first_above_time = now.wrapping_add(params.interval);
            return false;
        }
        after(now, self.first_above_time)
    }

    /// Enters the dropping state, at the last dropping rate if that state was left recently.
    fn enter_dropping(&mut self, now: u32, params: &Params) {
        self.dropping = true;
        let delta = self.count.wrapping_sub(self.lastcount);
        let since = now.wrapping_sub(self.drop_next);
        if delta > 1 && before(since, params.interval.wrapping_mul(16)) {
            self.count = delta;
            // One step is imprecise; the steps at the next drops converge quadratically.
            self.newton_step();
        } else {
            self.count = 1;
            self.rec_inv_sqrt = u16::MAX;
        }
        self.lastcount = self.count;
        self.drop_next = self.control_law(now, params);
    }

    /// One step towards 1/sqrt(count): x' = x/2 * (3 - count * x^2).
    fn newton_step(&mut self) {
        let x = u64::from(self.rec_inv_sqrt) << 16;
        let square = (x * x) >> 32;
        let value = (3u64 << 32).wrapping_sub(u64::from(self.count) * square) >> 2;
        self.rec_inv_sqrt = (value.wrapping_mul(x) >> (31 + 16)) as u16;
    }

    /// Time of the drop after one at `t`: `t` + interval/sqrt(count).
    fn control_law(&self, t: u32, params: &Params) -> u32 {
        let fraction = u64::from(self.rec_inv_sqrt) << 16;
        let wait = (u64::from(params.interval) * fraction) >> 32;
        t.wrapping_add((wait as u32).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(count: u32, rec_inv_sqrt: u16) -> Codel {
        Codel { count, rec_inv_sqrt, ..Codel::default() }
    }

    fn defaults() -> Params {
        Params::from(Config {
            target: Nanos::from_millis(5),
            interval: Nanos::from_millis(100),
            ce_threshold: None,
            ecn: false,
        })
    }

    #[test]
    fn drops_come_at_intervals_of_100_over_root_n_ms() {
        let mut codel = law(1, u16::MAX);
        for n in 1..=1000u32 {
            if n > 1 {
                codel.count = n;
                codel.newton_step();
            }
            let wait = codel.control_law(0, &defaults());
            let ms = f64::from(wait) * 1024.0 / 1e6;
            let ideal = 100.0 / f64::from(n).sqrt();
            // The first Newton step, from 1 to 1/sqrt(2), is the least precise: 0.5 instead of 0.707.
            let tolerance = if n < 5 { 0.30 } else { 0.02 };
            assert!((ms / ideal - 1.0).abs() < tolerance, "drop {n}: {ms} ms, ideally {ideal} ms");
        }
    }

    #[test]
    fn the_dropping_rate_is_remembered_for_sixteen_intervals() {
        let params = defaults();
        let interval = params.interval;
        let mut codel = law(20, 14_654);
        codel.lastcount = 10;
        codel.drop_next = 0;
        let mut soon = codel;
        soon.enter_dropping(16 * interval - 1, &params);
        assert_eq!((soon.count, soon.lastcount), (10, 10));
        let mut late = codel;
        late.enter_dropping(16 * interval, &params);
        assert_eq!((late.count, late.lastcount), (1, 1));
    }

    #[test]
    fn time_may_wrap() {
        assert!(after(5, u32::MAX - 5));
        assert!(before(u32::MAX, 0));
        assert!(after_eq(7, 7) && !after(7, 7));
    }
}

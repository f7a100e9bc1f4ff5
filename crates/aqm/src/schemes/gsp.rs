//! `gsp`: global synchronization protection (Lautenschlaeger, Francini, HPSR 2015; draft-lauten-aqm-gsp-03).
//!
//! When the queue exceeds a threshold, one packet is dropped, then none for an interval of about two round-trip times,
//! in which the flow that lost the packet backs off. The adaptive mode shortens the interval while the queue stays
//! above the threshold.
//!
//! All decisions are made on enqueue in integer arithmetic that a kernel can reproduce: times are nanoseconds in 64
//! bits; `interval * tau / (tau + cumul)` is rounded down from a 128-bit product (Linux: `mul_u64_u64_div_u64`) and
//! computed only when a packet is dropped.
//!
//! Choices where the paper is silent:
//! * The queue is observed on arrivals only. The time since the last arrival counts as spent on the side of the
//!   threshold on which the queue is now. Between arrivals the queue only shrinks, so time above a threshold in bytes
//!   or packets is never overestimated.
//! * The queueing delay is the sojourn time so far of the packet at the head. A single packet waits at least for the
//!   packet on the wire, so a queue of one packet is below any delay; this keeps the threshold above a packet's
//!   transmission time, although the rate is unknown.
//! * A full queue is above any delay, so that a threshold beyond the buffer acts at its end. An empty queue is below
//!   any threshold, even if a packet longer than `limit_bytes` does not fit.

use crate::plumbing::options::{Kind, OptionSpec, Options, Threshold};
use crate::plumbing::packet::Packet;
use crate::plumbing::packet_queue::PacketQueue;
use crate::plumbing::qdisc::{Dequeue, DropReason, Head, Qdisc, Signals};
use crate::plumbing::scheme::{KernelQdisc, Scheme, Statistics, TcSyntax, TimeAttribute};
use crate::plumbing::spec::Spec;
use gentle_units::{Instant, Nanos, format_size};

/// Divisor of the interval at the largest cumulated time, unless `maxtime` is given.
const SHRINK: u64 = 100;

/// GSP, global synchronization protection.
pub static SCHEME: Scheme = Scheme {
    name: "gsp",
    summary: "above a threshold drops one packet, then none for an interval",
    source: "Lautenschlaeger and Francini 2015; draft-lauten-aqm-gsp-03",
    options: &[
        OptionSpec {
            name: "threshold",
            kind: Kind::Threshold,
            default: Some("10ms"),
            help: "queue length above which packets are dropped: a delay, bytes or packets",
        },
        OptionSpec {
            name: "interval",
            kind: Kind::Time(Nanos::from_micros(1), Nanos::from_secs(60)),
            default: Some("200ms"),
            help: "time from one drop to the next: about two round-trip times",
        },
        OptionSpec {
            name: "mode",
            kind: Kind::Choice(&["adaptive", "basic"]),
            default: Some("adaptive"),
            help: "adaptive: shorten the interval while the queue stays above the threshold; basic: never",
        },
        OptionSpec {
            name: "alpha",
            kind: Kind::Count(1, 64),
            default: Some("2"),
            help: "weight of time above the threshold against time below",
        },
        OptionSpec {
            name: "tau",
            kind: Kind::Time(Nanos::from_micros(1), Nanos::from_secs(600)),
            default: None,
            help: "cumulated time that halves the interval; derived: 5*interval",
        },
        OptionSpec {
            name: "maxtime",
            kind: Kind::Time(Nanos::ZERO, Nanos::from_secs(60_000)),
            default: None,
            help: "largest cumulated time; derived: 99*tau, with which the interval shrinks to a hundredth",
        },
        OptionSpec {
            name: "limit",
            kind: Kind::Count(1, 1_000_000),
            default: Some("1000"),
            help: "packets the queue holds",
        },
        OptionSpec {
            name: "limit_bytes",
            kind: Kind::Size(1, 1 << 30),
            default: Some("1gb"),
            help: "bytes the queue holds",
        },
    ],
    check,
    drops: &[DropReason::Early, DropReason::Tail],
    linux: Some(TcSyntax::plain(&QDISC)),
    samples: &[
        "threshold=1ms interval=10ms limit=20",
        "threshold=3p mode=basic interval=1ms",
        "threshold=3kb limit_bytes=10kb",
    ],
    ..Scheme::PLAIN
};

/// Statistics: `TCA_GSP_XSTATS_*` (`kernel/include/uapi/pkt_sch_gsp.h`). Time: `TCA_GSP_THRESHOLD_DELAY`.
static QDISC: KernelQdisc = KernelQdisc {
    statistics: Statistics::Whole(&[
        (2, "early_drop"),
        (3, "tail_drop"),
        (4, "interval_ns"),
        (5, "cumul_ns"),
        (6, "expiry_ns"),
        (7, "delay_ns"),
        (8, "above"),
        (9, "overflow"),
    ]),
    drops: &[("/early_drop", DropReason::Early), ("/tail_drop", DropReason::Tail)],
    target: Some(TimeAttribute::Nanos(2)),
    ..KernelQdisc::of_gentle("gsp")
};

fn check(options: &Options) -> Result<(), String> {
    let (packets, bytes) = (options.count("limit"), options.size("limit_bytes"));
    match options.threshold("threshold") {
        Threshold::Packets(n) if n >= packets => {
            Err(format!("threshold {n}p is not below limit {packets}; expected a smaller one"))
        }
        Threshold::Bytes(n) if n >= bytes => Err(format!(
            "threshold {} is not below limit_bytes {}; expected a smaller one",
            format_size(n),
            format_size(bytes)
        )),
        _ => Ok(()),
    }
}

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, _seed: u64) -> Box<dyn Qdisc<P>> {
    let options = spec.options();
    let interval = options.time("interval");
    let tau = options.given_time("tau").unwrap_or(interval * 5);
    Box::new(Gsp {
        store: PacketQueue::default(),
        limit: options.count("limit") as usize,
        limit_bytes: options.size("limit_bytes"),
        threshold: options.threshold("threshold"),
        interval,
        expiry: Instant::ZERO,
        adaptation: (options.choice("mode") == "adaptive").then(|| Adaptation {
            alpha: options.count("alpha"),
            tau,
            max_time: options.given_time("maxtime").unwrap_or(tau * (SHRINK - 1)),
            cumul: Nanos::ZERO,
            last: Instant::ZERO,
            overflow: Overflow::None,
        }),
    })
}

/// A FIFO with limits in packets and bytes under GSP.
#[derive(Debug)]
pub struct Gsp<P> {
    store: PacketQueue<P>,
    limit: usize,
    limit_bytes: u64,
    threshold: Threshold,
    interval: Nanos,
    /// Time until which no packet is dropped early.
    expiry: Instant,
    adaptation: Option<Adaptation>,
}

/// State of the adaptive mode.
#[derive(Debug)]
struct Adaptation {
    alpha: u64,
    tau: Nanos,
    max_time: Nanos,
    cumul: Nanos,
    /// Time of the last arrival.
    last: Instant,
    overflow: Overflow,
}

/// Recovery from an overflow of the queue. While flows recover, time below the threshold does not lengthen the
/// interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Overflow {
    /// No overflow so far, or recovery is complete.
    None,
    /// The queue has overflowed and has not been empty since.
    Happened,
    /// The queue has been empty since the overflow, and not above the threshold since then.
    Drained,
}

impl Adaptation {
    fn observe(&mut self, now: Instant, above: bool, empty: bool) {
        let span = now.saturating_since(self.last);
        self.last = now;
        self.overflow = match self.overflow {
            Overflow::Happened if empty => Overflow::Drained,
            Overflow::Drained if above => Overflow::None,
            state => state,
        };
        if above {
            self.cumul = (self.cumul + span * self.alpha).min(self.max_time);
        } else if self.overflow == Overflow::None {
            self.cumul = self.cumul.saturating_sub(span);
        }
    }

    /// The current interval: `interval * tau / (tau + cumul)`.
    fn shortened(&self, interval: Nanos) -> Nanos {
        let product = u128::from(interval.0) * u128::from(self.tau.0);
        Nanos((product / u128::from(self.tau.0 + self.cumul.0)) as u64)
    }
}

impl<P: Packet> Gsp<P> {
    fn is_full(&self, packet: &P) -> bool {
        self.store.len() >= self.limit || self.store.bytes() + u64::from(packet.bytes()) > self.limit_bytes
    }

    fn is_above(&self, now: Instant, full: bool) -> bool {
        match self.threshold {
            Threshold::Delay(delay) => {
                if full {
                    !self.store.is_empty()
                } else {
                    self.store.len() > 1 && self.store.head_sojourn(now) > delay
                }
            }
            Threshold::Bytes(bytes) => self.store.bytes() > bytes,
            Threshold::Packets(n) => self.store.len() as u64 > n,
        }
    }
}

impl<P: Packet + Send> Qdisc<P> for Gsp<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P, signals: &mut Signals<P>) {
        let full = self.is_full(&packet);
        let above = self.is_above(now, full);
        if let Some(adaptation) = &mut self.adaptation {
            adaptation.observe(now, above, self.store.is_empty());
        }
        if above && now > self.expiry {
            let interval =
                self.adaptation.as_ref().map_or(self.interval, |adaptation| adaptation.shortened(self.interval));
            self.expiry = now + interval;
            signals.dropped(packet, DropReason::Early);
        } else if full {
            if let Some(adaptation) = &mut self.adaptation {
                adaptation.overflow = Overflow::Happened;
            }
            signals.dropped(packet, DropReason::Tail);
        } else {
            packet.set_arrived(now);
            self.store.push_back(packet);
        }
    }

    fn dequeue(&mut self, _now: Instant, _signals: &mut Signals<P>) -> Dequeue<P> {
        self.store.pop_front().into()
    }

    fn len(&self) -> usize {
        self.store.len()
    }

    fn backlog(&self) -> u64 {
        self.store.bytes()
    }

    fn head(&self) -> Head {
        self.store.front().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestPacket, build};

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn ms(n: u64) -> Nanos {
        Nanos::from_millis(n)
    }

    /// Times of the drops in milliseconds if one packet arrives per millisecond and none leaves.
    fn drop_times(spec: &str, until: u64) -> Vec<u64> {
        let mut queue = build(spec);
        let mut drops = Signals::new();
        let mut times = Vec::new();
        for t in 1..=until {
            queue.enqueue(at(t), TestPacket::data(1, 1000), &mut drops);
            if drops.drain().count() > 0 {
                times.push(t);
            }
        }
        times
    }

    #[test]
    fn basic_drops_one_packet_an_interval() {
        // The queue is above ten packets from the twelfth arrival on. A drop needs a time after the expiry, not at it.
        let times = drop_times("gsp mode=basic threshold=10p limit=1000", 700);
        assert_eq!(times, [12, 213, 414, 615]);
        let times = drop_times("gsp mode=basic threshold=10kb interval=100ms", 250);
        assert_eq!(times, [12, 113, 214]);
    }

    /// `cumul` grows by alpha * 1 ms per arrival from the twelfth on: at t it is 2 (t - 11) ms, and tau is 1 s. Drop at
    /// 12 ms: interval 200 * 1000 / 1002 = 199.6 ms, next drop at 212; interval 200 * 1000 / 1402 = 142.7, next at 355;
    /// interval 200 * 1000 / 1688 = 118.5, next at 474.
    #[test]
    fn adaptive_shortens_the_interval_by_the_formula() {
        let times = drop_times("gsp threshold=10p", 480);
        assert_eq!(times, [12, 212, 355, 474]);
    }

    #[test]
    fn the_interval_shrinks_to_a_hundredth_and_no_further() {
        let mut adaptation = Adaptation {
            alpha: 2,
            tau: ms(1000),
            max_time: ms(99_000),
            cumul: Nanos::ZERO,
            last: Instant::ZERO,
            overflow: Overflow::None,
        };
        assert_eq!(adaptation.shortened(ms(200)), ms(200));
        adaptation.observe(Instant::from_secs(10_000), true, false);
        assert_eq!(adaptation.shortened(ms(200)), ms(2));
        // Time below the threshold has weight 1, time above it weight alpha = 2.
        adaptation.observe(Instant::from_secs(10_098), false, false);
        assert_eq!(adaptation.shortened(ms(200)), ms(100));
    }

    #[test]
    fn after_an_overflow_time_below_counts_only_once_all_is_over() {
        let mut adaptation = Adaptation {
            alpha: 2,
            tau: ms(1000),
            max_time: ms(99_000),
            cumul: ms(500),
            last: Instant::ZERO,
            overflow: Overflow::Happened,
        };
        adaptation.observe(at(100), false, false);
        adaptation.observe(at(200), true, false);
        assert_eq!(adaptation.cumul, ms(700));
        adaptation.observe(at(300), false, true);
        adaptation.observe(at(400), false, false);
        assert_eq!((adaptation.cumul, adaptation.overflow), (ms(700), Overflow::Drained));
        adaptation.observe(at(410), true, false);
        adaptation.observe(at(430), false, false);
        assert_eq!((adaptation.cumul, adaptation.overflow), (ms(700), Overflow::None));
    }

    #[test]
    fn delay_is_that_of_the_head_and_a_lone_packet_has_none() {
        let mut queue = build("gsp threshold=10ms");
        let mut drops = Signals::new();
        queue.enqueue(at(0), TestPacket::data(1, 1000), &mut drops);
        queue.enqueue(at(50), TestPacket::data(1, 1000), &mut drops);
        assert!(drops.is_empty());
        queue.enqueue(at(50), TestPacket::data(1, 1000), &mut drops);
        assert_eq!(drops.drain().next().map(|(_, why)| why), Some(DropReason::Early));
        // The new head has waited 5 ms.
        queue.dequeue(at(55), &mut drops);
        for _ in 0..3 {
            queue.enqueue(at(300), TestPacket::data(1, 1000), &mut drops);
        }
        assert_eq!(drops.len(), 1);
    }

    #[test]
    fn a_full_queue_drops_by_gsp_first_and_at_the_tail_then() {
        let mut queue = build("gsp threshold=1s limit=3");
        let mut drops = Signals::new();
        for _ in 0..5 {
            queue.enqueue(at(1), TestPacket::data(1, 1000), &mut drops);
        }
        let reasons: Vec<DropReason> = drops.drain().map(|(_, why)| why).collect();
        assert_eq!(reasons, [DropReason::Early, DropReason::Tail]);
    }

    #[test]
    fn a_packet_that_never_fits_is_no_sign_of_congestion() {
        let mut queue = build("gsp limit_bytes=1000");
        let mut drops = Signals::new();
        queue.enqueue(at(1), TestPacket::data(1, 1001), &mut drops);
        let reasons: Vec<DropReason> = drops.drain().map(|(_, why)| why).collect();
        assert_eq!(reasons, [DropReason::Tail]);
    }

    #[test]
    fn a_threshold_beyond_the_buffer_is_refused() {
        for text in ["gsp threshold=50p limit=50", "gsp threshold=20kb limit_bytes=10kb", "gsp threshold=10"] {
            assert!(text.parse::<Spec>().is_err(), "{text}");
        }
    }
}

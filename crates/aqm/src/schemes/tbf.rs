//! `tbf`: a token bucket in front of any other scheme (Linux: `net/sched/sch_tbf.c`).
//!
//! Linux looks at the packet that leaves next, and takes it when there are tokens for it. A scheme that decides when it
//! dequeues has then decided already, at the time of that look. `peakrate` is not implemented.

use crate::laws::token_bucket::{BURST, RATE, TransmissionTime, after};
use crate::plumbing::options::{Kind, OptionSpec, Options, Value};
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{Dequeue, DropReason, Head, Qdisc, Signals};
use crate::plumbing::scheme::{KernelQdisc, Scheme, Shaper, TcSyntax};
use crate::plumbing::spec::Spec;
use crate::schemes::bfifo;
use gentle_units::{Instant, Nanos, Rate};

/// Token bucket filter.
pub static SCHEME: Scheme = Scheme {
    name: "tbf",
    summary: "a shaper: a token bucket above any scheme",
    source: "Linux sch_tbf.c",
    options: &[
        RATE,
        OptionSpec {
            help: "depth of the bucket: bytes that leave at once after a pause, and length above which packets are dropped; at least a full frame, and at high rates a millisecond",
            ..BURST
        },
        OptionSpec {
            name: LATENCY,
            kind: Kind::Time(Nanos::from_micros(1), Nanos::from_secs(60)),
            default: None,
            help: "sets the limit of child=bfifo: the bytes sent at the rate in this time, plus the bucket",
        },
    ],
    child: Some(&bfifo::SCHEME),
    shaper: Some(Shaper { child, classful: false }),
    drops: &[DropReason::Tail],
    linux: Some(TcSyntax {
        // Required by tc; the queue that it sets up is replaced by the child.
        fixed: "latency 50ms",
        always: &[RATE.name, BURST.name],
        spelled: &[(LATENCY, "")],
        ..TcSyntax::plain(&QDISC)
    }),
    samples: &["rate=2.4mbit burst=70000", "rate=100mbit burst=3000"],
    ..Scheme::PLAIN
};

const LATENCY: &str = "latency";

static QDISC: KernelQdisc = KernelQdisc { openwrt_package: Some("kmod-sched-core"), ..KernelQdisc::of_linux("tbf") };

/// The child with the limit that follows from `latency` (iproute2: `q_tbf.c`).
fn child(options: &Options, child: &Spec) -> Result<Spec, String> {
    const LIMIT: &str = "limit";
    let Some(latency) = options.given_time(LATENCY) else {
        return Ok(child.clone());
    };
    if *child.scheme() != bfifo::SCHEME || child.given(LIMIT).is_some() {
        return Err(
            "latency sets the limit of child=bfifo; expected one of latency, limit and another child".to_owned()
        );
    }
    let bytes = options.rate(RATE.name).bytes_in(latency) + options.size(BURST.name);
    let problem = |_| format!("latency={latency} at this rate needs a queue of {bytes} bytes; expected at most 1gb");
    child.with(LIMIT, Value::Size(bytes)).map_err(problem)
}

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    let options = spec.options();
    let child = spec.beneath().expect("a wrapper has a child");
    Box::new(Tbf::new(super::build::<P>(&child, seed), options.rate(RATE.name), options.size(BURST.name) as u32))
}

/// A token bucket in front of a queue.
#[derive(Debug)]
pub struct Tbf<P, Q> {
    child: Q,
    time: TransmissionTime,
    /// Maximum length of a packet, bytes.
    burst: u32,
    /// Depth of the bucket, ns at the rate.
    depth: i64,
    /// Tokens at `checkpoint`, ns.
    tokens: i64,
    checkpoint: Instant,
    /// A packet that the child has decided to send next.
    held: Option<P>,
}

impl<P: Packet, Q: Qdisc<P>> Tbf<P, Q> {
    /// A full bucket of `burst` bytes that fills at `rate`, in front of the empty queue `child`.
    pub fn new(child: Q, rate: Rate, burst: u32) -> Self {
        let time = TransmissionTime::new(rate);
        Tbf { child, time, burst, depth: time.of(burst), tokens: time.of(burst), checkpoint: Instant::ZERO, held: None }
    }

    /// Length of the next packet (Linux: `peek` of the child).
    fn peek(&mut self, now: Instant, signals: &mut Signals<P>) -> Dequeue<u32> {
        if let Some(packet) = &self.held {
            return Dequeue::Packet(packet.bytes());
        }
        match self.child.head() {
            Head::Empty => Dequeue::Empty,
            Head::Bytes(bytes) => Dequeue::Packet(bytes),
            Head::Undecided => match self.child.dequeue(now, signals) {
                Dequeue::Packet(packet) => {
                    let bytes = packet.bytes();
                    self.child.hold(Some(bytes));
                    self.held = Some(packet);
                    Dequeue::Packet(bytes)
                }
                Dequeue::Empty => Dequeue::Empty,
                Dequeue::NotBefore(time) => Dequeue::NotBefore(time),
            },
        }
    }

    fn take(&mut self, now: Instant, signals: &mut Signals<P>) -> Dequeue<P> {
        match self.held.take() {
            Some(packet) => {
                self.child.hold(None);
                Dequeue::Packet(packet)
            }
            None => self.child.dequeue(now, signals),
        }
    }
}

impl<P: Packet + Send, Q: Qdisc<P>> Qdisc<P> for Tbf<P, Q> {
    fn enqueue(&mut self, now: Instant, packet: P, signals: &mut Signals<P>) {
        if packet.bytes() > self.burst {
            signals.dropped(packet, DropReason::Tail);
            return;
        }
        self.child.enqueue(now, packet, signals);
    }

    fn dequeue(&mut self, now: Instant, signals: &mut Signals<P>) -> Dequeue<P> {
        let bytes = match self.peek(now, signals) {
            Dequeue::Packet(bytes) => bytes,
            Dequeue::Empty => return Dequeue::Empty,
            Dequeue::NotBefore(time) => return Dequeue::NotBefore(time),
        };
        let since = (now.saturating_since(self.checkpoint)).0.cast_signed();
        let tokens = (since.min(self.depth) + self.tokens).min(self.depth) - self.time.of(bytes);
        if tokens < 0 {
            return Dequeue::NotBefore(after(now, -tokens));
        }
        let answer = self.take(now, signals);
        if let Dequeue::Packet(_) = &answer {
            (self.checkpoint, self.tokens) = (now, tokens);
        }
        answer
    }

    fn len(&self) -> usize {
        self.child.len() + usize::from(self.held.is_some())
    }

    fn backlog(&self) -> u64 {
        let held = self.held.as_ref().map_or(0, P::bytes);
        self.child.backlog() + u64::from(held)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::testing::{TestPacket, build};
    use crate::{Dequeue, DropReason, Qdisc, Signals, Spec};
    use gentle_units::Instant;

    /// Times at which `packets` of 1500 bytes leave a queue that they fill at time zero, asked at the times it gives.
    pub(crate) fn departures(queue: &mut dyn Qdisc<TestPacket>, packets: u32) -> Vec<Instant> {
        let mut signals = Signals::new();
        for number in 0..packets {
            let packet = TestPacket::data(1, 1500).numbered(number);
            queue.enqueue(Instant::ZERO, packet, &mut signals);
        }
        let mut now = Instant::ZERO;
        let mut times = Vec::new();
        loop {
            match queue.dequeue(now, &mut signals) {
                Dequeue::Packet(_) => times.push(now),
                Dequeue::NotBefore(time) => now = time,
                Dequeue::Empty => return times,
            }
        }
    }

    #[test]
    fn the_first_packet_goes_at_once_and_the_others_at_the_rate() {
        for child in ["bfifo", "codel", "fq_codel", "pie", "sfq"] {
            let mut queue = build(&format!("tbf rate=2.4mbit burst=1500 child={child}"));
            let times = departures(&mut *queue, 4);
            let expected = [0, 5_000, 10_000, 15_000].map(Instant::from_micros);
            let near = |(time, expected): (&Instant, Instant)| time.0.abs_diff(expected.0) < 10;
            assert_eq!(times.len(), 4, "{child}");
            assert!(times.iter().zip(expected).all(near), "{child}: {times:?}");
        }
    }

    #[test]
    fn what_is_longer_than_the_bucket_is_dropped() {
        let mut queue = build("tbf burst=1000");
        let mut signals = Signals::new();
        queue.enqueue(Instant::ZERO, TestPacket::data(1, 1001), &mut signals);
        let reasons: Vec<_> = signals.drain().map(|(_, reason)| reason).collect();
        assert_eq!(reasons, [DropReason::Tail]);
    }

    #[test]
    fn a_packet_held_for_tokens_counts_against_the_limit() {
        let mut queue = build("tbf rate=1mbit burst=1500 child=codel limit=3");
        let mut signals = Signals::new();
        for number in 0..2 {
            let packet = TestPacket::data(1, 1500).numbered(number);
            queue.enqueue(Instant::ZERO, packet, &mut signals);
        }
        assert!(queue.dequeue(Instant::ZERO, &mut signals).packet().is_some());
        // The second packet waits for tokens, outside of the child's queue.
        assert!(queue.dequeue(Instant::ZERO, &mut signals).packet().is_none());
        for number in 2..5 {
            let packet = TestPacket::data(1, 1500).numbered(number);
            queue.enqueue(Instant::ZERO, packet, &mut signals);
        }
        assert_eq!((queue.len(), queue.backlog(), signals.len()), (3, 4500, 1));
    }

    #[test]
    fn latency_is_a_limit_of_the_fifo() {
        let spec: Spec = "tbf rate=8mbit burst=2000 latency=5ms".parse().unwrap();
        assert_eq!(spec.beneath().unwrap().to_string(), "bfifo limit=7000b");
        for text in ["tbf latency=5ms limit=3000", "tbf latency=5ms child=codel", "tbf rate=100gbit latency=60s"] {
            let error = text.parse::<Spec>().unwrap_err().to_string();
            assert!(error.contains("expected"), "{error}");
        }
    }
}

//! `htb`: a hierarchical token bucket with one class, as a shaper above any other scheme (Linux: `net/sched/sch_htb.c`).
//!
//! The class sends while neither of its buckets is in debt, and a packet may bring them into debt: a packet leaves as
//! soon as those before it are paid for. Unlike `tbf`, the scheme beneath is asked only for packets that leave at once.

use crate::laws::token_bucket::{BURST, CEIL, RATE, TransmissionTime, after, depth_in_ticks};
use crate::plumbing::options::OptionSpec;
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{Dequeue, Qdisc, Signals};
use crate::plumbing::scheme::{KernelQdisc, Scheme, Shaper, TcSyntax};
use crate::plumbing::spec::Spec;
use crate::schemes::pfifo;
use gentle_units::{Instant, Rate};

/// Hierarchical token bucket with one class.
pub static SCHEME: Scheme = Scheme {
    name: "htb",
    summary: "a shaper: a class of a hierarchical token bucket above any scheme",
    source: "Linux sch_htb.c, with one class",
    options: &[RATE, BURST, CEIL, OptionSpec { name: CBURST, help: "depth of the bucket of ceil, bytes", ..BURST }],
    child: Some(&pfifo::SCHEME),
    shaper: Some(Shaper { child: |_, child| Ok(child.clone()), classful: true }),
    linux: Some(TcSyntax { always: &[RATE.name, BURST.name, CBURST], ..TcSyntax::plain(&QDISC) }),
    samples: &["rate=2.4mbit", "rate=5mbit burst=30000 ceil=1mbit cburst=3000"],
    ..Scheme::PLAIN
};

const CBURST: &str = "cburst";

static QDISC: KernelQdisc = KernelQdisc { openwrt_package: Some("kmod-sched-core"), ..KernelQdisc::of_linux("htb") };

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    let options = spec.options();
    let child = spec.beneath().expect("a wrapper has a child");
    let rate = options.rate(RATE.name);
    let ceil = match options.get(CEIL.name) {
        Some(_) => options.rate(CEIL.name),
        None => rate,
    };
    Box::new(Htb::new(
        super::build::<P>(&child, seed),
        Bucket::new(rate, options.size(BURST.name) as u32),
        Bucket::new(ceil, options.size(CBURST) as u32),
    ))
}

/// Longest time for which a bucket fills, and its largest debt, ns (Linux: `mbuffer`).
const LONGEST: i64 = 60_000_000_000;

/// A token bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    time: TransmissionTime,
    depth: i64,
    tokens: i64,
}

impl Bucket {
    /// A full bucket of `burst` bytes that fills at `rate`.
    pub fn new(rate: Rate, burst: u32) -> Self {
        let depth = depth_in_ticks(rate, burst);
        Bucket { time: TransmissionTime::new(rate), depth, tokens: depth }
    }

    /// Takes the tokens of a packet, `since` nanoseconds after the previous one (Linux: `htb_accnt_tokens`).
    fn charge(&mut self, bytes: u32, since: i64) {
        let tokens = (self.tokens + since).min(self.depth) - self.time.of(bytes);
        self.tokens = tokens.max(1 - LONGEST);
    }

    /// Time until the bucket is out of debt, `since` nanoseconds after the last packet; `None`: it is.
    fn debt(&self, since: i64) -> Option<i64> {
        let tokens = self.tokens + since;
        (tokens < 0).then_some(-tokens)
    }
}

/// A class with two token buckets in front of a queue.
#[derive(Debug)]
pub struct Htb<Q> {
    child: Q,
    rate: Bucket,
    ceil: Bucket,
    /// Time of the last packet.
    checkpoint: Instant,
    /// Time before which the class may not send; `None`: it may.
    waits_until: Option<Instant>,
}

impl<Q> Htb<Q> {
    /// A class in front of the empty queue `child`.
    pub fn new(child: Q, rate: Bucket, ceil: Bucket) -> Self {
        Htb { child, rate, ceil, checkpoint: Instant::ZERO, waits_until: None }
    }

    /// Time since the last packet, ns.
    fn since(&self, now: Instant) -> i64 {
        let since = now.saturating_since(self.checkpoint).0.cast_signed();
        since.min(LONGEST)
    }

    /// Waits until the first bucket in debt is out of it (Linux: `htb_class_mode`, `htb_add_to_wait_tree`).
    fn wait_for_tokens(&mut self, now: Instant, since: i64) {
        let debt = self.ceil.debt(since).or_else(|| self.rate.debt(since));
        self.waits_until = debt.map(|wait| after(now, wait));
    }
}

impl<P: Packet + Send, Q: Qdisc<P>> Qdisc<P> for Htb<Q> {
    fn enqueue(&mut self, now: Instant, packet: P, signals: &mut Signals<P>) {
        self.child.enqueue(now, packet, signals);
    }

    fn dequeue(&mut self, now: Instant, signals: &mut Signals<P>) -> Dequeue<P> {
        if self.child.is_empty() {
            return Dequeue::Empty;
        }
        if self.waits_until.is_some_and(|time| time <= now) {
            let since = self.since(now);
            self.wait_for_tokens(now, since);
        }
        if let Some(time) = self.waits_until {
            return Dequeue::NotBefore(time);
        }
        let answer = self.child.dequeue(now, signals);
        if let Dequeue::Packet(packet) = &answer {
            let since = self.since(now);
            self.rate.charge(packet.bytes(), since);
            self.ceil.charge(packet.bytes(), since);
            self.checkpoint = now;
            self.wait_for_tokens(now, 0);
        }
        answer
    }

    fn len(&self) -> usize {
        self.child.len()
    }

    fn backlog(&self) -> u64 {
        self.child.backlog()
    }
}

#[cfg(test)]
mod tests {
    use crate::schemes::tbf::tests::departures;
    use crate::testing::{TestPacket, build};
    use crate::{Qdisc, Signals, Spec};
    use gentle_units::Instant;

    fn milliseconds(spec: &str, packets: u32) -> Vec<u64> {
        let times = departures(&mut *build(spec), packets);
        times.iter().map(|time| (time.0 + 500_000) / 1_000_000).collect()
    }

    #[test]
    fn a_packet_leaves_when_those_before_it_are_paid_for() {
        for (spec, expected) in [
            // A bucket that is not in debt pays for a whole packet, however few tokens it has.
            ("htb rate=2.4mbit burst=1500 cburst=1500", [0, 0, 5, 10]),
            ("htb rate=2.4mbit burst=1 cburst=1", [0, 5, 10, 15]),
            ("htb rate=2.4mbit burst=3000 cburst=9000", [0, 0, 0, 5]),
            ("htb rate=24mbit ceil=2.4mbit burst=9000 cburst=1", [0, 5, 10, 15]),
            ("htb rate=2.4mbit ceil=24mbit burst=1 cburst=9000", [0, 5, 10, 15]),
        ] {
            assert_eq!(milliseconds(spec, 4), expected, "{spec}");
        }
    }

    #[test]
    fn any_scheme_may_be_beneath_with_its_own_child() {
        let text = "htb rate=2mbit child=spa child=pie target=20ms";
        let spec: Spec = text.parse().unwrap();
        assert_eq!(spec.to_string(), text);
        assert_eq!(spec.innermost().to_string(), "pie target=20ms");
        let mut queue = build("htb rate=2mbit burst=1 cburst=1 child=spa");
        let mut signals = Signals::new();
        for packet in [TestPacket::data(1, 1500), TestPacket::data(1, 1500), TestPacket::syn(2)] {
            queue.enqueue(Instant::ZERO, packet, &mut signals);
        }
        let first = queue.dequeue(Instant::ZERO, &mut signals).packet();
        assert!(first.is_some_and(|packet| packet.flags.syn));
    }

    #[test]
    fn what_follows_the_child_belongs_to_it() {
        let spec: Spec = "htb burst=3000 child=red limit=30000 burst=20".parse().unwrap();
        assert_eq!(spec.options().size("burst"), 3000);
        assert_eq!(spec.child().unwrap().options().count("burst"), 20);
        // Without a child in the text, options that the shaper lacks belong to its default child.
        let spec: Spec = "htb limit=7 rate=1mbit".parse().unwrap();
        assert_eq!(spec.to_string(), "htb rate=1mbit child=pfifo limit=7");
    }
}

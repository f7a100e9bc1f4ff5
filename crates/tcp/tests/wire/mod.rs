//! Two end points and a wire between them that drops, delays or duplicates segments according to a script.
// Each test file uses only a part of this module.
#![allow(dead_code)]

use gentle_tcp::{Endpoint, Flags, Profile, Segment, Seq};
use gentle_units::Nanos;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

pub(crate) fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

/// Profile with exact timers, as in RFCs and kernel sources, without the rounding of the timer wheel.
pub(crate) fn profile(name: &str, knobs: &[(&str, &str)]) -> Profile {
    let mut profile = Profile::by_name(name).unwrap();
    profile.timer_wheel = false;
    for (knob, value) in knobs {
        profile.set(knob, value).unwrap();
    }
    profile
}

/// Direction of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    /// From the initiator.
    Out,
    /// From the responder.
    Back,
}

/// Treatment of a segment by the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Pass,
    Drop,
    /// Delayed by this much in addition.
    Late(Nanos),
    /// Delivered at this time, regardless of the link.
    At(Nanos),
    /// Delivered twice, the second time later by this much.
    Twice(Nanos),
    /// Delivered with the mark "congestion experienced".
    Mark,
}

/// A segment that was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    pub(crate) at: Nanos,
    pub(crate) way: Way,
    pub(crate) segment: Segment,
    pub(crate) fate: Fate,
}

/// Link that a segment passes: a transmitter, then a propagation delay.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    pub(crate) delay: Nanos,
    /// Transmission time of a byte, picoseconds; 0: none.
    pub(crate) picos_per_byte: u64,
    /// Time at which the transmitter becomes idle.
    free_at: Nanos,
}

impl Link {
    pub(crate) fn new(delay: Nanos, picos_per_byte: u64) -> Link {
        Link {
            delay,
            picos_per_byte,
            free_at: Nanos::ZERO,
        }
    }

    /// Arrival time of a segment sent at `now`, in an Ethernet frame.
    fn arrival(&mut self, now: Nanos, segment: &Segment) -> Nanos {
        let bytes = 14 + 20 + segment.header_bytes() + segment.len;
        let time = Nanos(u64::from(bytes) * self.picos_per_byte / 1000);
        self.free_at = self.free_at.max(now) + time;
        self.free_at + self.delay
    }
}

type Script = Box<dyn FnMut(&Sent, usize) -> Fate>;

pub(crate) struct Wire {
    pub(crate) now: Nanos,
    pub(crate) initiator: Endpoint,
    pub(crate) responder: Option<Endpoint>,
    responder_profile: Arc<Profile>,
    responder_isn: Seq,
    responder_closes: bool,
    /// Bytes that the responder's application writes at once.
    pub(crate) responder_writes: u64,
    links: [Link; 2],
    /// Segments in flight, by arrival time and order of sending.
    flying: BTreeMap<(Nanos, u64), (Way, Segment, bool)>,
    count: u64,
    sent_each_way: [usize; 2],
    script: Script,
    pub(crate) log: Vec<Sent>,
}

impl Wire {
    /// Sends the initiator's SYN at time 0. `script` is called with each segment and its number in its direction, from
    /// 0.
    pub(crate) fn new(
        initiator: Profile,
        responder: Profile,
        delay: Nanos,
        script: impl FnMut(&Sent, usize) -> Fate + 'static,
    ) -> Wire {
        Wire::with_isns(initiator, responder, delay, Seq(1000), Seq(50_000), script)
    }

    pub(crate) fn with_isns(
        initiator: Profile,
        responder: Profile,
        delay: Nanos,
        isn: Seq,
        responder_isn: Seq,
        script: impl FnMut(&Sent, usize) -> Fate + 'static,
    ) -> Wire {
        let links = [Link::new(delay, 0); 2];
        Wire::over(
            initiator,
            responder,
            links,
            Nanos::ZERO,
            (isn, responder_isn),
            script,
        )
    }

    /// Sends the initiator's SYN at `start`; `links` are the outgoing and the returning link.
    pub(crate) fn over(
        initiator: Profile,
        responder: Profile,
        links: [Link; 2],
        start: Nanos,
        (isn, responder_isn): (Seq, Seq),
        script: impl FnMut(&Sent, usize) -> Fate + 'static,
    ) -> Wire {
        let mut out = Vec::new();
        let initiator = Endpoint::connect(Arc::new(initiator), isn, start, &mut out);
        let mut wire = Wire {
            now: start,
            initiator,
            responder: None,
            responder_profile: Arc::new(responder),
            responder_isn,
            responder_closes: true,
            responder_writes: 0,
            links,
            flying: BTreeMap::new(),
            count: 0,
            sent_each_way: [0, 0],
            script: Box::new(script),
            log: Vec::new(),
        };
        wire.send(Way::Out, out);
        wire
    }

    /// Keeps the responder's application from closing.
    pub(crate) fn stays_open(mut self) -> Wire {
        self.responder_closes = false;
        self
    }

    fn send(&mut self, way: Way, segments: Vec<Segment>) {
        for segment in segments {
            let number = self.sent_each_way[way as usize];
            self.sent_each_way[way as usize] += 1;
            let mut sent = Sent {
                at: self.now,
                way,
                segment,
                fate: Fate::Pass,
            };
            sent.fate = (self.script)(&sent, number);
            self.log.push(sent);
            if sent.fate == Fate::Drop {
                continue;
            }
            let mut arrival = || self.links[way as usize].arrival(self.now, &segment);
            let (at, again) = match sent.fate {
                Fate::At(time) => (time, None),
                Fate::Late(extra) => (arrival() + extra, None),
                Fate::Twice(extra) => {
                    let at = arrival();
                    (at, Some(at + extra))
                }
                Fate::Pass | Fate::Mark | Fate::Drop => (arrival(), None),
            };
            let ce = sent.fate == Fate::Mark && segment.ect;
            self.fly(at, way, segment, ce);
            if let Some(at) = again {
                self.fly(at, way, segment, false);
            }
        }
    }

    fn fly(&mut self, at: Nanos, way: Way, segment: Segment, ce: bool) {
        self.flying.insert((at, self.count), (way, segment, ce));
        self.count += 1;
    }

    /// The initiator's application writes and closes.
    pub(crate) fn write_and_close(&mut self, bytes: u64) {
        self.write(bytes);
        self.close();
    }

    pub(crate) fn write(&mut self, bytes: u64) {
        let mut out = Vec::new();
        self.initiator.write(self.now, bytes, &mut out);
        self.send(Way::Out, out);
    }

    pub(crate) fn write_forever(&mut self) {
        let mut out = Vec::new();
        self.initiator.write_forever(self.now, &mut out);
        self.send(Way::Out, out);
    }

    pub(crate) fn close(&mut self) {
        let mut out = Vec::new();
        self.initiator.close(self.now, &mut out);
        self.send(Way::Out, out);
    }

    /// Processes one event, not later than `until`; returns `false` if there is none.
    pub(crate) fn step(&mut self, until: Nanos) -> bool {
        let arrival = self.flying.keys().next().map(|key| key.0);
        let initiator = self.initiator.next_timer();
        let responder = self.responder.as_ref().and_then(Endpoint::next_timer);
        let Some(at) = [arrival, initiator, responder].into_iter().flatten().min() else {
            return false;
        };
        if at > until {
            return false;
        }
        assert!(
            at >= self.now,
            "a timer in the past: {at} before {}",
            self.now
        );
        self.now = at;
        let mut out = Vec::new();
        if arrival == Some(at) {
            let (_, (way, segment, ce)) = self.flying.pop_first().unwrap();
            match way {
                Way::Back => {
                    self.initiator.on_segment(at, &segment, ce, &mut out);
                    self.send(Way::Out, out);
                }
                Way::Out => self.arrive_at_responder(segment, ce),
            }
        } else if initiator == Some(at) {
            self.initiator.on_timer(at, &mut out);
            assert!(
                self.initiator.next_timer().is_none_or(|next| next > at),
                "the timer does not move on"
            );
            self.send(Way::Out, out);
        } else if let Some(endpoint) = &mut self.responder {
            endpoint.on_timer(at, &mut out);
            assert!(
                endpoint.next_timer().is_none_or(|next| next > at),
                "the timer does not move on"
            );
            self.send(Way::Back, out);
        }
        true
    }

    fn arrive_at_responder(&mut self, segment: Segment, ce: bool) {
        let mut out = Vec::new();
        match &mut self.responder {
            Some(endpoint) if !endpoint.is_failed() => {
                endpoint.on_segment(self.now, &segment, ce, &mut out);
                if self.responder_closes && endpoint.peer_closed() {
                    endpoint.close(self.now, &mut out);
                }
            }
            _ => {
                if segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK) {
                    let mut endpoint = Endpoint::accept(
                        self.responder_profile.clone(),
                        self.responder_isn,
                        self.now,
                        &segment,
                        ce,
                        &mut out,
                    );
                    endpoint.write(self.now, self.responder_writes, &mut out);
                    self.responder = Some(endpoint);
                }
            }
        }
        self.send(Way::Back, out);
    }

    /// Runs until there are no more events, at most to `until`.
    pub(crate) fn run(&mut self, until: Nanos) -> &mut Wire {
        while self.step(until) {}
        self
    }

    pub(crate) fn received(&self) -> u64 {
        self.responder.as_ref().map_or(0, Endpoint::received)
    }

    /// Send times in milliseconds of the segments with all of `flags`.
    pub(crate) fn times(&self, way: Way, flags: Flags) -> Vec<u64> {
        self.sent(way)
            .filter(|sent| sent.segment.flags.contains(flags))
            .map(|sent| sent.at.as_millis())
            .collect()
    }

    pub(crate) fn sent(&self, way: Way) -> impl DoubleEndedIterator<Item = &Sent> {
        self.log.iter().filter(move |sent| sent.way == way)
    }

    /// Data segments of the initiator, as (milliseconds, offset of the first byte).
    pub(crate) fn data(&self) -> Vec<(u64, u32)> {
        self.sent(Way::Out)
            .filter(|sent| sent.segment.len > 0)
            .map(|sent| (sent.at.as_millis(), sent.segment.seq.0.wrapping_sub(1001)))
            .collect()
    }

    /// The log in the form of tcpdump output, with relative numbers, and `x` for segments lost.
    pub(crate) fn trace(&self) -> String {
        let mut text = String::new();
        for sent in &self.log {
            let segment = &sent.segment;
            let (from, own, peer) = match sent.way {
                Way::Out => ("A >  B", 1000, 50_000),
                Way::Back => ("B >  A", 50_000, 1000),
            };
            let from = if sent.fate == Fate::Drop {
                from.replace(">  ", ">x ")
            } else {
                from.to_owned()
            };
            let seq = segment.seq.0 - own;
            write!(
                text,
                "{:8.3} {from} {:3}",
                sent.at.as_secs_f64(),
                segment.flags.to_string()
            )
            .unwrap();
            if segment.seq_len() > 0 {
                write!(text, " seq {seq}").unwrap();
                if segment.len > 0 {
                    write!(text, ":{}", seq + segment.len).unwrap();
                }
            }
            if segment.flags.contains(Flags::ACK) {
                write!(text, " ack {}", segment.ack.0 - peer).unwrap();
            }
            for (n, block) in segment.sack_blocks().iter().enumerate() {
                let name = if n == 0 { " sack " } else { "," };
                write!(text, "{name}{}:{}", block.0.0 - peer, block.1.0 - peer).unwrap();
            }
            if segment.retransmitted {
                text.push_str(" (again)");
            }
            text.push('\n');
        }
        text
    }
}

/// Script that drops the segments with these numbers in direction `way`.
pub(crate) fn dropping(way: Way, numbers: &'static [usize]) -> impl FnMut(&Sent, usize) -> Fate {
    move |sent, number| {
        if sent.way == way && numbers.contains(&number) {
            Fate::Drop
        } else {
            Fate::Pass
        }
    }
}

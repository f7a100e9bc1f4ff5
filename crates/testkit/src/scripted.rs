//! Two TCP end points and a wire between them that drops, delays or duplicates segments as a script says.

pub use gentle_captures::Side;

use gentle_captures::event_loop::{EventLoop, Network, Schedule};
use gentle_tcp::{Endpoint, Flags, Profile, Segment, Seq};
use gentle_units::{Instant, Nanos};
use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;

/// Initial sequence numbers of initiator and responder in [`Wire::new`].
pub const ISNS: (Seq, Seq) = (Seq(1000), Seq(50_000));

/// Place of the only connection.
const PLACE: u32 = 0;

/// Length of the Ethernet and IPv4 headers before a TCP header, bytes.
const FRAMING: u32 = 14 + 20;

/// Spacing of events for which the queue is made: a full segment at 1 Gb/s.
const SPACING: Nanos = Nanos::from_micros(12);

/// A time in milliseconds.
pub const fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

/// Milliseconds after the start.
pub const fn at_ms(n: u64) -> Instant {
    Instant::from_millis(n)
}

/// Profile with exact timers, as in RFCs and kernel sources, without the rounding of the timer wheel.
///
/// # Panics
/// If there is no such profile, or no such knob or value.
pub fn profile(name: &str, knobs: &[(&str, &str)]) -> Profile {
    let mut profile = Profile::by_name(name).unwrap_or_else(|error| panic!("{error}"));
    profile.timer_wheel = false;
    for (knob, value) in knobs {
        let set = profile.set(knob, value);
        set.unwrap_or_else(|error| panic!("{error}"));
    }
    profile
}

/// Treatment of a segment by the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Delivered.
    Pass,
    /// Lost.
    Drop,
    /// Delivered later by this much than the link would.
    Late(Nanos),
    /// Delivered at this time, regardless of the link.
    At(Instant),
    /// Delivered twice, the second time later by this much.
    Twice(Nanos),
    /// Delivered with the mark "congestion experienced" (RFC 3168), if it is ECN-capable.
    Mark,
}

/// A segment that was sent.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    /// Time of sending.
    pub at: Instant,
    /// Sender.
    pub from: Side,
    /// The segment.
    pub segment: Segment,
    /// Treatment by the wire.
    pub fate: Fate,
}

/// Link that the segments of one side pass: a transmitter, then a propagation delay.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    delay: Nanos,
    picos_per_byte: u64,
    /// Time at which the transmitter becomes idle.
    free_at: Instant,
}

impl Link {
    /// Creates a link that takes `picos_per_byte` picoseconds to transmit a byte; 0: none.
    pub fn new(delay: Nanos, picos_per_byte: u64) -> Link {
        Link { delay, picos_per_byte, free_at: Instant::ZERO }
    }

    /// Arrival time of a segment sent at `now`, in an Ethernet frame.
    fn arrival(&mut self, now: Instant, segment: &Segment) -> Instant {
        let bytes = FRAMING + segment.header_bytes() + segment.len;
        let time = Nanos(u64::from(bytes) * self.picos_per_byte / 1000);
        self.free_at = self.free_at.max(now) + time;
        self.free_at + self.delay
    }
}

/// Decides on each segment, given its number among its sender's segments, from 0.
type Script = Box<dyn FnMut(&Sent, usize) -> Fate>;

/// End points of the connection.
struct Ends {
    initiator: Endpoint,
    /// `None` before a SYN has arrived.
    responder: Option<Endpoint>,
}

/// Segment in flight.
struct InFlight {
    from: Side,
    segment: Segment,
    congestion_experienced: bool,
}

struct ScriptedNetwork {
    responder_profile: Arc<Profile>,
    responder_isn: Seq,
    responder_closes: bool,
    responder_writes: u64,
    /// Links of the initiator's and of the responder's segments.
    links: [Link; 2],
    /// Number of segments that either side has sent.
    sent: [usize; 2],
    script: Script,
    log: Vec<Sent>,
}

impl Network for ScriptedNetwork {
    type Connection = Ends;
    type Packet = InFlight;
    type Error = Infallible;

    /// As in the simulator, where what arrives over a link comes before timers.
    const PACKETS_FIRST: bool = true;

    fn endpoint(ends: &mut Ends, side: Side) -> Option<&mut Endpoint> {
        match side {
            Side::Initiator => Some(&mut ends.initiator),
            Side::Responder => ends.responder.as_mut(),
        }
    }

    fn send(
        &mut self,
        _: &mut Ends,
        from: Side,
        segment: Segment,
        schedule: &mut Schedule<'_, InFlight>,
    ) -> Result<(), Infallible> {
        let number = self.sent[from.index()];
        self.sent[from.index()] += 1;
        let mut sent = Sent { at: schedule.now(), from, segment, fate: Fate::Pass };
        sent.fate = (self.script)(&sent, number);
        self.log.push(sent);
        if sent.fate == Fate::Drop {
            return Ok(());
        }
        let link = &mut self.links[from.index()];
        let at = match sent.fate {
            Fate::At(time) => time,
            Fate::Late(extra) => link.arrival(sent.at, &segment) + extra,
            Fate::Pass | Fate::Mark | Fate::Twice(_) | Fate::Drop => link.arrival(sent.at, &segment),
        };
        let packet = |congestion_experienced| InFlight { from, segment, congestion_experienced };
        schedule.plan(at, packet(sent.fate == Fate::Mark && segment.ect.is_capable()));
        if let Fate::Twice(extra) = sent.fate {
            schedule.plan(at + extra, packet(false));
        }
        Ok(())
    }

    fn arrive(
        &mut self,
        ends: &mut Ends,
        packet: InFlight,
        schedule: &mut Schedule<'_, InFlight>,
        out: &mut Vec<Segment>,
    ) -> Result<Option<Side>, Infallible> {
        let now = schedule.now();
        let (segment, ce) = (&packet.segment, packet.congestion_experienced);
        match (packet.from, &mut ends.responder) {
            (Side::Responder, _) => ends.initiator.on_segment(now, segment, ce, out),
            (Side::Initiator, Some(responder)) if !responder.is_failed() => {
                responder.on_segment(now, segment, ce, out);
                if self.responder_closes && responder.peer_closed() {
                    responder.close(now, out);
                }
            }
            (Side::Initiator, responder) => {
                if segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK) {
                    let profile = Arc::clone(&self.responder_profile);
                    let isn = self.responder_isn;
                    let mut end = Endpoint::accept(profile, isn, now, segment, ce, out);
                    end.write(now, self.responder_writes, out);
                    *responder = Some(end);
                }
            }
        }
        Ok(Some(packet.from.peer()))
    }
}

/// Connection of two end points over a scripted wire. The application of the responder closes when its peer has closed.
pub struct Wire {
    events: EventLoop<ScriptedNetwork>,
}

impl Wire {
    /// Sends the initiator's SYN at time 0, over links without transmission time. `script` is called with each
    /// segment and its number among its sender's segments, from 0.
    pub fn new(
        initiator: Profile,
        responder: Profile,
        delay: Nanos,
        script: impl FnMut(&Sent, usize) -> Fate + 'static,
    ) -> Wire {
        Wire::with_isns(initiator, responder, delay, ISNS, script)
    }

    /// [`Wire::new`] with these initial sequence numbers of initiator and responder.
    pub fn with_isns(
        initiator: Profile,
        responder: Profile,
        delay: Nanos,
        isns: (Seq, Seq),
        script: impl FnMut(&Sent, usize) -> Fate + 'static,
    ) -> Wire {
        let links = [Link::new(delay, 0); 2];
        Wire::over(initiator, responder, links, Instant::ZERO, isns, script)
    }

    /// Sends the initiator's SYN at `start`; `links` are the initiator's and the responder's.
    pub fn over(
        initiator: Profile,
        responder: Profile,
        links: [Link; 2],
        start: Instant,
        (isn, responder_isn): (Seq, Seq),
        script: impl FnMut(&Sent, usize) -> Fate + 'static,
    ) -> Wire {
        let network = ScriptedNetwork {
            responder_profile: Arc::new(responder),
            responder_isn,
            responder_closes: true,
            responder_writes: 0,
            links,
            sent: [0; 2],
            script: Box::new(script),
            log: Vec::new(),
        };
        let mut events = EventLoop::new(network, SPACING);
        events.advance_to(start);
        let Ok(place) = events.open(|_, now, out| Ends {
            initiator: Endpoint::connect(Arc::new(initiator), isn, now, out),
            responder: None,
        });
        assert_eq!(place, PLACE);
        Wire { events }
    }

    /// Keeps the responder's application from closing.
    pub fn stays_open(mut self) -> Wire {
        self.events.network_mut().responder_closes = false;
        self
    }

    /// Makes the responder's application write `bytes` when it accepts the connection.
    pub fn responder_writes(mut self, bytes: u64) -> Wire {
        self.events.network_mut().responder_writes = bytes;
        self
    }

    fn ends(&self) -> &Ends {
        let ends = self.events.connection(PLACE);
        ends.expect("the connection is never removed")
    }

    /// End point of the initiator.
    pub fn initiator(&self) -> &Endpoint {
        &self.ends().initiator
    }

    /// End point of the initiator, to be driven manually: segments that it sends do not go over the wire.
    pub fn initiator_mut(&mut self) -> &mut Endpoint {
        let ends = self.events.connection_mut(PLACE);
        &mut ends.expect("the connection is never removed").initiator
    }

    /// End point of the responder; `None` before a SYN has arrived.
    pub fn responder(&self) -> Option<&Endpoint> {
        self.ends().responder.as_ref()
    }

    /// Time of the last event.
    pub fn now(&self) -> Instant {
        self.events.now()
    }

    /// Runs until `now`, and lets time pass until then if there is nothing to do.
    ///
    /// # Panics
    /// If `now` is in the past.
    pub fn advance_to(&mut self, now: Instant) {
        self.run(now);
        self.events.advance_to(now);
    }

    fn act(&mut self, action: impl FnOnce(&mut Endpoint, Instant, &mut Vec<Segment>)) {
        let Ok(()) = self.events.act(PLACE, Side::Initiator, |ends, now, out| {
            action(&mut ends.initiator, now, out);
        });
    }

    /// The initiator's application writes `bytes` and closes.
    pub fn write_and_close(&mut self, bytes: u64) {
        self.write(bytes);
        self.close();
    }

    /// The initiator's application writes `bytes`.
    pub fn write(&mut self, bytes: u64) {
        self.act(|end, now, out| end.write(now, bytes, out));
    }

    /// The initiator's application writes without end.
    pub fn write_forever(&mut self) {
        self.act(Endpoint::write_forever);
    }

    /// The initiator's application closes.
    pub fn close(&mut self) {
        self.act(Endpoint::close);
    }

    /// Processes one event, not later than `until`; returns `false` without one.
    pub fn step(&mut self, until: Instant) -> bool {
        let Ok(happened) = self.events.step(until);
        happened
    }

    /// Runs until there are no more events, at most to `until`.
    pub fn run(&mut self, until: Instant) -> &mut Wire {
        while self.step(until) {}
        self
    }

    /// Payload bytes that the responder has received in order.
    pub fn received(&self) -> u64 {
        self.responder().map_or(0, Endpoint::received)
    }

    /// All segments, in order of sending.
    pub fn log(&self) -> &[Sent] {
        &self.events.network().log
    }

    /// Segments of one side.
    pub fn sent(&self, from: Side) -> impl DoubleEndedIterator<Item = &Sent> {
        self.log().iter().filter(move |sent| sent.from == from)
    }

    /// Send times in milliseconds of the segments with all of `flags`.
    pub fn times(&self, from: Side, flags: Flags) -> Vec<u64> {
        self.sent(from).filter(|sent| sent.segment.flags.contains(flags)).map(|sent| sent.at.as_millis()).collect()
    }

    /// Data segments of the initiator, as (milliseconds, offset of the first byte); initial sequence numbers are
    /// [`ISNS`].
    pub fn data(&self) -> Vec<(u64, u32)> {
        let first = ISNS.0 + 1;
        self.sent(Side::Initiator)
            .filter(|sent| sent.segment.len > 0)
            .map(|sent| (sent.at.as_millis(), sent.segment.seq.0.wrapping_sub(first.0)))
            .collect()
    }

    /// The log in the form of tcpdump output, with relative numbers, and `x` for segments lost; initial sequence
    /// numbers are [`ISNS`].
    pub fn trace(&self) -> String {
        let mut text = String::new();
        for sent in self.log() {
            trace(sent, &mut text).expect("a string takes any text");
        }
        text
    }
}

/// Appends a line of [`Wire::trace`].
fn trace(sent: &Sent, text: &mut String) -> std::fmt::Result {
    let segment = &sent.segment;
    let (from, own, peer) = match sent.from {
        Side::Initiator => ("A >  B", ISNS.0, ISNS.1),
        Side::Responder => ("B >  A", ISNS.1, ISNS.0),
    };
    let from = if sent.fate == Fate::Drop { from.replace(">  ", ">x ") } else { from.to_owned() };
    let flags = segment.flags.to_string();
    write!(text, "{:8.3} {from} {flags:3}", sent.at.as_secs_f64())?;
    if segment.seq_len() > 0 {
        let seq = segment.seq.0 - own.0;
        write!(text, " seq {seq}")?;
        if segment.len > 0 {
            write!(text, ":{}", seq + segment.len)?;
        }
    }
    if segment.flags.contains(Flags::ACK) {
        write!(text, " ack {}", segment.ack.0 - peer.0)?;
    }
    for (n, (left, right)) in segment.sack_blocks().iter().enumerate() {
        let name = if n == 0 { " sack " } else { "," };
        write!(text, "{name}{}:{}", left.0 - peer.0, right.0 - peer.0)?;
    }
    if segment.retransmitted {
        text.push_str(" (again)");
    }
    text.push('\n');
    Ok(())
}

/// Script that drops the segments of `from` with these numbers.
pub fn dropping(from: Side, numbers: &'static [usize]) -> impl FnMut(&Sent, usize) -> Fate {
    move |sent, number| {
        if sent.from == from && numbers.contains(&number) { Fate::Drop } else { Fate::Pass }
    }
}

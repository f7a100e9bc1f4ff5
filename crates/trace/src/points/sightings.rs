//! Recognises packets that were seen before at another point.

use super::streams::Streams;
use crate::segment::{Batch, Segment};
use crate::tally::Tally;
use gentle_units::{Instant, Nanos};
use gentle_wire::{Packet, TcpFlags};
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use std::collections::VecDeque;
use std::hash::BuildHasher;

/// Time for which a packet is remembered, longer than any queue between two points delays it.
const REMEMBERED: Nanos = Nanos::from_secs(30);
/// Largest number of packets remembered, and memory for each, bytes; beyond it, the oldest is forgotten.
const MOST: usize = 1 << 20;
const BYTES: usize = 96;
/// Points that a packet is counted at; at further ones it is a repeat.
pub(super) const POINTS: usize = 4;

/// Shortest time after which hosts send the same segment again: Linux's `TCP_RTO_MIN`.
const SHORTEST_RTO: Nanos = Nanos::from_millis(200);
/// Longest tick of the clock of TCP timestamps (RFC 7323, 5.4): an equal value later than that is of the same packet.
const LONGEST_TICK: Nanos = Nanos::from_secs(1);

/// Bytes of a packet's payload that are compared: a UDP header and the beginning of a QUIC packet.
const COMPARED: usize = 48;

/// Repeats at two points that show that these see the same packets.
const ENOUGH: u64 = 3;

/// Two points, in the order of their numbers.
fn pair(a: u8, b: u8) -> [u8; 2] {
    [a.min(b), a.max(b)]
}

/// Packets of a trace, and the points that saw them.
#[derive(Debug)]
pub(crate) struct Sightings {
    /// Largest number of packets remembered.
    most: usize,
    hasher: DefaultHashBuilder,
    seen: HashTable<Seen>,
    /// Time and content of each sighting, in the order of the trace.
    order: VecDeque<(Instant, u64)>,
    /// Number of different packets at each point.
    packets: HashMap<u8, u64>,
    pairs: HashMap<[u8; 2], Evidence>,
    streams: Streams,
    /// Facts about each segment of the current batch.
    looks: Vec<Look>,
}

/// A packet.
#[derive(Debug, Clone, Copy)]
struct Seen {
    content: u64,
    /// Time of its last sighting.
    time: Instant,
    /// Number of sightings by point, of the first [`POINTS`].
    times: [(u8, u16); POINTS],
}

/// Repeats at two points of what the other saw first.
#[derive(Debug, Clone, Copy, Default)]
struct Evidence {
    repeats: u64,
    /// Of these, those that cannot be retransmissions.
    certain: u64,
}

/// A packet at a point.
#[derive(Debug, Clone, Copy)]
struct Sighting {
    content: u64,
    time: Instant,
    /// Whether a repeat at another point says something about the points: hosts send some packets unchanged at any time.
    is_evidence: bool,
    /// Time within which a repeat at another point is the same packet, and evidence that the points see the same.
    certain: Nanos,
    /// Time within which no host sends the same again, so that a repeat at another point is the same packet.
    likely: Nanos,
}

/// Kind of a sighting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// No point has seen it as often.
    New,
    /// Another point has seen it as often.
    Again,
    /// Another point has seen it as often, but the host may have sent it again; the two points decide.
    Perhaps([u8; 2]),
}

impl Sightings {
    /// Remembers packets in about `memory` bytes.
    pub(crate) fn new(memory: usize) -> Sightings {
        Sightings {
            most: (memory / BYTES).clamp(1, MOST),
            hasher: DefaultHashBuilder::default(),
            seen: HashTable::new(),
            order: VecDeque::new(),
            packets: HashMap::new(),
            pairs: HashMap::new(),
            streams: Streams::new(memory),
            looks: Vec::new(),
        }
    }

    /// Leaves out of a batch what another point saw before, and counts it as copies.
    pub(crate) fn leave_out_repeats(&mut self, batch: &mut Batch, tally: &mut Tally) {
        if !batch.has_several_points() {
            return;
        }
        let mut looks = std::mem::take(&mut self.looks);
        looks.clear();
        for (at, segment) in batch.segments().iter().enumerate() {
            let point = batch.points().get(at).copied().unwrap_or_default();
            let look = match segment.is_undelivered() {
                true => Look::New,
                false => self.look_at_segment(segment, point),
            };
            looks.push(look);
        }
        // Decided after the whole batch was seen, so that the evidence counts for the first packets as well.
        let mut look = looks.iter();
        batch.retain(|segment| {
            let repeat = look.next().is_some_and(|&look| self.is_repeat(look));
            if repeat {
                tally.seen_again(segment);
            }
            !repeat
        });
        self.looks = looks;
    }

    /// Records a packet of a protocol other than TCP; returns whether another point saw it before.
    pub(crate) fn is_seen_again(&mut self, time: Instant, packet: &Packet<'_>, point: u8) -> bool {
        let look = self.look(&Sighting::of_packet(time, packet, &self.hasher), point);
        self.is_repeat(look)
    }

    fn is_repeat(&self, look: Look) -> bool {
        match look {
            Look::New => false,
            Look::Again => true,
            Look::Perhaps(pair) => self.see_the_same(pair),
        }
    }

    fn look_at_segment(&mut self, segment: &Segment, point: u8) -> Look {
        let sighting = Sighting::of_segment(segment, &self.hasher);
        let look = self.look(&sighting, point);
        if segment.payload_len == 0 {
            return look;
        }
        let stream = (segment.key.hash, segment.key.ports, segment.is_forward());
        let stream = self.hasher.hash_one(stream);
        match (look, self.streams.record(stream, segment, point)) {
            (Look::New, Some(other)) => {
                // It may also be a retransmission of what was lost between the points, by clocks that disagree. Then the
                // other point sees it for the first time.
                let content = sighting.content;
                if let Ok(seen) = self.seen.find_entry(content, |it| it.content == content) {
                    seen.remove();
                }
                Look::Perhaps(pair(point, other))
            }
            _ => look,
        }
    }

    /// Records a sighting.
    fn look(&mut self, sighting: &Sighting, point: u8) -> Look {
        let &Sighting { content, time, .. } = sighting;
        self.expire(time);
        self.order.push_back((time, content));
        let Some(seen) = self.seen.find_mut(content, |seen| seen.content == content) else {
            let mut times = [(0, 0); POINTS];
            times[0] = (point, 1);
            let new = Seen { content, time, times };
            self.seen.insert_unique(content, new, |seen| seen.content);
            if sighting.is_evidence {
                *self.packets.entry(point).or_default() += 1;
            }
            return Look::New;
        };
        let gap = time.saturating_since(seen.time);
        seen.time = seen.time.max(time);
        let (other, most) = seen.most();
        let times = seen.add(point);
        if times > most {
            return Look::New;
        }
        let pair = pair(point, other);
        let certain = gap < sighting.certain;
        if sighting.is_evidence && times == 1 {
            *self.packets.entry(point).or_default() += 1;
            let evidence = self.pairs.entry(pair).or_default();
            evidence.repeats += 1;
            evidence.certain += u64::from(certain);
        }
        match certain || gap < sighting.likely {
            true => Look::Again,
            false => Look::Perhaps(pair),
        }
    }

    /// Whether two points have shown to see the same packets: by some that can be nothing else, or by half of the
    /// packets of one of them.
    fn see_the_same(&self, pair: [u8; 2]) -> bool {
        let evidence = self.pairs.get(&pair).copied().unwrap_or_default();
        let packets = pair.map(|point| self.packets.get(&point).copied().unwrap_or_default());
        evidence.certain >= ENOUGH || (evidence.repeats >= ENOUGH && evidence.repeats * 2 >= packets[0].min(packets[1]))
    }

    /// Forgets packets that no point will see again.
    fn expire(&mut self, now: Instant) {
        while let Some(&(time, content)) = self.order.front()
            && (now.saturating_since(time) > REMEMBERED || self.order.len() >= self.most)
        {
            self.order.pop_front();
            let found = self.seen.find_entry(content, |seen| seen.content == content && seen.time == time);
            if let Ok(entry) = found {
                entry.remove();
            }
        }
    }
}

impl Sighting {
    fn of_segment(segment: &Segment, hasher: &DefaultHashBuilder) -> Sighting {
        let has_length = segment.seq_len() > 0;
        let has_id = segment.ip_id != 0;
        Sighting {
            content: hasher.hash_one(segment.content()),
            time: segment.time,
            is_evidence: !segment.flags().any(TcpFlags::RST) && (has_length || has_id),
            certain: match has_id {
                true => Nanos::MAX,
                false if has_length && segment.has_timestamp() => LONGEST_TICK,
                false => Nanos::ZERO,
            },
            likely: if has_length { SHORTEST_RTO } else { Nanos::ZERO },
        }
    }

    fn of_packet(time: Instant, packet: &Packet<'_>, hasher: &DefaultHashBuilder) -> Sighting {
        let ip = &packet.ip;
        let id = ip.id.unwrap_or(0);
        // Points may capture different numbers of bytes.
        let payload = packet.payload.get(..COMPARED).unwrap_or(packet.payload);
        Sighting {
            content: hasher.hash_one((ip.src, ip.dst, ip.protocol, id, ip.payload_len, payload)),
            time,
            is_evidence: true,
            certain: if id != 0 { Nanos::MAX } else { Nanos::ZERO },
            likely: SHORTEST_RTO,
        }
    }
}

impl Seen {
    /// The point that has seen it most often, and how often.
    fn most(&self) -> (u8, u16) {
        let most = self.times.iter().max_by_key(|(_, times)| *times);
        most.copied().unwrap_or_default()
    }

    /// Records a sighting; returns how often the point has seen it.
    fn add(&mut self, point: u8) -> u16 {
        for (known, times) in &mut self.times {
            if *times == 0 {
                *known = point;
            }
            if *known == point {
                *times = times.saturating_add(1);
                return *times;
            }
        }
        1
    }
}

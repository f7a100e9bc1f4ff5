//! Binary records of `/proc/gentle_replay`: requests in, events out (`kernel/testing/replay/replay.h`).

use super::outcome::{Outcome, Sent};
use super::schedule::{Acknowledgment, Call, Ip, Schedule, Tag, Transport};
use gentle_aqm::{Ecn, FlowHash, Hashing, Spec, truesize};
use gentle_units::Instant;
use gentle_wire::protocol;
use thiserror::Error;

/// Length of a request, bytes.
pub(super) const REQUEST: usize = 80;
/// Length of an event, bytes.
const EVENT: usize = 32;

/// Operations of requests.
const BEGIN: u8 = 0;
const SEED: u8 = 1;
const ENQUEUE: u8 = 2;
const DEQUEUE: u8 = 3;
const PEEK: u8 = 4;

/// Kinds of events.
const BEGUN: u8 = 0;
const DROPPED: u8 = 1;
const SENT: u8 = 2;
const DONE: u8 = 3;
const TIMER: u8 = 4;

/// Return value of a qdisc's enqueue that has dropped the packet offered (include/linux/netdevice.h).
const NET_XMIT_DROP: i32 = 1;

/// Requests that start the clock and seed the random numbers, which become those that `spec` built with `seed` draws.
pub(super) fn preamble(spec: &Spec, seed: u64) -> Vec<u8> {
    // A scheme with a flow hash draws the key first.
    let skip = spec.unshaped().scheme().conformance.hash != Hashing::None;
    let mut requests = Request::of(BEGIN).encode().to_vec();
    requests.extend(Request { at: seed, number: u32::from(skip), ..Request::of(SEED) }.encode());
    requests
}

/// Requests of the steps of `schedule`.
pub(super) fn requests(spec: &Spec, seed: u64, schedule: &Schedule) -> Vec<u8> {
    let hash = FlowHash::seeded(seed);
    // Linux uses the hash like the model, or takes its lowest bits. In the latter case the request has the number of
    // the queue in place of the hash.
    let hashes = spec.unshaped();
    let queues = match hashes.scheme().conformance.hash {
        Hashing::None | Hashing::Scaled | Hashing::Whole => None,
        Hashing::Masked(option) => Some(hashes.options().count(option) as u32),
    };
    let mut number = 0;
    let mut all = Vec::with_capacity(schedule.steps.len() * REQUEST);
    for step in &schedule.steps {
        let mut request = match step.call {
            Call::Dequeue => Request::of(DEQUEUE),
            Call::PeekDequeue => Request::of(PEEK),
            Call::Enqueue(offer) => {
                let flow = u64::from(offer.flow);
                let (ip_protocol, tcp_flags) = match offer.headers.transport {
                    Transport::Tcp(flags) => (protocol::TCP, flags),
                    Transport::Udp => (protocol::UDP, 0),
                };
                let request = Request {
                    version: match offer.headers.ip {
                        Ip::V4 => 4,
                        Ip::V6 => 6,
                    },
                    protocol: ip_protocol,
                    tcp_flags,
                    ds: offer.dscp << 2 | bits(offer.ecn),
                    tags: match offer.headers.tag {
                        Tag::None => 0,
                        Tag::Metadata => 1,
                        Tag::InFrame => 2,
                        Tag::Both => 3,
                    },
                    number,
                    flow: offer.flow,
                    bytes: offer.bytes,
                    hash: match queues {
                        None => hash.value(flow),
                        Some(queues) => hash.queue(flow, queues) as u32,
                    },
                    truesize: truesize(offer.bytes) as u32,
                    host_hashes: offer.hosts.map(|host| hash.value(host.into())),
                    acknowledgment: offer.acknowledgment,
                    ..Request::of(ENQUEUE)
                };
                number += 1;
                request
            }
        };
        request.at = step.at.0;
        all.extend(request.encode());
    }
    all
}

fn bits(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    }
}

fn codepoint(bits: u8) -> Ecn {
    match bits & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

#[derive(Default)]
struct Request {
    at: u64,
    op: u8,
    version: u8,
    protocol: u8,
    tcp_flags: u8,
    ds: u8,
    tags: u8,
    number: u32,
    flow: u32,
    bytes: u32,
    hash: u32,
    truesize: u32,
    /// Of the source and of the destination.
    host_hashes: [u32; 2],
    acknowledgment: Acknowledgment,
}

impl Request {
    fn of(op: u8) -> Request {
        Request { op, ..Request::default() }
    }

    fn encode(&self) -> [u8; REQUEST] {
        let Acknowledgment { number: ack, timestamps, sack, sack_count, other_option } = self.acknowledgment;
        let tcp_options = u8::from(timestamps.is_some()) | u8::from(other_option) << 1;
        let mut record = [0; REQUEST];
        record[..8].copy_from_slice(&self.at.to_ne_bytes());
        record[8..16].copy_from_slice(&[
            self.op,
            self.version,
            self.protocol,
            self.tcp_flags,
            self.ds,
            self.tags,
            tcp_options,
            sack_count,
        ]);
        let [source, destination] = self.host_hashes;
        let (value, echo) = timestamps.unwrap_or_default();
        let numbers =
            [self.number, self.flow, self.bytes, self.hash, self.truesize, source, destination, ack, value, echo];
        let blocks = sack.into_iter().flat_map(|(left, right)| [left, right]);
        let all = numbers.into_iter().chain(blocks);
        for (place, number) in record[16..].chunks_exact_mut(4).zip(all) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        record
    }
}

/// Errors in the events of a replay.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EventError {
    /// The file ends within an event.
    #[error("{0} bytes of events; expected a multiple of {EVENT}")]
    Length(usize),
    /// An event is of an unknown kind.
    #[error("event {event}: unknown kind {kind}; the module was built for another version of gentle")]
    Kind {
        /// Index of the event.
        event: usize,
        /// Kind of the event.
        kind: u8,
    },
    /// The headers of a packet no longer fit its content.
    #[error("packet {0} left the kernel's queue with a wrong checksum or length")]
    Damaged(u32),
    /// The return value of enqueue contradicts the events.
    #[error(
        "step {step}: enqueue returned {code}, but the packet offered was {}",
        if *dropped { "dropped" } else { "queued" }
    )]
    Code {
        /// Index of the step.
        step: usize,
        /// Return value of enqueue: `NET_XMIT_*`.
        code: i32,
        /// Whether the packet offered was dropped at once.
        dropped: bool,
    },
    /// The replay ended early.
    #[error("the kernel carried out {done} of {steps} steps")]
    Missing {
        /// Number of steps carried out.
        done: usize,
        /// Number of steps of the schedule.
        steps: usize,
    },
}

/// Replay of a schedule by the kernel.
#[derive(Debug)]
pub(super) struct Record {
    /// Time since boot at which the schedule began.
    pub(super) begun: Instant,
    /// Time since the beginning at which a high-resolution timer of the qdisc expires next, at each step. Empty: it has
    /// none.
    pub(super) timers: Vec<Instant>,
    /// Time of each step since the beginning.
    pub(super) times: Vec<Instant>,
    /// Outcome of each step.
    pub(super) outcomes: Vec<Outcome>,
}

/// Decodes the events of a replay of `schedule`.
pub(super) fn read(schedule: &Schedule, events: &[u8]) -> Result<Record, EventError> {
    if !events.len().is_multiple_of(EVENT) {
        return Err(EventError::Length(events.len()));
    }
    let mut outcomes = Vec::with_capacity(schedule.steps.len());
    let mut times = Vec::with_capacity(schedule.steps.len());
    let mut begun = Instant::ZERO;
    let mut timers = Vec::new();
    let mut timer = None;
    let mut offered = 0;
    let mut sent = None;
    let mut dropped = Vec::new();
    for (event, record) in events.chunks_exact(EVENT).enumerate() {
        let Event { at, backlog, number, value, kind, ds, damaged } = Event::decode(record);
        match kind {
            BEGUN => begun = Instant(backlog),
            TIMER => timer = Some(Instant(backlog)),
            DROPPED => dropped.push(number),
            SENT if damaged => return Err(EventError::Damaged(number)),
            SENT => {
                sent = Some(Sent { number, ecn: codepoint(ds), dscp: ds >> 2 });
            }
            DONE => {
                let step = outcomes.len();
                if let Some(Call::Enqueue(_)) = schedule.steps.get(step).map(|step| step.call) {
                    check_code(step, value, dropped.contains(&offered))?;
                    offered += 1;
                }
                dropped.sort_unstable();
                times.push(at);
                timers.extend(timer);
                outcomes.push(Outcome {
                    sent: sent.take(),
                    dropped: std::mem::take(&mut dropped),
                    len: number as usize,
                    backlog,
                });
            }
            kind => return Err(EventError::Kind { event, kind }),
        }
    }
    if outcomes.len() != schedule.steps.len() {
        return Err(EventError::Missing { done: outcomes.len(), steps: schedule.steps.len() });
    }
    Ok(Record { begun, timers, times, outcomes })
}

/// Checks the return value of an enqueue. A packet that is dropped at once has to be reported as `NET_XMIT_DROP` or
/// `NET_XMIT_CN`, or parents would count it as queued; a packet that is queued must not be reported as
/// `NET_XMIT_DROP`.
fn check_code(step: usize, code: i32, dropped: bool) -> Result<(), EventError> {
    let fits = if dropped { code != 0 } else { code != NET_XMIT_DROP };
    if fits { Ok(()) } else { Err(EventError::Code { step, code, dropped }) }
}

struct Event {
    at: Instant,
    backlog: u64,
    number: u32,
    value: i32,
    kind: u8,
    ds: u8,
    damaged: bool,
}

impl Event {
    /// Decodes an event; `record` has [`EVENT`] bytes.
    fn decode(record: &[u8]) -> Event {
        let long = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&record[at..at + 8]);
            u64::from_ne_bytes(bytes)
        };
        let short = |at: usize| {
            let mut bytes = [0; 4];
            bytes.copy_from_slice(&record[at..at + 4]);
            u32::from_ne_bytes(bytes)
        };
        Event {
            at: Instant(long(0)),
            backlog: long(8),
            number: short(16),
            value: short(20).cast_signed(),
            kind: record[28],
            ds: record[29],
            damaged: record[30] != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::schedule::{Headers, Offer, Step};

    fn schedule() -> Schedule {
        let offer = Offer {
            flow: 5,
            bytes: 1514,
            headers: Headers { ip: Ip::V4, tag: Tag::None, transport: Transport::Tcp(Transport::ACK) },
            ecn: Ecn::Ect0,
            dscp: 0,
            hosts: [3, 4],
            acknowledgment: Acknowledgment {
                number: 77,
                sack: [(80, 90); Acknowledgment::MAX_SACK],
                sack_count: 1,
                ..Acknowledgment::default()
            },
        };
        Schedule {
            steps: vec![
                Step { at: Instant::from_millis(1), call: Call::Enqueue(offer) },
                Step { at: Instant::from_millis(2), call: Call::Dequeue },
            ],
        }
    }

    fn event(kind: u8, number: u32, value: i32) -> Vec<u8> {
        let mut record = vec![0; EVENT];
        record[16..20].copy_from_slice(&number.to_ne_bytes());
        record[20..24].copy_from_slice(&value.to_ne_bytes());
        record[28] = kind;
        record[29] = 46 << 2 | 3;
        record
    }

    #[test]
    fn events_become_outcomes() {
        let events = [event(DONE, 1, 0), event(SENT, 0, 0), event(DONE, 0, 0)].concat();
        let outcomes = read(&schedule(), &events).unwrap().outcomes;
        assert_eq!((outcomes[0].len, outcomes[0].sent), (1, None));
        let sent = Sent { number: 0, ecn: Ecn::Ce, dscp: 46 };
        assert_eq!(outcomes[1].sent, Some(sent));
    }

    #[test]
    fn a_drop_that_enqueue_does_not_report_is_an_error() {
        let events = [event(DROPPED, 0, 0), event(DONE, 0, 0), event(DONE, 0, 0)].concat();
        let error = read(&schedule(), &events).unwrap_err();
        assert_eq!(error.to_string(), "step 0: enqueue returned 0, but the packet offered was dropped");
    }

    #[test]
    fn a_kernel_that_stopped_early_is_an_error() {
        let error = read(&schedule(), &event(DONE, 1, 0)).unwrap_err();
        assert_eq!(error, EventError::Missing { done: 1, steps: 2 });
    }

    #[test]
    fn requests_have_what_cake_reads() {
        let record = requests(&"cake".parse().unwrap(), 7, &schedule());
        let number = |at: usize| u32::from_ne_bytes(record[at..at + 4].try_into().unwrap());
        let hash = FlowHash::seeded(7);
        let hashes = [number(28), number(36), number(40)];
        assert_eq!(hashes, [hash.value(5), hash.value(3), hash.value(4)]);
        assert_eq!((number(44), number(56), number(60)), (77, 80, 90));
        assert_eq!(record[14..16], [0, 1]);
    }

    #[test]
    fn sfq_gets_the_queue_and_fq_codel_the_hash() {
        let hash_of = |spec: &str| {
            let record = requests(&spec.parse().unwrap(), 7, &schedule());
            u32::from_ne_bytes(record[28..32].try_into().unwrap())
        };
        let hash = FlowHash::seeded(7);
        assert_eq!(hash_of("fq_codel"), hash.value(5));
        assert_eq!(hash_of("sfq divisor=16") as usize, hash.queue(5, 16));
    }
}

//! The records that `/proc/gentle_replay` takes and gives (`kernel/testing/replay/replay.h`).

use super::outcome::Outcome;
use super::schedule::{Call, Ip, Schedule, Tag, Transport};
use gentle_aqm::{Ecn, FlowHash, Hashing, Spec, truesize};
use gentle_units::Nanos;
use thiserror::Error;

/// Bytes of a request.
pub(super) const REQUEST: usize = 40;
/// Bytes of an event.
const EVENT: usize = 32;

const BEGIN: u8 = 0;
const SEED: u8 = 1;
const ENQUEUE: u8 = 2;
const DEQUEUE: u8 = 3;
const PEEK: u8 = 4;

const BEGUN: u8 = 0;
const DROPPED: u8 = 1;
const SENT: u8 = 2;
const DONE: u8 = 3;

/// What the qdisc's enqueue returns when it has dropped the packet offered (Linux: `NET_XMIT_DROP`).
const NET_XMIT_DROP: i32 = 1;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// The requests that start the clock and seed the random numbers as `spec` built with `seed` would draw them.
pub(super) fn preamble(spec: &Spec, seed: u64) -> Vec<u8> {
    // A scheme that hashes draws its key first.
    let skip = spec.scheme().conformance.hash != Hashing::None;
    let mut requests = Request::of(BEGIN).encode().to_vec();
    requests.extend(
        Request {
            at: seed,
            number: u32::from(skip),
            ..Request::of(SEED)
        }
        .encode(),
    );
    requests
}

/// The requests of the steps of `schedule`.
pub(super) fn requests(spec: &Spec, seed: u64, schedule: &Schedule) -> Vec<u8> {
    let hash = FlowHash::seeded(seed);
    // Linux scales the hash as it is done here, or takes its lowest bits: it is given the queue then.
    let queues = match spec.scheme().conformance.hash {
        Hashing::None | Hashing::Scaled => None,
        Hashing::Masked(option) => Some(spec.options().count(option) as u32),
    };
    let mut number = 0;
    let mut all = Vec::with_capacity(schedule.steps.len() * REQUEST);
    for step in &schedule.steps {
        let mut request = match step.call {
            Call::Dequeue => Request::of(DEQUEUE),
            Call::PeekDequeue => Request::of(PEEK),
            Call::Enqueue(offer) => {
                let flow = u64::from(offer.flow);
                let (protocol, tcp_flags) = match offer.headers.transport {
                    Transport::Tcp(flags) => (TCP, flags),
                    Transport::Udp => (UDP, 0),
                };
                let request = Request {
                    version: match offer.headers.ip {
                        Ip::V4 => 4,
                        Ip::V6 => 6,
                    },
                    protocol,
                    tcp_flags,
                    ecn: bits(offer.ecn),
                    tags: match offer.headers.tag {
                        Tag::None => 0,
                        Tag::Beside => 1,
                        Tag::InLine => 2,
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
    ecn: u8,
    tags: u8,
    number: u32,
    flow: u32,
    bytes: u32,
    hash: u32,
    truesize: u32,
}

impl Request {
    fn of(op: u8) -> Request {
        Request {
            op,
            ..Request::default()
        }
    }

    fn encode(&self) -> [u8; REQUEST] {
        let mut record = [0; REQUEST];
        record[..8].copy_from_slice(&self.at.to_ne_bytes());
        record[8..14].copy_from_slice(&[
            self.op,
            self.version,
            self.protocol,
            self.tcp_flags,
            self.ecn,
            self.tags,
        ]);
        let numbers = [self.number, self.flow, self.bytes, self.hash, self.truesize];
        for (place, number) in record[16..].chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        record
    }
}

/// Events that make no sense.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EventError {
    /// The file ends within an event.
    #[error("{0} bytes of events; expected a multiple of {EVENT}")]
    Length(usize),
    /// Not one of the known kinds.
    #[error("event {event}: unknown kind {kind}; module and program do not belong together")]
    Kind {
        /// Its place.
        event: usize,
        /// What it says it is.
        kind: u8,
    },
    /// A header that does not fit its packet any more.
    #[error("packet {0} left the kernel's queue with a wrong checksum or length")]
    Damaged(u32),
    /// What enqueue returns contradicts what it did.
    #[error("step {step}: enqueue returned {code}, but the packet offered was {}", if *dropped { "dropped" } else { "queued" })]
    Code {
        /// Which step.
        step: usize,
        /// `NET_XMIT_*`.
        code: i32,
        /// Whether the packet offered was dropped at once.
        dropped: bool,
    },
    /// Not as many answers as steps.
    #[error("the kernel carried out {done} of {steps} steps")]
    Missing {
        /// Steps that were answered.
        done: usize,
        /// Steps there are.
        steps: usize,
    },
}

/// What the kernel did.
#[derive(Debug)]
pub(super) struct Record {
    /// The kernel's clock when the schedule began.
    pub(super) begun: Nanos,
    /// The time of each step since then.
    pub(super) times: Vec<Nanos>,
    /// What came of each step.
    pub(super) outcomes: Vec<Outcome>,
}

/// What the kernel did in each step of `schedule`.
pub(super) fn read(schedule: &Schedule, events: &[u8]) -> Result<Record, EventError> {
    if !events.len().is_multiple_of(EVENT) {
        return Err(EventError::Length(events.len()));
    }
    let mut outcomes = Vec::with_capacity(schedule.steps.len());
    let mut times = Vec::with_capacity(schedule.steps.len());
    let mut begun = Nanos::ZERO;
    let mut offered = 0;
    let mut sent = None;
    let mut dropped = Vec::new();
    for (event, record) in events.chunks_exact(EVENT).enumerate() {
        let Event {
            at,
            backlog,
            number,
            value,
            kind,
            ecn,
            damaged,
        } = Event::decode(record);
        match kind {
            BEGUN => begun = Nanos(backlog),
            DROPPED => dropped.push(number),
            SENT if damaged => return Err(EventError::Damaged(number)),
            SENT => sent = Some((number, codepoint(ecn))),
            DONE => {
                let step = outcomes.len();
                if let Some(Call::Enqueue(_)) = schedule.steps.get(step).map(|step| step.call) {
                    check_code(step, value, dropped.contains(&offered))?;
                    offered += 1;
                }
                dropped.sort_unstable();
                times.push(at);
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
        return Err(EventError::Missing {
            done: outcomes.len(),
            steps: schedule.steps.len(),
        });
    }
    Ok(Record {
        begun,
        times,
        outcomes,
    })
}

/// A packet that is dropped at once is reported, as `NET_XMIT_DROP` or `NET_XMIT_CN`, or parents would count it;
/// `NET_XMIT_DROP` is said of no packet that was queued.
fn check_code(step: usize, code: i32, dropped: bool) -> Result<(), EventError> {
    let fits = if dropped {
        code != 0
    } else {
        code != NET_XMIT_DROP
    };
    if fits {
        Ok(())
    } else {
        Err(EventError::Code {
            step,
            code,
            dropped,
        })
    }
}

struct Event {
    at: Nanos,
    backlog: u64,
    number: u32,
    value: i32,
    kind: u8,
    ecn: u8,
    damaged: bool,
}

impl Event {
    /// `record` has [`EVENT`] bytes.
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
            at: Nanos(long(0)),
            backlog: long(8),
            number: short(16),
            value: short(20).cast_signed(),
            kind: record[28],
            ecn: record[29],
            damaged: record[30] != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decisions::schedule::{Headers, Offer, Step};

    fn schedule() -> Schedule {
        let offer = Offer {
            flow: 5,
            bytes: 1514,
            headers: Headers {
                ip: Ip::V4,
                tag: Tag::None,
                transport: Transport::Tcp(Transport::ACK),
            },
            ecn: Ecn::Ect0,
        };
        Schedule {
            steps: vec![
                Step {
                    at: Nanos::from_millis(1),
                    call: Call::Enqueue(offer),
                },
                Step {
                    at: Nanos::from_millis(2),
                    call: Call::Dequeue,
                },
            ],
        }
    }

    fn event(kind: u8, number: u32, value: i32) -> Vec<u8> {
        let mut record = vec![0; EVENT];
        record[16..20].copy_from_slice(&number.to_ne_bytes());
        record[20..24].copy_from_slice(&value.to_ne_bytes());
        record[28] = kind;
        record[29] = 3;
        record
    }

    #[test]
    fn events_become_outcomes() {
        let events = [event(DONE, 1, 0), event(SENT, 0, 0), event(DONE, 0, 0)].concat();
        let outcomes = read(&schedule(), &events).unwrap().outcomes;
        assert_eq!((outcomes[0].len, outcomes[0].sent), (1, None));
        assert_eq!(outcomes[1].sent, Some((0, Ecn::Ce)));
    }

    #[test]
    fn a_drop_that_enqueue_does_not_tell_of_is_an_error() {
        let events = [event(DROPPED, 0, 0), event(DONE, 0, 0), event(DONE, 0, 0)].concat();
        let error = read(&schedule(), &events).unwrap_err();
        assert_eq!(
            error.to_string(),
            "step 0: enqueue returned 0, but the packet offered was dropped"
        );
    }

    #[test]
    fn a_kernel_that_stopped_early_is_an_error() {
        let error = read(&schedule(), &event(DONE, 1, 0)).unwrap_err();
        assert_eq!(error, EventError::Missing { done: 1, steps: 2 });
    }

    #[test]
    fn sfq_is_given_the_queue_and_fq_codel_the_hash() {
        let hash_of = |spec: &str| {
            let record = requests(&spec.parse().unwrap(), 7, &schedule());
            u32::from_ne_bytes(record[28..32].try_into().unwrap())
        };
        let hash = FlowHash::seeded(7);
        assert_eq!(hash_of("fq_codel"), hash.value(5));
        assert_eq!(hash_of("sfq divisor=16") as usize, hash.queue(5, 16));
    }
}

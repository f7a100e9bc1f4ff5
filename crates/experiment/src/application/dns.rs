//! Name lookups: a question and its answer, asked again after a timeout as the resolver of libc does.

use super::datagram::{Datagram, DatagramEnd, Message};
use super::flow::{DatagramApplication, FlowTimes, Offered, length};
use super::meter::Meter;
use crate::draw::{Stream, exponential_time};
use crate::error::ScenarioError;
use crate::metrics::application::ApplicationRecord;
use crate::results::{Better, HarmNumbers};
use crate::section::Section;
use gentle_units::{Instant, Nanos};
use rand::SeedableRng;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// Lookups at the times of a Poisson process, answered at once by a server that knows the answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Dns {
    /// Mean gap between lookups.
    pub gap: Nanos,
    /// Length of the IP packet of a query, bytes.
    pub query: u32,
    /// Length of the IP packet of an answer, bytes.
    pub answer: u32,
    /// Time after which a query is repeated, or the lookup given up.
    pub timeout: Nanos,
    /// Number of queries of a lookup.
    pub attempts: u32,
}

impl DatagramApplication for Dns {
    const NAME: &'static str = "dns";
    const HARM: HarmNumbers = &[("transaction_s.p99", Better::Lower)];

    fn read(section: &mut Section<'_>) -> Result<Dns, ScenarioError> {
        let gap = section.require("gap", "\"2s\"")?;
        let shortest = Nanos::from_millis(1);
        Ok(Dns {
            gap: match gap.time()? {
                time if time < shortest => {
                    return Err(gap.error(format!("expected at least {shortest}")));
                }
                time => time,
            },
            // A name of 20 characters with EDNS (RFC 6891): 12 + 22 + 4 + 11 bytes.
            query: length(section, "query", 77)?,
            // With four addresses of 16 bytes each.
            answer: length(section, "answer", 141)?,
            // resolv.conf(5): RES_TIMEOUT and RES_DFLRETRY.
            timeout: match section.take("timeout") {
                Some(item) => {
                    let time = item.time()?;
                    if time < shortest || time > Nanos::from_secs(60) {
                        return Err(item.error(format!("expected {shortest} to 60s")));
                    }
                    time
                }
                None => Nanos::from_secs(5),
            },
            attempts: match section.take("attempts") {
                Some(item) => item.count(1..=10)? as u32,
                None => 2,
            },
        })
    }

    /// Rate of what the client and the server send, without repetitions.
    fn offered(&self) -> [Offered; 2] {
        [Offered::packets(self.query, self.gap), Offered::packets(self.answer, self.gap)]
    }

    fn ends(&self, times: &FlowTimes) -> [Box<dyn DatagramEnd>; 2] {
        let mut rng = Stream::seed_from_u64(times.seed);
        let client = DnsClient {
            settings: *self,
            meter: Meter::new(times.warmup),
            next_lookup: times.start + exponential_time(self.gap, &mut rng),
            rng,
            stop: times.stop,
            asked: 0,
            open: BTreeMap::new(),
            timeouts: VecDeque::new(),
        };
        let server = DnsServer { answer: self.answer, meter: Meter::new(times.warmup) };
        [Box::new(client), Box::new(server)]
    }
}

impl fmt::Display for Dns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "mean gap {}, query {} bytes, answer {} bytes, timeout {}, {} attempts",
            self.gap, self.query, self.answer, self.timeout, self.attempts
        )
    }
}

struct DnsClient {
    settings: Dns,
    meter: Meter,
    rng: Stream,
    next_lookup: Instant,
    /// Time from which no lookup starts.
    stop: Instant,
    /// Number of lookups so far.
    asked: u32,
    /// Lookups without an answer.
    open: BTreeMap<u32, Lookup>,
    /// Ends of the waiting times, in order, with the lookup.
    timeouts: VecDeque<(Instant, u32)>,
}

struct Lookup {
    started: Instant,
    attempts: u32,
}

impl DnsClient {
    fn query(&mut self, now: Instant, lookup: u32, record: &mut ApplicationRecord) -> Datagram {
        self.timeouts.push_back((now + self.settings.timeout, lookup));
        let message = Message::Query { lookup };
        self.meter.send(now, self.settings.query, message, record)
    }
}

impl DatagramEnd for DnsClient {
    fn next_at(&self) -> Instant {
        let lookup = Some(self.next_lookup).filter(|at| *at < self.stop);
        let timeout = self.timeouts.front().map(|(at, _)| *at);
        lookup.unwrap_or(Instant::NEVER).min(timeout.unwrap_or(Instant::NEVER))
    }

    fn on_timer(&mut self, now: Instant, out: &mut Vec<Datagram>, record: &mut ApplicationRecord) {
        while let Some((at, lookup)) = self.timeouts.front().copied()
            && at <= now
        {
            self.timeouts.pop_front();
            let Some(open) = self.open.get_mut(&lookup) else {
                continue;
            };
            if open.attempts < self.settings.attempts {
                open.attempts += 1;
                out.push(self.query(now, lookup, record));
                continue;
            }
            let started = open.started;
            self.open.remove(&lookup);
            record.failed += u64::from(self.meter.counts(started));
        }
        while self.next_lookup <= now && self.next_lookup < self.stop {
            let lookup = self.asked;
            self.asked = self.asked.wrapping_add(1);
            let open = Lookup { started: now, attempts: 1 };
            self.open.insert(lookup, open);
            out.push(self.query(now, lookup, record));
            let gap = exponential_time(self.settings.gap, &mut self.rng);
            self.next_lookup += gap;
        }
    }

    fn on_datagram(
        &mut self,
        now: Instant,
        datagram: &Datagram,
        _: &mut Vec<Datagram>,
        record: &mut ApplicationRecord,
    ) {
        self.meter.receive(now, datagram, record);
        // Repetitions have the number of the first query, so an answer to any of them ends the lookup.
        if let Message::Answer { lookup } = datagram.message
            && let Some(open) = self.open.remove(&lookup)
            && self.meter.counts(open.started)
        {
            record.transaction(now.saturating_since(open.started), 0);
        }
    }

    fn finish(&mut self, record: &mut ApplicationRecord) {
        for open in std::mem::take(&mut self.open).into_values() {
            record.unfinished += u64::from(self.meter.counts(open.started));
        }
    }
}

struct DnsServer {
    answer: u32,
    meter: Meter,
}

impl DatagramEnd for DnsServer {
    fn on_datagram(
        &mut self,
        now: Instant,
        datagram: &Datagram,
        out: &mut Vec<Datagram>,
        record: &mut ApplicationRecord,
    ) {
        self.meter.receive(now, datagram, record);
        if let Message::Query { lookup } = datagram.message {
            let answer = Message::Answer { lookup };
            out.push(self.meter.send(now, self.answer, answer, record));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DNS: Dns =
        Dns { gap: Nanos::from_secs(100), query: 77, answer: 141, timeout: Nanos::from_secs(5), attempts: 2 };

    /// The ends, and the time of the first lookup.
    fn ends() -> ([Box<dyn DatagramEnd>; 2], Instant) {
        let ends = DNS.ends(&FlowTimes {
            start: Instant::ZERO,
            first: [Instant::ZERO; 2],
            stop: Instant::from_secs(86_400),
            warmup: Instant::ZERO,
            seed: 3,
        });
        let at = ends[0].next_at();
        (ends, at)
    }

    #[test]
    fn a_lost_query_is_repeated_after_the_timeout_and_then_given_up() {
        let ([mut client, _], at) = ends();
        let (mut out, mut record) = (Vec::new(), ApplicationRecord::default());
        client.on_timer(at, &mut out, &mut record);
        let second = at + DNS.timeout;
        assert_eq!(client.next_at(), second);
        client.on_timer(second, &mut out, &mut record);
        assert_eq!(out[0].message, out[1].message);
        assert_eq!((out[0].number, out[1].number), (0, 1));
        assert_eq!((out[0].ip_bytes, record.failed), (77, 0));
        client.on_timer(second + DNS.timeout, &mut out, &mut record);
        assert_eq!((out.len(), record.failed), (2, 1));
        assert!(client.next_at() > second + DNS.timeout);
        client.finish(&mut record);
        assert_eq!((record.unfinished, record.transactions().count()), (0, 0));
    }

    #[test]
    fn an_answer_to_either_query_ends_the_lookup_once() {
        let ([mut client, mut server], at) = ends();
        let (mut out, mut record) = (Vec::new(), ApplicationRecord::default());
        client.on_timer(at, &mut out, &mut record);
        client.on_timer(at + DNS.timeout, &mut out, &mut record);
        let mut answers = Vec::new();
        for query in &out {
            server.on_datagram(at + DNS.timeout, query, &mut answers, &mut record);
        }
        let back = at + DNS.timeout + Nanos::from_millis(20);
        for answer in &answers {
            assert_eq!(answer.ip_bytes, 141);
            client.on_datagram(back, answer, &mut out, &mut record);
        }
        client.on_timer(at + DNS.timeout * 2, &mut out, &mut record);
        client.finish(&mut record);
        record.compact();
        assert_eq!((record.failed, record.unfinished), (0, 0));
        assert_eq!(record.transactions().count(), 1);
        assert_eq!(record.transactions().mean_s(), Some(5.02));
        assert_eq!((record.datagrams, record.arrived), (4, 4));
    }

    #[test]
    fn a_lookup_without_answer_at_the_end_is_unfinished() {
        let ([mut client, _], at) = ends();
        let (mut out, mut record) = (Vec::new(), ApplicationRecord::default());
        client.on_timer(at, &mut out, &mut record);
        client.finish(&mut record);
        assert_eq!((record.failed, record.unfinished), (0, 1));
    }
}

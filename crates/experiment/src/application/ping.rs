//! Pings: a packet to the server and back, at regular times.

use super::datagram::{Datagram, DatagramEnd, Message};
use super::flow::{DatagramApplication, FlowTimes, Offered, interval, length};
use super::meter::Meter;
use super::stream::Stream;
use crate::error::ScenarioError;
use crate::metrics::application::ApplicationRecord;
use crate::results::{Better, HarmNumbers};
use crate::section::Section;
use gentle_units::{Instant, Nanos};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Pings as in Flent's tests, in addition to TCP: one each 200 ms (flent's `--step-size`), with the length of ping(8).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ping {
    /// Interval of the pings.
    pub interval: Nanos,
    /// Length of the IP packets of ping and answer, bytes.
    pub packet: u32,
}

impl DatagramApplication for Ping {
    const NAME: &'static str = "ping";
    const HARM: HarmNumbers = &[("transaction_s.p99", Better::Lower)];

    fn read(section: &mut Section<'_>) -> Result<Ping, ScenarioError> {
        Ok(Ping {
            interval: interval(section, "interval", Nanos::from_millis(200))?,
            packet: length(section, "packet", 84)?,
        })
    }

    /// Rate of what the client and the server send.
    fn offered(&self) -> [Offered; 2] {
        [Offered::packets(self.packet, self.interval); 2]
    }

    fn ends(&self, times: &FlowTimes) -> [Box<dyn DatagramEnd>; 2] {
        let meter = || Meter::new(times.warmup);
        let client = PingClient {
            packet: self.packet,
            meter: meter(),
            pings: Stream::new(times.first[0], self.interval, times.stop),
            unanswered: 0,
        };
        [Box::new(client), Box::new(PingServer { meter: meter() })]
    }
}

impl fmt::Display for Ping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes each {}", self.packet, self.interval)
    }
}

struct PingClient {
    packet: u32,
    meter: Meter,
    pings: Stream,
    /// Pings that count and have no answer.
    unanswered: u64,
}

impl DatagramEnd for PingClient {
    fn next_at(&self) -> Instant {
        self.pings.next_at()
    }

    fn on_timer(&mut self, now: Instant, out: &mut Vec<Datagram>, record: &mut ApplicationRecord) {
        while self.pings.take(now).is_some() {
            out.push((self.meter).send(now, self.packet, Message::Packet, record));
            self.unanswered += u64::from(self.meter.counts(now));
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
        if let Message::Echo { sent } = datagram.message
            && self.meter.counts(sent)
            && self.unanswered > 0
        {
            self.unanswered -= 1;
            record.transaction(now.saturating_since(sent), 0);
        }
    }

    fn finish(&mut self, record: &mut ApplicationRecord) {
        record.failed += std::mem::take(&mut self.unanswered);
    }
}

struct PingServer {
    meter: Meter,
}

impl DatagramEnd for PingServer {
    fn on_datagram(
        &mut self,
        now: Instant,
        datagram: &Datagram,
        out: &mut Vec<Datagram>,
        record: &mut ApplicationRecord,
    ) {
        self.meter.receive(now, datagram, record);
        if datagram.message == Message::Packet {
            let echo = Message::Echo { sent: datagram.sent };
            out.push((self.meter).send(now, datagram.ip_bytes, echo, record));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ping_measures_the_round_trip_and_a_lost_one_fails() {
        let ping = Ping { interval: Nanos::from_millis(200), packet: 84 };
        let times = FlowTimes {
            start: Instant::ZERO,
            first: [Instant::from_millis(50); 2],
            stop: Instant::from_secs(1),
            warmup: Instant::from_millis(400),
            seed: 1,
        };
        let [mut client, mut server] = ping.ends(&times);
        let (mut out, mut record) = (Vec::new(), ApplicationRecord::default());
        for round in 0..5 {
            let at = client.next_at();
            assert_eq!(at, Instant::from_millis(50 + 200 * round));
            client.on_timer(at, &mut out, &mut record);
            let ping = out.pop().unwrap();
            assert_eq!((ping.ip_bytes, ping.sent), (84, at));
            if round == 3 {
                continue;
            }
            let there = at + Nanos::from_millis(20);
            server.on_datagram(there, &ping, &mut out, &mut record);
            let echo = out.pop().unwrap();
            let back = there + Nanos::from_millis(10 + round);
            client.on_datagram(back, &echo, &mut out, &mut record);
        }
        assert_eq!(client.next_at(), Instant::NEVER);
        client.finish(&mut record);
        server.finish(&mut record);
        record.compact();
        // The pings at 450, 650 (lost) and 850 ms count.
        assert_eq!(record.transactions().count(), 2);
        assert_eq!(record.failed, 1);
        let mean = record.transactions().mean_s().unwrap();
        assert!((mean - 0.033).abs() < 1e-3, "{mean}");
        assert_eq!((record.datagrams, record.arrived), (5, 4));
        assert_eq!(record.bytes, 4 * 56);
    }
}

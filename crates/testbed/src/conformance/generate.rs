//! Random schedules.

use super::schedule::{Acknowledgment, Call, Headers, Ip, Offer, Schedule, Step, Tag, Transport};
use gentle_aqm::Ecn;
use gentle_experiment::draw;
use gentle_units::{Instant, Nanos};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::HashMap;

/// Arrival pattern of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Poisson arrivals; the load changes between 0.3 and 2.5 every second on average.
    Poisson,
    /// Load 1.2 to 2.5: soon the queue is never empty.
    Overload,
    /// Bursts of up to 60 packets at the same time; mean load about 1.
    Bursts,
    /// Load 4 for up to a second, then a pause until after the queue has drained.
    OnOff,
    /// Load 0.8, and SYNs of new flows at three times the packet rate of the link.
    SynFlood,
    /// Load 1.3 of connections with a few packets each: SYN, data, FIN.
    Fins,
}

impl Pattern {
    /// All patterns.
    pub const ALL: [Pattern; 6] =
        [Pattern::Poisson, Pattern::Overload, Pattern::Bursts, Pattern::OnOff, Pattern::SynFlood, Pattern::Fins];
}

/// Parameters of a link and its senders.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Traffic {
    /// Arrival pattern.
    pub pattern: Pattern,
    /// Number of calls.
    pub steps: usize,
    /// Mean time between two departures.
    pub service: Nanos,
    /// Number of flows in addition to those that the pattern creates; at least one.
    pub flows: u32,
    /// Fraction of packets that are ECN-capable, 0 to 1.
    pub ecn: f64,
    /// Whether some flows have VLAN tags.
    pub tags: bool,
}

/// First number of the flows that patterns create.
const NEW_FLOWS: u32 = 1 << 16;

/// Generates the schedule of `seed`.
pub fn generate(traffic: &Traffic, seed: u64) -> Schedule {
    let mut generator = Generator {
        traffic: *traffic,
        rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        fields: Fields::new(seed),
        phase_end: Schedule::FIRST,
        load: 0.0,
        new_flow: NEW_FLOWS,
        packets_left: 0,
    };
    let mut steps = Vec::with_capacity(traffic.steps);
    let mut arrival = Schedule::FIRST;
    let mut departure = Schedule::FIRST + traffic.service;
    while steps.len() < traffic.steps {
        if arrival <= departure {
            for _ in 0..generator.batch() {
                let call = Call::Enqueue(generator.offer());
                steps.push(Step { at: arrival, call });
            }
            arrival = generator.next_arrival(arrival);
        } else {
            steps.push(Step { at: departure, call: generator.departure() });
            let factor = generator.rng.random_range(0.5..1.5);
            departure += scaled(traffic.service, factor);
        }
    }
    steps.truncate(traffic.steps);
    Schedule { steps }
}

fn scaled(time: Nanos, factor: f64) -> Nanos {
    Nanos((time.0 as f64 * factor) as u64 + 1)
}

struct Generator {
    traffic: Traffic,
    rng: Xoshiro256PlusPlus,
    fields: Fields,
    phase_end: Instant,
    /// Arrivals per departure.
    load: f64,
    new_flow: u32,
    /// Packets that the newest short connection has left to send.
    packets_left: u32,
}

impl Generator {
    fn next_arrival(&mut self, now: Instant) -> Instant {
        if now >= self.phase_end {
            self.new_phase(now);
            if self.traffic.pattern == Pattern::OnOff {
                let pause = self.rng.random_range(0.1..8.0);
                self.phase_end += scaled(Nanos::from_secs(1), pause);
                return now + scaled(Nanos::from_secs(1), pause);
            }
        }
        let gap = draw::exponential(&mut self.rng);
        now + scaled(self.traffic.service, gap / self.load)
    }

    fn new_phase(&mut self, now: Instant) {
        let (load, longest) = match self.traffic.pattern {
            Pattern::Poisson => (self.rng.random_range(0.3..2.5), 2.0),
            Pattern::Overload => (self.rng.random_range(1.2..2.5), 2.0),
            Pattern::Bursts => (1.0 / 30.0, 10.0),
            Pattern::OnOff => (4.0, 1.0),
            Pattern::SynFlood => (3.8, 10.0),
            Pattern::Fins => (1.3, 10.0),
        };
        let length = self.rng.random_range(0.05..longest);
        self.load = load;
        self.phase_end = now + scaled(Nanos::from_secs(1), length);
    }

    /// Number of packets that arrive at the same time.
    fn batch(&mut self) -> u32 {
        match self.traffic.pattern {
            Pattern::Bursts => self.rng.random_range(1..=60),
            _ => 1,
        }
    }

    fn departure(&mut self) -> Call {
        if self.rng.random_bool(0.1) { Call::PeekDequeue } else { Call::Dequeue }
    }

    fn offer(&mut self) -> Offer {
        let (flow, transport) = self.flow();
        let headers = Headers {
            ip: if flow % 3 == 2 { Ip::V6 } else { Ip::V4 },
            // All packets of a flow have the same tags.
            tag: match flow % 8 {
                _ if !self.traffic.tags => Tag::None,
                3 => Tag::Metadata,
                5 => Tag::InFrame,
                6 => Tag::Both,
                _ => Tag::None,
            },
            transport,
        };
        let ecn = if self.rng.random_bool(self.traffic.ecn) {
            match self.rng.random_range(0..10) {
                0 => Ecn::Ce,
                1..=3 => Ecn::Ect1,
                _ => Ecn::Ect0,
            }
        } else {
            Ecn::NotEct
        };
        let mut offer = Offer {
            flow,
            bytes: 0,
            headers,
            ecn,
            dscp: self.fields.dscp(flow),
            hosts: [flow / 4, (1 << 24) | (flow % 3)],
            acknowledgment: Acknowledgment::default(),
        };
        if let Transport::Tcp(flags) = &mut offer.headers.transport
            && *flags == Transport::ACK
        {
            offer.acknowledgment = self.fields.acknowledgment(flow);
            *flags |= self.fields.ecn_echo();
        }
        offer.bytes = self.bytes(&offer);
        offer
    }

    fn flow(&mut self) -> (u32, Transport) {
        match self.traffic.pattern {
            Pattern::SynFlood if self.rng.random_bool(0.79) => {
                self.new_flow += 1;
                (self.new_flow, Transport::Tcp(Transport::SYN))
            }
            Pattern::Fins => self.short_connection(),
            _ => {
                let flow = self.rng.random_range(0..self.traffic.flows);
                (flow, self.transport(flow))
            }
        }
    }

    /// Next packet of a sequence of short connections.
    fn short_connection(&mut self) -> (u32, Transport) {
        if self.packets_left == 0 {
            self.packets_left = self.rng.random_range(2..8);
            self.new_flow += 1;
            return (self.new_flow, Transport::Tcp(Transport::SYN));
        }
        self.packets_left -= 1;
        // Up to four connections are open at the same time.
        let flow = self.new_flow - self.rng.random_range(0..4).min(self.new_flow - NEW_FLOWS - 1);
        let flags = if self.packets_left == 0 { Transport::FIN | Transport::ACK } else { Transport::ACK };
        (flow, Transport::Tcp(flags))
    }

    fn transport(&mut self, flow: u32) -> Transport {
        if flow % 7 == 4 {
            return Transport::Udp;
        }
        Transport::Tcp(match self.rng.random_range(0..100) {
            0..=3 => Transport::SYN,
            4..=6 => Transport::SYN | Transport::ACK,
            7..=11 => Transport::FIN | Transport::ACK,
            12 => Transport::RST,
            _ => Transport::ACK,
        })
    }

    fn bytes(&mut self, offer: &Offer) -> u32 {
        let shortest = offer.shortest();
        let handshake = offer.handshake();
        if (handshake.syn || handshake.fin) && self.rng.random_bool(0.9) {
            // Lengths around the limit above which schemes treat SYNs and FINs as data.
            return shortest + self.rng.random_range(0..90);
        }
        match self.rng.random_range(0..10) {
            0..=2 => shortest,
            3..=7 => 1514,
            _ => self.rng.random_range(shortest..=1514),
        }
    }
}

/// Header fields that few schemes read.
struct Fields {
    rng: Xoshiro256PlusPlus,
    /// Last acknowledgment number of each flow.
    acknowledged: HashMap<u32, u32>,
}

impl Fields {
    fn new(seed: u64) -> Fields {
        Fields { rng: Xoshiro256PlusPlus::seed_from_u64(!seed), acknowledged: HashMap::new() }
    }

    /// Mostly one codepoint for all packets of a flow: best effort for two flows of eight, EF, AF11, CS1, AF41, LE, and 4,
    /// which Linux takes for "minimise delay".
    fn dscp(&mut self, flow: u32) -> u8 {
        const OF_FLOWS: [u8; 8] = [0, 46, 10, 8, 0, 34, 4, 1];
        match self.rng.random_range(0..20) {
            0 => self.rng.random_range(0..64),
            _ => OF_FLOWS[flow as usize % OF_FLOWS.len()],
        }
    }

    /// Mostly more than the flow has acknowledged so far.
    fn acknowledgment(&mut self, flow: u32) -> Acknowledgment {
        let rng = &mut self.rng;
        let last = self.acknowledged.entry(flow).or_insert_with(|| rng.random());
        *last = match rng.random_range(0..10) {
            0..=1 => *last,
            2 => last.wrapping_sub(rng.random_range(0..3000)),
            _ => last.wrapping_add(rng.random_range(0..3000)),
        };
        let mut found =
            Acknowledgment { number: *last, other_option: rng.random_bool(0.03), ..Acknowledgment::default() };
        if flow.is_multiple_of(2) {
            let time = *last / 1000;
            let earlier = rng.random_range(0..3);
            found.timestamps = Some((time, time.wrapping_sub(earlier)));
        }
        if rng.random_bool(0.3) {
            found.sack_count = rng.random_range(1..=2);
            // Few different blocks, so that blocks of one segment often cover blocks of another; some are DSACKs.
            let first = last.wrapping_add(rng.random_range(0..5) * 1000).wrapping_sub(500);
            for (number, block) in (0..).zip(&mut found.sack) {
                let left = (first / 4000 * 4000).wrapping_add(number * 8000);
                *block = (left, left.wrapping_add(rng.random_range(1..=2) * 2000));
            }
        }
        found
    }

    fn ecn_echo(&mut self) -> u8 {
        if self.rng.random_bool(0.1) { Transport::ECE } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_in_order_of_time_and_of_valid_packets() {
        for pattern in Pattern::ALL {
            let traffic =
                Traffic { pattern, steps: 5000, service: Nanos::from_millis(3), flows: 10, ecn: 0.5, tags: true };
            let schedule = generate(&traffic, 1);
            assert_eq!(schedule, generate(&traffic, 1));
            assert_ne!(schedule, generate(&traffic, 2));
            assert_eq!(schedule.steps.len(), 5000);
            assert!(schedule.steps.is_sorted_by_key(|step| step.at));
            assert!(schedule.steps[0].at >= Schedule::FIRST);
            let offers: Vec<_> = schedule.offers().collect();
            assert!(offers.iter().all(|offer| offer.bytes >= offer.shortest()), "{pattern:?}");
            assert!((500..4500).contains(&offers.len()), "{pattern:?}: {}", offers.len());
        }
    }
}

//! Schedules drawn at random.

use super::schedule::{Call, Headers, Ip, Offer, Schedule, Step, Tag, Transport};
use gentle_aqm::Ecn;
use gentle_units::Nanos;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;

/// How packets arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Poisson arrivals, the load changing every second or so between 0.3 and 2.5.
    Poisson,
    /// Load 1.2 to 2.5: after a moment the queue is never empty.
    Overload,
    /// Bursts of up to 60 packets at once, mean load about 1.
    Bursts,
    /// Four times what the link takes for up to a second, then nothing until long after the queue has drained.
    OnOff,
    /// Load 0.8, and SYNs of ever new flows at three times the packets that the link takes.
    SynFlood,
    /// Load 1.3 of connections of a few packets: SYN, data, FIN.
    Fins,
}

impl Pattern {
    /// All of them.
    pub const ALL: [Pattern; 6] = [
        Pattern::Poisson,
        Pattern::Overload,
        Pattern::Bursts,
        Pattern::OnOff,
        Pattern::SynFlood,
        Pattern::Fins,
    ];
}

/// What a link and its senders are like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Traffic {
    /// How packets arrive.
    pub pattern: Pattern,
    /// Calls to make.
    pub steps: usize,
    /// Mean time between two departures.
    pub service: Nanos,
    /// Flows besides those that the pattern makes; at least one.
    pub flows: u32,
    /// Share of packets that are ECN-capable, 0 to 1.
    pub ecn: f64,
    /// Whether some flows have VLAN tags.
    pub tags: bool,
}

/// Flows of patterns that need ever new ones begin here.
const NEW_FLOWS: u32 = 1 << 16;

/// Draws a schedule; the same for the same `seed`.
pub fn generate(traffic: &Traffic, seed: u64) -> Schedule {
    let mut source = Source {
        traffic: *traffic,
        rng: Xoshiro256PlusPlus::seed_from_u64(seed),
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
            for _ in 0..source.batch() {
                let call = Call::Enqueue(source.offer());
                steps.push(Step { at: arrival, call });
            }
            arrival = source.next_arrival(arrival);
        } else {
            steps.push(Step {
                at: departure,
                call: source.departure(),
            });
            let factor = source.rng.random_range(0.5..1.5);
            departure += scaled(traffic.service, factor);
        }
    }
    steps.truncate(traffic.steps);
    Schedule { steps }
}

fn scaled(time: Nanos, factor: f64) -> Nanos {
    Nanos((time.0 as f64 * factor) as u64 + 1)
}

struct Source {
    traffic: Traffic,
    rng: Xoshiro256PlusPlus,
    phase_end: Nanos,
    /// Arrivals for each departure.
    load: f64,
    new_flow: u32,
    /// Of the short connection under way.
    packets_left: u32,
}

impl Source {
    fn next_arrival(&mut self, now: Nanos) -> Nanos {
        if now >= self.phase_end {
            self.new_phase(now);
            if self.traffic.pattern == Pattern::OnOff {
                let pause = self.rng.random_range(0.1..8.0);
                self.phase_end += scaled(Nanos::from_secs(1), pause);
                return now + scaled(Nanos::from_secs(1), pause);
            }
        }
        let gap: f64 = Exp1.sample(&mut self.rng);
        now + scaled(self.traffic.service, gap / self.load)
    }

    fn new_phase(&mut self, now: Nanos) {
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

    /// Packets that arrive at once.
    fn batch(&mut self) -> u32 {
        match self.traffic.pattern {
            Pattern::Bursts => self.rng.random_range(1..=60),
            _ => 1,
        }
    }

    fn departure(&mut self) -> Call {
        if self.rng.random_bool(0.1) {
            Call::PeekDequeue
        } else {
            Call::Dequeue
        }
    }

    fn offer(&mut self) -> Offer {
        let (flow, transport) = self.flow();
        let headers = Headers {
            ip: if flow % 3 == 2 { Ip::V6 } else { Ip::V4 },
            // All packets of a flow take the same way.
            tag: match flow % 8 {
                _ if !self.traffic.tags => Tag::None,
                3 => Tag::Beside,
                5 => Tag::InLine,
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
        };
        offer.bytes = self.bytes(&offer);
        offer
    }

    fn flow(&mut self) -> (u32, Transport) {
        match self.traffic.pattern {
            Pattern::SynFlood if self.rng.random_bool(0.79) => {
                self.new_flow += 1;
                (self.new_flow, Transport::Tcp(Transport::SYN))
            }
            Pattern::Fins => self.of_connection(),
            _ => {
                let flow = self.rng.random_range(0..self.traffic.flows);
                (flow, self.transport(flow))
            }
        }
    }

    /// The next packet of connections that follow each other.
    fn of_connection(&mut self) -> (u32, Transport) {
        if self.packets_left == 0 {
            self.packets_left = self.rng.random_range(2..8);
            self.new_flow += 1;
            return (self.new_flow, Transport::Tcp(Transport::SYN));
        }
        self.packets_left -= 1;
        // Several connections are under way: the one that ends began some time ago.
        let flow = self.new_flow
            - self
                .rng
                .random_range(0..4)
                .min(self.new_flow - NEW_FLOWS - 1);
        let flags = if self.packets_left == 0 {
            Transport::FIN | Transport::ACK
        } else {
            Transport::ACK
        };
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
            // Up to the length from which on SYN and FIN are taken for data, and a little more.
            return shortest + self.rng.random_range(0..90);
        }
        match self.rng.random_range(0..10) {
            0..=2 => shortest,
            3..=7 => 1514,
            _ => self.rng.random_range(shortest..=1514),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_in_order_of_time_and_of_valid_packets() {
        for pattern in Pattern::ALL {
            let traffic = Traffic {
                pattern,
                steps: 5000,
                service: Nanos::from_millis(3),
                flows: 10,
                ecn: 0.5,
                tags: true,
            };
            let schedule = generate(&traffic, 1);
            assert_eq!(schedule, generate(&traffic, 1));
            assert_ne!(schedule, generate(&traffic, 2));
            assert_eq!(schedule.steps.len(), 5000);
            assert!(schedule.steps.is_sorted_by_key(|step| step.at));
            assert!(schedule.steps[0].at >= Schedule::FIRST);
            let offers: Vec<_> = schedule.offers().collect();
            assert!(
                offers.iter().all(|offer| offer.bytes >= offer.shortest()),
                "{pattern:?}"
            );
            assert!(
                (500..4500).contains(&offers.len()),
                "{pattern:?}: {}",
                offers.len()
            );
        }
    }
}

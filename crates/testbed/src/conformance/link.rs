//! A link that determines the times at which its queue is dequeued.

use super::capture::Arrival;
use super::clock;
use super::model::NumberedPacket;
use super::schedule::{Call, Schedule, Step};
use gentle_aqm::{Dequeue, Packet, Qdisc, Signals, Spec, registry};
use gentle_units::{Instant, Rate};

/// Approximate time since boot at which a schedule begins in a machine.
const BEGUN: Instant = Instant::from_secs(1);

/// Schedule of `arrivals` at a link whose queue is `spec` built with `seed`; see
/// [`Case::over_link`](super::Case::over_link).
pub(super) fn schedule(arrivals: &[Arrival], rate: Rate, spec: &Spec, seed: u64) -> Schedule {
    let mut link = Link {
        queue: registry::build(spec, seed),
        spec,
        rate,
        busy: false,
        asks_at: None,
        steps: Vec::with_capacity(2 * arrivals.len()),
    };
    for (number, arrival) in arrivals.iter().enumerate() {
        link.send_until(arrival.at);
        link.offer(number as u32, arrival);
    }
    link.send_until(Instant::NEVER);
    Schedule { steps: link.steps }
}

struct Link<'a> {
    queue: Box<dyn Qdisc<NumberedPacket>>,
    spec: &'a Spec,
    rate: Rate,
    /// Whether the link is sending a packet.
    busy: bool,
    /// Time at which the link dequeues next, unless it is idle and a packet arrives earlier.
    asks_at: Option<Instant>,
    steps: Vec<Step>,
}

impl Link<'_> {
    fn offer(&mut self, number: u32, arrival: &Arrival) {
        let Arrival { at, offer } = *arrival;
        let call = Call::Enqueue(offer);
        self.steps.push(Step { at, call });
        let now = clock::model_time(self.spec, BEGUN, at, None);
        let packet = NumberedPacket::new(number, offer);
        self.queue.enqueue(now, packet, &mut Signals::new());
        if !self.busy {
            self.ask(at);
        }
    }

    fn send_until(&mut self, end: Instant) {
        while let Some(at) = self.asks_at.filter(|at| *at <= end) {
            self.ask(at);
        }
    }

    fn ask(&mut self, at: Instant) {
        let call = Call::Dequeue;
        self.steps.push(Step { at, call });
        let now = clock::model_time(self.spec, BEGUN, at, None);
        let answer = self.queue.dequeue(now, &mut Signals::new());
        self.busy = matches!(answer, Dequeue::Packet(_));
        self.asks_at = match answer {
            Dequeue::Packet(packet) => Some(at + self.rate.time_to_send(packet.bytes().into())),
            Dequeue::Empty => None,
            Dequeue::NotBefore(time) => Some(at + time.saturating_since(now)),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::schedule::{Acknowledgment, Headers, Ip, Offer, Tag, Transport};
    use gentle_aqm::Ecn;

    fn arrival(ms: u64) -> Arrival {
        Arrival {
            at: Instant::from_millis(ms),
            offer: Offer {
                flow: 0,
                bytes: 1000,
                headers: Headers { ip: Ip::V4, tag: Tag::None, transport: Transport::Udp },
                ecn: Ecn::NotEct,
                dscp: 0,
                hosts: [0; 2],
                acknowledgment: Acknowledgment::default(),
            },
        }
    }

    #[test]
    fn the_link_asks_when_it_is_free() {
        // 1000 bytes take 10 ms.
        let rate = "800kbit".parse().unwrap();
        let arrivals = [arrival(1), arrival(2), arrival(3), arrival(50)];
        let spec = "pfifo limit=1".parse().unwrap();
        let asked = schedule(&arrivals, rate, &spec, 1);
        let calls: Vec<_> =
            asked.steps.iter().map(|step| (step.at.0 / 1_000_000, step.call == Call::Dequeue)).collect();
        let expected = [
            (1, false),
            (1, true),
            (2, false),
            // Finds the queue full.
            (3, false),
            (11, true),
            (21, true),
            (50, false),
            (50, true),
            (60, true),
        ];
        assert_eq!(calls, expected);
    }
}

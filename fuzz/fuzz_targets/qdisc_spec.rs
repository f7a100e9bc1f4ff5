//! Fuzz target for scheme specifications in `tc` syntax; valid ones are built, and packets pass through them.

#![no_main]

use gentle_aqm::{Dequeue, Ecn, Handshake, Packet, Qdisc, Signals, Spec, registry};
use gentle_units::{Instant, Nanos};
use libfuzzer_sys::fuzz_target;

/// A packet of one of seven flows.
struct Numbered {
    number: u32,
    ce: bool,
    arrived: Instant,
}

impl Packet for Numbered {
    fn bytes(&self) -> u32 {
        40 + self.number * 331 % 1_460
    }

    fn ip_bytes(&self) -> u32 {
        self.bytes()
    }

    fn flow(&self) -> u64 {
        (self.number % 7).into()
    }

    fn handshake(&self) -> Handshake {
        Handshake { syn: self.number.is_multiple_of(5), fin: self.number % 5 == 1 }
    }

    fn ecn(&self) -> Ecn {
        match (self.ce, self.number % 2) {
            (true, _) => Ecn::Ce,
            (false, 0) => Ecn::Ect0,
            (false, _) => Ecn::NotEct,
        }
    }

    fn set_ce(&mut self) {
        self.ce = true;
    }

    fn arrived(&self) -> Instant {
        self.arrived
    }

    fn set_arrived(&mut self, now: Instant) {
        self.arrived = now;
    }
}

/// Enqueues twice as many packets as it dequeues, then empties the queue.
fn pass_packets(spec: &Spec) {
    const PACKETS: u32 = 200;
    let mut queue = registry::build::<Numbered>(spec, 1);
    let mut signals = Signals::new();
    let mut now = Instant::from_secs(1);
    let mut sent = 0;
    for number in 0..PACKETS {
        // A pause in the middle.
        now += if number == PACKETS / 2 { Nanos::from_secs(100) } else { Nanos::from_millis(3) };
        let packet = Numbered { number, ce: false, arrived: Instant::ZERO };
        queue.enqueue(now, packet, &mut signals);
        if number % 2 == 0 && queue.dequeue(now, &mut signals).packet().is_some() {
            sent += 1;
        }
    }
    loop {
        match queue.dequeue(now, &mut signals) {
            Dequeue::Packet(_) => {
                now += Nanos::from_millis(6);
                sent += 1;
            }
            Dequeue::NotBefore(time) => {
                assert!(time > now);
                now = time;
            }
            Dequeue::Empty => break,
        }
    }
    assert_eq!(sent + signals.len(), PACKETS as usize);
    assert_eq!((queue.len(), queue.backlog()), (0, 0));
}

fuzz_target!(|text: &str| {
    match text.parse::<Spec>() {
        Ok(spec) => {
            let written = spec.to_string();
            assert_eq!(written.parse::<Spec>().as_ref(), Ok(&spec), "{written}");
            assert!(spec.settings().iter().all(|(name, _)| !name.is_empty()));
            pass_packets(&spec);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});

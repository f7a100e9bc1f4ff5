//! Changes of a simulation while it runs: rates, queues, load. A run with changes has no counterpart among experiments.

use super::link::Queue;
use super::simulation::Simulation;
use super::tap::Tap;
use gentle_aqm::Dequeue;
use gentle_experiment::Direction;
use gentle_units::{Nanos, Rate};

/// Packets and bytes that wait in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    /// Packets that wait; the one being sent is not among them.
    pub packets: usize,
    /// Length of these packets, bytes, with the overhead of the link layer.
    pub bytes: u64,
}

impl<T: Tap> Simulation<T> {
    /// Packets and bytes that wait in the queue of `direction`.
    pub fn backlog(&self, direction: Direction) -> Backlog {
        let queue = &self.links[direction.index()].qdisc;
        Backlog { packets: queue.len(), bytes: queue.backlog() }
    }

    /// Sets the rate of the link of `direction` from the next packet on, and removes later changes of the rate and a
    /// recording that the rate followed. The capacity of the link in the record stays the scenario's.
    pub fn set_rate(&mut self, direction: Direction, rate: Rate) {
        self.links[direction.index()].set_rate(rate);
    }

    /// Drops the next SYN or SYN/ACK of a connection in `direction` before it reaches the queue.
    pub fn drop_next_handshake(&mut self, direction: Direction) {
        self.links[direction.index()].drops_handshake = true;
    }

    /// Replaces the queue of `direction` by an empty one. The packets that wait are offered to it in the order in which
    /// the old queue would have sent them, as if they arrived now; what either queue drops is dropped.
    pub fn replace_queue(&mut self, direction: Direction, queue: Queue) {
        let now = self.now;
        let link = &mut self.links[direction.index()];
        let mut old = std::mem::replace(&mut link.qdisc, queue);
        let mut at = now;
        loop {
            match old.dequeue(at, &mut link.signals) {
                Dequeue::Packet(packet) => link.qdisc.enqueue(now, packet, &mut link.signals),
                // A queue that shapes is asked about a time at which the packet may leave.
                Dequeue::NotBefore(later) => at = later.max(at + Nanos(1)),
                Dequeue::Empty => break,
            }
        }
        if link.is_idle() {
            self.transmit(now, direction);
        } else {
            self.account_for_signals(now, direction);
        }
    }

    /// Multiplies the rate at which connections start at random in `direction` by `factor` from now on, and the rate of
    /// its constant-rate sources, at most the rate of a host's access link. Lists of flows, long-lived connections and
    /// applications stay as they are.
    ///
    /// # Panics
    /// `factor` is not a positive number.
    pub fn scale_load(&mut self, direction: Direction, factor: f64) {
        assert!(factor > 0.0 && factor.is_finite(), "a positive factor");
        self.schedule.scale(self.now, direction, factor);
        let most = self.access.as_ref().map(|access| access.rate());
        for source in &mut self.cbr_sources {
            if source.direction() == direction {
                source.scale(factor, most);
            }
        }
        self.find_next_turn();
    }
}

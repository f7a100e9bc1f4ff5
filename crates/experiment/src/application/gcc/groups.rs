//! Groups of packets and the variation of their delay (sections 5.1 and 5.2).

use gentle_units::{Instant, Nanos};

/// Packets sent within this time of the first one of their group belong to it (table 1: burst_time).
const BURST_TIME: Nanos = Nanos::from_millis(5);

/// Differences between two consecutive groups.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    /// Time between their departures, T(i) - T(i-1), ms.
    pub(super) departure_ms: f64,
    /// Delay variation d(i): time between their arrivals, less that between their departures, ms.
    pub(super) delay_ms: f64,
}

/// Group of packets: first and last departure, last arrival.
#[derive(Debug, Clone, Copy)]
struct Group {
    first_sent: Instant,
    last_sent: Instant,
    arrived: Instant,
}

/// Division of packets into groups.
#[derive(Debug, Default)]
pub(super) struct Groups {
    current: Option<Group>,
    before: Option<Group>,
}

impl Groups {
    /// Adds a packet; returns the difference between the last two complete groups if it begins a new one.
    pub(super) fn add(&mut self, now: Instant, sent: Instant) -> Option<Change> {
        let begun = Group { first_sent: sent, last_sent: sent, arrived: now };
        let Some(group) = &mut self.current else {
            self.current = Some(begun);
            return None;
        };
        if sent < group.first_sent {
            // Overtaken by a packet of a later group.
            return None;
        }
        let gap = now.saturating_since(group.arrived);
        let caught_up = gap < BURST_TIME && gap < sent.saturating_since(group.last_sent);
        if sent - group.first_sent <= BURST_TIME || caught_up {
            group.last_sent = group.last_sent.max(sent);
            group.arrived = now;
            return None;
        }
        let complete = *group;
        self.current = Some(begun);
        let before = self.before.replace(complete)?;
        let between = |from: Instant, to: Instant| (to.0 as f64 - from.0 as f64) / 1e6;
        let departure_ms = between(before.last_sent, complete.last_sent);
        Some(Change { departure_ms, delay_ms: between(before.arrived, complete.arrived) - departure_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_a_group_and_groups_differ_by_their_queueing() {
        let mut groups = Groups::default();
        let ms = Instant::from_millis;
        let changes: Vec<_> = [
            (0, 20),
            (5, 25),
            (33, 53),
            (34, 56),
            // Sent 30 ms after the group before, arrives 36 ms after it.
            (64, 92),
            (100, 120),
        ]
        .into_iter()
        .filter_map(|(sent, at)| groups.add(ms(at), ms(sent)))
        .map(|change| (change.departure_ms, change.delay_ms))
        .collect();
        assert_eq!(changes, [(29.0, 2.0), (30.0, 6.0)]);
        // A packet from the past changes nothing.
        assert!(groups.add(ms(121), ms(1)).is_none());
    }
}

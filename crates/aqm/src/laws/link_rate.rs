//! Rate of the link below a queue, measured while packets wait.

use gentle_units::{Instant, Nanos};

/// Time that a measurement takes at least: devices and aggregating links take packets in bursts.
const SHORTEST: Nanos = Nanos::from_millis(1);
/// Time after which a measurement ends although packets still wait, if it has enough bytes.
const ENOUGH: Nanos = Nanos::from_millis(100);
/// Bytes that a measurement takes at least, so that a packet more or less changes it by a tenth at most.
const LEAST: u64 = 10 * 1514;

/// Measurement under way.
#[derive(Debug, Clone, Copy)]
struct Probe {
    since: Instant,
    /// Bytes that have left the queue since then.
    sent: u64,
    /// Bytes that waited then. Until as many have left, the link is busy.
    waited: u64,
}

/// Estimate of a link's rate.
#[derive(Debug, Default)]
pub(crate) struct LinkRate {
    bytes_per_second: Option<u64>,
    probe: Option<Probe>,
}

impl LinkRate {
    /// The estimate in bytes per second; `None` until packets have waited.
    pub(crate) fn get(&self) -> Option<u64> {
        self.bytes_per_second
    }

    /// Observes that a packet of `bytes` leaves a queue of `backlog` bytes, itself included. True if the estimate changes.
    #[inline]
    pub(crate) fn observe(&mut self, now: Instant, bytes: u32, backlog: u64) -> bool {
        let bytes = u64::from(bytes);
        let Some(probe) = &mut self.probe else {
            if backlog > LEAST {
                self.probe = Some(Probe {
                    since: now,
                    sent: bytes,
                    waited: backlog,
                });
            }
            return false;
        };
        let last = probe.sent + bytes >= probe.waited;
        if !last && (now - probe.since < ENOUGH || probe.sent < LEAST) {
            probe.sent += bytes;
            return false;
        }
        self.conclude(now)
    }

    #[cold]
    fn conclude(&mut self, now: Instant) -> bool {
        let Some(probe) = self.probe.take() else {
            return false;
        };
        let time = now - probe.since;
        if probe.sent < LEAST || time < SHORTEST {
            return false;
        }
        let new = (u128::from(probe.sent) * 1_000_000_000 / u128::from(time.0)) as u64;
        self.bytes_per_second = Some(match self.bytes_per_second {
            None => new,
            Some(old) => old - old / 4 + new / 4,
        });
        true
    }

    /// Takes a dropped packet out of the measurement under way, which may have counted on it.
    pub(crate) fn dropped(&mut self, bytes: u32) {
        if let Some(probe) = &mut self.probe {
            probe.waited = probe.waited.saturating_sub(bytes.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Estimate after packets of 1000 bytes have left at these times, in microseconds, of a queue that holds `backlog`
    /// packets throughout.
    fn estimate(times: impl IntoIterator<Item = u64>, backlog: u64) -> Option<u64> {
        let mut rate = LinkRate::default();
        for micros in times {
            let now = Instant::from_micros(micros);
            rate.observe(now, 1000, 1000 * backlog);
        }
        rate.get()
    }

    #[test]
    fn it_is_exact_while_packets_wait() {
        assert_eq!(estimate((0..100).map(|n| 500 * n), 40), Some(2_000_000));
        assert_eq!(estimate((0..2000).map(|n| 500 * n), 1000), Some(2_000_000));
    }

    #[test]
    fn a_short_queue_and_a_burst_say_nothing() {
        assert_eq!(estimate((0..100).map(|n| 500 * n), 10), None);
        // A device takes a hundred packets at once.
        assert_eq!(estimate((0..100).map(|n| n / 50), 40), None);
    }

    #[test]
    fn a_new_rate_is_learnt_within_a_few_measurements() {
        let times = (0..200)
            .map(|n| 500 * n)
            .chain((0..400).map(|n| 100_000 + 5000 * n));
        let rate = estimate(times, 20).unwrap();
        assert!((200_000..210_000).contains(&rate), "{rate}");
    }

    #[test]
    fn dropped_packets_are_not_waited_for() {
        let mut rate = LinkRate::default();
        rate.observe(Instant::ZERO, 1000, 40_000);
        rate.dropped(20_000);
        for packet in 1..20 {
            rate.observe(Instant::from_millis(packet), 1000, 20_000);
        }
        assert_eq!(rate.get(), Some(1_000_000));
    }
}

//! Ages of flows: the bytes that each has sent beyond its fair share.
//!
//! While packets of a flow wait, what it sends makes it older. While none wait, it grows younger by the fair share: what a
//! flow in round robin with all that wait would have sent meanwhile. That is a clock in bytes, which each packet of *b* bytes
//! that leaves moves on by *b* divided by the number of flows that wait, as virtual time in fair queueing (Demers, Keshav
//! and Shenker, SIGCOMM 1989). So a flow that sends less than its share is young, whatever the rate of the link, and one
//! that has more to send than its share is not.

/// Bytes after which a flow is as old as it can get.
const OLDEST: u64 = (QUANTUM as u64) << LEVELS;

/// Bytes of a full frame: where the first level ends, and what a flow sends in a turn.
pub(crate) const QUANTUM: u32 = 1514;

/// Levels of age; each but the first begins at twice the bytes of the one before.
pub(crate) const LEVELS: usize = 11;

/// The clock's units of a byte.
const FRACTIONS: u64 = 16;

/// The level of a flow that has sent `bytes`: 1 to [`LEVELS`], or one more for all that is older.
#[inline]
pub(crate) fn level(bytes: u64) -> usize {
    match bytes / u64::from(QUANTUM) {
        0 => 1,
        quanta => (quanta.ilog2() as usize + 2).min(LEVELS + 1),
    }
}

/// Bytes until a flow of this age leaves its level. The age is at most that of level [`LEVELS`].
#[inline]
pub(crate) fn left_in_level(age: u64) -> u64 {
    (u64::from(QUANTUM) << (level(age) - 1)) - age
}

/// Ages of the flows of a table.
#[derive(Debug)]
pub(crate) struct FlowAges {
    /// The age of a flow while packets of it wait, else the clock's bytes at which it is zero.
    ages: Box<[u64]>,
    clock: u64,
}

impl FlowAges {
    /// Flows `0..flows`, all of age zero, and none waiting.
    pub(crate) fn new(flows: usize) -> FlowAges {
        FlowAges { ages: vec![0; flows].into_boxed_slice(), clock: 0 }
    }

    /// The age of a flow of which packets wait.
    #[inline]
    pub(crate) fn of_waiting(&self, flow: usize) -> u64 {
        self.ages[flow]
    }

    /// The age of a flow of which no packet waits.
    #[inline]
    pub(crate) fn of_idle(&self, flow: usize) -> u64 {
        self.ages[flow].saturating_sub(self.clock / FRACTIONS)
    }

    /// Makes an idle flow new.
    #[inline]
    pub(crate) fn forget(&mut self, flow: usize) {
        self.ages[flow] = 0;
    }

    /// The first packet of an idle flow waits.
    #[inline]
    pub(crate) fn begin_to_wait(&mut self, flow: usize) {
        self.ages[flow] = self.of_idle(flow);
    }

    /// No packet of a flow waits any more.
    #[inline]
    pub(crate) fn stop_waiting(&mut self, flow: usize) {
        self.ages[flow] += self.clock / FRACTIONS;
    }

    /// A flow, one of `waiting`, sends a packet of `bytes`.
    #[inline]
    pub(crate) fn sent(&mut self, flow: usize, bytes: u32, waiting: u32) {
        self.clock += u64::from(bytes) * FRACTIONS / u64::from(waiting.max(1));
        self.ages[flow] = (self.ages[flow] + u64::from(bytes)).min(OLDEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_double() {
        let quantum = u64::from(QUANTUM);
        for (bytes, found) in [(0, 1), (quantum - 1, 1), (quantum, 2), (2 * quantum, 3), (4 * quantum - 1, 3)] {
            assert_eq!(level(bytes), found, "{bytes}");
        }
        assert_eq!(level((quantum << (LEVELS - 1)) - 1), LEVELS);
        assert_eq!(level(OLDEST), LEVELS + 1);
        assert_eq!((left_in_level(0), left_in_level(quantum), left_in_level(3 * quantum)), (quantum, quantum, quantum));
    }

    #[test]
    fn an_idle_flow_is_forgiven_the_fair_share() {
        let mut ages = FlowAges::new(3);
        ages.begin_to_wait(0);
        ages.sent(0, 60_000, 1);
        assert_eq!(ages.of_waiting(0), 60_000);
        ages.stop_waiting(0);
        // Of the bytes that leave while two flows wait, an idle flow is forgiven half.
        ages.begin_to_wait(1);
        ages.begin_to_wait(2);
        for flow in [1, 2] {
            ages.sent(flow, 20_000, 2);
        }
        assert_eq!(ages.of_idle(0), 40_000);
        assert_eq!(ages.of_waiting(1), 20_000);
        ages.begin_to_wait(0);
        assert_eq!(ages.of_waiting(0), 40_000);
    }

    #[test]
    fn no_age_comes_back_however_long_the_queue_runs() {
        let mut ages = FlowAges::new(2);
        ages.begin_to_wait(0);
        ages.sent(0, 1 << 20, 1);
        ages.stop_waiting(0);
        ages.begin_to_wait(1);
        // 40,000 s at 100 Gb/s, in steps of 64 kB of one flow that waits.
        let clock = ages.clock;
        for seconds in [1u64, 10, 1000, 8192, 16_384, 32_768, 40_000] {
            ages.clock = clock + seconds * 12_500_000_000 * FRACTIONS;
            assert_eq!(ages.of_idle(0), 0, "{seconds}");
        }
    }

    #[test]
    fn ages_end() {
        let mut ages = FlowAges::new(1);
        ages.begin_to_wait(0);
        for _ in 0..100 {
            ages.sent(0, 65_536, 1);
        }
        assert_eq!(ages.of_waiting(0), OLDEST);
    }
}

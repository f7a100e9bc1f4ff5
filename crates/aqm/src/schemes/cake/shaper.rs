//! The shaper: lengths of packets on the link, and the times at which they may be sent (Linux: `cake_calc_overhead`,
//! `cake_set_rate`, `cake_advance_shaper`).

use crate::plumbing::packet::Packet;

/// Encapsulation that makes a packet longer in a way that depends on its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cells {
    /// None.
    None,
    /// ATM: cells of 53 bytes with a payload of 48 bytes (ADSL).
    Atm,
    /// PTM: one byte more for every 64 bytes or part of them (VDSL2). This is more than the encoding takes.
    Ptm,
}

/// Words of the option, in the order of tc-cake(8).
pub(super) const CELLS: &[&str] = &["noatm", "atm", "ptm"];

impl Cells {
    /// The encapsulation that one of [`CELLS`] stands for.
    pub(super) fn named(word: &str) -> Cells {
        match word {
            "atm" => Cells::Atm,
            "ptm" => Cells::Ptm,
            _ => Cells::None,
        }
    }
}

/// Length of a packet on the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Framing {
    /// True if the overhead is added to the IP packet; false if to the packet as queued, link-layer header included.
    pub from_ip: bool,
    /// Bytes added to each packet, -64 to 256 and 4 more for a VLAN tag.
    pub overhead: i64,
    /// Minimum length in bytes, overhead included.
    pub mpu: u32,
    /// Encapsulation of the packet with its overhead.
    pub cells: Cells,
}

impl Framing {
    /// Length in bytes of `packet` on the link.
    #[inline]
    pub(super) fn length<P: Packet>(&self, packet: &P) -> u32 {
        let counted = if self.from_ip { packet.ip_bytes() } else { packet.bytes() };
        let length = (i64::from(counted) + self.overhead).max(i64::from(self.mpu)) as u32;
        match self.cells {
            Cells::None => length,
            Cells::Atm => length.div_ceil(48) * 53,
            Cells::Ptm => length + length.div_ceil(64),
        }
    }
}

/// Time per byte at a rate, as a fraction of a power of two: transmission times without a division.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pace {
    ns: u64,
    shift: u32,
}

/// Bits of precision of [`Pace`].
const PRECISION: u32 = 34;
/// Least rate in bytes per second; a lower one counts as this.
const MIN_RATE: u64 = 64;

impl Pace {
    /// Pace at `rate` bytes per second; 0: no rate, packets take no time.
    pub(super) fn of(rate: u64) -> Pace {
        if rate == 0 {
            return Pace { ns: 0, shift: 0 };
        }
        let mut pace = Pace { ns: (1_000_000_000 << PRECISION) / rate.max(MIN_RATE), shift: PRECISION };
        while pace.ns >> PRECISION > 0 {
            pace.ns >>= 1;
            pace.shift -= 1;
        }
        pace
    }

    /// True if packets take time.
    #[inline]
    pub(super) fn is_limited(self) -> bool {
        self.ns > 0
    }

    /// Transmission time of `length` bytes in nanoseconds.
    #[inline]
    pub(super) fn time(self, length: u32) -> i64 {
        ((u64::from(length) * self.ns) >> self.shift) as i64
    }
}

/// Schedule of the queue as a whole.
///
/// Packets go out at the pace of the rate, without a burst after an idle period. In ingress mode dropped packets count
/// as well; the failsafe schedule, in which only sent packets count, one and a half times, keeps the queue from
/// stalling when most packets are dropped.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schedule {
    pace: Pace,
    next: i64,
    failsafe: i64,
}

impl Schedule {
    pub(super) fn new(pace: Pace) -> Schedule {
        Schedule { pace, next: 0, failsafe: 0 }
    }

    /// True if the queue has a rate.
    #[inline]
    pub(super) fn is_limited(&self) -> bool {
        self.pace.is_limited()
    }

    /// Starts the schedule at `now` if it lies behind. To be called when a packet arrives at an empty queue.
    #[inline]
    pub(super) fn refresh(&mut self, now: i64) {
        if self.next < now {
            self.next = now;
            self.failsafe = now;
        }
    }

    /// The time before which no packet may be sent, if it is after `now`.
    #[inline]
    pub(super) fn not_before(&self, now: i64) -> Option<i64> {
        let next = self.next.min(self.failsafe);
        (next > now).then_some(next)
    }

    /// Charges for `length` bytes that were sent or, in ingress mode, dropped.
    #[inline]
    pub(super) fn charge(&mut self, length: u32, dropped: bool) {
        let time = self.pace.time(length);
        self.next = self.next.wrapping_add(time);
        if !dropped {
            self.failsafe = self.failsafe.wrapping_add(time + (time >> 1));
        }
    }
}

/// Schedule of a tin, which shows whether the tin stays within its share of the rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct TinSchedule {
    pace: Pace,
    pub(super) next: i64,
}

impl TinSchedule {
    pub(super) fn new(pace: Pace) -> TinSchedule {
        TinSchedule { pace, next: 0 }
    }

    /// Starts the schedule at `now` if it lies behind. To be called when a packet arrives at an empty tin.
    #[inline]
    pub(super) fn refresh(&mut self, now: i64) {
        self.next = self.next.max(now);
    }

    /// Charges for `length` bytes at `now`. A tin that is ahead of its schedule for lack of competition loses no more
    /// than one packet's time by it.
    #[inline]
    pub(super) fn charge(&mut self, length: u32, now: i64) {
        let time = self.pace.time(length);
        if self.next < now {
            self.next = self.next.wrapping_add(time);
        } else {
            self.next = self.next.max(now.wrapping_add(time));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestPacket;

    fn framing(text: &str) -> Framing {
        let spec: crate::Spec = text.parse().expect("a specification");
        super::super::Config::from_options(spec.options()).framing
    }

    #[test]
    fn lengths_are_those_of_the_link() {
        // A pure ACK of 52 bytes and a full packet, behind an Ethernet header of 14 bytes.
        for (text, ack, full) in [
            ("cake", 66, 1514),
            ("cake overhead=0", 52, 1500),
            ("cake raw overhead=10", 76, 1524),
            ("cake ethernet", 90, 1538),
            ("cake ethernet ether-vlan", 94, 1542),
            ("cake ethernet mpu=120", 120, 1538),
            ("cake docsis", 70, 1518),
            ("cake conservative", 3 * 53, 33 * 53),
            ("cake pppoa-vcmux", 2 * 53, 32 * 53),
            ("cake bridged-ptm", 74 + 2, 1522 + 24),
            ("cake overhead=-64", 0, 1436),
        ] {
            let framing = framing(text);
            let length = |bytes| framing.length(&TestPacket::data(1, bytes));
            assert_eq!((length(66), length(1514)), (ack, full), "{text}");
        }
    }

    #[test]
    fn the_pace_is_that_of_the_rate() {
        for rate in [64, 1000, 300_000, 12_500_000, 1_250_000_000, 125_000_000_000] {
            let time = Pace::of(rate).time(15_140) as f64;
            let exact = 15_140e9 / rate as f64;
            assert!((time - exact).abs() <= 1.0 + exact * 1e-9, "{rate}: {time}");
        }
        assert_eq!(Pace::of(1), Pace::of(64));
        assert!(!Pace::of(0).is_limited());
    }

    #[test]
    fn dropped_packets_count_for_one_of_two_schedules() {
        let mut schedule = Schedule::new(Pace::of(1_000_000));
        schedule.refresh(5_000);
        assert_eq!(schedule.not_before(5_000), None);
        schedule.charge(1000, false);
        assert_eq!(schedule.not_before(5_000), Some(1_005_000));
        schedule.charge(1000, true);
        // The failsafe schedule: one packet, one and a half times.
        assert_eq!(schedule.not_before(5_000), Some(1_505_000));
    }
}

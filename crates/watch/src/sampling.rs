//! Sizes of the samples of connections, by the rate of their packets and by packets and attempts that were lost.

use crate::filter::{MAX_SAMPLE, Samples};

/// Rates of packets without SYN, FIN and RST, packets per second, between which their sample stays as it is: the upper one takes
/// about 2 % of a core.
const RATES: (u64, u64) = (5_000, 20_000);

/// Halvings of the sample of handshakes per second under pressure.
const STEP: u8 = 2;

/// Samples, and the packets since their last adjustment.
#[derive(Debug, Default)]
pub(crate) struct Sampling {
    samples: Samples,
    data: u64,
    others: u64,
    /// Rate of packets other than data in the latest second under pressure, packets per second: more than can be analysed.
    excessive: f64,
}

impl Sampling {
    pub(crate) fn samples(&self) -> Samples {
        self.samples
    }

    /// Counts a packet, which begins at its IP header.
    pub(crate) fn count(&mut self, packet: &[u8]) {
        if is_data(packet) {
            self.data += 1;
        } else {
            self.others += 1;
        }
    }

    /// Forgets the packets since the last adjustment.
    pub(crate) fn forget(&mut self) {
        (self.data, self.others) = (0, 0);
    }

    /// Adjusts the samples to the packets of the last `seconds`; returns whether they have changed. `pressure`: whether packets
    /// were missed or are analysed late, or attempts were forgotten.
    ///
    /// The sample of data follows the rate of data, and shrinks under pressure. The sample of handshakes shrinks only under
    /// pressure from handshakes, and grows again once its packets would be half as many as then.
    pub(crate) fn adjust(&mut self, seconds: f64, pressure: bool) -> bool {
        let before = self.samples;
        let (data, others) = (std::mem::take(&mut self.data), std::mem::take(&mut self.others));
        let Samples { handshakes, data: sample } = &mut self.samples;
        if pressure && others >= data {
            self.excessive = others as f64 / seconds;
            *handshakes = handshakes.saturating_add(STEP).min(MAX_SAMPLE);
        } else if !pressure {
            let mut rate = (others as f64 / seconds).max(1.0);
            while *handshakes > 0 && rate * 2.0 < self.excessive / 2.0 {
                *handshakes -= 1;
                rate *= 2.0;
            }
        }
        let rate = data as f64 / seconds;
        let (low, high) = RATES;
        if rate > high as f64 {
            let ratio = (rate / high as f64).ceil() as u64;
            let halvings = ratio.next_power_of_two().ilog2() as u8;
            *sample = sample.saturating_add(halvings).min(MAX_SAMPLE);
        } else if pressure && data > others {
            *sample = sample.saturating_add(1).min(MAX_SAMPLE);
        } else if rate < low as f64 {
            // One at a time: the next sample has up to twice as many packets.
            *sample = sample.saturating_sub(1);
        }
        *sample = (*sample).max(*handshakes);
        self.samples != before
    }
}

/// Whether a packet is a TCP segment without SYN, FIN and RST.
fn is_data(packet: &[u8]) -> bool {
    const TCP: u8 = 6;
    let (header, protocol) = match packet.first().map(|first| (first >> 4, usize::from(first & 0xf) * 4)) {
        Some((4, header)) => (header, packet.get(9)),
        Some((6, _)) => (40, packet.get(6)),
        _ => return false,
    };
    protocol == Some(&TCP) && packet.get(header + 13).is_some_and(|flags| flags & 0x07 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IPv4 packet with a TCP header with these flags.
    fn tcp(flags: u8) -> [u8; 40] {
        let mut packet = [0; 40];
        (packet[0], packet[9], packet[33]) = (0x45, 6, flags);
        packet
    }

    #[test]
    fn the_sample_of_data_follows_its_rate() {
        let mut sampling = Sampling::default();
        let mut rounds = Vec::new();
        // 1,000,000 packets per second of data, of which the sample is received; then 20,000.
        for offered in [1_000_000; 12].into_iter().chain([20_000; 12]) {
            (0..offered >> sampling.samples().data).for_each(|_| sampling.count(&tcp(0x10)));
            sampling.adjust(1.0, false);
            assert_eq!(sampling.samples().handshakes, 0);
            rounds.push(sampling.samples().data);
        }
        assert_eq!(rounds[..12], [6; 12]);
        assert_eq!(rounds[12..], [5, 4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2]);
    }

    #[test]
    fn a_flood_of_syns_that_is_analysed_changes_nothing() {
        let mut sampling = Sampling::default();
        (0..1_000_000).for_each(|_| sampling.count(&tcp(0x02)));
        assert!(!sampling.adjust(1.0, false));
        assert!(!is_data(&[]) && !is_data(&[0x45]) && !is_data(&[0x6f; 40]));
    }

    #[test]
    fn handshakes_are_sampled_until_all_of_the_sample_are_analysed() {
        let mut sampling = Sampling::default();
        let mut rounds = Vec::new();
        // A million SYNs per second for 12 s, then a thousand; 30,000 can be analysed.
        for offered in [1_000_000_u64; 12].into_iter().chain([1_000; 4]) {
            let arriving = offered >> sampling.samples().handshakes;
            (0..arriving.min(100_000)).for_each(|_| sampling.count(&tcp(0x02)));
            sampling.adjust(1.0, arriving > 30_000);
            let Samples { handshakes, data } = sampling.samples();
            assert!(data >= handshakes);
            rounds.push(handshakes);
        }
        // One in 64, 15,625; twice that would be half of the 62,500 that were too many.
        assert_eq!(rounds, [2, 4, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 0, 0, 0, 0]);
    }

    #[test]
    fn packets_missed_among_data_shrink_only_the_sample_of_data() {
        let mut sampling = Sampling::default();
        (0..10_000).for_each(|_| sampling.count(&tcp(0x10)));
        assert!(sampling.adjust(1.0, true));
        assert_eq!(sampling.samples(), Samples { handshakes: 0, data: 1 });
    }
}

//! Size of the sample of connections whose data is received, by the rate of that data.

use crate::filter::MAX_SAMPLE;

/// Rates of packets without SYN, FIN and RST, packets per second, between which the sample stays as it is: the upper one takes
/// about 2 % of a core.
const RATES: (u64, u64) = (5_000, 20_000);

/// Sample parameter: 1 in 2^`sample` connections.
#[derive(Debug, Default)]
pub(crate) struct Sampling {
    sample: u8,
    /// Data packets since the last adjustment.
    packets: u64,
}

impl Sampling {
    pub(crate) fn sample(&self) -> u8 {
        self.sample
    }

    /// Counts a packet, which begins at its IP header.
    pub(crate) fn count(&mut self, packet: &[u8]) {
        self.packets += u64::from(is_data(packet));
    }

    /// Adjusts the sample to the packets of the last `seconds`; returns whether it has changed.
    pub(crate) fn adjust(&mut self, seconds: f64) -> bool {
        let rate = std::mem::take(&mut self.packets) as f64 / seconds;
        let (low, high) = RATES;
        let before = self.sample;
        if rate > high as f64 {
            let ratio = (rate / high as f64).ceil() as u64;
            let halvings = ratio.next_power_of_two().ilog2() as u8;
            self.sample = before.saturating_add(halvings).min(MAX_SAMPLE);
        } else if rate < low as f64 {
            // One at a time: the next sample has up to twice as many packets.
            self.sample = before.saturating_sub(1);
        }
        self.sample != before
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
    fn the_sample_follows_the_rate_of_data() {
        let mut sampling = Sampling::default();
        let mut rounds = Vec::new();
        // 1,000,000 packets per second of data, of which the sample is received; then 20,000.
        for offered in [1_000_000; 12].into_iter().chain([20_000; 12]) {
            (0..offered >> sampling.sample()).for_each(|_| sampling.count(&tcp(0x10)));
            sampling.adjust(1.0);
            rounds.push(sampling.sample());
        }
        assert_eq!(rounds[..12], [6; 12]);
        assert_eq!(rounds[12..], [5, 4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2]);
    }

    #[test]
    fn a_flood_of_syns_does_not_change_the_sample() {
        let mut sampling = Sampling::default();
        (0..1_000_000).for_each(|_| sampling.count(&tcp(0x02)));
        assert!(!sampling.adjust(1.0));
        assert!(!is_data(&[]) && !is_data(&[0x45]) && !is_data(&[0x6f; 40]));
    }
}

//! Sources of packets at a constant bit rate: datagrams, and floods of SYNs.

use super::packet::Packet;
use gentle_experiment::{Consists, Direction, PacketTimes, Scenario};
use gentle_units::{Instant, Rate};

/// Source of packets at a constant bit rate.
pub(crate) struct CbrSource {
    /// Index of its workload in the scenario.
    workload: usize,
    direction: Direction,
    /// Index among the sources that send.
    number: u32,
    /// Length of each IP packet.
    ip_bytes: u32,
    /// Link-layer bytes added to each IP packet.
    overhead: u32,
    sent: u64,
    times: PacketTimes,
    flood: bool,
    /// Codepoint of its packets.
    dscp: u8,
    /// Number of their tunnel; 0: none.
    tunnel: u8,
    /// Number of their group from 1; 0: none.
    group: u8,
}

impl CbrSource {
    /// All sources of a scenario that send a packet with `seed`: an idle one leaves the numbers of the others, and of flows
    /// of datagrams, as they are. `groups` has the number of the group of each workload.
    pub(crate) fn all(scenario: &Scenario, seed: u64, groups: &[u8]) -> Vec<CbrSource> {
        let streams = scenario.streams(seed);
        let mut sources = Vec::new();
        for (index, workload) in scenario.workloads.iter().enumerate() {
            let Some(pace) = workload.traffic.pace() else {
                continue;
            };
            let (first, stream) = pace.draw(streams.workload(index));
            let end = pace.stop.map_or(Instant::NEVER, |stop| Instant::ZERO + stop);
            let end = end.min(scenario.stops_at());
            let times = PacketTimes::new(pace.rate, pace.bytes, pace.jitter, first, end, stream);
            if times.next_at().is_none() {
                continue;
            }
            sources.push(CbrSource {
                workload: index,
                direction: workload.direction,
                number: sources.len() as u32,
                ip_bytes: pace.bytes,
                overhead: scenario.link(workload.direction).overhead,
                sent: 0,
                times,
                flood: workload.traffic.consists() == Consists::Flood,
                dscp: workload.dscp,
                tunnel: workload.tunnel,
                group: groups[index],
            });
        }
        sources
    }

    /// Index of its workload in the scenario.
    pub(crate) fn workload(&self) -> usize {
        self.workload
    }

    /// The link that carries the packets.
    pub(crate) fn direction(&self) -> Direction {
        self.direction
    }

    /// Multiplies the rate by `factor` after the next packet, to at most `most`.
    pub(crate) fn scale(&mut self, factor: f64, most: Option<Rate>) {
        self.times.set_rate(self.times.rate().scaled(factor, most));
    }

    /// Time of the next packet; `None`: no more packets.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.times.next_at()
    }

    /// The next packet, from `host`.
    pub(crate) fn send(&mut self, host: u16) -> Packet {
        let number = self.sent;
        self.sent += 1;
        self.times.advance();
        let (direction, ip_bytes, overhead) = (self.direction, self.ip_bytes, self.overhead);
        let packet = if self.flood {
            Packet::flood(number, host, direction, ip_bytes, overhead)
        } else {
            Packet::udp(self.number, number, host, direction, ip_bytes, overhead)
        };
        let packet = packet.with_dscp(self.dscp).in_tunnel(self.tunnel);
        packet.in_group(self.group)
    }
}

//! Offered load of a scenario's links.

use super::Scenario;
use crate::direction::Direction;
use crate::traffic::{Long, Offering, Packets, Traffic};
use crate::workload::{Arrivals, IP_HEADER, Workload};

/// Length of a TCP header without options, bytes (RFC 9293, section 3.1).
const TCP_HEADER: u32 = 20;
/// Length of the timestamps option with padding, bytes (RFC 7323, appendix A).
const TIMESTAMPS: u32 = 12;

/// Number of seeds over which a load without a simple formula is averaged.
const DRAWS: u64 = 5;

/// Maximum number of connections drawn per seed: of longer schedules only the start is counted, so that a scenario of
/// any length starts without delay.
const MOST_DRAWN: u32 = 200_000;

impl Scenario {
    /// Offered load of the link of `direction` as a fraction of its rate at the start: data packets with all headers,
    /// counted once, without ACKs, handshakes and long-lived connections; users of dialogues as if answers came at once.
    pub fn load(&self, direction: Direction) -> f64 {
        let asked = (0..self.workloads.len()).map(|index| self.bits_per_second(index, direction));
        asked.sum::<f64>() / self.link(direction).rate.bits_per_second() as f64
    }

    /// The number of long-lived connections that send data in `direction`.
    pub fn long_flows(&self, direction: Direction) -> u64 {
        let flows = self.workloads.iter().map(|workload| match workload.traffic {
            Traffic::Long(Long { flows, .. }) if workload.direction == direction => u64::from(flows),
            _ => 0,
        });
        flows.sum()
    }

    /// Rough estimate of the bits that the links carry in a run: the offered load, at most one and a half times the rate;
    /// all of it with long-lived connections, which fill a link.
    pub fn expected_bits(&self) -> f64 {
        let bits = Direction::BOTH.map(|direction| {
            let load = match self.long_flows(direction) {
                0 => self.load(direction).min(1.5),
                _ => 1.0,
            };
            load * self.link(direction).rate.bits_per_second() as f64 * self.duration.as_secs_f64()
        });
        bits.iter().sum()
    }

    /// True if every seed starts the same connections.
    pub fn replays(&self) -> bool {
        self.workloads.iter().all(|workload| {
            let varied_rtt = workload.rtt.is_some_and(|(from, to)| from != to);
            workload.traffic.kind().repeats(varied_rtt)
        })
    }

    /// Mean offered load, bits per second, of the workload `index` on the link of `direction`.
    pub(super) fn bits_per_second(&self, index: usize, direction: Direction) -> f64 {
        let workload = &self.workloads[index];
        let kind = workload.traffic.kind();
        if workload.direction != direction && !kind.facts().both_ways {
            return 0.0;
        }
        let overhead = self.link(direction).overhead;
        let packets = packets(self, workload, overhead);
        kind.bits_per_second(&Offering {
            direction,
            workload_direction: workload.direction,
            duration: self.duration,
            overhead,
            mss: self.profile.mss,
            packets,
            drawn: &|| self.drawn(index, packets),
        })
    }

    /// Mean load of the connections that the workload `index` starts with a few seeds, bits per second.
    fn drawn(&self, index: usize, packets: Packets) -> f64 {
        let context = self.arrival_context();
        let drawn = (1..=DRAWS).map(|seed| {
            let rng = self.streams(seed).workload(index);
            let mut arrivals = Arrivals::new(&self.workloads[index], index, rng, &context);
            let (mut bytes, mut until) = (0.0, self.duration.as_secs_f64());
            for number in 1.. {
                let Some(arrival) = arrivals.next() else {
                    break;
                };
                bytes += packets.bytes_of(arrival.span) as f64;
                if number == MOST_DRAWN {
                    until = arrival.at.as_secs_f64();
                    break;
                }
            }
            8.0 * bytes / until.max(1e-9)
        });
        drawn.sum::<f64>() / DRAWS as f64
    }
}

/// Packets of the data of connections of `workload` on a link with this `overhead`.
fn packets(scenario: &Scenario, workload: &Workload, overhead: u32) -> Packets {
    let [_, profile] = scenario.profiles(workload);
    let timestamps = if profile.timestamps { TIMESTAMPS } else { 0 };
    Packets { payload: u64::from(profile.mss), headers: u64::from(overhead + IP_HEADER + TCP_HEADER + timestamps) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(name: &str) -> [f64; 2] {
        let scenario = Scenario::builtin(name).unwrap();
        Direction::BOTH.map(|direction| scenario.load(direction))
    }

    /// Braud, Heusse and Duda 2018 report 88 % and 95 %. The values here include all headers and use the means of the
    /// truncated distributions.
    #[test]
    fn the_types_of_the_paper_have_its_load() {
        for (name, expected) in [("real", 0.872), ("10m", 0.978)] {
            let [down, up] = load(name);
            assert!((down - expected).abs() < 0.001, "{name}: {down}");
            assert_eq!(up, 0.0);
        }
        let reverse = Scenario::builtin("real-reverse").unwrap();
        assert_eq!(reverse.load(Direction::Up), 0.0);
        assert_eq!(reverse.long_flows(Direction::Up), 1);
        assert_eq!(reverse.long_flows(Direction::Down), 0);
    }

    fn one_workload(workload: &str) -> Scenario {
        let text = format!(
            "duration = \"100s\"\n[link.down]\nrate = \"1mbit\"\n[link.up]\nrate = \"1mbit\"\n[[workload]]\n{workload}"
        );
        let list = "start_s,bytes,direction\n0,14480,\n1,1448,up\n200,1448,\n";
        Scenario::from_toml("x.toml", &text, &|_| Ok(list.to_owned())).unwrap()
    }

    #[test]
    fn every_kind_of_traffic_is_counted() {
        let down = |text: &str| one_workload(text).load(Direction::Down);
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        // One connection of two packets of 1514 bytes per second.
        close(down("kind = \"poisson\"\ngap = \"1s\"\nsize = { segments = 2 }"), 8.0 * 2.0 * 1514.0 / 1e6);
        // Half of the time, with Ethernet headers.
        close(down("kind = \"udp\"\nrate = \"500kbit\"\npacket = 500\nstart = \"50s\""), 0.25 * 514.0 / 500.0);
        close(down("kind = \"long\"\nflows = 3"), 0.0);
        // Three users, one download of two packets of 1514 bytes per second each.
        close(
            down("kind = \"on_off\"\nusers = 3\noff = \"1s\"\nsize = { segments = 2 }"),
            3.0 * 8.0 * 2.0 * 1514.0 / 1e6,
        );
        // Ten packets within 100 s; one flow uses the reverse link, one starts too late.
        let listed = one_workload("kind = \"replay\"\nfile = \"x.csv\"");
        close(listed.load(Direction::Down), 8.0 * 15_140.0 / 100.0 / 1e6);
        close(listed.load(Direction::Up), 8.0 * 1_514.0 / 100.0 / 1e6);
        let web = down(
            "kind = \"web\"\nsessions = 40\nsession_gap = \"1s\"\npages = 4\npage_gap = \"1s\"\nobjects = 3\nobject_gap = \"100ms\"\nsize = { segments = 1 }",
        );
        // Means of rounded-up exponentials: 4.52 pages of 3.53 objects. All sessions end in time.
        let expected = 40.0 * 4.52 * 3.53 * 1514.0 * 8.0 / 100.0 / 1e6;
        assert!((web / expected - 1.0).abs() < 0.15, "{web} {expected}");
        // 10^9 pages per second without end, which a file cannot request: only the start is counted.
        let mut endless = one_workload(
            "kind = \"web\"\nsessions = 1\nsession_gap = \"1ns\"\npages = 1\npage_gap = \"1ns\"\nobjects = 1\nobject_gap = \"1ns\"\nsize = { segments = 1 }",
        );
        if let Traffic::Web(web) = &mut endless.workloads[0].traffic {
            (web.sessions, web.pages) = (1_000_000, 1e6);
        }
        let endless = endless.load(Direction::Down);
        assert!(endless.is_finite() && endless > 1e6, "{endless}");
    }

    #[test]
    fn arrivals_drawn_for_each_seed_are_no_replay() {
        for (workload, replayed) in [
            ("kind = \"poisson\"\ngap = \"1s\"\nsize = { segments = 2 }", false),
            ("kind = \"long\"\nflows = 3", true),
            ("kind = \"long\"\nflows = 3\nstart = [\"0s\", \"1s\"]", false),
            ("kind = \"udp\"\nrate = \"1kbit\"", false),
            ("kind = \"udp\"\nrate = \"1kbit\"\njitter = 0", true),
            ("kind = \"udp\"\nrate = \"1kbit\"\njitter = 0\nstart = [\"0s\", \"1s\"]", false),
            ("kind = \"replay\"\nfile = \"x.csv\"", true),
            ("kind = \"replay\"\nfile = \"x.csv\"\nrtt = [\"0s\", \"1s\"]", false),
        ] {
            assert_eq!(one_workload(workload).replays(), replayed, "{workload}");
        }
    }
}

//! Turns of hosts: deficit round robin between those that have packets in a queue, in a small table.

use crate::laws::drr::Drr;
use crate::plumbing::flow_hash::FlowHash;
use crate::plumbing::options::{Kind, OptionSpec, Options};
use crate::plumbing::packet::Packet;

/// Hosts that may have packets in the queue at the same time; more share places.
pub(crate) const HOSTS: usize = 64;

/// Places of the table at which a host may be.
const WAYS: usize = 8;

/// Bytes that a host may send in a turn: a full frame.
const QUANTUM: u32 = 1514;

pub(crate) const OPTION: OptionSpec = OptionSpec {
    name: "hosts",
    kind: Kind::Choice(&["none", "src", "dst"]),
    default: Some("none"),
    help: "divide the link equally between hosts, by source or destination address, and only then by age",
};

/// The hosts that have packets, in the order of their turns. A host has a place, 0 to [`HOSTS`] - 1.
#[derive(Debug)]
pub(crate) struct HostTurns {
    by_source: bool,
    hash: FlowHash,
    tags: [u32; HOSTS],
    drr: Drr,
}

impl HostTurns {
    /// The turns requested by the option [`OPTION`]; `None`: all packets count as packets of one host.
    pub(crate) fn new(options: &Options, hash: FlowHash) -> Option<HostTurns> {
        let by_source = match options.choice(OPTION.name) {
            "src" => true,
            "dst" => false,
            _ => return None,
        };
        Some(HostTurns { by_source, hash, tags: [0; HOSTS], drr: Drr::new(HOSTS as u32, QUANTUM) })
    }

    /// The place of the host of `packet`. A host without a place gets one that no host uses or, if its set has none,
    /// shares the one that its hash stands for. A shared place keeps the tag of the host that was there first.
    pub(crate) fn find<P: Packet>(&mut self, packet: &P) -> usize {
        let hosts = packet.hosts();
        let host = match self.by_source {
            true => hosts.source,
            false => hosts.destination,
        };
        let hash = self.hash.value(host);
        let own = hash as usize % HOSTS;
        let set = own - own % WAYS..own - own % WAYS + WAYS;
        let known = set.clone().find(|place| self.tags[*place] == hash);
        known.unwrap_or_else(|| {
            let free = set.clone().find(|place| !self.drr.is_listed(*place));
            if let Some(place) = free {
                self.tags[place] = hash;
            }
            free.unwrap_or(own)
        })
    }

    /// Gives the host at `place` a turn: a packet of it is queued.
    pub(crate) fn activate(&mut self, place: usize) {
        self.drr.activate(place);
    }

    /// The place of the host whose turn it is, if any has packets: `has_packets` says so for a place.
    pub(crate) fn current(&mut self, has_packets: impl Fn(usize) -> bool) -> Option<usize> {
        while let Some(place) = self.drr.current() {
            if has_packets(place) {
                return Some(place);
            }
            self.drr.deactivate();
        }
        None
    }

    /// The host at `place` has sent a packet of `bytes`.
    pub(crate) fn sent(&mut self, place: usize, bytes: u32) {
        self.drr.charge(place, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plumbing::spec::Spec;
    use crate::testing::TestPacket;

    /// The place of the host of a packet that is queued.
    fn enter(turns: &mut HostTurns, packet: &TestPacket) -> usize {
        let place = turns.find(packet);
        turns.activate(place);
        place
    }

    fn turns(spec: &str) -> HostTurns {
        let spec: Spec = spec.parse().unwrap();
        HostTurns::new(spec.options(), FlowHash::seeded(1)).unwrap()
    }

    #[test]
    fn the_option_says_which_address_is_the_host() {
        let packets = [(1, 9), (2, 9), (1, 8)]
            .map(|(source, destination)| TestPacket::data(source, 100).between(source, destination));
        let mut by_source = turns("gentle hosts=src");
        let [a, b, c] = packets.map(|packet| enter(&mut by_source, &packet));
        assert!(a != b && a == c);
        let mut by_destination = turns("gentle hosts=dst");
        let [a, b, c] = packets.map(|packet| enter(&mut by_destination, &packet));
        assert!(a == b && a != c);
    }

    #[test]
    fn a_host_keeps_its_place_while_it_has_packets_and_a_full_set_is_shared() {
        let mut turns = turns("gentle hosts=src");
        let mut places: Vec<usize> =
            (0..400).map(|host| enter(&mut turns, &TestPacket::data(0, 100).between(host, 0))).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places, (0..HOSTS).collect::<Vec<_>>());
        // Once all have run empty, nine hosts of one set get eight places.
        assert_eq!(turns.current(|_| false), None);
        let hash = turns.hash;
        let of_first_set = (0..).filter(|host| hash.value(*host) as usize % HOSTS < WAYS);
        let hosts: Vec<u64> = of_first_set.take(WAYS + 1).collect();
        let mut enter = |host| enter(&mut turns, &TestPacket::data(0, 100).between(host, 0));
        let places: Vec<usize> = hosts.iter().map(|host| enter(*host)).collect();
        assert_eq!(places[..WAYS], [0, 1, 2, 3, 4, 5, 6, 7]);
        let shared = hash.value(hosts[WAYS]) as usize % HOSTS;
        assert_eq!(places[WAYS], shared);
        assert_eq!(enter(hosts[shared]), shared, "a host keeps its place");
    }

    #[test]
    fn hosts_send_equal_bytes_in_turn() {
        let mut turns = turns("gentle hosts=src");
        let places = [1, 2].map(|host| enter(&mut turns, &TestPacket::data(0, 100).between(host, 0)));
        let mut sent = [0; 2];
        for _ in 0..10_000 {
            let place = turns.current(|_| true).unwrap();
            let host = usize::from(place == places[1]);
            let bytes = [1514, 100][host];
            turns.sent(place, bytes);
            sent[host] += bytes;
        }
        assert!(sent[0].abs_diff(sent[1]) <= 2 * QUANTUM, "{sent:?}");
    }
}

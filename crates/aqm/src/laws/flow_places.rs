//! Places of flows in a table of fixed size: sets of eight places with tags, so that two flows share a place only where
//! all eight of a set are in use. A flow whose packets wait never moves, so that its packets stay in order.

use crate::plumbing::flow_hash::FlowHash;

/// Places of a set.
const WAYS: usize = 8;

/// The place of a flow, and whether the flow has just got it: what was known of the flow before it is then forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) index: usize,
    pub(crate) new: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    /// Part of the hash of the flow to which the place belongs.
    tag: u16,
    /// Packets of other flows wait there as well: of those whose hash stands for the place.
    shared: bool,
    /// Some of these are of other hosts than the place's.
    mixed: bool,
}

/// Which flow has which place.
#[derive(Debug)]
pub(crate) struct FlowPlaces {
    hash: FlowHash,
    slots: Box<[Slot]>,
    /// Places of a set for which hashes stand.
    homes: usize,
}

impl FlowPlaces {
    /// A table for `flows` flows, at least one, rounded up to whole sets. If there are `hosts`, hashes stand for half of the
    /// places: a host in a crowd leaves the others to other hosts.
    pub(crate) fn new(flows: u32, hosts: bool, hash: FlowHash) -> FlowPlaces {
        let flows = (flows as usize).max(1).next_multiple_of(WAYS);
        FlowPlaces {
            hash,
            homes: if hosts { WAYS / 2 } else { WAYS },
            slots: vec![Slot::default(); flows].into_boxed_slice(),
        }
    }

    /// Number of places.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The place of a packet of `flow`. `age_if_idle` has the age of the flow at a place where no packet waits, and `None`
    /// for other places; a flow without a place takes the one that forgets least. In a crowd a flow takes only the place for
    /// which its hash stands: else many flows of a packet each would use every place. `is_of_host` says whether the packets
    /// that wait at a place are of the flow's host.
    #[inline]
    pub(crate) fn place(
        &mut self,
        flow: u64,
        crowd: bool,
        age_if_idle: impl Fn(usize) -> Option<u64>,
        is_of_host: impl Fn(usize) -> bool,
    ) -> Place {
        let hash = self.hash.value(flow);
        let index = ((u64::from(hash) * self.slots.len() as u64) >> 32) as usize;
        let home = index - index % WAYS + index % self.homes;
        let tag = hash as u16;
        let known = |index| Place { index, new: false };
        if self.slots[home].tag == tag {
            return known(home);
        }
        let start = home - home % WAYS;
        let set = &mut self.slots[start..start + WAYS];
        if let Some(way) = set.iter().position(|slot| slot.tag == tag) {
            return known(start + way);
        }
        let slot = set[home - start];
        if slot.mixed || (slot.shared && is_of_host(home)) {
            return known(home); // Packets of this flow may wait there.
        }
        let mut least = None;
        for way in 0..WAYS {
            let index = start + (home + way) % WAYS;
            if crowd && index != home {
                break;
            }
            if let Some(age) = age_if_idle(index)
                && least.is_none_or(|(_, found)| age < found)
            {
                least = Some((index, age));
            }
        }
        match least {
            Some((index, _)) => {
                self.slots[index].tag = tag;
                Place { index, new: true }
            }
            None => {
                self.slots[home].shared = true;
                self.slots[home].mixed |= !is_of_host(home);
                known(home)
            }
        }
    }

    /// No packet waits at the place `index` any more.
    #[inline]
    pub(crate) fn emptied(&mut self, index: usize) {
        self.slots[index].shared = false;
        self.slots[index].mixed = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> FlowPlaces {
        FlowPlaces::new(64, false, FlowHash::seeded(1))
    }

    /// Flows whose hash stands for the first place, with different tags.
    fn of_first_place(places: &FlowPlaces, count: usize) -> Vec<u64> {
        let of_first = |flow: &u64| places.hash.value(*flow) >> (32 - 6) == 0;
        (0..).filter(of_first).take(count).collect()
    }

    #[test]
    fn eight_flows_of_one_hash_have_a_place_each_and_the_ninth_shares() {
        let mut places = places();
        let flows = of_first_place(&places, 10);
        let mut waiting = [false; 64];
        let mut found = Vec::new();
        for flow in &flows {
            let place = places.place(*flow, false, |index| (!waiting[index]).then_some(0), |_| true);
            waiting[place.index] = true;
            found.push((place.index, place.new));
        }
        let own: Vec<_> = (0..8).map(|index| (index, true)).collect();
        assert_eq!(found[..8], own);
        assert_eq!(found[8..], [(0, false), (0, false)]);
        // One that shares stays where it is, though a place has become free, until no packet waits there.
        waiting[3] = false;
        let again = |places: &mut FlowPlaces| {
            let place = places.place(flows[9], false, |index| (!waiting[index]).then_some(0), |_| true);
            (place.index, place.new)
        };
        assert_eq!(again(&mut places), (0, false));
        places.emptied(0);
        assert_eq!(again(&mut places), (3, true));
    }

    #[test]
    fn the_place_that_is_taken_is_of_the_youngest() {
        let mut places = places();
        let flows = of_first_place(&places, 9);
        for (age, flow) in flows[..8].iter().enumerate() {
            let index = places.place(*flow, false, |index| (index == age).then_some(0), |_| true);
            assert_eq!(index, Place { index: age, new: true });
        }
        let ages = [50, 60, 40, 30, 10, 20, 70, 80];
        let place = places.place(flows[8], false, |index| Some(ages[index]), |_| true);
        assert_eq!(place, Place { index: 4, new: true });
    }

    #[test]
    fn in_a_crowd_a_flow_has_its_own_place_or_shares_it() {
        let mut places = places();
        let flows = of_first_place(&places, 2);
        assert!(places.place(flows[0], true, |_| Some(0), |_| true).new);
        let idle_but_first = |index| (index != 0).then_some(0);
        let place = places.place(flows[1], true, idle_but_first, |_| true);
        assert_eq!(place, Place { index: 0, new: false });
    }

    #[test]
    fn a_flow_does_not_share_what_flows_of_another_host_share() {
        let mut places = FlowPlaces::new(64, true, FlowHash::seeded(1));
        let flows = of_first_place(&places, 12);
        // A host in a crowd, all of whose flows are at the first place.
        for flow in &flows[..2] {
            let place = places.place(*flow, true, |index| (index != 0).then_some(0), |_| true);
            assert_eq!(place.index, 0);
        }
        // Flows of another host get the other places, and share one only when all are in use.
        let mut waiting = [true, false, false, false, false, false, false, false];
        for (number, flow) in flows[2..10].iter().enumerate() {
            let place = places.place(*flow, false, |index| (!waiting[index]).then_some(0), |index| index != 0);
            assert_eq!(place.index == 0, number == 7);
            waiting[place.index] = true;
        }
        // A flow that shares a place stays there as long as packets wait there.
        waiting[3] = false;
        let free = |index: usize| (!waiting[index]).then_some(0);
        assert_eq!(places.place(flows[9], false, free, |index| index != 0).index, 0);
        places.emptied(0);
        assert_eq!(places.place(flows[9], false, free, |index| index != 0).index, 3);
    }
}

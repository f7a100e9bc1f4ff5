//! Filters of one parent, in an order in which they can be created.

use super::actions;
use super::kinds::{self, CLSACT, WITH_OWN_CLASSES};
use super::u32_tables;
use crate::netlink::{Netlink, NetlinkError, Object, TcMessage, tca};

/// Parents of the filters of `clsact` (`TC_H_MIN_INGRESS`, `TC_H_MIN_EGRESS`).
const CLSACT_INGRESS: u32 = 0xffff_fff2;
const CLSACT_EGRESS: u32 = 0xffff_fff3;

/// Filters of one parent as dumped.
pub(super) struct Filters {
    pub(super) parent: u32,
    /// One message for each preference in each chain.
    pub(super) preferences: Vec<TcMessage>,
    /// Filters and `u32` tables.
    pub(super) set: Vec<TcMessage>,
    pub(super) chains: Vec<TcMessage>,
}

/// Parents among these qdiscs and classes that can have filters.
pub(super) fn parents(dumped: &[(Object, TcMessage)]) -> Vec<u32> {
    let with_filters = dumped.iter().filter(|(object, message)| match object {
        Object::Qdisc => message.handle != 0,
        _ => WITH_OWN_CLASSES.contains(&message.kind().as_str()),
    });
    with_filters
        .map(|(_, message)| match message.kind().as_str() {
            CLSACT => CLSACT_INGRESS,
            _ => message.handle,
        })
        .collect()
}

/// The other side of a `clsact` whose incoming side is `parent`; `None` for other parents.
pub(super) fn other_side(parent: u32) -> Option<u32> {
    (parent == CLSACT_INGRESS).then_some(CLSACT_EGRESS)
}

impl Filters {
    pub(super) fn read(netlink: &mut Netlink, ifindex: u32, parent: u32) -> Result<Filters, NetlinkError> {
        let query = TcMessage::about(ifindex, parent);
        let filters = netlink.list(Object::Filter, &query)?;
        let (set, preferences) = filters.into_iter().partition(|filter| filter.attribute(tca::OPTIONS).is_some());
        let chains = match netlink.list(Object::Chain, &query) {
            // Linux before 4.19 has no separate chains.
            Err(NetlinkError::Refused { .. }) => Vec::new(),
            chains => chains?,
        };
        Ok(Filters { parent, preferences, set, chains })
    }

    /// Filters in an order in which the kernel gives them their present places and numbers.
    pub(super) fn in_order(&self) -> Vec<TcMessage> {
        let same = |a: &TcMessage, b: &TcMessage| (a.chain(), a.info) == (b.chain(), b.info);
        let mut groups: Vec<Vec<TcMessage>> = self.set.chunk_by(same).map(<[_]>::to_vec).collect();
        for group in &mut groups {
            let newest_first = |known: &kinds::Classifier| known.newest_first;
            if kinds::classifier(&group[0].kind()).is_some_and(newest_first) {
                group.reverse();
            }
            // Filters refer to tables; a dump begins with the newest table.
            let (mut tables, filters): (Vec<_>, Vec<_>) = group.drain(..).partition(u32_tables::is_table);
            tables.reverse();
            group.extend(tables.into_iter().chain(filters));
        }
        let chains = self.chain_order();
        let place = |group: &[TcMessage]| chains.iter().position(|chain| *chain == group[0].chain());
        let root = |group: &[TcMessage]| {
            let mut roots = group.iter().filter(|filter| u32_tables::is_root(filter));
            roots.next().map(|root| root.handle)
        };
        // Root tables are numbered, and chains listed, in the order of their creation.
        let (mut numbered, mut others): (Vec<_>, Vec<_>) = groups.into_iter().partition(|group| root(group).is_some());
        numbered.sort_by_key(|group| root(group));
        let mut ordered = Vec::new();
        for group in numbered {
            let last = place(&group);
            ordered.extend(others.extract_if(.., |other| place(other) <= last));
            ordered.push(group);
        }
        ordered.extend(others);
        ordered.into_iter().flatten().collect()
    }

    /// Indices of the devices to which the filters redirect packets.
    pub(super) fn targets(&self) -> Vec<u32> {
        let actions = self.set.iter().flat_map(actions::of);
        actions.filter_map(|action| action.redirects_to()).collect()
    }

    /// Numbers of the chains that have filters, in the order of the dump.
    pub(super) fn chain_order(&self) -> Vec<u32> {
        let mut chains: Vec<u32> = Vec::new();
        for filter in &self.set {
            if !chains.contains(&filter.chain()) {
                chains.push(filter.chain());
            }
        }
        chains
    }
}

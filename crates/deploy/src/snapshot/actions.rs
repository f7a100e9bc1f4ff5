//! Actions of filters: `TCA_ACT_*` within the options of a filter (`linux/pkt_cls.h`).

use super::kinds::{self, MIRRED};
use crate::netlink::{Attribute, TcMessage, find};
use gentle_netlink::text;
use netlink_packet_core::NLA_F_NESTED;
use std::ops::Range;

const KIND: u16 = 1;
const OPTIONS: u16 = 2;
const STATS: u16 = 4;
const COOKIE: u16 = 6;
const FLAGS: u16 = 7;
const HW_STATS: u16 = 8;

/// Bytes of the index in every structure of parameters.
const INDEX: Range<usize> = 0..4;

/// Bytes of the interface index in `struct tc_mirred`: after `tc_gen` and the kind of redirection.
const MIRRED_TO: Range<usize> = 24..28;

/// Action as dumped.
pub(super) struct Dumped {
    pub(super) kind: String,
    attributes: Vec<Attribute>,
}

/// Actions of a filter in the order of their execution.
pub(super) fn of(filter: &TcMessage) -> Vec<Dumped> {
    let Some(classifier) = kinds::classifier(&filter.kind()) else {
        return Vec::new();
    };
    let options = filter.options();
    let list = find(&options, classifier.actions).unwrap_or_default();
    let actions = Attribute::all(list).into_iter();
    actions
        .map(|action| {
            let attributes = Attribute::all(&action.value);
            let kind = find(&attributes, KIND).map(text).unwrap_or_default();
            Dumped { kind, attributes }
        })
        .collect()
}

impl Dumped {
    /// Statistics, as nested attributes.
    pub(super) fn statistics(&self) -> Vec<Attribute> {
        Attribute::all(find(&self.attributes, STATS).unwrap_or_default())
    }

    /// Number of the action among the actions of its kind in the network namespace; `None` if the kind is unknown.
    pub(super) fn index(&self) -> Option<u32> {
        self.word(INDEX)
    }

    /// Interface index to which a `mirred` action redirects.
    pub(super) fn redirects_to(&self) -> Option<u32> {
        (self.kind == MIRRED).then(|| self.word(MIRRED_TO)).flatten()
    }

    /// Whether other filters use the action too, or it was created without a filter: its counts of references and of
    /// filters are 1 otherwise.
    pub(super) fn is_shared(&self) -> bool {
        let known = kinds::action(&self.kind);
        let counts = known.and_then(|known| {
            let start = known.counts.start;
            Some((self.word(start..start + 4)?, self.word(start + 4..start + 8)?))
        });
        counts.is_some_and(|counts| counts != (1, 1))
    }

    fn word(&self, range: Range<usize>) -> Option<u32> {
        let known = kinds::action(&self.kind)?;
        let options = Attribute::all(find(&self.attributes, OPTIONS)?);
        let parameters = known.parameters.iter();
        let value = parameters.filter_map(|kind| find(&options, *kind)).next()?;
        Some(u32::from_ne_bytes(value.get(range)?.try_into().ok()?))
    }
}

/// Removes what changes while packets pass or other filters come and go: statistics, times, counts of references.
pub(super) fn strip(filter: &mut TcMessage) {
    change(filter, |action| {
        action.retain(|part| [KIND, OPTIONS, COOKIE, FLAGS, HW_STATS].contains(&part.kind()));
    });
    change_parameters(filter, |known, parameters| {
        if let Some(counts) = parameters.get_mut(known.counts.clone()) {
            counts.fill(0);
        }
    });
    change_options(filter, |known, options| {
        options.retain(|part| !known.volatile.contains(&part.kind()));
    });
}

/// Sets the flag that marks the options of each action as nested attributes: some kinds, such as `ctinfo`, are dumped
/// without it and not accepted without.
pub(super) fn flag_options_as_nested(filter: &mut TcMessage) {
    change(filter, |action| {
        for part in action.iter_mut().filter(|part| part.kind() == OPTIONS) {
            part.raw_kind |= NLA_F_NESTED;
        }
    });
}

/// Changes the indices of the actions, except actions of unknown kinds.
pub(super) fn renumber(filter: &mut TcMessage, number: impl Fn(&str, u32) -> u32) {
    change_parameters(filter, |known, parameters| {
        if let Some(index) = parameters.first_chunk_mut() {
            *index = number(known.kind, u32::from_ne_bytes(*index)).to_ne_bytes();
        }
    });
}

/// Changes the interface indices to which `mirred` actions redirect.
pub(super) fn redirect(filter: &mut TcMessage, to: impl Fn(u32) -> u32) {
    change_parameters(filter, |known, parameters| {
        let place = parameters.get_mut(MIRRED_TO).filter(|_| known.kind == MIRRED);
        if let Some(place) = place
            && let Ok(index) = <[u8; 4]>::try_from(&*place)
        {
            place.copy_from_slice(&to(u32::from_ne_bytes(index)).to_ne_bytes());
        }
    });
}

fn change_parameters(filter: &mut TcMessage, change: impl Fn(&kinds::Action, &mut [u8])) {
    change_options(filter, |known, options| {
        for part in options {
            if known.parameters.contains(&part.kind()) {
                change(known, &mut part.value);
            }
        }
    });
}

/// Modifies the options of each action of a known kind.
fn change_options(filter: &mut TcMessage, modify: impl Fn(&kinds::Action, &mut Vec<Attribute>)) {
    change(filter, |action| {
        let kind = find(action, KIND).map(text).unwrap_or_default();
        let Some(known) = kinds::action(&kind) else {
            return;
        };
        for part in action.iter_mut().filter(|part| part.kind() == OPTIONS) {
            part.change_nested(|options| modify(known, options));
        }
    });
}

/// Modifies the attributes of each action.
fn change(filter: &mut TcMessage, modify: impl Fn(&mut Vec<Attribute>)) {
    let Some(classifier) = kinds::classifier(&filter.kind()) else {
        return;
    };
    filter.change_options(|options| {
        for list in options.iter_mut() {
            if list.kind() == classifier.actions {
                list.change_nested(|actions| {
                    for action in actions {
                        action.change_nested(&modify);
                    }
                });
            }
        }
    });
}

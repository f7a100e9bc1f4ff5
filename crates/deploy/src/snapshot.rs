//! What is set up on a device, as the kernel tells it and takes it back.

use crate::netlink::{INGRESS, Netlink, NetlinkError, Object, ROOT, TcMessage};
use crate::netlink::{format_handle, tca};
use serde::{Deserialize, Serialize};

/// The qdiscs, classes and filters of one direction of a device, in an order in which they can be made.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Snapshot {
    objects: Vec<(Object, TcMessage)>,
}

/// Which packets pass the objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Those that leave.
    Root,
    /// Those that arrive.
    Ingress,
}

impl Side {
    fn parent(self) -> u32 {
        match self {
            Side::Root => ROOT,
            Side::Ingress => INGRESS,
        }
    }
}

/// Qdiscs whose classes are made one by one; of others they come with the qdisc.
const WITH_OWN_CLASSES: [&str; 5] = ["htb", "hfsc", "drr", "qfq", "cbq"];

/// Qdiscs that need a table which the kernel keeps to itself (`TCA_RED_STAB`), so that they cannot be told to it again.
const WITH_HIDDEN_PARTS: [&str; 4] = ["red", "choke", "gred", "redfavor"];

/// The name of an action among the options of a filter, whose rate table is not told either (`TCA_POLICE_RATE`).
const POLICE: &[u8] = b"police\0";

/// Tables that a `u32` filter makes by itself have a handle with this bit.
const OWN_TABLE: u32 = 1 << 31;

/// Parts of options that change while a qdisc or filter works: by kind, `TCA_RED_MAX_P`, and of `u32` the policer, the
/// actions, the counters, and padding that only aligns a message.
const MOVING_PARTS: [(&str, &[u16]); 2] = [("red", &[3]), ("u32", &[6, 7, 9, 12])];

impl Snapshot {
    pub(crate) fn take(
        netlink: &mut Netlink,
        ifindex: u32,
        side: Side,
    ) -> Result<Snapshot, NetlinkError> {
        let mut all = Tree {
            qdiscs: netlink.list(Object::Qdisc, &TcMessage::about(ifindex, 0))?,
            classes: netlink.list(Object::Class, &TcMessage::about(ifindex, 0))?,
        };
        let mut snapshot = Snapshot::default();
        let roots: Vec<TcMessage> = all.take_qdiscs(|qdisc| qdisc.parent == side.parent());
        for root in roots {
            all.descend(root, &mut snapshot.objects);
        }
        let parents: Vec<u32> = snapshot
            .of(Object::Qdisc)
            .map(|qdisc| qdisc.handle)
            .filter(|handle| *handle != 0)
            .collect();
        for parent in parents {
            let filters = netlink.list(Object::Filter, &TcMessage::about(ifindex, parent))?;
            let set = filters.iter().filter(|filter| {
                let own_table = filter.kind() == "u32"
                    && filter.handle & OWN_TABLE != 0
                    && filter.handle & 0x000f_ffff == 0;
                filter.attribute(tca::OPTIONS).is_some() && !own_table
            });
            let set = set.map(|filter| accepted(Object::Filter, filter));
            snapshot.objects.extend(set);
        }
        Ok(snapshot)
    }

    fn of(&self, object: Object) -> impl Iterator<Item = &TcMessage> {
        let objects = self.objects.iter().filter(move |(kind, _)| *kind == object);
        objects.map(|(_, message)| message)
    }

    /// The qdisc on top, unless it is the one that the device came with.
    pub(crate) fn top(&self) -> Option<&TcMessage> {
        self.of(Object::Qdisc).next().filter(|top| top.handle != 0)
    }

    /// Its name and handle, for messages.
    pub(crate) fn describe_top(&self) -> Option<String> {
        self.top()
            .map(|top| format!("{} {}", top.kind(), format_handle(top.handle)))
    }

    /// The first part that the kernel does not tell all of.
    pub(crate) fn hidden_part(&self) -> Option<String> {
        let policed = self.of(Object::Filter).any(|filter| {
            let options = filter.attribute(tca::OPTIONS).unwrap_or_default();
            options.windows(POLICE.len()).any(|part| part == POLICE)
        });
        self.of(Object::Qdisc)
            .map(TcMessage::kind)
            .find(|kind| WITH_HIDDEN_PARTS.contains(&kind.as_str()))
            .or_else(|| policed.then(|| "a policer".to_owned()))
    }

    /// What does not change while packets pass: equal before and after, nothing was set up anew.
    pub(crate) fn settled(&self) -> Snapshot {
        let mut settled = self.clone();
        for (_, message) in &mut settled.objects {
            // An intermediate device that is made again has another number.
            message.ifindex = 0;
            let kind = message.kind();
            let Some((_, moving)) = MOVING_PARTS.iter().find(|(name, _)| *name == kind) else {
                continue;
            };
            message.change_options(|parts| parts.retain(|part| !moving.contains(&part.kind())));
        }
        settled
    }

    /// Makes all of it again on a device that has the qdisc it came with.
    pub(crate) fn restore(&self, netlink: &mut Netlink) -> Result<(), NetlinkError> {
        if self.top().is_none() {
            return Ok(());
        }
        self.objects
            .iter()
            .try_for_each(|(object, message)| netlink.create(*object, message))
    }
}

/// Attributes of 32-bit numbers that the kernel tells in another way than it accepts them.
const MENDED: [(&str, u16, Mend); 4] = [
    // `TCA_HTB_INIT`: all of the version, of which `htb_init` accepts the upper half; at the end, packets that no class
    // took.
    ("htb", 2, Mend::HtbInit),
    // `TCA_U32_FLAGS`, `TCA_FLOWER_FLAGS`, `TCA_MATCHALL_FLAGS`: whether it is in hardware, besides where it should be.
    ("u32", 11, Mend::FilterFlags),
    ("flower", 22, Mend::FilterFlags),
    ("matchall", 3, Mend::FilterFlags),
];

#[derive(Clone, Copy)]
enum Mend {
    HtbInit,
    FilterFlags,
}

/// `TCA_CLS_FLAGS_SKIP_HW` and `TCA_CLS_FLAGS_SKIP_SW`.
const FILTER_FLAGS: u32 = 3;

impl Mend {
    fn apply(self, value: &mut [u8]) {
        let Some((first, rest)) = value.split_first_chunk_mut() else {
            return;
        };
        let number = u32::from_ne_bytes(*first);
        match self {
            Mend::HtbInit => {
                *first = (number >> 16).to_ne_bytes();
                if let Some(packets) = rest.last_chunk_mut() {
                    *packets = [0; 4];
                }
            }
            Mend::FilterFlags => *first = (number & FILTER_FLAGS).to_ne_bytes(),
        }
    }
}

/// The settings of an object, as the kernel accepts them.
fn accepted(object: Object, message: &TcMessage) -> (Object, TcMessage) {
    let mut settings = message.settings(object);
    let kind = settings.kind();
    // A class has the kind of its qdisc, but options of its own.
    let mended = MENDED
        .iter()
        .find(|(name, ..)| *name == kind && object != Object::Class);
    if let Some((_, attribute, mend)) = mended {
        settings.change_options(|parts| {
            for part in parts.iter_mut().filter(|part| part.kind() == *attribute) {
                mend.apply(&mut part.value);
            }
        });
    }
    (object, settings)
}

struct Tree {
    qdiscs: Vec<TcMessage>,
    classes: Vec<TcMessage>,
}

impl Tree {
    fn take_qdiscs(&mut self, wanted: impl Fn(&TcMessage) -> bool) -> Vec<TcMessage> {
        self.qdiscs.extract_if(.., |qdisc| wanted(qdisc)).collect()
    }

    /// A qdisc, then its classes from the top, then what is beneath them.
    fn descend(&mut self, qdisc: TcMessage, objects: &mut Vec<(Object, TcMessage)>) {
        let major = qdisc.handle & 0xffff_0000;
        objects.push(accepted(Object::Qdisc, &qdisc));
        if major == 0 {
            // It came with the device, and so did its children (mq).
            return;
        }
        if WITH_OWN_CLASSES.contains(&qdisc.kind().as_str()) {
            let mut parents = vec![ROOT, qdisc.handle];
            while let Some(parent) = parents.pop() {
                let children = self.classes.extract_if(.., |class| {
                    class.handle & 0xffff_0000 == major && class.parent == parent
                });
                for class in children {
                    parents.push(class.handle);
                    objects.push(accepted(Object::Class, &class));
                }
            }
        }
        for child in self.take_qdiscs(|child| {
            child.handle != 0 && child.parent & 0xffff_0000 == major && child.parent != INGRESS
        }) {
            self.descend(child, objects);
        }
    }
}

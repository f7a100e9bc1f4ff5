//! Objects set up on a device, in the form in which the kernel dumps them.

mod accepted;
mod actions;
mod complete;
mod filters;
mod kinds;
mod stable;
mod u32_tables;

use crate::identity::Identity;
use crate::netlink::{INGRESS, Netlink, NetlinkError, Object, ROOT, TcMessage, format_handle, interfaces};
use filters::Filters;
use kinds::{CLSACT, WITH_OWN_CLASSES};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::Duration;

/// Qdiscs, classes and filters of one direction of a device, in an order in which they can be created, without what
/// changes while packets pass.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Snapshot {
    objects: Vec<(Object, TcMessage)>,
    /// Devices to which filters redirect packets: filters refer to them by an index that another device may get.
    targets: Vec<Identity>,
    /// Number of transmit queues with a qdisc each, under `mq`.
    #[serde(skip)]
    transmit_queues: usize,
    /// Whether filters are shared with other devices.
    #[serde(skip)]
    blocks: bool,
    /// Chains of each parent that has any, in the order of the dump.
    #[serde(skip)]
    chains: Vec<(u32, Vec<u32>)>,
    /// Description of a part that could not be restored, if there is one.
    #[serde(skip)]
    lacking: Option<String>,
}

/// Direction of the packets that pass the objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Outgoing packets.
    Root,
    /// Incoming packets.
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

/// The kernel takes a filter apart a moment after it was deleted (`tcf_queue_work`); until then, its actions keep their
/// numbers. Maximum wait for that, and the time between two looks.
const WAIT: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(5);

impl Snapshot {
    pub(crate) fn take(netlink: &mut Netlink, ifindex: u32, side: Side) -> Result<Snapshot, NetlinkError> {
        let mut tree = Tree::read(netlink, ifindex)?;
        let (mut dumped, mut transmit_queues) = (Vec::new(), 0);
        for root in tree.take_qdiscs(|qdisc| qdisc.parent == side.parent()) {
            if root.kind() == "mq" {
                let major = root.handle & 0xffff_0000;
                let queues = tree.qdiscs.iter();
                transmit_queues =
                    queues.filter(|child| child.parent & 0xffff_0000 == major && child.parent != major).count();
            }
            tree.descend(root, &mut dumped);
        }
        let (mut filters, mut elsewhere) = (Vec::new(), Vec::new());
        for parent in filters::parents(&dumped) {
            filters.push(Filters::read(netlink, ifindex, parent)?);
            if let Some(other) = filters::other_side(parent) {
                elsewhere.push(Filters::read(netlink, ifindex, other)?);
            }
        }
        let lacking = complete::lacking(&dumped, &filters, &elsewhere);
        let in_order = filters.iter().flat_map(Filters::in_order);
        dumped.extend(in_order.map(|filter| (Object::Filter, filter)));
        let to: Vec<u32> = filters.iter().flat_map(Filters::targets).collect();
        let targets = match to.is_empty() {
            true => Vec::new(),
            false => interfaces(netlink)?
                .iter()
                .filter(|interface| to.contains(&interface.index))
                .map(Identity::of)
                .collect(),
        };
        Ok(Snapshot {
            targets,
            blocks: complete::has_blocks(&dumped),
            objects: dumped.iter().map(|(object, message)| (*object, stable::of(*object, message))).collect(),
            transmit_queues,
            chains: filters.iter().map(|filters| (filters.parent, filters.chain_order())).collect(),
            lacking,
        })
    }

    fn of(&self, object: Object) -> impl Iterator<Item = &TcMessage> {
        let objects = self.objects.iter().filter(move |(kind, _)| *kind == object);
        objects.map(|(_, message)| message)
    }

    /// Filters; the root tables that come with `u32` filters do not count.
    fn set_filters(&self) -> impl Iterator<Item = &TcMessage> {
        self.of(Object::Filter).filter(|filter| !u32_tables::is_root(filter))
    }

    /// Top qdisc, unless it is the default of the device.
    pub(crate) fn top(&self) -> Option<&TcMessage> {
        self.of(Object::Qdisc).next().filter(|top| top.handle != 0)
    }

    /// Kind and handle of the top qdisc, for messages.
    pub(crate) fn describe_top(&self) -> Option<String> {
        self.top().map(|top| match self.is_clsact() {
            true => "clsact with filters for incoming packets".to_owned(),
            false => format!("{} {}", top.kind(), format_handle(top.handle)),
        })
    }

    /// Whether the qdisc for incoming packets is `clsact`.
    pub(crate) fn is_clsact(&self) -> bool {
        self.top().is_some_and(|top| top.kind() == CLSACT)
    }

    /// Number of filters.
    pub(crate) fn filters(&self) -> usize {
        self.set_filters().count()
    }

    /// Filters of this preference.
    pub(crate) fn filters_with(&self, preference: u16) -> impl Iterator<Item = &TcMessage> {
        self.set_filters().filter(move |filter| filter.info >> 16 == u32::from(preference))
    }

    /// Whether filters are shared with other devices.
    pub(crate) fn has_blocks(&self) -> bool {
        self.blocks
    }

    /// Whether a filter redirects packets to the device with this index.
    pub(crate) fn redirects_to(&self, ifindex: u32) -> bool {
        self.set_filters().any(|filter| is_redirect_to(filter, ifindex))
    }

    /// Numbers of the chains that have filters.
    pub(crate) fn chains(&self) -> Vec<u32> {
        let mut chains: Vec<u32> = self.set_filters().map(TcMessage::chain).collect();
        chains.sort_unstable();
        chains.dedup();
        chains
    }

    pub(crate) fn transmit_queues(&self) -> usize {
        self.transmit_queues
    }

    /// Description of the first part that could not be restored from the dump.
    pub(crate) fn lacking(&self) -> Option<&str> {
        self.lacking.as_deref()
    }

    /// Whether all objects are in `whole`. The default queue of a device counts as no object.
    pub(crate) fn is_part_of(&self, whole: &Snapshot) -> bool {
        self.top().is_none() || self.objects.iter().all(|object| whole.objects.contains(object))
    }

    /// Whether these are the qdiscs and classes of `made` after a change of their settings, or after some were added or
    /// deleted beneath an unchanged top qdisc.
    pub(crate) fn is_variant_of(&self, made: &Snapshot) -> bool {
        let name = |message: &TcMessage| (message.kind(), message.parent, message.handle);
        let (Some(now), Some(then)) = (self.top(), made.top()) else {
            return false;
        };
        let all_there = || {
            [Object::Qdisc, Object::Class]
                .into_iter()
                .all(|object| made.of(object).all(|then| self.of(object).any(|now| name(now) == name(then))))
        };
        name(now) == name(then) && (now.attributes == then.attributes || all_there())
    }

    /// Snapshot without the numbers that differ after the same objects are created again: of devices, actions, and
    /// assigned `u32` tables. A redirection to `intermediate` is to a device that may be created again, too.
    pub(crate) fn comparable(&self, intermediate: Option<u32>) -> Snapshot {
        let mut comparable = self.exact();
        for (object, message) in &mut comparable.objects {
            if *object == Object::Filter {
                u32_tables::forget_number(message);
                actions::redirect(message, |index| match Some(index) == intermediate {
                    true => u32::MAX,
                    false => index,
                });
            }
        }
        comparable
    }

    /// Snapshot for comparison with the same objects on another device. Actions have numbers of the network namespace.
    fn exact(&self) -> Snapshot {
        let mut objects = self.objects.clone();
        for (object, message) in &mut objects {
            message.ifindex = 0;
            if *object == Object::Filter {
                actions::renumber(message, |_, _| 0);
            }
        }
        Snapshot { objects, ..Snapshot::default() }
    }

    /// Creates the objects that are missing in `now` on the device with this index. Filters may redirect to the devices
    /// of the time when they were saved, to devices that have their index and name, and to `intermediate`, which was created
    /// again.
    pub(crate) fn restore(
        &self,
        netlink: &mut Netlink,
        ifindex: u32,
        now: &Snapshot,
        intermediate: Option<u32>,
    ) -> Result<(), NetlinkError> {
        if self.top().is_none() {
            return Ok(());
        }
        let existing = interfaces(netlink)?;
        let mut gone = self.targets.clone();
        gone.retain(|target| {
            Some(target.index) != intermediate && !existing.iter().any(|now| target.is_or_replaced_by(now))
        });
        let there = now.comparable(None);
        for (object, wanted) in self.missing_in(&there) {
            if let Some(target) = gone.iter().find(|t| is_redirect_to(wanted, t.index)) {
                let (name, index) = (target.name.clone(), target.index);
                return Err(NetlinkError::TargetGone { name, index });
            }
            let mut message = accepted::of(object, wanted);
            if object == Object::Filter {
                let taken = taken_numbers(netlink, &message)?;
                actions::renumber(&mut message, |kind, index| {
                    let taken = taken.iter().any(|(k, i)| k == kind && *i == index);
                    if taken { 0 } else { index }
                });
            }
            message.ifindex = ifindex;
            netlink.create(object, &message)?;
        }
        Ok(())
    }

    fn missing_in<'a>(&'a self, there: &'a Snapshot) -> impl Iterator<Item = (Object, &'a TcMessage)> {
        let comparable = self.comparable(None).objects;
        self.objects
            .iter()
            .zip(comparable)
            .filter(|(_, comparable)| !there.objects.contains(comparable))
            .filter(|((_, message), _)| !u32_tables::is_root(message))
            .map(|((object, message), _)| (*object, message))
    }

    /// Creates all objects on another device, which has none, and compares what the kernel then reports; describes the
    /// first difference.
    pub(crate) fn rehearse_on(
        &self,
        netlink: &mut Netlink,
        ifindex: u32,
        side: Side,
    ) -> Result<Option<String>, NetlinkError> {
        for (object, wanted) in self.missing_in(&Snapshot::default()) {
            let mut message = accepted::of(object, wanted);
            // The numbers are in use by the actions of the original.
            actions::renumber(&mut message, |_, _| 0);
            message.ifindex = ifindex;
            match netlink.create(object, &message) {
                Err(NetlinkError::Refused { reason, .. }) => {
                    let what = describe(object, wanted);
                    return Ok(Some(format!("the kernel would not accept {what} again: {reason}")));
                }
                outcome => outcome?,
            }
        }
        let found = Snapshot::take(netlink, ifindex, side)?;
        let chains = self.chains == found.chains;
        let (wanted, found) = (self.exact(), found.exact());
        if wanted == found {
            let reordered = "the chains of filters would be listed in another order";
            return Ok((!chains).then(|| reordered.to_owned()));
        }
        let different =
            wanted.objects.iter().zip(&found.objects).find(|(wanted, found)| wanted != found).map(|(wanted, _)| wanted);
        let different = different.or(wanted.objects.last());
        Ok(Some(match different {
            Some((object, message)) => {
                let what = describe(*object, message);
                format!("{what} would differ after it is set up again")
            }
            None => "the kernel reports more objects than it has".to_owned(),
        }))
    }
}

/// Whether a filter redirects packets to the device with this index.
pub(crate) fn is_redirect_to(filter: &TcMessage, ifindex: u32) -> bool {
    actions::of(filter).iter().any(|action| action.redirects_to() == Some(ifindex))
}

/// Number of redirects to the device with index `to` in the filters of each device, in both directions; devices without any
/// are left out.
pub(crate) fn redirects(netlink: &mut Netlink, to: u32) -> Result<BTreeMap<u32, usize>, NetlinkError> {
    let mut redirects = BTreeMap::new();
    for from in netlink.devices_with_qdiscs()? {
        let Tree { qdiscs, classes } = Tree::read(netlink, from)?;
        let qdiscs = qdiscs.into_iter().map(|qdisc| (Object::Qdisc, qdisc));
        let classes = classes.into_iter().map(|class| (Object::Class, class));
        let objects: Vec<_> = qdiscs.chain(classes).collect();
        for parent in filters::parents(&objects) {
            for side in std::iter::once(parent).chain(filters::other_side(parent)) {
                let targets = Filters::read(netlink, from, side)?.targets();
                let count = targets.iter().filter(|target| **target == to).count();
                if count > 0 {
                    *redirects.entry(from).or_default() += count;
                }
            }
        }
    }
    Ok(redirects)
}

/// Numbers of a filter's actions that other actions have. Waits for those that the kernel is about to give up.
fn taken_numbers(netlink: &mut Netlink, filter: &TcMessage) -> Result<Vec<(String, u32)>, NetlinkError> {
    let mut taken = Vec::new();
    for action in actions::of(filter) {
        let Some(index) = action.index() else {
            continue;
        };
        let mut waited = Duration::ZERO;
        while netlink.has_action(&action.kind, index)? {
            if waited >= WAIT {
                taken.push((action.kind, index));
                break;
            }
            sleep(LOOK);
            waited += LOOK;
        }
    }
    Ok(taken)
}

fn describe(object: Object, message: &TcMessage) -> String {
    let kind = message.kind();
    match object {
        Object::Qdisc => format!("{kind} {}", format_handle(message.handle)),
        Object::Class => format!("class {}", format_handle(message.handle)),
        Object::Filter | Object::Chain => {
            format!("the {kind} filter of preference {} at {}", message.info >> 16, format_handle(message.parent))
        }
    }
}

struct Tree {
    qdiscs: Vec<TcMessage>,
    classes: Vec<TcMessage>,
}

impl Tree {
    /// Qdiscs of a device, and the classes of those whose classes are created one by one.
    fn read(netlink: &mut Netlink, ifindex: u32) -> Result<Tree, NetlinkError> {
        let qdiscs = netlink.list(Object::Qdisc, &TcMessage::about(ifindex, 0))?;
        let mut classes = Vec::new();
        // A list of all classes ends at the first that cannot be dumped (`sfb_dump_class`).
        for qdisc in &qdiscs {
            if qdisc.handle != 0 && WITH_OWN_CLASSES.contains(&qdisc.kind().as_str()) {
                let query = TcMessage::about(ifindex, qdisc.handle);
                classes.extend(netlink.list(Object::Class, &query)?);
            }
        }
        Ok(Tree { qdiscs, classes })
    }

    /// The order of a dump depends on the history of a table.
    fn take_qdiscs(&mut self, wanted: impl Fn(&TcMessage) -> bool) -> Vec<TcMessage> {
        let qdiscs = self.qdiscs.extract_if(.., |qdisc| wanted(qdisc));
        let mut qdiscs: Vec<TcMessage> = qdiscs.collect();
        qdiscs.sort_by_key(|qdisc| (qdisc.parent, qdisc.handle));
        qdiscs
    }

    /// Adds a qdisc, then its classes from the top, then the objects beneath them.
    fn descend(&mut self, qdisc: TcMessage, objects: &mut Vec<(Object, TcMessage)>) {
        let (handle, major) = (qdisc.handle, qdisc.handle & 0xffff_0000);
        let with_classes = WITH_OWN_CLASSES.contains(&qdisc.kind().as_str());
        objects.push((Object::Qdisc, qdisc));
        if major == 0 {
            // Default qdisc of the device, as are its children (mq).
            return;
        }
        if with_classes {
            // The root class of hfsc has the handle of the qdisc and comes with it.
            let of_qdisc = |class: &mut TcMessage| class.handle & 0xffff_0000 == major && class.handle != handle;
            let classes = self.classes.extract_if(.., |class| of_qdisc(class));
            let mut classes: Vec<TcMessage> = classes.collect();
            classes.sort_by_key(|class| class.handle);
            let mut parents = vec![ROOT, handle];
            while let Some(parent) = parents.pop() {
                for class in classes.extract_if(.., |class| class.parent == parent) {
                    parents.push(class.handle);
                    objects.push((Object::Class, class));
                }
            }
        }
        for child in self.take_qdiscs(|child| {
            child.handle != 0 && child.parent & 0xffff_0000 == major && ![ROOT, INGRESS].contains(&child.parent)
        }) {
            self.descend(child, objects);
        }
    }
}

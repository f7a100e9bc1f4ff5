//! Objects set up on a device, in the form in which the kernel dumps and accepts them.

use crate::netlink::{INGRESS, Netlink, NetlinkError, Object, ROOT, TcMessage};
use crate::netlink::{format_handle, tca};
use gentle_aqm::registry;
use serde::{Deserialize, Serialize};

/// Qdiscs, classes and filters of one direction of a device, in an order in which they can be created.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Snapshot {
    objects: Vec<(Object, TcMessage)>,
    /// Number of transmit queues with a qdisc each, under `mq`.
    #[serde(skip)]
    transmit_queues: usize,
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

/// Qdiscs whose classes are created one by one; those of others come with the qdisc.
const WITH_OWN_CLASSES: [&str; 5] = ["htb", "hfsc", "drr", "qfq", "cbq"];

/// Qdisc of no scheme whose table of weights (`TCA_GRED_STAB`) the kernel does not dump, so that it cannot be restored.
const GRED: &str = "gred";

/// Whether the kernel does not dump all options of a qdisc of this kind.
fn has_hidden_parts(kind: &str) -> bool {
    kind == GRED || registry::kernel_qdisc(kind).is_some_and(|qdisc| qdisc.partial_dump)
}

/// Actions among the options of a filter that are not dumped completely: the rate table of a policer
/// (`TCA_POLICE_RATE`), and the program of `bpf`, of which only the identifier is dumped.
const HIDDEN_ACTIONS: [(&[u8], &str); 2] =
    [(b"police\0", "a policer"), (b"bpf\0", "a BPF program")];

/// Kind of filters that are BPF programs.
const BPF: &str = "bpf";

/// Qdisc whose filters see incoming and outgoing packets; its first class is for incoming packets (`TC_H_MIN_INGRESS`).
const CLSACT: &str = "clsact";
const CLSACT_INGRESS: u32 = 0xffff_fff2;

/// Flag in the handle of tables that a `u32` filter creates implicitly. The kernel assigns their numbers, and new ones
/// when a filter is restored: filters in such a table are kept by their number within it, without `TCA_U32_HASH`.
const OWN_TABLE: u32 = 1 << 31;
const WITHIN_TABLE: u32 = 0x000f_ffff;
const U32_HASH: u16 = 2;

/// Attributes in the options of a `u32` filter that change as packets pass: `TCA_U32_POLICE`, `TCA_U32_ACT` and
/// `TCA_U32_PCNT` (counters), and `TCA_U32_PAD` (alignment).
const U32_VOLATILE: &[u16] = &[6, 7, 9, 12];

/// Attributes in the options of an object of this kind that change while packets pass.
fn volatile_attributes(kind: &str) -> &'static [u16] {
    match kind {
        "u32" => U32_VOLATILE,
        kind => registry::kernel_qdisc(kind).map_or(&[], |qdisc| qdisc.volatile),
    }
}

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
            if root.kind() == "mq" {
                let major = root.handle & 0xffff_0000;
                let queues = all.qdiscs.iter();
                snapshot.transmit_queues = queues
                    .filter(|child| child.parent & 0xffff_0000 == major && child.parent != major)
                    .count();
            }
            all.descend(root, &mut snapshot.objects);
        }
        let parents: Vec<u32> = snapshot
            .of(Object::Qdisc)
            .filter(|qdisc| qdisc.handle != 0)
            .map(|qdisc| match qdisc.kind().as_str() {
                CLSACT => CLSACT_INGRESS,
                _ => qdisc.handle,
            })
            .collect();
        for parent in parents {
            let filters = netlink.list(Object::Filter, &TcMessage::about(ifindex, parent))?;
            let set = filters.iter().filter(|filter| {
                let own_table = filter.kind() == "u32"
                    && filter.handle & OWN_TABLE != 0
                    && filter.handle & WITHIN_TABLE == 0;
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

    pub(crate) fn has_filters(&self) -> bool {
        self.of(Object::Filter).next().is_some()
    }

    pub(crate) fn has_filter_with(&self, preference: u16) -> bool {
        self.of(Object::Filter)
            .any(|filter| filter.info >> 16 == u32::from(preference))
    }

    /// Numbers of the chains that have filters.
    pub(crate) fn chains(&self) -> Vec<u32> {
        let mut chains: Vec<u32> = self
            .of(Object::Filter)
            .map(|filter| {
                let chain = filter.attribute(tca::CHAIN).and_then(|n| n.first_chunk());
                chain.map_or(0, |n| u32::from_ne_bytes(*n))
            })
            .collect();
        chains.sort_unstable();
        chains.dedup();
        chains
    }

    pub(crate) fn transmit_queues(&self) -> usize {
        self.transmit_queues
    }

    /// Whether all objects are in `whole`. The default queue of a device counts as no object.
    pub(crate) fn is_part_of(&self, whole: &Snapshot) -> bool {
        self.top().is_none()
            || self
                .objects
                .iter()
                .all(|object| whole.objects.contains(object))
    }

    /// Description of the first part that the kernel does not dump completely.
    pub(crate) fn hidden_part(&self) -> Option<String> {
        let shared = self
            .of(Object::Qdisc)
            .any(|qdisc| qdisc.attribute(tca::INGRESS_BLOCK).is_some());
        if shared {
            return Some("filters shared with other devices (a block)".to_owned());
        }
        let table = self
            .of(Object::Qdisc)
            .map(TcMessage::kind)
            .find(|kind| has_hidden_parts(kind));
        table.or_else(|| {
            self.of(Object::Filter).find_map(|filter| {
                let options = filter.attribute(tca::OPTIONS).unwrap_or_default();
                let mut actions = HIDDEN_ACTIONS.into_iter();
                match filter.kind().as_str() {
                    BPF => Some("a BPF program".to_owned()),
                    _ => actions
                        .find(|(name, _)| options.windows(name.len()).any(|part| part == *name))
                        .map(|(_, what)| what.to_owned()),
                }
            })
        })
    }

    /// Snapshot without the values that change while packets pass, for comparison: equal snapshots mean that nothing
    /// was reconfigured.
    pub(crate) fn normalized(&self) -> Snapshot {
        let mut normalized = self.clone();
        normalized.transmit_queues = 0;
        for (_, message) in &mut normalized.objects {
            // A recreated intermediate device has another index.
            message.ifindex = 0;
            let volatile = volatile_attributes(&message.kind());
            if volatile.is_empty() {
                continue;
            }
            message.change_options(|parts| parts.retain(|part| !volatile.contains(&part.kind())));
        }
        normalized
    }

    /// Creates the objects that are missing in `now`.
    pub(crate) fn restore(
        &self,
        netlink: &mut Netlink,
        now: &Snapshot,
    ) -> Result<(), NetlinkError> {
        if self.top().is_none() {
            return Ok(());
        }
        let there = now.normalized();
        self.objects
            .iter()
            .zip(&self.normalized().objects)
            .filter(|(_, normalized)| !there.objects.contains(normalized))
            .try_for_each(|((object, message), _)| netlink.create(*object, message))
    }
}

/// Attributes with 32-bit numbers that the kernel dumps in another form than it accepts, by kind of object.
const FIXUPS: [(&str, &[u16], Fixup); 5] = [
    // `TCA_DUALPI2_ALPHA`, `TCA_DUALPI2_BETA`.
    ("dualpi2", &[5, 6], Fixup::Weight),
    // `TCA_HTB_INIT`: the dump has the whole version, of which `htb_init` accepts the upper half, and ends with a counter
    // of packets without a class.
    ("htb", &[2], Fixup::HtbInit),
    // `TCA_U32_FLAGS`, `TCA_FLOWER_FLAGS`, `TCA_MATCHALL_FLAGS`: the dump has the actual offload state in addition to
    // the requested one.
    ("u32", &[11], Fixup::FilterFlags),
    ("flower", &[22], Fixup::FilterFlags),
    ("matchall", &[3], Fixup::FilterFlags),
];

/// Qdiscs whose options the kernel dumps without `NLA_F_NESTED`, and does not accept without.
const NESTED_WHEN_SET: [&str; 1] = ["dualpi2"];

/// Attributes of an object of this kind that the kernel does not accept as it dumps them, and how to convert them.
fn fixup_of(kind: &str) -> Option<(&'static [u16], Fixup)> {
    if let Some((_, attributes, fixup)) = FIXUPS.iter().find(|(name, ..)| *name == kind) {
        return Some((attributes, *fixup));
    }
    let rounded = registry::kernel_qdisc(kind)?.rounded_times?;
    let tick_ns = rounded.tick_ns;
    Some((rounded.attributes, Fixup::Micros { tick_ns }))
}

/// Conversion of a dumped value to one that the kernel accepts.
#[derive(Clone, Copy)]
enum Fixup {
    /// Version and counter of htb.
    HtbInit,
    /// Flags of a filter without its offload state.
    FilterFlags,
    /// Time in microseconds that the kernel stores in its own unit and rounds down twice, on setting and on dumping: 5
    /// ms of CoDel are dumped as 4,999 µs, which would be stored as 4,998 µs.
    Micros { tick_ns: u64 },
    /// Weight in 1/256 Hz that the kernel stores in a smaller unit and rounds down twice: 41 of DualPI2 is stored as 44,
    /// which is dumped as 40.
    Weight,
}

/// `TCA_CLS_FLAGS_SKIP_HW` and `TCA_CLS_FLAGS_SKIP_SW`.
const FILTER_FLAGS: u32 = 3;

impl Fixup {
    fn apply(self, value: &mut [u8]) {
        let Some((first, rest)) = value.split_first_chunk_mut() else {
            return;
        };
        let number = u32::from_ne_bytes(*first);
        match self {
            Fixup::HtbInit => {
                *first = (number >> 16).to_ne_bytes();
                if let Some(packets) = rest.last_chunk_mut() {
                    *packets = [0; 4];
                }
            }
            Fixup::FilterFlags => *first = (number & FILTER_FLAGS).to_ne_bytes(),
            Fixup::Micros { tick_ns } => {
                let dumped_for = |us: u32| u64::from(us) * 1000 / tick_ns * tick_ns / 1000;
                let number = match dumped_for(number) < u64::from(number) {
                    true => number.saturating_add(1),
                    false => number,
                };
                *first = number.to_ne_bytes();
            }
            // No stored weight is a whole number of the dump's units.
            Fixup::Weight => *first = number.saturating_add(1).to_ne_bytes(),
        }
    }
}

/// Configuration of an object in the form that the kernel accepts.
fn accepted(object: Object, message: &TcMessage) -> (Object, TcMessage) {
    let mut settings = message.settings(object);
    let kind = settings.kind();
    if object == Object::Filter && kind == "u32" && settings.handle & OWN_TABLE != 0 {
        settings.handle &= WITHIN_TABLE;
        settings.change_options(|parts| parts.retain(|part| part.kind() != U32_HASH));
    }
    // A class has the kind of its qdisc, but options of its own.
    if object != Object::Class
        && let Some((attributes, fixup)) = fixup_of(&kind)
    {
        settings.change_options(|parts| {
            for part in parts
                .iter_mut()
                .filter(|part| attributes.contains(&part.kind()))
            {
                fixup.apply(&mut part.value);
            }
        });
        if NESTED_WHEN_SET.contains(&kind.as_str()) {
            settings.flag_options_as_nested();
        }
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

    /// Adds a qdisc, then its classes from the top, then the objects beneath them.
    fn descend(&mut self, qdisc: TcMessage, objects: &mut Vec<(Object, TcMessage)>) {
        let major = qdisc.handle & 0xffff_0000;
        objects.push(accepted(Object::Qdisc, &qdisc));
        if major == 0 {
            // Default qdisc of the device, as are its children (mq).
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

#[cfg(test)]
mod tests {
    use super::Fixup;

    /// Time that the kernel dumps after `us` was set, rounded as in `codel_change` and `codel_dump`.
    fn dumped(us: u32, tick_ns: u64) -> u32 {
        let ticks = u64::from(us) * 1000 / tick_ns;
        u32::try_from(ticks * tick_ns / 1000).unwrap()
    }

    /// `dualpi2_scale_alpha_beta` and `dualpi2_unscale_alpha_beta`.
    #[test]
    fn weights_are_restored_to_what_was_stored() {
        let most = u64::from(u32::MAX);
        let stored = |weight: u32| ((u64::from(weight) * most) >> 2) / 1_000_000_000;
        let dumped = |stored: u64| ((stored * 1_000_000_000) << 2) / most;
        for set in 1..3_000_000 {
            let mut value = u32::try_from(dumped(stored(set))).unwrap().to_ne_bytes();
            Fixup::Weight.apply(&mut value);
            assert_eq!(stored(u32::from_ne_bytes(value)), stored(set), "{set}");
        }
    }

    #[test]
    fn times_are_restored_to_what_was_dumped() {
        for tick_ns in [64, 1024] {
            for set in (0..200_000).chain([1_000_000, 2_199_023_254]) {
                let before = dumped(set, tick_ns);
                let mut value = before.to_ne_bytes();
                Fixup::Micros { tick_ns }.apply(&mut value);
                let restored = u32::from_ne_bytes(value);
                assert_eq!(
                    dumped(restored, tick_ns),
                    before,
                    "{set} µs of {tick_ns} ns"
                );
            }
        }
    }
}

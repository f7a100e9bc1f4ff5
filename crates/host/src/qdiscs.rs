//! Packets that queue disciplines dropped, over rtnetlink(7).

use crate::finding::Finding;
use crate::growth::Growth;
use crate::kind::FindingKind;
use crate::missing::{Missing, Source};
use crate::wording::counted;
use crate::worst::{MAX_PLACES, Worst};
use gentle_netlink::{NetlinkSocket, Protocol, RequestError, find, text, word};
use std::collections::BTreeMap;
use std::io;

/// Maximum number of qdiscs that are considered, those with the most drops first.
pub const MAX_QDISCS: usize = 4_096;

const RTM_GETLINK: u16 = 18;
const RTM_GETQDISC: u16 = 38;
/// Size of `struct ifinfomsg` and `struct tcmsg`, include/uapi/linux/rtnetlink.h.
const LINK_HEADER: usize = 16;
const TC_HEADER: usize = 20;
const IFLA_IFNAME: u16 = 3;
/// Attribute and its flag that leave the statistics of devices out.
const IFLA_EXT_MASK: u16 = 29;
const RTEXT_FILTER_SKIP_STATS: u32 = 1 << 3;
const TCA_KIND: u16 = 1;
const TCA_STATS2: u16 = 7;
/// `TCA_STATS_QUEUE` within `TCA_STATS2`: `struct gnet_stats_queue`, include/uapi/linux/gen_stats.h.
const TCA_STATS_QUEUE: u16 = 3;
/// Parent of a root qdisc, `TC_H_ROOT`.
const ROOT: u32 = 0xffff_ffff;
/// Parent of `ingress` and `clsact`, `TC_H_INGRESS`.
const INGRESS: u32 = 0xffff_fff1;

/// Qdisc with its counters.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Qdisc {
    device: u32,
    handle: u32,
    parent: u32,
    kind: String,
    /// Packets and bytes that wait.
    waiting: u32,
    backlog: u32,
    drops: u32,
    overlimits: u32,
}

/// Identity of a qdisc. The kind is part of it: another qdisc can get the same handle.
type Key = (u32, u32, u32, String);

impl Qdisc {
    /// Parses `struct tcmsg` with its attributes; `None` without statistics.
    fn parse(bytes: &[u8]) -> Option<Qdisc> {
        let attributes = bytes.get(TC_HEADER..)?;
        let queue = find(find(attributes, TCA_STATS2)?, TCA_STATS_QUEUE)?;
        Some(Qdisc {
            device: word(bytes, 4)?,
            handle: word(bytes, 8)?,
            parent: word(bytes, 12)?,
            kind: text(find(attributes, TCA_KIND)?),
            waiting: word(queue, 0)?,
            backlog: word(queue, 4)?,
            drops: word(queue, 8)?,
            overlimits: word(queue, 16)?,
        })
    }

    fn key(&self) -> Key {
        (self.device, self.parent, self.handle, self.kind.clone())
    }

    fn is_root(&self) -> bool {
        [ROOT, INGRESS].contains(&self.parent)
    }

    /// Whether this is the parent of `other`. The children of a default `mq`, whose handle is 0, have handle 0 as well.
    fn is_parent_of(&self, other: &Qdisc) -> bool {
        self.device == other.device
            && !other.is_root()
            && other.parent >> 16 == self.handle >> 16
            && (self.handle != 0 || self.is_root())
    }
}

/// Queue disciplines of a network namespace.
#[derive(Debug)]
pub(crate) struct Qdiscs {
    netlink: NetlinkSocket,
    drops: Growth<Key>,
}

impl Qdiscs {
    pub(crate) fn open() -> Result<Qdiscs, Missing> {
        let open = || {
            let mut netlink = NetlinkSocket::open(Protocol::Route)?;
            list(&mut netlink)?;
            Ok(Qdiscs { netlink, drops: Growth::new() })
        };
        open().map_err(|error: RequestError| {
            let remedy = "use a kernel with CONFIG_NET_SCHED";
            Missing::new(Source::Qdiscs, "drops of queue disciplines", &io::Error::from(error), remedy)
        })
    }

    pub(crate) fn read(&mut self) -> Vec<Finding> {
        let Ok((list, incomplete)) = list(&mut self.netlink) else { return Vec::new() };
        let drops: Vec<(Key, u32)> = list.iter().map(|qdisc| (qdisc.key(), qdisc.drops)).collect();
        let increases = self.drops.update(&drops, incomplete);
        if increases.iter().all(|increase| *increase == 0) {
            return Vec::new();
        }
        let names = names(&mut self.netlink).unwrap_or_default();
        findings(&list, &without_children(&list, &increases), &names)
    }
}

fn list(netlink: &mut NetlinkSocket) -> Result<(Vec<Qdisc>, bool), RequestError> {
    let start = || Worst::new(MAX_QDISCS, |qdisc: &Qdisc| qdisc.drops);
    let worst = netlink.dump(RTM_GETQDISC, &[0; TC_HEADER], start, |worst, message| {
        if let Some(qdisc) = Qdisc::parse(message) {
            worst.push(qdisc);
        }
    });
    Ok(worst?.value.finish())
}

/// Names of devices by index.
fn names(netlink: &mut NetlinkSocket) -> Result<BTreeMap<u32, String>, RequestError> {
    let mut request = vec![0; LINK_HEADER];
    request.extend(8_u16.to_ne_bytes());
    request.extend(IFLA_EXT_MASK.to_ne_bytes());
    request.extend(RTEXT_FILTER_SKIP_STATS.to_ne_bytes());
    let names = netlink.dump(RTM_GETLINK, &request, BTreeMap::new, |names, message| {
        names.extend(name(message));
    });
    Ok(names?.value)
}

/// Parses `struct ifinfomsg` with its attributes.
fn name(bytes: &[u8]) -> Option<(u32, String)> {
    Some((word(bytes, 4)?, text(find(bytes.get(LINK_HEADER..)?, IFLA_IFNAME)?)))
}

/// Drops that each qdisc decided: a qdisc with children counts their drops as well (`qdisc_tree_reduce_backlog`,
/// net/sched/sch_api.c; `mq_dump`, net/sched/sch_mq.c).
fn without_children(list: &[Qdisc], increases: &[u64]) -> Vec<u64> {
    let mut with_drops: BTreeMap<u32, Vec<(&Qdisc, u64)>> = BTreeMap::new();
    for (qdisc, increase) in list.iter().zip(increases).filter(|(_, increase)| **increase > 0) {
        with_drops.entry(qdisc.device).or_default().push((qdisc, *increase));
    }
    let own = |(qdisc, increase): (&Qdisc, &u64)| {
        let same_device = with_drops.get(&qdisc.device).map(Vec::as_slice).unwrap_or_default();
        let of_children =
            same_device.iter().filter(|(other, _)| qdisc.is_parent_of(other)).map(|(_, increase)| increase);
        increase.saturating_sub(of_children.sum())
    };
    list.iter().zip(increases).map(own).collect()
}

/// Findings by device and kind of qdisc, most drops first.
fn findings(list: &[Qdisc], increases: &[u64], names: &BTreeMap<u32, String>) -> Vec<Finding> {
    let mut sums: BTreeMap<(u32, &str, bool), Sum> = BTreeMap::new();
    for (qdisc, increase) in list.iter().zip(increases).filter(|(_, increase)| **increase > 0) {
        let sum = sums.entry((qdisc.device, &qdisc.kind, qdisc.parent == INGRESS)).or_default();
        sum.drops += increase;
        sum.waiting += u64::from(qdisc.waiting);
        sum.backlog += u64::from(qdisc.backlog);
        sum.overlimits += u64::from(qdisc.overlimits);
    }
    let mut sums: Vec<((u32, &str, bool), Sum)> = sums.into_iter().collect();
    sums.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.drops));
    let mut found = Vec::new();
    let mut others: [u64; 2] = [0; 2];
    for (position, ((device, kind, incoming), sum)) in sums.into_iter().enumerate() {
        match position {
            0..MAX_PLACES => {
                let name = names.get(&device).cloned().unwrap_or_else(|| format!("interface {device}"));
                found.push(sum.finding(&name, kind, incoming));
            }
            _ => others[usize::from(incoming)] += sum.drops,
        }
    }
    for (drops, incoming) in others.into_iter().zip([false, true]).filter(|(drops, _)| *drops > 0) {
        found.push(Finding {
            place: String::new(),
            sentence: format!("queues of other devices dropped {}", counted(drops, "packet")),
            check: "tc -s qdisc show".to_owned(),
            ..Sum { drops, ..Sum::default() }.finding("", "", incoming)
        });
    }
    found
}

/// Counters of qdiscs of one kind on one device.
#[derive(Debug, Default, Clone, Copy)]
struct Sum {
    drops: u64,
    waiting: u64,
    backlog: u64,
    overlimits: u64,
}

impl Sum {
    fn finding(self, device: &str, kind: &str, incoming: bool) -> Finding {
        let packets = counted(self.drops, "packet");
        let (of_kind, sentence, remedy) = match incoming {
            true => (
                FindingKind::IngressDrop,
                format!(
                    "filters of the qdisc {kind} of {device} dropped {packets} of any protocol on arrival or departure"
                ),
                "remove the filter or raise the rate of its policer, if it drops SYNs or SYN/ACKs",
            ),
            false => (
                FindingKind::QdiscDrop,
                format!(
                    "the queue {kind} of {device} dropped {packets} of any protocol (waiting now: {}, {} bytes; over limits \
                     since its start: {})",
                    counted(self.waiting, "packet"),
                    self.backlog,
                    self.overlimits
                ),
                "send less or raise the rate of the link or shaper; give handshakes priority (gentle qdisc), or lengthen the \
                 queue",
            ),
        };
        Finding {
            kind: of_kind,
            place: format!("{device} {kind}"),
            count: self.drops,
            cumulative: 0,
            sentence,
            remedy: remedy.to_owned(),
            check: format!("tc -s qdisc show dev {device}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{INGRESS, Qdisc, ROOT, TC_HEADER, findings, name, without_children};
    use crate::kind::FindingKind;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn qdisc(handle: u32, parent: u32, kind: &str, drops: u32) -> Qdisc {
        Qdisc { device: 2, handle, parent, kind: kind.to_owned(), waiting: 1, backlog: 60, drops, overlimits: 0 }
    }

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend((value.len() as u16 + 4).to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn a_message_has_counters() {
        let mut bytes = vec![0; TC_HEADER];
        bytes[4] = 2;
        bytes[12..16].copy_from_slice(&ROOT.to_ne_bytes());
        bytes.extend(attribute(1, b"pfifo\0"));
        let queue: Vec<u8> = [1_u32, 60, 5, 0, 3].iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.extend(attribute(7, &[attribute(1, &[0; 16]), attribute(3, &queue)].concat()));
        let expected = Qdisc { overlimits: 3, ..qdisc(0, ROOT, "pfifo", 5) };
        assert_eq!(Qdisc::parse(&bytes), Some(expected));
    }

    #[test]
    fn a_parent_does_not_count_the_drops_of_its_children() {
        let list = [
            qdisc(0x10000, ROOT, "htb", 12),
            qdisc(0x200000, 0x10010, "fq_codel", 7),
            qdisc(0x300000, 0x10020, "pfifo", 4),
            // Another device's qdisc with the same handles.
            Qdisc { device: 3, ..qdisc(0x400000, 0x10010, "pfifo", 9) },
        ];
        assert_eq!(without_children(&list, &[12, 7, 4, 9]), [1, 7, 4, 9]);
    }

    #[test]
    fn a_default_mq_counts_its_queues_once() {
        let list = [qdisc(0, ROOT, "mq", 5), qdisc(0, 1, "fq_codel", 3), qdisc(0, 2, "fq_codel", 2)];
        let own = without_children(&list, &[5, 3, 2]);
        assert_eq!(own, [0, 3, 2]);
        let found = findings(&list, &own, &BTreeMap::from([(2, "eth0".to_owned())]));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].place.as_str(), found[0].count), ("eth0 fq_codel", 5));
    }

    #[test]
    fn places_are_bounded_and_nothing_is_lost() {
        let list: Vec<Qdisc> = (1..=40).map(|device| Qdisc { device, ..qdisc(0, ROOT, "pfifo", device) }).collect();
        let increases: Vec<u64> = list.iter().map(|qdisc| qdisc.drops.into()).collect();
        let found = findings(&list, &increases, &BTreeMap::new());
        assert_eq!(found.len(), 17);
        assert_eq!(found[0].place, "interface 40 pfifo");
        assert_eq!(found.iter().map(|finding| finding.count).sum::<u64>(), (1..=40).sum::<u64>());
        assert_eq!(found[16].place, "");
    }

    #[test]
    fn filters_on_arrival_are_another_kind() {
        let list = [qdisc(0xffff_0000, INGRESS, "clsact", 2)];
        let found = findings(&list, &[2], &BTreeMap::new());
        assert_eq!(found[0].kind, FindingKind::IngressDrop);
    }

    proptest! {
        #[test]
        fn any_message_is_parsed(bytes: Vec<u8>) {
            Qdisc::parse(&bytes);
            name(&bytes);
        }
    }
}

//! Statistics of the qdiscs of a device, as counted by the kernel.

use crate::configured;
use crate::counter::Counter;
use crate::device::Device;
use crate::error::ApplyError;
use crate::intermediate;
use crate::netlink::{Attribute, INGRESS, Netlink, Object, ROOT, TcMessage, find, format_handle};
use crate::netlink::{interfaces, tca};
use crate::place::SCHEME;
use crate::setup::Direction;
use crate::snapshot::{Side, Snapshot};
use gentle_aqm::{Field, Statistics, registry};
use schemars::JsonSchema;
use serde::Serialize;

/// Qdiscs of a device, from the root down, followed by those for its incoming packets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DeviceQueues {
    /// Name of the device.
    pub dev: String,
    /// Qdiscs of the device, and of the intermediate device through which its incoming packets pass.
    pub qdiscs: Vec<Qdisc>,
}

/// Qdisc with its settings and counters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Qdisc {
    /// Direction of the packets: `egress` (outgoing) or `ingress` (incoming).
    pub direction: &'static str,
    /// Kind of the qdisc, as in `tc`.
    pub kind: String,
    /// Handle of the qdisc, in the notation of `tc`; `0:` for the default qdisc of a device.
    pub handle: String,
    /// Parent of the qdisc: `root`, or a class in the notation of `tc`.
    pub parent: String,
    /// Packets in the qdisc, if it is a child of a priority scheme set up by gentle: `handshakes` or `data`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<&'static str>,
    /// Configured rate of a shaper, bits per second; for `htb`, the sum over its top classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_bps: Option<u64>,
    /// Configured target of the sojourn time, nanoseconds, as rounded by the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_ns: Option<u64>,
    /// Bytes dequeued.
    pub bytes: u64,
    /// Packets dequeued.
    pub packets: u64,
    /// Packets dropped.
    pub drops: u32,
    /// Packets that exceeded a limit of the qdisc, such as its rate.
    pub overlimits: u32,
    /// Packets that the device did not accept, and that were queued again.
    pub requeues: u32,
    /// Bytes queued.
    pub backlog_bytes: u32,
    /// Packets queued.
    pub backlog_packets: u32,
    /// Counters specific to the kind of qdisc, in the order of the kernel.
    pub counters: Vec<Counter>,
}

/// Attributes in `TCA_STATS2`: `TCA_STATS_BASIC` and others (kernel: `linux/gen_stats.h`).
const BASIC: u16 = 1;
const QUEUE: u16 = 3;
const APP: u16 = 4;
const PACKETS64: u16 = 8;

/// Counters for the attributes that are listed in `names`, in the order of `names`.
fn named(attributes: &[Attribute], names: impl Iterator<Item = (u16, &'static str)>) -> Vec<Counter> {
    names
        .filter_map(|(attribute, name)| {
            let value = find(attributes, attribute)?;
            let value = number(value, value.len())?;
            Some(Counter { name, value })
        })
        .collect()
}

/// Counters of a qdisc of this kind, from its `TCA_STATS_APP`.
fn counters(kind: &str, bytes: &[u8]) -> Vec<Counter> {
    match registry::kernel_qdisc(kind).map(|qdisc| qdisc.statistics) {
        None => Vec::new(),
        Some(Statistics::Struct(fields)) => in_order(fields, bytes),
        Some(Statistics::Whole(names)) => named(&Attribute::all(bytes), names.iter().copied()),
        Some(Statistics::Tins { whole, list, each }) => {
            let attributes = Attribute::all(bytes);
            let mut counters = named(&attributes, whole.iter().copied());
            let tins = Attribute::all(find(&attributes, list).unwrap_or_default());
            for (tin, number) in (1..=8).enumerate() {
                let tin_attributes = Attribute::all(find(&tins, number).unwrap_or_default());
                let names = each.iter().map(|(number, names)| (*number, names[tin]));
                counters.extend(named(&tin_attributes, names));
            }
            counters
        }
    }
}

/// Fields of a structure of the kernel; older kernels may send fewer.
fn in_order(fields: &[Field], bytes: &[u8]) -> Vec<Counter> {
    let mut at = 0;
    let mut list = Vec::new();
    for field in fields {
        let (name, length) = match field {
            Field::U32(name) => (Some(*name), 4),
            Field::U64(name) => (Some(*name), 8),
            Field::Skip(length) => (None, *length),
        };
        let Some(value) = bytes.get(at..at + length) else {
            break;
        };
        at += length;
        let value = name.and_then(|name| Some((name, number(value, length)?)));
        list.extend(value.map(|(name, value)| Counter { name, value }));
    }
    list
}

/// Number of this length in native byte order.
fn number(bytes: &[u8], length: usize) -> Option<u64> {
    match length {
        4 => Some(u32::from_ne_bytes(*bytes.first_chunk()?).into()),
        8 => Some(u64::from_ne_bytes(*bytes.first_chunk()?)),
        _ => None,
    }
}

fn qdisc(message: &TcMessage, classes: &[TcMessage], direction: Direction) -> Qdisc {
    let stats = Attribute::all(message.attribute(tca::STATS2).unwrap_or_default());
    let basic = find(&stats, BASIC).unwrap_or_default();
    let queue = find(&stats, QUEUE).unwrap_or_default();
    let part = |at: usize| {
        let bytes = queue.get(at..at + 4)?;
        Some(u32::from_ne_bytes(*bytes.first_chunk()?))
    };
    let packets = match find(&stats, PACKETS64) {
        Some(packets) => number(packets, 8),
        None => basic.get(8..12).and_then(|packets| number(packets, 4)),
    };
    let kind = message.kind();
    Qdisc {
        direction: match direction {
            Direction::Egress => "egress",
            Direction::Ingress => "ingress",
        },
        handle: format_handle(message.handle),
        parent: match message.parent {
            ROOT => "root".to_owned(),
            parent => format_handle(parent),
        },
        role: None,
        rate_bps: rate_bps(message, classes),
        target_ns: configured::target(message).map(|target| target.0),
        bytes: number(basic, 8).unwrap_or_default(),
        packets: packets.unwrap_or_default(),
        backlog_packets: part(0).unwrap_or_default(),
        backlog_bytes: part(4).unwrap_or_default(),
        drops: part(8).unwrap_or_default(),
        requeues: part(12).unwrap_or_default(),
        overlimits: part(16).unwrap_or_default(),
        counters: counters(&kind, find(&stats, APP).unwrap_or_default()),
        kind,
    }
}

/// Packets in a qdisc that is a band of the scheme.
fn role(message: &TcMessage) -> Option<&'static str> {
    let band = |minor: u32| (u32::from(SCHEME) << 16) | minor;
    match message.parent {
        parent if parent == band(1) => Some("handshakes"),
        parent if parent == band(2) => Some("data"),
        _ => None,
    }
}

/// Configured rate of a qdisc; for `htb`, the sum over its top classes.
fn rate_bps(message: &TcMessage, classes: &[TcMessage]) -> Option<u64> {
    let of_classes = classes
        .iter()
        .filter(|class| class.parent == ROOT && class.handle >> 16 == message.handle >> 16)
        .filter_map(configured::rate);
    let rates = of_classes.chain(configured::rate(message));
    rates.map(|rate| rate.bits_per_second()).reduce(u64::saturating_add)
}

/// Reads the counters of all queues of a device and, if gentle shapes its incoming packets, of its intermediate device.
///
/// # Errors
/// If the device does not exist or a netlink request fails.
pub fn show(dev: &Device) -> Result<DeviceQueues, ApplyError> {
    let mut netlink = Netlink::open()?;
    let existing = interfaces(&mut netlink)?;
    let mut named = existing.iter();
    let found = named.find(|interface| interface.name == dev.name());
    let found = found.ok_or_else(|| ApplyError::NoDevice(dev.clone()))?;
    let mut qdiscs = list(&mut netlink, found.index, Direction::Egress)?;
    let own = Snapshot::take(&mut netlink, found.index, Side::Ingress)?;
    if let Some(ifb) = intermediate::of(&existing, found.index, &own, None) {
        qdiscs.extend(list(&mut netlink, ifb.index, Direction::Ingress)?);
    }
    Ok(DeviceQueues { dev: dev.name().to_owned(), qdiscs })
}

fn list(netlink: &mut Netlink, index: u32, direction: Direction) -> Result<Vec<Qdisc>, ApplyError> {
    let messages = netlink.list(Object::Qdisc, &TcMessage::about(index, 0))?;
    let classes = netlink.list(Object::Class, &TcMessage::about(index, 0))?;
    // Bands have roles only beneath a priority scheme.
    let shaped = messages
        .iter()
        .any(|message| message.handle == u32::from(SCHEME) << 16 && registry::is_shaper(&message.kind()));
    Ok(messages
        .iter()
        // An ingress or clsact qdisc has no queue.
        .filter(|message| message.parent != INGRESS)
        .map(|message| Qdisc { role: role(message).filter(|_| !shaped), ..qdisc(message, &classes, direction) })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::{Attribute, counters};
    use crate::counter::Counter;

    #[test]
    fn a_truncated_structure_gives_its_first_fields() {
        let words: Vec<u8> = (1..=4u32).flat_map(u32::to_ne_bytes).collect();
        assert_eq!(
            counters("choke", &words[..10]),
            [Counter { name: "early", value: 1 }, Counter { name: "pdrop", value: 2 }]
        );
        assert!(counters("unheard_of", &words).is_empty());
    }

    fn attribute(raw_kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let value = value.to_vec();
        Attribute { raw_kind, value }.write(&mut bytes);
        bytes
    }

    #[test]
    fn the_tins_of_cake_are_counted_apart() {
        let tin = |packets: u32, bytes: u64| {
            [attribute(2, &packets.to_ne_bytes()), attribute(3, &bytes.to_ne_bytes()), attribute(77, &[0; 4])].concat()
        };
        let tins = [
            attribute(1 | 0x8000, &tin(0, 0)),
            attribute(2 | 0x8000, &tin(7, 9_000)),
            attribute(9 | 0x8000, &tin(1, 1)),
        ];
        let bytes = [attribute(3, &4_194_304u32.to_ne_bytes()), attribute(10 | 0x8000, &tins.concat())];
        let found = counters("cake", &bytes.concat());
        let found: Vec<_> = found.iter().map(|c| (c.name, c.value)).collect();
        let expected = [
            ("memory_limit_bytes", 4_194_304),
            ("tin1_packets", 0),
            ("tin1_bytes", 0),
            ("tin2_packets", 7),
            ("tin2_bytes", 9_000),
        ];
        assert_eq!(found, expected);
    }
}

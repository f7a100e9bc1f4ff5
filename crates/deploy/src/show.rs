//! Statistics of the queues of a device, from the kernel's counters.

use crate::apply::ApplyError;
use crate::configured;
use crate::counter::Counter;
use crate::device::Device;
use crate::netlink::{Attribute, INGRESS, Netlink, Object, ROOT, TcMessage, find, format_handle};
use crate::netlink::{interface, tca};
use crate::plan::{Direction, SCHEME};
use schemars::JsonSchema;
use serde::Serialize;

/// The queues of a device, from the root down, and those of its incoming packets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Shown {
    /// The device.
    pub dev: String,
    /// Its queues.
    pub qdiscs: Vec<Qdisc>,
}

/// A queue and its counters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Qdisc {
    /// `egress` or `ingress`.
    pub direction: &'static str,
    /// Its name, as `tc` has it.
    pub kind: String,
    /// Its handle, as `tc` writes it; `0:` for one that came with the device.
    pub handle: String,
    /// `root` or the class that it belongs to.
    pub parent: String,
    /// What it holds, where gentle knows: `handshakes` or `data`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<&'static str>,
    /// Bits per second to which it holds packets back; of `htb`, the sum over its classes at the top.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_bps: Option<u64>,
    /// The delay that it aims at, in nanoseconds, as the kernel keeps it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_ns: Option<u64>,
    /// Bytes that left it.
    pub bytes: u64,
    /// Packets that left it.
    pub packets: u64,
    /// Packets that it dropped.
    pub drops: u32,
    /// How often it could not send because of its rate.
    pub overlimits: u32,
    /// Packets that the device gave back.
    pub requeues: u32,
    /// Bytes that wait in it.
    pub backlog_bytes: u32,
    /// Packets that wait in it.
    pub backlog_packets: u32,
    /// Counters of its kind, in the kernel's order.
    pub counters: Vec<Counter>,
}

/// Parts of `TCA_STATS2` (kernel: `linux/gen_stats.h`).
const BASIC: u16 = 1;
const QUEUE: u16 = 3;
const APP: u16 = 4;
const PACKETS64: u16 = 8;

/// Statistics of a kind of queue: its structure in `linux/pkt_sched.h`, field by field. A shorter structure of an older
/// kernel is read as far as it goes; fields appended by a newer one are ignored.
struct Layout {
    kind: &'static str,
    fields: &'static [Field],
}

enum Field {
    /// Unsigned 32-bit number.
    U32(&'static str),
    /// Unsigned 64-bit number.
    U64(&'static str),
    /// Bytes that are of no interest to operators.
    Skip(usize),
}

use Field::{Skip, U32, U64};

const LAYOUTS: &[Layout] = &[
    Layout {
        kind: "codel",
        fields: &[
            U32("maxpacket_bytes"),
            U32("count"),
            U32("lastcount"),
            U32("ldelay_us"),
            Skip(4),
            U32("drop_overlimit"),
            U32("ecn_mark"),
            U32("dropping"),
            U32("ce_mark"),
        ],
    },
    Layout {
        kind: "fq_codel",
        fields: &[
            Skip(4),
            U32("maxpacket_bytes"),
            U32("drop_overlimit"),
            U32("ecn_mark"),
            U32("new_flow_count"),
            U32("new_flows_len"),
            U32("old_flows_len"),
            U32("ce_mark"),
            U32("memory_usage_bytes"),
            U32("drop_overmemory"),
        ],
    },
    Layout {
        kind: "red",
        fields: &[U32("early"), U32("pdrop"), U32("other"), U32("marked")],
    },
    Layout {
        kind: "choke",
        fields: &[
            U32("early"),
            U32("pdrop"),
            U32("other"),
            U32("marked"),
            U32("matched"),
        ],
    },
    Layout {
        kind: "pie",
        fields: &[
            // Fraction of 2^64.
            U64("prob"),
            U32("delay_us"),
            U32("avg_dq_rate"),
            U32("dq_rate_estimating"),
            U32("packets_in"),
            U32("dropped"),
            U32("overlimit"),
            U32("maxq"),
            U32("ecn_mark"),
        ],
    },
    Layout {
        kind: "fq_pie",
        fields: &[
            U32("packets_in"),
            U32("dropped"),
            U32("overlimit"),
            U32("overmemory"),
            U32("ecn_mark"),
            U32("new_flow_count"),
            U32("new_flows_len"),
            U32("old_flows_len"),
            U32("memory_usage_bytes"),
        ],
    },
    // kernel/include/uapi/pkt_sch_gsp.h.
    Layout {
        kind: "gsp",
        fields: &[
            U64("early_drop"),
            U64("tail_drop"),
            U64("interval_ns"),
            U64("cumul_ns"),
            U64("expiry_ns"),
            U64("delay_ns"),
            U32("above"),
            U32("overflow"),
        ],
    },
    // kernel/include/uapi/pkt_sch_redfavor.h.
    Layout {
        kind: "redfavor",
        fields: &[
            U64("prob_drop"),
            U64("forced_drop"),
            U64("tail_drop"),
            U64("push_out"),
            U64("syn_queued"),
            U64("syn_saved"),
            U64("syn_early_drop"),
            U64("syn_tail_drop"),
            U64("prob_mark"),
            U64("forced_mark"),
            U32("qavg_bytes"),
            U32("max_p"),
            U32("syn_qlen"),
            U32("syn_backlog_bytes"),
            U64("syn_toolong"),
            U64("syn_overshare"),
        ],
    },
];

/// Attributes of `cake` as a whole (`TCA_CAKE_STATS_*`).
const CAKE: &[(u16, &str)] = &[
    (2, "capacity_estimate_bytes_per_second"),
    (3, "memory_limit_bytes"),
    (4, "memory_used_bytes"),
];

/// Attributes of `spa` as a whole (`TCA_SPA_XSTATS_*` in kernel/include/uapi/pkt_sch_spa.h).
const SPA: &[(u16, &str)] = &[
    (4, "syn"),
    (5, "fin_first"),
    (6, "fin_kept"),
    (7, "fin_overlimit"),
    (8, "drop_for_fin"),
    (9, "mark_for_fin"),
    (10, "toolong"),
    (11, "held_back"),
    (13, "held"),
    (14, "held_bytes"),
];

/// Attributes of `spa` that contain its queues.
const SPA_HANDSHAKES: u16 = 2;
const SPA_DATA: u16 = 3;

/// Attributes of each queue of `spa` (`TCA_SPA_QUEUE_*`), with their names for both queues.
const SPA_QUEUE: &[(u16, &str, &str)] = &[
    (2, "handshakes_enqueued", "data_enqueued"),
    (3, "handshakes_sent", "data_sent"),
    (4, "handshakes_bytes", "data_bytes"),
    (5, "handshakes_drop_limit", "data_drop_limit"),
    (6, "handshakes_drop_memory", "data_drop_memory"),
    (7, "handshakes_drop_child", "data_drop_child"),
    (8, "handshakes_drop_change", "data_drop_change"),
    (9, "handshakes_drop_codel", "data_drop_codel"),
    (10, "handshakes_qlen", "data_qlen"),
    (11, "handshakes_backlog_bytes", "data_backlog_bytes"),
    (12, "handshakes_memory_bytes", "data_memory_bytes"),
    (13, "handshakes_maxpacket_bytes", "data_maxpacket_bytes"),
    (16, "handshakes_ldelay_us", "data_ldelay_us"),
    (18, "handshakes_ecn_mark", "data_ecn_mark"),
    (19, "handshakes_ce_mark", "data_ce_mark"),
];

/// Attributes that are in `names`, as counters.
fn named(
    attributes: &[Attribute],
    names: impl Iterator<Item = (u16, &'static str)>,
) -> Vec<Counter> {
    names
        .filter_map(|(attribute, name)| {
            let value = find(attributes, attribute)?;
            let value = number(value, value.len())?;
            Some(Counter { name, value })
        })
        .collect()
}

fn spa_counters(attributes: &[Attribute]) -> Vec<Counter> {
    let queue = |attribute| Attribute::all(find(attributes, attribute).unwrap_or_default());
    let handshakes = SPA_QUEUE.iter().map(|(number, name, _)| (*number, *name));
    let data = SPA_QUEUE.iter().map(|(number, _, name)| (*number, *name));
    let mut counters = named(&queue(SPA_HANDSHAKES), handshakes);
    counters.extend(named(&queue(SPA_DATA), data));
    counters.extend(named(attributes, SPA.iter().copied()));
    counters
}

fn counters(kind: &str, bytes: &[u8]) -> Vec<Counter> {
    match kind {
        "cake" => return named(&Attribute::all(bytes), CAKE.iter().copied()),
        "spa" => return spa_counters(&Attribute::all(bytes)),
        _ => {}
    }
    let layout = LAYOUTS.iter().find(|layout| layout.kind == kind);
    let mut at = 0;
    let mut list = Vec::new();
    for field in layout.map_or(&[][..], |layout| layout.fields) {
        let (name, length) = match field {
            U32(name) => (Some(*name), 4),
            U64(name) => (Some(*name), 8),
            Skip(length) => (None, *length),
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

/// Number in native byte order.
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
    let band = |minor: u32| (u32::from(SCHEME) << 16) | minor;
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
        role: match message.parent {
            parent if parent == band(1) => Some("handshakes"),
            parent if parent == band(2) => Some("data"),
            _ => None,
        },
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

/// Configured rate of a qdisc; for `htb`, the sum over its top classes.
fn rate_bps(message: &TcMessage, classes: &[TcMessage]) -> Option<u64> {
    let of_classes = classes
        .iter()
        .filter(|class| class.parent == ROOT && class.handle >> 16 == message.handle >> 16)
        .filter_map(configured::rate);
    let rates = of_classes.chain(configured::rate(message));
    rates
        .map(|rate| rate.bits_per_second())
        .reduce(u64::saturating_add)
}

/// Reads the counters of all queues of a device and, if gentle shapes its incoming packets, of its intermediate device.
///
/// # Errors
/// If the device does not exist or a netlink request fails.
pub fn show(dev: &Device) -> Result<Shown, ApplyError> {
    let mut netlink = Netlink::open()?;
    let found = interface(&mut netlink, dev)?.ok_or_else(|| ApplyError::NoDevice(dev.clone()))?;
    let mut qdiscs = list(&mut netlink, found.index, Direction::Egress)?;
    if let Some(ifb) = interface(&mut netlink, &dev.ingress())?
        && ifb.alias == Some(crate::plan::ingress_alias(dev))
    {
        qdiscs.extend(list(&mut netlink, ifb.index, Direction::Ingress)?);
    }
    Ok(Shown {
        dev: dev.name().to_owned(),
        qdiscs,
    })
}

fn list(netlink: &mut Netlink, index: u32, direction: Direction) -> Result<Vec<Qdisc>, ApplyError> {
    let messages = netlink.list(Object::Qdisc, &TcMessage::about(index, 0))?;
    let classes = netlink.list(Object::Class, &TcMessage::about(index, 0))?;
    Ok(messages
        .iter()
        // The qdisc for incoming packets does not queue.
        .filter(|message| message.parent != INGRESS)
        .map(|message| qdisc(message, &classes, direction))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::{Attribute, counters};
    use crate::counter::Counter;

    #[test]
    fn a_kernel_that_tells_less_is_read_as_far_as_it_goes() {
        let words: Vec<u8> = (1..=4u32).flat_map(u32::to_ne_bytes).collect();
        assert_eq!(
            counters("choke", &words[..10]),
            [
                Counter {
                    name: "early",
                    value: 1
                },
                Counter {
                    name: "pdrop",
                    value: 2
                }
            ]
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
    fn queues_of_spa_are_told_apart_and_attributes_may_be_missing() {
        let queue = |sent: u64| attribute(3, &sent.to_ne_bytes());
        let bytes = [
            attribute(3 | 0x8000, &queue(7)),
            attribute(2 | 0x8000, &queue(5)),
            attribute(4, &9u64.to_ne_bytes()),
            attribute(99, &[1, 2]),
        ];
        let found = counters("spa", &bytes.concat());
        let found: Vec<_> = found.iter().map(|c| (c.name, c.value)).collect();
        let expected = [("handshakes_sent", 5), ("data_sent", 7), ("syn", 9)];
        assert_eq!(found, expected);
    }
}

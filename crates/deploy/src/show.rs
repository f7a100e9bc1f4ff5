//! What the queues of a device have done, as the kernel counts it.

use crate::apply::ApplyError;
use crate::device::Device;
use crate::netlink::{Attribute, INGRESS, Netlink, Object, ROOT, TcMessage, find, format_handle};
use crate::netlink::{interface, tca};
use crate::plan::{Direction, SCHEME};
use serde::Serialize;

/// The queues of a device, from the root down, and those of its incoming packets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// The device.
    pub dev: String,
    /// Its queues.
    pub qdiscs: Vec<Qdisc>,
}

/// A queue and its counters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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

/// A counter that only some kind of queue has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Counter {
    /// Its name, as the kernel has it, with the unit where there is one.
    pub name: &'static str,
    /// Its value.
    pub value: u64,
}

/// Parts of `TCA_STATS2` (kernel: `linux/gen_stats.h`).
const BASIC: u16 = 1;
const QUEUE: u16 = 3;
const APP: u16 = 4;
const PACKETS64: u16 = 8;

/// What a kind of queue tells of itself: its structure in `linux/pkt_sched.h`, field by field. A kernel that tells
/// less is read as far as it goes; what one adds at the end is not shown.
struct Layout {
    kind: &'static str,
    fields: &'static [Field],
}

enum Field {
    /// An unsigned number of 32 bits.
    U32(&'static str),
    /// One of 64 bits.
    U64(&'static str),
    /// This many bytes that say nothing to an operator.
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
            // A fraction of 2^64.
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
    // kernel/include/uapi/pkt_sch_spa.h, of the qdisc.
    Layout {
        kind: "spa",
        fields: &[
            Skip(8),
            U64("handshakes_enqueued"),
            U64("handshakes_bytes"),
            U64("handshakes_sent"),
            U64("handshakes_drop_limit"),
            U64("handshakes_drop_memory"),
            U64("handshakes_drop_child"),
            U64("handshakes_drop_change"),
            U64("handshakes_drop_codel"),
            U32("handshakes_qlen"),
            U32("handshakes_backlog_bytes"),
            U32("handshakes_memory_bytes"),
            Skip(4),
            U32("handshakes_maxpacket_bytes"),
            Skip(8),
            U32("handshakes_ldelay_us"),
            Skip(8),
            U32("handshakes_ecn_mark"),
            U32("handshakes_ce_mark"),
            U64("data_enqueued"),
            U64("data_bytes"),
            U64("data_sent"),
            U64("data_drop_limit"),
            U64("data_drop_memory"),
            U64("data_drop_child"),
            U64("data_drop_change"),
            U64("data_drop_codel"),
            U32("data_qlen"),
            U32("data_backlog_bytes"),
            U32("data_memory_bytes"),
            Skip(4),
            U32("data_maxpacket_bytes"),
            Skip(8),
            U32("data_ldelay_us"),
            Skip(8),
            U32("data_ecn_mark"),
            U32("data_ce_mark"),
            U64("syn"),
            U64("fin_first"),
            U64("fin_spared"),
            U64("fin_paid"),
            U64("fin_refused"),
            U64("toolong"),
            U64("held_back"),
            Skip(8),
            U32("held"),
            U32("held_bytes"),
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
        ],
    },
];

/// Attributes that `cake` tells of itself as a whole (`TCA_CAKE_STATS_*`).
const CAKE: [(u16, &str); 3] = [
    (2, "capacity_estimate_bytes_per_second"),
    (3, "memory_limit_bytes"),
    (4, "memory_used_bytes"),
];

fn counters(kind: &str, bytes: &[u8]) -> Vec<Counter> {
    if kind == "cake" {
        let attributes = Attribute::all(bytes);
        return CAKE
            .into_iter()
            .filter_map(|(attribute, name)| {
                let value = find(&attributes, attribute)?;
                let value = number(value, value.len())?;
                Some(Counter { name, value })
            })
            .collect();
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

/// A number of the kernel's.
fn number(bytes: &[u8], length: usize) -> Option<u64> {
    match length {
        4 => Some(u32::from_ne_bytes(*bytes.first_chunk()?).into()),
        8 => Some(u64::from_ne_bytes(*bytes.first_chunk()?)),
        _ => None,
    }
}

fn qdisc(message: &TcMessage, direction: Direction) -> Qdisc {
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

/// Reads the counters of all queues of a device and, if gentle shapes what arrives there, of its intermediate device.
///
/// # Errors
/// There is no such device, or the kernel did not say.
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
    Ok(messages
        .iter()
        // It only passes packets on.
        .filter(|message| message.parent != INGRESS)
        .map(|message| qdisc(message, direction))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::{Counter, counters};

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
}

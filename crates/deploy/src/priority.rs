//! Priority for handshake packets with stock parts of Linux: `prio`, two children, and `u32` filters.
//!
//! A packet is a SYN (or a FIN, if FINs have priority) by the flags of its TCP header, which follows the IPv4 options;
//! fragments other than the first have no TCP header. An IP packet longer than `maxlen` is data whatever its flags:
//! `u32` compares masked bits only, so "at most" becomes one match per power of two ([`prefix`]). Filters that match
//! the length jump to a table of flags, so that the number of filters is the sum of lengths and flags and not the
//! product.
//!
//! On Ethernet, IP may be encapsulated in VLAN tags, a PPPoE session or MPLS; [`ENCAPSULATIONS`] lists the supported
//! encapsulations. The native module supports others (`kernel/handshake.h`), and otherwise gives the same packets
//! priority.
//!
//! A policer enforces the bound on the priority band: packets beyond it queue as data. A shaper on the band would delay
//! SYNs on an idle link and drop those it cannot hold.

use crate::command::Command;
use crate::error::PlanError;
use crate::hash::fnv1a;
use crate::place::QueuePlace;
use crate::prefix;
use crate::shaper::least_rate;
use crate::stock;
use gentle_aqm::{Spec, Value};
use gentle_units::Rate;

/// Packets with priority, and their maximum share of the link.
struct Rule {
    fin: bool,
    /// Longest IP packet with priority, bytes; `None`: any length.
    maxlen: Option<u32>,
    /// Maximum rate of the priority band; packets beyond it queue as data.
    bound: Option<Rate>,
}

/// Length of the IPv6 header, which the length field does not include.
const IPV6_HEADER: u32 = 40;

/// Length of a TCP header without options, bytes. The shortest IPv4 header has the same length; IPv6 has
/// [`IPV6_HEADER`] in its place.
const TCP_HEADER: u32 = 20;

/// Burst of the bound, bytes: ten full Ethernet frames, as in gentle-aqm's `spa`.
const BOUND_BURST: u32 = 15_140;

const IPV4_TABLE: u32 = 1;
const IPV6_TABLE: u32 = 2;

/// Encapsulation of IP on an Ethernet device.
struct Encapsulation {
    /// Preference of the filters, unique per protocol.
    preference: u32,
    /// Protocol of the packet in `tc`: the type of its outermost tag, or else of the frame.
    protocol: &'static str,
    /// Match for IPv4.
    ipv4: &'static str,
    /// Match for IPv6.
    ipv6: &'static str,
    /// Offset of the IP header from the network header, bytes.
    offset: u32,
}

const fn encapsulation(
    preference: u32,
    protocol: &'static str,
    ipv4: &'static str,
    ipv6: &'static str,
    offset: u32,
) -> Encapsulation {
    Encapsulation { preference, protocol, ipv4, ipv6, offset }
}

/// Encapsulations. The place of the network header of a tagged packet in the kernel depends on the origin of the frame:
/// after all tags, preceded by the type of the payload, or, for forwarded frames, after the outermost tag.
const ENCAPSULATIONS: [Encapsulation; 8] = [
    encapsulation(3, "802.1Q", " match u16 0x0800 0xffff at -2", " match u16 0x86dd 0xffff at -2", 0),
    encapsulation(
        3,
        "802.1Q",
        " match u16 0x8100 0xffff at -2 match u16 0x0800 0xffff at 2",
        " match u16 0x8100 0xffff at -2 match u16 0x86dd 0xffff at 2",
        4,
    ),
    // PPPoE session in a VLAN, as used by DSL providers.
    encapsulation(
        3,
        "802.1Q",
        " match u16 0x8864 0xffff at -2 match u16 0x0021 0xffff at 6",
        " match u16 0x8864 0xffff at -2 match u16 0x0057 0xffff at 6",
        8,
    ),
    encapsulation(4, "802.1ad", " match u16 0x0800 0xffff at -2", " match u16 0x86dd 0xffff at -2", 0),
    encapsulation(
        4,
        "802.1ad",
        " match u16 0x8100 0xffff at -2 match u16 0x0800 0xffff at 2",
        " match u16 0x8100 0xffff at -2 match u16 0x86dd 0xffff at 2",
        4,
    ),
    encapsulation(5, "ppp_ses", " match u16 0x0021 0xffff at 6", " match u16 0x0057 0xffff at 6", 8),
    // Bottom of the label stack, and the IP version.
    encapsulation(
        6,
        "mpls_uc",
        " match u8 0x01 0x01 at 2 match u8 0x40 0xf0 at 4",
        " match u8 0x01 0x01 at 2 match u8 0x60 0xf0 at 4",
        4,
    ),
    encapsulation(
        6,
        "mpls_uc",
        " match u8 0x00 0x01 at 2 match u8 0x01 0x01 at 6 match u8 0x40 0xf0 at 8",
        " match u8 0x00 0x01 at 2 match u8 0x01 0x01 at 6 match u8 0x60 0xf0 at 8",
        8,
    ),
];

/// Plans priority over two children with stock parts.
pub(crate) fn plan(at: &QueuePlace, spec: &Spec, differences: &mut Vec<String>) -> Result<Vec<Command>, PlanError> {
    let rule = rule(at, spec, differences);
    let child = stock::child_args(spec, at.link_rate)?;
    let (dev, handle) = (&at.dev, at.handle);
    let data_everywhere = [" 1"; 16].concat();
    let mut commands = vec![
        Command::tc(&format!("qdisc {} handle {handle:x}: prio bands 2 priomap{data_everywhere}", at.place())),
        Command::tc(&format!("qdisc add dev {dev} parent {handle:x}:1 handle {:x}: {child}", handle + 1)),
        Command::tc(&format!("qdisc add dev {dev} parent {handle:x}:2 handle {:x}: {child}", handle + 2)),
    ];
    commands.extend(filters(at, &rule));
    Ok(commands)
}

fn rule(at: &QueuePlace, spec: &Spec, differences: &mut Vec<String>) -> Rule {
    let option = |name| {
        let mut options = spec.options().iter();
        options.find_map(|(option, value)| value.filter(|_| option == name))
    };
    let fin = option("fin") == Some(Value::Choice("priority"));
    let maxlen = match option("maxlen") {
        Some(Value::Count(0)) | None => None,
        Some(Value::Count(bytes)) => u32::try_from(bytes).ok(),
        Some(_) => None,
    };
    if maxlen.is_some_and(|maxlen| maxlen < 2 * TCP_HEADER) {
        differences.push(format!(
            "no TCP packet is as short as maxlen={}, so nothing has priority",
            maxlen.unwrap_or_default()
        ));
    } else {
        differences.push("a SYN behind IPv6 extension headers queues as data; the native module finds it".to_owned());
        if at.link.header > 0 {
            differences.push(
                "a SYN behind three VLAN tags, or PPPoE in two, queues as data, and one behind MPLS labels has priority; the native module does the opposite".to_owned(),
            );
        }
    }
    Rule { fin, maxlen, bound: bound(at, option("share"), differences) }
}

/// Rate of `share` of the link, if the rate of the link is known.
fn bound(at: &QueuePlace, share: Option<Value>, differences: &mut Vec<String>) -> Option<Rate> {
    let Some(Value::Count(percent @ ..100)) = share else {
        return None;
    };
    let Some(rate) = at.rate else {
        differences.push(format!(
            "share={percent} is not enforced: with stock parts it is a policer on the filters, which needs the rate of the link; give the rate, or use the native module"
        ));
        return None;
    };
    let share = u128::from(rate.bits_per_second()) * u128::from(percent) / 100;
    // At most 100 % of a rate, so it fits.
    let least = least_rate(BOUND_BURST.into());
    let share = u64::try_from(share).ok().filter(|&share| share >= least);
    let Some(share) = share.and_then(Rate::from_bits_per_second) else {
        differences.push(format!(
            "share={percent} is not enforced: {percent} % of {rate} is below {least} bit/s, the minimum of a policer; give a higher rate, or use the native module"
        ));
        return None;
    };
    differences.push(format!(
        "share={percent} is a policer (act_police; share=100 needs none): handshake packets beyond {percent} % of {rate} queue as data, even if no packet waits"
    ));
    Some(share)
}

fn filters(at: &QueuePlace, rule: &Rule) -> Vec<Command> {
    let ipv4 = lengths(rule.maxlen, 2 * TCP_HEADER, 0);
    let ipv6 = lengths(rule.maxlen, IPV6_HEADER + TCP_HEADER, IPV6_HEADER);
    let mut list = Filters { at, commands: Vec::new(), policer: rule.bound.map(|rate| Policer { rate, made: false }) };
    list.table(1, "ip", IPV4_TABLE, "nexthdr+13", rule.fin, &ipv4);
    list.table(2, "ipv6", IPV6_TABLE, "53", rule.fin, &ipv6);
    list.jump_from_ipv4(&encapsulation(1, "ip", "", "", 0), &ipv4);
    list.jump_from_ipv6(&encapsulation(2, "ipv6", "", "", 0), &ipv6);
    if at.link.header > 0 {
        for encapsulation in &ENCAPSULATIONS {
            list.jump_from_ipv4(encapsulation, &ipv4);
            list.jump_from_ipv6(encapsulation, &ipv6);
        }
    }
    list.commands
}

/// Range of lengths covered by one `u32` match: value and mask.
type Prefix = (u16, u16);

/// Matches of the length field for packets with priority, given the longest packet, the shortest possible one, and the
/// bytes that the field does not include. Empty: no packet has priority.
fn lengths(maxlen: Option<u32>, shortest: u32, uncounted: u32) -> Vec<Prefix> {
    match maxlen {
        None => prefix::up_to(u16::MAX),
        Some(longest) if longest < shortest => Vec::new(),
        Some(longest) => prefix::up_to(u16::try_from(longest - uncounted).unwrap_or(u16::MAX)),
    }
}

/// Match for the length field at offset `at`; empty if any length matches.
fn length_match((value, mask): Prefix, at: u32) -> String {
    match mask {
        0 => String::new(),
        _ => format!(" match u16 {value:#06x} {mask:#06x} at {at}"),
    }
}

struct Filters<'a> {
    at: &'a QueuePlace,
    commands: Vec<Command>,
    policer: Option<Policer>,
}

/// Token bucket shared by all filters: the first creates it, the others refer to it.
struct Policer {
    rate: Rate,
    made: bool,
}

impl Filters<'_> {
    fn add(&mut self, preference: u32, protocol: &str, rest: &str) {
        let (dev, handle) = (&self.at.dev, self.at.handle);
        self.commands.push(Command::tc(&format!(
            "filter add dev {dev} parent {handle:x}: protocol {protocol} pref {preference} {rest}"
        )));
    }

    /// Table that tests the flags of a TCP header; not created if no length leads to it.
    fn table(&mut self, preference: u32, protocol: &str, table: u32, flags_at: &str, fin: bool, lengths: &[Prefix]) {
        if lengths.is_empty() {
            return;
        }
        self.add(preference, protocol, &format!("handle {table}: u32 divisor 1"));
        for flag in [0x02, 0x01].into_iter().take(1 + usize::from(fin)) {
            let police = self.police();
            let handle = self.at.handle;
            self.add(
                preference,
                protocol,
                &format!("u32 ht {table}: match u8 {flag:#04x} {flag:#04x} at {flags_at} flowid {handle:x}:1{police}"),
            );
        }
    }

    fn jump_from_ipv4(&mut self, encapsulation: &Encapsulation, lengths: &[Prefix]) {
        let Encapsulation { ipv4, offset, .. } = encapsulation;
        let plus = match offset {
            0 => String::new(),
            _ => format!("plus {offset} "),
        };
        for prefix in lengths {
            // Protocol 6, first fragment; the header length, in words of four bytes, gives the offset of TCP.
            self.add(
                encapsulation.preference,
                encapsulation.protocol,
                &format!(
                    "u32{ipv4} match u8 0x06 0xff at {} match u16 0x0000 0x1fff at {}{} link {IPV4_TABLE}: offset {plus}at {offset} mask 0x0f00 shift 6",
                    offset + 9,
                    offset + 6,
                    length_match(*prefix, offset + 2),
                ),
            );
        }
    }

    fn jump_from_ipv6(&mut self, encapsulation: &Encapsulation, lengths: &[Prefix]) {
        let Encapsulation { ipv6, offset, .. } = encapsulation;
        let eat = match offset {
            0 => String::new(),
            _ => format!(" offset plus {offset} eat"),
        };
        for prefix in lengths {
            self.add(
                encapsulation.preference,
                encapsulation.protocol,
                &format!(
                    "u32{ipv6} match u8 0x06 0xff at {}{} link {IPV6_TABLE}:{eat}",
                    offset + 6,
                    length_match(*prefix, offset + 4),
                ),
            );
        }
    }

    /// Action that lets packets beyond the bound continue to the data band.
    fn police(&mut self) -> String {
        let index = policer_index(self.at);
        let Some(policer) = &mut self.policer else {
            return String::new();
        };
        if policer.made {
            return format!(" action police index {index}");
        }
        policer.made = true;
        format!(" action police index {index} rate {} burst {BOUND_BURST} conform-exceed continue/ok", policer.rate)
    }
}

/// Index of the policer. Policers are numbered per network namespace, so the index is derived from the place: the
/// hash of the device's name and the handle, without its top bit and never 0.
fn policer_index(at: &QueuePlace) -> u32 {
    let bytes = at.dev.name().bytes().chain(at.handle.to_be_bytes());
    (fnv1a(bytes) >> 1).max(1)
}

//! Priority for handshake packets from parts that every Linux has: `prio`, two children, and `u32` filters.
//!
//! A packet is a SYN (or a FIN, where that has priority) by the flags of its TCP header, found behind IPv4's options;
//! a later fragment has none. An IP packet longer than `maxlen` is data whatever its flags: `u32` compares masked bits
//! only, so "at most" becomes one match for each power of two ([`prefix`]). Filters first jump into a table of flags when
//! the length is right, so that the number of filters is the sum of lengths and flags and not the product.
//!
//! On Ethernet, IP may be carried by VLAN tags, a PPPoE session or MPLS labels: [`CARRIERS`] has those that are looked
//! behind. The native module looks behind more (`kernel/handshake.h`), and gives the same packets priority otherwise.
//!
//! A bound on what the priority may take is a policer that sends packets beyond it on to the data. A shaper on the band
//! would hold SYNs back on an idle link and drop what it cannot hold.

use crate::command::Command;
use crate::plan::{PlanError, Under};
use crate::prefix;
use crate::shaper::LEAST_RATE;
use crate::stock;
use gentle_aqm::{Spec, Value};
use gentle_units::Rate;

/// Which packets go first, and how much of the link they may take.
struct Rule {
    fin: bool,
    /// Longest IP packet with priority; `None`: any length.
    maxlen: Option<u32>,
    /// Most of the link that the priority band may take while packets beyond it queue as data.
    bound: Option<Rate>,
}

/// Header of IPv6, which its length field leaves out.
const IPV6_HEADER: u32 = 40;

/// The shortest packet with a TCP header, over IPv4; over IPv6 with [`IPV6_HEADER`] in place of 20 bytes.
const TCP_HEADER: u32 = 20;

/// What may pass at once beyond the bound: ten full Ethernet frames, as in gentle-aqm's `spa`.
const BOUND_BURST: u32 = 15_140;

const IPV4_TABLE: u32 = 1;
const IPV6_TABLE: u32 = 2;

/// What carries IP on an Ethernet device.
struct Carrier {
    /// Of the filters, each protocol its own.
    preference: u32,
    /// What `tc` takes the packet for: the type of its outermost tag, or of what the frame holds.
    protocol: &'static str,
    /// What tells that IPv4 is in it.
    ipv4: &'static str,
    /// The same of IPv6.
    ipv6: &'static str,
    /// Bytes from the network header to the header of IP.
    offset: u32,
}

const fn carrier(
    preference: u32,
    protocol: &'static str,
    ipv4: &'static str,
    ipv6: &'static str,
    offset: u32,
) -> Carrier {
    Carrier {
        preference,
        protocol,
        ipv4,
        ipv6,
        offset,
    }
}

/// Where the kernel has the network header of a tagged packet depends on who built the frame: behind all tags, with the
/// type of what is in them before it, or, where it is forwarded, behind the outermost one.
const CARRIERS: [Carrier; 8] = [
    carrier(
        3,
        "802.1Q",
        " match u16 0x0800 0xffff at -2",
        " match u16 0x86dd 0xffff at -2",
        0,
    ),
    carrier(
        3,
        "802.1Q",
        " match u16 0x8100 0xffff at -2 match u16 0x0800 0xffff at 2",
        " match u16 0x8100 0xffff at -2 match u16 0x86dd 0xffff at 2",
        4,
    ),
    // A session of PPPoE in a tag, as DSL providers have it.
    carrier(
        3,
        "802.1Q",
        " match u16 0x8864 0xffff at -2 match u16 0x0021 0xffff at 6",
        " match u16 0x8864 0xffff at -2 match u16 0x0057 0xffff at 6",
        8,
    ),
    carrier(
        4,
        "802.1ad",
        " match u16 0x0800 0xffff at -2",
        " match u16 0x86dd 0xffff at -2",
        0,
    ),
    carrier(
        4,
        "802.1ad",
        " match u16 0x8100 0xffff at -2 match u16 0x0800 0xffff at 2",
        " match u16 0x8100 0xffff at -2 match u16 0x86dd 0xffff at 2",
        4,
    ),
    carrier(
        5,
        "ppp_ses",
        " match u16 0x0021 0xffff at 6",
        " match u16 0x0057 0xffff at 6",
        8,
    ),
    // The bottom of the stack of labels, and the version of IP.
    carrier(
        6,
        "mpls_uc",
        " match u8 0x01 0x01 at 2 match u8 0x40 0xf0 at 4",
        " match u8 0x01 0x01 at 2 match u8 0x60 0xf0 at 4",
        4,
    ),
    carrier(
        6,
        "mpls_uc",
        " match u8 0x00 0x01 at 2 match u8 0x01 0x01 at 6 match u8 0x40 0xf0 at 8",
        " match u8 0x00 0x01 at 2 match u8 0x01 0x01 at 6 match u8 0x60 0xf0 at 8",
        8,
    ),
];

/// Priority over two children from stock parts.
pub(crate) fn plan(
    at: &Under,
    spec: &Spec,
    notes: &mut Vec<String>,
) -> Result<Vec<Command>, PlanError> {
    let rule = rule(at, spec, notes);
    let child = spec.child().expect("a wrapper has a child");
    let name = child.scheme().name;
    if child.scheme().linux.is_none() {
        return Err(PlanError::NotOnLinux { scheme: name });
    }
    let child = stock::words(child, at.link_rate)?.ok_or(PlanError::NativeChild { child: name })?;
    let (dev, handle) = (&at.dev, at.handle);
    let data_everywhere = [" 1"; 16].concat();
    let mut commands = vec![
        Command::tc(&format!(
            "qdisc {} handle {handle:x}: prio bands 2 priomap{data_everywhere}",
            at.place()
        )),
        Command::tc(&format!(
            "qdisc add dev {dev} parent {handle:x}:1 handle {:x}: {child}",
            handle + 1
        )),
        Command::tc(&format!(
            "qdisc add dev {dev} parent {handle:x}:2 handle {:x}: {child}",
            handle + 2
        )),
    ];
    commands.extend(filters(at, &rule));
    Ok(commands)
}

fn rule(at: &Under, spec: &Spec, notes: &mut Vec<String>) -> Rule {
    let option = |name| {
        let mut options = spec.options().iter();
        options.find_map(|(option, value)| value.filter(|_| option == name))
    };
    let fin = match option("fin") {
        Some(Value::Choice("inorder")) => {
            notes.push(
                "fin=inorder needs the native module (kernel/ in gentle's source): with stock parts a FIN stays behind its data and may be dropped with it, as with fin=none".to_owned(),
            );
            false
        }
        Some(Value::Choice("priority")) => true,
        _ => false,
    };
    let maxlen = match option("maxlen") {
        Some(Value::Count(0)) | None => None,
        Some(Value::Count(bytes)) => u32::try_from(bytes).ok(),
        Some(_) => None,
    };
    if maxlen.is_some_and(|maxlen| maxlen < 2 * TCP_HEADER) {
        notes.push(format!(
            "no TCP packet is as short as maxlen={}: nothing has priority",
            maxlen.unwrap_or_default()
        ));
    } else {
        notes.push(
            "over IPv6, only a TCP header that follows the IPv6 header at once is found: with extension headers a SYN queues as data".to_owned(),
        );
        if at.link.header > 0 {
            notes.push(
                "behind a third VLAN tag, a third MPLS label, or PPPoE in two tags, a SYN queues as data; the native module finds it".to_owned(),
            );
        }
    }
    Rule {
        fin,
        maxlen,
        bound: bound(at, option("share"), notes),
    }
}

/// The rate that `share` of the link is, where the link's rate is known.
fn bound(at: &Under, share: Option<Value>, notes: &mut Vec<String>) -> Option<Rate> {
    let Some(Value::Count(percent @ ..100)) = share else {
        return None;
    };
    let Some(rate) = at.rate else {
        notes.push(format!(
            "share={percent} is not enforced: with stock parts it is a policer on the filters, which needs the rate of the link; give the rate, or use the native module"
        ));
        return None;
    };
    let share = u128::from(rate.bits_per_second()) * u128::from(percent) / 100;
    // At most 100 % of a rate.
    let share = u64::try_from(share)
        .ok()
        .filter(|&share| share >= LEAST_RATE);
    let Some(share) = share.and_then(Rate::from_bits_per_second) else {
        notes.push(format!(
            "share={percent} is not enforced: {percent} % of {rate} is less than the {LEAST_RATE} bit/s that a policer can have; give a higher rate, or use the native module"
        ));
        return None;
    };
    notes.push(format!(
        "share={percent} is a policer (act_police; share=100 does without): handshake packets beyond {percent} % of {rate} queue as data, also while no data waits"
    ));
    Some(share)
}

fn filters(at: &Under, rule: &Rule) -> Vec<Command> {
    let ipv4 = lengths(rule.maxlen, 2 * TCP_HEADER, 0);
    let ipv6 = lengths(rule.maxlen, IPV6_HEADER + TCP_HEADER, IPV6_HEADER);
    let mut list = Filters {
        at,
        commands: Vec::new(),
        policer: rule.bound.map(|rate| Policer { rate, made: false }),
    };
    list.table(1, "ip", IPV4_TABLE, "nexthdr+13", rule.fin, &ipv4);
    list.table(2, "ipv6", IPV6_TABLE, "53", rule.fin, &ipv6);
    list.jump_from_ipv4(&carrier(1, "ip", "", "", 0), &ipv4);
    list.jump_from_ipv6(&carrier(2, "ipv6", "", "", 0), &ipv6);
    if at.link.header > 0 {
        for carrier in &CARRIERS {
            list.jump_from_ipv4(carrier, &ipv4);
            list.jump_from_ipv6(carrier, &ipv6);
        }
    }
    list.commands
}

/// A range of lengths that one `u32` match covers: value and mask.
type Prefix = (u16, u16);

/// What the length field has to be for priority, given the longest packet, the shortest that there is, and what of it the
/// field does not count. Empty: none has priority.
fn lengths(maxlen: Option<u32>, shortest: u32, uncounted: u32) -> Vec<Prefix> {
    match maxlen {
        None => prefix::up_to(u16::MAX),
        Some(longest) if longest < shortest => Vec::new(),
        Some(longest) => prefix::up_to(u16::try_from(longest - uncounted).unwrap_or(u16::MAX)),
    }
}

/// The match for a length field `at` this place; nothing where any length will do.
fn length_match((value, mask): Prefix, at: u32) -> String {
    match mask {
        0 => String::new(),
        _ => format!(" match u16 {value:#06x} {mask:#06x} at {at}"),
    }
}

struct Filters<'a> {
    at: &'a Under,
    commands: Vec<Command>,
    policer: Option<Policer>,
}

/// One bucket for all filters: the first makes it, the others name it.
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

    /// A table in which the flags of a TCP header are looked at, if any length leads there.
    fn table(
        &mut self,
        preference: u32,
        protocol: &str,
        table: u32,
        flags_at: &str,
        fin: bool,
        lengths: &[Prefix],
    ) {
        if lengths.is_empty() {
            return;
        }
        self.add(
            preference,
            protocol,
            &format!("handle {table}: u32 divisor 1"),
        );
        for flag in [0x02, 0x01].into_iter().take(1 + usize::from(fin)) {
            let police = self.police();
            let handle = self.at.handle;
            self.add(
                preference,
                protocol,
                &format!(
                    "u32 ht {table}: match u8 {flag:#04x} {flag:#04x} at {flags_at} flowid {handle:x}:1{police}"
                ),
            );
        }
    }

    fn jump_from_ipv4(&mut self, carrier: &Carrier, lengths: &[Prefix]) {
        let Carrier { ipv4, offset, .. } = carrier;
        let plus = match offset {
            0 => String::new(),
            _ => format!("plus {offset} "),
        };
        for prefix in lengths {
            // Protocol 6, first fragment; the header's length, in words of four bytes, is where TCP begins.
            self.add(
                carrier.preference,
                carrier.protocol,
                &format!(
                    "u32{ipv4} match u8 0x06 0xff at {} match u16 0x0000 0x1fff at {}{} link {IPV4_TABLE}: offset {plus}at {offset} mask 0x0f00 shift 6",
                    offset + 9,
                    offset + 6,
                    length_match(*prefix, offset + 2),
                ),
            );
        }
    }

    fn jump_from_ipv6(&mut self, carrier: &Carrier, lengths: &[Prefix]) {
        let Carrier { ipv6, offset, .. } = carrier;
        let eat = match offset {
            0 => String::new(),
            _ => format!(" offset plus {offset} eat"),
        };
        for prefix in lengths {
            self.add(
                carrier.preference,
                carrier.protocol,
                &format!(
                    "u32{ipv6} match u8 0x06 0xff at {}{} link {IPV6_TABLE}:{eat}",
                    offset + 6,
                    length_match(*prefix, offset + 4),
                ),
            );
        }
    }

    /// What lets a packet beyond the bound go on to the data.
    fn police(&mut self) -> String {
        let index = policer_index(self.at);
        let Some(policer) = &mut self.policer else {
            return String::new();
        };
        if policer.made {
            return format!(" action police index {index}");
        }
        policer.made = true;
        format!(
            " action police index {index} rate {} burst {BOUND_BURST} conform-exceed continue/ok",
            policer.rate
        )
    }
}

/// Policers are numbered for all devices of a network namespace together, so the number is made of the place: the
/// 32-bit FNV-1a hash of the device's name and the handle, without its top bit and never 0.
fn policer_index(at: &Under) -> u32 {
    let bytes = at.dev.name().bytes().chain(at.handle.to_be_bytes());
    let hash = bytes.fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    (hash >> 1).max(1)
}

//! Priority for handshake packets from parts that every Linux has: `prio`, two children, and `u32` filters.
//!
//! A packet is a SYN (or a FIN, where that has priority) by the flags of its TCP header, found behind IPv4's options;
//! a later fragment has none. What is longer than `maxlen` is data whatever its flags: `u32` compares masked bits only,
//! so "at most" becomes one match for each power of two ([`prefix`]). Filters of one protocol first jump into a table of
//! flags when the length is right, so that the number of filters is the sum of lengths and flags and not the product.
//!
//! A bound on what the priority may take is a policer that sends packets beyond it on to the data. A shaper on the band
//! would hold SYNs back on an idle link and drop what it cannot hold.

use crate::command::Command;
use crate::plan::{PlanError, Under};
use crate::prefix;
use crate::stock;
use gentle_aqm::{Spec, Value};
use gentle_units::Rate;

/// Which packets go first, and how much of the link they may take.
struct Rule {
    fin: bool,
    /// Longest packet with priority, link-layer header included; `None`: any length.
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

/// Priority over two children from stock parts.
pub(crate) fn plan(
    at: &Under,
    spec: &Spec,
    notes: &mut Vec<String>,
) -> Result<Vec<Command>, PlanError> {
    let rule = rule(at, spec, notes);
    let child = spec.child().expect("a wrapper has a child");
    let child = stock::words(child)?.ok_or(PlanError::NativeChild {
        child: child.scheme().name,
    })?;
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
    if maxlen.is_some_and(|maxlen| maxlen < at.link.header + 2 * TCP_HEADER) {
        notes.push(format!(
            "no TCP packet is as short as maxlen={}: nothing has priority",
            maxlen.unwrap_or_default()
        ));
    } else {
        notes.push(
            "over IPv6, only a TCP header that follows the IPv6 header at once is found: with extension headers a SYN queues as data".to_owned(),
        );
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
    notes.push(format!(
        "share={percent} is a policer (act_police; share=100 does without): handshake packets beyond {percent} % of {rate} queue as data, also while no data waits"
    ));
    Rate::from_bits_per_second(rate.bits_per_second() / 100 * percent)
}

fn filters(at: &Under, rule: &Rule) -> Vec<Command> {
    let ipv4 = lengths(rule.maxlen, at.link.header, 2 * TCP_HEADER, 0);
    let ipv6 = lengths(
        rule.maxlen,
        at.link.header,
        IPV6_HEADER + TCP_HEADER,
        IPV6_HEADER,
    );
    let mut list = Filters {
        at,
        commands: Vec::new(),
        policer: rule.bound.map(|rate| Policer { rate, made: false }),
    };
    list.table(1, "ip", IPV4_TABLE, "nexthdr+13", rule.fin, &ipv4);
    list.table(2, "ipv6", IPV6_TABLE, "53", rule.fin, &ipv6);
    for lengths in &ipv4 {
        list.jump_from_ipv4(1, "ip", "", lengths);
    }
    for lengths in &ipv6 {
        list.jump_from_ipv6(2, "ipv6", "", lengths);
    }
    // A tagged packet is classified as VLAN, and the type of what is in it stands before the IP header.
    if at.link.header > 0 {
        for lengths in &ipv4 {
            list.jump_from_ipv4(3, "802.1Q", " match u16 0x0800 0xffff at -2", lengths);
        }
        for lengths in &ipv6 {
            list.jump_from_ipv6(3, "802.1Q", " match u16 0x86dd 0xffff at -2", lengths);
        }
    }
    list.commands
}

/// The lengths with priority as `u32` matches, given the longest packet, what of it is not counted by the length field,
/// and the shortest packet there is. Empty: none has priority; one empty text: all have.
fn lengths(maxlen: Option<u32>, header: u32, shortest: u32, uncounted: u32) -> Vec<String> {
    let at = if uncounted == 0 { 2 } else { 4 };
    let Some(maxlen) = maxlen else {
        return vec![String::new()];
    };
    let Some(longest) = maxlen.checked_sub(header).filter(|&n| n >= shortest) else {
        return Vec::new();
    };
    let limit = u16::try_from(longest - uncounted).unwrap_or(u16::MAX);
    prefix::up_to(limit)
        .into_iter()
        .map(|(value, mask)| format!(" match u16 {value:#06x} {mask:#06x} at {at}"))
        .collect()
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
        lengths: &[String],
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

    fn jump_from_ipv4(&mut self, preference: u32, protocol: &str, guard: &str, lengths: &str) {
        // Protocol 6, first fragment; the header's length, in words of four bytes, is where TCP begins.
        self.add(
            preference,
            protocol,
            &format!(
                "u32{guard} match u8 0x06 0xff at 9 match u16 0x0000 0x1fff at 6{lengths} link {IPV4_TABLE}: offset at 0 mask 0x0f00 shift 6"
            ),
        );
    }

    fn jump_from_ipv6(&mut self, preference: u32, protocol: &str, guard: &str, lengths: &str) {
        self.add(
            preference,
            protocol,
            &format!("u32{guard} match u8 0x06 0xff at 6{lengths} link {IPV6_TABLE}:"),
        );
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

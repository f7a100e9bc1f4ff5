//! Table of the queues of a device.

use crate::output::borderless_table;
use comfy_table::CellAlignment;
use gentle_deploy::{Counter, DeviceQueues, Qdisc};
use gentle_units::{Nanos, Rate};

/// Columns of numbers.
const NUMBERS: std::ops::Range<usize> = 4..8;

/// Table with a row per queue. If there are counters of a `last` reading, the increase is shown after a number as
/// `(+N)`.
pub(super) fn of(shown: &DeviceQueues, last: Option<&DeviceQueues>, width: Option<usize>) -> String {
    let mut table = borderless_table(width);
    table.set_header(["qdisc", "at", "holds", "set to", "packets", "bytes", "drops", "waiting", "counters"]);
    for qdisc in &shown.qdiscs {
        let last = last.and_then(|last| last.qdiscs.iter().find(|other| is_same(other, qdisc)));
        let total = |value: u64, of: fn(&Qdisc) -> u64| with_growth(value, last.map(of));
        table.add_row([
            format!("{} {}", qdisc.kind, qdisc.handle),
            format!("{} {}", qdisc.direction, qdisc.parent),
            qdisc.role.unwrap_or_default().to_owned(),
            settings(qdisc),
            total(qdisc.packets, |qdisc| qdisc.packets),
            total(qdisc.bytes, |qdisc| qdisc.bytes),
            total(qdisc.drops.into(), |qdisc| qdisc.drops.into()),
            format!("{} ({} B)", qdisc.backlog_packets, qdisc.backlog_bytes),
            counters(qdisc, last),
        ]);
    }
    for index in NUMBERS {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt() + "\n"
}

fn is_same(one: &Qdisc, other: &Qdisc) -> bool {
    let place = |qdisc: &Qdisc| (qdisc.direction, qdisc.handle.clone(), qdisc.parent.clone());
    one.kind == other.kind && place(one) == place(other)
}

/// Value with its increase. A value that has decreased belongs to a recreated queue, so there is no increase.
fn with_growth(value: u64, last: Option<u64>) -> String {
    match last.and_then(|last| value.checked_sub(last)) {
        Some(growth) => format!("{value} (+{growth})"),
        None => value.to_string(),
    }
}

fn settings(qdisc: &Qdisc) -> String {
    let rate = qdisc.rate_bps.and_then(Rate::from_bits_per_second).map(|rate| format!("rate {rate}"));
    let target = qdisc.target_ns.map(|target| format!("target {}", rounded(target)));
    [rate, target].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Time rounded to three digits, as in `tc`: CoDel stores times in units of 1,024 ns, so that 5 ms are 4.999.
fn rounded(nanos: u64) -> Nanos {
    let mut unit = 1;
    while nanos / unit >= 1_000 {
        unit *= 10;
    }
    Nanos((nanos + unit / 2) / unit * unit)
}

/// Counters that are not zero, the monotonic ones with their increase.
fn counters(qdisc: &Qdisc, last: Option<&Qdisc>) -> String {
    let text = |counter: &Counter| {
        let before = last.and_then(|last| {
            let same = last.counters.iter().find(|other| other.name == counter.name);
            same.filter(|_| counter.is_total())
        });
        format!("{} {}", counter.name, with_growth(counter.value, before.map(|before| before.value)))
    };
    let list: Vec<String> = qdisc.counters.iter().filter(|counter| counter.value > 0).map(text).collect();
    list.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(packets: u64, sent: u64, delay: u64) -> DeviceQueues {
        let counter = |name, value| Counter { name, value };
        DeviceQueues {
            dev: "eth0".to_owned(),
            qdiscs: vec![Qdisc {
                direction: "egress",
                kind: "spa".to_owned(),
                handle: "5a1:".to_owned(),
                parent: "5a0:1".to_owned(),
                role: None,
                rate_bps: Some(19_000_000),
                target_ns: Some(4_999_000),
                bytes: packets * 100,
                packets,
                drops: 0,
                overlimits: 0,
                requeues: 0,
                backlog_bytes: 0,
                backlog_packets: 0,
                counters: vec![counter("handshakes_sent", sent), counter("data_ldelay_us", delay), counter("syn", 0)],
            }],
        }
    }

    #[test]
    fn what_has_been_added_stands_behind_each_total() {
        let (first, second) = (look(10, 3, 900), look(17, 5, 700));
        let text = of(&second, Some(&first), None);
        for part in [
            "rate 19mbit, target 5ms",
            "17 (+7)",
            "1700 (+700)",
            "0 (+0)",
            "handshakes_sent 5 (+2), data_ldelay_us 700",
        ] {
            assert!(text.contains(part), "no '{part}' in\n{text}");
        }
        // Recreated in between.
        let text = of(&first, Some(&second), None);
        assert!(text.contains("handshakes_sent 3, data"), "{text}");
        // First reading.
        let text = of(&first, None, None);
        assert!(!text.contains("(+"), "{text}");
    }

    #[test]
    fn times_have_three_digits() {
        for (nanos, text) in [(4_999_000, "5ms"), (19_999_744, "20ms"), (512, "512ns"), (0, "0")] {
            assert!(rounded(nanos).to_string().starts_with(text), "{nanos}: {}", rounded(nanos));
        }
    }
}

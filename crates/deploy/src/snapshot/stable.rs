//! Configuration without what changes while packets pass, so that equal objects were not reconfigured.

use super::actions;
use super::kinds;
use crate::netlink::{Object, TcMessage, tca};
use gentle_aqm::registry;
use std::ops::Range;

/// `TCA_HTB_INIT`; its last field counts packets without a class (`struct tc_htb_glob`, `direct_pkts`).
const HTB_INIT: u16 = 2;
const HTB_DIRECT_PACKETS: Range<usize> = 16..20;

/// Counters of drops and marks at the end of `struct tc_sfq_qopt_v1`.
const SFQ_COUNTERS: Range<usize> = 48..72;

/// `TCA_CLS_FLAGS_SKIP_HW` and `TCA_CLS_FLAGS_SKIP_SW`; the other flags report the state of the offload.
const REQUESTED: u32 = 3;

/// `TCA_CLS_FLAGS_SKIP_SW`: the filter is for the hardware only.
pub(super) const SKIP_SW: u32 = 2;

/// Stable part of a dumped object.
pub(super) fn of(object: Object, dumped: &TcMessage) -> TcMessage {
    let mut settings = dumped.settings(object);
    match object {
        Object::Qdisc => qdisc(&mut settings),
        Object::Filter => filter(&mut settings),
        Object::Class | Object::Chain => {}
    }
    settings
}

fn qdisc(settings: &mut TcMessage) {
    let kind = settings.kind();
    let volatile = registry::kernel_qdisc(&kind).map_or(&[][..], |known| known.volatile);
    if !volatile.is_empty() {
        settings.change_options(|parts| parts.retain(|part| !volatile.contains(&part.kind())));
    }
    match kind.as_str() {
        "htb" => settings.change_options(|parts| {
            for part in parts.iter_mut().filter(|part| part.kind() == HTB_INIT) {
                zero(&mut part.value, HTB_DIRECT_PACKETS);
            }
        }),
        "sfq" => {
            for options in &mut settings.attributes {
                if options.kind() == tca::OPTIONS {
                    zero(&mut options.value, SFQ_COUNTERS);
                }
            }
        }
        _ => {}
    }
}

fn zero(value: &mut [u8], range: Range<usize>) {
    if let Some(bytes) = value.get_mut(range) {
        bytes.fill(0);
    }
}

fn filter(settings: &mut TcMessage) {
    let Some(known) = kinds::classifier(&settings.kind()) else {
        return;
    };
    settings.change_options(|parts| {
        parts.retain(|part| !known.volatile.contains(&part.kind()));
        for part in parts.iter_mut().filter(|part| known.flags == Some(part.kind())) {
            if let Some(flags) = part.value.first_chunk_mut() {
                *flags = (u32::from_ne_bytes(*flags) & REQUESTED).to_ne_bytes();
            }
        }
    });
    actions::strip(settings);
}

#[cfg(test)]
mod tests {
    use super::of;
    use crate::netlink::{Attribute, Object, TcMessage, tca};

    fn attribute(raw_kind: u16, value: &[u8]) -> Attribute {
        Attribute { raw_kind, value: value.to_vec() }
    }

    fn nested(raw_kind: u16, parts: &[Attribute]) -> Attribute {
        let mut value = Vec::new();
        parts.iter().for_each(|part| part.write(&mut value));
        Attribute { raw_kind, value }
    }

    /// Filter with one action, after so many packets and while so many others use the action.
    fn filter(kind: &str, actions: u16, counter: Option<u16>, to: u32, packets: u64) -> TcMessage {
        let mut parameters = vec![0; 28];
        parameters[0..4].copy_from_slice(&5u32.to_ne_bytes());
        parameters[12] = 1 + packets as u8;
        parameters[16] = 1 + packets as u8;
        parameters[20..24].copy_from_slice(&1u32.to_ne_bytes());
        parameters[24..28].copy_from_slice(&to.to_ne_bytes());
        let options = nested(2, &[attribute(2, &parameters), attribute(1, &packets.to_ne_bytes())]);
        let statistics = nested(4, &[attribute(1, &packets.to_ne_bytes())]);
        let action = nested(1, &[attribute(1, b"mirred\0"), statistics, options]);
        let mut parts = vec![attribute(1, &[1, 0, 1, 0]), nested(actions, &[action])];
        parts.extend(counter.map(|counter| attribute(counter, &packets.to_ne_bytes())));
        let mut message = TcMessage::about(3, 0x1_0000);
        message.attributes =
            vec![attribute(tca::KIND, [kind.as_bytes(), &[0]].concat().as_slice()), nested(tca::OPTIONS, &parts)];
        message
    }

    #[test]
    fn a_filter_is_the_same_after_packets_and_another_after_a_change() {
        for (kind, actions, counter) in [
            ("u32", 7, Some(9)),
            ("flower", 3, None),
            ("matchall", 2, Some(4)),
            ("fw", 4, None),
            ("basic", 3, Some(5)),
            ("flow", 9, None),
            ("bpf", 1, None),
        ] {
            let stable = |to, packets| of(Object::Filter, &filter(kind, actions, counter, to, packets));
            assert_eq!(stable(9, 0), stable(9, 17), "{kind}");
            assert_ne!(stable(9, 0), stable(8, 0), "{kind}");
        }
    }
}

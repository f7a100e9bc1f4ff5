//! Names of reasons, from the description of the tracepoint.

use std::collections::BTreeMap;

/// Names by number, from the `__print_symbolic(REC->reason, { 2, "NOT_SPECIFIED" }, …)` of a format file; empty if the
/// kernel has no reasons. Numbers differ between kernels.
pub(super) fn parse(text: &str) -> BTreeMap<u32, String> {
    let Some((_, list)) = text.split_once("__print_symbolic(REC->reason,") else { return BTreeMap::new() };
    list.split('{').skip(1).filter_map(entry).collect()
}

/// Number and name of `2, "NOT_SPECIFIED" }, …`.
fn entry(text: &str) -> Option<(u32, String)> {
    let (inside, _) = text.split_once('}')?;
    let (number, name) = inside.split_once(',')?;
    let number = number.trim();
    let number = match number.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
        None => number.parse().ok()?,
    };
    let name = name.trim().trim_matches('"');
    let name = name.strip_prefix("SKB_DROP_REASON_").unwrap_or(name);
    Some((number, name.to_owned()))
}

/// Format file of Linux 6.18, shortened.
#[cfg(test)]
pub(super) const SAMPLE: &str = r#"name: kfree_skb
ID: 2310
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;

	field:void * skbaddr;	offset:8;	size:8;	signed:0;
	field:unsigned short protocol;	offset:32;	size:2;	signed:0;
	field:enum skb_drop_reason reason;	offset:36;	size:4;	signed:0;

print fmt: "skbaddr=%p rx_sk=%p protocol=%u location=%pS reason: %s", REC->skbaddr, REC->rx_sk, REC->protocol, REC->location, __print_symbolic(REC->reason, { 2, "NOT_SPECIFIED" }, { 3, "NO_SOCKET" }, { 12, "NETFILTER_DROP" }, { 0x10, "IP_RPFILTER" }, { 128, "MAX" })
"#;

#[cfg(test)]
mod tests {
    use super::{SAMPLE, parse};
    use proptest::prelude::*;

    #[test]
    fn numbers_have_names() {
        let names = parse(SAMPLE);
        let names: Vec<(u32, &str)> = names.iter().map(|(number, name)| (*number, name.as_str())).collect();
        assert_eq!(
            names,
            [(2, "NOT_SPECIFIED"), (3, "NO_SOCKET"), (12, "NETFILTER_DROP"), (16, "IP_RPFILTER"), (128, "MAX")]
        );
    }

    #[test]
    fn a_kernel_before_5_17_has_no_reasons() {
        assert!(parse("print fmt: \"skbaddr=%p protocol=%u location=%p\", REC->skbaddr").is_empty());
    }

    proptest! {
        #[test]
        fn any_text_is_parsed(text in r#"(?s)(__print_symbolic\(REC->reason,)?([{}, "0-9xA-Z]|.){0,100}"#) {
            parse(&text);
        }
    }
}

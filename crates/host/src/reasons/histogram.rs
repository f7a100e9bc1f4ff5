//! Histogram of a tracepoint.

use std::collections::BTreeMap;

/// Counts by reason, from lines `{ reason:         12 } hitcount:         41`.
pub(super) fn parse(text: &str) -> BTreeMap<u32, u64> {
    text.lines().filter_map(line).collect()
}

fn line(text: &str) -> Option<(u32, u64)> {
    let (key, values) = text.trim().strip_prefix('{')?.split_once('}')?;
    let reason = key.trim().strip_prefix("reason:")?.trim().parse().ok()?;
    let count = values.trim().strip_prefix("hitcount:")?.split_whitespace().next()?.parse().ok()?;
    Some((reason, count))
}

#[cfg(test)]
mod tests {
    use super::parse;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// File hist of Linux 6.1.
    const SAMPLE: &str = "\
# event histogram
#
# trigger info: hist:keys=reason:vals=hitcount:sort=hitcount:size=512 [active]
#

{ reason:          3 } hitcount:          1
{ reason:         12 } hitcount:         41
{ reason:     131073 } hitcount:          2

Totals:
    Hits: 44
    Entries: 3
    Dropped: 0
";

    #[test]
    fn reasons_have_counts() {
        assert_eq!(parse(SAMPLE), BTreeMap::from([(3, 1), (12, 41), (131_073, 2)]));
    }

    proptest! {
        #[test]
        fn any_text_is_parsed(text in r"(?s)(\{ reason:|\} hitcount:|[ \n0-9]|.){0,100}") {
            parse(&text);
        }
    }
}

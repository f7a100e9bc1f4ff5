//! Sums of findings since the host was opened.

use crate::finding::Finding;
use crate::kind::FindingKind;
use std::collections::BTreeMap;

/// Maximum number of sums. A place that appears when there are as many has no sum of earlier reads.
const MAX_SUMS: usize = 8_192;

/// Sums by kind and place.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    sums: BTreeMap<(FindingKind, String), u64>,
}

impl Ledger {
    /// Adds a finding's count to the sum of its kind and place, and writes the sum into it.
    pub(crate) fn enter(&mut self, finding: &mut Finding) {
        let key = (finding.kind, finding.place.clone());
        finding.cumulative = match self.sums.get_mut(&key) {
            Some(sum) => {
                *sum = sum.saturating_add(finding.count);
                *sum
            }
            None => {
                if self.sums.len() < MAX_SUMS {
                    self.sums.insert(key, finding.count);
                }
                finding.count
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::{Ledger, MAX_SUMS};
    use crate::finding::Finding;
    use crate::kind::FindingKind;

    fn finding(place: &str, count: u64) -> Finding {
        Finding {
            kind: FindingKind::QdiscDrop,
            place: place.to_owned(),
            count,
            cumulative: 0,
            sentence: String::new(),
            remedy: String::new(),
            check: String::new(),
        }
    }

    #[test]
    fn counts_add_up_by_place() {
        let mut ledger = Ledger::default();
        let mut enter = |place: &str, count| {
            let mut finding = finding(place, count);
            ledger.enter(&mut finding);
            finding.cumulative
        };
        assert_eq!([enter("a", 2), enter("b", 1), enter("a", 3)], [2, 1, 5]);
    }

    #[test]
    fn memory_is_bounded() {
        let mut ledger = Ledger::default();
        for number in 0..MAX_SUMS + 10 {
            ledger.enter(&mut finding(&number.to_string(), 1));
        }
        assert_eq!(ledger.sums.len(), MAX_SUMS);
    }
}

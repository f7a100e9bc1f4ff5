//! Limits of the host that are reached: when each begins, changes and ends.

use gentle_host::{Finding, FindingKind};
use std::collections::BTreeMap;

/// Limits reached at the latest reading; their number is bounded by that of a reading's findings.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    reached: BTreeMap<(FindingKind, String), Finding>,
}

impl Limits {
    /// Takes over a reading. Returns whether each of its findings repeats the previous reading, and the limits that are
    /// over.
    pub(crate) fn update(&mut self, findings: Vec<Finding>) -> (Vec<(Finding, bool)>, Vec<Finding>) {
        let mut before = std::mem::take(&mut self.reached);
        let told = findings.into_iter().map(|finding| {
            let mut repeats = false;
            if finding.kind.is_limit() {
                let key = (finding.kind, finding.place.clone());
                repeats = before.remove(&key).is_some_and(|before| before.sentence == finding.sentence);
                self.reached.insert(key, finding.clone());
            }
            (finding, repeats)
        });
        let told = told.collect();
        (told, before.into_values().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::Limits;
    use gentle_host::{Finding, FindingKind};

    fn finding(kind: FindingKind, waiting: u32) -> Finding {
        Finding {
            kind,
            place: "0.0.0.0:80".to_owned(),
            count: 1,
            cumulative: 1,
            sentence: format!("{waiting} connections wait"),
            remedy: String::new(),
            check: String::new(),
        }
    }

    /// Whether each finding of a reading repeats the one before, and the number of limits that are over.
    fn update(limits: &mut Limits, findings: &[Finding]) -> (Vec<bool>, usize) {
        let (told, over) = limits.update(findings.to_vec());
        (told.into_iter().map(|(_, repeats)| repeats).collect(), over.len())
    }

    #[test]
    fn a_limit_begins_changes_and_ends() {
        let full = |waiting| finding(FindingKind::ListenQueueFull, waiting);
        let mut limits = Limits::default();
        assert_eq!(update(&mut limits, &[full(3)]), (vec![false], 0));
        assert_eq!(update(&mut limits, &[full(3)]), (vec![true], 0));
        assert_eq!(update(&mut limits, &[full(4)]), (vec![false], 0));
        assert_eq!(update(&mut limits, &[]), (vec![], 1));
        assert_eq!(update(&mut limits, &[]), (vec![], 0));
        assert_eq!(update(&mut limits, &[full(4)]), (vec![false], 0));
    }

    #[test]
    fn events_never_repeat_nor_end() {
        let mut limits = Limits::default();
        let overflow = finding(FindingKind::ListenQueueOverflow, 3);
        assert_eq!(update(&mut limits, std::slice::from_ref(&overflow)), (vec![false], 0));
        assert_eq!(update(&mut limits, &[overflow]), (vec![false], 0));
        assert_eq!(update(&mut limits, &[]), (vec![], 0));
    }
}

//! Findings: a cause, its place and its count, in words.

use crate::kind::FindingKind;
use schemars::JsonSchema;
use serde::Serialize;

/// Counter of the host that increased, or a limit of the host that is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// Kind of the finding.
    pub kind: FindingKind,
    /// Socket (`0.0.0.0:443`), or device and qdisc (`eth0 fq_codel`); empty if only the host is known.
    pub place: String,
    /// Number of events since the previous read. For a limit ([`FindingKind::is_limit`]): 1.
    pub count: u64,
    /// Number of events since the host was opened. For a limit: the number of reads at which it was reached.
    pub cumulative: u64,
    /// Fact: "the listen queue of 0.0.0.0:443 overflowed 12 times".
    pub sentence: String,
    /// Action that removes the cause.
    pub remedy: String,
    /// Command that verifies the finding.
    pub check: String,
}

impl Finding {
    /// Fact when a limit is no longer reached; `None` for a counter.
    pub fn over(&self) -> Option<String> {
        match self.kind {
            FindingKind::ListenQueueFull => Some(format!("the listen queue of {} is no longer full", self.place)),
            FindingKind::ConntrackFull => Some("the table of connection tracking is no longer full".to_owned()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Finding;
    use crate::kind::FindingKind;

    #[test]
    fn each_limit_has_an_end() {
        for kind in FindingKind::ALL {
            let text = String::new;
            let (place, sentence, remedy, check) = (text(), text(), text(), text());
            let finding = Finding { kind: *kind, place, count: 1, cumulative: 1, sentence, remedy, check };
            assert_eq!(finding.over().is_some(), kind.is_limit(), "{kind}");
        }
    }
}

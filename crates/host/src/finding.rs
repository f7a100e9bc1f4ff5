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

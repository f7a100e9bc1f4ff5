//! Lookups of names, whose waits precede connection attempts.

use super::{Cause, Quantiles};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lookups of names by DNS over UDP. A lookup is a question of a client, with its repetitions; the questions for the IPv4
/// and the IPv6 address of a name are two.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lookups {
    /// Number of lookups: answered, unanswered, unseen and undecided ones.
    pub lookups: u64,
    /// Number of queries, without copies made by the capture.
    pub queries: u64,
    /// Number of queries that are copies made by the capture.
    pub copies: u64,
    /// Number of lookups that were answered.
    pub answered: u64,
    /// Number of lookups without an answer, of clients or servers with other answers.
    pub unanswered: u64,
    /// Number of lookups without an answer where neither client nor server has one: the servers are down, or the capture
    /// has one direction.
    pub unseen: u64,
    /// Number of lookups without an answer when the capture ended, less than 5 s after their newest query.
    pub undecided: u64,
    /// Time from the query to the answer, of lookups whose query was not repeated, seconds.
    pub answer_s: Quantiles,
    /// Causes of slow lookups, longest wait first. A lookup waits from its first query to the answer, or, without an
    /// answer, to its last query.
    pub causes: Vec<Cause>,
}

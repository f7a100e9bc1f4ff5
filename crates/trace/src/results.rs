//! Results of an analysis: the stable schema of `gentle analyze --json`, from which tables, CSV and the HTML page are
//! made.
//!
//! The comments on the fields are the documentation of the JSON (`docs/reference/json/analyze.md`). Increase [`SCHEMA`] when the
//! meaning of a field changes. Fractions are 0 to 1, times are seconds, `None` (JSON `null`) means "no observation".
//! Fields for text are empty until `gentle-report` puts the findings into words.
//! The counts in [`Handshakes`] follow the definitions in the crate documentation.

mod cause;
mod cost;
mod finding;
mod lookups;
mod outcomes;

pub use crate::names::PlaceNames;
pub use cause::{Cause, CauseKind, LossDirection};
pub use cost::{CostGap, CostOfSize, ExpectedCost, InitialRto};
pub use finding::{DataWait, FailureReason, Finding, Waits};
pub use gentle_units::interned::Name;
pub use lookups::Lookups;
pub use outcomes::{AttemptGroup, DroppedFor, NamedParty, Outcomes, Repeats};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Version of the JSON schema.
pub const SCHEMA: u32 = 4;

/// Analysis of one trace: one capture, or several merged.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Analysis {
    /// Version of the JSON schema, [`SCHEMA`].
    pub version: u32,
    /// Version of gentle that made the analysis.
    pub gentle: String,
    /// Whether the analysis was interrupted; it then covers the packets read so far.
    pub interrupted: bool,
    /// Whether addresses were replaced (`--anonymize`).
    pub anonymized: bool,
    /// Conclusions, most important first.
    pub findings: Vec<Finding>,
    /// Sentence for each of `findings`. Text.
    pub verdict: Vec<String>,
    /// Remedies for `causes` and `findings`, with commands that verify them. Text.
    pub next_steps: Vec<String>,
    /// Reasons not to trust the figures, gravest first.
    pub warnings: Vec<TrustWarning>,
    /// Capture files.
    pub captures: Vec<Capture>,
    /// Time of the first packet, seconds since 1970.
    pub start_s: Option<f64>,
    /// Time from the first packet to the last, seconds.
    pub duration_s: f64,
    /// Counts of TCP handshakes, as in the table of handshake-2009.
    pub handshakes: Handshakes,
    /// Inferred outcomes of attempts, and causes of retransmitted handshake packets.
    pub outcomes: Outcomes,
    /// Causes of slow and failed attempts, longest wait first.
    pub causes: Vec<Cause>,
    /// Time lost by waiting for retransmissions.
    pub waiting: Waiting,
    /// Cost of handshake loss by the response-time model; `None` if no completed attempt had a loss.
    pub expected_cost: Option<ExpectedCost>,
    /// Quantities of spa-2018, section III, of each direction, after the 45 s filter.
    pub directions: Vec<Direction>,
    /// Rule by which directions are distinguished.
    pub direction_by: DirectionBy,
    /// Data segments that were retransmitted or out of order.
    pub retransmissions: Retransmissions,
    /// Intervals between duplicate SYNs and between duplicate SYN/ACKs.
    pub intervals: Intervals,
    /// Position of the capture point.
    pub vantage: Vantage,
    /// Filters of spa-2018 in the order in which they apply; each applies to the connections that the previous one
    /// left.
    pub filters: Vec<Filter>,
    /// Servers, clients and prefixes that lose most time.
    pub top: Top,
    /// Attempts, retransmissions and lost time over the time of the trace.
    pub timeline: Timeline,
    /// Handshakes of other protocols.
    pub other_protocols: OtherProtocols,
    /// Lookups of names by DNS over UDP; `None` if there is none.
    pub lookups: Option<Lookups>,
    /// Connections by the way in which they ended.
    pub closes: Closes,
    /// Limits on memory and idle time, and their effects.
    pub limits: Limits,
    /// Names of the servers, clients and prefixes above, by address or prefix: given with `--names`, or of DNS answers in the
    /// captures, the latest one of several. Empty if addresses were replaced.
    pub names: PlaceNames,
    /// Connections as flows to replay; only with `--flows` or `compare --from`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<Flows>,
}

/// One capture file.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Capture {
    /// Path as given; `-` is standard input.
    pub path: String,
    /// Format and compression, such as `pcap (ns)` or `pcapng, zstd`.
    pub format: String,
    /// Number of packets.
    pub packets: u64,
    /// Number of TCP segments that were dissected; a reassembled packet counts once.
    pub tcp_segments: u64,
    /// Bytes on the wire, from the original lengths.
    pub wire_bytes: u64,
    /// Number of frames that were not dissected, by reason.
    #[serde(deserialize_with = "gentle_units::interned::keys")]
    pub skipped: BTreeMap<Name, u64>,
    /// Number of packets of other kinds, by kind: `udp`, `sctp`, `dccp`, `esp`, `other`, `fragment`.
    #[serde(deserialize_with = "gentle_units::interned::keys")]
    pub other: BTreeMap<Name, u64>,
    /// Number of tunnel packets, by protocol: `VXLAN`, `GRE`, … They are in `other`, too. Empty if tunnels were
    /// decapsulated on request (`--inner`).
    #[serde(deserialize_with = "gentle_units::interned::keys")]
    pub tunnels: BTreeMap<Name, u64>,
    /// Interfaces of a pcapng file.
    pub interfaces: Vec<Interface>,
    /// Defects of the file, one sentence each.
    pub warnings: Vec<String>,
}

/// Interface of a pcapng file.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Interface {
    /// Number in the file, over all of its sections.
    pub number: u32,
    /// Name.
    pub name: Option<String>,
    /// Description.
    pub description: Option<String>,
    /// Number of packets in the file.
    pub packets: u64,
    /// Whether its packets were analysed.
    pub analysed: bool,
}

impl Interface {
    /// Name, description or number.
    pub fn label(&self) -> String {
        let given = self.name.as_ref().or(self.description.as_ref());
        given.map_or_else(|| self.number.to_string(), String::clone)
    }
}

/// A reason not to trust the figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrustWarning {
    /// Kind of reason.
    pub kind: TrustWarningKind,
    /// Index in [`Analysis::captures`] of the file concerned; `None` if all are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<usize>,
    /// Reason with its evidence and its effect on the figures. Text.
    pub sentence: String,
    /// Numbers of the evidence, by name.
    #[serde(deserialize_with = "gentle_units::interned::keys")]
    pub evidence: BTreeMap<Name, f64>,
}

impl TrustWarning {
    pub(crate) fn new<const N: usize>(kind: TrustWarningKind, evidence: [(&'static str, f64); N]) -> TrustWarning {
        TrustWarning { kind, file: None, sentence: String::new(), evidence: evidence.into() }
    }
}

/// Kinds of reasons not to trust the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrustWarningKind {
    /// The statistics of the capturing program report dropped packets.
    DroppedByCapture,
    /// Data that is not in the capture was acknowledged.
    MissingPackets,
    /// Some packets have timestamps far from the others.
    TimesApart,
    /// Packets are earlier than packets before them in the file.
    TimeRunsBackwards,
    /// Segments were captured after their answers: two capture points with different clocks.
    AnswersBeforeQuestions,
    /// Packets have an unsupported link type.
    LinkTypeNotRead,
    /// Packets are encrypted below TCP.
    Encrypted,
    /// Packets were cut before the end of their headers.
    CutTooShort,
    /// Packets of some interfaces were not analysed.
    InterfacesLeftOut,
    /// Segments were merged before they were captured (segmentation offload): data segments and their losses are more than
    /// they seem.
    MergedSegments,
    /// Packets were captured at more than one point, and counted once.
    SeveralPoints,
    /// TCP inside tunnels was not analysed.
    TunnelsNotRead,
    /// All TCP is inside tunnels, and was analysed.
    TunnelsRead,
}

impl TrustWarningKind {
    /// Whether the reason makes the figures wrong, rather than incomplete.
    pub fn spoils_figures(self) -> bool {
        !matches!(
            self,
            TrustWarningKind::TunnelsNotRead
                | TrustWarningKind::TunnelsRead
                | TrustWarningKind::InterfacesLeftOut
                | TrustWarningKind::MergedSegments
                | TrustWarningKind::SeveralPoints
        )
    }
}

/// Counts of TCP handshakes by the definitions of handshake-2009, section 3.
///
/// An *attempt* is a distinct (source, destination, ports, sequence number) of a segment with SYN and without ACK. It
/// is a *success* when a SYN/ACK that acknowledges it was seen and then, from the initiator, a segment with ACK,
/// without SYN and RST, that acknowledges the SYN/ACK. The latter may be seen first, from another receive queue.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Handshakes {
    /// Attempts.
    pub attempts: u64,
    /// Attempts that succeeded.
    pub successes: u64,
    /// Attempts that did not succeed.
    pub failures: u64,
    /// Further SYNs with the same addresses, ports and sequence number.
    pub duplicate_syn: u64,
    /// Further SYN/ACKs with the same addresses, ports, sequence and acknowledgement numbers.
    pub duplicate_synack: u64,
    /// Attempts with at least one duplicate SYN.
    pub attempts_with_duplicate_syn: u64,
    /// Successes with at least one duplicate SYN.
    pub successes_with_duplicate_syn: u64,
    /// Failures with at least one duplicate SYN.
    pub failures_with_duplicate_syn: u64,
    /// Attempts with a duplicate SYN at an interval outside the standard backoff series.
    pub outside_standard_intervals: u64,
    /// SYNs of successful attempts, duplicates included, per success.
    pub syn_per_success: Option<f64>,
    /// Attempts per attempt with a duplicate SYN.
    pub attempts_per_duplicate: Option<f64>,
    /// Copies made by the capture or a switch, not retransmissions. Copies of SYNs and SYN/ACKs are included in
    /// `duplicate_syn` and `duplicate_synack`; no probability, delay or histogram includes copies.
    pub capture_duplicates: CaptureDuplicates,
    /// Attempts with a retransmitted SYN or SYN/ACK, whatever the cause, without copies made by the capture.
    pub attempts_with_retransmission: u64,
    /// Successes with a retransmitted SYN or SYN/ACK.
    pub successes_with_retransmission: u64,
    /// Round-trip times, seconds, with a resolution of 1 µs, over successes without a repeated SYN or SYN/ACK, or with
    /// such only because an answer was late, and over attempts whose SYN/ACK the client answered with an RST.
    pub rtt_s: HandshakeRtt,
    /// SYN/ACKs without a SYN in the capture, which began later or has one direction only.
    pub synack_without_syn: u64,
    /// SYNs that carried data (TCP Fast Open).
    pub syn_with_data: u64,
}

/// Numbers of copies made by the capture or a switch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CaptureDuplicates {
    /// Copies of SYNs.
    pub syn: u64,
    /// Copies of SYN/ACKs.
    pub synack: u64,
    /// Copies of other TCP segments.
    pub other: u64,
}

/// Round-trip times of handshakes on the two sides of the vantage point, seconds.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub struct HandshakeRtt {
    /// Time from SYN to SYN/ACK: round trip between vantage point and server.
    pub server_side: Quantiles,
    /// Time from SYN/ACK to ACK: round trip between vantage point and client.
    pub client_side: Quantiles,
    /// Sum of both: round trip between client and server.
    pub both: Quantiles,
}

/// Mean and percentiles of times, seconds; percentiles to three significant digits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Quantiles {
    /// Number of observations.
    pub n: u64,
    /// Mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
}

/// Mean over connections with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeanOf {
    /// Number of connections.
    pub n: u64,
    /// Mean.
    pub mean: Option<f64>,
    /// Half-width of the 95 % confidence interval (normal approximation); `None` for fewer than two connections.
    pub ci95: Option<f64>,
}

/// Time that connections waited for retransmissions, seconds.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub struct Waiting {
    /// Total time that clients with a completed handshake waited for retransmissions of SYNs and SYN/ACKs: from the
    /// previous transmission to each retransmission, overlaps counted once, without spurious retransmissions.
    pub handshake_s: f64,
    /// Part of `handshake_s` that is due to losses.
    pub loss_s: f64,
    /// Mean of `loss_s` per completed attempt with a loss.
    pub loss_mean_s: Option<f64>,
    /// Total time that connections waited for retransmissions of other segments: from the previous transmission of the
    /// bytes to each retransmission, overlaps within a connection counted once.
    pub data_s: f64,
    /// `handshake_s` as a fraction of the sum of `handshake_s` and `data_s`.
    pub handshake_share: Option<f64>,
    /// Waiting time of attempts that never completed, from the first SYN to the last.
    pub failed_s: f64,
}

/// Rule by which the directions of a trace are distinguished.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DirectionBy {
    /// From the side that sent the SYN, and to it.
    #[default]
    Initiator,
    /// By the interface of the capture.
    Interface,
    /// From local prefixes, and to them.
    Local,
}

/// Quantities of one direction of the link (spa-2018, section III).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Direction {
    /// `from initiator` or `to initiator`; `out` or `in`; or the interface.
    pub name: String,
    /// Number of TCP segments of the connections considered.
    pub packets: u64,
    /// Bytes on the wire of all packets of the direction, of any connection or protocol.
    pub wire_bytes: u64,
    /// Mean rate over the trace, bits per second.
    pub rate_bps: f64,
    /// Given rate, or else the highest rate over a whole second, bits per second.
    pub capacity_bps: Option<f64>,
    /// Whether the capacity was given (`--rate`).
    pub capacity_given: bool,
    /// Mean rate as a fraction of the given rate; `None` without one.
    pub utilization: Option<f64>,
    /// Retransmitted segments per segment.
    pub packet_retransmission_probability: Option<f64>,
    /// Fraction of SYN and SYN/ACK segments among retransmitted segments.
    pub syn_share_of_retransmissions: Option<f64>,
    /// Retransmitted SYN and SYN/ACK segments per SYN and SYN/ACK segment.
    pub syn_retransmission_probability: Option<f64>,
    /// Retransmission delay of spa-2018, section III: mean over the connections with at least one segment in the
    /// direction of the sum of their delays. Segments that wait at the same time add up.
    pub retransmission_delay_sum_s: RetransmissionDelay,
}

/// Mean retransmission delay per connection, seconds.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub struct RetransmissionDelay {
    /// Mean over all connections.
    pub all: Option<f64>,
    /// Mean over connections with a retransmitted SYN or SYN/ACK in the direction.
    pub with_handshake_loss: Option<f64>,
    /// Mean over connections without a retransmitted SYN or SYN/ACK in the direction.
    pub without_handshake_loss: Option<f64>,
    /// The three means with numbers of connections and confidence intervals.
    pub detail: RetransmissionDelayDetail,
}

/// Means of [`RetransmissionDelay`] with numbers of connections and confidence intervals, seconds.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub struct RetransmissionDelayDetail {
    /// Mean over all connections.
    pub all: MeanOf,
    /// Mean over connections with a retransmitted SYN or SYN/ACK.
    pub with_handshake_loss: MeanOf,
    /// Mean over connections without a retransmitted SYN or SYN/ACK.
    pub without_handshake_loss: MeanOf,
}

/// Segments other than SYN and SYN/ACK that were not in sequence, without copies made by the capture.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub struct Retransmissions {
    /// Segments with data or FIN.
    pub data_segments: u64,
    /// Segments with bytes seen before.
    pub retransmitted: u64,
    /// Segments that filled a hole later than reordering explains: retransmissions of segments lost before the vantage
    /// point.
    pub late: u64,
    /// Segments that filled a hole because of reordering.
    pub reordered: u64,
    /// Segments in `retransmitted` and `late` that were spurious, as a DSACK or a timestamp echo shows.
    pub spurious: u64,
    /// Keep-alive and zero-window probes, which repeat bytes without loss.
    pub probes: u64,
}

/// Intervals between a SYN or SYN/ACK and its next duplicate, without copies made by the capture.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Intervals {
    /// Relative tolerance of the comparison with standard intervals.
    pub tolerance: f64,
    /// Smallest tolerance, seconds.
    pub tolerance_floor_s: f64,
    /// Intervals between duplicate SYNs.
    pub syn: IntervalHistogram,
    /// Intervals between duplicate SYN/ACKs.
    pub synack: IntervalHistogram,
    /// Number of attempts by backoff series of their SYNs and of their SYN/ACKs.
    pub series: Vec<SeriesCount>,
}

/// Histogram of intervals.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct IntervalHistogram {
    /// Non-empty bins in ascending order.
    pub bins: Vec<IntervalBin>,
    /// Number of intervals near each standard interval, in ascending order.
    pub standard: Vec<StandardInterval>,
    /// Number of all intervals.
    pub total: u64,
    /// Number of intervals that are not near a standard one.
    pub outside: u64,
}

/// Bin of a histogram of intervals.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct IntervalBin {
    /// Lower limit, included, seconds.
    pub from_s: f64,
    /// Upper limit, excluded, seconds.
    pub to_s: f64,
    /// Number of intervals in the bin.
    pub count: u64,
}

/// Number of intervals near a standard one.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StandardInterval {
    /// Standard interval, seconds.
    pub interval_s: f64,
    /// Number of intervals within the tolerance.
    pub count: u64,
}

/// Number of attempts that follow a backoff series.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SeriesCount {
    /// `syn` or `synack`.
    #[serde(deserialize_with = "gentle_units::interned::name")]
    pub segment: Name,
    /// Description of the series, such as `1, 2, 4 … s (RFC 6298)`.
    pub label: String,
    /// Number of attempts whose duplicates follow the series.
    pub count: u64,
}

/// Position of the capture point on the path.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Vantage {
    /// `client`, `server`, `middle`, or `unknown`.
    #[serde(deserialize_with = "gentle_units::interned::name")]
    pub side: Name,
    /// Whether the position was given (`--vantage`), not inferred.
    pub given: bool,
    /// Connections of which the first SYN was captured.
    pub syns: u64,
    /// Connections whose first SYN had an initial TTL: it had passed no router.
    pub syns_unrouted: u64,
    /// Connections of which the first SYN/ACK was captured.
    pub synacks: u64,
    /// Connections whose first SYN/ACK had an initial TTL.
    pub synacks_unrouted: u64,
    /// Evidence of the inference, one sentence each. Text.
    pub evidence: Vec<String>,
    /// Meaning of a duplicate SYN at this position. Text.
    pub duplicate_syn_means: String,
    /// Meaning of a duplicate SYN/ACK at this position. Text.
    pub duplicate_synack_means: String,
    /// Duplicate SYNs before any SYN/ACK: the SYN or its SYN/ACK was lost between vantage point and server.
    pub syn_before_synack: u64,
    /// Duplicate SYNs after a SYN/ACK: the SYN/ACK was lost or late between vantage point and client.
    pub syn_after_synack: u64,
    /// Duplicate SYN/ACKs before the ACK.
    pub synack_before_ack: u64,
    /// Duplicate SYN/ACKs after the ACK: the ACK was lost or late between vantage point and server.
    pub synack_after_ack: u64,
}

/// Filter of spa-2018, and the quantities of the connections that it leaves.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Filter {
    /// `syn-seen`, `delay-45s`, `syn-flood`, `established-with-data`.
    #[serde(deserialize_with = "gentle_units::interned::name")]
    pub name: Name,
    /// Description of the connections that the filter removes. Text.
    pub description: String,
    /// Number of connections that the filter removed.
    pub removed_connections: u64,
    /// Number of addresses whose connections were removed (`syn-flood` only).
    pub removed_addresses: Option<u64>,
    /// Removed addresses with most connections, at most ten, in descending order.
    pub examples: Vec<String>,
    /// Number of connections left.
    pub connections: u64,
    /// Quantities of each direction over the connections left.
    pub directions: Vec<Direction>,
}

/// Servers, clients and prefixes that lose most time to retransmitted SYNs and SYN/ACKs.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Top {
    /// Servers with port, by time lost.
    pub servers: Vec<TopEntry>,
    /// Clients, by time lost.
    pub clients: Vec<TopEntry>,
    /// Prefixes of the servers (/24, /48), by time lost.
    pub prefixes: Vec<TopEntry>,
}

/// Entry of a list in [`Top`].
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct TopEntry {
    /// Address, address and port, or prefix.
    pub name: String,
    /// Number of attempts.
    pub attempts: u64,
    /// Number of attempts that were completed.
    pub answered: u64,
    /// Number of attempts that were not completed.
    pub failures: u64,
    /// Number of completed attempts that lost a SYN or SYN/ACK.
    pub with_loss: u64,
    /// Time that completed attempts waited for retransmissions of SYNs and SYN/ACKs, seconds.
    pub time_lost_s: f64,
    /// Time that attempts that were not completed waited, seconds.
    pub failed_s: f64,
}

/// Events over the time of the trace.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Timeline {
    /// Width of a bin, seconds.
    pub bin_s: f64,
    /// Non-empty bins from the first packet on.
    pub bins: Vec<TimelineBin>,
}

/// Bin of the timeline.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub struct TimelineBin {
    /// Beginning of the bin, seconds since the first packet.
    pub t_s: f64,
    /// Attempts that began in the bin.
    pub attempts: u64,
    /// Retransmitted SYNs and SYN/ACKs.
    pub handshake_retransmissions: u64,
    /// Other retransmitted segments.
    pub other_retransmissions: u64,
    /// TCP segments.
    pub segments: u64,
    /// Bytes on the wire of all packets.
    pub wire_bytes: u64,
    /// Time lost by handshakes that completed in the bin, seconds.
    pub time_lost_s: f64,
}

/// Handshakes of protocols other than TCP.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct OtherProtocols {
    /// QUIC (RFC 9000, RFC 9369): Initial packets.
    pub quic: Option<OtherHandshakes>,
    /// SCTP (RFC 9260): INIT, INIT ACK, COOKIE ECHO.
    pub sctp: Option<OtherHandshakes>,
    /// DCCP (RFC 4340): Request, Response.
    pub dccp: Option<OtherHandshakes>,
}

/// Handshakes of one protocol.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct OtherHandshakes {
    /// Number of connection attempts.
    pub attempts: u64,
    /// Number of attempts whose handshake completed, as far as unencrypted packets show.
    pub successes: u64,
    /// Number of retransmissions by kind of packet: `initial (client)`, `init`, `cookie-echo`, `request`, …
    pub retransmissions: BTreeMap<Cow<'static, str>, u64>,
    /// Number of attempts with at least one retransmission.
    pub attempts_with_loss: u64,
    /// Time that successful attempts lost to retransmission, seconds.
    pub time_lost_s: f64,
    /// Time from the first packet to the first answer, of attempts without retransmission, seconds.
    pub rtt_s: Quantiles,
    /// Number of attempts by version: `v1`, `v2`, `draft-29`, … (QUIC).
    pub versions: BTreeMap<String, u64>,
}

/// Numbers of connections by the way in which they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Closes {
    /// Both sides sent FIN.
    pub fin: u64,
    /// One side sent RST.
    pub rst: u64,
    /// No packet for the idle timeout.
    pub silent: u64,
    /// Still open when the capture ended.
    pub open: u64,
    /// The handshake did not succeed.
    pub never_established: u64,
}

/// Limits on memory and idle time, and their effects.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Time without a packet after which a connection is evicted, seconds.
    pub idle_timeout_s: f64,
    /// Memory limit, bytes.
    pub memory_limit_bytes: u64,
    /// Largest number of connections held at a time. This and the next two fields describe the process that made the
    /// analysis, not the traffic, so they are not in the JSON: merged records give the same bytes as one call.
    #[serde(skip)]
    pub peak_connections: u64,
    /// Largest amount of memory held for connections, bytes.
    #[serde(skip)]
    pub peak_bytes: u64,
    /// Largest amount of memory held for records of closed connections, bytes.
    #[serde(skip)]
    pub peak_remembered_bytes: u64,
    /// Number of connections evicted because of the idle timeout, without closed ones.
    pub retired_idle: u64,
    /// Number of connections evicted because of the memory limit.
    pub retired_memory: u64,
    /// Number of connections that the SYN-flood filter decided before the end of the trace because of the memory limit.
    pub judged_early: u64,
}

/// Connections as flows to replay: numbers of inferred values, and of connections that cannot be used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flows {
    /// Number of connections and attempts of the trace.
    pub connections: u64,
    /// Number of connections that became flows.
    pub flows: u64,
    /// Number of connections that did not become flows, by reason: `no-syn`, `not-established`, `no-data`, `not-across`
    /// (both addresses are in the local prefixes, or neither), `too-many`.
    #[serde(deserialize_with = "gentle_units::interned::keys")]
    pub left_out: BTreeMap<Name, u64>,
    /// TCP payload of the trace without retransmissions, bytes.
    pub payload_bytes: u64,
    /// Part of `payload_bytes` that the flows have.
    pub flow_bytes: u64,
    /// Part of `payload_bytes` in the smaller direction of the flows' connections, which is not replayed.
    pub other_way_bytes: u64,
    /// Number of flows whose connection was open at the end of the trace.
    pub open_at_end: u64,
    /// Number of flows with the round-trip time of their handshake.
    pub rtt_own: u64,
    /// Number of flows with the median round-trip time of the flows to the same server.
    pub rtt_of_server: u64,
    /// Number of flows with the median round-trip time of all flows.
    pub rtt_of_trace: u64,
    /// Number of flows without a round-trip time.
    pub rtt_unknown: u64,
    /// Whether local prefixes determine the directions of the flows.
    pub local: bool,
    /// Description of the numbers above, one sentence each. Text.
    pub in_words: Vec<String>,
}

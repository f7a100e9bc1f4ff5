//! Results of an analysis: the stable schema behind `gentle analyze --json`, from which tables, CSV and the HTML page are
//! made.
//!
//! `docs/analyze-json.md` documents every field for users; change the two together, and raise [`SCHEMA`] when the meaning
//! of a field changes. Fractions are 0 to 1, times are seconds, `None` (JSON `null`) means "no observation". Every count
//! of `handshakes` follows the definitions in the crate's documentation.

mod outcomes;

pub use outcomes::{Apart, Named, Outcomes, Repeats};

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of the JSON schema.
pub const SCHEMA: u32 = 2;

/// One trace: one capture, or several taken as one.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Analysis {
    /// Version of the JSON schema, [`SCHEMA`].
    pub version: u32,
    /// Version of gentle that produced it.
    pub gentle: String,
    /// True when the analysis was stopped early: it then covers what had been read.
    pub interrupted: bool,
    /// True when addresses were replaced (`--anonymize`).
    pub anonymized: bool,
    /// The answer in plain words, one sentence each, the most important first.
    pub verdict: Vec<String>,
    /// Why the figures cannot be trusted as they are, the gravest reason first.
    pub warnings: Vec<TrustWarning>,
    /// The files.
    pub captures: Vec<Capture>,
    /// Time of the first packet, seconds since 1970.
    pub start_s: Option<f64>,
    /// From the first packet to the last.
    pub duration_s: f64,
    /// TCP handshakes: the table of handshake-2009.
    pub handshakes: Handshakes,
    /// What became of the attempts, and why handshake packets were sent again: a judgement.
    pub outcomes: Outcomes,
    /// What lost packets cost.
    pub waiting: Waiting,
    /// Each direction: the quantities of spa-2018, section III, after the 45 s filter.
    pub directions: Vec<Direction>,
    /// How the directions were told apart.
    pub direction_by: DirectionBy,
    /// Data segments that came again or out of order.
    pub retransmissions: Retransmissions,
    /// Times between duplicates.
    pub intervals: Intervals,
    /// Where the capture was taken.
    pub vantage: Vantage,
    /// The filters of spa-2018, in the order in which they apply; each takes what the one before it has left.
    pub filters: Vec<Filter>,
    /// Who loses most time.
    pub top: Top,
    /// Attempts, duplicates and waiting over time.
    pub timeline: Timeline,
    /// Handshakes of other protocols.
    pub other_protocols: OtherProtocols,
    /// How the connections ended, or did not.
    pub closes: Closes,
    /// What the limits on memory and idle time did.
    pub limits: Limits,
    /// The connections as flows to replay, where they were asked for (`--flows`, `compare --from`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<Flows>,
}

/// One capture file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Capture {
    /// Its path, as given; `-` is standard input.
    pub path: String,
    /// Format and compression: `pcap (ns)`, `pcapng, zstd`.
    pub format: String,
    /// Packets in it.
    pub packets: u64,
    /// TCP segments among them that were understood (fragments put together count once).
    pub tcp_segments: u64,
    /// Bytes on the wire, from the original lengths.
    pub wire_bytes: u64,
    /// Frames not looked at further, by reason.
    pub skipped: BTreeMap<&'static str, u64>,
    /// Packets of other kinds by name: `udp`, `sctp`, `dccp`, `esp`, `other`, `fragment`.
    pub other: BTreeMap<&'static str, u64>,
    /// Packets of tunnels on the outside, by protocol: `VXLAN`, `GRE`, … They are among `other`, too. Empty where the
    /// analysis was told to look inside.
    pub tunnels: BTreeMap<&'static str, u64>,
    /// What was wrong with it, one sentence each.
    pub warnings: Vec<String>,
}

/// A reason not to trust the figures as they are.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TrustWarning {
    /// Which sort of reason.
    pub kind: TrustWarningKind,
    /// The reason with its evidence, and what it does to the figures.
    pub sentence: String,
    /// The numbers in the sentence, by name.
    pub evidence: BTreeMap<&'static str, f64>,
}

impl TrustWarning {
    pub(crate) fn new<const N: usize>(
        kind: TrustWarningKind,
        sentence: String,
        evidence: [(&'static str, f64); N],
    ) -> TrustWarning {
        TrustWarning {
            kind,
            sentence,
            evidence: evidence.into(),
        }
    }
}

/// Sorts of reasons not to trust the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrustWarningKind {
    /// The capturing program's statistics say that it dropped packets.
    DroppedByCapture,
    /// Data were acknowledged that the capture never saw.
    MissingPackets,
    /// Some packets have times far from those of the others.
    TimesApart,
    /// Packets are earlier than others before them.
    TimeRunsBackwards,
    /// Segments were captured after what answers them: two capture points with different clocks.
    AnswersBeforeQuestions,
    /// Packets have a link type that is not read.
    LinkTypeNotRead,
    /// Packets are encrypted below TCP.
    Encrypted,
    /// Packets were cut before the end of their headers.
    CutTooShort,
    /// TCP in tunnels was not looked into.
    TunnelsNotRead,
    /// There is TCP in tunnels only, which was looked into.
    TunnelsRead,
}

impl TrustWarningKind {
    /// Whether the figures are wrong because of it, rather than incomplete for a part of the traffic.
    pub fn spoils_figures(self) -> bool {
        !matches!(
            self,
            TrustWarningKind::TunnelsNotRead | TrustWarningKind::TunnelsRead
        )
    }
}

/// TCP handshakes by the definitions of handshake-2009, section 3.
///
/// An *attempt* is a distinct (source, destination, ports, sequence number) of a segment with SYN and without ACK. It is
/// a *success* when a SYN/ACK that acknowledges it was seen and then, from the initiator, a segment with ACK, without
/// SYN and RST, that acknowledges the SYN/ACK.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Handshakes {
    /// Attempts.
    pub attempts: u64,
    /// Attempts that succeeded.
    pub successes: u64,
    /// Attempts that did not.
    pub failures: u64,
    /// Every further SYN with the same five values.
    pub duplicate_syn: u64,
    /// Every further SYN/ACK with the same four-tuple, sequence and acknowledgement numbers.
    pub duplicate_synack: u64,
    /// Attempts with at least one duplicate SYN.
    pub attempts_with_duplicate_syn: u64,
    /// Successes among them.
    pub successes_with_duplicate_syn: u64,
    /// Failures among them.
    pub failures_with_duplicate_syn: u64,
    /// Attempts with a duplicate SYN at an interval that belongs to no standard backoff series.
    pub outside_standard_intervals: u64,
    /// SYNs of successful attempts, duplicates included, per success.
    pub syn_per_success: Option<f64>,
    /// Attempts per attempt with a duplicate SYN: "a duplicate SYN every so many connections".
    pub attempts_per_duplicate: Option<f64>,
    /// How many duplicates (of `duplicate_syn`, `duplicate_synack`, and of other segments) are copies made by the
    /// capture or a switch, not retransmissions. They enter no probability, delay or histogram.
    pub capture_duplicates: CaptureDuplicates,
    /// Attempts that sent a SYN or SYN/ACK again, for whatever reason, copies made by the capture aside.
    pub attempts_with_retransmission: u64,
    /// Successes among them.
    pub successes_with_retransmission: u64,
    /// First SYN to first SYN/ACK and first SYN/ACK to the ACK, and their sum, in microseconds; over successes of which
    /// no SYN or SYN/ACK came again.
    pub rtt_s: HandshakeRtt,
    /// SYN/ACKs for which no SYN was seen (capture began later, or saw one direction only).
    pub synack_without_syn: u64,
    /// SYNs that carried data (TCP Fast Open).
    pub syn_with_data: u64,
}

/// Copies made by the capture or a switch.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
pub struct CaptureDuplicates {
    /// Of SYNs.
    pub syn: u64,
    /// Of SYN/ACKs.
    pub synack: u64,
    /// Of other TCP segments.
    pub other: u64,
}

/// Round-trip times seen in handshakes, by half.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
pub struct HandshakeRtt {
    /// SYN to SYN/ACK: from the vantage point to the server and back.
    pub server_side: Quantiles,
    /// SYN/ACK to ACK: from the vantage point to the client and back.
    pub client_side: Quantiles,
    /// Both.
    pub both: Quantiles,
}

/// Mean and percentiles of times; percentiles to three significant digits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Quantiles {
    /// How many.
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct MeanOf {
    /// Connections.
    pub n: u64,
    /// Mean.
    pub mean: Option<f64>,
    /// Half-width of the interval (normal approximation); `None` below two connections.
    pub ci95: Option<f64>,
}

/// Time that connections waited for retransmissions.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
pub struct Waiting {
    /// Total time that clients whose handshake was completed waited because a SYN or SYN/ACK had to be sent again: from each
    /// to the one sent before it, overlaps counted once. What was sent again for nothing is not in it.
    pub handshake_s: f64,
    /// The part of those that lost something.
    pub loss_s: f64,
    /// Mean of that per answered attempt with a loss that was completed.
    pub loss_mean_s: Option<f64>,
    /// Total time lost to the retransmission of other segments: for each retransmission the time since the previous
    /// transmission of the same bytes.
    pub data_s: f64,
    /// `handshake_s` as a share of both.
    pub handshake_share: Option<f64>,
    /// Time that attempts waited which were never completed: from the first SYN to the last.
    pub failed_s: f64,
}

/// How the directions of a trace are told apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DirectionBy {
    /// From the side that sent the SYN, and towards it.
    #[default]
    Initiator,
    /// By the interface of the capture.
    Interface,
    /// From local prefixes, and towards them.
    Local,
}

/// One direction of the link (spa-2018, section III).
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Direction {
    /// `from initiator`/`to initiator`, `out`/`in`, or the interface.
    pub name: String,
    /// TCP segments of the connections considered.
    pub packets: u64,
    /// Bytes on the wire, of all packets of this direction whatever they belong to.
    pub wire_bytes: u64,
    /// Mean rate over the trace, bits per second.
    pub rate_bps: f64,
    /// The given rate, or the highest rate seen over a whole second.
    pub capacity_bps: Option<f64>,
    /// Whether the capacity was given (`--rate`).
    pub capacity_given: bool,
    /// Mean rate relative to the given rate; `None` where none was given.
    pub utilization: Option<f64>,
    /// Retransmitted segments per segment.
    pub packet_retransmission_probability: Option<f64>,
    /// SYN and SYN/ACK segments among the retransmitted ones.
    pub syn_share_of_retransmissions: Option<f64>,
    /// Retransmitted SYN and SYN/ACK segments per SYN and SYN/ACK segment.
    pub syn_retransmission_probability: Option<f64>,
    /// Mean retransmission delay per connection, over the connections that sent at least one segment this way.
    pub retransmission_delay_s: RetransmissionDelay,
}

/// Mean retransmission delay per connection.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
pub struct RetransmissionDelay {
    /// Over all connections, mean; `null` when there are none.
    pub all: Option<f64>,
    /// Over those with a retransmitted SYN or SYN/ACK in this direction.
    pub with_handshake_loss: Option<f64>,
    /// Over those without.
    pub without_handshake_loss: Option<f64>,
    /// The same three with their numbers and confidence intervals.
    pub detail: RetransmissionDelayDetail,
}

/// The three means of [`RetransmissionDelay`] with confidence intervals.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
pub struct RetransmissionDelayDetail {
    /// Over all connections.
    pub all: MeanOf,
    /// Over those with a retransmitted SYN or SYN/ACK.
    pub with_handshake_loss: MeanOf,
    /// Over those without.
    pub without_handshake_loss: MeanOf,
}

/// Segments other than SYN and SYN/ACK that did not come in order, apart from copies made by the capture.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
pub struct Retransmissions {
    /// Segments that carry data or FIN.
    pub data_segments: u64,
    /// All bytes or some of them had been seen before.
    pub retransmitted: u64,
    /// Filled a hole, later than reordering explains: the retransmission of a segment that was lost before the vantage
    /// point.
    pub late: u64,
    /// Filled a hole, out of order only.
    pub reordered: u64,
    /// Of `retransmitted` and `late`: shown to be unnecessary by a DSACK or a time stamp echo.
    pub spurious: u64,
    /// Keep-alive and zero-window probes: the same bytes again, but nothing was lost.
    pub probes: u64,
}

/// Times between a SYN (SYN/ACK) and its next duplicate, copies made by the capture aside.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Intervals {
    /// Tolerance of the match with standard intervals, relative.
    pub tolerance: f64,
    /// Least tolerance, seconds.
    pub tolerance_floor_s: f64,
    /// Between duplicate SYNs.
    pub syn: IntervalHistogram,
    /// Between duplicate SYN/ACKs.
    pub synack: IntervalHistogram,
    /// Backoff series recognised, by attempt (SYNs) and by SYN/ACK.
    pub series: Vec<SeriesCount>,
}

/// A histogram of intervals.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct IntervalHistogram {
    /// Bins that are not empty, in ascending order.
    pub bins: Vec<IntervalBin>,
    /// Intervals near a standard one, by label (`1 s`, `3 s`, …), in order of length.
    pub standard: Vec<StandardInterval>,
    /// All intervals.
    pub total: u64,
    /// Those near no standard one.
    pub outside: u64,
}

/// One bin of a histogram of intervals: `from_s` (included) to `to_s` (excluded).
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct IntervalBin {
    /// Lower end.
    pub from_s: f64,
    /// Upper end.
    pub to_s: f64,
    /// Intervals in it.
    pub count: u64,
}

/// How many intervals are near a standard one.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct StandardInterval {
    /// The standard interval.
    pub interval_s: f64,
    /// How many are within the tolerance.
    pub count: u64,
}

/// How often a backoff series was recognised.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SeriesCount {
    /// `syn` or `synack`.
    pub segment: &'static str,
    /// What the series is: `1, 2, 4 … s (RFC 6298)`.
    pub label: String,
    /// Attempts whose duplicates follow it.
    pub count: u64,
}

/// Where on the path the capture was taken.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Vantage {
    /// `client`, `server`, `middle`, or `unknown`.
    pub side: &'static str,
    /// Whether it was given (`--vantage`).
    pub given: bool,
    /// What the guess rests on, in words.
    pub evidence: Vec<String>,
    /// What a duplicate SYN means here.
    pub duplicate_syn_means: String,
    /// What a duplicate SYN/ACK means here.
    pub duplicate_synack_means: String,
    /// Duplicate SYNs that came before any SYN/ACK had been seen: the SYN or its SYN/ACK was lost beyond the vantage
    /// point, on the server's side.
    pub syn_before_synack: u64,
    /// Duplicate SYNs that came after a SYN/ACK had been seen: the SYN/ACK was lost, or late, on the client's side.
    pub syn_after_synack: u64,
    /// Duplicate SYN/ACKs that came before the ACK had been seen.
    pub synack_before_ack: u64,
    /// Duplicate SYN/ACKs that came after the ACK had been seen: the ACK was lost on the server's side, or late.
    pub synack_after_ack: u64,
}

/// What a filter of spa-2018 leaves.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Filter {
    /// `syn-seen`, `delay-45s`, `syn-flood`, `established-with-data`.
    pub name: &'static str,
    /// What it leaves out, in words.
    pub description: String,
    /// Connections it left out.
    pub removed_connections: u64,
    /// Addresses that caused it (`syn-flood`).
    pub removed_addresses: Option<u64>,
    /// The first of those addresses, at most ten, those with most connections first.
    pub examples: Vec<String>,
    /// Connections left.
    pub connections: u64,
    /// The quantities over what is left.
    pub directions: Vec<Direction>,
}

/// Who loses most time to retransmitted SYNs and SYN/ACKs.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Top {
    /// Servers with port, by time lost.
    pub servers: Vec<TopEntry>,
    /// Clients, by time lost.
    pub clients: Vec<TopEntry>,
    /// Prefixes of the servers (/24, /48), by time lost.
    pub prefixes: Vec<TopEntry>,
}

/// One line of a list of those who lose most.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TopEntry {
    /// Address, address and port, or prefix.
    pub name: String,
    /// Attempts.
    pub attempts: u64,
    /// Attempts that were answered and completed.
    pub answered: u64,
    /// Attempts that were not.
    pub failures: u64,
    /// Of those answered, those that lost a SYN or SYN/ACK.
    pub with_loss: u64,
    /// Time that those completed waited because a SYN or SYN/ACK had to be sent again.
    pub time_lost_s: f64,
    /// Time waited for nothing, of those that were not completed.
    pub failed_s: f64,
}

/// What happened when.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Timeline {
    /// Width of a bin.
    pub bin_s: f64,
    /// Bins from the first packet on; those in which nothing happened are left out.
    pub bins: Vec<TimelineBin>,
}

/// One bin of the timeline.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
pub struct TimelineBin {
    /// Its beginning, seconds since the first packet.
    pub t_s: f64,
    /// Attempts that began in it.
    pub attempts: u64,
    /// Retransmitted SYNs and SYN/ACKs.
    pub handshake_retransmissions: u64,
    /// Retransmitted segments of other kinds.
    pub other_retransmissions: u64,
    /// TCP segments.
    pub segments: u64,
    /// Bytes on the wire, all packets.
    pub wire_bytes: u64,
    /// Time lost by handshakes that succeeded in it.
    pub time_lost_s: f64,
}

/// Handshakes of protocols other than TCP.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct OtherProtocols {
    /// QUIC (RFC 9000, RFC 9369): Initial packets.
    pub quic: Option<OtherHandshakes>,
    /// SCTP (RFC 9260): INIT, INIT ACK, COOKIE ECHO.
    pub sctp: Option<OtherHandshakes>,
    /// DCCP (RFC 4340): Request, Response.
    pub dccp: Option<OtherHandshakes>,
}

/// Handshakes of one protocol; absent when the capture has none of it.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct OtherHandshakes {
    /// Connections begun.
    pub attempts: u64,
    /// Connections whose handshake went through, as far as can be seen from outside.
    pub successes: u64,
    /// Retransmissions by kind of packet: `initial (client)`, `init`, `cookie-echo`, `request`, …
    pub retransmissions: BTreeMap<&'static str, u64>,
    /// Attempts with at least one retransmission.
    pub attempts_with_loss: u64,
    /// Time lost to retransmission, of those that succeeded.
    pub time_lost_s: f64,
    /// First packet to first answer, without retransmission.
    pub rtt_s: Quantiles,
    /// Attempts by version: `v1`, `v2`, `draft-29`, … (QUIC).
    pub versions: BTreeMap<String, u64>,
}

/// How connections ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Closes {
    /// Both sides sent FIN.
    pub fin: u64,
    /// RST.
    pub rst: u64,
    /// Fell silent for the idle timeout.
    pub silent: u64,
    /// Still open when the capture ended.
    pub open: u64,
    /// Never established.
    pub never_established: u64,
}

/// What the limits did.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
pub struct Limits {
    /// Connections are forgotten after this long without a packet.
    pub idle_timeout_s: f64,
    /// Most memory for connections, bytes.
    pub memory_limit_bytes: u64,
    /// Most connections held at a time.
    pub peak_connections: u64,
    /// Most memory held for connections, bytes.
    pub peak_bytes: u64,
    /// Most memory held for what is remembered of those that are over, bytes.
    pub peak_remembered_bytes: u64,
    /// Connections forgotten because of the idle timeout; those that had closed are not among them.
    pub retired_idle: u64,
    /// Connections forgotten because of the memory limit.
    pub retired_memory: u64,
    /// Connections on which the SYN-flood filter had to decide before the end because of the memory limit.
    pub judged_early: u64,
}

/// Connections as flows to replay: what was inferred, and what could not be used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Flows {
    /// Connections and attempts of the trace.
    pub connections: u64,
    /// Those that became flows.
    pub flows: u64,
    /// Those that did not, by reason: `no-syn`, `not-established`, `no-data`, `not-across` (the local prefixes have both
    /// of their ends or neither), `too-many`.
    pub left_out: BTreeMap<&'static str, u64>,
    /// TCP payload of the trace, each byte once.
    pub payload_bytes: u64,
    /// The part of it that the flows have.
    pub flow_bytes: u64,
    /// The part of it that their connections had in the smaller direction.
    pub other_way_bytes: u64,
    /// Flows whose connection was open at the end of the trace.
    pub open_at_end: u64,
    /// Flows with the round-trip time of their own handshake.
    pub rtt_own: u64,
    /// With the median of those to the same server.
    pub rtt_of_server: u64,
    /// With the median of all.
    pub rtt_of_trace: u64,
    /// With none.
    pub rtt_unknown: u64,
    /// The same in words, one sentence each.
    pub in_words: Vec<String>,
}

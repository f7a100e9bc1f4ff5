//! Profiles of TCP stacks: parameters ("knobs") in which stacks differ, and their values in real stacks.

use crate::congestion::CongestionControl;
use crate::knobs::{ANY, DAY, MS, knobs};
use gentle_units::Nanos;
use std::fmt;

/// Estimator of the retransmission timeout from round-trip times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RtoEstimator {
    /// `tcp_rtt_estimator` of Linux: the lower bound applies to RTTVAR, not to the timeout.
    Linux,
    /// RFC 6298 as written, with clock granularity.
    Rfc6298,
}

/// Measure by which acknowledgements let the congestion window grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// Number of acknowledged segments: appropriate byte counting (RFC 3465; recommended by RFC 5681, section 3.1).
    /// Delayed acknowledgements then do not slow the growth down.
    Acked,
    /// Number of acknowledgements: one segment for each in slow start, 1/cwnd in congestion avoidance (the older
    /// practice, equation 3 of RFC 5681). An acknowledgement for two segments counts once.
    Acks,
}

/// ECN negotiation (RFC 3168, section 6.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ecn {
    /// Neither requested nor accepted.
    Off,
    /// Accepted if the peer requests it (`net.ipv4.tcp_ecn=2`, Linux's default).
    Accept,
    /// Requested and accepted (`net.ipv4.tcp_ecn=1`).
    Request,
    /// Accurate ECN requested and accepted (RFC 9768; `net.ipv4.tcp_ecn=3`), ECN with a peer that knows only that.
    AccEcn,
}

/// Rule that marks unacknowledged segments below SACKed ones as lost, with RACK off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossMarking {
    /// Segments with at least `dupthresh` SACKed segments above them (RFC 6675, `IsLost`).
    Rfc6675,
    /// Segments at least `dupthresh` segments below the highest SACKed one (forward acknowledgement, Linux before
    /// 4.15).
    Fack,
    /// Every hole below the highest SACKed segment, once in recovery (`tcp_sack_output` of FreeBSD, `tcp-full` of
    /// ns-2).
    Holes,
}

/// Evidence that undoes a reduction of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undo {
    /// None; reductions are never undone.
    Off,
    /// Timestamps (Eifel: RFC 3522, RFC 4015) and DSACKs that cover every retransmission, as in Linux.
    EifelDsack,
    /// The first of consecutive timeouts, if it is answered within half a round trip (`t_badrxtwin` of FreeBSD).
    BadRetransmit,
}

/// Policy for delayed acknowledgements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckPolicy {
    /// Linux: quick ACKs first, then a delay that adapts to the gaps between segments (`delack` to `delack_max`); a
    /// segment shorter than the largest seen is acknowledged at once.
    Linux,
    /// Every `delack_segments`-th segment is acknowledged at once, others after `delack`.
    Fixed,
}

knobs! {
    /// Payload bytes of a full segment: MTU less IP header, TCP header and timestamps.
    mss: u16 in 1..=65_495, 1448, "payload bytes of a full segment";
    /// Receive window in bytes; its maximum with `window_tuning`. The application reads at once, so the window never
    /// closes.
    receive_window: u32 as Size in 1..=1 << 30, 4 << 20, "receive window, with window_tuning the largest; the application reads at once";
    /// Autotuning of the receive window: starts at 64 KiB and grows with the data received per round trip, as in Linux
    /// (`tcp_rcv_space_adjust`, `tcp_grow_window`). The different rules of older Linux and of FreeBSD are not modelled.
    // sysctl_tcp_moderate_rcvbuf
    window_tuning: bool in ANY, true, "the receive window grows with the data that arrives in a round trip";

    /// Initial RTO: timeout before any round-trip time is known (RFC 6298, rule 2.1).
    // TCP_TIMEOUT_INIT
    initial_rto: Nanos in MS..=DAY, Nanos::from_secs(1), "retransmission timeout before any round trip is known";
    /// Timeout after a handshake without RTT sample because of a retransmission (RFC 6298, rule 5.7).
    // TCP_TIMEOUT_FALLBACK
    rto_fallback: Nanos in MS..=DAY, Nanos::from_secs(3), "timeout after a handshake that gave no round-trip time";
    /// Lower bound: of 4·RTTVAR with the Linux estimator, else of the timeout.
    // TCP_RTO_MIN
    min_rto: Nanos in 0..=DAY, Nanos::from_millis(200), "lower bound of 4*RTTVAR (linux) or of the timeout (rfc6298)";
    /// Upper bound of the timeout, backoff included.
    // TCP_RTO_MAX
    max_rto: Nanos in MS..=DAY, Nanos::from_secs(120), "upper bound of the timeout";
    /// Added to every estimated timeout.
    rto_slop: Nanos in 0..=DAY, Nanos::ZERO, "added to every estimated timeout";
    /// Estimator of the timeout.
    rto_estimator: RtoEstimator in ANY, RtoEstimator::Linux, "calculation of the timeout from round-trip times";
    /// Clock granularity: timers are set to multiples of this.
    // CONFIG_HZ=1000
    timer_granularity: Nanos in 1_000..=10_000 * MS, Nanos::from_millis(1), "tick of the timers";
    /// Timer expiry follows Linux's timer wheel (since 4.8): never early, and late by up to an eighth of the delay,
    /// because longer timers wait in buckets of 8, 64, 512, … ticks (`kernel/time/timer.c`). A timer of one second
    /// takes 1.001 to 1.064 s at 1000 ticks per second, depending on the phase of the clock.
    timer_wheel: bool in ANY, true, "timers are late by up to an eighth, as Linux's timer wheel rounds them";

    /// SYN retransmissions before the connection attempt fails, not counting `syn_linear_timeouts`.
    // TCP_SYN_RETRIES
    syn_retries: u32 in 0..=1000, 6, "SYN retransmissions before the attempt fails, syn_linear_timeouts not counted";
    /// Number of repetitions of the initial SYN timeout before it doubles.
    // sysctl_tcp_syn_linear_timeouts
    syn_linear_timeouts: u32 in 0..=127, 4, "repetitions of the SYN's timeout before it doubles";
    /// Time after which the connection attempt fails regardless of the retries; 0: no limit.
    connect_timeout: Nanos in 0..=DAY, Nanos::ZERO, "time until the attempt fails, whatever the retries; 0 for none";
    /// SYN/ACK retransmissions before the half-open connection is dropped.
    // TCP_SYNACK_RETRIES
    synack_retries: u32 in 0..=1000, 5, "SYN/ACK retransmissions before the half-open connection is dropped";
    /// A repeated SYN restarts the SYN/ACK timer from its initial value (`syncache_add` of FreeBSD).
    synack_timer_restart: bool in ANY, false, "a duplicate SYN restarts the SYN/ACK's backoff";
    /// A repeated SYN/ACK echoes the timestamp of the first SYN that arrived, not of the latest (`req->ts_recent` of
    /// Linux, which `tcp_check_req` does not update). The initiator then sees that its repeated SYNs were spurious,
    /// and measures the whole time since the first SYN as a round trip.
    synack_echoes_first_syn: bool in ANY, true, "a repeated SYN/ACK echoes the timestamp of the first SYN";
    /// Retransmissions of the same segment before the connection fails.
    // TCP_RETR2
    retries: u32 in 1..=100_000, 15, "retransmissions of one segment before the connection fails";

    /// Congestion control algorithm.
    congestion_control: CongestionControl in ANY, CongestionControl::Cubic, "algorithm of the congestion window";
    /// Initial window in segments (RFC 6928).
    // TCP_INIT_CWND
    iw: u32 in 1..=10_000, 10, "initial window in segments";
    /// With more handshake retransmissions than this, the initial window is one segment.
    // tcp_init_transfer: total_retrans > 1
    iw_syn_losses: u32 in 0..=u64::MAX, 1, "after more handshake retransmissions than this the initial window is 1";
    /// Handshake retransmissions that are proven spurious by a timestamp, or that no timeout caused, do not count for
    /// `iw_syn_losses`.
    // tcp_try_undo_spurious_syn
    syn_undo: bool in ANY, true, "handshake retransmissions that prove spurious do not count for iw_syn_losses";
    /// Initial slow start threshold in segments.
    initial_ssthresh: u32 in 2..=u64::MAX, u32::MAX, "initial slow start threshold in segments, or infinite";
    /// HyStart: leave slow start before it overflows the queue (Ha and Rhee 2011; CUBIC only).
    // tcp_cubic.c
    hystart: bool in ANY, true, "leave slow start on growing delay (CUBIC)";
    /// HyStart++ (RFC 9406) in the initial slow start of every window-based algorithm, instead of HyStart. Not in Linux.
    hystart_plus: bool in ANY, false, "HyStart++ (RFC 9406) instead of HyStart, with any algorithm but BBR";
    /// Increment of the window per acknowledgement.
    // tcp_slow_start, tcp_cong_avoid_ai
    growth: Growth in ANY, Growth::Acked, "growth of the window by an ACK: the segments acknowledged, or one per ACK";
    /// Maximum number of segments by which one ACK raises the window in slow start (RFC 3465, `L`); 0: as many
    /// as it acknowledges.
    abc_limit: u32 in 0..=1000, 0, "segments by which one ACK may raise the window in slow start; 0 for no limit";
    /// Reduce the window after idle time: one halving per timeout (RFC 2861), or with `idle_reset` to `iw` (FreeBSD).
    idle_restart: bool in ANY, true, "decay the window over idle time";
    /// With `idle_restart`: reduce to the initial window at once instead of halving per timeout.
    // tcp_cwnd_restart
    idle_reset: bool in ANY, false, "with idle_restart: fall to the initial window at once";
    /// Pacing of data at twice or 1.2 times a window per round trip, as Linux does for sockets with a maximum pacing
    /// rate (`SO_MAX_PACING_RATE`). BBR always paces.
    // SK_PACING_NONE
    pacing: bool in ANY, false, "data leaves at twice (slow start) or 1.2 times a window per round trip; BBR always paces";
    /// With pacing: segments leave in bursts of the size that Linux hands to the network card at once
    /// (`tcp_tso_autosize`), else one by one.
    tso: bool in ANY, true, "with pacing: segments leave in bursts of Linux's size, not one by one";
    /// Bursts of that size without pacing too: a sender waits for acknowledgements that let it send more at once
    /// (`tcp_tso_should_defer`), and the last segment of several has PSH (since 5.4), which is acknowledged at once.
    tso_unpaced: bool in ANY, true, "without pacing too, segments leave in bursts of Linux's size";
    /// Maximum number of segments sent per ACK; 0: no limit.
    max_burst: u32 in 0..=u64::MAX, 0, "new segments one ACK may release; 0 for no limit";
    /// At the end of recovery, limit the window to the segments in flight plus this number; 0: no limit.
    // tcp_moderate_cwnd went in 4.5
    cwnd_moderation: u32 in 0..=1000, 0, "when recovery ends, segments the window may exceed what is in flight; 0 for no limit";

    /// Selective acknowledgements (RFC 2018).
    sack: bool in ANY, true, "selective acknowledgements";
    /// Report duplicates with SACK blocks (DSACK, RFC 2883).
    dsack: bool in ANY, true, "report duplicates to the sender";
    /// Timestamps option (RFC 7323).
    timestamps: bool in ANY, true, "timestamps";
    /// ECN (RFC 3168, RFC 9768).
    // TCP_ECN_IN_ECN_OUT_NOECN
    ecn: Ecn in ANY, Ecn::Accept, "explicit congestion notification";
    /// Segments that carry the AccECN option, once the peer has sent one (`net.ipv4.tcp_ecn_option`): 0: none, 1: those
    /// after a change of the marking and `ecn_option_beacon` in a round trip, 2: all, unless those with a DSACK seem to
    /// get lost, 3: all.
    // TCP_ACCECN_OPTION_FULL
    ecn_option: u32 in 0..=3, 2, "segments with the AccECN option: 0 none, 1 few, 2 all while it seems to arrive, 3 all";
    /// AccECN options in a round trip at least, with `ecn_option` 1 (`net.ipv4.tcp_ecn_option_beacon`).
    // TCP_ACCECN_OPTION_BEACON
    ecn_option_beacon: u32 in 0..=3, 3, "with ecn_option 1: AccECN options in a round trip at least";
    /// ECN-capable packets carry ECT(1), which queues treat as L4S (RFC 9331), instead of ECT(0). Not in Linux 7.2,
    /// whose DCTCP sends ECT(0).
    // tcp_ca_ect_1_negotiation: no algorithm requests it
    ect1: bool in ANY, false, "ECN-capable packets carry ECT(1), as in L4S, instead of ECT(0)";

    /// Number of duplicate ACKs, or of SACKed segments above a hole, that prove a loss (RFC 5681).
    // TCP_FASTRETRANS_THRESH
    dupthresh: u32 in 1..=1000, 3, "duplicate ACKs that prove a loss";
    /// Maximum to which observed reordering raises `dupthresh`; equal to `dupthresh`: fixed threshold.
    max_reordering: u32 in 1..=100_000, 300, "largest dupthresh that observed reordering may set";
    /// Rule that marks segments as lost, with RACK off.
    loss_marking: LossMarking in ANY, LossMarking::Rfc6675, "rule by which holes are lost, with rack off";
    /// Time-based loss detection: RACK (RFC 8985).
    // TCP_RACK_LOSS_DETECTION
    rack: bool in ANY, true, "time-based loss detection";
    /// Tail loss probe (RFC 8985, section 7).
    // sysctl_tcp_early_retrans = 3
    tlp: bool in ANY, true, "tail loss probe";
    /// Early retransmit: lower `dupthresh` with few segments in flight (RFC 5827, delayed by a quarter RTT as in
    /// Linux).
    early_retransmit: bool in ANY, false, "lower threshold when few segments are in flight";
    /// Limited transmit: send new segments on the first two duplicate ACKs (RFC 3042).
    limited_transmit: bool in ANY, true, "new segments on the first duplicate ACKs";
    /// Proportional rate reduction (RFC 6937) instead of the pipe rule of RFC 6675.
    prr: bool in ANY, true, "proportional rate reduction";
    /// With `prr` off: maximum number of segments sent per ACK in recovery; 0: limited only by the pipe rule.
    recovery_burst: u32 in 0..=u64::MAX, 0, "with prr off: segments one ACK may release in recovery; 0 for no limit";
    /// F-RTO: detect spurious timeouts (RFC 5682).
    frto: bool in ANY, true, "detect spurious timeouts";
    /// Evidence on which reductions are undone.
    undo: Undo in ANY, Undo::EifelDsack, "evidence on which a reduction of the window is undone";
    /// A timeout discards all SACK information and goes back to the oldest segment.
    rto_forgets_sack: bool in ANY, false, "a timeout discards the SACK information";

    /// Policy for delayed acknowledgements.
    ack_policy: AckPolicy in ANY, AckPolicy::Linux, "rule for delaying acknowledgements";
    /// Delay of an acknowledgement; the minimum with the Linux policy.
    // TCP_DELACK_MIN, TCP_ATO_MIN
    delack: Nanos in 0..=10_000 * MS, Nanos::from_millis(40), "delay of an acknowledgement; the shortest with policy linux";
    /// Maximum delay of an acknowledgement with the Linux policy.
    // TCP_DELACK_MAX
    delack_max: Nanos in 0..=10_000 * MS, Nanos::from_millis(200), "longest delay of an acknowledgement, policy linux";
    /// With the Linux policy: the delay is counted in whole ticks of the clock, and doubles when it expires, as in Linux
    /// (`tcp_delack_timer_handler`).
    exact_ato: bool in ANY, true, "policy linux: the delay is counted in ticks and doubles when it expires, as in Linux";
    /// With the Linux policy: after three selective acknowledgements of a hole, one for what arrives in a millisecond or a
    /// third of a round trip (`tcp_comp_sack_delay_ns`, since 4.18; `tcp_comp_sack_rtt_percent`).
    sack_compression: bool in ANY, true, "policy linux: one selective acknowledgement a millisecond, as in Linux";
    /// Number of full segments after which an acknowledgement is sent at once.
    delack_segments: u32 in 1..=1000, 2, "an acknowledgement at once for so many full segments";
    /// Number of segments acknowledged without delay at the start of a connection, after a duplicate and after idle
    /// time.
    // TCP_MAX_QUICKACKS
    quickack_segments: u32 in 0..=1000, 16, "segments acknowledged one by one at the start, after a duplicate and after idle time";

    /// Send FIN on the last data segment if that has not been sent yet.
    // __tcp_push_pending_frames: the FIN joins the tail of the write queue
    fin_on_data: bool in ANY, true, "FIN rides on the last data segment";
    /// Cover a FIN that arrives out of order in SACK blocks, as one sequence number.
    fin_sack: bool in ANY, true, "an out-of-order FIN is covered by SACK";
}

/// No profile has the given name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown TCP profile '{name}'{}; there are {}",
    gentle_units::suggestion(name, Profile::NAMES.iter().copied()),
    Profile::NAMES.join(", ")
)]
pub struct UnknownProfile {
    /// Name that was given.
    pub name: String,
}

impl Default for Profile {
    fn default() -> Profile {
        Profile::linux_7_2()
    }
}

impl Profile {
    /// Names of all profiles, the default first.
    pub const NAMES: &'static [&'static str] = &["linux-7.2", "linux-3.16", "freebsd-9.3", "ns-2"];

    /// One-line description of the profile called `name`.
    pub fn summary(name: &str) -> Result<&'static str, UnknownProfile> {
        match name {
            "linux-7.2" => Ok("a current Linux: initial RTO 1 s, ten segments to start with, CUBIC, SACK, RACK-TLP"),
            "linux-3.16" => Ok("a Linux of 2014: the same start, with loss detection by forward acknowledgement"),
            "freebsd-9.3" => Ok(
                "the end hosts of Braud, Heusse and Duda 2018: initial RTO 3 s, four segments to start with, NewReno",
            ),
            "ns-2" => Ok("the agents of the simulator ns-2, as used in older papers"),
            _ => Err(UnknownProfile { name: name.to_owned() }),
        }
    }

    /// Returns the profile called `name`.
    pub fn by_name(name: &str) -> Result<Profile, UnknownProfile> {
        match name {
            "linux-7.2" => Ok(Profile::linux_7_2()),
            "linux-3.16" => Ok(Profile::linux_3_16()),
            "freebsd-9.3" => Ok(Profile::freebsd_9_3()),
            "ns-2" => Ok(Profile::ns_2()),
            _ => Err(UnknownProfile { name: name.to_owned() }),
        }
    }

    /// Linux 3.16: no RACK, no linear SYN timeouts; forward acknowledgement, early retransmit, window moderation.
    pub fn linux_3_16() -> Profile {
        Profile {
            window_tuning: false,
            timer_wheel: false, // since 4.8
            syn_linear_timeouts: 0,
            syn_undo: false,                 // since 5.2
            loss_marking: LossMarking::Fack, // sysctl_tcp_fack = 1
            max_reordering: 127,             // TCP_MAX_REORDERING
            rack: false,
            early_retransmit: true,  // sysctl_tcp_early_retrans = 3: delayed ER and TLP
            cwnd_moderation: 3,      // tcp_moderate_cwnd
            tso_unpaced: false,      // it defers for up to two ticks whatever is expected, and sets no PSH
            exact_ato: false,        // reproductions of papers were made without
            sack_compression: false, // since 4.18
            ..Profile::linux_7_2()
        }
    }

    /// FreeBSD 9.3 with default sysctls (`sys/netinet/tcp_timer.h`, `tcp_subr.c`, `tcp_syncache.c`, `tcp_input.c`).
    pub fn freebsd_9_3() -> Profile {
        Profile {
            mss: 1448,
            receive_window: 1 << 20,
            window_tuning: false,
            initial_rto: Nanos::from_secs(3),  // TCPTV_RTOBASE
            rto_fallback: Nanos::from_secs(3), // TCPTV_RTOBASE
            min_rto: Nanos::from_millis(30),   // TCPTV_MIN
            max_rto: Nanos::from_secs(64),     // TCPTV_REXMTMAX
            rto_slop: Nanos::from_millis(200), // TCPTV_CPU_VAR, tcp_rexmit_slop
            rto_estimator: RtoEstimator::Rfc6298,
            timer_granularity: Nanos::from_millis(1), // kern.hz=1000
            timer_wheel: false,
            syn_retries: 8,         // TCP_MAXRXTSHIFT is 12; the connect timer ends it earlier
            syn_linear_timeouts: 4, // tcp_syn_backoff: 1, 1, 1, 1, 1, 2, 4, 8, …
            connect_timeout: Nanos::from_secs(75), // TCPTV_KEEP_INIT
            synack_retries: 3,      // SYNCACHE_MAXREXMTS
            synack_timer_restart: true, // syncache_add: sc_rxmits = 0
            synack_echoes_first_syn: false, // syncache_add: sc_tsreflect
            retries: 12,            // TCP_MAXRXTSHIFT
            congestion_control: CongestionControl::Reno, // cc_newreno
            iw: 4,                  // spa-2018, section VI; net.inet.tcp.rfc3390 gives min(4, max(2, 4380/mss))
            iw_syn_losses: 0,       // cc_conn_init: snd_cwnd == 1
            syn_undo: false,
            initial_ssthresh: u32::MAX,
            hystart: false,
            hystart_plus: false,
            growth: Growth::Acked, // net.inet.tcp.rfc3465=1
            abc_limit: 2,          // net.inet.tcp.abc_l_var
            idle_restart: true,
            idle_reset: true, // cc_after_idle
            pacing: false,
            tso: false,
            tso_unpaced: false,
            max_burst: 0,
            cwnd_moderation: 1, // newreno_post_recovery
            sack: true,
            dsack: false,
            timestamps: true, // net.inet.tcp.rfc1323
            ecn: Ecn::Off,    // net.inet.tcp.ecn.enable=0
            ecn_option: 2,
            ecn_option_beacon: 3,
            ect1: false,
            dupthresh: 3,
            max_reordering: 3,
            loss_marking: LossMarking::Holes,
            rack: false,
            tlp: false,
            early_retransmit: false,
            limited_transmit: true, // net.inet.tcp.rfc3042
            prr: false,
            recovery_burst: 1, // each duplicate ACK opens the window by one segment
            frto: false,
            undo: Undo::BadRetransmit,
            rto_forgets_sack: true, // tcp_timer_rexmt: tcp_free_sackholes
            ack_policy: AckPolicy::Fixed,
            delack: Nanos::from_millis(100), // TCPTV_DELACK
            delack_max: Nanos::from_millis(100),
            exact_ato: false,
            sack_compression: false,
            delack_segments: 2,
            quickack_segments: 0,
            fin_on_data: true, // tcp_output: FIN with the last data of the socket buffer
            fin_sack: false,   // tcp_update_sack_list(seq, seq + tlen): the FIN is not in tlen
        }
    }

    /// ns-2's two-way TCP with SACK, `Agent/TCP/FullTcp/Sack` (`tcl/lib/ns-default.tcl`, `tcp/tcp-full.cc`).
    pub fn ns_2() -> Profile {
        Profile {
            mss: 1460, // no options: packets of 1500 bytes, which the agent leaves to the script (segsize_)
            receive_window: 4 << 20,
            window_tuning: false,
            initial_rto: Nanos::from_secs(3), // rtxcur_init_
            rto_fallback: Nanos::from_secs(3),
            min_rto: Nanos::from_millis(200), // minrto_
            max_rto: Nanos::from_secs(60),    // maxrto_
            rto_slop: Nanos::ZERO,
            rto_estimator: RtoEstimator::Rfc6298,
            timer_granularity: Nanos::from_millis(10), // tcpTick_
            timer_wheel: false,
            syn_retries: 12,
            syn_linear_timeouts: 0,
            connect_timeout: Nanos::ZERO,
            synack_retries: 12,
            synack_timer_restart: false,
            synack_echoes_first_syn: false,
            retries: 1000, // ns-2 never gives up
            congestion_control: CongestionControl::Reno,
            iw: 2,            // windowInit_
            iw_syn_losses: 0, // syn loss: wnd_init_option_
            syn_undo: false,
            initial_ssthresh: u32::MAX,
            hystart: false,
            hystart_plus: false,
            growth: Growth::Acks, // opencwnd
            abc_limit: 1,
            idle_restart: false,
            idle_reset: false,
            pacing: false,
            tso: false,
            tso_unpaced: false,
            max_burst: 0, // maxburst_
            cwnd_moderation: 0,
            sack: true,
            dsack: false,      // generate_dsacks_
            timestamps: false, // timestamps_
            ecn: Ecn::Off,
            ecn_option: 2,
            ecn_option_beacon: 3,
            ect1: false,
            dupthresh: 3, // tcprexmtthresh_
            max_reordering: 3,
            loss_marking: LossMarking::Holes,
            rack: false,
            tlp: false,
            early_retransmit: false,
            limited_transmit: true, // singledup_
            prr: false,
            recovery_burst: 0,
            frto: false,
            undo: Undo::Off,
            rto_forgets_sack: true, // SackFullTcpAgent::timeout_action: clear_on_timeout_
            ack_policy: AckPolicy::Fixed,
            delack: Nanos::from_millis(100), // interval_
            delack_max: Nanos::from_millis(100),
            exact_ato: false,
            sack_compression: false,
            delack_segments: 1, // segsperack_: no delay at all by default
            quickack_segments: 0,
            fin_on_data: true,
            fin_sack: false,
        }
    }
}

macro_rules! texts {
    ($type:ident { $($variant:ident = $text:literal $(| $alias:literal)*),* }) => {
        impl $type {
            /// Text of all values, for messages.
            pub const TEXTS: &'static str = texts!(@join $($text)*);

            pub(crate) fn from_text(text: &str) -> Option<$type> {
                match text {
                    $($text $(| $alias)* => Some($type::$variant),)*
                    _ => None,
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self { $($type::$variant => $text),* })
            }
        }
    };
    (@join $first:literal $($rest:literal)*) => { concat!($first $(, " or ", $rest)*) };
}

pub(crate) use texts;

texts!(RtoEstimator { Linux = "linux", Rfc6298 = "rfc6298" });
texts!(Growth { Acked = "acked", Acks = "acks" });
texts!(Ecn { Off = "off" | "false", Accept = "accept", Request = "request" | "on" | "true", AccEcn = "accecn" });
texts!(LossMarking { Rfc6675 = "rfc6675", Fack = "fack", Holes = "holes" });
texts!(Undo {
    Off = "off" | "false",
    EifelDsack = "eifel-dsack" | "on" | "true",
    BadRetransmit = "bad-retransmit"
});
texts!(AckPolicy { Linux = "linux", Fixed = "fixed" });

//! Which packets of a completed handshake were lost, from the numbers that the kernel has about it.
//!
//! The rules, for `n` retransmitted SYNs:
//!
//! 1. The answered SYN was sent at `answered - age`. If exactly one of the `n + 1` SYNs was due then, SYN `k`, then the `k`
//!    SYNs before it were lost, or ignored by the server.
//! 2. The `n - k` SYNs after it count as lost SYN/ACKs: each was due because no SYN/ACK had arrived.
//! 3. The answer was late, and no SYN/ACK lost, if it came sooner after the last SYN than half the fastest recent
//!    connect: that SYN cannot have been answered yet, nor can the server have retransmitted the SYN/ACK.
//! 4. If recent connects without loss took half an RTO or more, or there are none, then a lost SYN/ACK cannot be told from
//!    a late one, and the side is unknown.
//! 5. A server may retransmit its SYN/ACK before this host retransmits its SYN. If `k = n` and the answer came as long
//!    after SYN `k` as such a retransmission would, a SYN/ACK was lost.
//!
//! If the age is not known or the times do not fit the schedule, the side is unknown.

use crate::recent::Recent;
use crate::schedule::{INITIAL_RTO, Schedule, late};
use std::time::Duration;

/// Resolution of times: TCP timestamps have 1 ms, the kernel's ticks up to 10 ms.
const RESOLUTION: Duration = Duration::from_millis(12);

/// Largest difference of an age, which is measured in timestamps of 1 ms and rounded, from the true one.
const ROUNDING: Duration = Duration::from_millis(2);

/// Longest delay of a server's timer by a busy machine.
const BUSY: Duration = Duration::from_millis(100);

/// Times at which servers retransmit a SYN/ACK: RTOs of 1 s, doubled (`reqsk_timer_handler`,
/// net/ipv4/inet_connection_sock.c).
const SYNACK_SECONDS: [u64; 5] = [1, 3, 7, 15, 31];

/// Maximum number of retransmissions (`MAX_TCP_SYNCNT`, include/net/tcp.h).
const MAX_RETRANSMISSIONS: u32 = 127;

/// Numbers about a completed handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handshake {
    /// Time from the first SYN to the arrival of the SYN/ACK.
    pub answered: Duration,
    /// Number of retransmitted SYNs (`tcpi_total_retrans`).
    pub retransmissions: u32,
    /// Age of the answered SYN at that time, from the echoed timestamp (`tcpi_rtt`); `None` without TCP timestamps.
    pub age: Option<Duration>,
    /// Recent connects to the same address without loss; `None` if there are none.
    pub recent: Option<Recent>,
}

/// Packets lost in a completed handshake.
///
/// At least as many packets were lost as are counted: a SYN that was lost after its predecessor had arrived, and the second of
/// two SYN/ACKs lost in the same interval, are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verdict {
    /// SYNs lost on the path, or ignored by the server; at most the number of retransmissions.
    pub lost_syns: u32,
    /// SYN/ACKs lost. Together with `lost_syns` at most one more than the number of retransmissions.
    pub lost_synacks: u32,
    /// Retransmitted SYNs for which it is not known whether a SYN or a SYN/ACK was lost, or the SYN/ACK was late.
    pub lost_unknown: u32,
    /// Whether the SYN/ACK arrived after a needless retransmission.
    pub late: bool,
}

impl Verdict {
    /// Whether a packet was lost.
    pub fn has_loss(&self) -> bool {
        self.lost_syns > 0 || self.lost_synacks > 0 || self.lost_unknown > 0
    }

    fn unknown(retransmissions: u32) -> Verdict {
        Verdict { lost_unknown: retransmissions, ..Verdict::default() }
    }
}

/// Derives which packets of a handshake were lost; `schedule` are the times at which this host retransmits a SYN.
pub fn verdict(handshake: &Handshake, schedule: &Schedule) -> Verdict {
    let Handshake { answered, retransmissions, recent, .. } = *handshake;
    // Without a retransmission, the first SYN was answered.
    let found = match retransmissions {
        0 => Some((0, answered)),
        _ => handshake.age.and_then(|age| Some((answered_syn(handshake, age, schedule)?, age))),
    };
    let Some((lost_syns, age)) = found else { return Verdict::unknown(retransmissions) };
    let needed = Verdict { lost_syns, ..Verdict::default() };
    let later_syns = retransmissions - lost_syns;
    // Loss-free connects that took this long make any answer plausible as a late one.
    let recent = recent.filter(|recent| recent.slowest < schedule.initial.min(INITIAL_RTO) / 2);
    match (later_syns, recent) {
        (0, Some(recent)) if retransmitted_by_server(age, recent.fastest) => Verdict { lost_synacks: 1, ..needed },
        (0, _) => needed,
        (_, _) if is_late(handshake, age, lost_syns, schedule) => Verdict { late: true, ..needed },
        (_, Some(_)) => Verdict { lost_synacks: later_syns, ..needed },
        (_, None) => Verdict { lost_unknown: later_syns, ..needed },
    }
}

/// Number of the answered SYN, the first one being 0; `None` if the times do not fit the schedule.
fn answered_syn(handshake: &Handshake, age: Duration, schedule: &Schedule) -> Option<u32> {
    let n = handshake.retransmissions;
    let answered = handshake.answered;
    if n > MAX_RETRANSMISSIONS {
        return None;
    }
    // The last SYN had been sent, the next one had not.
    if answered.saturating_add(RESOLUTION) < schedule.earliest(n)
        || answered > schedule.latest(n + 1).saturating_add(RESOLUTION)
    {
        return None;
    }
    // Rounding can make the age the longer one.
    if age > answered.saturating_add(RESOLUTION) {
        return None;
    }
    let sent = answered.saturating_sub(age);
    let is_due = |number: &u32| {
        let from = schedule.earliest(*number).saturating_sub(RESOLUTION);
        (from..=schedule.latest(*number)).contains(&sent)
    };
    let mut due = (0..=n).filter(is_due);
    let number = due.next()?;
    due.next().is_none().then_some(number)
}

/// Whether the answer came too soon after the last SYN to be caused by it.
fn is_late(handshake: &Handshake, age: Duration, answered_syn: u32, schedule: &Schedule) -> bool {
    let Some(recent) = handshake.recent else { return false };
    let half = recent.fastest / 2;
    // Timers fire late, never early, so the last SYN is not older than this.
    let last = schedule.earliest(handshake.retransmissions).saturating_sub(schedule.earliest(answered_syn));
    half > ROUNDING && age.saturating_add(ROUNDING) < last.saturating_add(half)
}

/// Whether an answer of this age is a SYN/ACK that the server retransmitted on its own timer.
fn retransmitted_by_server(age: Duration, fastest: Duration) -> bool {
    SYNACK_SECONDS.iter().any(|&seconds| {
        let due = Duration::from_secs(seconds);
        let from = due.saturating_add(fastest).saturating_sub(RESOLUTION);
        let to = late(due).saturating_add(fastest).saturating_add(BUSY);
        (from..=to).contains(&age)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINEAR: Schedule = Schedule { initial: INITIAL_RTO, linear: 4, max: Duration::from_secs(120) };

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A handshake with connect times of 40 to 60 ms without loss.
    fn handshake(answered: u64, retransmissions: u32, age: u64) -> Handshake {
        let recent = Some(Recent { fastest: ms(40), slowest: ms(60) });
        Handshake { answered: ms(answered), retransmissions, age: Some(ms(age)), recent }
    }

    fn counts(handshake: &Handshake, schedule: &Schedule) -> (u32, u32, u32, bool) {
        let verdict = verdict(handshake, schedule);
        (verdict.lost_syns, verdict.lost_synacks, verdict.lost_unknown, verdict.late)
    }

    #[test]
    fn the_age_of_the_answered_syn_decides_the_side() {
        let classic = Schedule::default();
        for (answered, retransmissions, age, expected) in [
            (41, 0, 41, (0, 0, 0, false)),
            (900, 0, 900, (0, 0, 0, false)),
            (1_070, 1, 41, (1, 0, 0, false)),
            (1_070, 1, 1_070, (0, 1, 0, false)),
            (3_080, 2, 41, (2, 0, 0, false)),
            // The second SYN was answered, that SYN/ACK was lost.
            (3_080, 2, 2_050, (1, 1, 0, false)),
            (3_080, 2, 3_080, (0, 2, 0, false)),
            (7_200, 3, 6_180, (1, 2, 0, false)),
        ] {
            assert_eq!(counts(&handshake(answered, retransmissions, age), &classic), expected, "{answered} {age}");
        }
        assert_eq!(counts(&handshake(2_080, 2, 41), &LINEAR), (2, 0, 0, false));
        assert_eq!(counts(&handshake(2_080, 2, 1_050), &LINEAR), (1, 1, 0, false));
        assert_eq!(counts(&handshake(5_300, 5, 5_301), &LINEAR), (0, 5, 0, false));
    }

    #[test]
    fn an_answer_that_comes_too_soon_is_late() {
        let classic = Schedule::default();
        assert_eq!(counts(&handshake(1_010, 1, 1_010), &classic), (0, 0, 0, true));
        assert_eq!(counts(&handshake(1_021, 1, 1_021), &classic), (0, 1, 0, false));
        // The first SYN was lost, and the answer to the second late.
        assert_eq!(counts(&handshake(3_030, 2, 2_010), &classic), (1, 0, 0, true));
        // A fast network: half a connect is shorter than the resolution.
        let fast = Some(Recent { fastest: ms(1), slowest: ms(2) });
        let handshake = Handshake { recent: fast, ..handshake(1_001, 1, 1_001) };
        assert_eq!(counts(&handshake, &classic), (0, 1, 0, false));
    }

    #[test]
    fn a_server_that_retransmits_first_has_lost_a_synack() {
        let classic = Schedule::default();
        assert_eq!(counts(&handshake(1_045, 0, 1_045), &classic), (0, 1, 0, false));
        assert_eq!(counts(&handshake(1_015, 0, 1_015), &classic), (0, 0, 0, false));
        assert_eq!(counts(&handshake(2_080, 1, 1_050), &classic), (1, 1, 0, false));
        assert_eq!(counts(&Handshake { recent: None, ..handshake(1_045, 0, 1_045) }, &classic), (0, 0, 0, false));
    }

    #[test]
    fn without_evidence_the_side_is_unknown() {
        let classic = Schedule::default();
        let given = handshake(1_070, 1, 1_070);
        assert_eq!(counts(&Handshake { age: None, ..given }, &classic), (0, 0, 1, false));
        assert_eq!(counts(&Handshake { recent: None, ..given }, &classic), (0, 0, 1, false));
        let slow = Some(Recent { fastest: ms(40), slowest: ms(600) });
        assert_eq!(counts(&Handshake { recent: slow, ..given }, &classic), (0, 0, 1, false));
        // A retransmission before the first RTO, after the second, and an answered SYN between two of them.
        for (answered, age) in [(300, 300), (300, 41), (3_900, 41), (1_700, 1_100)] {
            assert_eq!(counts(&handshake(answered, 1, age), &classic), (0, 0, 1, false), "{answered} {age}");
        }
        // The age exceeds the connect time.
        assert_eq!(counts(&handshake(1_070, 1, 1_700), &classic), (0, 0, 1, false));
        // Another RTO explains the same times.
        let short = Schedule { initial: ms(200), ..classic };
        assert_eq!(counts(&handshake(250, 1, 41), &short), (1, 0, 0, false));
    }

    fn duration() -> impl Strategy<Value = Duration> {
        prop_oneof![
            (0_u64..130_000_000).prop_map(Duration::from_micros),
            (0_u64..130).prop_map(Duration::from_secs),
            any::<u64>().prop_map(Duration::from_nanos),
            Just(Duration::MAX),
        ]
    }

    proptest! {
        #[test]
        fn counts_never_exceed_the_retransmissions(
            answered in duration(),
            retransmissions in prop_oneof![0_u32..10, any::<u32>()],
            age in prop_oneof![Just(None), duration().prop_map(Some), Just(Some(Duration::MAX))],
            recent in prop_oneof![
                Just(None),
                (duration(), duration()).prop_map(|(a, b)| Some(Recent { fastest: a.min(b), slowest: a.max(b) })),
            ],
            initial in duration(),
            linear in prop_oneof![0_u32..8, any::<u32>()],
            max in duration(),
        ) {
            let handshake = Handshake { answered, retransmissions, age, recent };
            let verdict = verdict(&handshake, &Schedule { initial, linear, max });
            prop_assert!(verdict.lost_syns <= retransmissions);
            let decided = verdict.lost_syns.saturating_add(verdict.lost_unknown);
            prop_assert!(decided <= retransmissions);
            prop_assert!(decided.saturating_add(verdict.lost_synacks) <= retransmissions.saturating_add(1));
            prop_assert!(!verdict.late || verdict.lost_synacks == 0);
        }

        /// Handshakes built from packets that were lost, on a schedule with late timers.
        #[test]
        fn losses_are_found(
            lost_syns in 0_u32..4,
            lost_synacks in 0_u32..4,
            rtt_ms in 1_u64..300,
            lateness in 0_u64..=6,
            linear in prop_oneof![Just(0_u32), Just(4)],
        ) {
            let schedule = Schedule { linear, ..LINEAR };
            let late = |time: Duration| time + time * u32::try_from(lateness).expect("small") / 100;
            let retransmissions = lost_syns + lost_synacks;
            let answered = late(schedule.earliest(retransmissions)) + ms(rtt_ms);
            let age = answered - late(schedule.earliest(lost_syns));
            let recent = Some(Recent { fastest: ms(rtt_ms), slowest: ms(rtt_ms + 50) });
            let verdict = verdict(&Handshake { answered, retransmissions, age: Some(age), recent }, &schedule);
            prop_assert_eq!((verdict.lost_syns, verdict.lost_synacks), (lost_syns, lost_synacks));
            prop_assert_eq!((verdict.lost_unknown, verdict.late), (0, false));
        }
    }
}

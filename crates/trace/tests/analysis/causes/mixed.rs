//! Random captures in which causes of repeated SYNs and SYN/ACKs that are no losses are mixed with losses: each loss is
//! found, and nothing else is taken for one.

use super::view;
use crate::captures::analyze_bytes;
use crate::frames::{ACK, CLIENT, FIN, RST, SERVER, SYN, Segment, pcap};
use crate::talk::Talk;
use gentle_trace::Options;
use proptest::collection::vec;
use proptest::prelude::*;

/// Cause of repeated packets of one connection, or of the difference from others.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cause {
    None,
    /// The server still has a connection with the port.
    Challenge {
        at_once: bool,
    },
    /// The client resets the first SYN/ACK.
    Reset,
    /// A deferring server closes first.
    Defer,
    /// SYNs come in a burst.
    Held {
        more: u8,
    },
    /// The capture copies a packet of the handshake.
    Copy {
        of: usize,
        us: u64,
    },
    /// Translation shows the connection twice.
    Nat {
        source: bool,
    },
    /// The round trip takes longer than the timeout.
    Late {
        ms: u16,
    },
    /// The ACK is captured before the SYN/ACK.
    AckFirst,
    /// An RST refuses the SYN, twice.
    Refused,
    /// The client gives up before the SYN/ACK comes.
    Abandoned,
}

/// Packet that is lost, each once and in addition to the cause, where it can be.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Loss {
    None,
    Syn,
    SynAck,
    /// As `SynAck`, with another initial sequence number than the SYN/ACK that follows.
    OtherSynAck,
}

/// One connection.
#[derive(Debug, Clone, Copy)]
struct Plan {
    cause: Cause,
    loss: Loss,
    /// Whether the hosts send timestamps, and identifications.
    stamps: bool,
    ids: bool,
}

fn plan() -> impl Strategy<Value = Plan> {
    let cause = prop_oneof![
        3 => Just(Cause::None),
        2 => any::<bool>().prop_map(|at_once| Cause::Challenge { at_once }),
        1 => Just(Cause::Reset),
        1 => Just(Cause::Defer),
        2 => (1..4_u8).prop_map(|more| Cause::Held { more }),
        3 => (0..2_usize, 1..19_000_u64).prop_map(|(of, us)| Cause::Copy { of, us }),
        1 => (0..2_usize, 60_000..400_000_u64).prop_map(|(of, us)| Cause::Copy { of, us }),
        2 => any::<bool>().prop_map(|source| Cause::Nat { source }),
        1 => (1_100..1_900_u16).prop_map(|ms| Cause::Late { ms }),
        1 => Just(Cause::AckFirst),
        1 => Just(Cause::Refused),
        1 => Just(Cause::Abandoned),
    ];
    let loss = prop_oneof![
        4 => Just(Loss::None),
        1 => Just(Loss::Syn),
        1 => Just(Loss::SynAck),
        1 => Just(Loss::OtherSynAck),
    ];
    (cause, loss, any::<bool>(), any::<bool>()).prop_map(|(cause, loss, stamps, ids)| Plan {
        cause,
        loss,
        // Without timestamps, a SYN/ACK that a deferring server repeats looks like its answer to the second of two SYNs.
        stamps: stamps || (cause == Cause::Defer && loss == Loss::Syn),
        ids,
    })
}

impl Plan {
    /// Whether a packet is lost and the connection still completes.
    fn loses(self) -> bool {
        let is_simple = matches!(self.cause, Cause::Late { .. } | Cause::Refused | Cause::Abandoned | Cause::AckFirst);
        self.loss != Loss::None && !is_simple
    }

    /// Whether the capture has the connection twice.
    fn is_seen_twice(self) -> bool {
        matches!(self.cause, Cause::Nat { .. })
    }

    /// Segments of the connection from `port`, captured in the middle of the path from `at` on.
    fn segments(self, at: f64, port: u16) -> Vec<Segment> {
        let talk = Talk::new((CLIENT.0, port), SERVER);
        let rst = |talk: Talk, at, seq| talk.client(at, |s| Segment { flags: RST, ack: 0, ..s.seq(seq) });
        let synack = |talk: Talk, at, isn| talk.server(at, |s| Segment { flags: SYN | ACK, ..s.seq(isn) });
        // Packets before the handshake, and the beginning of the handshake.
        let (talk, begin) = match self.cause {
            Cause::Challenge { at_once } => {
                let met = talk.syn(at).server(at + 0.02, |s| s.seq(99).ack(0x7000_0000));
                let begin = at + if at_once { 0.0201 } else { 1.0 };
                (rst(met, at + 0.02005, 0x7000_0000), begin)
            }
            Cause::Reset => {
                let answered = synack(talk.syn(at), at + 0.02, 77_000_000);
                (rst(answered, at + 0.05, 1_001), at + 1.0)
            }
            Cause::Held { more } => {
                let talk = (0..more).fold(talk, |talk, n| talk.syn(at + f64::from(n) * 1e-4));
                (talk, at + f64::from(more) * 1e-4)
            }
            Cause::Late { ms } => {
                let rtt = f64::from(ms) / 1e3;
                let late = talk.syn(at).syn(at + 1.0).synack(at + rtt).ack(at + rtt + 0.001);
                let again = late.synack(at + rtt + 1.0).ack(at + rtt + 1.001);
                return self.dress(again.segments);
            }
            Cause::Refused => {
                let refused = talk.syn(at).rst(at + 0.02).syn(at + 0.5).rst(at + 0.52);
                return self.dress(refused.segments);
            }
            Cause::Abandoned => {
                let late = talk.syn(at).synack(at + 0.3);
                return self.dress(rst(late, at + 0.301, 1_001).segments);
            }
            Cause::AckFirst => {
                let early = talk.syn(at).ack(at + 0.02).synack(at + 0.020_004);
                return self.dress(early.rest(at + 0.05).segments);
            }
            _ => (talk, at),
        };
        let (talk, begin) = match self.loss {
            Loss::None => (talk, begin),
            Loss::Syn => (talk.syn(begin), begin + 1.0),
            Loss::SynAck => (talk.syn(begin).synack(begin + 0.02), begin + 1.0),
            Loss::OtherSynAck => (synack(talk.syn(begin), begin + 0.02, 88_000_000), begin + 1.0),
        };
        let talk = talk.syn(begin).synack(begin + 0.02).ack(begin + 0.05);
        let talk = match self.cause {
            Cause::Defer => {
                let again = talk.synack(begin + 1.02).ack(begin + 1.05);
                again.server(begin + 9.0, |s| Segment { flags: FIN | ACK, ..s }).client(begin + 9.03, |s| s.ack(5_002))
            }
            _ => talk.rest(begin + 0.051),
        };
        let segments = self.dress(talk.segments);
        match self.cause {
            Cause::Copy { of, us } => {
                let flags = [SYN, SYN | ACK][of];
                // A copy after the connection went on is one of its last handshake.
                let mut found = segments.iter().filter(|it| it.flags == flags);
                let original = if us < 20_000 { found.next() } else { found.next_back() };
                let copy = original.expect("it has a handshake").again(us);
                segments.into_iter().chain([copy]).collect()
            }
            Cause::Nat { source } => view(&segments, source),
            _ => segments,
        }
    }

    /// Sets what the hosts' stacks add: timestamps in milliseconds, and identifications except in SYN/ACKs.
    fn dress(self, mut segments: Vec<Segment>) -> Vec<Segment> {
        segments.sort_by_key(|it| it.at_us);
        let is_nat = self.is_seen_twice();
        let mut newest = [0_u32; 2];
        let mut first = 0;
        for (number, segment) in segments.iter_mut().enumerate() {
            let side = usize::from(segment.src.1 == SERVER.1);
            let held = match self.cause {
                // The SYNs were sent a second apart.
                Cause::Held { more } if number <= usize::from(more) => number as u32 * 1_000,
                _ => 10_000,
            };
            if self.stamps || is_nat {
                let value = 100_000 + side as u32 * 7_000_000 + held + (segment.at_us / 1_000) as u32;
                newest[side] = value;
                first = if number == 0 { value } else { first };
                let echo = match self.cause {
                    // Linux echoes the first timestamp that arrived.
                    Cause::Late { .. } if segment.flags == SYN | ACK => first,
                    _ => newest[1 - side],
                };
                segment.timestamps = Some((value, if segment.flags == SYN { 0 } else { echo }));
            }
            if self.ids && segment.flags != SYN | ACK {
                segment.id = 100 + number as u16;
            }
        }
        segments
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn losses_are_found_and_nothing_else(plans in vec(plan(), 1..40)) {
        let mut segments = Vec::new();
        for (n, plan) in plans.iter().enumerate() {
            segments.extend(plan.segments(n as f64 * 0.37, 20_000 + n as u16));
        }
        segments.sort_by_key(|it| it.at_us);
        let (analysis, rows) = analyze_bytes(&[&pcap(&segments)], &Options::default());
        for row in &rows {
            let plan = plans[usize::from(row.client_port - 20_000)];
            prop_assert_eq!(row.handshake_lost > 0, plan.loses(), "{:?} {:?}", plan, row);
        }
        let outcomes = &analysis.outcomes;
        let count = |of: fn(Plan) -> bool| plans.iter().filter(|plan| of(**plan)).count() as u64;
        prop_assert_eq!(outcomes.with_loss, count(Plan::loses));
        prop_assert_eq!(outcomes.repeats.lost, count(Plan::loses));
        prop_assert_eq!(outcomes.seen_twice, count(Plan::is_seen_twice));
        prop_assert_eq!(analysis.warnings, []);
        prop_assert_eq!(analysis.retransmissions.retransmitted, 0);
        prop_assert_eq!(analysis.retransmissions.late, 0);
    }
}

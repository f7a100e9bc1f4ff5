//! Lookups as resolvers make them, with packets lost on either side of the capture point.

use super::*;
use crate::results;
use gentle_wire::protocol;
use proptest::prelude::*;
use simple_dns::{CLASS, Name, Packet, QCLASS, QTYPE, Question as Asked, TYPE};

const SERVER: [u8; 4] = [192, 0, 2, 53];

/// Datagrams of a capture.
#[derive(Default)]
struct Capture(Vec<(Nanos, Datagram)>);

#[derive(Clone)]
struct Datagram {
    is_answer: bool,
    id: u16,
    client: u8,
    port: u16,
    server: [u8; 4],
    name: String,
    kind: TYPE,
}

impl Datagram {
    fn query(id: u16, port: u16, name: &str) -> Datagram {
        Datagram { is_answer: false, id, client: 1, port, server: SERVER, name: name.to_owned(), kind: TYPE::A }
    }

    fn answer(&self) -> Datagram {
        Datagram { is_answer: true, ..self.clone() }
    }

    fn payload(&self) -> Vec<u8> {
        let mut message = if self.is_answer { Packet::new_reply(self.id) } else { Packet::new_query(self.id) };
        let name = Name::new_unchecked(&self.name);
        message.questions.push(Asked::new(name, QTYPE::TYPE(self.kind), QCLASS::CLASS(CLASS::IN), false));
        message.build_bytes_vec().expect("a message")
    }

    fn pass(&self, lookups: &mut Lookups, time: Instant, payload: &[u8]) {
        let client = (Address::v4([198, 51, 100, self.client]), self.port);
        let server = (Address::v4(self.server), message::PORT);
        let (src, dst) = if self.is_answer { (server, client) } else { (client, server) };
        let payload_len = payload.len() as u32;
        let ip = Ip {
            src: src.0,
            dst: dst.0,
            ttl: 64,
            tos: 0,
            id: None,
            fragment: None,
            payload_len: payload_len + 8,
            protocol: protocol::UDP,
        };
        lookups.observe(time, &ip, &Udp { src_port: src.1, dst_port: dst.1, payload_len, payload });
    }
}

impl Capture {
    fn add(&mut self, ms: u64, datagram: &Datagram) {
        self.0.push((Nanos::from_millis(ms), datagram.clone()));
    }

    fn found(mut self, end_ms: u64) -> results::Lookups {
        self.0.sort_by_key(|(time, _)| *time);
        let begin = Instant::from_secs(1_000);
        let mut lookups = Lookups::new(1 << 20);
        for (time, datagram) in &self.0 {
            datagram.pass(&mut lookups, begin + *time, &datagram.payload());
        }
        lookups.advance(begin + Nanos::from_millis(end_ms));
        lookups.finish().result(|address, port| format!("{address}:{port}")).expect("a lookup")
    }
}

/// Causes with their lookups and waits in milliseconds.
fn causes(found: &results::Lookups) -> Vec<(CauseKind, u64, u64)> {
    let of = |cause: &results::Cause| (cause.kind, cause.group.attempts, (cause.group.waited_s * 1e3).round() as u64);
    found.causes.iter().map(of).collect()
}

#[test]
fn a_lost_query_waits_for_the_timer() {
    let mut capture = Capture::default();
    let query = Datagram::query(7, 40_000, "www.example.com");
    capture.add(0, &query);
    let again = Datagram { port: 40_001, ..query.clone() };
    capture.add(5_003, &again);
    capture.add(5_023, &again.answer());
    let other = Datagram::query(8, 40_002, "api.example.com");
    capture.add(6_000, &other);
    capture.add(6_010, &other.answer());
    let found = capture.found(30_000);
    assert_eq!(causes(&found), [(CauseKind::DnsLoss, 1, 5_023)]);
    assert_eq!((found.lookups, found.answered, found.queries, found.causes[0].share), (2, 2, 3, 0.5));
    assert_eq!(found.causes[0].group.most[0].name, "192.0.2.53:53");
}

#[test]
fn a_repetition_may_have_another_identification_and_server() {
    let mut capture = Capture::default();
    let query = Datagram::query(7, 40_000, "www.example.com");
    let again = Datagram { id: 9, port: 40_001, server: [192, 0, 2, 54], ..query.clone() };
    capture.add(0, &query);
    capture.add(5_002, &again);
    capture.add(5_012, &again.answer());
    // Another program asks at a time that no resolver has as timeout.
    capture.add(20_000, &query);
    let other = Datagram { id: 11, ..query.clone() };
    capture.add(21_400, &other);
    capture.add(21_410, &other.answer());
    let found = capture.found(60_000);
    assert_eq!(causes(&found), [(CauseKind::DnsLoss, 1, 5_012), (CauseKind::DnsUnanswered, 1, 0)]);
    assert!(found.causes.iter().all(|cause| cause.group.most[0].name == "192.0.2.53:53"));
}

#[test]
fn another_lookup_at_the_time_of_a_timer_is_no_repetition() {
    let mut capture = Capture::default();
    let query = Datagram::query(7, 40_000, "www.example.com");
    let other = Datagram { id: 9, port: 40_001, ..query.clone() };
    let again = Datagram { port: 40_002, ..query.clone() };
    capture.add(0, &query);
    capture.add(1_002, &other);
    capture.add(5_003, &again);
    capture.add(5_013, &again.answer());
    // The other program has the same timer.
    capture.add(6_003, &other);
    capture.add(6_013, &other.answer());
    let found = capture.found(60_000);
    assert_eq!(causes(&found), [(CauseKind::DnsLoss, 2, 10_024)]);
    assert_eq!((found.lookups, found.queries), (2, 4));
}

#[test]
fn answers_to_queries_sent_for_the_other_lookup_are_not_late() {
    let a = Datagram::query(7, 40_000, "www.example.com");
    let aaaa = Datagram { id: 8, kind: TYPE::AAAA, ..a.clone() };
    let mut capture = Capture::default();
    // The first server is silent, and the second answers one of two questions.
    for round in 0..3 {
        capture.add(round * 5_005, &a);
        capture.add(round * 5_005, &aaaa);
        if round > 0 {
            capture.add(round * 5_005 + 10, &a.answer());
        }
    }
    let found = capture.found(60_000);
    assert_eq!(causes(&found), [(CauseKind::DnsUnanswered, 1, 10_010), (CauseKind::DnsLoss, 1, 5_015)]);
}

#[test]
fn both_queries_of_a_pair_are_repeated_for_one() {
    let a = Datagram::query(7, 40_000, "www.example.com");
    let aaaa = Datagram { id: 8, kind: TYPE::AAAA, ..a.clone() };
    for is_aaaa_first in [true, false] {
        let mut capture = Capture::default();
        capture.add(0, &a);
        capture.add(0, &aaaa);
        capture.add(10, &a.answer());
        // glibc repeats both; since 2.10 one after the other.
        let [first, second] = if is_aaaa_first { [&aaaa, &a] } else { [&a, &aaaa] };
        capture.add(5_005, first);
        capture.add(5_015, &first.answer());
        capture.add(5_016, second);
        capture.add(5_026, &second.answer());
        let found = capture.found(60_000);
        let waited = if is_aaaa_first { 5_015 } else { 5_026 };
        assert_eq!(causes(&found), [(CauseKind::DnsPairLoss, 1, waited)], "{found:?}");
    }
}

#[test]
fn answers_are_late_or_lost_beyond_the_capture_point() {
    let query = Datagram::query(7, 40_000, "www.example.com");
    let mut capture = Capture::default();
    capture.add(0, &query);
    capture.add(5_000, &query);
    capture.add(5_900, &query.answer());
    capture.add(10_900, &query.answer());
    assert_eq!(causes(&capture.found(60_000)), [(CauseKind::DnsLate, 1, 5_900)]);
    let mut capture = Capture::default();
    capture.add(0, &query);
    capture.add(10, &query.answer());
    capture.add(5_000, &query);
    capture.add(5_010, &query.answer());
    assert_eq!(causes(&capture.found(60_000)), [(CauseKind::DnsLoss, 1, 5_010)]);
    // A program that asks now and then, always under one identification.
    let mut capture = Capture::default();
    for second in [0, 7, 20] {
        capture.add(second * 1_000, &query);
        capture.add(second * 1_000 + 10, &query.answer());
    }
    assert_eq!(causes(&capture.found(60_000)), []);
}

#[test]
fn a_late_answer_may_come_soon_after_the_answer_to_the_repetition() {
    let mut capture = Capture::default();
    let query = Datagram::query(7, 40_000, "www.example.com");
    let again = Datagram { port: 40_001, ..query.clone() };
    capture.add(0, &query);
    capture.add(1_000, &again);
    capture.add(1_010, &again.answer());
    capture.add(1_120, &query.answer());
    assert_eq!(causes(&capture.found(30_000)), [(CauseKind::DnsLate, 1, 1_010)]);
}

#[test]
fn without_any_answer_the_capture_may_have_one_direction() {
    let mut capture = Capture::default();
    for second in [0, 5, 10] {
        capture.add(second * 1_000, &Datagram::query(7, 40_000, "www.example.com"));
    }
    let found = capture.found(60_000);
    assert_eq!((found.unseen, found.unanswered, found.causes.len()), (1, 0, 0));
    // Shortly before the end, nothing is known.
    let mut capture = Capture::default();
    let query = Datagram::query(6, 40_000, "www.example.com");
    capture.add(0, &query);
    capture.add(10, &query.answer());
    capture.add(20_000, &Datagram::query(7, 40_000, "api.example.com"));
    let found = capture.found(22_000);
    assert_eq!((found.undecided, found.unanswered, found.answered), (1, 0, 1));
}

/// Lookup of a resolver: its timer, and for each round whether its query and its answer pass the capture point, and whether the
/// answer then reaches the client.
#[derive(Debug, Clone)]
struct Plan {
    start_ms: u64,
    timer_ms: u64,
    rounds: Vec<[bool; 2]>,
    changes_port: bool,
    is_copied: bool,
}

fn plan() -> impl Strategy<Value = Plan> {
    let timer = prop::sample::select(vec![1_000_u64, 2_500, 5_000]);
    let rounds = prop::collection::vec(prop::array::uniform2(prop::bool::weighted(0.7)), 1..4);
    (0_u64..600_000, timer, rounds, any::<bool>(), any::<bool>()).prop_map(
        |(start_ms, timer_ms, rounds, changes_port, is_copied)| Plan {
            start_ms,
            timer_ms,
            rounds,
            changes_port,
            is_copied,
        },
    )
}

proptest! {
    /// Every lookup has the fate that its resolver saw, whatever else is asked at the same time.
    #[test]
    fn lookups_have_the_fate_that_their_resolver_saw(plans in prop::collection::vec(plan(), 1..40)) {
        let mut capture = Capture::default();
        let (mut answered, mut slow, mut waited_ms, mut queries) = (0_u64, 0_u64, 0_u64, 0_u64);
        for (number, plan) in plans.iter().enumerate() {
            let name = format!("host{number}.example.com");
            let mut query = Datagram { client: (number % 2) as u8, ..Datagram::query(number as u16 * 77, 40_000, &name) };
            let mut fate = None;
            for (round, [is_answered, is_received]) in plan.rounds.iter().copied().enumerate() {
                let time = plan.start_ms + round as u64 * plan.timer_ms;
                query.port += u16::from(plan.changes_port);
                query.name = if round == 1 { name.to_uppercase() } else { name.clone() };
                capture.add(time, &query);
                queries += 1;
                if plan.is_copied {
                    capture.add(time + 1, &query);
                }
                if is_answered {
                    capture.add(time + 20, &query.answer());
                    fate = Some((round, time + 20 - plan.start_ms));
                }
                if is_answered && is_received {
                    break;
                }
            }
            // The last answer may be lost beyond the capture point, which does not show without a repetition.
            let last = plan.rounds.len() - 1;
            if let Some((round, took)) = fate.filter(|(round, _)| *round == last || plan.rounds[*round][1]) {
                answered += 1;
                slow += u64::from(round > 0);
                waited_ms += if round > 0 { took } else { 0 };
            }
        }
        let pair = Datagram::query(65_535, 1, "end.example.com");
        for client in [0, 1] {
            capture.add(1_000_000, &Datagram { client, ..pair.clone() });
            capture.add(1_000_001, &Datagram { client, ..pair.answer() });
        }
        let found = capture.found(2_000_000);
        prop_assert_eq!(found.lookups, plans.len() as u64 + 2);
        prop_assert_eq!(found.queries, queries + 2);
        let lost = found.causes.iter().filter(|cause| cause.kind != CauseKind::DnsUnanswered);
        let (mut found_slow, mut found_waited) = (0, 0.0);
        for cause in lost {
            prop_assert_eq!(cause.kind, CauseKind::DnsLoss);
            found_slow += cause.group.attempts;
            found_waited += cause.group.waited_s;
        }
        prop_assert_eq!((found.answered, found_slow), (answered + 2, slow));
        prop_assert!((found_waited * 1e3 - waited_ms as f64).abs() < 1.0);
        prop_assert_eq!(found.lookups, found.answered + found.unanswered + found.unseen + found.undecided);
    }

    /// Floods of any datagrams are counted in bounded memory, and every query belongs to a lookup.
    #[test]
    fn memory_is_bounded(
        datagrams in prop::collection::vec((0_u64..100_000, any::<bool>(), 0_u16..400, 0_u8..4, 0_u16..3), 0..2_000),
        damage in prop::collection::vec((0_usize..60, any::<u8>()), 0..3),
    ) {
        let mut lookups = Lookups::new(0);
        for (ms, is_answer, id, client, name) in datagrams {
            let query = Datagram { client, is_answer, ..Datagram::query(id, 40_000, ["a.example", "b.example", "c.example"][name as usize]) };
            let mut payload = query.payload();
            for (at, byte) in &damage {
                if let Some(place) = payload.get_mut(*at) {
                    *place ^= *byte;
                }
            }
            query.pass(&mut lookups, Instant::from_secs(1_000) + Nanos::from_millis(ms), &payload);
            prop_assert!(lookups.lookups.len() <= LEAST && lookups.ends.len() <= 2 * LEAST);
            prop_assert!(lookups.by_question.len() <= lookups.lookups.len());
        }
        let counts = lookups.finish();
        if let Some(found) = counts.result(|address, port| format!("{address}:{port}")) {
            prop_assert!(found.lookups <= found.queries);
        }
    }

    #[test]
    fn no_datagram_does_harm(payload in prop::collection::vec(any::<u8>(), 0..600)) {
        let mut lookups = Lookups::new(0);
        Datagram::query(1, 1, "a.example").pass(&mut lookups, Instant::ZERO, &payload);
        lookups.finish();
    }
}

//! Accurate ECN (RFC 9768) between two ends, and with ends that have less.

use gentle_tcp::{AccEcnOption, Ect, Endpoint, Flags, Marks, Options, Profile, Segment, Seq};
use gentle_testkit::scripted::{Fate, ISNS, Sent, Side, Wire, at_ms, ms, profile};
use gentle_units::Instant;
use proptest::prelude::*;
use std::sync::Arc;

/// Payload of a full segment with the AccECN option.
const PAYLOAD: u64 = 1436;
const MINUTE: Instant = Instant::from_secs(60);

fn with(ecn: &str) -> Profile {
    profile("linux-7.2", &[("ecn", ecn)])
}

fn transfer(wire: &mut Wire, segments: u64) {
    wire.write_and_close(segments * PAYLOAD);
    wire.run(MINUTE);
    assert_eq!(wire.received(), segments * PAYLOAD);
}

fn is_data(sent: &&Sent) -> bool {
    sent.segment.len > 0
}

/// Marks the data segments for which `marked` says so, by their number from 0.
fn marking(marked: impl Fn(u64) -> bool + 'static) -> impl FnMut(&Sent, usize) -> Fate {
    move |sent, _| {
        let offset = sent.segment.seq.0.wrapping_sub(ISNS.0.0 + 1);
        let data = sent.from == Side::Initiator && sent.segment.len > 0;
        match data && marked(u64::from(offset) / PAYLOAD) {
            true => Fate::Mark,
            false => Fate::Pass,
        }
    }
}

fn marks(end: &Endpoint) -> Marks {
    end.marks().expect("Accurate ECN")
}

/// RFC 9768, section 3.1.1, table 2, and RFC 3168, section 6.1.1: ACE fields of SYN, SYN/ACK and the ACK of that, whether
/// Accurate ECN is agreed on, and the ECN fields of data and of acknowledgements.
#[test]
fn every_pair_of_hosts_agrees_on_what_both_have() {
    use Ect::{Not, Zero};
    for (client, server, aces, accurate, fields) in [
        ("accecn", "accecn", [7, 2, 2], true, [Zero, Zero]),
        ("accecn", "request", [7, 1, 0], false, [Zero, Not]),
        ("accecn", "accept", [7, 1, 0], false, [Zero, Not]),
        ("accecn", "off", [7, 0, 0], false, [Not, Not]),
        ("request", "accecn", [3, 1, 0], false, [Zero, Not]),
        ("request", "accept", [3, 1, 0], false, [Zero, Not]),
        ("request", "off", [3, 0, 0], false, [Not, Not]),
        ("accept", "accecn", [0, 0, 0], false, [Not, Not]),
        ("off", "accecn", [0, 0, 0], false, [Not, Not]),
    ] {
        let mut wire = Wire::new(with(client), with(server), ms(10), |_, _| Fate::Pass);
        transfer(&mut wire, 20);
        let handshake = wire.log()[..3].iter();
        let seen: Vec<u8> = handshake.map(|sent| sent.segment.flags.ace()).collect();
        assert_eq!(seen, aces, "{client}, {server}");
        assert_eq!(wire.initiator().marks().is_some(), accurate, "{client}, {server}");
        assert_eq!(wire.responder().unwrap().marks().is_some(), accurate);
        let data = wire.log().iter().find(is_data).unwrap().segment.ect;
        let ack = wire.sent(Side::Responder).nth(1).unwrap().segment.ect;
        assert_eq!([data, ack], fields, "{client}, {server}");
    }
}

/// Every ACE field of a SYN/ACK, towards a host with Accurate ECN and one with ECN.
#[test]
fn a_synack_with_any_ace_field_is_understood() {
    for (ecn, accurate) in [("accecn", vec![2, 3, 4, 5, 6]), ("request", vec![])] {
        for ace in 0..8 {
            let mut out = Vec::new();
            let mut client = Endpoint::connect(Arc::new(with(ecn)), Seq(7), at_ms(0), &mut out);
            let mut synack = Segment::new(Seq(100), (Flags::SYN | Flags::ACK).with_ace(ace));
            synack.ack = Seq(8);
            synack.window = 65_535;
            client.on_segment(at_ms(10), &synack, false, &mut out);
            assert!(client.is_established());
            assert_eq!(client.marks().is_some(), accurate.contains(&ace), "{ecn}, {ace}");
            client.write(at_ms(10), 100, &mut out);
            // RFC 9768, table 2: 000 and 111 are "Not ECN"; to a host without AE, 101 is 001.
            let capable = accurate.contains(&ace) || ace == 1 || (ecn == "request" && ace == 5);
            assert_eq!(out.last().unwrap().ect.is_capable(), capable, "{ecn}, {ace}");
        }
    }
}

/// Every ACE field of a SYN: all but 0 and 3 request Accurate ECN (RFC 9768, section 3.1.2).
#[test]
fn a_syn_with_any_ace_field_is_answered() {
    for ace in 0..8 {
        for (ect, ce, reflected) in
            [(Ect::Not, false, 2), (Ect::One, false, 3), (Ect::Zero, false, 4), (Ect::Zero, true, 6)]
        {
            let mut syn = Segment::new(Seq(7), Flags::SYN.with_ace(ace));
            syn.ect = ect;
            let mut out = Vec::new();
            Endpoint::accept(Arc::new(with("accecn")), Seq(9), at_ms(0), &syn, ce, &mut out);
            let expected = match ace {
                0 => 0,
                3 => u8::from(ect == Ect::Not),
                _ => reflected,
            };
            assert_eq!(out[0].flags.ace(), expected, "{ace}, {ect:?}, {ce}");
        }
    }
}

/// The first repetition of a SYN still requests Accurate ECN, the second does not (RFC 9768, section 3.1.4.1). A
/// repeated SYN/ACK has no option, a second repetition no feedback; then the server sends nothing ECN-capable.
#[test]
fn lost_handshakes_fall_back() {
    let lost = |from, count: usize| {
        let script = move |sent: &Sent, number: usize| match sent.from == from && number < count {
            true => Fate::Drop,
            false => Fate::Pass,
        };
        let p = || profile("linux-7.2", &[("ecn", "accecn"), ("syn_linear_timeouts", "0")]);
        let mut wire = Wire::new(p(), p(), ms(10), script).responder_writes(50_000);
        wire.write_and_close(PAYLOAD);
        wire.run(MINUTE);
        wire
    };
    let aces = |wire: &Wire, from| -> Vec<u8> {
        let syns = wire.sent(from).filter(|sent| sent.segment.flags.contains(Flags::SYN));
        syns.map(|sent| sent.segment.flags.ace()).collect()
    };
    let wire = lost(Side::Initiator, 1);
    assert_eq!(aces(&wire, Side::Initiator), [7, 7]);
    assert!(wire.initiator().marks().is_some());
    let wire = lost(Side::Initiator, 2);
    assert_eq!(aces(&wire, Side::Initiator), [7, 7, 0]);
    assert!(wire.initiator().marks().is_none());

    let p = || profile("linux-7.2", &[("ecn", "accecn"), ("initial_rto", "30s")]);
    for (count, expected, capable) in [(1, vec![2, 2], true), (2, vec![2, 2, 0], false)] {
        let script = move |sent: &Sent, number: usize| match sent.from == Side::Responder && number < count {
            true => Fate::Drop,
            false => Fate::Pass,
        };
        // Only the server's timer repeats.
        let server = with("accecn");
        let mut wire = Wire::new(p(), server, ms(10), script).responder_writes(50_000);
        wire.write_and_close(PAYLOAD);
        wire.run(MINUTE);
        assert_eq!(aces(&wire, Side::Responder), expected);
        assert_eq!(wire.initiator().received(), 50_000);
        let synacks = wire.sent(Side::Responder).take(count + 1);
        let options: Vec<bool> = synacks.map(|s| s.segment.accecn_option().is_some()).collect();
        assert_eq!(options[..2], [true, false]);
        // Without an option on the SYN/ACK that arrived, neither end sends any.
        let rest = || wire.log().iter().filter(is_data);
        assert!(rest().all(|sent| sent.segment.accecn_option().is_none()));
        let mut answers = rest().filter(|sent| sent.from == Side::Responder);
        assert!(answers.all(|sent| sent.segment.ect.is_capable() == capable));
    }
}

/// Marked SYNs and SYN/ACKs, which DCTCP sends ECN-capable, are reflected; a marked SYN/ACK counts.
#[test]
fn marks_of_the_handshake_are_reflected() {
    let p = || profile("linux-7.2", &[("ecn", "accecn"), ("congestion_control", "dctcp")]);
    let script = |sent: &Sent, number: usize| match number == 0 && sent.segment.seq_len() == 1 {
        true => Fate::Mark,
        false => Fate::Pass,
    };
    let mut wire = Wire::new(p(), p(), ms(10), script);
    transfer(&mut wire, 20);
    let aces: Vec<u8> = wire.log()[..4].iter().map(|s| s.segment.flags.ace()).collect();
    assert_eq!(aces[..3], [7, 6, 6]);
    assert_eq!(marks(wire.initiator()), Marks { received: 1, reported: 0 });
    assert_eq!(marks(wire.responder().unwrap()), Marks { received: 0, reported: 1 });
    let data = wire.log().iter().find(is_data).unwrap();
    assert_eq!(data.segment.flags.ace(), 6);
}

/// All packets are ECN-capable, retransmissions and pure acknowledgements too, and marks of these count.
#[test]
fn every_packet_after_the_handshake_can_be_marked() {
    let script = |sent: &Sent, number: usize| match (sent.from, number) {
        (Side::Initiator, 20) => Fate::Drop,
        (Side::Responder, 5 | 6 | 30) => Fate::Mark,
        _ => Fate::Pass,
    };
    let mut wire = Wire::new(with("accecn"), with("accecn"), ms(10), script);
    wire.write(200 * PAYLOAD);
    wire.run(at_ms(5000));
    assert_eq!(wire.received(), 200 * PAYLOAD);
    let mut later = wire.log()[2..].iter();
    assert!(later.all(|sent| sent.segment.ect == Ect::Zero));
    assert!(wire.log().iter().any(|sent| sent.segment.retransmitted));
    assert_eq!(marks(wire.initiator()).received, 3);
    // The marks of acknowledgements do not reduce the window of the end that sends none.
    assert_eq!(marks(wire.responder().unwrap()).reported, 3);
    assert_eq!(wire.responder().unwrap().stats().ecn_reductions, 0);
}

/// The option takes 12 bytes, which the payload gives up; without it, segments are as long as ever.
#[test]
fn the_option_takes_its_space_from_the_payload() {
    for (option, payload, header) in [("2", 1436, 44), ("3", 1436, 44), ("0", 1448, 32)] {
        let knobs = [("ecn", "accecn"), ("ecn_option", option)];
        let p = || profile("linux-7.2", &knobs);
        let mut wire = Wire::new(p(), p(), ms(10), |_, _| Fate::Pass);
        wire.write_and_close(40 * 1448);
        wire.run(MINUTE);
        let first = wire.log().iter().find(is_data).unwrap().segment;
        assert_eq!((first.len, first.header_bytes()), (payload, header), "{option}");
        let synack = wire.log()[1].segment;
        assert_eq!(synack.header_bytes(), if option == "0" { 40 } else { 52 });
        let last = wire.sent(Side::Responder).last().unwrap().segment;
        let received = last.accecn_option().map(|option| option.counters[2]);
        assert_eq!(received, (option != "0").then_some(40 * 1448 + 1));
    }
}

/// With few options, they come after changes of the marking, two each, and as often in a round trip as the beacon says.
#[test]
fn few_options_come_when_there_is_news() {
    let count = |beacon, marked: &'static [u64]| {
        let knobs = [("ecn", "accecn"), ("ecn_option", "1"), ("ecn_option_beacon", beacon)];
        let p = || profile("linux-7.2", &knobs);
        let script = marking(move |number| marked.contains(&number));
        let mut wire = Wire::new(p(), p(), ms(50), script);
        wire.write_and_close(400 * PAYLOAD);
        wire.run(MINUTE);
        assert_eq!(wire.received(), 400 * PAYLOAD);
        let acks: Vec<_> = wire.sent(Side::Responder).skip(1).collect();
        let with = |sent: &&&Sent| sent.segment.accecn_option().is_some();
        (acks.iter().filter(with).count(), acks.len())
    };
    let (quiet, all) = count("0", &[]);
    assert!(quiet <= 3 && all > 100, "{quiet} of {all}");
    let (marked, _) = count("0", &[100, 200]);
    assert!((quiet + 4..=quiet + 10).contains(&marked), "{marked}");
    let (regular, _) = count("3", &[]);
    assert!(
        // All acknowledgements of a round trip leave at the same time here.
        regular >= quiet + 5 && regular < all / 2,
        "{regular} of {all}"
    );
}

/// A change of the marking is acknowledged at once, and the window shrinks once in a round trip.
#[test]
fn marks_are_reported_at_once_and_answered_once_in_a_round_trip() {
    let marked = [60, 62, 64];
    let script = marking(move |number| marked.contains(&number));
    let mut wire = Wire::new(with("accecn"), with("accecn"), ms(10), script);
    transfer(&mut wire, 400);
    assert_eq!(wire.initiator().stats().ecn_reductions, 1);
    assert_eq!(marks(wire.initiator()).reported, 3);
    for number in marked {
        let position = ISNS.0.0 + 1 + number as u32 * PAYLOAD as u32;
        let sent = wire.log().iter().find(|sent| is_data(sent) && sent.segment.seq.0 == position);
        let arrived = sent.unwrap().at + ms(10);
        let end = position + PAYLOAD as u32;
        let answer = wire.sent(Side::Responder).find(|sent| sent.segment.ack.0 == end).unwrap();
        assert!(answer.at >= arrived);
        assert!(answer.at < arrived + ms(1), "{number}");
    }
}

/// More marks than the ACE field can count: it wraps, and the sender still knows all.
#[test]
fn the_counter_wraps() {
    for algorithm in ["cubic", "reno", "dctcp", "bbr"] {
        let knobs = [("ecn", "accecn"), ("congestion_control", algorithm)];
        let p = || profile("linux-7.2", &knobs);
        let mut wire = Wire::new(p(), p(), ms(10), marking(|number| number % 3 == 1));
        transfer(&mut wire, 300);
        assert_eq!(marks(wire.responder().unwrap()).received, 100, "{algorithm}");
        assert_eq!(marks(wire.initiator()).reported, 100, "{algorithm}");
        let no_echo = wire.sent(Side::Initiator).filter(is_data).all(|sent| sent.segment.flags.ace() == 5);
        assert!(no_echo, "data reports marks of acknowledgements, of which there are none");
        assert!(wire.initiator().stats().ecn_reductions > 3, "{algorithm}");
    }
}

/// An end that reports marks of a few segments in a hundred costs DCTCP little of its window.
#[test]
fn dctcp_reacts_to_the_fraction_of_marks() {
    let time = |algorithm: &str| {
        let knobs = [("ecn", "accecn"), ("congestion_control", algorithm)];
        let p = || profile("linux-7.2", &knobs);
        let mut wire = Wire::new(p(), p(), ms(25), marking(|number| number % 50 == 49));
        transfer(&mut wire, 5000);
        wire.log().last().unwrap().at.since_origin()
    };
    assert!(time("dctcp") * 3 < time("reno") * 2);
}

/// Acknowledgements with an option and a DSACK that seem to get lost end the sending of options, except with
/// `ecn_option` 3.
#[test]
fn options_end_when_they_seem_to_get_lost() {
    for (option, goes_on) in [("2", false), ("3", true)] {
        let knobs = [("ecn", "accecn"), ("ecn_option", option)];
        let p = || profile("linux-7.2", &knobs);
        // The acknowledgements of the only segment are lost until it has come four times; the third time shows
        // that the first report of a duplicate did not arrive.
        let script = |sent: &Sent, number: usize| match sent.from == Side::Responder && (1..4).contains(&number) {
            true => Fate::Drop,
            false => Fate::Pass,
        };
        let mut wire = Wire::new(p(), p(), ms(10), script);
        wire.write(PAYLOAD);
        wire.run(MINUTE);
        let options: Vec<bool> =
            wire.sent(Side::Responder).map(|sent| sent.segment.accecn_option().is_some()).collect();
        assert_eq!(options, [true, true, true, goes_on, goes_on]);
        assert_eq!(wire.initiator().bytes_acked(), PAYLOAD);
    }
}

fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The sender knows of every mark when no acknowledgement covers more than 7 segments, whatever is marked,
    /// whichever acknowledgements are lost, and wherever the counter wraps.
    #[test]
    fn the_estimate_is_the_count(
        seed in any::<u64>(),
        share in 1u64..100,
        ack_loss in 0u64..60,
        segments in 20u64..400,
        algorithm in 0usize..4,
        option in 0u32..4,
    ) {
        let algorithm = ["cubic", "reno", "dctcp", "bbr"][algorithm];
        let option = option.to_string();
        let knobs = [("ecn", "accecn"), ("congestion_control", algorithm), ("ecn_option", &option)];
        let p = || profile("linux-7.2", &knobs);
        let mut dice = seed;
        let mut covered = ISNS.0.0 + 1;
        let mut unsure = 0;
        let script = move |sent: &Sent, number: usize| {
            let roll = next(&mut dice) % 100;
            if sent.from == Side::Responder && number > 0 {
                let news = sent.segment.ack.0.wrapping_sub(covered) / PAYLOAD as u32;
                if roll < ack_loss && news < 4 && unsure < 3 {
                    unsure += 1;
                    return Fate::Drop;
                }
                unsure = 0;
                covered = sent.segment.ack.0;
            } else if sent.segment.len > 0 && roll < share {
                return Fate::Mark;
            }
            Fate::Pass
        };
        let mut wire = Wire::new(p(), p(), ms(10), script);
        wire.write(segments * PAYLOAD);
        wire.run(MINUTE);
        prop_assert_eq!(wire.received(), segments * PAYLOAD);
        let (sender, receiver) = (marks(wire.initiator()), marks(wire.responder().unwrap()));
        prop_assert_eq!(sender.reported, receiver.received);
        prop_assert_eq!((sender.received, receiver.reported), (0, 0));
    }

    /// Whatever is lost, the estimate agrees with the count modulo 8 once the last acknowledgement has arrived, and
    /// exceeds neither what was sent.
    #[test]
    fn losses_leave_the_estimate_in_step(
        seed in any::<u64>(),
        loss in 0u64..20,
        segments in 20u64..300,
        option in 0u32..4,
    ) {
        let option = option.to_string();
        let knobs = [("ecn", "accecn"), ("ecn_option", &option)];
        let p = || profile("linux-7.2", &knobs);
        let mut dice = seed;
        let script = move |sent: &Sent, number: usize| match next(&mut dice) % 100 {
            _ if number < 2 => Fate::Pass,
            roll if roll < loss => Fate::Drop,
            roll if roll < 50 && sent.segment.len > 0 => Fate::Mark,
            _ => Fate::Pass,
        };
        let mut wire = Wire::new(p(), p(), ms(10), script);
        wire.write(segments * PAYLOAD);
        wire.run(Instant::from_secs(1000));
        prop_assert_eq!(wire.initiator().bytes_acked(), segments * PAYLOAD);
        let (sender, receiver) = (marks(wire.initiator()), marks(wire.responder().unwrap()));
        let sent = wire.initiator().stats().data_sent;
        prop_assert!(sender.reported <= sent && receiver.received <= sent);
        let last = wire.sent(Side::Responder).rfind(|sent| sent.fate != Fate::Drop).unwrap();
        let told = last.segment.flags.ace().wrapping_sub(5) & 7;
        prop_assert_eq!(u32::from(told), sender.reported & 7);
    }

    /// Arbitrary flags, options and marks cause no panic, and no segment longer than a header can be.
    #[test]
    fn arbitrary_headers_are_survived(
        dctcp in any::<bool>(),
        segments in proptest::collection::vec(
            (any::<u16>(), 0u32..3000, 0u32..70_000, any::<[u32; 3]>(), 0u8..=4, 0u8..=5, any::<(bool, bool)>()),
            1..80,
        ),
    ) {
        let algorithm = if dctcp { "dctcp" } else { "cubic" };
        let knobs = [("ecn", "accecn"), ("congestion_control", algorithm)];
        let p = || profile("linux-7.2", &knobs);
        let mut wire = Wire::new(p(), p(), ms(1), |_, _| Fate::Pass);
        wire.write(100_000);
        wire.run(at_ms(4));
        let mut now = wire.now();
        let mut out = Vec::new();
        let end = wire.initiator_mut();
        for (bits, len, ack, counters, fields, sack_count, (ce, has_option)) in segments {
            // SYN and RST now and then, so that the connection lives on.
            let bits = if bits & 0x7000 == 0 { bits } else { bits & !6 };
            let mut segment = Segment::new(Seq(50_001 + len % 7), Flags::from_bits(bits) | Flags::ACK);
            segment.ack = Seq(1001 + ack);
            segment.len = len;
            segment.window = 65_535;
            segment.ect = Ect::Zero;
            segment.sack_count = sack_count;
            segment.sack = [(Seq(1001 + ack), Seq(3001 + ack)); 3];
            segment.options |= Options::TIMESTAMPS;
            segment.ts_val = ack;
            if has_option {
                segment.set_accecn_option(AccEcnOption { fields, counters });
            }
            now += ms(1);
            end.on_segment(now, &segment, ce, &mut out);
            end.on_timer(now, &mut out);
        }
        prop_assert!(out.iter().all(|segment| segment.header_bytes() <= 60));
    }
}

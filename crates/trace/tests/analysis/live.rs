//! Live analyses compared with analyses of the same packets in a capture.

use crate::captures::analyze_files;
use crate::frames::{SYN, Segment};
use gentle_capture::{CaptureReader, RawPacket};
use gentle_trace::Options;
use gentle_trace::live::{Attempt, Live, Span, Window};
use gentle_trace::results::{Cause, CauseKind};
use gentle_units::{Instant, Nanos};
use gentle_wire::{Ipv4Header, LinkType, Tcp, TcpFlags, Transport, Tunnels, dissect, protocol};
use proptest::prelude::*;
use std::io::Cursor;
use std::path::{Path, PathBuf};

/// Interval at which the clock of a live analysis advances.
const STEP: Nanos = Nanos::from_millis(100);
/// Time after the last packet by which every attempt is decided: Linux sends no SYN later than 64 s after another.
const END: Nanos = Nanos::from_secs(200);

/// Watches the packets of a capture that `sees` returns true for; `sees_all`: that are all.
fn watch(path: &Path, sees: impl Fn(&RawPacket<'_>) -> bool, sees_all: bool) -> (Vec<Attempt>, Window) {
    let (attempts, window, _) = watch_with(path, |packet, _| sees(packet), sees_all);
    (attempts, window)
}

/// Watches the packets of a capture that `sees` returns true for, which may tell the analysis about others. Also returns the
/// number of attempts that were left out.
fn watch_with(
    path: &Path,
    mut sees: impl FnMut(&RawPacket<'_>, &mut Live) -> bool,
    sees_all: bool,
) -> (Vec<Attempt>, Window, u64) {
    let mut reader = CaptureReader::open(path).expect("it is a capture");
    let mut attempts = Vec::new();
    let mut decided = |attempt: &Attempt| attempts.push(attempt.clone());
    let mut running: Option<(Live, Instant)> = None;
    while let Some(packet) = reader.next().expect("it is not damaged") {
        let (live, now) = running.get_or_insert_with(|| {
            let mut live = Live::new(&Options::default(), packet.time);
            live.sees_all_of(move |_, _| sees_all);
            (live, packet.time)
        });
        if !sees(&packet, live) {
            continue;
        }
        while *now + STEP <= packet.time {
            *now += STEP;
            live.advance(*now, &mut decided);
        }
        live.packet(&packet, &mut decided);
    }
    let (mut live, now) = running.expect("it has packets");
    for step in 0..END.0 / STEP.0 {
        live.advance(now + Nanos(STEP.0 * (step + 1)), &mut decided);
    }
    let window = live.window(Span::Hour, 10);
    (attempts, window, live.left_out())
}

/// Captures of real hosts that this crate has, each shorter than an hour.
fn captures() -> Vec<PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let folders = ["netns", "causes"].map(|folder| data.join(folder));
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a folder"));
    let mut captures: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    captures.retain(|path| path.extension().is_some_and(|it| it == "pcap"));
    captures.sort();
    assert!(captures.len() > 60, "all captures are there");
    captures
}

fn by_kind(causes: &[Cause]) -> Vec<(CauseKind, u64)> {
    let mut causes: Vec<(CauseKind, u64)> = causes.iter().map(|it| (it.kind, it.group.attempts)).collect();
    causes.sort();
    causes
}

#[test]
fn live_attempts_have_the_outcomes_and_causes_of_the_capture() {
    for path in captures() {
        let (analysis, _) = analyze_files(&[&path], &Options::default());
        let (attempts, hour) = watch(&path, |_| true, true);
        let outcomes = &analysis.outcomes;
        let expected = [
            analysis.handshakes.attempts - outcomes.seen_twice,
            outcomes.completed,
            outcomes.completed_with_loss,
            outcomes.refused.attempts,
        ];
        let refused = attempts.iter().filter(|it| it.cause == Some(CauseKind::Refused)).count() as u64;
        assert_eq!([hour.attempts, hour.completed, hour.with_loss, refused], expected, "{path:?}");
        assert_eq!(attempts.len() as u64, hour.attempts, "{path:?}");
        assert_eq!(by_kind(&hour.causes), by_kind(&analysis.causes), "{path:?}");
        let waiting = &analysis.waiting;
        for (live, capture) in [(hour.waited_s, waiting.handshake_s), (hour.failed_s, waiting.failed_s)] {
            assert!((live - capture).abs() < 1e-6, "{path:?} {live} {capture}");
        }
    }
}

/// The filter of `gentle watch` passes only these segments of a connection that is not in its sample.
fn opens_or_ends(packet: &RawPacket<'_>) -> bool {
    match dissect(packet.link, packet.data, packet.original_len, Tunnels::Outer).map(|packet| packet.transport) {
        Ok(Transport::Tcp(tcp)) => tcp.flags.any(TcpFlags::SYN | TcpFlags::FIN | TcpFlags::RST),
        _ => true,
    }
}

#[test]
fn without_acknowledgements_outcomes_are_alike_and_losses_have_an_uncertain_cause() {
    for path in captures() {
        let (analysis, _) = analyze_files(&[&path], &Options::default());
        let (_, hour) = watch(&path, opens_or_ends, false);
        let outcomes = &analysis.outcomes;
        // Of a handshake that only the missing acknowledgement would complete, it is assumed.
        let half_open = outcomes.half_open + outcomes.abandoned.attempts;
        // Nor is an acknowledgement of another connection seen.
        assert!(hour.completed >= outcomes.completed - outcomes.completed_after_challenge, "{path:?}");
        assert!(hour.completed <= outcomes.completed + half_open, "{path:?}");
        let certain = |causes: &[Cause], kind: CauseKind| causes.iter().any(|it| it.kind == kind);
        for kind in [CauseKind::ListenQueue, CauseKind::DeferredAccept, CauseKind::NewConnectionsDropped] {
            assert!(!certain(&hour.causes, kind) || certain(&analysis.causes, kind), "{path:?} {kind:?}");
        }
    }
}

/// Attempts that are reported although packets were missed are those of the complete capture, or begin with the late repetition of
/// a SYN that was missed.
#[test]
fn attempts_after_missed_packets_are_those_of_the_capture() {
    const QUIET_S: f64 = 3.5;
    let mut tried = 0;
    for path in captures() {
        let (complete, _) = watch(&path, |_| true, true);
        let times: Vec<f64> = complete.iter().map(|attempt| attempt.time).collect();
        let (first, last) = times.iter().fold((f64::MAX, 0.0_f64), |(a, b), time| (a.min(*time), b.max(*time)));
        for part in 0..8 {
            let from = first - 0.5 + (last - first + 1.0) * f64::from(part) / 8.0;
            let missing = from..from + 0.05 + 0.3 * f64::from(part);
            let mut resumed = false;
            let sees = |packet: &RawPacket<'_>, live: &mut Live| {
                let time = packet.time.since_origin().as_secs_f64();
                if time >= missing.end && !std::mem::replace(&mut resumed, true) {
                    live.missed_before(packet.time);
                }
                !missing.contains(&time)
            };
            let (attempts, window, left_out) = watch_with(&path, sees, true);
            assert_eq!(window.attempts, attempts.len() as u64);
            // A loss becomes known with the next packet.
            if !resumed {
                continue;
            }
            tried += 1;
            assert!(left_out + window.attempts <= complete.len() as u64 * 2, "{path:?} {left_out}");
            let key = |it: &Attempt| (it.client, it.server, it.outcome, it.syns, it.synacks, it.slow);
            for attempt in &attempts {
                let same = complete.iter().find(|it| it.time == attempt.time && it.client == attempt.client);
                match same {
                    Some(same) => assert_eq!(key(attempt), key(same), "{path:?} {missing:?} {attempt:#?}"),
                    None => assert!(attempt.time >= missing.end + QUIET_S, "{path:?} {missing:?} {attempt:#?}"),
                }
            }
        }
    }
    assert!(tried > 100, "{tried}");
}

/// A sample of the handshakes has the attempts of its connections.
#[test]
fn attempts_outside_a_sample_do_not_count() {
    for path in captures() {
        let (complete, _) = watch(&path, |_| true, true);
        for kept in [0, 1] {
            let tell = |_: &RawPacket<'_>, live: &mut Live| {
                live.sees_handshakes_of(move |_, ports| ports[0] % 2 == kept);
                true
            };
            let (attempts, window, left_out) = watch_with(&path, tell, true);
            let expected: Vec<&Attempt> = complete.iter().filter(|it| it.client.port() % 2 == kept).collect();
            assert_eq!(attempts.iter().collect::<Vec<_>>(), expected, "{path:?}");
            assert_eq!((window.attempts, left_out), (expected.len() as u64, (complete.len() - expected.len()) as u64));
        }
    }
}

/// A flood that does not fit into memory evicts attempts whose outcome is unknown: they do not count, nor do those that begin soon
/// after, because their first SYN may have been forgotten.
#[test]
fn attempts_evicted_from_memory_do_not_count() {
    let options = Options { memory_limit: Options::LEAST_MEMORY, ..Options::default() };
    let (mut now, mut decided) = (Instant::ZERO, 0_u64);
    let mut live = Live::new(&options, now);
    const SYNS: u64 = 100_000;
    for number in 0..SYNS as u32 {
        let step = (0, [0, 0], [0, 0], false, 0x02, [0, 0], 0, false);
        let mut data = segment(&step);
        data[12..16].copy_from_slice(&number.to_be_bytes());
        let original_len = data.len() as u32;
        let packet = RawPacket { time: now, interface: 0, link: LinkType::RAW, original_len, data: &data };
        live.packet(&packet, &mut |_| decided += 1);
        now += Nanos::from_micros(1);
        live.advance(now, &mut |_| decided += 1);
    }
    assert!(live.lost() > SYNS / 2, "{}", live.lost());
    for second in 1..200 {
        live.advance(now + Nanos::from_secs(second), &mut |_| decided += 1);
    }
    assert_eq!((decided, live.left_out()), (0, SYNS - live.lost()));
}

#[test]
fn windows_forget_what_is_old() {
    let path = captures().into_iter().find(|path| path.ends_with("syn.client.pcap")).expect("it is there");
    let mut reader = CaptureReader::open(&path).expect("it is a capture");
    let mut live = None;
    let mut end = Instant::ZERO;
    while let Some(packet) = reader.next().expect("it is not damaged") {
        end = packet.time;
        live.get_or_insert_with(|| Live::new(&Options::default(), packet.time)).packet(&packet, &mut |_| ());
    }
    let mut live = live.expect("it has packets");
    let mut longest = [0.0_f64; 3];
    for second in 1..4_200 {
        live.advance(end + Nanos::from_secs(second), &mut |_| ());
        for (span, longest) in Span::ALL.into_iter().zip(&mut longest) {
            let window = live.window(span, 1);
            if window.with_loss > 0 {
                *longest = longest.max(second as f64);
            }
        }
    }
    let [seconds, minute, hour] = longest;
    assert!((14.0..=20.0).contains(&seconds), "{seconds}");
    assert!((60.0..=80.0).contains(&minute), "{minute}");
    assert!((3_600.0..=3_920.0).contains(&hour), "{hour}");
}

/// Each attempt is of another client and another server.
#[test]
fn memory_of_windows_is_bounded() {
    let options = Options { memory_limit: 8 << 20, ..Options::default() };
    let mut now = Instant::ZERO;
    let mut live = Live::new(&options, now);
    for number in 0..60_000_u32 {
        let [_, a, b, c] = number.to_be_bytes();
        let (client, server) = (format!("10.{a}.{b}.{c}"), format!("11.{a}.{b}.{c}"));
        let at_us = now.since_origin().as_micros();
        let syn = Segment { at_us, flags: SYN, ..Segment::between(0.0, (&client, 40_000), (&server, 443), SYN) };
        let capture = crate::frames::pcap(&[syn]);
        let mut reader =
            CaptureReader::from_reader("memory".into(), Box::new(Cursor::new(capture))).expect("a capture");
        let packet = reader.next().expect("it is not damaged").expect("a packet");
        live.packet(&packet, &mut |_| ());
        now += Nanos::from_millis(100);
        live.advance(now, &mut |_| ());
        assert!(live.window_bytes() <= 2 << 20, "{number}: {}", live.window_bytes());
    }
    let hour = live.window(Span::Hour, 10);
    assert!(hour.attempts > 30_000 && hour.failed == hour.attempts, "{} {}", hour.attempts, hour.failed);
}

/// A pause of any length, as of a suspended machine, and a step of the clock backwards do no harm.
#[test]
fn pauses_do_no_harm() {
    let mut live = Live::new(&Options::default(), Instant::ZERO);
    let mut now = Instant::ZERO;
    for pause in [1, 70, 4_000, 86_400 * 365, 3, 4_000_000_000] {
        now += Nanos::from_secs(pause);
        live.advance(now, &mut |_| ());
        live.advance(Instant::ZERO, &mut |_| ());
        for span in Span::ALL {
            let window = live.window(span, 1);
            assert!(window.seconds <= 3_900.0 && window.attempts == 0, "{pause} {span:?} {}", window.seconds);
        }
    }
}

/// Steps of a random trace: time in between, milliseconds; hosts and ports; direction; flags; sequence and acknowledgement
/// numbers; length of data; whether the clock advances afterwards.
type Step = (u32, [u8; 2], [u8; 2], bool, u16, [u8; 2], u16, bool);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let time = prop_oneof![8 => 0..50_u32, 3 => 900..1_100_u32, 1 => 0..40_000_u32, 1 => 0..5_000_000_u32];
    let flags = prop_oneof![4 => Just(0x02_u16), 3 => Just(0x12), 3 => Just(0x10), 1 => Just(0x14), 1 => Just(0x04), 1 => Just(0x11), 1 => 0..0x200_u16];
    let step = (
        time,
        [0..3_u8, 0..3_u8],
        [0..2_u8, 0..2_u8],
        any::<bool>(),
        flags,
        [0..4_u8, 0..4_u8],
        0..3_u16,
        any::<bool>(),
    );
    prop::collection::vec(step, 0..400)
}

fn segment(step: &Step) -> Vec<u8> {
    let (_, hosts, ports, reversed, flags, numbers, data, _) = *step;
    let mut ends =
        [([192, 0, 2, hosts[0]], 1000 + u16::from(ports[0])), ([198, 51, 100, hosts[1]], 80 + u16::from(ports[1]))];
    if reversed {
        ends.reverse();
    }
    let payload = [0; 3];
    let tcp = Tcp {
        src_port: ends[0].1,
        dst_port: ends[1].1,
        seq: u32::from(numbers[0]),
        ack: u32::from(numbers[1]),
        flags: TcpFlags(flags),
        window: 1000,
        payload_len: u32::from(data),
        options: &[],
        payload: &payload[..usize::from(data)],
    };
    let length = tcp.header_len() + usize::from(data);
    let header = Ipv4Header::new(ends[0].0.into(), ends[1].0.into(), protocol::TCP, length as u32);
    let mut packet = vec![0; 100];
    let at = header.emit(&mut packet).expect("a header");
    let end = at + tcp.emit(&header.pseudo_header(), &mut packet[at..]).expect("a segment");
    packet.truncate(end);
    packet
}

proptest! {
    /// Attempts are at most the SYNs, and each is counted once: as completed or as failed, in each window that covers all.
    #[test]
    fn any_packets_give_consistent_windows(steps in steps(), sees_all: bool) {
        let begin = Instant(1_767_225_600_000_000_000);
        let options = Options { memory_limit: Options::LEAST_MEMORY, ..Options::default() };
        let mut live = Live::new(&options, begin);
        live.sees_all_of(move |_, _| sees_all);
        let (mut now, mut syns, mut attempts) = (begin, 0, Vec::new());
        let check = |live: &Live| {
            for span in Span::ALL {
                let window = live.window(span, 3);
                assert_eq!(window.attempts, window.completed + window.failed);
                assert!(window.slow <= window.completed && window.with_loss <= window.completed, "{window:?}");
                assert!(window.seconds >= 0.0 && window.waited_s >= 0.0 && window.failed_s >= 0.0, "{window:?}");
                assert!(window.causes.iter().map(|cause| cause.group.attempts).sum::<u64>() <= window.attempts, "{window:?}");
                assert!(window.top.servers.len() <= 3 && window.ports.len() <= 3, "{window:?}");
            }
        };
        for step in &steps {
            now += Nanos::from_millis(u64::from(step.0));
            let data = segment(step);
            syns += u64::from(step.4 & 0x12 == 0x02);
            let original_len = data.len() as u32;
            let packet = RawPacket { time: now, interface: 0, link: LinkType::RAW, original_len, data: &data };
            live.packet(&packet, &mut |attempt| attempts.push(attempt.clone()));
            if step.7 {
                live.advance(now, &mut |attempt| attempts.push(attempt.clone()));
                check(&live);
            }
        }
        for _ in 0..200 {
            now += Nanos::from_secs(1);
            live.advance(now, &mut |attempt| attempts.push(attempt.clone()));
        }
        check(&live);
        prop_assert!(attempts.len() as u64 <= syns, "{} of {syns} SYNs", attempts.len());
        prop_assert!(live.connections() as u64 <= live.packets());
        for attempt in &attempts {
            prop_assert!(attempt.waited_s >= 0.0 && attempt.connect_s.is_none_or(|took| took >= 0.0), "{attempt:?}");
            prop_assert!(!(attempt.slow && attempt.has_failed()), "{attempt:?}");
        }
        let hour = live.window(Span::Hour, 3);
        prop_assert!(hour.attempts <= attempts.len() as u64);
    }
}

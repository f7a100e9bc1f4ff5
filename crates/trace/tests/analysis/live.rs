//! Live analyses compared with analyses of the same packets in a capture.

use crate::captures::analyze_files;
use gentle_capture::CaptureReader;
use gentle_trace::Options;
use gentle_trace::live::{Attempt, Live, Span, Window};
use gentle_trace::row::{Outcome, Row};
use gentle_units::{Instant, Nanos};
use gentle_wire::{Transport, Tunnels, dissect};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

/// Interval at which the clock of a live analysis advances.
const STEP: Nanos = Nanos::from_millis(100);
/// Time after the last packet after which every attempt is decided: Linux sends no SYN later than 64 s after another.
const END: Nanos = Nanos::from_secs(200);

/// Packets of a capture in a live analysis: all attempts, and the last hour at the end.
fn watch(path: &Path, sees: impl Fn(&gentle_capture::RawPacket<'_>) -> bool, sees_all: bool) -> (Vec<Attempt>, Window) {
    let mut reader = CaptureReader::open(path).expect("it is a capture");
    let mut attempts = Vec::new();
    let mut decided = |attempt: &Attempt| attempts.push(attempt.clone());
    let mut live: Option<(Live, Instant)> = None;
    while let Some(packet) = reader.next().expect("it is not damaged") {
        let (live, now) = live.get_or_insert_with(|| {
            let mut live = Live::new(&Options::default(), packet.time);
            live.sees_all_of(move |_, _| sees_all);
            (live, packet.time)
        });
        if packet.time.saturating_since(*now) > END + END {
            live.advance(*now + END, &mut decided);
            *now = packet.time - STEP;
        }
        while *now + STEP <= packet.time {
            *now += STEP;
            live.advance(*now, &mut decided);
        }
        if sees(&packet) {
            live.packet(&packet, &mut decided);
        }
    }
    let (mut live, mut now) = live.expect("it has packets");
    let end = now + END;
    while now < end {
        now += STEP;
        live.advance(now, &mut decided);
    }
    let window = live.window(Span::Hour, 10);
    (attempts, window)
}

/// Captures of real hosts that this crate has.
fn captures() -> Vec<PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let folders = ["netns", "causes"].map(|folder| data.join(folder));
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a folder"));
    let mut captures: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    if let Some(more) = std::env::var_os("MORE") {
        captures.extend(std::fs::read_dir(more).unwrap().map(|it| it.unwrap().path()));
    }
    captures.retain(|path| path.extension().is_some_and(|it| it.to_string_lossy().contains("pcap")));
    captures.sort();
    captures
}

#[test]
fn tmp() {
    for path in captures() {
        let (analysis, _) = analyze_files(&[&path], &Options::default());
        for kind in [true, false] {
        let (attempts, hour) = watch(&path, |_| true, kind);
        let of = |outcome: Outcome| attempts.iter().filter(|it| it.outcome == outcome).count();
        let o = &analysis.outcomes;
        let a = [o.completed, o.refused.attempts, o.half_open, o.completed_with_loss];
        let b = [hour.completed, of(Outcome::Refused) as u64, of(Outcome::HalfOpen) as u64, hour.with_loss];
        let causes = |causes: &[gentle_trace::results::Cause]| {
            let mut all: Vec<_> = causes.iter().map(|it| (it.kind, it.group.attempts)).collect();
            all.sort();
            all
        };
        let (ca, cb) = (causes(&analysis.causes), causes(&hour.causes));
        if a != b || ca != cb {
            println!("{} {kind} attempts {} {}: {a:?} {b:?} {ca:?} {cb:?}", path.file_name().unwrap().to_string_lossy(), analysis.handshakes.attempts, attempts.len());
        }
        }
    }
}

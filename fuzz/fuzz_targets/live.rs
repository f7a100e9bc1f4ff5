//! Fuzz target for the live analysis of packets, with DNS answers among them: windows agree with the attempts.

#![no_main]

use gentle_fuzz::capture::open;
use gentle_trace::Options;
use gentle_trace::live::{Live, Span};
use gentle_units::Nanos;
use libfuzzer_sys::{Corpus, fuzz_target};
use std::io::Cursor;

/// Largest step of the clock between two packets: an attempt is decided at the latest after some minutes.
const LONGEST: Nanos = Nanos::from_secs(600);

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Some((&choice, file)) = bytes.split_first() else {
        return Corpus::Reject;
    };
    let Ok(mut reader) = open(Cursor::new(file.to_vec())) else {
        return Corpus::Reject;
    };
    let mut attempts = [0_u64; 2];
    let mut count = |attempt: &gentle_trace::live::Attempt| attempts[usize::from(attempt.has_failed())] += 1;
    let options = Options { memory_limit: Options::LEAST_MEMORY, ..Options::default() };
    let mut live: Option<Live> = None;
    let mut now = gentle_units::Instant::ZERO;
    while let Ok(Some(packet)) = reader.next() {
        let live = live.get_or_insert_with(|| {
            now = packet.time;
            let mut live = Live::new(&options, now);
            live.sees_all_of(move |_, _| choice & 1 == 0);
            live
        });
        // Packets have the times of a steady clock.
        now = packet.time.max(now).min(now + LONGEST);
        live.packet(&gentle_capture::RawPacket { time: now, ..packet }, &mut count);
        if choice & 2 == 0 {
            live.advance(now, &mut count);
        }
    }
    let Some(mut live) = live else {
        return Corpus::Reject;
    };
    live.advance(now + LONGEST, &mut count);
    let [completed, failed] = attempts;
    for span in Span::ALL {
        let window = live.window(span, 3);
        assert_eq!(window.attempts, window.completed + window.failed);
        assert!(window.completed <= completed && window.failed <= failed && window.slow <= window.completed);
    }
    Corpus::Keep
});

//! Receiver of a video: frames, freezes, and the reports to the sender.

use super::datagram::{Datagram, Feedback, FramePart};
use super::gcc::DelayBased;
use super::stream::Stream;
use super::video_call::VideoCall;
use super::video_sender::KEY_REQUEST_INTERVAL;
use crate::metrics::application::ApplicationRecord;
use gentle_units::{Instant, Nanos};
use std::collections::{BTreeMap, VecDeque};

/// Durations of frames over which the mean is taken, and the time beyond it that makes a freeze (W3C, "Identifiers for
/// WebRTC's Statistics API", freezeCount).
const DURATIONS: usize = 30;
const FREEZE: Nanos = Nanos::from_millis(150);
/// An estimate lower than this part of the one reported last is reported at once (WebRTC: `kSendThresholdPercent`).
const REPORTED_AT_ONCE: f64 = 0.97;

/// Receiver of one end's video.
#[derive(Debug)]
pub(super) struct VideoReceiver {
    /// Times at which the other end captures frames, known from the set-up of the call.
    frames: Stream,
    warmup: Instant,
    deadline: Nanos,
    control: DelayBased,
    /// All frames before this one have been shown or given up.
    next: u32,
    /// Later frames of which something has arrived.
    pending: BTreeMap<u32, Pending>,
    last_request: Option<Instant>,
    last_shown: Option<Instant>,
    /// Durations of the last frames shown.
    durations: VecDeque<Nanos>,
    /// Frames complete by their deadline.
    timely: u64,
    reported: f64,
    /// Datagrams received, and the number that follows the highest one; the same at the last regular report.
    received: u32,
    highest: u32,
    reported_received: u32,
    reported_highest: u32,
}

#[derive(Debug, Default)]
struct Pending {
    received: u16,
    complete: bool,
}

impl VideoReceiver {
    pub(super) fn new(call: &VideoCall, frames: Stream, warmup: Instant) -> VideoReceiver {
        let start = call.start_rate as f64;
        VideoReceiver {
            frames,
            warmup,
            deadline: call.deadline,
            control: DelayBased::new(start),
            next: 0,
            pending: BTreeMap::new(),
            last_request: None,
            last_shown: None,
            durations: VecDeque::with_capacity(DURATIONS),
            timely: 0,
            reported: start,
            received: 0,
            highest: 0,
            reported_received: 0,
            reported_highest: 0,
        }
    }

    /// Counts a datagram for the loss in reports.
    pub(super) fn count(&mut self, number: u32) {
        self.received = self.received.wrapping_add(1);
        self.highest = self.highest.max(number.saturating_add(1));
    }

    /// Takes a part of a frame; returns whether to report at once.
    pub(super) fn arrive(
        &mut self,
        now: Instant,
        datagram: &Datagram,
        part: &FramePart,
        rtt: Nanos,
        record: &mut ApplicationRecord,
    ) -> bool {
        (self.control).arrive(now, datagram.sent, datagram.ip_bytes, rtt);
        self.assemble(now, part, record);
        let lower = self.control.estimate() < REPORTED_AT_ONCE * self.reported;
        lower || self.needs_key(now)
    }

    fn assemble(&mut self, now: Instant, part: &FramePart, record: &mut ApplicationRecord) {
        // A frame that cannot have been captured yet is not of this call.
        let captured = self.frames.at(part.frame);
        if captured.is_none_or(|captured| captured > now) || part.frame < self.next {
            return;
        }
        let pending = self.pending.entry(part.frame).or_default();
        pending.received = pending.received.saturating_add(1);
        pending.complete = pending.received >= part.parts;
        if pending.complete && part.key && part.frame > self.next {
            self.next = part.frame;
            self.pending = self.pending.split_off(&part.frame);
        }
        while self.pending.get(&self.next).is_some_and(|p| p.complete) {
            self.pending.remove(&self.next);
            self.show(now, record);
        }
    }

    /// Shows the next frame.
    fn show(&mut self, now: Instant, record: &mut ApplicationRecord) {
        let captured = self.frames.at(self.next).unwrap_or(now);
        self.next += 1;
        let in_time = now.saturating_since(captured) <= self.deadline;
        self.timely += u64::from(captured >= self.warmup && in_time);
        if let Some(last) = self.last_shown.replace(now) {
            self.note_freeze(last, now, record);
            let duration = now.saturating_since(last);
            if self.durations.len() == DURATIONS {
                self.durations.pop_front();
            }
            self.durations.push_back(duration);
        }
    }

    /// Counts a freeze if the picture stood still from `since` until `until`, or the end of the call, for long enough. A
    /// picture that arrives after the end is of no call.
    fn note_freeze(&self, since: Instant, until: Instant, record: &mut ApplicationRecord) {
        let duration = until.min(self.end()).saturating_since(since);
        let mean = match self.durations.len() as u64 {
            0 => self.frames.interval(),
            n => Nanos(self.durations.iter().copied().sum::<Nanos>().0 / n),
        };
        if since >= self.warmup && duration >= (mean * 3).max(mean + FREEZE) {
            record.stalled(duration);
        }
    }

    /// Time at which the last frame is captured.
    fn end(&self) -> Instant {
        let last = self.frames.count().checked_sub(1);
        last.and_then(|last| self.frames.at(last)).unwrap_or_default()
    }

    /// Whether a frame is complete but cannot be shown, since an earlier one is missing, and no key frame was requested
    /// a short time ago.
    fn needs_key(&self, now: Instant) -> bool {
        let asked = |last: Instant| now.saturating_since(last) < KEY_REQUEST_INTERVAL;
        !self.last_request.is_some_and(asked) && self.pending.values().any(|p| p.complete)
    }

    /// Report at `now`; a regular one has the losses since the last regular one.
    pub(super) fn report(&mut self, now: Instant, regular: bool) -> Feedback {
        let key = self.needs_key(now);
        if key {
            self.last_request = Some(now);
        }
        let estimate = self.control.estimate();
        self.reported = estimate;
        let loss = regular.then(|| {
            let expected = self.highest.saturating_sub(self.reported_highest);
            let received = self.received.wrapping_sub(self.reported_received);
            let lost = u64::from(expected.saturating_sub(received));
            (self.reported_highest, self.reported_received) = (self.highest, self.received);
            (256 * lost).checked_div(expected.into()).map_or(0, |part| part.min(255) as u8)
        });
        Feedback { rate: estimate as u32, loss, key, echo: None }
    }

    /// Counts the frames that were never shown, and a picture that stood still until the end.
    pub(super) fn finish(&mut self, record: &mut ApplicationRecord) {
        let skipped = self.frames.before(self.warmup);
        let frames = u64::from(self.frames.count() - skipped);
        record.late_frames += frames - self.timely.min(frames);
        let active = self.frames.interval() * frames;
        record.active += active;
        match self.last_shown {
            Some(shown) => self.note_freeze(shown, self.end(), record),
            None if frames > 0 => record.stalled(active),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::application::datagram::Message;
    use crate::application::video_call::tests::CALL;
    use proptest::prelude::*;

    const AT: fn(u64) -> Instant = Instant::from_millis;
    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    struct Watched {
        receiver: VideoReceiver,
        record: ApplicationRecord,
        number: u32,
    }

    impl Watched {
        /// A call of ten seconds.
        fn new(warmup: Instant) -> Watched {
            let frames = Stream::new(Instant::ZERO, CALL.frame_interval(), Instant::from_secs(10));
            Watched {
                receiver: VideoReceiver::new(&CALL, frames, warmup),
                record: ApplicationRecord::default(),
                number: 0,
            }
        }

        /// Frame `frame` of one part arrives `transit` after its capture.
        fn frame(&mut self, frame: u32, transit: Nanos, key: bool) -> bool {
            let sent = Instant::ZERO + CALL.frame_interval() * u64::from(frame);
            let part = FramePart { frame, parts: 1, key };
            let datagram = Datagram { ip_bytes: 1_000, number: self.number, sent, message: Message::Frame(part) };
            self.receiver.count(self.number);
            self.number += 1;
            (self.receiver).arrive(sent + transit, &datagram, &part, MS(40), &mut self.record)
        }

        fn finish(mut self) -> ApplicationRecord {
            self.receiver.finish(&mut self.record);
            self.record
        }
    }

    #[test]
    fn frames_in_time_are_neither_late_nor_frozen() {
        let mut watched = Watched::new(Instant::ZERO);
        for frame in 0..301 {
            assert!(!watched.frame(frame, MS(30), frame == 0), "{frame}");
        }
        let record = watched.finish();
        assert_eq!((record.late_frames, record.stalls), (0, 0));
        assert!(record.active.as_secs_f64() > 9.99);
    }

    #[test]
    fn a_missing_frame_is_asked_for_and_freezes_the_picture_until_a_key_frame() {
        let mut watched = Watched::new(Instant::ZERO);
        for frame in 0..100 {
            watched.frame(frame, MS(30), frame == 0);
        }
        watched.number += 1;
        // Frame 100 is lost. The next one cannot be shown, and a key frame is requested once.
        assert!(watched.frame(101, MS(30), false));
        assert!(watched.receiver.report(AT(3_400), false).key);
        for frame in 102..106 {
            assert!(!watched.frame(frame, MS(30), false), "{frame}");
        }
        for frame in 106..301 {
            assert!(!watched.frame(frame, MS(30), frame == 106), "{frame}");
        }
        let loss = watched.receiver.report(AT(10_100), true).loss;
        assert_eq!(loss, Some(0), "1 of 302, in 1/256");
        let record = watched.finish();
        // From frame 99 to frame 106.
        assert_eq!((record.late_frames, record.stalls), (6, 1));
        assert!((record.stalled.as_secs_f64() - 7.0 / 30.0).abs() < 1e-6);
    }

    #[test]
    fn a_short_gap_is_no_freeze_and_late_frames_are_shown() {
        let mut watched = Watched::new(Instant::ZERO);
        for frame in 0..301 {
            let transit = if (200..204).contains(&frame) { 160 } else { 30 };
            if frame != 204 {
                watched.frame(frame, MS(transit), frame == 0);
            }
        }
        let record = watched.finish();
        assert_eq!(record.stalls, 1, "frame 204 is missing to the end");
        assert_eq!(record.late_frames, 4 + 97);
    }

    #[test]
    fn a_freeze_ends_with_the_call() {
        let mut watched = Watched::new(Instant::ZERO);
        for frame in 0..300 {
            watched.frame(frame, MS(30), frame == 0);
        }
        // The last frame, captured at 10 s, arrives long after the call.
        watched.frame(300, MS(60_000), false);
        let record = watched.finish();
        assert_eq!((record.late_frames, record.stalls), (1, 0));
        let mut watched = Watched::new(Instant::ZERO);
        watched.frame(0, MS(1_000), true);
        for frame in 1..301 {
            watched.frame(frame, MS(60_000), false);
        }
        let record = watched.finish();
        assert_eq!(record.stalls, 1);
        assert!((record.stalled.as_secs_f64() - 300.0 / 30.0 + 1.0).abs() < 1e-6);
        assert!(record.stalled < record.active);
    }

    #[test]
    fn a_picture_that_never_comes_is_one_freeze() {
        let record = Watched::new(AT(5_000)).finish();
        assert_eq!((record.late_frames, record.stalls), (150, 1));
        assert_eq!(record.stalled, record.active);
    }

    #[test]
    fn loss_is_reported_as_a_fraction() {
        let mut watched = Watched::new(Instant::ZERO);
        for frame in 0..30 {
            watched.frame(frame, MS(30), frame == 0);
            watched.number += u32::from(frame % 3 == 0);
        }
        // The last gap is seen when a later packet arrives.
        let report = watched.receiver.report(AT(1_000), true);
        assert_eq!(report.loss, Some((256 * 10 / 40) as u8));
        assert_eq!(watched.receiver.report(AT(2_000), true).loss, Some(0));
    }

    proptest! {
        #[test]
        fn any_datagrams_are_survived(
            parts in prop::collection::vec((any::<u32>(), 0_u32..400, 0_u16..4, any::<bool>(), any::<u64>(), 0_u64..12_000), 0..200)
        ) {
            let mut watched = Watched::new(AT(1_000));
            let mut parts = parts;
            parts.sort_by_key(|part| part.5);
            for (number, frame, count, key, sent, at) in parts {
                for frame in [frame, number] {
                    let part = FramePart { frame, parts: count, key };
                    let message = Message::Frame(part);
                    let datagram = Datagram { ip_bytes: 60, number, sent: Instant(sent), message };
                    watched.receiver.count(number);
                    watched.receiver.arrive(AT(at), &datagram, &part, MS(40), &mut watched.record);
                    watched.receiver.report(AT(at), key);
                }
            }
            let record = watched.finish();
            prop_assert!(record.late_frames <= 271);
            prop_assert!(record.stalled <= record.active);
        }
    }
}

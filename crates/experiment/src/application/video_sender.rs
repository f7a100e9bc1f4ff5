//! Sender of a video: encoder, division into packets, pacing.

use super::datagram::{Datagram, Feedback, FramePart, Message, SHORTEST_DATAGRAM};
use super::gcc::LossBased;
use super::meter::Meter;
use super::stream::Stream;
use super::video_call::VideoCall;
use crate::metrics::application::ApplicationRecord;
use gentle_units::{Instant, Nanos};
use std::collections::VecDeque;

/// Longest IP packet, bytes.
const LONGEST_PACKET: u32 = 1200;
/// Interval at which the pacer sends a group of packets (draft-ietf-rmcat-gcc-02, section 2: burst_time).
const PACING_INTERVAL: Nanos = Nanos::from_millis(5);
/// Rate of the pacer as a multiple of the encoder's (WebRTC: `kDefaultPaceMultiplier`).
const PACING_GAIN: f64 = 2.5;
/// Shortest time between key frames requested by the receiver (WebRTC: `kMinKeyFrameRequestIntervalMs`).
pub(super) const KEY_REQUEST_INTERVAL: Nanos = Nanos::from_millis(300);

/// Encoder and pacer of one end.
#[derive(Debug)]
pub(super) struct VideoSender {
    frames: Stream,
    warmup: Instant,
    /// Frames per second.
    fps: f64,
    key_interval: Nanos,
    key_size: f64,
    control: LossBased,
    /// Time of the last key frame; `None`: none was sent.
    last_key: Option<Instant>,
    key_requested: bool,
    /// Bytes by which key frames have exceeded the rate, which later frames make up for.
    excess: f64,
    /// Packets that wait for the pacer.
    queue: VecDeque<(u32, FramePart)>,
    pacer_at: Instant,
}

impl VideoSender {
    pub(super) fn new(call: &VideoCall, frames: Stream, warmup: Instant) -> VideoSender {
        let range = (call.min_rate as f64, call.max_rate as f64);
        VideoSender {
            frames,
            warmup,
            fps: call.fps.into(),
            key_interval: call.key_interval,
            key_size: call.key_size,
            control: LossBased::new(call.start_rate as f64, range),
            last_key: None,
            key_requested: false,
            excess: 0.0,
            queue: VecDeque::new(),
            pacer_at: Instant::ZERO,
        }
    }

    pub(super) fn next_at(&self) -> Instant {
        let pacer = (!self.queue.is_empty()).then_some(self.pacer_at);
        self.frames.next_at().min(pacer.unwrap_or(Instant::NEVER))
    }

    pub(super) fn on_feedback(&mut self, feedback: &Feedback) {
        self.control.on_report(feedback.rate.into(), feedback.loss);
        self.key_requested |= feedback.key;
    }

    pub(super) fn on_timer(
        &mut self,
        now: Instant,
        meter: &mut Meter,
        out: &mut Vec<Datagram>,
        record: &mut ApplicationRecord,
    ) {
        while let Some(frame) = self.frames.take(now) {
            let captured = self.frames.at(frame).unwrap_or(now);
            record.frames += u64::from(captured >= self.warmup);
            self.encode(captured, frame);
        }
        if self.queue.is_empty() || self.pacer_at > now {
            return;
        }
        let rate = PACING_GAIN * self.control.rate();
        let mut budget = rate * PACING_INTERVAL.as_secs_f64() / 8.0;
        while budget > 0.0
            && let Some((bytes, part)) = self.queue.pop_front()
        {
            budget -= f64::from(bytes);
            out.push(meter.send(now, bytes, Message::Frame(part), record));
        }
        // A group that exceeds its budget, by less than a packet, delays the next one.
        let debt = Nanos::from_secs_f64(-8.0 * budget.min(0.0) / rate);
        self.pacer_at = now + PACING_INTERVAL + debt;
    }

    /// Puts the packets of a frame into the queue of the pacer.
    fn encode(&mut self, captured: Instant, frame: u32) {
        let due = |last: Instant| captured.saturating_since(last) >= self.key_interval;
        let asked = |last: Instant| captured.saturating_since(last) >= KEY_REQUEST_INTERVAL;
        let key = (self.last_key).is_none_or(|last| due(last) || self.key_requested && asked(last));
        let budget = self.control.rate() / self.fps / 8.0;
        let bytes = match key {
            true => self.key_size * budget,
            false => budget - self.excess.min(0.5 * budget),
        };
        self.excess = (self.excess + bytes - budget).max(0.0);
        if key {
            self.last_key = Some(captured);
            self.key_requested = false;
        }
        let bytes = bytes.round().max(1.0) as u32;
        let parts = bytes.div_ceil(LONGEST_PACKET).min(u16::MAX.into());
        for part in 0..parts {
            let longer = u32::from(part < bytes % parts);
            let length = (bytes / parts + longer).clamp(SHORTEST_DATAGRAM, LONGEST_PACKET);
            let part = FramePart { frame, parts: parts as u16, key };
            self.queue.push_back((length, part));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::application::video_call::tests::CALL;

    /// The datagrams of the first `seconds`, if a report arrives with `feedback` after each of them.
    fn sent(seconds: u64, feedback: impl Fn(u64) -> Feedback) -> Vec<Datagram> {
        let stop = Instant::from_secs(seconds);
        let frames = Stream::new(Instant::ZERO, CALL.frame_interval(), stop);
        let mut sender = VideoSender::new(&CALL, frames, Instant::ZERO);
        let (mut meter, mut record) = (Meter::new(Instant::ZERO), ApplicationRecord::default());
        let (mut out, mut second) = (Vec::new(), 1);
        while sender.next_at() < Instant::NEVER {
            let now = sender.next_at();
            while Instant::from_secs(second) <= now {
                sender.on_feedback(&feedback(second));
                second += 1;
            }
            sender.on_timer(now, &mut meter, &mut out, &mut record);
        }
        assert_eq!(record.frames, 30 * seconds + u64::from(seconds > 0));
        out
    }

    fn report(rate: u32, key: bool) -> Feedback {
        Feedback { rate, loss: Some(0), key, echo: None }
    }

    fn parts(out: &[Datagram]) -> impl Iterator<Item = (Instant, u32, FramePart)> {
        out.iter().map(|datagram| match datagram.message {
            Message::Frame(part) => (datagram.sent, datagram.ip_bytes, part),
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn the_rate_is_kept_and_frames_are_complete() {
        let out = sent(60, |_| report(1_000_000, false));
        let late = parts(&out).filter(|(sent, ..)| *sent >= Instant::from_secs(30));
        let bits: f64 = late.map(|(_, bytes, _)| 8.0 * f64::from(bytes)).sum();
        assert!((bits / 30.0 / 1e6 - 1.0).abs() < 0.01, "{bits}");
        let mut of_frame = std::collections::BTreeMap::new();
        for (_, bytes, part) in parts(&out) {
            assert!((60..=1200).contains(&bytes));
            let (got, parts) = of_frame.entry(part.frame).or_insert((0, part.parts));
            *got += 1;
            assert_eq!(*parts, part.parts);
        }
        assert!(of_frame.values().all(|(got, parts)| got == parts));
    }

    #[test]
    fn key_frames_are_first_and_on_request() {
        let out = sent(10, |second| report(500_000, second == 4));
        let keys: Vec<u32> = parts(&out).filter_map(|(_, _, part)| part.key.then_some(part.frame)).collect();
        let frames: std::collections::BTreeSet<u32> = keys.into_iter().collect();
        assert_eq!(frames.into_iter().collect::<Vec<_>>(), [0, 121]);
    }

    #[test]
    fn the_pacer_spreads_a_large_frame() {
        let out = sent(1, |_| report(300_000, false));
        let key: Vec<Instant> = parts(&out).filter_map(|(sent, _, part)| (part.frame == 0).then_some(sent)).collect();
        // 5,000 bytes at 750 kb/s.
        assert_eq!(key.len(), 5);
        let took = key[4].as_secs_f64();
        assert!((took - 4_000.0 * 8.0 / 750e3).abs() < 0.01, "{took}");
    }
}

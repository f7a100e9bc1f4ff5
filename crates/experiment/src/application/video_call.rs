//! Video calls both ways: frames at a regular rate, whose size follows the available rate.

use super::datagram::{Datagram, DatagramEnd, Message};
use super::flow::{DatagramApplication, FlowTimes, Offered};
use super::meter::Meter;
use super::stream::Stream;
use super::video_receiver::VideoReceiver;
use super::video_sender::VideoSender;
use crate::error::ScenarioError;
use crate::metrics::application::ApplicationRecord;
use crate::results::{Better, HarmNumbers};
use crate::section::{Item, Section};
use gentle_units::{Instant, Nanos};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Length of the IP packet of a report: the headers of IPv4 and UDP, an RTCP receiver report (RFC 3550), the receiver's
/// estimate (draft-alvestrand-rmcat-remb-03) and a picture loss indication (RFC 4585).
const FEEDBACK_BYTES: u32 = 28 + 32 + 24 + 12;

/// Interval of reports (WebRTC: `kDefaultVideoReportInterval`).
const FEEDBACK_INTERVAL: Nanos = Nanos::from_secs(1);

/// Video of one end and how it adapts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct VideoCall {
    /// Frames per second.
    pub fps: u32,
    /// Interval of key frames; key frames requested by the receiver come in addition.
    pub key_interval: Nanos,
    /// Size of a key frame as a multiple of the mean size of frames.
    pub key_size: f64,
    /// Lowest rate, bits of IP packets per second.
    pub min_rate: u64,
    /// Highest rate.
    pub max_rate: u64,
    /// Rate at the start.
    pub start_rate: u64,
    /// Time from the capture of a frame until it has to be complete at the receiver.
    pub deadline: Nanos,
}

impl DatagramApplication for VideoCall {
    const NAME: &'static str = "video_call";
    const FLOWS: Option<&'static str> = Some("calls");
    const HARM: HarmNumbers = &[("delay_s.p99", Better::Lower), ("goodput_bps.mean", Better::Higher)];

    fn read(section: &mut Section<'_>) -> Result<VideoCall, ScenarioError> {
        let mut rate = |key, default: u64| match section.take(key) {
            Some(item) => {
                let bits = item.rate()?.bits_per_second();
                match (10_000..=1_000_000_000).contains(&bits) {
                    true => Ok((bits, Some(item))),
                    false => Err(item.error("expected 10kbit to 1gbit")),
                }
            }
            None => Ok((default, None)),
        };
        // RFC 8698, default parameters RMIN and RMAX; the start is WebRTC's.
        let (min_rate, _) = rate("min_rate", 150_000)?;
        let (max_rate, max_item) = rate("max_rate", 1_500_000.max(min_rate))?;
        let start = 300_000.clamp(min_rate, max_rate.max(min_rate));
        let (start_rate, start_item) = rate("start_rate", start)?;
        let wrong = |item: Option<Item<'_>>, range: String| match item {
            Some(item) => Err(item.error(format!("expected {range}"))),
            None => Ok(()),
        };
        if max_rate < min_rate {
            wrong(max_item, format!("at least min_rate, {min_rate}bit"))?;
        }
        if !(min_rate..=max_rate).contains(&start_rate) {
            let range = format!("min_rate to max_rate, {min_rate}bit to {max_rate}bit");
            wrong(start_item, range)?;
        }
        Ok(VideoCall {
            fps: match section.take("fps") {
                Some(item) => item.count(1..=240)? as u32,
                None => 30,
            },
            key_interval: match section.take("key_interval") {
                Some(item) => {
                    let (time, shortest) = (item.time()?, Nanos::from_millis(100));
                    if time < shortest {
                        return Err(item.error(format!("expected at least {shortest}")));
                    }
                    time
                }
                // WebRTC's encoders: one in 3,000 frames.
                None => Nanos::from_secs(100),
            },
            key_size: match section.take("key_size") {
                Some(item) => item.real(1.0..=20.0)?,
                None => 4.0,
            },
            min_rate,
            max_rate,
            start_rate,
            deadline: match section.take("deadline") {
                Some(item) => item.time()?,
                // ITU-T G.114: transit that hardly any conversation suffers from.
                None => Nanos::from_millis(150),
            },
        })
    }

    /// Rate of what the client and the server send if nothing holds them back.
    fn offered(&self) -> [Offered; 2] {
        let interval = self.frame_interval();
        let ip_bytes = self.max_rate as f64 * interval.as_secs_f64() / 8.0;
        [Offered { interval, ip_bytes }; 2]
    }

    fn ends(&self, times: &FlowTimes) -> [Box<dyn DatagramEnd>; 2] {
        let frames = (times.first).map(|first| Stream::new(first, self.frame_interval(), times.stop));
        [0, 1].map(|end| -> Box<dyn DatagramEnd> {
            Box::new(VideoEnd {
                meter: Meter::new(times.warmup),
                sender: VideoSender::new(self, frames[end], times.warmup),
                receiver: VideoReceiver::new(self, frames[1 - end], times.warmup),
                stop: times.stop,
                feedback_at: Instant::NEVER,
                last_feedback: None,
                rtt: FIRST_RTT,
            })
        })
    }
}

impl VideoCall {
    pub(super) fn frame_interval(&self) -> Nanos {
        Nanos(1_000_000_000 / u64::from(self.fps.max(1)))
    }
}

impl fmt::Display for VideoCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} frames/s at {} to {} kb/s, key frames of {} times the size each {}, complete within {}",
            self.fps,
            self.min_rate / 1_000,
            self.max_rate / 1_000,
            self.key_size,
            self.key_interval,
            self.deadline
        )
    }
}

/// Round-trip time before it is known (WebRTC: `kDefaultRttMs`).
const FIRST_RTT: Nanos = Nanos::from_millis(200);
/// Longest round-trip time that a report can show; its clock wraps around.
const LONGEST_RTT: Nanos = Nanos::from_secs(60);

struct VideoEnd {
    meter: Meter,
    sender: VideoSender,
    receiver: VideoReceiver,
    /// Time from which no report is sent.
    stop: Instant,
    /// Time of the next regular report; [`Instant::NEVER`]: nothing has arrived to report on.
    feedback_at: Instant,
    /// Departure and arrival of the other end's last report.
    last_feedback: Option<(Instant, Instant)>,
    rtt: Nanos,
}

/// Microseconds, modulo 2^32.
fn micros(time: Nanos) -> u32 {
    time.as_micros() as u32
}

impl VideoEnd {
    /// Sends a report: with losses if it is a regular one.
    fn report(&mut self, now: Instant, regular: bool, out: &mut Vec<Datagram>, record: &mut ApplicationRecord) {
        let mut feedback = self.receiver.report(now, regular);
        feedback.echo = (self.last_feedback)
            .map(|(sent, arrived)| micros(sent.since_origin()).wrapping_add(micros(now.saturating_since(arrived))));
        let message = Message::Feedback(feedback);
        out.push(self.meter.send(now, FEEDBACK_BYTES, message, record));
    }
}

impl DatagramEnd for VideoEnd {
    fn next_at(&self) -> Instant {
        let feedback = Some(self.feedback_at).filter(|at| *at < self.stop);
        self.sender.next_at().min(feedback.unwrap_or(Instant::NEVER))
    }

    fn on_timer(&mut self, now: Instant, out: &mut Vec<Datagram>, record: &mut ApplicationRecord) {
        if self.feedback_at <= now && now < self.stop {
            self.feedback_at = now + FEEDBACK_INTERVAL;
            self.report(now, true, out, record);
        }
        self.sender.on_timer(now, &mut self.meter, out, record);
    }

    fn on_datagram(
        &mut self,
        now: Instant,
        datagram: &Datagram,
        out: &mut Vec<Datagram>,
        record: &mut ApplicationRecord,
    ) {
        self.meter.receive(now, datagram, record);
        self.receiver.count(datagram.number);
        match datagram.message {
            Message::Feedback(feedback) => {
                self.last_feedback = Some((datagram.sent, now));
                let rtt = feedback.echo.map(|echo| micros(now.since_origin()).wrapping_sub(echo));
                if let Some(rtt) = rtt.map(|rtt| Nanos::from_micros(rtt.into()))
                    && rtt <= LONGEST_RTT
                {
                    self.rtt = rtt;
                }
                self.sender.on_feedback(&feedback);
            }
            Message::Frame(part) => {
                if self.feedback_at == Instant::NEVER {
                    self.feedback_at = now + FEEDBACK_INTERVAL;
                }
                let urgent = self.receiver.arrive(now, datagram, &part, self.rtt, record);
                if urgent && now < self.stop {
                    self.report(now, false, out, record);
                }
            }
            _ => {}
        }
    }

    fn finish(&mut self, record: &mut ApplicationRecord) {
        self.receiver.finish(record);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::application) const CALL: VideoCall = VideoCall {
        fps: 30,
        key_interval: Nanos::from_secs(100),
        key_size: 4.0,
        min_rate: 150_000,
        max_rate: 1_500_000,
        start_rate: 300_000,
        deadline: Nanos::from_millis(150),
    };
}

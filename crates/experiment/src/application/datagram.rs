//! Datagrams of applications, their header, and the interface of the ends that exchange them.

use crate::metrics::application::ApplicationRecord;
use gentle_units::Instant;

/// Length in bytes of the IPv4 and UDP headers.
pub const UDP_HEADERS: u32 = 28;

/// Number of 32-bit words of the header that every datagram carries in its payload.
pub const HEADER_WORDS: usize = 8;

/// Minimum length of the IP packet, bytes: all headers.
pub const SHORTEST_DATAGRAM: u32 = UDP_HEADERS + 4 * HEADER_WORDS as u32;

/// A datagram of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// Length of the IP packet, bytes.
    pub ip_bytes: u32,
    /// Number among the datagrams of its sender, from 0.
    pub number: u32,
    /// Time at which it was sent.
    pub sent: Instant,
    /// Meaning for the application.
    pub message: Message,
}

/// Meaning of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// Speech, a move in a game, or a ping.
    Packet,
    /// Answer to a ping.
    Echo {
        /// Time at which the ping was sent.
        sent: Instant,
    },
    /// Question of a lookup.
    Query {
        /// Number of the lookup.
        lookup: u32,
    },
    /// Answer to a [`Message::Query`].
    Answer {
        /// Number of the lookup.
        lookup: u32,
    },
    /// Part of a video frame.
    Frame(FramePart),
    /// Report of the receiver of a video.
    Feedback(Feedback),
}

/// Part of a video frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FramePart {
    /// Number of the frame, from 0.
    pub frame: u32,
    /// Number of datagrams of the frame.
    pub parts: u16,
    /// Whether the frame can be shown without the frames before it.
    pub key: bool,
}

/// Report of the receiver of a video to its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feedback {
    /// Estimate of the available rate, bits per second.
    pub rate: u32,
    /// Fraction of the datagrams lost since the last report, in 1/256 (RFC 3550, section 6.4.1); `None`: not reported.
    pub loss: Option<u8>,
    /// Whether a key frame is needed (picture loss indication, RFC 4585, section 6.3.1).
    pub key: bool,
    /// Time at which the last report of the other end was sent, plus the time that it has been held, in microseconds
    /// modulo 2^32, for the calculation of the round-trip time (as LSR and DLSR, RFC 3550, section 6.4.1); `None`: none
    /// has arrived.
    pub echo: Option<u32>,
}

const KEY: u32 = 1;
const HAS_LOSS: u32 = 2;
const HAS_ECHO: u32 = 4;

impl Datagram {
    /// Encodes all but the length.
    pub fn to_words(&self) -> [u32; HEADER_WORDS] {
        let [high, low] = halves(self.sent);
        let (kind, [a, b, c]) = match self.message {
            Message::Packet => (0, [0; 3]),
            Message::Echo { sent } => {
                let [high, low] = halves(sent);
                (1, [high, low, 0])
            }
            Message::Query { lookup } => (2, [lookup, 0, 0]),
            Message::Answer { lookup } => (3, [lookup, 0, 0]),
            Message::Frame(part) => {
                let key = if part.key { KEY } else { 0 };
                (4, [part.frame, part.parts.into(), key])
            }
            Message::Feedback(feedback) => {
                let mut flags = if feedback.key { KEY } else { 0 };
                if let Some(loss) = feedback.loss {
                    flags |= HAS_LOSS | u32::from(loss) << 8;
                }
                if feedback.echo.is_some() {
                    flags |= HAS_ECHO;
                }
                (5, [feedback.rate, flags, feedback.echo.unwrap_or(0)])
            }
        };
        [kind, self.number, high, low, a, b, c, 0]
    }

    /// Decodes the header of an IP packet of `ip_bytes`; `None`: the kind of message is unknown.
    pub fn from_words(words: &[u32; HEADER_WORDS], ip_bytes: u32) -> Option<Datagram> {
        let [kind, number, high, low, a, b, c, _] = *words;
        let message = match kind {
            0 => Message::Packet,
            1 => Message::Echo { sent: joined(a, b) },
            2 => Message::Query { lookup: a },
            3 => Message::Answer { lookup: a },
            4 => Message::Frame(FramePart { frame: a, parts: u16::try_from(b).ok()?, key: c & KEY != 0 }),
            5 => Message::Feedback(Feedback {
                rate: a,
                loss: (b & HAS_LOSS != 0).then_some((b >> 8) as u8),
                key: b & KEY != 0,
                echo: (b & HAS_ECHO != 0).then_some(c),
            }),
            _ => return None,
        };
        Some(Datagram { ip_bytes, number, sent: joined(high, low), message })
    }

    /// Payload in bytes.
    pub fn payload(&self) -> u32 {
        self.ip_bytes.saturating_sub(UDP_HEADERS)
    }
}

fn halves(time: Instant) -> [u32; 2] {
    [(time.0 >> 32) as u32, time.0 as u32]
}

fn joined(high: u32, low: u32) -> Instant {
    Instant(u64::from(high) << 32 | u64::from(low))
}

/// One end of a flow of datagrams. Backends deliver datagrams and call [`DatagramEnd::on_timer`] when its time has
/// come; what the end sends goes to `out`, what it measures to `record`.
pub trait DatagramEnd: Send {
    /// Time at which the end wants to act; [`Instant::NEVER`]: only when a datagram arrives, as a server that only answers.
    fn next_at(&self) -> Instant {
        Instant::NEVER
    }

    /// Acts at `now`, at or after [`DatagramEnd::next_at`]. The next time is later than `now`.
    fn on_timer(&mut self, _: Instant, _: &mut Vec<Datagram>, _: &mut ApplicationRecord) {}

    /// Takes a datagram that has arrived. Any content is valid.
    fn on_datagram(
        &mut self,
        now: Instant,
        datagram: &Datagram,
        out: &mut Vec<Datagram>,
        record: &mut ApplicationRecord,
    );

    /// Counts exchanges that are still open at the end of the run.
    fn finish(&mut self, _: &mut ApplicationRecord) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn messages() -> impl Strategy<Value = Message> {
        prop_oneof![
            Just(Message::Packet),
            any::<u64>().prop_map(|sent| Message::Echo { sent: Instant(sent) }),
            any::<u32>().prop_map(|lookup| Message::Query { lookup }),
            any::<u32>().prop_map(|lookup| Message::Answer { lookup }),
            any::<(u32, u16, bool)>().prop_map(|(frame, parts, key)| Message::Frame(FramePart { frame, parts, key })),
            any::<(u32, Option<u8>, bool, Option<u32>)>()
                .prop_map(|(rate, loss, key, echo)| { Message::Feedback(Feedback { rate, loss, key, echo }) }),
        ]
    }

    proptest! {
        #[test]
        fn decoding_reverses_encoding(message in messages(), number: u32, sent: u64, ip_bytes: u32) {
            let datagram = Datagram { ip_bytes, number, sent: Instant(sent), message };
            prop_assert_eq!(Datagram::from_words(&datagram.to_words(), ip_bytes), Some(datagram));
        }

        #[test]
        fn any_words_are_decoded_or_refused(words: [u32; HEADER_WORDS], kind in 0_u32..8) {
            let [_, rest @ ..] = words;
            let mut words = [kind; HEADER_WORDS];
            words[1..].copy_from_slice(&rest);
            let _ = Datagram::from_words(&words, 60);
        }
    }
}

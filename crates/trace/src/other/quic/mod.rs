//! QUIC, versions 1 (RFC 9000) and 2 (RFC 9369) and the drafts 23 to 34, on any port.
//!
//! An attempt is identified by the client's address and port, the server's, and the Destination Connection ID of the
//! client's first Initial packet. A client that follows a Retry or a Version Negotiation packet continues its attempt.
//!
//! QUIC never retransmits a packet; it sends the same data in a new packet. So Initial packets are deciphered, with the
//! keys that follow from the connection ID, and a packet counts as a retransmission if it has bytes of the TLS
//! handshake that were sent before in its direction. Neither the second packet of a long ClientHello nor an
//! acknowledgement counts. A packet with PING but no CRYPTO is a probe, sent after the same timeout by a sender with
//! nothing to repeat; it is counted as a separate kind, and as loss. A packet with a number seen before is a copy made
//! by the capture.
//!
//! An attempt succeeds with a Handshake packet of the client (RFC 9000, 17.2.4), which requires the server's answer, or
//! with the client's first packet with a short header.
//!
//! With a short snap length, the authentication tag cannot be checked, and only the frames at the front of a packet are
//! seen: a retransmission is recognised if its first CRYPTO frame is. The header of a client's first packet takes at
//! least 18 bytes, and reading its number needs 20 more. If these are cut off, or a client puts PING or much PADDING
//! before CRYPTO, attempts and successes are counted, but no retransmissions; a round-trip time is then taken only if
//! the client had sent a single packet.

mod attempt;
mod frames;
mod id;
mod keys;
mod opener;
mod ranges;
mod short;
#[cfg(test)]
mod vectors;

use super::Flow;
use super::counts::Counts;
use super::table::Table;
use attempt::{Attempt, Direction, Meaning, Reader};
use gentle_units::{Instant, Nanos};
use gentle_wire::{Ip, QuicInitial, QuicKind, QuicPacket, Udp};
use id::Id;
use keys::Sender;
use short::{Awaited, ShortHeaders};

/// Smallest length of a client's first Destination Connection ID, bytes (RFC 9000, 7.2).
const SHORTEST_FIRST_ID: usize = 8;

/// Key of an attempt: its flow from client to server and the client's connection ID, which is constant during the
/// handshake and in packets of both sides.
type Key = (Flow, Id);

/// QUIC handshakes.
#[derive(Debug)]
pub(super) struct Quic {
    attempts: Table<Key, Attempt>,
    awaited: ShortHeaders,
    reader: Reader,
    counts: Counts,
}

impl Quic {
    pub(super) fn new(bytes: usize, idle: Nanos) -> Quic {
        Quic {
            attempts: Table::new(bytes / 8 * 7, idle),
            awaited: ShortHeaders::new(bytes / 8),
            reader: Reader::default(),
            counts: Counts::default(),
        }
    }

    #[inline]
    pub(super) fn observe(&mut self, time: Instant, ip: &Ip, udp: &Udp<'_>) {
        match udp.payload {
            [0x80..=0xff, ..] => {
                for packet in udp.quic_packets() {
                    self.long(time, Flow::new(ip, udp.src_port, udp.dst_port), &packet);
                }
            }
            [0x40..=0x7f, ..] => self.short(time, Flow::new(ip, udp.src_port, udp.dst_port), udp.payload),
            _ => {}
        }
    }

    #[inline]
    fn short(&mut self, time: Instant, flow: Flow, packet: &[u8]) {
        if let Some(awaited) = self.awaited.find(&flow, packet) {
            self.succeed(time, &(flow, awaited.client));
        }
    }

    fn long(&mut self, time: Instant, flow: Flow, packet: &QuicPacket<'_>) {
        let from_client = (flow, Id::new(packet.scid));
        let from_server = (flow.back(), Id::new(packet.dcid));
        match &packet.kind {
            QuicKind::Initial(initial) => {
                let known = self
                    .client_initial(time, &from_client, packet, initial)
                    .or_else(|| self.server_initial(time, &from_server, packet, initial));
                if known.is_none() {
                    self.first_initial(time, from_client, packet, initial);
                }
            }
            QuicKind::ZeroRtt => {}
            QuicKind::Handshake => {
                self.succeed(time, &from_client);
                self.progress(time, &from_server, packet);
            }
            QuicKind::Retry | QuicKind::VersionNegotiation => self.restart(time, &from_server),
        }
    }

    /// Handles an Initial packet of the client of a known attempt; `None` if it is not one.
    fn client_initial(
        &mut self,
        time: Instant,
        key: &Key,
        packet: &QuicPacket<'_>,
        initial: &QuicInitial<'_>,
    ) -> Option<()> {
        let attempt = self.attempts.get(time, key)?;
        let meaning = attempt.read_client(&mut self.reader, &Id::new(packet.dcid), initial)?;
        attempt.hello.begin(time);
        let kind = match meaning {
            Meaning::Again => "initial (client)",
            Meaning::Probe => "probe",
            Meaning::Unknown => {
                attempt.unsure = true;
                return Some(());
            }
            Meaning::New | Meaning::Nothing => return Some(()),
        };
        attempt.hello.again(time);
        self.counts.retransmission(kind, &mut attempt.lossy);
        Some(())
    }

    /// Handles an Initial packet of the server of a known attempt; `None` if it is not one.
    fn server_initial(
        &mut self,
        time: Instant,
        key: &Key,
        packet: &QuicPacket<'_>,
        initial: &QuicInitial<'_>,
    ) -> Option<()> {
        let attempt = self.attempts.get(time, key)?;
        let meaning = attempt.read_server(&mut self.reader, initial)?;
        answered(time, attempt, &mut self.counts);
        let kind = match meaning {
            Meaning::New | Meaning::Unknown => {
                attempt.reply.begin(time);
                self.progress(time, key, packet);
                return Some(());
            }
            Meaning::Again => "initial (server)",
            Meaning::Probe => "probe",
            Meaning::Nothing => return Some(()),
        };
        attempt.reply.again(time);
        self.counts.retransmission(kind, &mut attempt.lossy);
        Some(())
    }

    /// Handles an Initial packet of no known attempt: begins one, if the packet opens with the keys of a first packet.
    fn first_initial(&mut self, time: Instant, key: Key, packet: &QuicPacket<'_>, initial: &QuicInitial<'_>) {
        if packet.dcid.len() < SHORTEST_FIRST_ID || !packet.fixed_bit {
            return;
        }
        let dcid = Id::new(packet.dcid);
        let version = initial.version;
        let sealed = initial.sealed.as_ref();
        let mut client = Direction::default();
        let meaning = client.read(&mut self.reader, version, &dcid, Sender::Client, sealed);
        let Some(meaning) = meaning else {
            return;
        };
        self.counts.attempt_of(version);
        let mut attempt = Attempt::new(version, dcid, client);
        attempt.hello.begin(time);
        if meaning == Meaning::Probe {
            self.counts.retransmission("probe", &mut attempt.lossy);
        }
        self.attempts.insert(time, key, attempt);
    }

    /// Records that the server continues with the TLS handshake.
    fn progress(&mut self, time: Instant, key: &Key, packet: &QuicPacket<'_>) {
        let Some(attempt) = self.attempts.get(time, key) else {
            return;
        };
        answered(time, attempt, &mut self.counts);
        attempt.hello.end();
        attempt.restart = false;
        attempt.progressed = true;
        if attempt.server_id.is_none() && !attempt.succeeded {
            let server = Id::new(packet.scid);
            attempt.server_id = Some(server);
            self.awaited.insert(Awaited { flow: key.0, server, client: key.1 });
        }
    }

    /// Records a Retry or Version Negotiation: the server asks the client to begin again, once, and before anything
    /// else.
    fn restart(&mut self, time: Instant, key: &Key) {
        let Some(attempt) = self.attempts.get(time, key) else {
            return;
        };
        if attempt.progressed {
            return;
        }
        answered(time, attempt, &mut self.counts);
        attempt.hello.end();
        if attempt.restart {
            attempt.reply.again(time);
        } else {
            attempt.restart = true;
            attempt.reply.begin(time);
        }
    }

    /// Records a success: the client has shown that it has the server's keys.
    fn succeed(&mut self, time: Instant, key: &Key) {
        let Some(attempt) = self.attempts.get(time, key) else {
            return;
        };
        if attempt.succeeded {
            return;
        }
        attempt.succeeded = true;
        self.counts.success(attempt.lost());
        attempt.hello.end();
        attempt.reply.end();
        self.awaited.remove(&key.0, &key.1);
    }

    pub(super) fn finish(self) -> Counts {
        self.counts
    }
}

/// Records the first packet of the server, and the round-trip time.
fn answered(time: Instant, attempt: &mut Attempt, counts: &mut Counts) {
    if attempt.answered {
        return;
    }
    attempt.answered = true;
    if !attempt.lossy
        && !attempt.unsure
        && let Some(begun) = attempt.hello.first()
    {
        counts.rtt(time.saturating_since(begun));
    }
}

//! State of one attempt at a QUIC connection, from its Initial packets.

use super::frames::{self, Content};
use super::id::Id;
use super::keys::{Keys, Sender};
use super::opener::{Opener, Unopened};
use super::ranges::{Range, Ranges};
use crate::other::numbers::Numbers;
use crate::other::step::Step;
use gentle_units::Nanos;
use gentle_wire::{QuicInitial, QuicSealed, QuicVersion};

/// Classification of an Initial packet within its attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// CRYPTO bytes not sent before.
    New,
    /// CRYPTO bytes sent before: a retransmission.
    Again,
    /// A PING and nothing else that would be acknowledged: a probe after the sender's timeout (RFC 9002, 6.2.4).
    Probe,
    /// An acknowledgement, the end of the connection, or a copy made by the capture.
    Nothing,
    /// Cut too short by the capture to classify.
    Unknown,
}

/// Buffers for reading packets.
#[derive(Debug, Default)]
pub(super) struct Reader {
    opener: Opener,
    crypto: Vec<Range>,
}

/// State of one direction of an attempt.
#[derive(Debug, Clone, Default)]
pub(super) struct Direction {
    keys: Option<(QuicVersion, Keys)>,
    numbers: Numbers,
    sent: Ranges,
}

impl Direction {
    /// Classifies a packet of this direction; `None` if it does not open with the keys of `dcid`.
    pub(super) fn read(
        &mut self,
        reader: &mut Reader,
        version: QuicVersion,
        dcid: &Id,
        sender: Sender,
        sealed: Option<&QuicSealed<'_>>,
    ) -> Option<Meaning> {
        let Some(sealed) = sealed else {
            return Some(Meaning::Unknown);
        };
        // Compatible version negotiation changes the version within a connection (RFC 9368, 2.3).
        let keys = match &self.keys {
            Some((known, keys)) if *known == version => *keys,
            _ => {
                let keys = Keys::new(version, dcid.as_slice(), sender);
                self.keys = Some((version, keys));
                keys
            }
        };
        let opened = match reader.opener.open(&keys, sealed, self.numbers.largest()) {
            Ok(opened) => opened,
            Err(Unopened::Cut) => return Some(Meaning::Unknown),
            Err(Unopened::Foreign) => return None,
        };
        let content = frames::read(&opened, &mut reader.crypto)?;
        if !self.numbers.insert(opened.number) {
            return Some(Meaning::Nothing);
        }
        Some(self.meaning(content, &mut reader.crypto))
    }

    fn meaning(&mut self, content: Content, crypto: &mut [Range]) -> Meaning {
        if content.crypto {
            let again = crypto.iter().any(|&range| self.sent.any(range));
            self.sent.add(crypto);
            return if again { Meaning::Again } else { Meaning::New };
        }
        match (content.whole, content.ping) {
            (false, _) => Meaning::Unknown,
            (true, true) => Meaning::Probe,
            (true, false) => Meaning::Nothing,
        }
    }
}

/// Attempt, stored by the flow from client to server and the client's connection ID.
#[derive(Debug)]
pub(super) struct Attempt {
    /// Destination Connection ID of the client's first packet, or of its first after a Retry or Version Negotiation;
    /// the keys are derived from it.
    dcid: Id,
    /// Version of the client's first packet with `dcid`.
    version: QuicVersion,
    /// Connection ID chosen by the server, once seen.
    pub(super) server_id: Option<Id>,
    client: Direction,
    server: Direction,
    /// Initial packets of the client, until the server continues.
    pub(super) hello: Step,
    /// Initial packets of the server, or its Retry, until the client continues.
    pub(super) reply: Step,
    /// Time lost before the client followed a Retry or Version Negotiation.
    lost: Nanos,
    /// Whether a Retry or Version Negotiation was seen that the client has not followed yet.
    pub(super) restart: bool,
    /// Whether a packet of the server was seen.
    pub(super) answered: bool,
    /// Whether the server has continued with the TLS handshake.
    pub(super) progressed: bool,
    /// Whether there was a retransmission.
    pub(super) lossy: bool,
    /// Whether there may have been a retransmission: the capture cut a later client packet too short to classify it.
    pub(super) unsure: bool,
    pub(super) succeeded: bool,
}

impl Attempt {
    pub(super) fn new(version: QuicVersion, dcid: Id, client: Direction) -> Attempt {
        Attempt {
            dcid,
            version,
            server_id: None,
            client,
            server: Direction::default(),
            hello: Step::default(),
            reply: Step::default(),
            lost: Nanos::ZERO,
            restart: false,
            answered: false,
            progressed: false,
            lossy: false,
            unsure: false,
            succeeded: false,
        }
    }

    /// Classifies an Initial packet of the client to `dcid`; `None` if it does not belong to this attempt.
    pub(super) fn read_client(&mut self, reader: &mut Reader, dcid: &Id, initial: &QuicInitial<'_>) -> Option<Meaning> {
        let version = initial.version;
        let sealed = initial.sealed.as_ref();
        // The token proves a Retry even if the capture lacks it.
        let may_follow = self.restart || initial.has_token && !self.progressed;
        if may_follow && (*dcid != self.dcid || version != self.version) {
            let mut client = Direction::default();
            let meaning = client.read(reader, version, dcid, Sender::Client, sealed);
            if meaning.is_some() {
                self.follow(version, *dcid, client);
                return meaning;
            }
        }
        self.client.read(reader, version, &self.dcid, Sender::Client, sealed)
    }

    /// Classifies an Initial packet of the server; `None` if it does not belong to this attempt.
    pub(super) fn read_server(&mut self, reader: &mut Reader, initial: &QuicInitial<'_>) -> Option<Meaning> {
        let sealed = initial.sealed.as_ref();
        self.server.read(reader, initial.version, &self.dcid, Sender::Server, sealed)
    }

    /// Restarts the attempt when the client follows a Retry or Version Negotiation: all data is sent again, under new
    /// keys.
    fn follow(&mut self, version: QuicVersion, dcid: Id, client: Direction) {
        self.lost = self.lost();
        self.version = version;
        self.dcid = dcid;
        self.server_id = None;
        self.client = client;
        self.server = Direction::default();
        self.hello = Step::default();
        self.reply = Step::default();
        self.restart = false;
    }

    /// Time lost to retransmission so far.
    pub(super) fn lost(&self) -> Nanos {
        self.lost + self.hello.lost() + self.reply.lost()
    }
}

//! Netlink socket: requests and answers.

use super::attribute::{self, Attribute};
use super::error::NetlinkError;
use super::message::{Object, ROOT, TcMessage, tca};
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkBuffer,
};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::collections::BTreeSet;
use std::io;

const HEADER: usize = 16;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;

/// Flag of an error message that has a text of the kernel attached (`NLM_F_ACK_TLVS`).
const ACK_TLVS: u16 = 0x200;
const ERROR_TEXT: u16 = 1;

/// Interface index of the filters of a shared block, `TCM_IFINDEX_MAGIC_BLOCK`.
const OF_BLOCK: u32 = 0xffff_ffff;

/// Maximum number of attempts to read a dump that changes while it is read.
const ATTEMPTS: usize = 5;

/// Socket for rtnetlink, which also handles qdiscs.
pub(crate) struct Netlink {
    socket: Socket,
    sequence: u32,
}

/// State of an answer after a datagram.
#[derive(Default)]
struct Progress {
    /// Whether the answer is complete.
    last: bool,
    /// Whether the objects changed during the dump.
    interrupted: bool,
}

impl Netlink {
    pub(crate) fn open() -> Result<Netlink, NetlinkError> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        socket.set_ext_ack(true)?;
        Ok(Netlink { socket, sequence: 0 })
    }

    /// All objects that match `query`.
    pub(crate) fn list(&mut self, object: Object, query: &TcMessage) -> Result<Vec<TcMessage>, NetlinkError> {
        let list = self.dump(object.new_type() + 2, &query.to_bytes(), object.name())?;
        list.iter()
            .map(|bytes| TcMessage::parse(bytes).ok_or(NetlinkError::Malformed("struct tcmsg")))
            // Kernels before 4.20 send the filters of every device. Filters of a shared block have no device.
            .filter(|message| match message {
                Ok(message) => [query.ifindex, OF_BLOCK].contains(&message.ifindex),
                Err(_) => true,
            })
            .collect()
    }

    /// Indices of the devices that have qdiscs other than their default.
    pub(crate) fn devices_with_qdiscs(&mut self) -> Result<BTreeSet<u32>, NetlinkError> {
        let (object, query) = (Object::Qdisc, TcMessage::about(0, 0));
        let list = self.dump(object.new_type() + 2, &query.to_bytes(), object.name())?;
        let qdiscs = list.iter().filter_map(|bytes| TcMessage::parse(bytes));
        let set_up = qdiscs.filter(|qdisc| qdisc.handle != 0);
        Ok(set_up.map(|qdisc| qdisc.ifindex).collect())
    }

    /// Creates an object that does not exist yet.
    pub(crate) fn create(&mut self, object: Object, message: &TcMessage) -> Result<(), NetlinkError> {
        let flags = NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK;
        self.send(object.new_type(), flags, &message.to_bytes())?;
        self.answer(object.name(), &mut Vec::new())
    }

    /// Reads the answer to a request with `NLM_F_ACK` up to its acknowledgement, which may be a separate datagram.
    fn answer(&mut self, what: &'static str, list: &mut Vec<Vec<u8>>) -> Result<(), NetlinkError> {
        while !self.receive(what, list)?.last {}
        Ok(())
    }

    /// Whether there is an action of this kind with this index in the network namespace.
    pub(crate) fn has_action(&mut self, kind: &str, index: u32) -> Result<bool, NetlinkError> {
        const RTM_GETACTION: u16 = 50;
        // `TCA_ACT_TAB`, the first action, and in it `TCA_ACT_KIND` and `TCA_ACT_INDEX`.
        let nested = |raw_kind, parts: &[Attribute]| {
            let mut value = Vec::new();
            parts.iter().for_each(|part| part.write(&mut value));
            Attribute { raw_kind, value }
        };
        let name = [kind.as_bytes(), &[0]].concat();
        let parts = [(1, name), (3, index.to_ne_bytes().to_vec())];
        let parts = parts.map(|(raw_kind, value)| Attribute { raw_kind, value });
        // `struct tcamsg`: the family, unspecified, and padding.
        let mut payload = vec![0; 4];
        nested(1, &[nested(1, &parts)]).write(&mut payload);
        self.send(RTM_GETACTION, NLM_F_ACK, &payload)?;
        match self.answer("an action", &mut Vec::new()) {
            Err(NetlinkError::Refused { .. }) => Ok(false),
            answer => answer.map(|()| true),
        }
    }

    /// Whether the kernel supports a kind of qdisc; loads its module if there is one. `None` if the answer is
    /// inconclusive.
    ///
    /// The request creates a qdisc with a size table (`TCA_STAB`) that lacks its parameters. A kernel that supports the
    /// kind rejects the table before anything has changed; only one that does not reports an unknown kind
    /// (`qdisc_create` in net/sched/sch_api.c). Files under /sys and /lib/modules are less reliable: services may not
    /// see them.
    pub(crate) fn has_qdisc(&mut self, ifindex: u32, kind: &str) -> Result<Option<bool>, NetlinkError> {
        let mut query = TcMessage::about(ifindex, ROOT);
        let name = [kind.as_bytes(), &[0]].concat();
        query.attributes =
            vec![Attribute { raw_kind: tca::KIND, value: name }, Attribute { raw_kind: tca::STAB, value: Vec::new() }];
        let flags = NLM_F_CREATE | NLM_F_EXCL | NLM_F_REPLACE | NLM_F_ACK;
        self.send(Object::Qdisc.new_type(), flags, &query.to_bytes())?;
        match self.receive(Object::Qdisc.name(), &mut Vec::new()) {
            Err(NetlinkError::Refused { code, .. }) => Ok(match code {
                io::ErrorKind::NotFound => Some(false),
                io::ErrorKind::InvalidInput => Some(true),
                _ => None,
            }),
            answer => answer.map(|_| None),
        }
    }

    /// Payloads of all answers to a request.
    pub(crate) fn dump(
        &mut self,
        message_type: u16,
        payload: &[u8],
        what: &'static str,
    ) -> Result<Vec<Vec<u8>>, NetlinkError> {
        for _ in 0..ATTEMPTS {
            self.send(message_type, NLM_F_DUMP, payload)?;
            let mut list = Vec::new();
            let mut interrupted = false;
            loop {
                let progress = self.receive(what, &mut list)?;
                interrupted |= progress.interrupted;
                if progress.last {
                    break;
                }
            }
            if !interrupted {
                return Ok(list);
            }
        }
        Err(NetlinkError::Refused {
            what,
            reason: "it kept changing while it was read; try again".to_owned(),
            code: io::ErrorKind::WouldBlock,
        })
    }

    fn send(&mut self, message_type: u16, flags: u16, payload: &[u8]) -> Result<(), NetlinkError> {
        self.sequence = self.sequence.wrapping_add(1);
        let length = u32::try_from(HEADER + payload.len()).map_err(|_| NetlinkError::Malformed("a message of 4 GB"))?;
        let mut bytes = vec![0; HEADER];
        bytes.extend(payload);
        let mut header = NetlinkBuffer::new(&mut bytes);
        header.set_length(length);
        header.set_message_type(message_type);
        header.set_flags(flags | NLM_F_REQUEST);
        header.set_sequence_number(self.sequence);
        header.set_port_number(0);
        self.socket.send(&bytes, 0)?;
        Ok(())
    }

    fn receive(&self, what: &'static str, list: &mut Vec<Vec<u8>>) -> Result<Progress, NetlinkError> {
        let (bytes, _) = self.socket.recv_from_full()?;
        let mut rest = bytes.as_slice();
        let mut progress = Progress::default();
        while rest.len() >= HEADER {
            let message =
                NetlinkBuffer::new_checked(rest).map_err(|_| NetlinkError::Malformed("a message's length"))?;
            let length = (message.length() as usize).next_multiple_of(4);
            let current = message.sequence_number() == self.sequence;
            progress.interrupted |= current && message.flags() & NLM_F_DUMP_INTR != 0;
            match message.message_type() {
                _ if !current => {}
                NLMSG_ERROR => {
                    error(what, message.payload(), message.flags())?;
                    progress.last = true;
                }
                NLMSG_DONE => progress.last = true,
                _ => list.push(message.payload().to_owned()),
            }
            rest = rest.get(length..).unwrap_or_default();
        }
        Ok(progress)
    }
}

/// Parses an error message; code 0 means success.
fn error(what: &'static str, payload: &[u8], flags: u16) -> Result<(), NetlinkError> {
    let code = payload
        .first_chunk()
        .map(|bytes| i32::from_ne_bytes(*bytes))
        .ok_or(NetlinkError::Malformed("an error without code"))?;
    if code == 0 {
        return Ok(());
    }
    // The request follows the code; after a failure all of it, followed by the text.
    let text = (flags & ACK_TLVS != 0)
        .then(|| {
            let request = payload.get(4..)?;
            let length = u32::from_ne_bytes(*request.first_chunk()?) as usize;
            let attributes = Attribute::all(request.get(length.next_multiple_of(4)..)?);
            attribute::find(&attributes, ERROR_TEXT).map(attribute::text)
        })
        .flatten();
    let cause = io::Error::from_raw_os_error(code.saturating_neg());
    Err(NetlinkError::Refused { what, reason: text.unwrap_or_else(|| cause.to_string()), code: cause.kind() })
}

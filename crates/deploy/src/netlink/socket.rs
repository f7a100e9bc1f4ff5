//! Requests about queue disciplines.

use super::attribute::Attribute;
use super::error::NetlinkError;
use super::message::{Object, ROOT, TcMessage, tca};
use gentle_netlink::{NetlinkSocket, Protocol};
use netlink_packet_core::{NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use std::collections::BTreeSet;
use std::io;

/// Interface index of the filters of a shared block, `TCM_IFINDEX_MAGIC_BLOCK`.
const OF_BLOCK: u32 = 0xffff_ffff;

/// Socket for rtnetlink, which also handles qdiscs.
pub(crate) struct Netlink(NetlinkSocket);

impl Netlink {
    pub(crate) fn open() -> Result<Netlink, NetlinkError> {
        let socket = NetlinkSocket::open(Protocol::Route);
        socket.map(Netlink).map_err(|error| NetlinkError::about("a socket", error))
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
        let flags = NLM_F_CREATE | NLM_F_EXCL;
        self.change(object.new_type(), flags, &message.to_bytes(), object.name())
    }

    /// Sends a request, and reads its acknowledgement.
    fn change(
        &mut self,
        message_type: u16,
        flags: u16,
        payload: &[u8],
        what: &'static str,
    ) -> Result<(), NetlinkError> {
        let answer = self.0.request(message_type, flags | NLM_F_ACK, payload, |_| ());
        answer.map(|_| ()).map_err(|error| NetlinkError::about(what, error))
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
        match self.change(RTM_GETACTION, 0, &payload, "an action") {
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
        let flags = NLM_F_CREATE | NLM_F_EXCL | NLM_F_REPLACE;
        match self.change(Object::Qdisc.new_type(), flags, &query.to_bytes(), Object::Qdisc.name()) {
            Err(NetlinkError::Refused { code, .. }) => Ok(match code {
                io::ErrorKind::NotFound => Some(false),
                io::ErrorKind::InvalidInput => Some(true),
                _ => None,
            }),
            answer => answer.map(|()| None),
        }
    }

    /// Payloads of all answers to a request.
    pub(crate) fn dump(
        &mut self,
        message_type: u16,
        payload: &[u8],
        what: &'static str,
    ) -> Result<Vec<Vec<u8>>, NetlinkError> {
        let dump = self.0.dump(message_type, payload, Vec::new, |list: &mut Vec<Vec<u8>>, message| {
            list.push(message.to_owned());
        });
        let dump = dump.map_err(|error| NetlinkError::about(what, error))?;
        match dump.interrupted {
            false => Ok(dump.value),
            true => Err(NetlinkError::Refused {
                what,
                reason: "it kept changing while it was read; try again".to_owned(),
                code: io::ErrorKind::WouldBlock,
            }),
        }
    }
}

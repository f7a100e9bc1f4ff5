//! Messages about qdiscs, classes and filters: `struct tcmsg` with attributes (kernel: `linux/rtnetlink.h`).

use super::attribute::{self, Attribute};
use gentle_netlink::{text, word};
use netlink_packet_core::NLA_F_NESTED;
use serde::{Deserialize, Serialize};

/// Type of the object of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Object {
    Qdisc,
    Class,
    Filter,
    /// Chain of filters.
    Chain,
}

impl Object {
    /// Message type `RTM_NEWQDISC` and similar; the types for deletion and query are larger by one and two.
    pub(crate) fn new_type(self) -> u16 {
        match self {
            Object::Qdisc => 36,
            Object::Class => 40,
            Object::Filter => 44,
            Object::Chain => 100,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Object::Qdisc => "a qdisc",
            Object::Class => "a class",
            Object::Filter => "a filter",
            Object::Chain => "a chain of filters",
        }
    }
}

/// Attribute types common to all objects.
pub(crate) mod tca {
    pub(crate) const KIND: u16 = 1;
    pub(crate) const OPTIONS: u16 = 2;
    pub(crate) const STATS2: u16 = 7;
    pub(crate) const STAB: u16 = 8;
    pub(crate) const CHAIN: u16 = 11;
    pub(crate) const INGRESS_BLOCK: u16 = 13;
    pub(crate) const EGRESS_BLOCK: u16 = 14;
}

/// Parent of the root qdisc for outgoing packets, `TC_H_ROOT`.
pub(crate) const ROOT: u32 = 0xffff_ffff;

/// Parent of the qdisc for incoming packets, `TC_H_INGRESS`.
pub(crate) const INGRESS: u32 = 0xffff_fff1;

const HEADER: usize = 20;

/// Message about a qdisc, class or filter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TcMessage {
    pub(crate) ifindex: u32,
    pub(crate) handle: u32,
    pub(crate) parent: u32,
    /// Preference and protocol of a filter; reference count of a qdisc.
    pub(crate) info: u32,
    pub(crate) attributes: Vec<Attribute>,
}

impl TcMessage {
    /// Query about a device, or about the objects under a parent on it.
    pub(crate) fn about(ifindex: u32, parent: u32) -> TcMessage {
        TcMessage { ifindex, handle: 0, parent, info: 0, attributes: Vec::new() }
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<TcMessage> {
        Some(TcMessage {
            ifindex: word(bytes, 4)?,
            handle: word(bytes, 8)?,
            parent: word(bytes, 12)?,
            info: word(bytes, 16)?,
            attributes: Attribute::all(bytes.get(HEADER..)?),
        })
    }

    /// Wire format of the message.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        // Family (unspecified) and padding.
        let mut bytes = vec![0; 4];
        for word in [self.ifindex, self.handle, self.parent, self.info] {
            bytes.extend(word.to_ne_bytes());
        }
        for attribute in &self.attributes {
            attribute.write(&mut bytes);
        }
        bytes
    }

    pub(crate) fn attribute(&self, kind: u16) -> Option<&[u8]> {
        attribute::find(&self.attributes, kind)
    }

    /// Kind of the qdisc, class or filter.
    pub(crate) fn kind(&self) -> String {
        self.attribute(tca::KIND).map(text).unwrap_or_default()
    }

    /// Configuration without statistics, in the form that the kernel accepts.
    pub(crate) fn settings(&self, object: Object) -> TcMessage {
        let mut settings = self.clone();
        if object != Object::Filter {
            // The reference count of a qdisc and the qdisc of a class cannot be set.
            settings.info = 0;
        }
        settings
            .attributes
            .retain(|attribute| [tca::KIND, tca::OPTIONS, tca::STAB, tca::CHAIN].contains(&attribute.kind()));
        settings
    }
}

impl TcMessage {
    /// Sets the flag that marks the options as nested attributes.
    pub(crate) fn flag_options_as_nested(&mut self) {
        for options in &mut self.attributes {
            if options.kind() == tca::OPTIONS {
                options.raw_kind |= NLA_F_NESTED;
            }
        }
    }

    /// Modifies the nested options.
    pub(crate) fn change_options(&mut self, mut change: impl FnMut(&mut Vec<Attribute>)) {
        for options in &mut self.attributes {
            if options.kind() == tca::OPTIONS {
                options.change_nested(&mut change);
            }
        }
    }

    /// Attributes in the options.
    pub(crate) fn options(&self) -> Vec<Attribute> {
        Attribute::all(self.attribute(tca::OPTIONS).unwrap_or_default())
    }

    /// Number of the chain of a filter or chain; 0 without one.
    pub(crate) fn chain(&self) -> u32 {
        self.attribute(tca::CHAIN).and_then(|number| word(number, 0)).unwrap_or(0)
    }
}

/// Handle in the notation of `tc`.
pub(crate) fn format_handle(value: u32) -> String {
    match (value >> 16, value & 0xffff) {
        (0xffff, 0xffff) => "root".to_owned(),
        (major, 0) => format!("{major:x}:"),
        (major, minor) => format!("{major:x}:{minor:x}"),
    }
}

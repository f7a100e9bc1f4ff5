//! Messages about qdiscs, classes and filters: `struct tcmsg` and attributes (kernel: `linux/rtnetlink.h`).

use super::attribute::{self, Attribute};
use serde::{Deserialize, Serialize};

/// What a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Object {
    Qdisc,
    Class,
    Filter,
}

impl Object {
    /// `RTM_NEWQDISC` and its like; to delete is one more, to get two more.
    pub(crate) fn new_type(self) -> u16 {
        match self {
            Object::Qdisc => 36,
            Object::Class => 40,
            Object::Filter => 44,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Object::Qdisc => "a qdisc",
            Object::Class => "a class",
            Object::Filter => "a filter",
        }
    }
}

/// The attributes of all three objects.
pub(crate) mod tca {
    pub(crate) const KIND: u16 = 1;
    pub(crate) const OPTIONS: u16 = 2;
    pub(crate) const STATS2: u16 = 7;
    pub(crate) const STAB: u16 = 8;
    pub(crate) const CHAIN: u16 = 11;
    pub(crate) const INGRESS_BLOCK: u16 = 13;
}

/// The parent of what handles leaving packets, `TC_H_ROOT`.
pub(crate) const ROOT: u32 = 0xffff_ffff;

/// The parent of what handles arriving packets, `TC_H_INGRESS`.
pub(crate) const INGRESS: u32 = 0xffff_fff1;

const HEADER: usize = 20;

/// A qdisc, a class or a filter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TcMessage {
    pub(crate) ifindex: u32,
    pub(crate) handle: u32,
    pub(crate) parent: u32,
    /// Of a filter its preference and protocol, of a qdisc how often it is referred to.
    pub(crate) info: u32,
    pub(crate) attributes: Vec<Attribute>,
}

impl TcMessage {
    /// A question about a device, or about what a parent on it has.
    pub(crate) fn about(ifindex: u32, parent: u32) -> TcMessage {
        TcMessage {
            ifindex,
            handle: 0,
            parent,
            info: 0,
            attributes: Vec::new(),
        }
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<TcMessage> {
        let word = |at: usize| {
            let bytes = bytes.get(at..at + 4)?;
            Some(u32::from_ne_bytes(bytes.try_into().ok()?))
        };
        Some(TcMessage {
            ifindex: word(4)?,
            handle: word(8)?,
            parent: word(12)?,
            info: word(16)?,
            attributes: Attribute::all(bytes.get(HEADER..)?),
        })
    }

    /// As the kernel reads it.
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

    /// The name of the qdisc or filter.
    pub(crate) fn kind(&self) -> String {
        self.attribute(tca::KIND)
            .map(attribute::text)
            .unwrap_or_default()
    }

    /// Only what says how it is set up, not what has happened to it: this is what the kernel accepts back.
    pub(crate) fn settings(&self, object: Object) -> TcMessage {
        let mut settings = self.clone();
        if object != Object::Filter {
            // References to a qdisc, or the qdisc of a class: neither is set.
            settings.info = 0;
        }
        settings.attributes.retain(|attribute| {
            [
                tca::KIND,
                tca::OPTIONS,
                tca::STAB,
                tca::CHAIN,
                tca::INGRESS_BLOCK,
            ]
            .contains(&attribute.kind())
        });
        settings
    }
}

impl TcMessage {
    /// Changes what its options are made of.
    pub(crate) fn change_options(&mut self, change: impl Fn(&mut Vec<Attribute>)) {
        for options in &mut self.attributes {
            if options.kind() == tca::OPTIONS {
                let mut parts = Attribute::all(&options.value);
                change(&mut parts);
                options.value.clear();
                for part in parts {
                    part.write(&mut options.value);
                }
            }
        }
    }
}

/// A handle as `tc` writes it.
pub(crate) fn format_handle(value: u32) -> String {
    match (value >> 16, value & 0xffff) {
        (0xffff, 0xffff) => "root".to_owned(),
        (major, 0) => format!("{major:x}:"),
        (major, minor) => format!("{major:x}:{minor:x}"),
    }
}

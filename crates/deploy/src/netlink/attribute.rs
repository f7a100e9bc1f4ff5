//! Netlink attributes: type, length, value.

use netlink_packet_core::{NLA_TYPE_MASK, NlasIterator};
use serde::{Deserialize, Serialize};

/// Netlink attribute; its value may contain nested attributes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Attribute {
    /// Attribute type, including the nested flag if the kernel set it.
    pub(crate) raw_kind: u16,
    /// Attribute value.
    pub(crate) value: Vec<u8>,
}

impl Attribute {
    /// Attribute type without flags.
    pub(crate) fn kind(&self) -> u16 {
        self.raw_kind & NLA_TYPE_MASK
    }

    /// Attributes in `bytes`; parsing stops at the first malformed one.
    pub(crate) fn all(bytes: &[u8]) -> Vec<Attribute> {
        NlasIterator::new(bytes)
            .map_while(Result::ok)
            .map(|attribute| Attribute {
                raw_kind: attribute.kind()
                    | (u16::from(attribute.nested_flag()) << 15)
                    | (u16::from(attribute.network_byte_order_flag()) << 14),
                value: attribute.value().to_owned(),
            })
            .collect()
    }

    /// Modifies the attributes that are nested in the value.
    pub(crate) fn change_nested(&mut self, change: impl FnOnce(&mut Vec<Attribute>)) {
        let mut parts = Attribute::all(&self.value);
        change(&mut parts);
        self.value.clear();
        for part in parts {
            part.write(&mut self.value);
        }
    }

    /// Appends the attribute in wire format.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        const HEADER: usize = 4;
        // Attributes received from the kernel fit in the length field.
        let length = u16::try_from(HEADER + self.value.len()).unwrap_or(u16::MAX);
        to.extend(length.to_ne_bytes());
        to.extend(self.raw_kind.to_ne_bytes());
        to.extend(&self.value);
        to.resize(to.len().next_multiple_of(HEADER), 0);
    }
}

/// Value of the first attribute of this type.
pub(crate) fn find(attributes: &[Attribute], kind: u16) -> Option<&[u8]> {
    attributes.iter().find(|attribute| attribute.kind() == kind).map(|attribute| attribute.value.as_slice())
}

#[cfg(test)]
mod tests {
    use super::Attribute;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn written_and_read_again_is_the_same(
            list in prop::collection::vec((any::<u16>(), prop::collection::vec(any::<u8>(), 0..40)), 0..8)
        ) {
            let list: Vec<Attribute> = list
                .into_iter()
                .map(|(raw_kind, value)| Attribute { raw_kind, value })
                .collect();
            let mut bytes = Vec::new();
            for attribute in &list {
                attribute.write(&mut bytes);
            }
            prop_assert_eq!(Attribute::all(&bytes), list);
        }

        #[test]
        fn no_bytes_are_too_bad(bytes: Vec<u8>) {
            Attribute::all(&bytes);
        }
    }
}

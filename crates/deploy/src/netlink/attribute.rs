//! Type, length, value.

use netlink_packet_core::{NLA_TYPE_MASK, NlasIterator};
use serde::{Deserialize, Serialize};

/// One attribute; its value may hold others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Attribute {
    /// Its type, with the flag that says it is nested where the kernel set that.
    pub(crate) raw_kind: u16,
    /// Its value.
    pub(crate) value: Vec<u8>,
}

impl Attribute {
    /// Its type.
    pub(crate) fn kind(&self) -> u16 {
        self.raw_kind & NLA_TYPE_MASK
    }

    /// All that are in `bytes`; what comes after damage is left out.
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

    /// Appends it as the kernel reads it.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        const HEADER: usize = 4;
        // No attribute that the kernel sent is longer than its own length field.
        let length = u16::try_from(HEADER + self.value.len()).unwrap_or(u16::MAX);
        to.extend(length.to_ne_bytes());
        to.extend(self.raw_kind.to_ne_bytes());
        to.extend(&self.value);
        to.resize(to.len().next_multiple_of(HEADER), 0);
    }
}

/// The value of the first attribute of that type.
pub(crate) fn find(attributes: &[Attribute], kind: u16) -> Option<&[u8]> {
    attributes
        .iter()
        .find(|attribute| attribute.kind() == kind)
        .map(|attribute| attribute.value.as_slice())
}

/// Text up to its final zero.
pub(crate) fn text(value: &[u8]) -> String {
    let end = value.iter().position(|byte| *byte == 0);
    String::from_utf8_lossy(&value[..end.unwrap_or(value.len())]).into_owned()
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

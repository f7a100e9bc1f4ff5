//! Contents of messages: numbers, and attributes, which have a type, a length and a value.

use netlink_packet_core::{NLA_HEADER_SIZE, NlasIterator};

/// Value of the first attribute of this type; parsing stops at the first malformed attribute.
pub fn find(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    let attribute = NlasIterator::new(bytes).map_while(Result::ok).find(|attribute| attribute.kind() == kind)?;
    let length = usize::from(attribute.length());
    attribute.into_inner().get(NLA_HEADER_SIZE..length)
}

/// Number at an offset, in the machine's byte order.
pub fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Text up to the terminating zero.
pub fn text(value: &[u8]) -> String {
    let end = value.iter().position(|byte| *byte == 0);
    String::from_utf8_lossy(&value[..end.unwrap_or(value.len())]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{find, text, word};
    use proptest::prelude::*;

    #[test]
    fn an_attribute_is_found_by_type() {
        let bytes = [&5_u16.to_ne_bytes()[..], &1_u16.to_ne_bytes(), &[7, 0, 0, 0]].concat();
        let bytes = [&bytes[..], &7_u16.to_ne_bytes(), &3_u16.to_ne_bytes(), b"lo\0\0"].concat();
        assert_eq!((find(&bytes, 1), find(&bytes, 2)), (Some(&[7][..]), None));
        assert_eq!(find(&bytes, 3).map(text).as_deref(), Some("lo"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_searched(bytes: Vec<u8>, kind: u16, at: usize) {
            find(&bytes, kind).map(text);
            word(&bytes, at);
        }
    }
}

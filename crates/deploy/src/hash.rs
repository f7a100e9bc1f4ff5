//! Hash for names and numbers that have to be the same whenever a plan is made.

/// 32-bit FNV-1a hash.
pub(crate) fn fnv1a(bytes: impl IntoIterator<Item = u8>) -> u32 {
    bytes.into_iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::fnv1a;

    /// Values of draft-eastlake-fnv, appendix C.
    #[test]
    fn published_values() {
        assert_eq!(fnv1a(*b""), 0x811c_9dc5);
        assert_eq!(fnv1a(*b"a"), 0xe40c_292c);
        assert_eq!(fnv1a(*b"foobar"), 0xbf9c_f968);
    }
}

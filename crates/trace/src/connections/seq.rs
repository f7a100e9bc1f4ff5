//! Sequence number arithmetic (RFC 9293, 3.4): numbers wrap around and are compared by their difference.

/// Whether `a` comes after `b`.
#[inline]
pub(crate) fn after(a: u32, b: u32) -> bool {
    distance(a, b) > 0
}

/// Signed distance from `b` to `a`; negative if `a` comes first.
#[inline]
pub(crate) fn distance(a: u32, b: u32) -> i32 {
    a.wrapping_sub(b) as i32
}

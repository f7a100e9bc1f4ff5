//! Sequence numbers (RFC 9293, 3.4): they wrap around, so they are compared by their difference.

/// Whether `a` comes after `b`.
#[inline]
pub(crate) fn after(a: u32, b: u32) -> bool {
    distance(a, b) > 0
}

/// From `b` to `a`, negative when `a` comes first.
#[inline]
pub(crate) fn distance(a: u32, b: u32) -> i32 {
    a.wrapping_sub(b) as i32
}

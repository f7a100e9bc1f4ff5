//! Reno: RFC 5681, section 3.1.

use super::Window;

/// Congestion avoidance: one segment a window.
#[inline]
pub(super) fn avoid(window: &mut Window, acked: u32) {
    window.additive_increase(window.cwnd, acked);
}

/// RFC 5681, equation 4: half, at least two segments.
pub(super) fn ssthresh(cwnd: u32) -> u32 {
    (cwnd / 2).max(2)
}

//! Reno: RFC 5681, section 3.1.

use super::{Controller, Window};
use crate::profile::Profile;
use gentle_units::Instant;

/// Smallest `ssthresh` in segments: RFC 5681, equation 4.
pub(super) const MIN_SSTHRESH: u32 = 2;

/// Reno, without state beyond the window.
#[derive(Debug, Clone)]
pub(crate) struct Reno;

impl Controller for Reno {
    fn new(_: &Profile, _: Instant) -> Reno {
        Reno
    }

    /// Grows by a segment per window (RFC 5681, equation 3).
    #[inline]
    fn on_ack(&mut self, window: &mut Window, _: Instant, acked: u32) {
        window.additive_increase(window.cwnd, acked);
    }

    /// Returns half the window (RFC 5681, equation 4).
    fn on_loss(&mut self, cwnd: u32) -> u32 {
        (cwnd / 2).max(MIN_SSTHRESH)
    }
}

//! DCTCP: RFC 8257, in the fixed-point arithmetic of `net/ipv4/tcp_dctcp.c`.

use super::reno::{self, Reno};
use super::{Controller, Flow, Opening, Progress, Window};
use crate::profile::Profile;
use gentle_units::Instant;

/// α = 1, which the first connections start from (`dctcp_alpha_on_init`).
const ONE: u32 = 1024;
/// log2 of 1/g, the weight of a new sample (RFC 8257, section 4.2: g = 1/16).
const SHIFT_G: u32 = 4;

/// DCTCP on a connection that agreed on ECN, else Reno.
#[derive(Debug, Clone)]
pub(crate) struct Dctcp {
    ecn: bool,
    /// Moving average α of the fraction of segments that were marked, in units of 1/1024.
    alpha: u32,
    /// Segments delivered in the current observation window, and how many of them the peer reported as marked.
    delivered: u32,
    marked: u32,
    /// Position at which the observation window ends.
    window_end: u64,
    /// Congestion window at the last reduction, to which an undo returns (`loss_cwnd`).
    before_reduction: u32,
}

impl Dctcp {
    /// Ends the observation window (RFC 8257, section 3.3, steps 5 to 7).
    fn update_alpha(&mut self) {
        self.alpha -= match self.alpha >> SHIFT_G {
            0 => self.alpha,
            share => share,
        };
        let fraction = (u64::from(self.marked) << (10 - SHIFT_G)) / u64::from(self.delivered.max(1));
        self.alpha = ONE.min(self.alpha + fraction as u32);
        self.delivered = 0;
        self.marked = 0;
    }
}

impl Controller for Dctcp {
    const NEEDS_ECN: bool = true;

    fn new(_: &Profile, _: Instant) -> Dctcp {
        Dctcp { ecn: false, alpha: ONE, delivered: 0, marked: 0, window_end: 0, before_reduction: 0 }
    }

    fn on_open(&mut self, opening: &Opening, _: Option<&mut Flow>) {
        self.ecn = opening.ecn;
        self.window_end = opening.nxt;
    }

    #[inline]
    fn on_delivered(&mut self, progress: &Progress, marked: u32) {
        self.delivered += progress.delivered;
        self.marked += marked;
        if progress.una >= self.window_end {
            self.update_alpha();
            self.window_end = progress.nxt;
        }
    }

    /// Grows as Reno does (RFC 8257, section 3.3, step 9).
    #[inline]
    fn on_ack(&mut self, window: &mut Window, now: Instant, acked: u32) {
        Reno.on_ack(window, now, acked);
    }

    /// Returns cwnd·(1 − α/2) (RFC 8257, section 3.3, step 8).
    fn on_loss(&mut self, cwnd: u32) -> u32 {
        if !self.ecn {
            return Reno.on_loss(cwnd);
        }
        self.before_reduction = cwnd;
        let reduction = (u64::from(cwnd) * u64::from(self.alpha)) >> 11;
        (cwnd - reduction as u32).max(reno::MIN_SSTHRESH)
    }

    /// A lost segment halves the window whatever α is (RFC 8257, section 3.5).
    fn on_recovery(&mut self, window: &mut Window) {
        if self.ecn {
            self.before_reduction = window.cwnd;
            window.ssthresh = Reno.on_loss(window.cwnd);
        }
    }

    fn on_timeout(&mut self, window: &mut Window, _: Instant) {
        self.on_recovery(window);
    }

    fn on_undo(&mut self, window: &mut Window, prior_cwnd: u32) {
        let before = if self.ecn { self.before_reduction } else { prior_cwnd };
        window.cwnd = window.cwnd.max(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dctcp(alpha: u32) -> Dctcp {
        Dctcp { ecn: true, alpha, ..Dctcp::new(&Profile::default(), Instant::ZERO) }
    }

    /// A window of `delivered` segments, of which `marked` were.
    fn observe(dctcp: &mut Dctcp, delivered: u32, marked: u32) {
        let progress = |delivered, una| Progress { now: Instant::ZERO, delivered, una, nxt: una + 1000 };
        dctcp.on_delivered(&progress(marked, 0), marked);
        let end = dctcp.window_end;
        dctcp.on_delivered(&progress(delivered - marked, end), 0);
    }

    /// α ← (1 − g)·α + g·F, with g = 1/16.
    #[test]
    fn alpha_is_a_moving_average_of_the_marked_fraction() {
        let mut all = dctcp(0);
        all.window_end = 1;
        let mut expected = 0.0;
        for _ in 0..60 {
            observe(&mut all, 100, 30);
            expected += (0.3 - expected) / 16.0;
            let alpha = f64::from(all.alpha) / f64::from(ONE);
            assert!((alpha - expected).abs() < 0.02, "{alpha}, {expected}");
        }
        for _ in 0..200 {
            observe(&mut all, 100, 0);
        }
        assert_eq!(all.alpha, 0);
    }

    #[test]
    fn a_mark_costs_half_of_alpha_and_a_loss_half_of_the_window() {
        let mut quarter = dctcp(ONE / 4);
        assert_eq!(quarter.on_loss(80), 70);
        assert_eq!(dctcp(ONE).on_loss(80), 40);
        assert_eq!(dctcp(ONE).on_loss(3), 2);
        let mut window = Window { cwnd: 80, credit: 0, ssthresh: 70 };
        quarter.on_recovery(&mut window);
        assert_eq!(window.ssthresh, 40);
    }

    #[test]
    fn without_ecn_it_is_reno() {
        let mut plain = Dctcp::new(&Profile::default(), Instant::ZERO);
        plain.alpha = 0;
        assert_eq!(plain.on_loss(80), 40);
    }
}

//! The reason for which an attempt was slow, from the classification of its retransmissions and the state of the path when
//! its packets were lost.

use super::exchange::{CLIENT, SERVER};
use super::paths::PathState;
use crate::results::LossDirection;

/// Reason for which an answered attempt was slow, as far as the attempt alone shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Lost while the path was delayed: in an overflowing queue.
    LostInQueue,
    /// Lost while the path was not delayed.
    LostWithoutQueue,
    /// Lost, and nothing is known of the path.
    Lost,
    /// A server next to the capture point did not answer: its listen queue was full, or the SYN was lost in between.
    IgnoredSyn,
    /// The server ignored an ACK: its listen queue was full.
    ListenQueue,
    /// The server waited for data (`TCP_DEFER_ACCEPT`).
    DeferredAccept,
    /// Either of the two, or an ACK was lost beyond the capture point.
    Deferred,
    /// The answer took longer than the timeout.
    LateAnswer,
    /// The server still had a connection with the same addresses and ports.
    PortReuse,
    /// The server refused first.
    Refused,
    /// The client reset a SYN/ACK first.
    Reset,
    /// Packets were held up before the capture point.
    HeldUp,
}

impl Trouble {
    /// Number of variants.
    pub(crate) const COUNT: usize = 12;
    /// All variants in order.
    pub(crate) const ALL: [Trouble; Trouble::COUNT] = [
        Trouble::LostInQueue,
        Trouble::LostWithoutQueue,
        Trouble::Lost,
        Trouble::IgnoredSyn,
        Trouble::ListenQueue,
        Trouble::DeferredAccept,
        Trouble::Deferred,
        Trouble::LateAnswer,
        Trouble::PortReuse,
        Trouble::Refused,
        Trouble::Reset,
        Trouble::HeldUp,
    ];

    /// Whether packets were lost on the path.
    pub(crate) fn is_loss(self) -> bool {
        matches!(self, Trouble::LostInQueue | Trouble::LostWithoutQueue | Trouble::Lost)
    }
}

/// Lost packets of an attempt by the state of the path.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LostPackets {
    queued: u32,
    idle: u32,
    unknown: u32,
    /// By half of the path.
    halves: [u32; 2],
    /// By the side to which they were sent, as far as that shows.
    toward: [u32; 2],
}

impl LostPackets {
    /// Adds `n` packets lost in this half of the path on their way to a side, if known, while the path was in this state.
    pub(super) fn add(&mut self, half: usize, to: Option<usize>, path: PathState, n: u32) {
        let count = match path.queue {
            Some(true) => &mut self.queued,
            Some(false) => &mut self.idle,
            None => &mut self.unknown,
        };
        *count = count.saturating_add(n);
        self.halves[half] = self.halves[half].saturating_add(n);
        if let Some(to) = to {
            self.toward[to] = self.toward[to].saturating_add(n);
        }
    }

    /// Half with most losses.
    pub(super) fn half(self) -> usize {
        usize::from(self.halves[SERVER] > self.halves[CLIENT])
    }

    /// Direction in which they were lost, as far as that shows.
    pub(super) fn direction(self) -> Option<LossDirection> {
        match self.toward {
            [0, 0] => None,
            [0, _] => Some(LossDirection::ToServer),
            [_, 0] => Some(LossDirection::ToClient),
            _ => Some(LossDirection::Both),
        }
    }

    /// Reason of most losses; `None` without a loss.
    pub(super) fn trouble(self) -> Option<Trouble> {
        let LostPackets { queued, idle, unknown, .. } = self;
        match (queued, idle) {
            (0, 0) => (unknown > 0).then_some(Trouble::Lost),
            _ if queued > idle => Some(Trouble::LostInQueue),
            _ if queued < idle => Some(Trouble::LostWithoutQueue),
            _ => Some(Trouble::Lost),
        }
    }
}

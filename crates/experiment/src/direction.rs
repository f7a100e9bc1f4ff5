//! The two directions of the bottleneck.

use serde::{Deserialize, Serialize};

/// Direction of a packet. The bottleneck is a pair of links, each with its own queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Direction of the link under test.
    Down,
    /// Direction of the reverse link.
    Up,
}

impl Direction {
    /// Both directions, `Down` first.
    pub const BOTH: [Direction; 2] = [Direction::Down, Direction::Up];

    /// The opposite direction.
    pub const fn reverse(self) -> Direction {
        match self {
            Direction::Down => Direction::Up,
            Direction::Up => Direction::Down,
        }
    }

    /// Name in scenario files: `down` or `up`.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Down => "down",
            Direction::Up => "up",
        }
    }

    /// Index into pairs with one entry per direction, `Down` first.
    pub const fn index(self) -> usize {
        self as usize
    }
}

//! The two ways through the bottleneck.

/// Which way a packet goes: the bottleneck is a pair of links, each with a queue of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Through the link under test.
    Down,
    /// The way back.
    Up,
}

impl Direction {
    /// Both, `Down` first.
    pub const BOTH: [Direction; 2] = [Direction::Down, Direction::Up];

    /// The other one.
    pub const fn reverse(self) -> Direction {
        match self {
            Direction::Down => Direction::Up,
            Direction::Up => Direction::Down,
        }
    }

    /// As written in files.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Down => "down",
            Direction::Up => "up",
        }
    }

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

//! The two directions of the bottleneck.

/// Which way a packet goes: the bottleneck is a pair of links, each with a queue of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Through the link under test.
    Down,
    /// The reverse link.
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

    /// Index into pairs that have an entry for each direction, `Down` first.
    pub const fn index(self) -> usize {
        self as usize
    }
}

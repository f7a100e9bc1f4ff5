//! Place of an interface at a queue, in captures of a simulation.

/// Place at a queue where the packets of an interface were captured.
///
/// It is the interface's description (`if_description`), so that programs that copy captures keep it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueSide {
    /// Packets offered to the queue: all that their senders sent.
    Entry,
    /// Packets that left the queue and were sent.
    Exit,
    /// Packets that were dropped.
    Drop,
}

impl QueueSide {
    /// All sides.
    pub const ALL: [QueueSide; 3] = [QueueSide::Entry, QueueSide::Exit, QueueSide::Drop];

    /// Last word of the interface's name.
    pub const fn name(self) -> &'static str {
        match self {
            QueueSide::Entry => "entry",
            QueueSide::Exit => "exit",
            QueueSide::Drop => "drop",
        }
    }

    /// Description of the interface.
    pub const fn description(self) -> &'static str {
        match self {
            QueueSide::Entry => "gentle queue entry: packets offered to the queue",
            QueueSide::Exit => "gentle queue exit: packets sent",
            QueueSide::Drop => "gentle queue drop: packets dropped",
        }
    }

    /// Side with this description of an interface; `None` if it is not one of these.
    pub fn of_description(description: &str) -> Option<QueueSide> {
        QueueSide::ALL.into_iter().find(|side| side.description() == description)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_side_is_read_back_from_its_description() {
        for side in QueueSide::ALL {
            assert_eq!(QueueSide::of_description(side.description()), Some(side));
            assert_eq!(QueueSide::of_description(side.name()), None);
        }
    }
}

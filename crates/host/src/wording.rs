//! Numbers in sentences.

/// Number with its noun in singular or plural: `1 SYN`, `12 SYNs`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

/// Number of events: `once`, `12 times`.
pub(crate) fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        _ => format!("{count} times"),
    }
}

#[cfg(test)]
mod tests {
    use super::{counted, times};

    #[test]
    fn one_is_singular() {
        assert_eq!((counted(1, "SYN"), counted(2, "SYN")), ("1 SYN".to_owned(), "2 SYNs".to_owned()));
        assert_eq!((times(1), times(0)), ("once".to_owned(), "0 times".to_owned()));
    }
}

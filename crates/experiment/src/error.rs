//! What is wrong with a scenario file, and where.

use std::fmt;
use std::ops::Range;

/// A scenario that cannot be run: the file, the place in it, what is wrong and what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file as the user named it.
    pub file: String,
    /// Line and column, from 1; `None` where the trouble is not in one place.
    pub place: Option<(usize, usize)>,
    /// What is wrong and what was expected.
    pub problem: String,
}

impl ScenarioError {
    /// Trouble with the file as a whole.
    pub fn whole(file: &str, problem: impl Into<String>) -> Self {
        ScenarioError {
            file: file.to_owned(),
            place: None,
            problem: problem.into(),
        }
    }

    /// Trouble in the bytes `span` of `text`.
    pub(crate) fn at(
        file: &str,
        text: &str,
        span: Range<usize>,
        problem: impl Into<String>,
    ) -> Self {
        let before = &text.as_bytes()[..span.start.min(text.len())];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|b| **b != b'\n').count() + 1;
        ScenarioError {
            file: file.to_owned(),
            place: Some((line, column)),
            problem: problem.into(),
        }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some((line, column)) => {
                write!(f, "{}:{line}:{column}: {}", self.file, self.problem)
            }
            None => write!(f, "{}: {}", self.file, self.problem),
        }
    }
}

impl std::error::Error for ScenarioError {}

//! Errors in scenario files.

use std::fmt;
use std::ops::Range;

/// An invalid scenario or list of flows: file, position, problem and expected values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file as named by the user.
    pub file: String,
    /// Line and column, from 1; `None` if the error concerns the whole file.
    pub place: Option<(usize, usize)>,
    /// The problem and the expected values.
    pub problem: String,
}

impl ScenarioError {
    /// An error that concerns the whole file.
    pub fn whole(file: &str, problem: impl Into<String>) -> Self {
        ScenarioError { file: file.to_owned(), place: None, problem: problem.into() }
    }

    /// An error in the bytes `span` of `text`.
    pub(crate) fn at(file: &str, text: &str, span: Range<usize>, problem: impl Into<String>) -> Self {
        let before = &text.as_bytes()[..span.start.min(text.len())];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|b| **b != b'\n').count() + 1;
        ScenarioError { file: file.to_owned(), place: Some((line, column)), problem: problem.into() }
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

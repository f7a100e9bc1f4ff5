//! What is wrong with a text that should describe a queue discipline.

use crate::plumbing::registry;
use gentle_units::suggestion;
use thiserror::Error;

/// Why a text does not describe a queue discipline.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SpecError {
    /// Nothing was written.
    #[error("no scheme given; the schemes are: {schemes}")]
    Empty {
        /// The names there are.
        schemes: String,
    },
    /// There is no such scheme.
    #[error(
        "unknown scheme '{name}'{}; the schemes are: {schemes}",
        suggestion(name, registry::SCHEMES.iter().map(|scheme| scheme.name))
    )]
    Scheme {
        /// What was written.
        name: String,
        /// The names there are.
        schemes: String,
    },
    /// The scheme has no such option.
    #[error("{scheme} has no option '{option}'{suggestion}; it accepts {accepted}")]
    Option {
        /// The scheme.
        scheme: String,
        /// What was written.
        option: String,
        /// A remark on the option that was probably meant, or nothing.
        suggestion: String,
        /// What it has.
        accepted: String,
    },
    /// The option was given without a value.
    #[error("option '{option}' needs a value, as in {option}={example}")]
    NoValue {
        /// The option.
        option: String,
        /// A value it could have.
        example: String,
    },
    /// The option was given more than once.
    #[error("option '{option}' is given twice; leave one of them out")]
    Twice {
        /// The option.
        option: String,
    },
    /// The value is not acceptable.
    #[error("option '{option}': {problem}")]
    Value {
        /// The option.
        option: String,
        /// What is wrong with it and what was expected.
        problem: String,
    },
    /// Options that are each fine do not go together.
    #[error("{scheme}: {problem}")]
    Combination {
        /// The scheme.
        scheme: String,
        /// What is wrong and what was expected.
        problem: String,
    },
}

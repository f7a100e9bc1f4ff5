//! Errors in the text of a specification.

use thiserror::Error;

/// Error from parsing or changing a [`Spec`](crate::Spec).
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SpecError {
    /// The text is empty.
    #[error("no scheme given; the schemes are: {schemes}")]
    Empty {
        /// Names of all schemes.
        schemes: String,
    },
    /// The registry has no scheme of this name.
    #[error("unknown scheme '{name}'{suggestion}; the schemes are: {schemes}")]
    Scheme {
        /// The name as written.
        name: String,
        /// " (did you mean …?)" if a name is similar, else empty.
        suggestion: String,
        /// Names of all schemes.
        schemes: String,
    },
    /// The scheme has no option of this name.
    #[error("{scheme} has no option '{option}'{suggestion}; it accepts {accepted}")]
    Option {
        /// Name of the scheme.
        scheme: String,
        /// The option as written.
        option: String,
        /// " (did you mean …?)" if an option's name is similar, else empty.
        suggestion: String,
        /// The options that the scheme has, with their ranges.
        accepted: String,
    },
    /// The option was given without a value.
    #[error("option '{option}' needs a value, as in {option}={example}")]
    NoValue {
        /// Name of the option.
        option: String,
        /// A valid value.
        example: String,
    },
    /// The option was given more than once.
    #[error("option '{option}' is given twice; leave one of them out")]
    Twice {
        /// Name of the option.
        option: String,
    },
    /// The value is malformed or out of range.
    #[error("option '{option}': {problem}")]
    Value {
        /// Name of the option.
        option: String,
        /// The problem and the expected values.
        problem: String,
    },
    /// The options are valid one by one but contradict each other.
    #[error("{scheme}: {problem}")]
    Combination {
        /// Name of the scheme.
        scheme: String,
        /// The problem and the expected values.
        problem: String,
    },
}

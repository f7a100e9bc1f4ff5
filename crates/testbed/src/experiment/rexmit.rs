//! Settings of `gentle rexmit` on the hosts of a run.

use gentle_units::{Nanos, QuantityError};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Engine that retransmits lost SYNs sooner than TCP does; written as `wire`, `wire=200ms` or `kernel=200ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Rexmit {
    /// Engine.
    pub engine: RexmitEngine,
    /// Fixed delay before retransmission, [`Rexmit::MIN_DELAY`] to [`Rexmit::MAX_DELAY`]; `None`: the delay that the
    /// engine learns from handshakes (wire), or its initial delay (kernel).
    pub delay: Option<Nanos>,
}

/// Engines of `gentle rexmit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RexmitEngine {
    /// Retransmits copies of packets.
    Wire,
    /// Changes the initial RTO in the kernel.
    Kernel,
}

/// Error of parsing a [`Rexmit`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RexmitError {
    /// The engine is unknown.
    #[error("expected wire or kernel, as in wire=200ms")]
    Engine,
    /// The delay is not a time.
    #[error(transparent)]
    Delay(#[from] QuantityError),
    /// The delay is out of range.
    #[error("expected a delay of {} to {}", Rexmit::MIN_DELAY, Rexmit::MAX_DELAY)]
    Range,
}

impl Rexmit {
    /// Shortest delay: two ticks of a kernel with 1000 of them per second.
    pub const MIN_DELAY: Nanos = Nanos::from_millis(2);
    /// Longest delay.
    pub const MAX_DELAY: Nanos = Nanos::from_secs(60);
}

impl FromStr for Rexmit {
    type Err = RexmitError;

    fn from_str(text: &str) -> Result<Rexmit, RexmitError> {
        let (engine, delay) = match text.split_once('=') {
            Some((engine, delay)) => (engine, Some(delay)),
            None => (text, None),
        };
        let engine = match engine {
            "wire" => RexmitEngine::Wire,
            "kernel" => RexmitEngine::Kernel,
            _ => return Err(RexmitError::Engine),
        };
        let delay = delay.map(str::parse::<Nanos>).transpose()?;
        let range = Rexmit::MIN_DELAY..=Rexmit::MAX_DELAY;
        if delay.is_some_and(|delay| !range.contains(&delay)) {
            return Err(RexmitError::Range);
        }
        Ok(Rexmit { engine, delay })
    }
}

impl From<Rexmit> for String {
    fn from(rexmit: Rexmit) -> String {
        rexmit.to_string()
    }
}

impl TryFrom<String> for Rexmit {
    type Error = RexmitError;

    fn try_from(text: String) -> Result<Rexmit, RexmitError> {
        text.parse()
    }
}

impl fmt::Display for Rexmit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.engine {
            RexmitEngine::Wire => "wire",
            RexmitEngine::Kernel => "kernel",
        })?;
        match self.delay {
            Some(delay) => write!(f, "={delay}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parsing_reverses_formatting() {
        for text in ["wire", "kernel", "wire=200ms", "kernel=1s"] {
            assert_eq!(text.parse::<Rexmit>().unwrap().to_string(), text);
        }
        for text in ["", "tc", "wire=", "wire=200", "kernel=1ms", "wire=61s"] {
            assert!(text.parse::<Rexmit>().is_err(), "{text}");
        }
    }
}

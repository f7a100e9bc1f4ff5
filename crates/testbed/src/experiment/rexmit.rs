//! Settings of `gentle rexmit` on the hosts of a run.

use gentle_units::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Engine that retransmits lost SYNs sooner than TCP does; written as `wire`, `wire=200ms` or `kernel=200ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Rexmit {
    /// Engine.
    pub engine: RexmitEngine,
    /// Fixed delay before retransmission, 2 ms to 60 s; `None`: the engine's own, learned or initial.
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

impl FromStr for Rexmit {
    type Err = String;

    fn from_str(text: &str) -> Result<Rexmit, String> {
        let (engine, delay) = match text.split_once('=') {
            Some((engine, delay)) => (engine, Some(delay)),
            None => (text, None),
        };
        let engine = match engine {
            "wire" => RexmitEngine::Wire,
            "kernel" => RexmitEngine::Kernel,
            _ => return Err("expected wire or kernel, as in wire=200ms".to_owned()),
        };
        let delay = delay.map(str::parse::<Nanos>).transpose();
        let delay = delay.map_err(|error| error.to_string())?;
        let (least, most) = (Nanos::from_millis(2), Nanos::from_secs(60));
        if delay.is_some_and(|delay| !(least..=most).contains(&delay)) {
            return Err(format!("expected a delay of {least} to {most}"));
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
    type Error = String;

    fn try_from(text: String) -> Result<Rexmit, String> {
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
    fn it_is_read_as_it_is_written() {
        for text in ["wire", "kernel", "wire=200ms", "kernel=1s"] {
            assert_eq!(text.parse::<Rexmit>().unwrap().to_string(), text);
        }
        for text in ["", "tc", "wire=", "wire=200", "kernel=1ms", "wire=61s"] {
            assert!(text.parse::<Rexmit>().is_err(), "{text}");
        }
    }
}

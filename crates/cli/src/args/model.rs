//! Options of `gentle model`.

use super::values::{time, whole};
use clap::{Args as ClapArgs, ValueEnum, ValueHint};
use gentle_model::Backoff;
use gentle_units::Nanos;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  gentle model
  gentle model --rtt 100ms --loss 0.02 --syn-loss 0.04 --rto 1s,3s --backoff published
  gentle model --rtt 30ms --loss 1% --rto 1s --backoff linux --initial-window 10 --segments-per-ack 2
  gentle model --segments 1,3,10,30 --html model.html";

/// Maximum of all times: an hour.
const LONGEST: Nanos = Nanos::from_secs(3_600);
const MAX_SEGMENTS: u32 = 1_000_000_000;

#[derive(Debug, ClapArgs)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ModelArgs {
    /// Round-trip time, queueing included
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "100ms")]
    pub(crate) rtt: Nanos,

    /// Probability that a data packet is lost: 0.02 or 2%
    #[arg(long, value_name = "P", value_parser = probability, default_value = "0.02")]
    pub(crate) loss: f64,

    /// Probability that a SYN or its SYN/ACK is lost [default: each is lost like a data packet]
    #[arg(long, value_name = "P", value_parser = probability)]
    pub(crate) syn_loss: Option<f64>,

    /// Initial RTOs to compare, separated by commas
    #[arg(long, value_name = "TIME", value_delimiter = ',', value_parser = duration, default_value = "1s,3s")]
    pub(crate) rto: Vec<Nanos>,

    /// Waits between the SYNs of a connection
    #[arg(long, value_enum, default_value_t = BackoffName::Doubling)]
    pub(crate) backoff: BackoffName,

    /// Initial window in segments: 1 as published, 10 by RFC 6928
    #[arg(long, value_name = "N", value_parser = whole(1..=1_000_u32), default_value = "1")]
    pub(crate) initial_window: u32,

    /// Segments per acknowledgement: 1 as published, 2 with delayed ACKs
    #[arg(long, value_name = "N", value_parser = whole(1..=100_u32), default_value = "1")]
    pub(crate) segments_per_ack: u32,

    /// Form of the model
    #[arg(long, value_enum, default_value_t = FormName::Published)]
    pub(crate) form: FormName,

    /// Sizes of transfers in full segments, separated by commas [default: 25 to 10000]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = whole(1..=MAX_SEGMENTS))]
    pub(crate) segments: Vec<u32>,

    /// Print JSON instead of a table (fields: docs/reference/json.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Write one CSV row per initial RTO and size
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) csv: Option<PathBuf>,

    /// Write a self-contained HTML page with plots
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
}

/// Names of forms of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormName {
    /// Slow start ends at the mean largest window; FIN adds a round trip (spa-2018, section IV)
    Published,
    /// Slow start ends with the first loss; late losses cost a timeout; FIN comes with the data
    FirstLoss,
}

/// Names of backoffs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackoffName {
    /// The wait doubles after each SYN, up to six retransmissions (RFC 6298)
    Doubling,
    /// Linux since 6.5: four retransmissions at intervals of the initial RTO, then six with doubling waits
    Linux,
    /// The formula of spa-2018: every wait is the initial RTO, without a limit on retransmissions
    Published,
}

impl BackoffName {
    /// Waits of this name.
    pub(crate) fn backoff(self) -> Backoff {
        let linear = match self {
            BackoffName::Published => return Backoff::Constant,
            BackoffName::Doubling => 0,
            BackoffName::Linux => 4,
        };
        Backoff::Doubling { linear, retries: 6 }
    }
}

fn duration(text: &str) -> Result<Nanos, String> {
    time(text, Nanos(1)..=LONGEST)
}

/// Reads a probability of less than 1, as a number or in percent.
fn probability(text: &str) -> Result<f64, String> {
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.trim_end().parse::<f64>().map(|p| p / 100.0),
        None => text.parse(),
    };
    let number = number.ok().filter(|p| (0.0..1.0).contains(p));
    number.ok_or_else(|| "expected a probability from 0 to less than 1, such as 0.02 or 2%".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_numbers_or_percent() {
        assert_eq!(probability("0.02"), Ok(0.02));
        assert_eq!(probability("2%"), Ok(0.02));
        assert_eq!(probability("2.5 %"), Ok(0.025));
        assert_eq!(probability("0"), Ok(0.0));
        for wrong in ["1", "100%", "-0.1", "nan", "inf", "", "%", "two"] {
            assert!(probability(wrong).is_err(), "{wrong}");
        }
    }
}

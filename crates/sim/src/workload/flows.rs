//! A list of flows in CSV: `start_s,bytes` and, as wanted, `rtt_s`, `direction` and `initiator`.

use super::Initiator;
use crate::direction::Direction;
use crate::error::ScenarioError;
use gentle_units::Nanos;

/// One listed connection.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// When it starts.
    pub at: Nanos,
    /// Payload.
    pub bytes: u64,
    /// Round-trip time without queueing, if listed.
    pub rtt: Option<Nanos>,
    /// The link that carries the data, if listed.
    pub direction: Option<Direction>,
    /// Which end connects, if listed.
    pub initiator: Option<Initiator>,
}

const COLUMNS: [&str; 5] = ["start_s", "bytes", "rtt_s", "direction", "initiator"];

/// A start or RTT in seconds is at most this: thirty years.
const LONGEST_S: f64 = 1e9;

/// Reads the list; the flows come back in order of start. `link_rtt` is the least round-trip time the links allow.
pub(crate) fn parse(file: &str, text: &str, link_rtt: Nanos) -> Result<Vec<Flow>, ScenarioError> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .from_reader(text.as_bytes());
    let header = reader
        .headers()
        .map_err(|error| ScenarioError::whole(file, error.to_string()))?
        .clone();
    let mut columns = [None; 5];
    for (index, name) in header.iter().enumerate() {
        match COLUMNS.iter().position(|column| *column == name) {
            Some(column) => columns[column] = Some(index),
            None => {
                return Err(at(
                    file,
                    1,
                    format!(
                        "unknown column '{name}'; expected {} of {}",
                        "start_s,bytes and any",
                        COLUMNS[2..].join(", ")
                    ),
                ));
            }
        }
    }
    for required in 0..2 {
        if columns[required].is_none() {
            return Err(at(
                file,
                1,
                format!("missing column '{}'", COLUMNS[required]),
            ));
        }
    }
    let mut flows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| {
            let line = error.position().map_or(0, |p| p.line() as usize);
            at(file, line, error.to_string())
        })?;
        let line = record.position().map_or(0, |p| p.line() as usize);
        let field = |column: usize| {
            columns[column]
                .and_then(|index| record.get(index))
                .filter(|text| !text.is_empty())
        };
        let wrong = |column: usize, expected: &str| {
            at(
                file,
                line,
                format!(
                    "{}: '{}' does not do; expected {expected}",
                    COLUMNS[column],
                    field(column).unwrap_or_default()
                ),
            )
        };
        let seconds = |column: usize| -> Result<Option<Nanos>, ScenarioError> {
            field(column)
                .map(|text| {
                    text.parse::<f64>()
                        .ok()
                        .filter(|s| (0.0..=LONGEST_S).contains(s))
                        .map(Nanos::from_secs_f64)
                        .ok_or_else(|| wrong(column, "seconds, such as 1.25"))
                })
                .transpose()
        };
        let start = seconds(0)?.ok_or_else(|| wrong(0, "seconds, such as 1.25"))?;
        let bytes = field(1)
            .and_then(|text| text.parse::<u64>().ok())
            .filter(|bytes| (1..=1 << 50).contains(bytes))
            .ok_or_else(|| wrong(1, "a whole number of bytes, at least 1"))?;
        let rtt = seconds(2)?;
        if rtt.is_some_and(|rtt| rtt < link_rtt) {
            return Err(wrong(
                2,
                &format!("at least {} s, the links' delays", link_rtt.as_secs_f64()),
            ));
        }
        let direction = match field(3) {
            None => None,
            Some("down") => Some(Direction::Down),
            Some("up") => Some(Direction::Up),
            Some(_) => return Err(wrong(3, "down or up")),
        };
        let initiator = match field(4) {
            None => None,
            Some("sender") => Some(Initiator::Sender),
            Some("receiver") => Some(Initiator::Receiver),
            Some(_) => return Err(wrong(4, "sender or receiver")),
        };
        flows.push(Flow {
            at: start,
            bytes,
            rtt,
            direction,
            initiator,
        });
    }
    if flows.is_empty() {
        return Err(ScenarioError::whole(
            file,
            "no flows in the list; expected a line start_s,bytes and one line a flow",
        ));
    }
    flows.sort_by_key(|flow| flow.at);
    Ok(flows)
}

fn at(file: &str, line: usize, problem: String) -> ScenarioError {
    ScenarioError {
        file: file.to_owned(),
        place: Some((line, 1)),
        problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_list_and_sorts_it() {
        let flows = parse(
            "f.csv",
            "start_s,bytes,rtt_s,direction,initiator\n2.5,1000,0.08,up,receiver\n# note\n0,5,,,\n",
            Nanos::ZERO,
        )
        .unwrap();
        assert_eq!(
            flows,
            [
                Flow {
                    at: Nanos::ZERO,
                    bytes: 5,
                    rtt: None,
                    direction: None,
                    initiator: None
                },
                Flow {
                    at: Nanos::from_millis(2500),
                    bytes: 1000,
                    rtt: Some(Nanos::from_millis(80)),
                    direction: Some(Direction::Up),
                    initiator: Some(Initiator::Receiver)
                },
            ]
        );
    }

    #[test]
    fn refuses_with_the_line_and_what_was_expected() {
        for (text, part) in [
            ("start_s\n1\n", "f.csv:1:1: missing column 'bytes'"),
            ("start_s,bytes,color\n", "unknown column 'color'"),
            ("start_s,bytes\n", "no flows in the list"),
            ("", "missing column 'start_s'"),
            ("start_s,bytes\n0,1\n-1,1\n", "f.csv:3:1: start_s: '-1'"),
            ("start_s,bytes\n0,0\n", "at least 1"),
            ("start_s,bytes\n0,1,2\n", "f.csv:2:1"),
            ("start_s,bytes,direction\n0,1,left\n", "expected down or up"),
            ("start_s,bytes,rtt_s\n0,1,0.01\n", "at least 0.02 s"),
            ("start_s,bytes,rtt_s\n0,1,nan\n", "rtt_s: 'nan'"),
        ] {
            let error = parse("f.csv", text, Nanos::from_millis(20)).unwrap_err();
            assert!(error.to_string().contains(part), "{text:?}: {error}");
        }
    }
}

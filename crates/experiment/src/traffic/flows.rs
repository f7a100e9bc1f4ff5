//! Parsing of a list of flows in CSV: columns `start_s` and `bytes`, optionally `rtt_s`, `direction` and `initiator`.

use crate::direction::Direction;
use crate::error::ScenarioError;
use crate::initiator::Initiator;
use csv::StringRecord;
use gentle_units::{Nanos, suggestion};
use serde::Serialize;
use std::ops::RangeInclusive;

/// A listed connection. Properties that are not listed have the workload's values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Flow {
    /// Time since the start of the run.
    pub at: Nanos,
    /// Payload, bytes.
    pub bytes: u64,
    /// Round-trip time without queueing, if listed.
    pub rtt: Option<Nanos>,
    /// Link that carries the data, if listed.
    pub direction: Option<Direction>,
    /// End that connects, if listed.
    pub initiator: Option<Initiator>,
}

const COLUMNS: [&str; 5] = ["start_s", "bytes", "rtt_s", "direction", "initiator"];

/// Number of required columns, the first of [`COLUMNS`].
const REQUIRED: usize = 2;

/// Maximum start in seconds: about thirty years.
const LATEST_START_S: f64 = 1e9;

/// Maximum round-trip time in seconds: the delay of a link is at most 60 s (`docs/reference/scenarios.md`), in each direction.
const LONGEST_RTT_S: f64 = 120.0;

/// Maximum payload in bytes: a petabyte.
const MOST_BYTES: u64 = 1 << 50;

/// Parses a list; flows are returned in order of start. `link_rtt` is the minimum of round-trip times.
pub(crate) fn parse(file: &str, text: &str, link_rtt: Nanos) -> Result<Vec<Flow>, ScenarioError> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        // The number of fields is checked below, with a message that names the position.
        .flexible(true)
        .has_headers(false)
        .from_reader(text.as_bytes());
    let mut header = StringRecord::new();
    let read = reader.read_record(&mut header);
    read.map_err(|error| ScenarioError::whole(file, error.to_string()))?;
    let columns = columns(&Line::of(file, text, &header))?;
    let mut flows = Vec::new();
    let mut record = StringRecord::new();
    loop {
        match reader.read_record(&mut record) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => return Err(ScenarioError::whole(file, error.to_string())),
        }
        let line = Line::of(file, text, &record);
        if record.len() != header.len() {
            let last = record.len().min(header.len());
            let problem = format!("found {} fields, expected {} as in the first line", record.len(), header.len());
            return Err(line.error(last, problem));
        }
        flows.push(flow(&line, &columns, link_rtt)?);
    }
    if flows.is_empty() {
        return Err(ScenarioError::whole(
            file,
            "the list has no flows; expected a header start_s,bytes and one line per flow",
        ));
    }
    flows.sort_by_key(|flow| flow.at);
    Ok(flows)
}

/// Positions of [`COLUMNS`] in the header.
fn columns(header: &Line<'_>) -> Result<[Option<usize>; COLUMNS.len()], ScenarioError> {
    let mut columns = [None; COLUMNS.len()];
    if !header.record.is_empty() && !header.record.iter().any(|name| COLUMNS.contains(&name)) {
        // Not quoted: a scenario of somebody else may name any file.
        let problem = "no known column; expected a header start_s,bytes and one line per flow";
        return Err(header.error(0, problem.to_owned()));
    }
    for (index, name) in header.record.iter().enumerate() {
        let Some(column) = COLUMNS.iter().position(|column| *column == name) else {
            let problem = format!(
                "unknown column '{name}'{}; expected start_s,bytes and any of {}",
                suggestion(name, COLUMNS),
                COLUMNS[REQUIRED..].join(", ")
            );
            return Err(header.error(index, problem));
        };
        if columns[column].replace(index).is_some() {
            return Err(header.error(index, format!("duplicate column '{name}'")));
        }
    }
    match (0..REQUIRED).find(|required| columns[*required].is_none()) {
        Some(missing) => Err(header.error(0, format!("missing column '{}'", COLUMNS[missing]))),
        None => Ok(columns),
    }
}

fn flow(line: &Line<'_>, columns: &[Option<usize>; COLUMNS.len()], link_rtt: Nanos) -> Result<Flow, ScenarioError> {
    let field =
        |column: usize| columns[column].and_then(|index| line.record.get(index)).filter(|text| !text.is_empty());
    let wrong = |column: usize, expected: &str| {
        line.error(
            columns[column].unwrap_or_default(),
            format!("{}: invalid value '{}': expected {expected}", COLUMNS[column], field(column).unwrap_or_default()),
        )
    };
    let seconds = |column: usize, range: RangeInclusive<f64>, expected: &str| {
        field(column)
            .map(|text| {
                text.parse::<f64>()
                    .ok()
                    .filter(|s| range.contains(s))
                    .map(Nanos::from_secs_f64)
                    .ok_or_else(|| wrong(column, expected))
            })
            .transpose()
    };
    let is_date = field(0)
        .and_then(|text| text.parse::<f64>().ok())
        .is_some_and(|start| start.is_finite() && start > LATEST_START_S);
    let start = match is_date {
        true => "seconds, 0 to 1000000000, such as 1.25: subtract the first start from times since 1970",
        false => "seconds, 0 to 1000000000, such as 1.25",
    };
    let at = seconds(0, 0.0..=LATEST_START_S, start)?.ok_or_else(|| wrong(0, start))?;
    let bytes = field(1)
        .and_then(|text| text.parse::<u64>().ok())
        .filter(|bytes| (1..=MOST_BYTES).contains(bytes))
        .ok_or_else(|| wrong(1, "a whole number of bytes, at least 1"))?;
    let rtt = seconds(2, 0.0..=LONGEST_RTT_S, "seconds, more than 0 and at most 120, or nothing")?;
    if rtt == Some(Nanos::ZERO) {
        return Err(wrong(2, "more than 0 s, or nothing where it is not known"));
    }
    if rtt.is_some_and(|rtt| rtt < link_rtt) {
        return Err(wrong(2, &format!("at least {} s, the links' delays", link_rtt.as_secs_f64())));
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
    Ok(Flow { at, bytes, rtt, direction, initiator })
}

/// A record with the text of the file, for positions in errors.
struct Line<'a> {
    file: &'a str,
    text: &'a str,
    record: &'a StringRecord,
}

impl<'a> Line<'a> {
    fn of(file: &'a str, text: &'a str, record: &'a StringRecord) -> Line<'a> {
        Line { file, text, record }
    }

    /// An error at a field, or at the end of the record if it has fewer fields.
    fn error(&self, field: usize, problem: String) -> ScenarioError {
        ScenarioError { file: self.file.to_owned(), place: Some(self.place(field)), problem }
    }

    /// Line and column of a field, from 1. The position that the CSV reader reports includes comments and empty lines
    /// before the record, which are skipped here.
    fn place(&self, field: usize) -> (usize, usize) {
        let (start, mut line) = match self.record.position() {
            Some(at) => (at.byte() as usize, at.line() as usize),
            None => (0, 1),
        };
        let mut rest = self.text.get(start..).unwrap_or_default();
        while let Some((skipped, after)) = rest.split_once('\n')
            && (skipped.starts_with('#') || skipped.trim_end_matches('\r').is_empty())
        {
            rest = after;
            line += 1;
        }
        let (mut fields, mut column, mut quoted) = (0, 1, false);
        for c in rest.chars() {
            match c {
                '"' => quoted = !quoted,
                '\n' if quoted => {
                    line += 1;
                    column = 0;
                }
                '\r' | '\n' => break,
                ',' if !quoted => {
                    if fields == field {
                        break;
                    }
                    fields += 1;
                }
                _ if fields == field && !c.is_whitespace() => break,
                _ => {}
            }
            if c == '"' && fields == field {
                break;
            }
            column += 1;
        }
        (line, column)
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
                Flow { at: Nanos::ZERO, bytes: 5, rtt: None, direction: None, initiator: None },
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
            ("start_s,bytes,color\n", "f.csv:1:15: unknown column 'color'"),
            ("root:*:20228:0\n", "f.csv:1:1: no known column; expected a header start_s,bytes"),
            ("start_s,byte\n", "f.csv:1:9: unknown column 'byte' (did you mean 'bytes'?)"),
            ("start_s,bytes, bytes\n", "f.csv:1:16: duplicate column 'bytes'"),
            ("start_s,bytes\n", "the list has no flows"),
            ("", "missing column 'start_s'"),
            ("start_s,bytes\n0,1\n-1,1\n", "f.csv:3:1: start_s: invalid value '-1': expected seconds"),
            ("start_s,bytes\n0,0\n", "f.csv:2:3: bytes: "),
            ("start_s,bytes\n0,0\n", "at least 1"),
            ("# one\n\nstart_s,bytes\n0,1\n# two\n\n1 ,  many\n", "f.csv:7:6: bytes: invalid value 'many'"),
            ("bytes,start_s\n1,\n", "f.csv:2:3: start_s: "),
            ("start_s,bytes\r\n0,1\r\n0,x\r\n", "f.csv:3:3: bytes: "),
            ("start_s,bytes\n0,1,2\n", "f.csv:2:5: found 3 fields, expected 2 as in the first line"),
            ("start_s,bytes\n0\n", "f.csv:2:2: found 1 fields, expected 2"),
            ("start_s,bytes,direction\n0,1,left\n", "f.csv:2:5: direction: invalid value 'left': expected down or up"),
            ("start_s,bytes,rtt_s\n0,1,0.01\n", "at least 0.02 s"),
            ("start_s,bytes,rtt_s\n0,1,nan\n", "f.csv:2:5: rtt_s: invalid value 'nan'"),
            ("start_s,bytes,rtt_s\n0,1,0\n", "more than 0 s"),
            ("start_s,bytes,rtt_s\n0,1,1e9\n", "at most 120"),
        ] {
            let error = parse("f.csv", text, Nanos::from_millis(20)).unwrap_err();
            assert!(error.to_string().contains(part), "{text:?}: {error}");
        }
    }
}

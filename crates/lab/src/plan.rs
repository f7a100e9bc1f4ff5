//! Changes of a run as a page lists them.

use crate::session::Change;
use crate::setup::SetupError;
use gentle_experiment::Direction;
use gentle_units::{Instant, Rate};
use serde::Deserialize;

/// Longest list: a page keeps no more.
const MOST: usize = 1_000;

/// A change and its moment.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Planned {
    /// Seconds since the start.
    at: f64,
    change: Wish,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Wish {
    /// Bits per second.
    Rate(u64),
    /// Bits per second, of the reverse link.
    UpRate(u64),
    /// Fraction of the rate.
    Load(f64),
    /// Packets.
    Buffer(u32),
    DropHandshake,
}

/// Reads changes: `[{"at": 12.5, "change": {"buffer": 20}}, {"at": 13, "change": "drop_handshake"}]`.
///
/// # Errors
/// The list is not such JSON, or a value is out of range.
pub fn plan(json: &str) -> Result<Vec<(Instant, Change)>, SetupError> {
    let wrong = |problem: String| SetupError { place: "changes".to_owned(), problem };
    let planned: Vec<Planned> = serde_json::from_str(json).map_err(|error| wrong(error.to_string()))?;
    if planned.len() > MOST {
        return Err(wrong(format!("{} changes; expected at most {MOST}", planned.len())));
    }
    let rate = |direction, bits: u64| {
        let rate = Rate::from_bits_per_second(bits);
        rate.map(|rate| Change::Rate(direction, rate))
            .ok_or_else(|| wrong(format!("{bits} bit/s is not a rate of a link")))
    };
    let read = |Planned { at, change }: Planned| {
        if !(0.0..=86_400.0).contains(&at) {
            return Err(wrong(format!("{at} s is not a moment of a run")));
        }
        let change = match change {
            Wish::Rate(bits) => rate(Direction::Down, bits)?,
            Wish::UpRate(bits) => rate(Direction::Up, bits)?,
            Wish::Load(load) if (0.001..=10.0).contains(&load) => Change::Load(load),
            Wish::Load(load) => return Err(wrong(format!("a load of {load}; expected 0.001 to 10"))),
            Wish::Buffer(packets) if (1..=100_000).contains(&packets) => Change::Buffer(packets.into()),
            Wish::Buffer(packets) => return Err(wrong(format!("a buffer of {packets} packets; expected 1 to 100000"))),
            Wish::DropHandshake => Change::DropHandshake,
        };
        Ok((Instant::from_secs_f64(at), change))
    };
    planned.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_a_moment_and_a_value() {
        let read = plan(
            r#"[{"at":12.5,"change":{"buffer":20}},{"at":13,"change":"drop_handshake"},{"at":1,"change":{"up_rate":400000}}]"#,
        );
        let up = Change::Rate(Direction::Up, "400kbit".parse().unwrap());
        let at = Instant::from_millis;
        let expected = vec![(at(12_500), Change::Buffer(20)), (at(13_000), Change::DropHandshake), (at(1_000), up)];
        assert_eq!(read.unwrap(), expected);
    }

    #[test]
    fn values_out_of_range_are_refused() {
        for change in [
            r#"[{"at":-1,"change":"drop_handshake"}]"#,
            r#"[{"at":1e9,"change":"drop_handshake"}]"#,
            r#"[{"at":1,"change":{"rate":0}}]"#,
            r#"[{"at":1,"change":{"load":0}}]"#,
            r#"[{"at":1,"change":{"buffer":0}}]"#,
            r#"[{"at":1,"change":{"scheme":"spa"}}]"#,
            r#"{"at":1}"#,
        ] {
            let error = plan(change).unwrap_err().to_string();
            assert!(error.starts_with("changes: "), "{change}: {error}");
        }
    }
}

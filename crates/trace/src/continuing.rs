//! Captures that continue one another, recognised by their names.
//!
//! A connection that continues from one file to the next is followed only if both are read as one trace. The names that
//! capturing programs give to the files of one capture:
//!
//! - `dumpcap -b`: `NAME_00001_20260131120000.pcapng`, or `NAME_20260131120000_00001.pcapng`
//! - `tcpdump -C`: `NAME.pcap`, `NAME.pcap1`, `NAME.pcap2`, …
//! - `tcpdump -G`: `NAME` with a date and time, such as `eth0-%Y%m%d-%H%M%S.pcap`

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Which captures are read as one trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Continuing {
    /// Those whose names say so.
    #[default]
    ByName,
    /// Those in the same directory.
    Directory,
    /// All.
    All,
    /// None.
    None,
}

/// Endings of compressed files.
const COMPRESSED: [&str; 4] = [".gz", ".zst", ".xz", ".lz4"];
/// Endings of captures after which `tcpdump -C` writes the number of the file.
const CAPTURES: [&str; 5] = [".pcapng", ".pcap", ".cap", ".dump", ".dmp"];

/// Puts captures that continue one another together, in the order of the first of each and of their names.
pub fn runs(paths: &[PathBuf], continuing: Continuing) -> Vec<Vec<PathBuf>> {
    let mut places: BTreeMap<(PathBuf, String), usize> = BTreeMap::new();
    let mut runs: Vec<Vec<PathBuf>> = Vec::new();
    for path in paths {
        let directory = path.parent().unwrap_or(Path::new("")).to_owned();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let run = match continuing {
            Continuing::ByName => name_of_run(&name).map(|run| (directory, run)),
            Continuing::Directory => Some((directory, String::new())),
            Continuing::All => Some(<(PathBuf, String)>::default()),
            Continuing::None => None,
        };
        let at = match run {
            Some(run) => *places.entry(run).or_insert(runs.len()),
            None => runs.len(),
        };
        if at == runs.len() {
            runs.push(Vec::new());
        }
        runs[at].push(path.clone());
    }
    // The order in the call must not matter: a task is known by the contents of its captures in order.
    runs.iter_mut().for_each(|run| run.sort());
    runs
}

/// Common part of the names of the files of one capture; `None` if the name is not one that a capturing program gives
/// to one of several files.
fn name_of_run(name: &str) -> Option<String> {
    let mut plain = name;
    for ending in COMPRESSED {
        plain = plain.strip_suffix(ending).unwrap_or(plain);
    }
    if let Some((before, after)) = around_time(plain) {
        return Some(match (number_at_end(before), number_at_start(after)) {
            (Some(before), None) => format!("{before}_#_*{after}"),
            (None, Some(after)) => format!("{before}*_#{after}"),
            _ => format!("{before}*{after}"),
        });
    }
    let numbered = plain.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = plain.len() - numbered.len();
    let is_capture = CAPTURES.iter().any(|ending| numbered.ends_with(ending));
    (is_capture && digits <= 9).then(|| numbered.to_owned())
}

/// Smallest number of digits of the number that dumpcap writes.
const NUMBER: usize = 5;

/// The part of `before` in front of `_00001_`.
fn number_at_end(before: &str) -> Option<&str> {
    let (name, number) = before.strip_suffix('_')?.rsplit_once('_')?;
    is_number(number).then_some(name)
}

/// The part of `after` behind `_00001`.
fn number_at_start(after: &str) -> Option<&str> {
    let rest = after.strip_prefix('_')?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    is_number(&rest[..end]).then_some(&rest[end..])
}

fn is_number(text: &str) -> bool {
    text.len() >= NUMBER && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The parts of a name before and after its last date and time to the second.
fn around_time(name: &str) -> Option<(&str, &str)> {
    let is_digit = |at: usize| name.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let starts = (0..name.len()).rev();
    let mut starts = starts.filter(|&at| is_digit(at) && (at == 0 || !is_digit(at - 1)));
    starts.find_map(|from| {
        let to = from + time_length(&name.as_bytes()[from..])?;
        (!is_digit(to)).then(|| (&name[..from], &name[to..]))
    })
}

/// Length of the date and time at the start of `text`: year, month, day, hour, minute and second, with at most one
/// separator between each.
fn time_length(text: &[u8]) -> Option<usize> {
    const FIELDS: [(usize, std::ops::RangeInclusive<u32>); 6] =
        [(4, 1970..=2999), (2, 1..=12), (2, 1..=31), (2, 0..=23), (2, 0..=59), (2, 0..=60)];
    let mut at = 0;
    for (index, (digits, range)) in FIELDS.into_iter().enumerate() {
        if index > 0 && text.get(at).is_some_and(|byte| b"-_T:.".contains(byte)) {
            at += 1;
        }
        let field = text.get(at..at + digits)?;
        let number = std::str::from_utf8(field).ok()?.parse().ok()?;
        if !field.iter().all(u8::is_ascii_digit) || !range.contains(&number) {
            return None;
        }
        at += digits;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(names: &[&str], continuing: Continuing) -> Vec<usize> {
        let paths: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
        runs(&paths, continuing).iter().map(Vec::len).collect()
    }

    #[test]
    fn files_of_one_capture_are_recognised() {
        for names in [
            ["a/x_00001_20260131120000.pcapng", "a/x_00002_20260131121500.pcapng"],
            ["x_20260131120000_00001.pcapng.gz", "x_20260131121500_00002.pcapng"],
            ["x.pcap", "x.pcap1"],
            ["x.pcap09", "x.pcap10"],
            ["eth0-20260131-120000.pcap.zst", "eth0-20260131-121500.pcap.zst"],
            ["2026-01-31T12:00:00", "2026-01-31T12:15:00"],
            ["ü2026-01-31_12.00.00ü", "ü2026-01-31_12.15.00ü"],
        ] {
            assert_eq!(sizes(&names, Continuing::ByName), [2], "{names:?}");
            assert_eq!(sizes(&names, Continuing::None), [1, 1]);
        }
    }

    #[test]
    fn other_files_are_not() {
        for names in [
            ["host1.pcap", "host2.pcap"],
            ["part-0001.pcap", "part-0002.pcap"],
            ["a/x.pcap", "b/x.pcap1"],
            ["x_00001_20260131120000.pcap", "y_00002_20260131121500.pcap"],
            ["200812311400.dump", "200901011400.dump"],
            ["x-20261331-120000.pcap", "x-20260231-250000.pcap"],
            ["x.pcap", "y.pcap"],
        ] {
            assert_eq!(sizes(&names, Continuing::ByName), [1, 1], "{names:?}");
        }
        let names = ["a/1.pcap", "b/1.pcap", "a/2.pcap"];
        assert_eq!(sizes(&names, Continuing::Directory), [2, 1]);
        assert_eq!(sizes(&names, Continuing::All), [3]);
    }
}

//! Real captures read as by Wireshark's `tshark` and `capinfos`.

use crate::build::Packet;
use gentle_capture::{CaptureReader, WarningKind};
use gentle_testkit::zeek::{self, name};
use gentle_units::Instant;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// Standard output of a program of Wireshark, which must be installed.
fn wireshark(program: &str, args: &[&str], files: &[&Path]) -> String {
    let output = Command::new(program).args(args).args(files).stderr(Stdio::null()).output();
    match output {
        Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
        Err(error) => panic!("{program} cannot be run ({error}): run `scripts/bootstrap test`"),
    }
}

/// Time, original and captured length of each packet, and the kinds of damage.
fn ours(path: &Path) -> (Vec<(Instant, u32, usize)>, Vec<WarningKind>) {
    let mut reader = CaptureReader::open(path).unwrap();
    let mut packets = Vec::new();
    while let Some(packet) = reader.next().unwrap() {
        packets.push((packet.time, packet.original_len, packet.data.len()));
    }
    (packets, reader.warnings().iter().map(|warning| warning.kind).collect())
}

#[test]
fn as_many_packets_as_capinfos_counts() {
    let captures = zeek::all();
    let files: Vec<&Path> = captures.iter().map(PathBuf::as_path).collect();
    let table = wireshark("capinfos", &["-T", "-r", "-M", "-c"], &files);
    let counts: HashMap<&str, usize> = table
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .map(|(file, count)| (file, count.parse().unwrap()))
        .collect();
    let mut compared = 0;
    for path in &files {
        // capinfos leaves out damaged captures; each of their packets is compared with tshark's below.
        if let Some(&count) = counts.get(path.to_str().unwrap()) {
            assert_eq!(ours(path).0.len(), count, "{}", name(path));
            compared += 1;
        }
    }
    assert!(compared * 10 >= files.len() * 9, "capinfos read {compared} of {}", files.len());
}

#[test]
fn the_packets_that_tshark_reads() {
    let captures = zeek::all();
    let names = capinfos_readable(&captures);
    // tshark takes half a second to start, so only all pcapng files, those that capinfos rejects, and some others.
    let chosen: Vec<&PathBuf> = captures
        .iter()
        .enumerate()
        .filter(|(i, path)| {
            i % 8 == 0 || path.extension().is_some_and(|extension| extension == "pcapng") || !names.contains(*path)
        })
        .map(|(_, path)| path)
        .collect();
    thread::scope(|scope| {
        for half in chosen.chunks(chosen.len().div_ceil(2)) {
            scope.spawn(move || {
                for path in half {
                    compare(path);
                }
            });
        }
    });
}

fn capinfos_readable(captures: &[PathBuf]) -> Vec<PathBuf> {
    let files: Vec<&Path> = captures.iter().map(PathBuf::as_path).collect();
    let table = wireshark("capinfos", &["-T", "-r", "-M", "-c"], &files);
    table.lines().filter_map(|line| line.split_once('\t')).map(|(file, _)| file.into()).collect()
}

fn compare(path: &Path) {
    let fields = ["-n", "-T", "fields", "-e", "frame.time_epoch", "-e", "frame.len", "-e", "frame.cap_len", "-r"];
    let table = wireshark("tshark", &fields, &[path]);
    let theirs: Vec<(Instant, u32, usize)> = table
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| {
            let mut fields = line.split('\t');
            let (seconds, nanos) = fields.next().unwrap().split_once('.').unwrap_or(("0", "0"));
            let time = seconds.parse::<u64>().unwrap() * 1_000_000_000 + nanos.parse::<u64>().unwrap();
            let len = fields.next().unwrap().parse().unwrap();
            (Instant(time), len, fields.next().unwrap().parse().unwrap())
        })
        .collect();
    let (packets, warnings) = ours(path);
    assert_eq!(packets, theirs, "{} {warnings:?}", name(path));
}

#[test]
fn compressed_they_are_the_same() {
    for path in zeek::all().iter().step_by(16) {
        let bytes = std::fs::read(path).unwrap();
        let plain: (Vec<Packet>, _) = crate::build::read(&bytes);
        for (compression, compress) in &crate::build::COMPRESSIONS[1..] {
            assert!(crate::build::read(&compress(&bytes)).0 == plain.0, "{compression} {}", name(path));
        }
    }
}

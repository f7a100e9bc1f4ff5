//! Comparison with tshark, over real captures and over the samples.

mod capture;
mod reading;

use crate::samples;
use capture::Frame;
use gentle_testkit::zeek;
use gentle_wire::Tunnels;
use reading::{Reading, Row, ours, tshark};
use std::collections::BTreeMap;

/// Captures, the number of their frames that tshark 4.0 reads differently, and why the reading of this crate is right.
const CAPTURES_READ_DIFFERENTLY: &[(&str, usize, &str)] = &[
    (
        "zeek/cisco-fabric-path.pcap",
        48,
        "tshark takes the last 4 bytes for a frame check sequence, which this capture has not",
    ),
    (
        "zeek/quic/383379789-decrypt-crash.pcap",
        2,
        "UDP lengths beyond the IP payload, which every receiver drops (Linux, net/ipv4/udp.c)",
    ),
    (
        "zeek/tcp/reassembly.pcap",
        5,
        "frames shorter than their IP packet: by the next sequence number, the length in the IP header is right",
    ),
];

/// Samples that tshark 4.0 reads differently, and why.
const SAMPLES_READ_DIFFERENTLY: &[(&str, &str)] = &[
    ("pseudowire with control word", "guessed to be without"),
    ("FabricPath", "a frame check sequence is expected"),
    ("pppd", "unknown link type"),
    ("Cisco HDLC with direction", "unknown link type"),
    ("Frame Relay with direction", "unknown link type"),
    ("MPLS alone", "unknown link type"),
    ("IPv6 in MPLS", "unknown link type"),
    ("DSA", "unknown link type"),
    ("EDSA", "unknown link type"),
    ("Broadcom switch", "unknown link type"),
    ("Broadcom switch, tag in front", "unknown link type"),
    ("VXLAN of Linux", "not the registered port"),
    ("IPv6 mobility", "nothing may follow a mobility header so far (RFC 6275, 6.1.1)"),
    ("IPv6 HIP", "nothing may follow a HIP header so far (RFC 7401, 5.1)"),
];

/// The frames that are read differently: their origin, and both readings.
fn differences(frames: &[Frame], rows: &[Row]) -> Vec<(String, String)> {
    let mut differences = Vec::new();
    for (frame, row) in frames.iter().zip(rows) {
        let outer = row.reading(Tunnels::Outer);
        for tunnels in [Tunnels::Outer, Tunnels::Inner] {
            let theirs = row.reading(tunnels);
            let ours = ours(frame, tunnels);
            let read = ours.as_ref().ok();
            // A tunnel whose inside was cut off is the packet on the outside.
            let same = agree(frame, read, theirs.as_ref()) || (frame.is_cut() && agree(frame, read, outer.as_ref()));
            if !same {
                let protocols = row.protocols.join(":");
                let readings = format!("{tunnels:?}, {protocols}\n  {theirs:?}\n  {ours:?}");
                differences.push((frame.origin.clone(), readings));
                break;
            }
        }
    }
    differences
}

/// Whether both readings of a frame are equal. Of a cut frame, either may have less: tshark reads no TCP header that
/// was not captured as a whole, and this crate no packet without a transport header.
fn agree(frame: &Frame, ours: Option<&Reading>, theirs: Option<&Reading>) -> bool {
    match (ours, theirs) {
        (Some(ours), Some(theirs)) if frame.is_cut() && theirs.transport.is_none() => {
            (ours.src, ours.dst, ours.ttl) == (theirs.src, theirs.dst, theirs.ttl)
        }
        (None, Some(theirs)) if frame.is_cut() => theirs.transport.is_none(),
        _ => ours == theirs,
    }
}

#[test]
fn captures_read_as_tshark_reads_them() {
    let captures = zeek::all();
    let mut frames = Vec::new();
    for path in &captures {
        frames.extend(capture::read(path, &zeek::name(path)));
    }
    assert!(frames.len() > 20_000, "{}", frames.len());
    for snap_len in [usize::MAX, 96, 68, 54] {
        for frame in &mut frames {
            frame.bytes.truncate(snap_len);
        }
        let rows = tshark(&frames);
        let mut counts = BTreeMap::new();
        for (capture, readings) in differences(&frames, &rows) {
            println!("{capture}: {readings}");
            *counts.entry(capture).or_insert(0) += 1;
        }
        for (capture, count) in counts {
            let known = CAPTURES_READ_DIFFERENTLY.iter().find(|(name, ..)| *name == capture);
            let explained = known.map_or(0, |(_, frames, _)| *frames);
            assert!(count <= explained, "{capture}: {count} frames read differently, {explained} of them explained");
        }
    }
}

#[test]
fn samples_read_as_tshark_reads_them() {
    let frames: Vec<Frame> = samples::all()
        .into_iter()
        .map(|sample| Frame {
            origin: sample.name.to_owned(),
            link: sample.link,
            original_len: sample.frame.len() as u32,
            bytes: sample.frame,
        })
        .collect();
    let rows = tshark(&frames);
    for (name, readings) in differences(&frames, &rows) {
        let known = SAMPLES_READ_DIFFERENTLY.iter().any(|(sample, _)| *sample == name);
        assert!(known, "{name}: {readings}");
    }
}

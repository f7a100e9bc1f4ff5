//! Zeros in a pcap file, where it was never written: they yield no packets, and reading resumes after them.

use crate::build::{ORDERS, Order, Packet, Trickle, drain, packets, pcap, pcap_header, read};
use gentle_capture::{CaptureReader, WarningKind};
use proptest::prelude::*;

/// Packets with data: the record of an empty one has only 16 bytes, which could be others.
fn some_packets() -> Vec<Packet> {
    packets(1)
        .into_iter()
        .chain(packets(1))
        .filter(|packet| !packet.data.is_empty())
        .map(|packet| Packet { original_len: packet.data.len() as u32 + 3, ..packet })
        .collect()
}

/// Offsets of the records, and of the end of the file.
fn boundaries(packets: &[Packet]) -> Vec<usize> {
    let mut at = 24;
    let mut boundaries = vec![at];
    for packet in packets {
        at += 16 + packet.data.len();
        boundaries.push(at);
    }
    boundaries
}

#[test]
fn at_the_end() {
    for order in ORDERS {
        let packets = some_packets();
        let whole = pcap(order, true, &packets);
        for zeros in [16, 17, 100, 4_096, 1 << 20] {
            let file = [whole.clone(), vec![0; zeros]].concat();
            let (found, warnings) = read(&file);
            assert_eq!(found, packets);
            let [warning] = warnings.as_slice() else {
                panic!("{warnings:?}");
            };
            assert_eq!(warning.kind, WarningKind::Zeros);
            assert_eq!(warning.offset, whole.len() as u64);
            let words = warning.to_string();
            assert!(words.contains(&format!("{zeros} zeros")), "{words}");
        }
    }
}

#[test]
fn nothing_but_zeros_behind_the_header() {
    let file = [pcap_header(Order { big_endian: false }, false, (2, 4), 1), vec![0; 65_536]].concat();
    let (found, warnings) = read(&file);
    assert_eq!(found, []);
    assert_eq!(warnings[0].kind, WarningKind::Zeros);
    assert_eq!(warnings[0].offset, 24);
}

#[test]
fn between_packets() {
    for order in ORDERS {
        let packets = some_packets();
        let whole = pcap(order, false, &packets);
        for (before, at) in boundaries(&packets).into_iter().enumerate().skip(1) {
            if before == packets.len() {
                continue;
            }
            let file = [&whole[..at], &vec![0; 5_000], &whole[at..]].concat();
            let (found, warnings) = read(&file);
            let [warning] = warnings.as_slice() else {
                panic!("{warnings:?}");
            };
            assert_eq!((warning.kind, warning.offset), (WarningKind::Zeros, at as u64));
            let whole = read(&whole).0;
            assert_eq!(found, whole, "{order:?} before packet {before}");
        }
    }
}

/// If a part of the file was overwritten, the packets in it are lost, and the next whole one is found.
#[test]
fn in_place_of_packets() {
    for order in ORDERS {
        let packets = some_packets();
        let mut file = pcap(order, true, &packets);
        let boundaries = boundaries(&packets);
        // From the beginning of the third record into the middle of the fifth.
        let (from, to) = (boundaries[2], boundaries[4] + 20);
        file[from..to].fill(0);
        let (found, warnings) = read(&file);
        assert_eq!(warnings[0].kind, WarningKind::Zeros);
        assert_eq!(warnings[0].offset, from as u64);
        assert_eq!(found[..2], packets[..2]);
        assert_eq!(found[2..], packets[5..]);
    }
}

proptest! {
    /// Zeros that end within a header, which begins with zeros then and may still be sound.
    #[test]
    fn however_few_bytes_arrive_at_a_time(
        big_endian: bool,
        nanos: bool,
        (first, last, rest) in (8_usize..10, 10_usize..12, 0_usize..16),
        piece in 1_usize..40,
    ) {
        let packets = [some_packets(), some_packets()].concat();
        let mut file = pcap(Order { big_endian }, nanos, &packets);
        let boundaries = boundaries(&packets);
        file[boundaries[first]..boundaries[last] + rest].fill(0);
        let from = Trickle::new(file.clone(), piece);
        let reader = CaptureReader::from_reader("test".into(), Box::new(from)).unwrap();
        prop_assert_eq!(drain(reader).unwrap(), read(&file));
    }

    /// Zeros up to the end of a record, wherever they begin, yield no packets of 1970 and lose none before them. (If
    /// they end within a header, its time may be anything; the analysis warns of times far from the others.)
    #[test]
    fn anywhere(big_endian: bool, nanos: bool, from in 0.0..1.0, length in 32_usize..400) {
        // The first eight packets identify the variant of the format, so they stay intact.
        let packets = [some_packets(), some_packets()].concat();
        let mut file = pcap(Order { big_endian }, nanos, &packets);
        let sound = read(&file).0;
        let boundaries = boundaries(&packets);
        let from = boundaries[8] + (from * (file.len() - boundaries[8]) as f64) as usize;
        let to = boundaries.iter().copied().find(|&end| end >= from + length).unwrap_or(file.len());
        file[from..to].fill(0);
        let (found, warnings) = read(&file);
        let before = boundaries.iter().filter(|&&end| end <= from).count() - 1;
        prop_assert_eq!(&found[..before], &sound[..before]);
        // A record in which the zeros begin keeps its time, as far as that was written.
        let of_1970 = found.iter().filter(|packet| packet.time.0 < 1_000_000_000_000_000_000).count();
        prop_assert_eq!(of_1970, 0, "{:?} {:?}", warnings, from);
    }
}

//! Damaged captures yield every packet up to the damage and its offset, without panic, hang or unbounded memory.

use crate::build::*;
use gentle_capture::{CaptureError, Warning, WarningKind};
use proptest::prelude::*;

fn the_warning(file: &[u8]) -> (usize, Warning) {
    let (packets, warnings) = read(file);
    let [warning] = &warnings[..] else {
        panic!("one warning expected: {warnings:?}");
    };
    let error = drain(open(file).unwrap().strict(true)).unwrap_err();
    let CaptureError::Damaged(refused) = &error else {
        panic!("damage expected: {error}");
    };
    assert_eq!((refused.kind, refused.offset), (warning.kind, warning.offset));
    (packets.len(), warning.clone())
}

/// Offsets of the records of a pcap file with these packets, and of its end.
fn pcap_records(packets: &[Packet]) -> Vec<usize> {
    let mut at = 24;
    let mut records = vec![at];
    records.extend(packets.iter().map(|packet| {
        at += 16 + packet.data.len();
        at
    }));
    records
}

/// Offsets of the packet blocks of a pcapng file with these packets, and of its end.
fn pcapng_blocks(packets: &[Packet]) -> Vec<usize> {
    let mut at = 28 + 28;
    let mut blocks = vec![at];
    blocks.extend(packets.iter().map(|packet| {
        at += 32 + packet.data.len().next_multiple_of(4);
        at
    }));
    blocks
}

#[test]
fn cut_at_every_byte() {
    let all = packets(1);
    for order in ORDERS {
        for (file, begins) in
            [(pcap(order, true, &all), pcap_records(&all)), (pcapng(order, &all), pcapng_blocks(&all))]
        {
            assert_eq!(begins.last(), Some(&file.len()));
            for cut in 0..file.len() {
                let Ok(reader) = open(&file[..cut]) else {
                    assert!(cut < 12, "{cut}: refused though it is known");
                    continue;
                };
                let (packets, warnings) = drain(reader).unwrap();
                let whole = begins.iter().filter(|&&begin| begin <= cut).count().saturating_sub(1);
                assert_eq!(packets, all[..whole], "{cut}");
                // Between two records, or between the two blocks before the packets, nothing is missing.
                if begins.contains(&cut) || cut == 28 && begins[0] == 56 {
                    assert_eq!(warnings, [], "{cut}");
                    continue;
                }
                let [warning] = &warnings[..] else {
                    panic!("{cut}: {warnings:?}");
                };
                let heads: &[usize] = if begins[0] == 56 { &[0, 28] } else { &[0] };
                let begin = heads.iter().chain(&begins).rev().find(|&&begin| begin <= cut).unwrap();
                assert_eq!((warning.kind, warning.offset), (WarningKind::CutShort, *begin as u64), "{cut}");
                let found = format!("the end of the file after {} bytes", cut - begin);
                assert_eq!(warning.found, found, "{cut}");
            }
        }
    }
}

#[test]
fn compressed_and_cut_at_every_byte() {
    let all = packets(1);
    for (name, compress) in &COMPRESSIONS[1..] {
        let file = compress(&pcap(ORDERS[0], true, &all));
        for cut in 6..file.len() {
            let Ok(reader) = open(&file[..cut]) else {
                continue;
            };
            let (packets, warnings) = drain(reader).unwrap();
            assert_eq!(packets, all[..packets.len()], "{name} {cut}");
            let [warning] = &warnings[..] else {
                panic!("{name} {cut}: {warnings:?}");
            };
            assert_eq!(warning.kind, WarningKind::Compression, "{name} {cut}: {warning}");
            // A truncated file header counts as truncation at its beginning.
            let record = pcap_records(&all)[packets.len()] as u64;
            assert!(warning.offset == record || record == 24 && warning.offset == 0, "{name} {cut}: {warning}");
            assert!(warning.to_string().contains(&format!("of what {name} decompresses to")), "{warning}");
        }
    }
}

#[test]
fn what_was_decompressed_before_the_break_is_used() {
    let all: Vec<Packet> = (0..40).flat_map(|_| packets(1)).collect();
    let file = pcap(ORDERS[0], true, &all);
    for (name, compress) in &COMPRESSIONS[1..] {
        // Two members, the second of which is damaged at its beginning.
        let (first, second) = file.split_at(file.len() / 2);
        let mut whole = compress(first);
        let at = whole.len();
        whole.extend(compress(second));
        whole.truncate(at + 9);
        let (packets, warning) = the_warning(&whole);
        let records = pcap_records(&all);
        let expected = records.iter().filter(|&&record| record <= first.len()).count() - 1;
        assert_eq!(packets, expected, "{name}");
        assert_eq!((warning.kind, warning.offset as usize), (WarningKind::Compression, records[expected]), "{name}");
        let message = warning.to_string();
        assert!(message.contains(&format!("the end of the {name} file after {} bytes", at + 9)), "{message}");
    }
}

#[test]
fn an_impossible_length_ends_a_pcap_file_where_it_stands() {
    let all = packets(1);
    let begins = pcap_records(&all);
    for order in ORDERS {
        for length in [256 * 1024 + 1, u32::MAX, 0x8000_0000] {
            let mut file = pcap(order, true, &all);
            file[begins[4] + 8..][..4].copy_from_slice(&order.u32(length));
            let (packets, warning) = the_warning(&file);
            assert_eq!((packets, warning.kind, warning.offset), (4, WarningKind::Corrupt, begins[4] as u64));
            assert_eq!(warning.found, format!("a length of {length} bytes"));
        }
    }
}

#[test]
fn the_largest_packets_are_read() {
    let mut file = pcap_header(ORDERS[0], false, (2, 4), 1);
    file.extend(pcap_record(ORDERS[0], [0, 0, 262_144, 262_144], &[1; 262_144]));
    assert_eq!(read(&file).0[0].data.len(), 262_144);
    // D-Bus messages may be larger.
    let mut file = pcap_header(ORDERS[0], false, (2, 4), 231);
    file.extend(pcap_record(ORDERS[0], [0, 0, 3 << 20, 3 << 20], &vec![1; 3 << 20]));
    assert_eq!(read(&file).0[0].data.len(), 3 << 20);
    let mut file = PcapNg::new(ORDERS[0]);
    let most = (16 << 20) - 32;
    file.interface(1, 0, &[]).enhanced(0, 0, most, &vec![1; most as usize]);
    assert_eq!(read(&file.file).0[0].data.len(), most as usize);
    let begin = file.file.len() as u64;
    file.enhanced(0, 0, most + 4, &vec![1; most as usize + 4]);
    let (packets, warning) = the_warning(&file.file);
    assert_eq!((packets, warning.kind, warning.offset), (1, WarningKind::Corrupt, begin));
}

#[test]
fn joined_pcap_files_are_recognised() {
    for order in ORDERS {
        for nanos in [false, true] {
            let first = pcap(order, true, &packets(1));
            let file = [&first[..], &pcap(order, nanos, &packets(1_000))].concat();
            let (packets, warning) = the_warning(&file);
            assert_eq!((packets, warning.offset), (7, first.len() as u64));
            assert!(warning.found.contains("mergecap -a"), "{warning}");
        }
    }
}

#[test]
fn damage_within_a_block_costs_that_block() {
    for order in ORDERS {
        let mut file = PcapNg::new(order);
        file.enhanced(0, 1, 4, &[0; 4]);
        file.interface(1, 0, &[]).enhanced(0, 1, 4, &[1; 4]);
        file.enhanced(1, 2, 4, &[2; 4]).obsolete(9, 3, 4, &[3; 4]);
        let long = file.file.len();
        file.enhanced(0, 4, 4, &[4; 4]).enhanced(0, 5, 4, &[5; 4]);
        file.file[long + 20..][..4].copy_from_slice(&order.u32(5));
        let (packets, warnings) = read(&file.file);
        let marks: Vec<u8> = packets.iter().map(|packet| packet.data[0]).collect();
        assert_eq!(marks, [1, 5]);
        let [unknown, bad] = &warnings[..] else {
            panic!("{warnings:?}");
        };
        assert_eq!((unknown.kind, unknown.offset, unknown.count), (WarningKind::UnknownInterface, 28, 3));
        assert!(unknown.expected.contains("but none was"), "{unknown}");
        assert_eq!((bad.kind, bad.offset, bad.count), (WarningKind::BadBlock, long as u64, 1));
        assert_eq!(bad.found, "one of 5 bytes");
        assert!(unknown.to_string().ends_with("(3 times; this is the first)"), "{unknown}");

        // An interface that the section does not have.
        let mut file = PcapNg::new(order);
        file.interface(1, 0, &[]).enhanced(0, 1, 4, &[1; 4]);
        let alien = file.file.len() as u64;
        file.enhanced(1, 2, 4, &[2; 4]);
        let (packets, warning) = the_warning(&file.file);
        assert_eq!((packets, warning.offset), (1, alien));
        assert_eq!(warning.found, "one of interface 1");
    }
}

#[test]
fn lengths_of_blocks_that_cannot_be_end_the_file() {
    for order in ORDERS {
        for (field, value, found) in [(4, 8, "a length of 8"), (4, 0, "a length of 0"), (4, 28, "a length of 28")] {
            let mut file = PcapNg::new(order);
            file.interface(1, 0, &[]).enhanced(0, 1, 4, &[1; 4]);
            let begin = file.file.len();
            file.enhanced(0, 2, 4, &[2; 4]).enhanced(0, 3, 4, &[3; 4]);
            file.file[begin + field..][..4].copy_from_slice(&order.u32(value));
            let (packets, warning) = the_warning(&file.file);
            assert_eq!((packets, warning.kind, warning.offset), (1, WarningKind::Corrupt, begin as u64));
            assert_eq!(warning.found, found);
        }
        // The two lengths disagree: in a packet block, an interface block, and a skipped block.
        for which in 0..3 {
            let mut file = PcapNg::new(order);
            file.interface(1, 0, &[]);
            let begin = file.file.len();
            match which {
                0 => file.enhanced(0, 2, 4, &[2; 4]),
                1 => file.interface(1, 0, &[]),
                _ => file.block(0x77, &[0; 40]),
            };
            let trailer = file.file.len() - 4;
            file.file[trailer..].copy_from_slice(&order.u32(800));
            let (packets, warning) = the_warning(&file.file);
            assert_eq!((packets, warning.kind, warning.offset), (0, WarningKind::Corrupt, begin as u64));
            assert_eq!(warning.found, "a length of 800 there");
        }
    }
}

#[test]
fn malformed_options_keep_those_before() {
    let mut file = PcapNg::new(ORDERS[0]);
    let begin = file.file.len();
    file.interface(1, 0, &[(9, &[9]), (2, b"eth1")]);
    // The length of the name now points beyond the block.
    file.file[begin + 16 + 8 + 2] = 200;
    file.enhanced(0, 7, 1, &[1]);
    let (packets, warning) = the_warning(&file.file);
    assert_eq!(packets, 1);
    assert_eq!((warning.kind, warning.offset), (WarningKind::BadOptions, begin as u64));
    assert_eq!(read(&file.file).0[0].time.0, 7);
    let mut file = PcapNg::new(ORDERS[0]);
    file.interface(1, 0, &[(9, &[9, 9]), (14, &[1])]);
    assert_eq!(the_warning(&file.file).1.kind, WarningKind::BadOptions);
}

#[test]
fn a_bad_section_ends_the_file() {
    for (field, part) in [(8, "99 3c 4d"), (12, "version")] {
        let mut file = PcapNg::new(ORDERS[1]);
        file.interface(1, 0, &[]).enhanced(0, 1, 4, &[1; 4]);
        let begin = file.file.len();
        file.section(ORDERS[1]);
        file.file[begin + field + usize::from(field == 8)] = 0x99;
        let (packets, warning) = the_warning(&file.file);
        assert_eq!((packets, warning.kind, warning.offset), (1, WarningKind::Corrupt, begin as u64));
        assert!(warning.found.contains(part), "{warning}");
    }
}

#[test]
fn interfaces_without_end_do_not_fill_the_memory() {
    let mut file = PcapNg::new(ORDERS[0]);
    for _ in 0..=65_536 {
        file.interface(1, 0, &[]);
    }
    let reader = open(&file.file).unwrap();
    let (packets, warnings) = drain(reader).unwrap();
    assert_eq!((packets.len(), warnings[0].kind), (0, WarningKind::Corrupt));
    assert_eq!(warnings[0].offset, 28 + 65_536 * 20);
}

/// Random bytes that begin like a capture.
fn captures() -> impl Strategy<Value = Vec<u8>> {
    let order = prop::sample::select(&ORDERS[..]);
    let bytes = prop::collection::vec(any::<u8>(), 0..600);
    let sections =
        prop::collection::vec((prop::sample::select(&[0x0a0d_0d0a, 1, 2, 3, 6, 5, 77][..]), any::<Vec<u8>>()), 0..8);
    (order, bytes, sections, 0..4).prop_map(|(order, bytes, blocks, which)| match which {
        0 => bytes,
        1 => [pcap_header(order, true, (2, 4), 1), bytes].concat(),
        2 => {
            let mut file = PcapNg::new(order);
            file.interface(1, 0, &[]);
            for (kind, body) in &blocks {
                file.block(*kind, body);
            }
            file.file
        }
        _ => [PcapNg::new(order).file, bytes].concat(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn any_bytes_are_read_or_refused(file in captures(), strict: bool) {
        if let Ok(reader) = open(&file) {
            let read = drain(reader.strict(strict));
            prop_assert!(strict || read.is_ok());
            if let Ok((packets, _)) = read {
                let bytes: usize = packets.iter().map(|packet| packet.data.len()).sum();
                prop_assert!(bytes <= file.len());
            }
        }
    }

    #[test]
    fn any_bytes_behind_a_compression(which in 1usize..5, bytes in prop::collection::vec(any::<u8>(), 0..300), keep in 4usize..40) {
        let mut file = (COMPRESSIONS[which].1)(&pcap(ORDERS[0], true, &packets(1)));
        file.truncate(keep);
        file.extend(bytes);
        if let Ok(reader) = open(&file) {
            prop_assert!(drain(reader).is_ok());
        }
    }

    #[test]
    fn flipped_bits_keep_the_packets_before(which in 0usize..7, bit in any::<prop::sample::Index>(), second in any::<prop::sample::Index>()) {
        let all = packets(1);
        let mut file = match which {
            0 => pcap(ORDERS[0], true, &all),
            1 => pcapng(ORDERS[1], &all),
            2 => pcapng(ORDERS[0], &all),
            n => (COMPRESSIONS[n - 2].1)(&pcap(ORDERS[0], true, &all)),
        };
        let bits = file.len() * 8;
        let (first, second) = (bit.index(bits), second.index(bits));
        for bit in [first, second] {
            file[bit / 8] ^= 1 << (bit % 8);
        }
        let begins = match which {
            0 => pcap_records(&all),
            1 | 2 => pcapng_blocks(&all),
            _ => vec![],
        };
        if let Ok(reader) = open(&file) {
            let (packets, _) = drain(reader).unwrap();
            let damage = first.min(second) / 8;
            let sound = begins.iter().filter(|&&begin| begin <= damage).count().saturating_sub(1);
            if begins.first().is_some_and(|&begin| begin <= damage) {
                prop_assert_eq!(&packets[..sound], &all[..sound]);
            }
        }
    }
}

#[test]
fn a_fraction_of_a_second_or_more_is_no_time() {
    let all = packets(1_000);
    for order in ORDERS {
        for (nanos, limit) in [(false, 1_000_000), (true, 1_000_000_000)] {
            for fraction in [limit, limit + 1, 0x8000_0000, u32::MAX] {
                let mut file = pcap(order, nanos, &all);
                let records = pcap_records(&all);
                for damaged in [3, 5] {
                    file[records[damaged] + 4..][..4].copy_from_slice(&order.u32(fraction));
                }
                let (packets, warnings) = read(&file);
                let [warning] = &warnings[..] else {
                    panic!("one warning expected: {warnings:?}");
                };
                assert_eq!((warning.kind, warning.count, warning.offset), (WarningKind::BadTime, 2, records[3] as u64));
                assert!(warning.found.starts_with(&fraction.to_string()), "{warning}");
                // The packets are there, with the times of those before them.
                let times: Vec<_> = packets.iter().map(|packet| packet.time).collect();
                let expected = [0, 1, 2, 2, 4, 4, 6].map(|i: usize| all[i].time);
                assert_eq!(times, expected);
                assert_eq!(packets[3].data, all[3].data);
                let refused = drain(open(&file).unwrap().strict(true)).unwrap_err();
                assert!(matches!(refused, CaptureError::Damaged(_)), "{refused}");
            }
        }
    }
    let order = ORDERS[0];
    let mut file = pcap(order, false, &all);
    file[24 + 4..][..4].copy_from_slice(&order.u32(0x8000_0000));
    let (packets, _) = read(&file);
    assert_eq!(packets[0].time.0 % 1_000_000_000, 0);
    assert_eq!(packets.len(), all.len());
}

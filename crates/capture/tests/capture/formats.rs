//! Captures of every format, byte order, resolution and compression read back as written.

use crate::build::*;
use gentle_capture::{CaptureError, CaptureReader, Compression, FormatKind, Merge, RawPacket, Sink, WarningKind};
use gentle_units::Instant;
use pcap_file::{DataLink, Endianness};
use std::borrow::Cow;
use std::io::{self, Cursor, Read, Write};
use std::ops::ControlFlow;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn every_format_in_every_byte_order_and_compression() {
    for order in ORDERS {
        for (compression, compress) in COMPRESSIONS {
            for (kind, unit) in [(FormatKind::PcapMicros, 1_000), (FormatKind::PcapNanos, 1), (FormatKind::PcapNg, 1)] {
                let written = packets(unit);
                let file = match kind {
                    FormatKind::PcapNg => pcapng(order, &written),
                    kind => pcap(order, kind == FormatKind::PcapNanos, &written),
                };
                let reader = open(&compress(&file)).unwrap();
                assert_eq!(reader.format().kind, kind);
                assert_eq!(reader.format().big_endian, order.big_endian);
                assert_eq!(reader.format().compression.to_string(), compression);
                assert_eq!(drain(reader).unwrap(), (written, vec![]), "{kind:?} {order:?} {compression}");
            }
        }
    }
}

#[test]
fn what_another_library_writes() {
    let written = packets(1);
    for endianness in [Endianness::Big, Endianness::Little] {
        let header = pcap_file::pcap::PcapHeader {
            ts_resolution: pcap_file::pcap::PcapTsResolution::NanoSecond,
            endianness,
            datalink: DataLink::ETHERNET,
            ..Default::default()
        };
        let mut writer = pcap_file::pcap::PcapWriter::with_header(Vec::new(), header).unwrap();
        for packet in &written {
            let time = Duration::from_nanos(packet.time.0);
            let packet = pcap_file::pcap::PcapPacket::new(time, packet.original_len, &packet.data[..]).unwrap();
            writer.write_packet(&packet).unwrap();
        }
        assert_eq!(read(&writer.into_inner()), (written.clone(), vec![]));
    }
    let mut writer = pcap_file::pcapng::PcapNgWriter::new(Vec::new()).unwrap();
    let interface =
        pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionBlock::new(DataLink::ETHERNET, 0);
    writer.write_pcapng_block(interface).unwrap();
    for packet in &written {
        let block = pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock {
            timestamp: Duration::from_nanos(packet.time.0 / 1_000 * 1_000),
            original_len: packet.original_len,
            data: Cow::Borrowed(&packet.data),
            ..Default::default()
        };
        writer.write_pcapng_block(block).unwrap();
    }
    let (read, warnings) = read(&writer.into_inner());
    assert_eq!(warnings, vec![]);
    for (read, written) in read.iter().zip(&written) {
        assert_eq!(read.time.since_origin().as_micros(), written.time.since_origin().as_micros());
        assert_eq!((read.original_len, &read.data), (written.original_len, &written.data));
    }
    assert_eq!(read.len(), written.len());
}

#[test]
fn more_than_a_window_in_every_compression() {
    // Incompressible, so that decoders meet stored blocks, and larger than windows and chunks.
    let mut state = 1u64;
    let written: Vec<Packet> = (0..900)
        .map(|i| Packet {
            time: Instant(i * 1_000),
            interface: 0,
            link: 1,
            original_len: 2_000,
            data: (0..1_000 + i)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 56) as u8
                })
                .collect(),
        })
        .collect();
    let file = pcap(ORDERS[0], true, &written);
    for (_, compress) in COMPRESSIONS {
        assert!(read(&compress(&file)) == (written.clone(), vec![]));
    }
}

#[test]
fn several_compressed_members_are_one_stream() {
    let written = packets(1);
    let file = pcap(ORDERS[0], true, &written);
    for (name, compress) in COMPRESSIONS {
        let mut whole = Vec::new();
        for part in file.chunks(37) {
            whole.extend(compress(part));
        }
        assert_eq!(read(&whole), (written.clone(), vec![]), "{name}");
    }
    let skippable = [0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    for compress in [zstd as Compress, lz4] {
        let (first, rest) = file.split_at(50);
        let whole = [&compress(first)[..], &skippable, &compress(rest)].concat();
        assert_eq!(read(&whole), (written.clone(), vec![]));
    }
    let whole = [&skippable, &zstd(&file)[..]].concat();
    assert_eq!(read(&whole), (written, vec![]));
}

#[test]
fn sections_have_byte_orders_interfaces_and_clocks_of_their_own() {
    let mut file = PcapNg::new(ORDERS[1]);
    file.interface(1, 96, &[(2, b"eth0\xff"), (9, &[3]), (13, &[4]), (0, b"")]);
    file.interface(101, 0, &[(3, b"a tunnel"), (14, &(-5i64).to_be_bytes())]);
    file.enhanced(0, 1_500, 60, &[1, 2, 3]);
    file.enhanced(1, 7_000_000, 60, &[4]);
    file.block(0x0bad, &[0; 33]).block(4, &[]).block(0x8000_0001, &[7; 700_000]);
    file.section(ORDERS[0]);
    file.interface(113, 0, &[(9, &[0x80 | 4]), (14, &100i64.to_le_bytes())]);
    file.obsolete(0, 24, 5, &[5, 6, 7, 8, 9]);
    file.simple(2, &[1, 2]);
    let mut reader = open(&file.file).unwrap();
    let expected = [
        (Instant::from_millis(1_500), 0, 1, 60, vec![1, 2, 3]),
        (Instant::from_secs(2), 1, 101, 60, vec![4]),
        (Instant::from_millis(101_500), 2, 113, 5, vec![5, 6, 7, 8, 9]),
        (Instant::from_millis(101_500), 2, 113, 2, vec![1, 2]),
    ];
    for (time, interface, link, original_len, data) in expected {
        let packet = reader.next().unwrap().unwrap();
        assert_eq!((packet.time, packet.interface, packet.link.0), (time, interface, link));
        assert_eq!((packet.original_len, packet.data), (original_len, &data[..]));
    }
    assert_eq!(reader.next().unwrap(), None);
    assert_eq!(reader.offset(), file.file.len() as u64);
    let kinds: Vec<_> = reader.warnings().iter().map(|warning| warning.kind).collect();
    assert_eq!(kinds, [WarningKind::NoTime]);
    let [eth, tunnel, cooked] = reader.interfaces() else {
        panic!("{:?}", reader.interfaces());
    };
    assert_eq!((eth.name.as_deref(), eth.snap_length, eth.fcs_length), (Some("eth0\u{fffd}"), Some(96), Some(4)));
    assert_eq!((tunnel.description.as_deref(), tunnel.snap_length), (Some("a tunnel"), None));
    assert_eq!((cooked.link.0, cooked.name.as_deref()), (113, None));
}

#[test]
fn simple_packets_are_cut_to_the_snap_length() {
    let mut file = PcapNg::new(ORDERS[0]);
    file.interface(1, 4, &[]).simple(60, &[1, 2, 3, 4]).simple(2, &[9, 9]);
    let reader = open(&file.file).unwrap().strict(true);
    let (packets, _) = drain(reader).expect("no time is not damage");
    assert_eq!((packets[0].original_len, &packets[0].data[..]), (60, &[1, 2, 3, 4][..]));
    assert_eq!((packets[1].original_len, &packets[1].data[..]), (2, &[9, 9][..]));
}

#[test]
fn lengths_that_do_not_count_the_padding() {
    let mut file = PcapNg::new(ORDERS[0]);
    file.interface(1, 0, &[]);
    let at = file.file.len();
    file.enhanced(0, 1, 61, &[7; 61]).enhanced(0, 2, 4, &[8; 4]);
    let end = at + 96;
    file.file[at + 4] = 93;
    file.file[end - 4] = 93;
    let (packets, warnings) = read(&file.file);
    assert_eq!(warnings, vec![]);
    assert_eq!(packets.iter().map(|packet| packet.data.len()).collect::<Vec<_>>(), [61, 4]);
}

#[test]
fn old_versions_of_pcap_have_the_lengths_the_other_way_round() {
    let order = ORDERS[0];
    // As Wireshark 4.0 reads these files: version, lengths as written, captured and original length as read.
    for (version, written, read_as) in [
        ((2, 0), (100, 60), (60, 100)),
        ((2, 1), (100, 60), (60, 100)),
        ((2, 3), (100, 60), (60, 100)),
        ((2, 3), (60, 100), (60, 100)),
        ((2, 4), (60, 100), (60, 100)),
        ((543, 0), (100, 60), (60, 100)),
    ] {
        let mut file = pcap_header(order, false, version, 1);
        file.extend(pcap_record(order, [5, 7, written.0, written.1], &[1; 60]));
        let (packets, warnings) = read(&file);
        assert_eq!(warnings, vec![]);
        assert_eq!((packets[0].data.len() as u32, packets[0].original_len), read_as, "{version:?}");
        assert_eq!(packets[0].time, Instant(5_000_007_000));
    }
    // AIX: nanoseconds, and link type 6 means Ethernet.
    let mut file = pcap_header(order, false, (2, 2), 6);
    file.extend(pcap_record(order, [5, 7, 100, 60], &[1; 60]));
    let reader = open(&file).unwrap();
    assert_eq!(reader.format().kind, FormatKind::PcapNanos);
    let (packets, _) = drain(reader).unwrap();
    assert_eq!((packets[0].link, packets[0].time), (1, Instant(5_000_000_007)));
}

#[test]
fn the_link_type_has_flags_above_it() {
    let file = pcap_header(ORDERS[1], false, (2, 4), 0x2400_0001);
    let reader = open(&file).unwrap();
    assert_eq!(reader.interfaces()[0].link.0, 1);
    assert_eq!(reader.interfaces()[0].fcs_length, Some(4));
    let file = pcap_header(ORDERS[1], false, (2, 4), 0xf3ff_0071);
    let reader = open(&file).unwrap();
    assert_eq!((reader.interfaces()[0].link.0, reader.interfaces()[0].fcs_length), (113, None));
}

#[test]
fn what_is_no_capture_is_refused_by_name() {
    let order = ORDERS[0];
    let nokia: Vec<u8> = (0..3).flat_map(|i| pcap_record(order, [1_000 + i, 5, 60, 60], &[0xc8; 64])).collect();
    let mut endace = vec![0, 0, 0, 0, 0, 0, 0, 0x60, 2, 4, 0, 80, 0, 0, 0, 60];
    endace.extend([0xaa; 64]);
    for (file, part) in [
        (b"".to_vec(), "the file is empty"),
        (b"{\"a\": 1}".to_vec(), "JSON"),
        (b"  [1, 2]\n".to_vec(), "JSON"),
        (b"<html>".to_vec(), "HTML"),
        (b"12:00:01.5 IP 10.0.0.1.22 > 10.0.0.2".to_vec(), "text"),
        (
            b"snoop\0\0\0\0\0\0\x02\0\0\0\x04".to_vec(),
            "snoop capture (Solaris, RFC 1761): convert it with `editcap -F pcapng",
        ),
        (b"RTSS1234".to_vec(), "NetMon 1 capture: convert it with `editcap"),
        (b"GMBU1234".to_vec(), "NetMon 2 capture: convert it with `editcap"),
        (b"\x34\xcd\xb2\xa1\x02\0\x04\0".to_vec(), "Kuznetzov's tcpdump of 1999): convert it with `editcap"),
        (b"\xa1\xb2\xcd\x34\0\x02\0\x04".to_vec(), "Kuznetzov"),
        (b"\x1c\0\x01\xac\0\x02\0\x04".to_vec(), "IXIA hardware"),
        (b"\xab\x01\0\x1c\x02\0\x04\0".to_vec(), "IXIA software"),
        (b"\x4d\x3c\x2b\xa1\x02\0\x04\0".to_vec(), "Navtel"),
        ([pcap_header(order, false, (2, 4), 1), nokia].concat(), "Nokia's: convert it with `editcap"),
        (pcap_header(order, false, (7, 1), 1), "version 7.1"),
        (endace, "Endace ERF capture: convert it with `editcap"),
        (b"BZh91AY&SY".to_vec(), "bunzip2"),
        (vec![0; 100], "zeros"),
        (vec![0xfe, 0xca, 0x01, 0x02], "fe ca 01 02"),
        (b"\xd4\xc3".to_vec(), "d4 c3"),
        (gzip(b"{\"a\": 1}"), "compressed with gzip, and inside it looks like a JSON"),
        (gzip(&gzip(b"{}")), "inside it looks like gzip data"),
        (b"\x28\xb5\x2f\xfdrubbish".to_vec(), "cannot be decompressed"),
        (b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\x02\0\0\0".to_vec(), "version 2.0"),
    ] {
        match open(&file) {
            Err(error @ CaptureError::NotACapture { .. }) => {
                assert!(error.to_string().contains(part), "{error}\n  should say: {part}");
            }
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("taken for a capture: {part}"),
        }
    }
}

#[test]
fn files_that_cannot_be_opened_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().join("absent.pcap"), folder.path().to_path_buf()] {
        let Err(error @ CaptureError::Io { .. }) = CaptureReader::open(&path) else {
            panic!("opened {}", path.display());
        };
        assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
    }
}

#[test]
fn a_file_tells_its_size_and_how_far_it_was_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = pcap(ORDERS[0], true, &packets(1));
    for (name, compress) in COMPRESSIONS {
        let bytes = compress(&file);
        let path = folder.path().join(name);
        std::fs::write(&path, &bytes).unwrap();
        let mut reader = CaptureReader::open(&path).unwrap();
        assert_eq!(reader.size(), Some(bytes.len() as u64));
        while reader.next().unwrap().is_some() {}
        assert_eq!(reader.consumed(), bytes.len() as u64);
        assert_eq!(reader.offset(), file.len() as u64);
    }
}

#[test]
fn a_stream_that_trickles() {
    for (name, compress) in COMPRESSIONS {
        for file in [pcap(ORDERS[0], true, &packets(1)), pcapng(ORDERS[1], &packets(1))] {
            let from = Trickle::new(compress(&file), 1);
            let reader = CaptureReader::from_reader("trickle".into(), Box::new(from)).unwrap();
            assert_eq!(drain(reader).unwrap(), (packets(1), vec![]), "{name}");
        }
    }
}

/// Reader that fails at the end of its data.
struct Failing(Cursor<Vec<u8>>);

impl Read for Failing {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        match self.0.read(space)? {
            0 => Err(io::Error::other("the disk is on fire")),
            n => Ok(n),
        }
    }
}

#[test]
fn a_failing_disk_is_an_error_and_not_damage() {
    for (name, compress) in COMPRESSIONS {
        let mut file = compress(&pcap(ORDERS[0], true, &packets(1)));
        file.truncate(file.len() - 1);
        let opened = CaptureReader::from_reader("disk".into(), Box::new(Failing(Cursor::new(file))));
        let error = opened.and_then(drain).expect_err(name);
        assert!(matches!(error, CaptureError::Io { .. }), "{name}: {error}");
        assert!(error.to_string().contains("on fire"), "{name}: {error}");
    }
}

const CHILD: &str = "GENTLE_TEST_READS_STANDARD_INPUT";

#[test]
fn standard_input_is_a_stream() {
    if std::env::var_os(CHILD).is_some() {
        let reader = CaptureReader::open("-".as_ref()).unwrap();
        assert_eq!((reader.name(), reader.size()), ("-", None));
        assert_eq!(drain(reader).unwrap(), (packets(1), vec![]));
        return;
    }
    for (name, compress) in COMPRESSIONS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "formats::standard_input_is_a_stream"])
            .env(CHILD, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let file = compress(&pcap(ORDERS[0], true, &packets(1)));
        child.stdin.take().unwrap().write_all(&file).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{name}: {said}");
    }
}

fn timed(times: &[u64], mark: u8) -> CaptureReader {
    let packets: Vec<Packet> = times
        .iter()
        .map(|&time| Packet { time: Instant(time), interface: 0, link: 1, original_len: 1, data: vec![mark] })
        .collect();
    open(&pcap(ORDERS[0], true, &packets)).unwrap()
}

/// Time and capture of each packet, in the order received.
#[derive(Default)]
struct Order(Vec<(u64, usize)>);

impl Sink for Order {
    fn packet(&mut self, file: usize, packet: &RawPacket<'_>) -> ControlFlow<()> {
        assert_eq!(packet.data, [file as u8]);
        self.0.push((packet.time.0, file));
        ControlFlow::Continue(())
    }
}

fn merged(readers: Vec<CaptureReader>) -> Vec<(u64, usize)> {
    let mut merge = Merge::new(readers);
    let mut order = Order::default();
    while merge.read(&mut order).unwrap() {}
    assert!(!merge.read(&mut order).unwrap());
    order.0
}

#[test]
fn captures_merge_in_time_order() {
    let readers = vec![timed(&[5, 10, 20], 0), timed(&[], 1), timed(&[1, 5, 10, 10, 30], 2), timed(&[10], 3)];
    // At equal times, packets come in the order of their captures.
    let expected = [(1, 2), (5, 0), (5, 2), (10, 0), (10, 2), (10, 2), (10, 3), (20, 0), (30, 2)];
    assert_eq!(merged(readers), expected);
    // Disorder within a capture is kept.
    let readers = vec![timed(&[5, 3, 9], 0), timed(&[4, 6], 1)];
    assert_eq!(merged(readers), [(4, 1), (5, 0), (3, 0), (6, 1), (9, 0)]);
    assert_eq!(merged(vec![timed(&[5, 3, 9], 0)]), [(5, 0), (3, 0), (9, 0)]);
    assert_eq!(merged(vec![]), []);
}

/// Number of packets of each capture.
struct Counts([usize; 3]);

impl Sink for Counts {
    fn packet(&mut self, file: usize, _: &RawPacket<'_>) -> ControlFlow<()> {
        self.0[file] += 1;
        ControlFlow::Continue(())
    }
}

#[test]
fn an_error_of_one_merged_capture_leaves_the_others() {
    let mut cut = pcap(ORDERS[0], true, &packets(1));
    cut.pop();
    let strict = open(&cut).unwrap().strict(true);
    let mut empty = pcap(ORDERS[0], true, &[]);
    empty.push(0);
    let strict_at_once = open(&empty).unwrap().strict(true);
    let mut merge = Merge::new(vec![strict_at_once, strict, timed(&[u64::MAX / 8], 2)]);
    let (mut read, mut errors) = (Counts([0; 3]), 0);
    loop {
        match merge.read(&mut read) {
            Ok(true) => {}
            Ok(false) => break,
            Err(CaptureError::Damaged(_)) => errors += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!((read.0, errors), ([0, 6, 1], 2));
    assert_eq!(merge.readers()[2].format().compression, Compression::None);
}

#[test]
fn packets_of_chosen_interfaces_only() {
    let mut file = PcapNg::new(ORDERS[0]);
    file.interface(1, 0, &[(2, b"eth0"), (9, &[9])]);
    file.interface(101, 0, &[(2, b"tun0"), (9, &[9])]);
    for i in 0..6_u32 {
        file.enhanced(i % 2, u64::from(i), 1, &[i as u8]);
    }
    // An interface that is described later, in a further section.
    file.section(ORDERS[0]);
    file.interface(1, 0, &[(2, b"eth0"), (9, &[9])]);
    file.enhanced(0, 6, 1, &[6]);
    let file = file.file;
    let choose = |name: &'static str| {
        let reader = open(&file).unwrap();
        reader.choose(move |_, interface| interface.name.as_deref() == Some(name))
    };
    for (name, expected) in [("eth0", &[0, 2, 4, 6][..]), ("tun0", &[1, 3, 5]), ("eth1", &[])] {
        let (packets, warnings) = drain(choose(name)).unwrap();
        let data: Vec<u8> = packets.iter().map(|packet| packet.data[0]).collect();
        assert_eq!((&data[..], &warnings[..]), (expected, &[][..]), "{name}");
    }
    let mut reader = choose("tun0");
    while reader.next().unwrap().is_some() {}
    let chosen = [0, 1, 2, 3].map(|number| reader.chosen(number));
    assert_eq!(chosen, [Some((false, 3)), Some((true, 3)), Some((false, 1)), None]);
    // A pcap file has one interface, which has the number 0.
    let file = pcap(ORDERS[0], true, &packets(1));
    for number in [0, 1] {
        let reader = open(&file).unwrap().choose(move |it, _| it == number);
        let (packets, _) = drain(reader).unwrap();
        assert_eq!(packets.is_empty(), number == 1);
    }
}

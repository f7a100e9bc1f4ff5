//! Captures that are written are read back equal, by this crate and by another library.

use crate::build::{Packet, drain, open};
use gentle_capture::{InterfaceDescription, PcapNgWriter, PcapWriter, RawPacket, Resolution};
use gentle_units::Instant;
use gentle_wire::LinkType;
use pcap_file::pcap::{PcapReader, PcapTsResolution};
use pcap_file::pcapng::PcapNgReader;
use pcap_file::pcapng::blocks::Block;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::blocks::opt_common::CommonOption;
use proptest::prelude::*;
use std::io::{self, ErrorKind, Write};

/// Packets of interfaces 0 to 2, whose link types are 1 to 3, at times that pcap has room for.
fn any_packets() -> impl Strategy<Value = Vec<Packet>> {
    let packet =
        (0..u64::from(u32::MAX) * 1_000_000_000, 0..3u32, prop::collection::vec(any::<u8>(), 0..200), 0..2_000u32);
    let packet = packet.prop_map(|(time, interface, data, cut)| Packet {
        time: Instant(time),
        interface,
        link: interface as u16 + 1,
        original_len: data.len() as u32 + cut,
        data,
    });
    prop::collection::vec(packet, 0..20)
}

fn raw(packet: &Packet) -> RawPacket<'_> {
    RawPacket {
        time: packet.time,
        interface: packet.interface,
        link: LinkType(packet.link),
        original_len: packet.original_len,
        data: &packet.data,
    }
}

fn pcap(packets: &[Packet], resolution: Resolution) -> Vec<u8> {
    let mut writer = PcapWriter::new(Vec::new(), LinkType::ETHERNET, None, resolution).unwrap();
    for packet in packets {
        writer.packet(&raw(packet)).unwrap();
    }
    writer.into_inner()
}

fn comment(packet: &Packet) -> Option<String> {
    (packet.original_len % 2 == 1).then(|| "dropped ".repeat(packet.data.len() % 5))
}

fn pcapng(packets: &[Packet]) -> Vec<u8> {
    let mut writer = PcapNgWriter::new(Vec::new()).unwrap();
    for interface in 0..3u16 {
        let index = writer.interface(&InterfaceDescription {
            snap_length: (interface > 0).then_some(u32::from(interface) * 1_000),
            name: (interface == 1).then_some("down entry"),
            speed: (interface == 2).then_some(2_400_000),
            ..InterfaceDescription::new(LinkType(interface + 1))
        });
        assert_eq!(index.unwrap(), u32::from(interface));
    }
    for packet in packets {
        match comment(packet) {
            Some(comment) => writer.packet_with_comment(&raw(packet), &comment).unwrap(),
            None => writer.packet(&raw(packet)).unwrap(),
        }
    }
    writer.into_inner()
}

proptest! {
    #[test]
    fn pcap_is_read_back(mut packets in any_packets()) {
        for packet in &mut packets {
            (packet.interface, packet.link) = (0, 1);
        }
        for (resolution, theirs, unit) in [
            (Resolution::Nanos, PcapTsResolution::NanoSecond, 1),
            (Resolution::Micros, PcapTsResolution::MicroSecond, 1_000),
        ] {
            let file = pcap(&packets, resolution);
            let expected: Vec<Packet> = packets
                .iter()
                .map(|packet| Packet { time: Instant(packet.time.0 / unit * unit), ..packet.clone() })
                .collect();
            let (read, warnings) = drain(open(&file).unwrap()).unwrap();
            prop_assert_eq!(&read, &expected);
            prop_assert_eq!(warnings, vec![]);

            let mut reader = PcapReader::new(&file[..]).unwrap();
            prop_assert_eq!(reader.header().ts_resolution, theirs);
            let mut count = 0;
            while let Some(packet) = reader.next_packet() {
                let packet = packet.unwrap();
                let time = packet.timestamp().as_nanos() as u64;
                prop_assert_eq!(time, expected[count].time.0);
                prop_assert_eq!(packet.orig_len(), expected[count].original_len);
                prop_assert_eq!(packet.data(), &expected[count].data[..]);
                count += 1;
            }
            prop_assert_eq!(count, expected.len());
        }
    }

    #[test]
    fn pcapng_is_read_back(packets in any_packets()) {
        let file = pcapng(&packets);
        let mut reader = open(&file).unwrap();
        if reader.next().unwrap().is_some() {
            let [plain, named, fast] = reader.interfaces() else {
                panic!("three interfaces: {:?}", reader.interfaces());
            };
            prop_assert_eq!((plain.snap_length, &plain.name), (None, &None));
            prop_assert_eq!((named.snap_length, named.name.as_deref()), (Some(1_000), Some("down entry")));
            prop_assert_eq!((fast.snap_length, fast.link), (Some(2_000), LinkType(3)));
        }
        let (read, warnings) = drain(open(&file).unwrap()).unwrap();
        prop_assert_eq!(&read, &packets);
        prop_assert_eq!(warnings, vec![]);

        let mut reader = PcapNgReader::new(&file[..]).unwrap();
        let (mut count, mut speeds) = (0, Vec::new());
        while let Some(block) = reader.next_block() {
            match block.unwrap().0 {
                Block::EnhancedPacket(theirs) => {
                    let packet = &packets[count];
                    prop_assert_eq!(theirs.interface_id, packet.interface);
                    prop_assert_eq!(theirs.timestamp.as_nanos() as u64, packet.time.0);
                    prop_assert_eq!(theirs.original_len, packet.original_len);
                    prop_assert_eq!(&theirs.data[..], &packet.data[..]);
                    let text = theirs.options.iter().find_map(|option| match option {
                        EnhancedPacketOption::Common(CommonOption::Comment(text)) => {
                            Some(text.to_string())
                        }
                        _ => None,
                    });
                    prop_assert_eq!(text, comment(packet));
                    count += 1;
                }
                Block::InterfaceDescription(interface) => {
                    speeds.extend(interface.options.iter().filter_map(|option| match option {
                        InterfaceDescriptionOption::IfSpeed(speed) => Some(*speed),
                        _ => None,
                    }));
                }
                other => panic!("unexpected block {other:?}"),
            }
        }
        prop_assert_eq!((count, speeds), (packets.len(), vec![2_400_000]));
    }
}

#[test]
fn a_packet_that_the_capture_cannot_hold_is_refused() {
    let packet = RawPacket { time: Instant::ZERO, interface: 0, link: LinkType::ETHERNET, original_len: 0, data: &[] };
    let raw_ip = RawPacket { link: LinkType::RAW, ..packet };
    let late = RawPacket { time: Instant(1 << 62), ..packet };
    let new = || PcapWriter::new(io::sink(), LinkType::ETHERNET, None, Resolution::Nanos).unwrap();
    let told = |written: io::Result<()>| {
        let error = written.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        error.to_string()
    };
    assert_eq!(told(new().packet(&raw_ip)), "a packet of link type 101, where the capture has link type 1");
    assert_eq!(told(new().packet(&late)), "a pcap file has no room for a time 4611686018 s after 1970");
    let mut writer = PcapNgWriter::new(io::sink()).unwrap();
    assert_eq!(told(writer.packet(&packet)), "a packet of interface 0, where 0 are described");
    let interface = InterfaceDescription::new(LinkType::ETHERNET);
    writer.interface(&interface).unwrap();
    writer.packet(&late).unwrap();
    assert_eq!(told(writer.packet(&raw_ip)), "a packet of link type 101, where the capture has link type 1");
    let long = "x".repeat(65_536);
    assert_eq!(told(writer.packet_with_comment(&packet, &long)), "an option of 65536 bytes, where pcapng allows 65535");
}

#[test]
fn an_error_of_the_disk_is_handed_on() {
    #[derive(Debug)]
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let error = PcapNgWriter::new(Full).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    let error = PcapWriter::new(Full, LinkType::RAW, None, Resolution::Micros).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
}

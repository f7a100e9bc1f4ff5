//! Generated captures at different times.

use gentle_capture::{CaptureReader, PcapWriter, RawPacket, Resolution};
use gentle_captures::random::{Truth, generate_with};
use gentle_units::Nanos;
use gentle_wire::LinkType;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

/// Generates a capture with the command line `args` at `path`, whose packets are `later` than the generator's.
pub(crate) fn generate(path: &Path, args: &[&str], later: Nanos) -> Truth {
    let raw = path.with_extension("raw");
    let truth = generate_with(&raw, args, &mut |_| ()).unwrap();
    copy(&raw, path, |packet| RawPacket { time: packet.time + later, ..packet });
    fs::remove_file(raw).unwrap();
    truth
}

/// Copies the packets of an Ethernet capture, changed by `change`.
fn copy(from: &Path, to: &Path, change: impl for<'a> Fn(RawPacket<'a>) -> RawPacket<'a>) {
    let mut reader = CaptureReader::open(from).unwrap();
    let out = BufWriter::new(File::create(to).unwrap());
    let mut writer = PcapWriter::new(out, LinkType::ETHERNET, None, Resolution::Nanos).unwrap();
    while let Some(packet) = reader.next().unwrap() {
        writer.packet(&change(packet)).unwrap();
    }
    writer.into_inner();
}

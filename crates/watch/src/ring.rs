//! Captures of the packets around slow and failed attempts: pcapng files of bounded number and size.
//!
//! Packets are kept in memory until their attempt is decided. All packets between its two hosts since shortly before its first SYN
//! are then appended to a file at once, as a pcapng section, with the cause as a comment of the SYN. What a crash or a full
//! disk interrupts is at most the section of one attempt; sections before it stay readable.

use gentle_capture::{InterfaceDescription, PcapNgWriter, RawPacket};
use gentle_trace::live::Attempt;
use gentle_units::{Instant, Nanos};
use gentle_wire::{LinkType, TcpFlags, Transport, Tunnels, dissect};
use nix::net::if_::if_indextoname;
use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

/// Number of files that a ring is divided into; the oldest is removed before another begins.
const FILES: usize = 8;
/// Smallest size of a ring, bytes.
pub const LEAST_RING: u64 = 1 << 20;
/// Memory for packets, bytes.
const KEPT: usize = 16 << 20;
/// Memory of a kept packet besides its bytes.
const OVERHEAD: usize = size_of::<Kept>() + 16;
/// Time before the first SYN from which packets are written.
const BEFORE: Nanos = Nanos::from_secs(1);
/// Time after which a folder that could not be written to is tried again.
const PAUSE: Nanos = Nanos::from_secs(10);
/// Prefix and suffix of the files' names; in between is the Unix time of their begin, milliseconds.
const NAME: (&str, &str) = ("gentle-watch-", ".pcapng");

/// Packet that an attempt may need.
#[derive(Debug)]
struct Kept {
    time: Instant,
    interface: u32,
    original_len: u32,
    is_written: bool,
    bytes: Box<[u8]>,
}

/// Captures in a folder.
#[derive(Debug)]
pub(crate) struct Ring {
    folder: PathBuf,
    /// Maximum size of all files, bytes.
    size: u64,
    packets: VecDeque<Kept>,
    /// Memory of `packets`, bytes.
    kept: usize,
    file: Option<(File, u64)>,
    /// Time before which nothing is written, after a failure.
    paused_until: Instant,
}

impl Ring {
    /// Keeps captures in `folder`, which is created if it is missing, with a total `size` in bytes, at least [`LEAST_RING`].
    /// Files of earlier runs there are continued as part of the ring; other files are left alone.
    pub(crate) fn open(folder: &Path, size: u64) -> io::Result<Ring> {
        fs::create_dir_all(folder)?;
        // Fails now, not at the first lost handshake, if the folder cannot be written to.
        tempfile::tempfile_in(folder)?;
        Ok(Ring {
            folder: folder.to_owned(),
            size: size.max(LEAST_RING),
            packets: VecDeque::new(),
            kept: 0,
            file: None,
            paused_until: Instant::ZERO,
        })
    }

    /// Keeps a packet.
    pub(crate) fn packet(&mut self, packet: &RawPacket<'_>) {
        let RawPacket { time, interface, original_len, data, .. } = *packet;
        self.kept += data.len() + OVERHEAD;
        self.packets.push_back(Kept { time, interface, original_len, is_written: false, bytes: data.into() });
        while self.kept > KEPT
            && let Some(oldest) = self.packets.pop_front()
        {
            self.kept -= oldest.bytes.len() + OVERHEAD;
        }
    }

    /// Writes the packets of an attempt with a comment.
    pub(crate) fn write(&mut self, now: Instant, attempt: &Attempt, comment: &str) -> io::Result<()> {
        if now < self.paused_until {
            return Ok(());
        }
        let section = self.section(attempt, comment)?;
        let written = self.append(now, &section);
        if written.is_err() {
            self.paused_until = now + PAUSE;
            self.file = None;
        }
        written
    }

    /// Packets of an attempt that were not written before, as a section of a pcapng file; empty if there are none.
    fn section(&mut self, attempt: &Attempt, comment: &str) -> io::Result<Vec<u8>> {
        let since = Instant((attempt.time * 1e9) as u64) - BEFORE;
        let hosts = [attempt.client.ip(), attempt.server.ip()];
        let mut writer = PcapNgWriter::new(Vec::new())?;
        let mut interfaces: BTreeMap<u32, u32> = BTreeMap::new();
        let (mut is_commented, mut is_empty) = (false, true);
        for kept in self.packets.iter_mut().filter(|kept| !kept.is_written && kept.time >= since) {
            let Some((between, syn)) = ends(&kept.bytes) else {
                continue;
            };
            if between != hosts && between != [hosts[1], hosts[0]] {
                continue;
            }
            let interface = match interfaces.get(&kept.interface) {
                Some(number) => *number,
                None => {
                    let name = if_indextoname(kept.interface).ok().and_then(|name| name.into_string().ok());
                    let description =
                        InterfaceDescription { name: name.as_deref(), ..InterfaceDescription::new(LinkType::RAW) };
                    let number = writer.interface(&description)?;
                    interfaces.insert(kept.interface, number);
                    number
                }
            };
            let packet = RawPacket {
                time: kept.time,
                interface,
                link: LinkType::RAW,
                original_len: kept.original_len,
                data: &kept.bytes,
            };
            (kept.is_written, is_empty) = (true, false);
            if !is_commented && syn == Some([attempt.client, attempt.server]) {
                is_commented = true;
                writer.packet_with_comment(&packet, comment)?;
            } else {
                writer.packet(&packet)?;
            }
        }
        Ok(if is_empty { Vec::new() } else { writer.into_inner() })
    }

    fn append(&mut self, now: Instant, section: &[u8]) -> io::Result<()> {
        if section.is_empty() {
            return Ok(());
        }
        let largest = self.size / FILES as u64;
        if self.file.as_ref().is_none_or(|(_, length)| length + section.len() as u64 > largest) {
            self.file = None;
            self.remove_oldest()?;
            let name = format!("{}{:013}{}", NAME.0, now.since_origin().as_millis(), NAME.1);
            let file = OpenOptions::new().append(true).create_new(true).open(self.folder.join(name))?;
            self.file = Some((file, 0));
        }
        let Some((file, length)) = &mut self.file else {
            return Ok(());
        };
        if let Err(error) = file.write_all(section) {
            // The part that was written would hide later sections from some readers.
            file.set_len(*length)?;
            return Err(error);
        }
        *length += section.len() as u64;
        Ok(())
    }

    /// Removes the oldest files until there is room for another.
    fn remove_oldest(&self) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            let time = name.to_str().and_then(|name| name.strip_prefix(NAME.0)?.strip_suffix(NAME.1));
            if time.is_some_and(|time| !time.is_empty() && time.bytes().all(|byte| byte.is_ascii_digit())) {
                files.push(name);
            }
        }
        files.sort();
        for name in files.iter().take((files.len() + 1).saturating_sub(FILES)) {
            fs::remove_file(self.folder.join(name))?;
        }
        Ok(())
    }
}

/// Hosts of a packet, and its two ends if it is a SYN.
fn ends(packet: &[u8]) -> Option<([IpAddr; 2], Option<[SocketAddr; 2]>)> {
    let packet = dissect(LinkType::RAW, packet, packet.len() as u32, Tunnels::Outer).ok()?;
    let [src, dst] = [packet.ip.src, packet.ip.dst].map(IpAddr::from);
    let syn = match &packet.transport {
        Transport::Tcp(tcp) if tcp.flags.any(TcpFlags::SYN) && !tcp.flags.any(TcpFlags::ACK) => {
            Some([SocketAddr::new(src, tcp.src_port), SocketAddr::new(dst, tcp.dst_port)])
        }
        _ => None,
    };
    Some(([src, dst], syn))
}

//! Captures of the packets around slow and failed attempts: pcapng files of bounded number and size.
//!
//! Packets are kept in memory until their attempt is decided. Its packets, and the latest others between its two hosts since
//! shortly before its first SYN, are then appended to a file at once, as a pcapng section, with the cause as a comment of the
//! SYN. The packets of other attempts that are not decided wait for their decision, so that each attempt has its comment. A crash
//! interrupts at most the section of one attempt; sections before it stay readable.

use gentle_capture::{InterfaceDescription, PcapNgWriter, RawPacket};
use gentle_packets::Lead;
use gentle_trace::live::Attempt;
use gentle_units::{Instant, Nanos};
use gentle_wire::{LinkType, TcpFlags, Transport, Tunnels, dissect};
use nix::net::if_::if_indextoname;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Number of files that a ring is divided into; the oldest is removed before another begins.
const FILES: usize = 8;
/// Smallest size of a ring, bytes.
pub const LEAST_RING: u64 = 1 << 20;
/// Memory for packets, bytes.
const KEPT: usize = 16 << 20;
/// Memory of a kept packet besides its bytes: itself, its allocation, and its entries in the map of newest packets, at most two
/// and at least half full.
const OVERHEAD: usize = size_of::<Kept>() + 16 + 4 * size_of::<(u64, Newest)>();
/// Time before the first SYN from which packets are written.
const BEFORE: Nanos = Nanos::from_secs(1);
/// Number of packets between two hosts that are searched for those around an attempt, so that an attempt costs no more between
/// hosts with many connections.
const AROUND: usize = 1024;
/// Length of a packet in a pcapng file besides its bytes: an enhanced packet block with padding.
const BLOCK: usize = 36;
/// Length of the other blocks of a section: its header, several interfaces, and the comment; bytes.
const HEADERS: usize = 1024;
/// Time after which a folder that could not be written to is tried again.
const PAUSE: Nanos = Nanos::from_secs(10);
/// Prefix and suffix of the files' names; in between is the Unix time of their begin, milliseconds, or a later one if an
/// earlier file has it.
const NAME: (&str, &str) = ("gentle-watch-", ".pcapng");

/// Packet that an attempt may need.
#[derive(Debug)]
struct Kept {
    time: Instant,
    interface: u32,
    original_len: u32,
    is_written: bool,
    bytes: Box<[u8]>,
    keys: Keys,
    /// Numbers of the previous packets with the same keys.
    previous: [Option<u64>; 2],
}

/// Hashes of the two hosts of a packet, and of its two ends.
#[derive(Debug, Clone, Copy)]
struct Keys {
    hosts: u64,
    /// Connection; equal to `hosts` if the packet is not of TCP.
    ends: u64,
}

/// Newest packet with a key.
#[derive(Debug, Clone, Copy)]
struct Newest {
    number: u64,
    /// Whether an attempt began that is not decided, and will be written itself if it is slow.
    is_undecided: bool,
}

/// File in use.
#[derive(Debug)]
struct Open {
    file: File,
    path: PathBuf,
    length: u64,
}

/// Captures in a folder.
#[derive(Debug)]
pub(crate) struct Ring {
    folder: PathBuf,
    /// Maximum size of all files, bytes.
    size: u64,
    packets: VecDeque<Kept>,
    /// Number of the first of `packets`.
    first: u64,
    /// Newest packets by keys.
    newest: HashMap<u64, Newest>,
    hasher: RandomState,
    /// Memory of `packets`, bytes.
    kept: usize,
    file: Option<Open>,
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
            first: 0,
            newest: HashMap::new(),
            hasher: RandomState::new(),
            kept: 0,
            file: None,
            paused_until: Instant::ZERO,
        })
    }

    /// Keeps a packet.
    pub(crate) fn packet(&mut self, packet: &RawPacket<'_>) {
        let RawPacket { time, interface, original_len, data, .. } = *packet;
        let Some((hosts, tcp)) = ends(data) else { return };
        let keys = match tcp {
            Some((ports, _)) => self.keys([0, 1].map(|side| SocketAddr::new(hosts[side], ports[side]))),
            None => self.keys(hosts.map(|host| SocketAddr::new(host, 0))).of_hosts(),
        };
        let number = self.first + self.packets.len() as u64;
        let before = [keys.hosts, keys.ends].map(|key| self.newest.get(&key).copied());
        let begins = tcp.is_some_and(|(_, is_syn)| is_syn);
        let is_undecided = begins || before[1].is_some_and(|newest| newest.is_undecided);
        self.newest.insert(keys.hosts, Newest { number, is_undecided: false });
        if keys.ends != keys.hosts {
            self.newest.insert(keys.ends, Newest { number, is_undecided });
        }
        self.kept += data.len() + OVERHEAD;
        let previous = before.map(|newest| newest.map(|newest| newest.number));
        let bytes = data.into();
        self.packets.push_back(Kept { time, interface, original_len, is_written: false, bytes, keys, previous });
        while self.kept > KEPT
            && let Some(oldest) = self.packets.pop_front()
        {
            self.kept -= oldest.bytes.len() + OVERHEAD;
            for key in [oldest.keys.hosts, oldest.keys.ends] {
                if self.newest.get(&key).is_some_and(|newest| newest.number == self.first) {
                    self.newest.remove(&key);
                }
            }
            self.first += 1;
        }
    }

    /// Records that an attempt was decided, so that its packets may be written with other attempts.
    pub(crate) fn decided(&mut self, attempt: &Attempt) {
        let keys = self.keys([attempt.client, attempt.server]);
        if let Some(newest) = self.newest.get_mut(&keys.ends) {
            newest.is_undecided = false;
        }
    }

    /// Writes the packets of an attempt with a comment; `lead` is that of the system's clock at `now`.
    pub(crate) fn write(&mut self, now: Instant, lead: Lead, attempt: &Attempt, comment: &str) -> io::Result<()> {
        if now < self.paused_until {
            return Ok(());
        }
        let numbers = self.around(attempt);
        let section = self.section(&numbers, lead, attempt, comment)?;
        let written = self.append(lead.unix(now), &section);
        match written {
            Ok(()) => numbers.iter().for_each(|number| self.packets[(number - self.first) as usize].is_written = true),
            Err(_) => self.paused_until = now + PAUSE,
        }
        written
    }

    /// Hashes that both directions of a connection have.
    fn keys(&self, mut ends: [SocketAddr; 2]) -> Keys {
        ends.sort_unstable();
        let hosts = ends.map(|end| end.ip());
        Keys { hosts: self.hasher.hash_one(hosts), ends: self.hasher.hash_one(ends) }
    }

    /// Packet with a number, unless it is forgotten.
    fn get(&self, number: u64) -> Option<&Kept> {
        self.packets.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// Numbers of packets that were not written, in their order: first, up to the size of a file, the packets of the attempt,
    /// then others between its hosts, newest first.
    fn around(&self, attempt: &Attempt) -> Vec<u64> {
        let keys = self.keys([attempt.client, attempt.server]);
        let since = Instant((attempt.time * 1e9) as u64) - BEFORE;
        let chain = |key: u64, of: usize| {
            let newest = self.newest.get(&key).map(|newest| newest.number);
            let previous = move |number: &u64| self.get(*number)?.previous[of];
            std::iter::successors(newest, previous)
                .map_while(|number| Some((number, self.get(number)?)))
                .take_while(move |(_, kept)| kept.time >= since)
        };
        let mut own: Vec<(u64, &Kept)> = chain(keys.ends, 1).filter(|(_, kept)| !kept.is_written).collect();
        own.reverse();
        let is_undecided = |kept: &Kept| self.newest.get(&kept.keys.ends).is_some_and(|newest| newest.is_undecided);
        let others = chain(keys.hosts, 0)
            .take(AROUND)
            .filter(|(_, kept)| !kept.is_written && kept.keys.ends != keys.ends && !is_undecided(kept));
        let mut space = self.largest() as usize - HEADERS;
        let mut numbers = Vec::new();
        for (number, kept) in own.into_iter().chain(others) {
            match space.checked_sub(kept.bytes.len() + BLOCK) {
                Some(left) => space = left,
                None => break,
            }
            numbers.push(number);
        }
        numbers.sort_unstable();
        numbers
    }

    /// Packets as a section of a pcapng file; empty if there are none.
    fn section(&self, numbers: &[u64], lead: Lead, attempt: &Attempt, comment: &str) -> io::Result<Vec<u8>> {
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        let mut writer = PcapNgWriter::new(Vec::new())?;
        let mut interfaces: BTreeMap<u32, u32> = BTreeMap::new();
        let mut is_commented = false;
        for kept in numbers.iter().filter_map(|number| self.get(*number)) {
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
                time: lead.unix(kept.time),
                interface,
                link: LinkType::RAW,
                original_len: kept.original_len,
                data: &kept.bytes,
            };
            if !is_commented && is_syn_of(&kept.bytes, attempt) {
                is_commented = true;
                writer.packet_with_comment(&packet, comment)?;
            } else {
                writer.packet(&packet)?;
            }
        }
        Ok(writer.into_inner())
    }

    /// Size of a file, bytes.
    fn largest(&self) -> u64 {
        self.size / FILES as u64
    }

    fn append(&mut self, unix: Instant, section: &[u8]) -> io::Result<()> {
        if section.is_empty() {
            return Ok(());
        }
        let largest = self.largest();
        let is_usable = |open: &Open| {
            // A file without a name was removed, perhaps together with the folder.
            open.length + section.len() as u64 <= largest && open.file.metadata().is_ok_and(|file| file.nlink() > 0)
        };
        let mut open = match self.file.take().filter(is_usable) {
            Some(open) => open,
            None => self.begin(unix)?,
        };
        if let Err(error) = open.file.write_all(section) {
            // The part that was written would hide later sections from some readers.
            match open.length {
                0 => fs::remove_file(&open.path)?,
                length => {
                    open.file.set_len(length)?;
                    self.file = Some(open);
                }
            }
            return Err(error);
        }
        open.length += section.len() as u64;
        self.file = Some(open);
        Ok(())
    }

    /// Begins a file, after the removal of the oldest files until there is space for it.
    fn begin(&self, unix: Instant) -> io::Result<Open> {
        fs::create_dir_all(&self.folder)?;
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let time = name.to_str().and_then(|name| name.strip_prefix(NAME.0)?.strip_suffix(NAME.1));
            let time = time.filter(|time| time.bytes().all(|byte| byte.is_ascii_digit()));
            if let Some(time) = time.and_then(|time| time.parse::<u64>().ok()) {
                files.push((time, entry.path(), entry.metadata()?.len()));
            }
        }
        files.sort_unstable();
        let newest = files.last().map(|(time, ..)| *time);
        let mut sum: u64 = files.iter().map(|(.., length)| length).sum();
        let mut left = files.len();
        for (_, path, length) in &files {
            if left < FILES && sum + self.largest() <= self.size {
                break;
            }
            fs::remove_file(path)?;
            (sum, left) = (sum - length, left - 1);
        }
        let milliseconds = unix.since_origin().as_millis();
        let time = newest.map_or(milliseconds, |newest| milliseconds.max(newest.saturating_add(1)));
        let path = self.folder.join(format!("{}{time:013}{}", NAME.0, NAME.1));
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path)?;
        Ok(Open { file, path, length: 0 })
    }
}

impl Keys {
    /// Keys of a packet without ports.
    fn of_hosts(self) -> Keys {
        Keys { ends: self.hosts, ..self }
    }
}

/// Ports of a TCP segment, and whether it is a SYN without ACK.
type Segment = ([u16; 2], bool);

/// Hosts of a packet, and its segment if it is of TCP.
fn ends(packet: &[u8]) -> Option<([IpAddr; 2], Option<Segment>)> {
    let packet = dissect(LinkType::RAW, packet, packet.len() as u32, Tunnels::Outer).ok()?;
    let tcp = match &packet.transport {
        Transport::Tcp(tcp) => {
            let is_syn = tcp.flags.any(TcpFlags::SYN) && !tcp.flags.any(TcpFlags::ACK);
            Some(([tcp.src_port, tcp.dst_port], is_syn))
        }
        _ => None,
    };
    Some(([packet.ip.src, packet.ip.dst].map(IpAddr::from), tcp))
}

/// Whether a packet is a SYN of an attempt.
fn is_syn_of(packet: &[u8], attempt: &Attempt) -> bool {
    let Some((hosts, Some((ports, true)))) = ends(packet) else { return false };
    [0, 1].map(|side| SocketAddr::new(hosts[side], ports[side])) == [attempt.client, attempt.server]
}

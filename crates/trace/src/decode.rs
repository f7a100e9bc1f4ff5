//! Decoding of captured packets to TCP segments, with counts by protocol.

use crate::flow_key::FlowKeyHasher;
use crate::fragments::Fragments;
use crate::lookups::{LookupCounts, Lookups};
use crate::merged::MergedCounts;
use crate::names::DnsNames;
use crate::options::Options;
use crate::other::{OtherCounts, Others};
use crate::points::{Points, Sightings};
use crate::results::DirectionBy;
use crate::segment::{Batch, PacketMeta};
use crate::selection::Selection;
use crate::tally::Meter;
use crate::tally::TimelineCounts;
use crate::timestamps::Timestamps;
use gentle_capture::RawPacket;
use gentle_units::Instant;
use gentle_wire::{
    Address, LinkType, Packet, PlainTcp, Skip, Tcp, Transport, Tunnel, Tunnels, plain_tcp_v4, plain_tcp_v6, tunnelled,
};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Largest number of interfaces that are distinguished; packets of further ones count for the last.
pub(crate) const INTERFACES: usize = 255;

/// IP protocol number of IPsec's Encapsulating Security Payload (RFC 4303).
const ESP: u8 = 50;

/// Counts of one capture file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileCounts {
    pub(crate) packets: u64,
    pub(crate) tcp_segments: u64,
    pub(crate) wire_bytes: u64,
    skipped: [u64; Skip::ALL.len()],
    udp: u64,
    sctp: u64,
    dccp: u64,
    esp: u64,
    other: u64,
    fragments: u64,
    /// Packets of tunnels that were not decapsulated, by protocol; `tunnelled_tcp` counts those that carry TCP.
    tunnels: [u64; Tunnel::ALL.len()],
    pub(crate) tunnelled_tcp: u64,
    pub(crate) times: Timestamps,
    pub(crate) merged: MergedCounts,
}

impl FileCounts {
    /// Packets of tunnels that were not decapsulated, by protocol.
    pub(crate) fn tunnels(&self) -> BTreeMap<&'static str, u64> {
        Tunnel::ALL
            .iter()
            .zip(self.tunnels)
            .filter(|(_, count)| *count > 0)
            .map(|(tunnel, count)| (tunnel.name(), count))
            .collect()
    }

    /// Frames that were not dissected, by reason.
    pub(crate) fn skipped(&self) -> BTreeMap<&'static str, u64> {
        Skip::ALL
            .iter()
            .zip(self.skipped)
            .filter(|(_, count)| *count > 0)
            .map(|(skip, count)| (skip.name(), count))
            .collect()
    }

    /// Packets other than TCP segments, by kind.
    pub(crate) fn other(&self) -> BTreeMap<&'static str, u64> {
        [
            ("udp", self.udp),
            ("sctp", self.sctp),
            ("dccp", self.dccp),
            ("esp", self.esp),
            ("other", self.other),
            ("fragment", self.fragments),
        ]
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .collect()
    }
}

/// Names of directions by local prefix; `neither` if none or both of the addresses are local.
pub(crate) const LOCAL: [&str; 3] = ["out", "in", "neither"];

/// Decoder of packets.
///
/// Aligned to separate cache lines: one thread writes here for every packet while others work on neighbouring data.
/// Sharing a line with them took 13 % of the time (perf).
#[repr(align(128))]
pub(crate) struct Decoder {
    tunnels: Tunnels,
    by: DirectionBy,
    local: Vec<IpNet>,
    fragments: Fragments,
    others: Others,
    lookups: Lookups,
    points: Points,
    /// Packets other than TCP segments.
    sightings: Sightings,
    /// File and interface of the packet before; none at first.
    source: (usize, u32),
    /// Whether segments need more than their connection: a direction, or a capture point.
    annotates: bool,
    hasher: FlowKeyHasher,
    /// Packets to decode; `None`: all.
    selection: Option<Selection>,
    /// Time of the first packet, selected or not.
    first: Option<Instant>,
    /// Names in DNS answers, selected or not.
    pub(crate) names: DnsNames,
    pub(crate) files: Vec<FileCounts>,
    /// Meters by direction; unused if directions follow from connections.
    pub(crate) meters: Vec<Meter>,
    pub(crate) timeline: TimelineCounts,
    /// Interfaces in the order of directions, each as file and index within it.
    pub(crate) interfaces: Vec<(usize, u32)>,
}

impl Decoder {
    pub(crate) fn new(options: &Options, by: DirectionBy, files: usize, hasher: FlowKeyHasher) -> Decoder {
        Decoder {
            tunnels: if options.inner { Tunnels::Inner } else { Tunnels::Outer },
            by,
            local: options.local.clone(),
            fragments: Fragments::default(),
            others: Others::new(options.memory_limit as usize / 16, options.idle_timeout),
            lookups: Lookups::new(options.memory() / 64),
            points: Points::default(),
            sightings: Sightings::new(options.memory() / 16),
            source: (usize::MAX, 0),
            annotates: by != DirectionBy::Initiator,
            hasher,
            selection: Some(options.selection.clone()).filter(|selection| !selection.is_all()),
            first: None,
            names: DnsNames::new(options.memory()),
            files: vec![FileCounts::default(); files],
            meters: vec![
                Meter::default();
                match by {
                    DirectionBy::Local => LOCAL.len(),
                    _ => 0,
                }
            ],
            timeline: TimelineCounts::default(),
            interfaces: Vec::new(),
        }
    }

    /// Ends the input.
    pub(crate) fn end(&mut self) {
        for file in &mut self.files {
            file.times.end(file.packets);
        }
        self.meters.iter_mut().for_each(Meter::end);
        let ends = self.files.iter().filter_map(|file| file.times.span());
        self.lookups.advance(ends.map(|(_, end)| end).max().unwrap_or_default());
    }

    /// Handshakes of other protocols, names, and lookups.
    pub(crate) fn into_others(self) -> (OtherCounts, DnsNames, LookupCounts) {
        (self.others.finish(), self.names, self.lookups.finish())
    }

    /// Lookups that ended until `now`, since the last call.
    pub(crate) fn take_lookups(&mut self, now: Instant) -> LookupCounts {
        self.lookups.take(now)
    }

    /// Decodes the next packet, of file number `file`, and adds its TCP segment to `batch` if it has one.
    #[inline(always)]
    pub(crate) fn decode(&mut self, file: usize, raw: &RawPacket<'_>, batch: &mut Batch) {
        if self.selection.is_some() && !self.selects(&{ *raw }) {
            return;
        }
        if (file, raw.interface) != self.source {
            self.change_source(file, &{ *raw });
        }
        let bin = self.timeline.at(raw.time);
        bin.wire_bytes += u64::from(raw.original_len);
        let counts = &mut self.files[file];
        counts.times.record(raw.time, counts.packets);
        counts.packets += 1;
        counts.wire_bytes += u64::from(raw.original_len);
        match plain_tcp_v4(raw.link, raw.data) {
            Some(plain) => {
                batch.push(packet_meta(raw, &plain), &plain.tcp, || self.hasher.of_plain_v4(&plain));
                counts.tcp_segments += 1;
                counts.merged.record(&plain.tcp);
                bin.segments += 1;
                self.names.segment(raw.time, &plain.tcp);
                if self.annotates {
                    let addresses = [plain.src, plain.dst].map(Address::v4);
                    let direction = self.direction(file, &{ *raw }, addresses);
                    self.annotate(file, &{ *raw }, direction, batch);
                }
            }
            // Passes the address of a copy, so that `raw` itself can stay in registers.
            None => self.other_than_v4(file, &{ *raw }, batch),
        }
    }

    /// Whether the packet is to be decoded. If not, a DNS answer in it is read.
    #[inline(never)]
    fn selects(&mut self, raw: &RawPacket<'_>) -> bool {
        let Some(selection) = &self.selection else {
            return true;
        };
        let first = *self.first.get_or_insert(raw.time);
        let has_time = selection.has_time(raw.time, first);
        if has_time && !selection.by_content() {
            return true;
        }
        // Most packets are of TCP, and those of other times have no other use.
        if !has_time && plain_tcp_v4(raw.link, raw.data).is_some() {
            return false;
        }
        let Ok(packet) = gentle_wire::dissect(raw.link, raw.data, raw.original_len, self.tunnels) else {
            return false;
        };
        let is_selected = has_time && selection.has_packet(&packet);
        if !is_selected {
            self.names.packet(raw.time, &packet);
        }
        is_selected
    }

    /// Decodes a packet that is not a plain TCP segment over IPv4.
    #[inline(never)]
    fn other_than_v4(&mut self, file: usize, raw: &RawPacket<'_>, batch: &mut Batch) {
        match plain_tcp_v6(raw.link, raw.data) {
            Some(plain) => {
                batch.push(packet_meta(raw, &plain), &plain.tcp, || self.hasher.of_plain_v6(&plain));
                self.count_segment(file, raw.time, &plain.tcp);
                let addresses = [plain.src, plain.dst].map(Address);
                let direction = self.direction(file, raw, addresses);
                self.annotate(file, raw, direction, batch);
            }
            None => self.dissect(file, raw, batch),
        }
    }

    /// Notes that packets are of another file or interface than those before.
    #[cold]
    #[inline(never)]
    fn change_source(&mut self, file: usize, raw: &RawPacket<'_>) {
        self.source = (file, raw.interface);
        self.points.number(file, raw);
        self.annotates |= self.points.is_more_than_one();
    }

    /// Adds to the last segment of the batch what does not follow from its connection.
    fn annotate(&mut self, file: usize, raw: &RawPacket<'_>, direction: u8, batch: &mut Batch) {
        batch.set_direction(direction);
        if self.points.is_more_than_one() {
            let point = self.points.number(file, raw);
            batch.set_point(point, self.points.are_several());
        }
    }

    /// Whether another capture point saw a packet other than a TCP segment before.
    fn is_seen_again(&mut self, file: usize, raw: &RawPacket<'_>, packet: &Packet<'_>) -> bool {
        self.points.are_several() && {
            let point = self.points.number(file, raw);
            self.sightings.is_seen_again(raw.time, packet, point)
        }
    }

    /// Decodes a packet of any kind.
    #[inline(never)]
    fn dissect(&mut self, file: usize, raw: &RawPacket<'_>, batch: &mut Batch) {
        if let LinkType::LINUX_SLL | LinkType::LINUX_SLL2 = raw.link {
            self.points.number(file, raw);
        }
        // Packets and segments are built in place: moving them would take longer than building them.
        match &gentle_wire::dissect(raw.link, raw.data, raw.original_len, self.tunnels) {
            Ok(packet) => {
                let direction = self.direction(file, raw, [packet.ip.src, packet.ip.dst]);
                match &packet.transport {
                    Transport::Tcp(tcp) if packet.ip.fragment.is_none() => {
                        self.segment(file, raw, raw.original_len, packet, tcp, batch);
                        self.annotate(file, raw, direction, batch);
                    }
                    _ if packet.ip.fragment.is_some() => {
                        self.fragment(file, direction, raw, packet, batch);
                    }
                    _ => {
                        self.other(file, raw, packet);
                        self.undelivered(raw.time, packet, batch);
                    }
                }
            }
            Err(skip) => {
                if self.by == DirectionBy::Interface {
                    self.by_interface(file, raw);
                }
                let place = Skip::ALL.iter().position(|known| known == skip);
                self.files[file].skipped[place.unwrap_or(0)] += 1;
            }
        }
    }

    /// Adds the segment of a packet of `wire_len` bytes; `raw` is its frame, or the last frame of its fragments.
    fn segment(
        &mut self,
        file: usize,
        raw: &RawPacket<'_>,
        wire_len: u32,
        packet: &Packet<'_>,
        tcp: &Tcp<'_>,
        batch: &mut Batch,
    ) {
        let ip = &packet.ip;
        let meta = PacketMeta { time: raw.time, wire_len, ip_id: ip.id.unwrap_or(0), ttl: ip.ttl };
        batch.push(meta, tcp, || self.hasher.key((ip.src, tcp.src_port), (ip.dst, tcp.dst_port)));
        self.count_segment(file, raw.time, tcp);
    }

    #[inline]
    fn count_segment(&mut self, file: usize, time: Instant, tcp: &Tcp<'_>) {
        self.files[file].tcp_segments += 1;
        self.files[file].merged.record(tcp);
        self.timeline.at(time).segments += 1;
        self.names.segment(time, tcp);
    }

    /// Direction of a packet from one address to the other; counts the packet in that direction.
    fn direction(&mut self, file: usize, raw: &RawPacket<'_>, addresses: [Address; 2]) -> u8 {
        match self.by {
            DirectionBy::Initiator => 0,
            DirectionBy::Interface => self.by_interface(file, raw),
            DirectionBy::Local => self.by_prefix(addresses, raw),
        }
    }

    fn fragment(&mut self, file: usize, direction: u8, raw: &RawPacket<'_>, packet: &Packet<'_>, batch: &mut Batch) {
        self.files[file].fragments += 1;
        let whole = self.fragments.add(raw.time, &packet.ip, packet.payload, raw.original_len);
        let Some(whole) = whole else {
            return;
        };
        match &whole.packet() {
            Some(packet) => match &packet.transport {
                Transport::Tcp(tcp) => {
                    self.segment(file, raw, whole.wire_len, packet, tcp, batch);
                    self.annotate(file, raw, direction, batch);
                }
                _ => self.other(file, raw, packet),
            },
            None => self.files[file].other += 1,
        }
    }

    fn other(&mut self, file: usize, raw: &RawPacket<'_>, packet: &Packet<'_>) {
        self.names.packet(raw.time, packet);
        let counts = &mut self.files[file];
        match packet.transport {
            Transport::Udp(_) => counts.udp += 1,
            Transport::Sctp(_) => counts.sctp += 1,
            Transport::Dccp(_) => counts.dccp += 1,
            Transport::Other if packet.ip.protocol == ESP => counts.esp += 1,
            Transport::Tcp(_) | Transport::Fragment(_) | Transport::Other => counts.other += 1,
        }
        if let Some((tunnel, inner)) = tunnelled(packet) {
            counts.tunnels[tunnel as usize] += 1;
            counts.tunnelled_tcp += u64::from(matches!(inner.transport, Transport::Tcp(_)));
        }
        if let Transport::Udp(_) | Transport::Sctp(_) | Transport::Dccp(_) = packet.transport
            && !self.is_seen_again(file, raw, packet)
        {
            self.others.observe(raw.time, packet);
            if let Transport::Udp(udp) = &packet.transport {
                self.lookups.observe(raw.time, &packet.ip, udp);
            }
        }
    }

    /// Adds the TCP segment that an ICMP message reports as undelivered, in order among the segments.
    fn undelivered(&mut self, time: Instant, packet: &Packet<'_>, batch: &mut Batch) {
        if let Some(quoted) = gentle_wire::undelivered(packet) {
            let key = self.hasher.key((quoted.src, quoted.src_port), (quoted.dst, quoted.dst_port));
            batch.push_undelivered(time, key, quoted.seq);
        }
    }

    fn by_interface(&mut self, file: usize, raw: &RawPacket<'_>) -> u8 {
        let interface = (file, raw.interface);
        // Captures have few interfaces, so the search is short.
        let known = self.interfaces.iter().position(|&i| i == interface);
        let direction = known.unwrap_or_else(|| {
            if self.interfaces.len() < INTERFACES {
                self.interfaces.push(interface);
                self.meters.push(Meter::default());
            }
            self.interfaces.len() - 1
        });
        self.meters[direction].record(raw.time, raw.original_len);
        direction as u8
    }

    fn by_prefix(&mut self, [src, dst]: [Address; 2], raw: &RawPacket<'_>) -> u8 {
        let is_local = |address: Address| {
            let address = IpAddr::from(address);
            self.local.iter().any(|prefix| prefix.contains(&address))
        };
        let direction = match (is_local(src), is_local(dst)) {
            (true, false) => 0,
            (false, true) => 1,
            _ => 2,
        };
        self.meters[direction].record(raw.time, raw.original_len);
        direction as u8
    }
}

/// Fields of a plain packet that belong to the layers around its segment.
#[inline(always)]
fn packet_meta<A>(raw: &RawPacket<'_>, plain: &PlainTcp<'_, A>) -> PacketMeta {
    PacketMeta { time: raw.time, wire_len: raw.original_len, ip_id: plain.id.unwrap_or(0), ttl: plain.ttl }
}

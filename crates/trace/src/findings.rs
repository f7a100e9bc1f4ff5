//! Findings of a trace at its end: counts that can be added to other traces' counts, and their conversion to
//! [`Analysis`].

use crate::anonymize::Anonymizer;
use crate::connections::Evicted;
use crate::decode::{FileCounts, INTERFACES, LOCAL};
use crate::interfaces::{InterfaceFacts, label};
use crate::lookups::LookupCounts;
use crate::measure::directions::Link;
use crate::measure::{Filters, Outcomes};
use crate::names::{self, DnsNames, Names, PlaceNames};
use crate::options::Options;
use crate::other::OtherCounts;
use crate::results::{Analysis, Capture, DirectionBy, Limits, SCHEMA};
use crate::sum::Sum;
use crate::tally::{Meter, Tally, TimelineCounts};
use crate::trust::Evidence;
use crate::verdict;
use gentle_capture::{CaptureReader, Statistics};
use gentle_units::Instant;
use gentle_wire::Address;
use serde::{Deserialize, Serialize};

/// Findings of one capture file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileFacts {
    /// Name of the file; empty if names are not shown (`--anonymize`).
    pub(crate) path: String,
    /// SHA-256 of the file, or its tag (`--anonymize`), in hexadecimal; empty if the findings are not for a record.
    pub(crate) sha256: String,
    pub(crate) format: String,
    /// Defects of the file, one sentence each.
    pub(crate) warnings: Vec<String>,
    pub(crate) counts: FileCounts,
    /// Interfaces; empty for a format that has only one.
    pub(crate) interfaces: Vec<InterfaceFacts>,
    /// Packets dropped and received by the statistics of the capturing program.
    pub(crate) dropped: u64,
    pub(crate) received: u64,
    /// Number of the first link type that is not supported.
    pub(crate) unread_link: Option<u16>,
}

impl FileFacts {
    /// Facts of a capture that has been read.
    pub(crate) fn new(reader: &CaptureReader, counts: FileCounts) -> FileFacts {
        let interfaces = reader.interfaces().iter();
        let statistics = || interfaces.clone().map(|interface| &interface.statistics);
        let seen = |statistics: &Statistics| {
            let known = statistics.received.max(statistics.accepted);
            known.max(statistics.delivered).unwrap_or(0)
        };
        let mut links = interfaces.clone().map(|interface| interface.link);
        let unread = links.find(|link| link.name().is_none());
        FileFacts {
            path: reader.name().to_owned(),
            sha256: String::new(),
            format: reader.format().to_string(),
            warnings: reader.warnings().iter().map(ToString::to_string).collect(),
            counts,
            interfaces: InterfaceFacts::of(reader),
            dropped: statistics().map(Statistics::dropped).fold(0, u64::saturating_add),
            received: statistics().map(seen).fold(0, u64::saturating_add),
            unread_link: unread.map(|link| link.0),
        }
    }

    /// Place in lists of files, whatever the order in the call, which records do not have: by name, then by the times of the first
    /// and last packet, since files without names are numbered in this order.
    fn place(&self) -> impl Ord + '_ {
        let FileCounts { packets, wire_bytes, ref times, .. } = self.counts;
        (&self.path, times.span(), packets, wire_bytes, &self.sha256)
    }

    fn remove_names(&mut self) {
        self.set_name(String::new());
        for interface in &mut self.interfaces {
            interface.remove_name();
        }
    }

    /// Changes the name, also in the warnings, which begin with it.
    fn set_name(&mut self, name: String) {
        for warning in &mut self.warnings {
            if let Some(rest) = warning.strip_prefix(&self.path) {
                *warning = format!("{name}{rest}");
            }
        }
        self.path = name;
    }

    fn capture(&self, outside: &FileFacts) -> Capture {
        Capture {
            path: self.path.clone(),
            format: self.format.clone(),
            packets: self.counts.packets,
            tcp_segments: self.counts.tcp_segments,
            wire_bytes: self.counts.wire_bytes,
            skipped: self.counts.skipped(),
            other: self.counts.other(),
            tunnels: outside.counts.tunnels(),
            interfaces: self.interfaces.iter().map(InterfaceFacts::result).collect(),
            warnings: self.warnings.clone(),
        }
    }
}

/// Interface of a capture file, as a direction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Interface {
    /// Index of the file in [`Findings::files`].
    pub(crate) file: usize,
    /// Index of the interface in its file.
    pub(crate) index: u32,
    /// Name, description or number.
    pub(crate) name: String,
}

impl Interface {
    pub(crate) fn new(readers: &[CaptureReader], file: usize, index: u32) -> Interface {
        let known = readers[file].interfaces().get(index as usize);
        let name = known.and_then(label).map(str::to_owned);
        Interface { file, index, name: name.unwrap_or_else(|| numbered(index)) }
    }
}

/// Name of an interface without a name.
fn numbered(index: u32) -> String {
    format!("interface {index}")
}

/// Findings of one trace or of several. All counts add up exactly, in any order, as long as no memory limit is reached.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Findings {
    pub(crate) files: Vec<FileFacts>,
    /// Interfaces by direction; empty unless directions are distinguished by interface.
    pub(crate) interfaces: Vec<Interface>,
    /// Meters by direction; empty if directions are distinguished by initiator.
    pub(crate) meters: Vec<Meter>,
    pub(crate) timeline: TimelineCounts,
    pub(crate) others: OtherCounts,
    pub(crate) names: DnsNames,
    pub(crate) lookups: LookupCounts,
    pub(crate) tally: Tally,
    pub(crate) evicted: Evicted,
    pub(crate) outcomes: Outcomes,
    pub(crate) filters: Filters,
}

/// More interfaces than directions can be told apart.
pub(crate) struct TooManyInterfaces;

/// Contents of an analysis in addition to the findings.
pub(crate) struct Shown<'a> {
    pub(crate) options: &'a Options,
    pub(crate) interrupted: bool,
    pub(crate) anonymized: bool,
    /// Files of a first pass that found TCP in tunnels only.
    pub(crate) outside: Option<Vec<FileFacts>>,
}

impl Findings {
    /// Findings of no trace.
    pub(crate) fn none(options: &Options) -> Findings {
        Findings {
            files: Vec::new(),
            interfaces: Vec::new(),
            meters: Vec::new(),
            timeline: TimelineCounts::default(),
            others: OtherCounts::default(),
            names: DnsNames::new(options.memory()),
            lookups: LookupCounts::default(),
            tally: Tally::default(),
            evicted: Evicted::default(),
            outcomes: Outcomes::new(options),
            filters: Filters::new(options),
        }
    }

    /// Adds the findings of another trace, made with the same options.
    pub(crate) fn add(&mut self, other: Findings) -> Result<(), TooManyInterfaces> {
        let first = self.interfaces.len();
        if first + other.interfaces.len() > INTERFACES {
            return Err(TooManyInterfaces);
        }
        let files = self.files.len();
        self.files.extend(other.files);
        let interfaces = other.interfaces.into_iter();
        self.interfaces.extend(interfaces.map(|it| Interface { file: files + it.file, ..it }));
        for (direction, meter) in (first..).zip(other.meters) {
            match self.meters.get_mut(direction) {
                Some(sum) => sum.add(meter),
                None => self.meters.push(meter),
            }
        }
        self.timeline.add(other.timeline);
        self.others.add(other.others);
        self.names.add(other.names);
        self.lookups.add(other.lookups);
        self.tally.add(other.tally);
        self.evicted.add(other.evicted);
        self.outcomes.add(other.outcomes);
        self.filters.add(other.filters, first);
        Ok(())
    }

    /// Replaces all addresses, and removes all names: of hosts, files and interfaces.
    pub(crate) fn anonymize(&mut self, anonymizer: &Anonymizer) {
        let replacement = |address| anonymizer.address(address);
        self.outcomes.replace(replacement);
        self.lookups.replace(replacement);
        self.outcomes.sample.anonymize(anonymizer);
        self.filters.replace(replacement);
        self.names.clear();
        self.files.iter_mut().for_each(FileFacts::remove_names);
        for interface in &mut self.interfaces {
            interface.name = numbered(interface.index);
        }
    }

    /// Numbers the files whose names were removed, in order of their places.
    fn number_files(files: &mut [FileFacts]) {
        let mut order: Vec<usize> = (0..files.len()).collect();
        order.sort_by(|&a, &b| files[a].place().cmp(&files[b].place()));
        for (number, index) in (1..).zip(order) {
            files[index].set_name(format!("capture {number}"));
        }
    }

    /// Whether the parts, read from a record, fit each other and the rule by which directions are distinguished.
    pub(crate) fn fits(&self, by: DirectionBy) -> bool {
        let directions = match by {
            DirectionBy::Initiator => 2,
            DirectionBy::Local => LOCAL.len(),
            DirectionBy::Interface => self.interfaces.len(),
        };
        let meters = match by {
            DirectionBy::Initiator => 0,
            _ => directions,
        };
        self.meters.len() == meters
            && self.interfaces.len() <= INTERFACES
            && (by == DirectionBy::Interface || self.interfaces.is_empty())
            && self.interfaces.iter().all(|it| it.file < self.files.len())
            && self.filters.fits(directions)
    }

    /// Whether TCP was found outside of tunnels.
    pub(crate) fn has_tcp(&self) -> bool {
        self.files.iter().any(|file| file.counts.tcp_segments > 0)
    }

    /// Whether tunnels that were not decapsulated carry TCP.
    pub(crate) fn has_tunnelled_tcp(&self) -> bool {
        self.files.iter().any(|file| file.counts.tunnelled_tcp > 0)
    }

    /// Whether there are tunnels that were not decapsulated.
    pub(crate) fn has_tunnels(&self) -> bool {
        let mut files = self.files.iter();
        files.any(|file| !file.counts.tunnels().is_empty())
    }

    /// Times of the earliest and the latest packet.
    fn span(&self) -> Option<(Instant, Instant)> {
        let files = self.files.iter();
        let spans = files.filter_map(|file| file.counts.times.span());
        spans.reduce(|(start, end), (from, to)| (start.min(from), end.max(to)))
    }

    /// Names of the directions.
    fn directions(&self, by: DirectionBy) -> Vec<String> {
        let name = |it: &Interface| match self.files.len() {
            1 => it.name.clone(),
            _ => format!("{}: {}", self.files[it.file].path, it.name),
        };
        match by {
            DirectionBy::Initiator => ["from initiator", "to initiator"].map(String::from).into(),
            DirectionBy::Local => LOCAL
                .iter()
                .zip(&self.meters)
                // If everything is either out or in, "neither" would only confuse.
                .filter(|(name, meter)| **name != "neither" || meter.bytes() > 0)
                .map(|(name, _)| name.to_string())
                .collect(),
            DirectionBy::Interface => self.interfaces.iter().map(name).collect(),
        }
    }

    /// Results.
    pub(crate) fn analysis(mut self, shown: Shown<'_>) -> Analysis {
        let Shown { options, interrupted, anonymized, mut outside } = shown;
        if anonymized {
            Findings::number_files(&mut self.files);
            outside.iter_mut().for_each(|files| Findings::number_files(files));
        }
        let by = options.direction_by();
        let (start, end) = self.span().unwrap_or_default();
        let duration = end.saturating_since(start);
        let directions = self.directions(by);
        let mut order: Vec<usize> = (0..directions.len()).collect();
        if by == DirectionBy::Interface {
            let place = |&i: &usize| {
                let it = &self.interfaces[i];
                (self.files[it.file].place(), it.index)
            };
            order.sort_by(|a, b| place(a).cmp(&place(b)));
        }
        let meters = match by {
            DirectionBy::Initiator => self.tally.meters.as_slice(),
            _ => self.meters.as_slice(),
        };
        let link = Link { names: &directions, order: &order, meters, duration, rate: options.rate };
        let decided_early = self.filters.decided_early();
        self.filters.decide();
        let directions = link.directions(&self.filters.considered());
        let filters = self.filters.result(|address| address.to_string(), |sums| link.directions(sums));
        self.outcomes.expire(self.evicted.expire(options.idle_timeout));
        self.outcomes.decide();
        let outcomes = self.outcomes.result(|address| address.to_string(), server_name);
        let attempts = self.tally.attempts;
        let causes = self.outcomes.causes(attempts, |_| false, |address| address.to_string(), server_name);
        let top = self.outcomes.parties.result(
            options.top,
            |address| address.to_string(),
            server_name,
            |network, length| format!("{network}/{length}"),
        );
        self.timeline.add(std::mem::take(&mut self.tally.timeline));
        let limits = Limits {
            idle_timeout_s: options.idle_timeout.min(Options::LONGEST_IDLE_TIMEOUT).as_secs_f64(),
            memory_limit_bytes: options.memory() as u64,
            peak_connections: self.evicted.peak_connections,
            peak_bytes: self.evicted.peak_bytes,
            peak_remembered_bytes: (self.outcomes.peak_bytes() + self.filters.peak_bytes()) as u64,
            retired_idle: self.evicted.idle,
            retired_memory: self.evicted.memory,
            judged_early: decided_early,
        };
        self.files.sort_by(|a, b| a.place().cmp(&b.place()));
        if let Some(outside) = &mut outside {
            outside.sort_by(|a, b| a.place().cmp(&b.place()));
        }
        let warnings = Evidence { files: &self.files, outside: outside.as_deref(), tally: &self.tally }.warnings();
        let outside = outside.as_deref().unwrap_or(&self.files);
        let captures = self.files.iter().zip(outside);
        let tally = &self.tally;
        let mut analysis = Analysis {
            version: SCHEMA,
            gentle: env!("CARGO_PKG_VERSION").to_string(),
            interrupted,
            anonymized,
            findings: Vec::new(),
            verdict: Vec::new(),
            next_steps: Vec::new(),
            warnings,
            captures: captures.map(|(file, outside)| file.capture(outside)).collect(),
            start_s: self.span().map(|(start, _)| start.as_secs_f64()),
            duration_s: duration.as_secs_f64(),
            handshakes: self.outcomes.handshakes(tally),
            outcomes,
            causes,
            waiting: self.outcomes.waiting(),
            expected_cost: self.outcomes.expected_cost(&tally.retransmissions),
            directions,
            direction_by: by,
            retransmissions: tally.retransmissions,
            intervals: tally.intervals.result(&self.outcomes.series),
            vantage: tally.vantage.result(options.vantage, self.outcomes.round_trip_halves()),
            filters,
            top,
            timeline: self.timeline.result(start),
            other_protocols: self.others.result(),
            lookups: self.lookups.result(server_name),
            closes: self.outcomes.closes,
            limits,
            names: PlaceNames::default(),
            flows: None,
        };
        analysis.findings = verdict::findings(&analysis);
        // Names given to real addresses do not fit replaced ones.
        if !anonymized {
            let names = Names { given: &options.names, dns: &self.names };
            analysis.names = names::of_analysis(names, &analysis);
        }
        analysis
    }
}

/// Server address with port.
fn server_name(server: Address, port: u16) -> String {
    if server.is_v4() { format!("{server}:{port}") } else { format!("[{server}]:{port}") }
}

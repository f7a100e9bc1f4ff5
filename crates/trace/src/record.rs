//! Records of analyses: what was found in the captures of one task, in a form that adds up with other records to the
//! same bytes as one analysis of all captures.
//!
//! A task is one capture, or several that are read as one trace. A record has sums, and lists only where the result
//! depends on all traces together: parties, failed attempts, connections that the SYN-flood filter may remove. So its
//! size is bounded by the [memory limit](Options::memory_limit) of the analysis.

use crate::analysis::{Passes, passes};
use crate::anonymize::Anonymizer;
use crate::control::{AnalysisError, Control};
use crate::decode::INTERFACES;
use crate::findings::{Findings, Shown, TooManyInterfaces};
use crate::options::{Options, VantagePoint};
use crate::results::{Analysis, DirectionBy};
use crate::rows::RowSink;
use crate::selection::Selection;
use gentle_capture::{CaptureError, CaptureReader};
use gentle_units::{Nanos, Rate};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;

/// Version of the form of records.
pub const RECORD_VERSION: u32 = 5;

/// Identity of the analysis: a digest of its sources (`build.rs`), in hexadecimal.
pub const ENGINE: &str = env!("GENTLE_ENGINE");

/// Largest size of a record before compression, bytes.
#[cfg(feature = "zstd")]
const LONGEST: u64 = 1 << 30;

/// Bytes per read call.
const CHUNK: usize = 256 * 1024;

/// Options of an analysis as a record has them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordOptions {
    idle_timeout_ns: u64,
    memory_limit: u64,
    strict: bool,
    inner: bool,
    interfaces: Vec<String>,
    selection: Selection,
    direction: Option<DirectionBy>,
    local: Vec<IpNet>,
    rate_bps: Option<u64>,
    vantage: Option<VantagePoint>,
    top: usize,
    /// [`Anonymizer::check_digits`] of the key.
    anonymized: Option<String>,
}

impl RecordOptions {
    fn options(&self) -> Options {
        Options {
            idle_timeout: Nanos(self.idle_timeout_ns),
            memory_limit: self.memory_limit,
            inner: self.inner,
            interfaces: self.interfaces.clone(),
            selection: self.selection.clone(),
            direction: self.direction,
            local: self.local.clone(),
            rate: self.rate_bps.and_then(Rate::from_bits_per_second),
            vantage: self.vantage,
            top: self.top,
        }
    }

    /// Name of the first option that differs.
    fn difference(&self, other: &RecordOptions) -> Option<&'static str> {
        let differences = [
            ("--idle-timeout", self.idle_timeout_ns != other.idle_timeout_ns),
            ("--memory-limit", self.memory_limit != other.memory_limit),
            ("--strict", self.strict != other.strict),
            ("--inner", self.inner != other.inner),
            ("--interface", self.interfaces != other.interfaces),
            ("--host", self.selection.hosts != other.selection.hosts),
            ("--port", self.selection.ports != other.selection.ports),
            ("--since", self.selection.since != other.selection.since),
            ("--until", self.selection.until != other.selection.until),
            ("--anonymize", self.anonymized != other.anonymized),
            ("--direction", self.direction != other.direction),
            ("--local", self.local != other.local),
            ("--rate", self.rate_bps != other.rate_bps),
            ("--vantage", self.vantage != other.vantage),
            ("--top", self.top != other.top),
        ];
        let mut differences = differences.into_iter();
        differences.find(|(_, differ)| *differ).map(|(name, _)| name)
    }
}

/// Makes records with the same options.
#[derive(Debug, Clone, Copy)]
pub struct Recorder<'a> {
    /// Options of the analyses.
    pub options: &'a Options,
    /// Whether damage in a capture is an error.
    pub strict: bool,
    /// Replacement of addresses; a record then has none of the real ones.
    pub anonymizer: Option<&'a Anonymizer>,
}

/// Captures that are read as one trace.
#[derive(Debug)]
pub struct Task {
    files: Vec<TaskFile>,
    id: String,
}

#[derive(Debug)]
struct TaskFile {
    path: PathBuf,
    sha256: String,
    metadata: Metadata,
}

impl Task {
    /// Identity of the task: a digest of the contents of its captures, of the options and of the version of gentle, in
    /// hexadecimal. It does not depend on the names of the captures. If addresses are replaced, it is a tag with the same key.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Size of the captures, bytes.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.metadata.len()).sum()
    }
}

impl Recorder<'_> {
    fn options(&self) -> RecordOptions {
        let Options {
            idle_timeout,
            memory_limit,
            inner,
            ref interfaces,
            ref selection,
            direction,
            ref local,
            rate,
            vantage,
            top,
        } = *self.options;
        let prefix = |&prefix: &IpNet| match self.anonymizer {
            Some(anonymizer) => anonymizer.prefix(prefix),
            None => prefix,
        };
        let interface = |name: &String| match self.anonymizer {
            Some(anonymizer) => anonymizer.tag(name.as_bytes()),
            None => name.clone(),
        };
        RecordOptions {
            idle_timeout_ns: idle_timeout.0,
            memory_limit,
            strict: self.strict,
            inner,
            interfaces: interfaces.iter().map(interface).collect(),
            selection: Selection { hosts: selection.hosts.iter().map(prefix).collect(), ..selection.clone() },
            direction,
            local: local.iter().map(prefix).collect(),
            rate_bps: rate.map(Rate::bits_per_second),
            vantage,
            top,
            anonymized: self.anonymizer.map(Anonymizer::check_digits),
        }
    }

    /// Task for the captures at `paths`, which must be files. Reads them to identify their contents.
    ///
    /// # Errors
    /// If a file cannot be read, or `stop` is set.
    pub fn task(&self, paths: &[PathBuf], stop: &AtomicBool) -> Result<Task, AnalysisError> {
        let files = paths.iter().map(|path| {
            digest(path, stop).map_err(|source| match stop.load(Ordering::Relaxed) {
                true => AnalysisError::Stopped,
                false => AnalysisError::Capture(CaptureError::Io { file: path.display().to_string(), source }),
            })
        });
        let files = files.collect::<Result<Vec<TaskFile>, _>>()?;
        let mut contents: Vec<&str> = files.iter().map(|file| file.sha256.as_str()).collect();
        contents.sort_unstable();
        let version = (RECORD_VERSION, ENGINE);
        let identity = serde_json::to_vec(&(version, self.options(), contents));
        let identity = identity.expect("options are text, numbers and lists");
        let mut id = match self.anonymizer {
            Some(anonymizer) => anonymizer.tag(&identity),
            None => hex(&Sha256::digest(identity)),
        };
        // Half of the digest is enough to name files.
        id.truncate(32);
        Ok(Task { files, id })
    }

    /// Analyses the captures of a task; `rows` receives the connections.
    ///
    /// # Errors
    /// If a capture cannot be read, is damaged and [`Recorder::strict`] is set, or was changed since [`Recorder::task`]
    /// read it; if `rows` fails; [`AnalysisError::Stopped`] if [`Control::stop`] was set.
    pub fn record(
        &self,
        task: &Task,
        rows: Option<&mut RowSink<'_>>,
        control: &Control,
    ) -> Result<Record, AnalysisError> {
        let open = |file: &TaskFile| Ok(CaptureReader::open(&file.path)?.strict(self.strict));
        let readers = task.files.iter().map(open);
        let readers = readers.collect::<Result<Vec<_>, CaptureError>>()?;
        let Passes { mut outer, mut inner } =
            passes(readers, self.options, self.anonymizer, rows, control, Findings::has_tunnels)?;
        if control.stop.load(Ordering::Relaxed) {
            return Err(AnalysisError::Stopped);
        }
        for file in &task.files {
            let now = std::fs::metadata(&file.path);
            let is_same = now.is_ok_and(|now| {
                now.len() == file.metadata.len() && now.modified().ok() == file.metadata.modified().ok()
            });
            if !is_same {
                return Err(AnalysisError::Changed(file.path.display().to_string()));
            }
        }
        for findings in std::iter::once(&mut outer).chain(&mut inner) {
            for (facts, file) in findings.files.iter_mut().zip(&task.files) {
                facts.sha256 = match self.anonymizer {
                    Some(anonymizer) => anonymizer.tag(file.sha256.as_bytes()),
                    None => file.sha256.clone(),
                };
            }
        }
        Ok(Record {
            version: RECORD_VERSION,
            gentle: env!("CARGO_PKG_VERSION").to_owned(),
            engine: ENGINE.to_owned(),
            task: task.id.clone(),
            options: self.options(),
            outer,
            inner,
        })
    }
}

/// Reads a file to its end, unless `stop` is set.
fn digest(path: &Path, stop: &AtomicBool) -> io::Result<TaskFile> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a file; a record needs captures that can be read twice"));
    }
    let mut sha256 = Sha256::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(n) => sha256.update(&chunk[..n]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(TaskFile { path: path.to_owned(), sha256: hex(&sha256.finalize()), metadata })
}

/// Start of an identity, enough to distinguish builds.
fn short(engine: &str) -> &str {
    engine.get(..8).unwrap_or(engine)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        write!(text, "{byte:02x}").expect("a string takes any text");
    }
    text
}

/// Record of the analysis of one task.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    version: u32,
    gentle: String,
    engine: String,
    task: String,
    options: RecordOptions,
    outer: Findings,
    /// Findings inside tunnels, if there is no TCP outside. They count if no other record has TCP outside either.
    inner: Option<Findings>,
}

/// Error from reading a record.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RecordError {
    /// The bytes are not a record.
    #[error("not the record of an analysis ({0}); expected a file that gentle analyze --record wrote, unchanged")]
    Syntax(String),
    /// The record was made by other code.
    #[error(
        "made by another build of gentle ({gentle}, engine {engine}); expected this one's (engine {}): analyse the captures again, with --record and a new directory",
        short(ENGINE)
    )]
    Engine {
        /// Version of gentle that made the record.
        gentle: String,
        /// Start of its engine's identity.
        engine: String,
    },
    /// The parts of the record contradict each other.
    #[error("its parts are inconsistent; expected a file that gentle analyze --record wrote, unchanged")]
    Inconsistent,
}

impl Record {
    /// Identity of the task, as [`Task::id`].
    pub fn task(&self) -> &str {
        &self.task
    }

    /// The record as JSON, compressed with zstd.
    #[cfg(feature = "zstd")]
    pub fn to_bytes(&self) -> Vec<u8> {
        let compress = || -> io::Result<Vec<u8>> {
            let mut out = zstd::Encoder::new(Vec::new(), zstd::DEFAULT_COMPRESSION_LEVEL)?;
            out.include_checksum(true)?;
            serde_json::to_writer(io::BufWriter::with_capacity(CHUNK, &mut out), self)?;
            out.finish()
        };
        compress().expect("compression in memory, of lists, numbers and text")
    }

    /// Reads a record.
    ///
    /// # Errors
    /// If the bytes are not a record, or one of another version.
    #[cfg(feature = "zstd")]
    pub fn from_bytes(bytes: &[u8]) -> Result<Record, RecordError> {
        let syntax = |error: &dyn std::fmt::Display| RecordError::Syntax(error.to_string());
        let mut json = Vec::new();
        zstd::Decoder::new(bytes)
            .and_then(|decoder| decoder.take(LONGEST + 1).read_to_end(&mut json))
            .map_err(|error| syntax(&error))?;
        if json.len() as u64 > LONGEST {
            return Err(syntax(&"it is longer than 1 GiB"));
        }
        Record::from_json(&json)
    }

    /// Reads a record that is not compressed.
    ///
    /// # Errors
    /// As `Record::from_bytes`.
    pub fn from_json(json: &[u8]) -> Result<Record, RecordError> {
        #[derive(Deserialize)]
        struct Made {
            gentle: String,
            // Records had none before version 3.
            #[serde(default)]
            engine: String,
        }
        let check = |gentle: &str, engine: &str| match engine == ENGINE {
            true => Ok(()),
            false => Err(RecordError::Engine {
                gentle: gentle.to_owned(),
                engine: match engine {
                    "" => "unknown".to_owned(),
                    engine => short(engine).to_owned(),
                },
            }),
        };
        let record: Record = match serde_json::from_slice(json) {
            Ok(record) => record,
            Err(error) => {
                if let Ok(made) = serde_json::from_slice::<Made>(json) {
                    check(&made.gentle, &made.engine)?;
                }
                return Err(RecordError::Syntax(error.to_string()));
            }
        };
        check(&record.gentle, &record.engine)?;
        match record.is_consistent() {
            true => Ok(record),
            false => Err(RecordError::Inconsistent),
        }
    }

    fn is_consistent(&self) -> bool {
        let by = self.options.options().direction_by();
        let fit = |findings: &Findings| {
            !findings.files.is_empty() && findings.files.len() == self.outer.files.len() && findings.fits(by)
        };
        let mut findings = std::iter::once(&self.outer).chain(&self.inner);
        findings.all(fit)
    }

    /// SHA-256 of each capture, or its tag, in hexadecimal.
    fn contents(&self) -> impl Iterator<Item = (&str, &str)> {
        let files = self.outer.files.iter();
        files.map(|file| (file.sha256.as_str(), file.path.as_str()))
    }
}

/// Error from merging records.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MergeError {
    /// There are no records.
    #[error("no records of analyses; expected files that gentle analyze --record wrote")]
    Empty,
    /// Two records were made with different options.
    #[error("{first} and {second} cannot be merged: they were made with different values of {option}")]
    Different {
        /// Name of the first record.
        first: String,
        /// Name of the second record.
        second: String,
        /// The option.
        option: &'static str,
    },
    /// Two records have the same capture, which would count twice.
    #[error(
        "{first} and {second} both have the capture {capture}, in different tasks, and it would count twice; leave one of them out"
    )]
    Twice {
        /// Name of the first record.
        first: String,
        /// Name of the second record.
        second: String,
        /// Name of the capture.
        capture: String,
    },
    /// The captures have too many interfaces.
    #[error(
        "the captures have more than {INTERFACES} interfaces, the limit of --direction interface; record them with \
         another --direction"
    )]
    Interfaces,
}

/// Contents of an analysis made of records, in addition to their sum.
#[derive(Debug, Clone, Copy, Default)]
pub struct Showing {
    /// Capacity of the link, instead of the records'.
    pub rate: Option<Rate>,
    /// Length of each list of the parties with most losses, instead of the records'.
    pub top: Option<usize>,
    /// Whether records are missing, because their job was stopped.
    pub interrupted: bool,
}

/// Adds records up, one at a time, in the memory that one analysis has.
///
/// The sum does not depend on the order of the records unless the memory limit is reached.
#[derive(Debug, Default)]
pub struct Merger {
    sum: Option<Sum>,
    /// Names of the records by task, and by the captures' contents.
    tasks: BTreeMap<String, String>,
    captures: BTreeMap<String, String>,
    /// Names of the records, and the number of the record that had a sampled connection first.
    names: Vec<String>,
    sampled: HashMap<u64, usize>,
    overlap: Option<Overlap>,
}

/// Two records that have connections in common, which count twice.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{first} and {second} have connections in common ({connections} of some 30 that were compared), which count twice: the same traffic was captured in both; leave one out, or record their captures as one trace (--continue all)"
)]
pub struct Overlap {
    /// Name of the first record.
    pub first: String,
    /// Name of the second record.
    pub second: String,
    /// Number of connections in common in a small sample.
    pub connections: usize,
}

#[derive(Debug)]
struct Sum {
    first: String,
    options: RecordOptions,
    outer: Findings,
    /// With the findings inside tunnels, as long as no record has TCP outside.
    inner: Option<Findings>,
}

impl Merger {
    /// Adds a record that messages call `name`. A further record of the same task is ignored.
    ///
    /// # Errors
    /// If the record does not belong to those before it.
    pub fn add(&mut self, name: &str, record: Record) -> Result<(), MergeError> {
        if self.tasks.contains_key(&record.task) {
            return Ok(());
        }
        if let Some(sum) = &self.sum
            && let Some(option) = sum.options.difference(&record.options)
        {
            return Err(MergeError::Different { first: sum.first.clone(), second: name.to_owned(), option });
        }
        for (content, path) in record.contents() {
            // Identical content twice in one task counts twice, as in one analysis of both files.
            if let Some(first) = self.captures.get(content)
                && first != name
            {
                return Err(MergeError::Twice {
                    first: first.clone(),
                    second: name.to_owned(),
                    capture: path.to_owned(),
                });
            }
            self.captures.insert(content.to_owned(), name.to_owned());
        }
        self.tasks.insert(record.task, name.to_owned());
        self.compare(name, record.inner.as_ref().unwrap_or(&record.outer));
        let sum = self.sum.get_or_insert_with(|| {
            let options = record.options.options();
            Sum {
                first: name.to_owned(),
                options: record.options,
                outer: Findings::none(&options),
                inner: (!options.inner).then(|| Findings::none(&options)),
            }
        });
        if record.outer.has_tcp() {
            sum.inner = None;
        }
        let interfaces = |TooManyInterfaces| MergeError::Interfaces;
        if let Some(inner) = &mut sum.inner {
            let inside = record.inner.unwrap_or_else(|| record.outer.clone());
            inner.add(inside).map_err(interfaces)?;
        }
        sum.outer.add(record.outer).map_err(interfaces)
    }

    /// Looks for connections in common with the records before.
    fn compare(&mut self, name: &str, findings: &Findings) {
        let number = self.names.len();
        self.names.push(name.to_owned());
        let mut common: BTreeMap<usize, usize> = BTreeMap::new();
        for hash in findings.outcomes.sample.hashes() {
            match self.sampled.entry(hash) {
                Entry::Occupied(first) => *common.entry(*first.get()).or_default() += 1,
                Entry::Vacant(place) => {
                    place.insert(number);
                }
            }
        }
        let most = common.into_iter().max_by_key(|(_, connections)| *connections);
        if let Some((first, connections)) = most
            && self.overlap.as_ref().is_none_or(|known| known.connections < connections)
        {
            self.overlap = Some(Overlap { first: self.names[first].clone(), second: name.to_owned(), connections });
        }
    }

    /// The two records with most connections in common, if any have.
    pub fn overlap(&self) -> Option<&Overlap> {
        self.overlap.as_ref()
    }

    /// The analysis of all captures.
    ///
    /// # Errors
    /// If no record was added.
    pub fn finish(self, shown: &Showing) -> Result<Analysis, MergeError> {
        let sum = self.sum.ok_or(MergeError::Empty)?;
        let mut options = sum.options.options();
        options.rate = shown.rate.or(options.rate);
        options.top = shown.top.unwrap_or(options.top);
        let (findings, outside) = match sum.inner {
            Some(inner) if sum.outer.has_tunnelled_tcp() => (inner, Some(sum.outer.files)),
            _ => (sum.outer, None),
        };
        Ok(findings.analysis(Shown {
            options: &options,
            interrupted: shown.interrupted,
            anonymized: sum.options.anonymized.is_some(),
            outside,
        }))
    }
}

/// Merges named records into the analysis that one call for all captures gives. Records of the same task count once.
///
/// # Errors
/// There are no records, or two of them do not belong together.
pub fn merge(mut records: Vec<(String, Record)>) -> Result<Analysis, MergeError> {
    records.sort_by(|(_, a), (_, b)| a.task.cmp(&b.task));
    let mut merger = Merger::default();
    for (name, record) in records {
        merger.add(&name, record)?;
    }
    merger.finish(&Showing::default())
}

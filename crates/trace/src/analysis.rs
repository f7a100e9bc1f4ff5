//! Captures in, [`Analysis`] out.
//!
//! One thread reads and decodes, the other follows connections; between them go batches of segments. What comes out does
//! not depend on how the two are scheduled.

use crate::anonymize::Anonymizer;
use crate::capture::{CaptureError, CaptureReader, Merge};
use crate::connections::{CLIENT, Connection, Connections, Farewell, SERVER, State};
use crate::decode::Decoder;
use crate::measure::Tally;
use crate::measure::flood::Link;
use crate::options::Options;
use crate::results::{Analysis, Capture, DirectionBy, SCHEMA};
use crate::row::{Close, Row, Side};
use crate::segment::Segment;
use crate::verdict;
use gentle_units::Nanos;
use gentle_wire::Address;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use thiserror::Error;

/// Why an analysis failed.
#[derive(Debug, Error)]
pub enum AnalysisError {
    /// A capture cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A row cannot be written.
    #[error("connections cannot be written: {0}")]
    Rows(io::Error),
}

/// What the outside and an analysis tell each other while it goes on.
#[derive(Debug, Default)]
pub struct Watch {
    /// Set it to stop early: the analysis then covers what has been read.
    pub stop: AtomicBool,
    /// Bytes of the files consumed so far.
    pub consumed: AtomicU64,
}

/// Takes the connections one by one, those that end together in the order in which they began.
pub type RowSink<'a> = dyn FnMut(&Row) -> io::Result<()> + 'a;

/// Segments that go from one thread to the other at a time; about 64 kB, so that they stay in the cache.
const BATCH: usize = 512;
/// Batches under way.
const BATCHES: usize = 16;
/// Packets between looks at [`Watch`].
const LOOK: u32 = 4096;

struct Batch {
    /// Time of the first packet of the trace.
    start: Nanos,
    segments: Vec<Segment>,
}

/// Analyses `readers` as one trace in time order.
///
/// # Errors
/// If a capture cannot be read (or is damaged and its reader strict), or `rows` fails.
pub fn analyze(
    readers: Vec<CaptureReader>,
    options: &Options,
    anonymizer: Option<&Anonymizer>,
    rows: Option<&mut RowSink<'_>>,
    watch: &Watch,
) -> Result<Analysis, AnalysisError> {
    let by = options.direction.unwrap_or(if options.local.is_empty() {
        DirectionBy::Initiator
    } else {
        DirectionBy::Local
    });
    let files = readers.len();
    let mut merge = Merge::new(readers);
    let mut decoder = Decoder::new(options, by, files);
    let mut connections = Connections::new(options, by == DirectionBy::Initiator);
    let mut writer = Writer { rows, anonymizer };

    let (full, to_follow) = sync_channel(BATCHES);
    let (empty, to_fill) = channel();
    let (read, followed) = std::thread::scope(|scope| {
        let reading = scope.spawn(|| read(&mut merge, &mut decoder, full, to_fill, watch));
        let followed = follow(to_follow, &empty, &mut connections, &mut writer);
        // A reader that waits for empty batches must not wait for ever.
        drop(empty);
        let read = match reading.join() {
            Ok(read) => read,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        (read, followed)
    });
    let tally = followed.map_err(AnalysisError::Rows)?;
    read?;
    Ok(Found {
        options,
        anonymizer,
        by,
        merge: &merge,
        decoder,
        connections: &connections,
        interrupted: watch.stop.load(Ordering::Relaxed),
    }
    .analysis(tally))
}

/// Reads and decodes until the end, or until the other side is gone.
fn read(
    merge: &mut Merge,
    decoder: &mut Decoder,
    full: SyncSender<Batch>,
    to_fill: Receiver<Vec<Segment>>,
    watch: &Watch,
) -> Result<(), CaptureError> {
    let mut segments: Vec<Segment> = Vec::with_capacity(BATCH);
    let mut until_look = LOOK;
    loop {
        until_look -= 1;
        if until_look == 0 {
            until_look = LOOK;
            let consumed = merge.readers().iter().map(CaptureReader::consumed).sum();
            watch.consumed.store(consumed, Ordering::Relaxed);
            if watch.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        let Some((file, packet)) = merge.next()? else {
            break;
        };
        decoder.decode(file, &packet, &mut segments);
        if segments.len() == BATCH {
            let next = to_fill
                .try_recv()
                .unwrap_or_else(|_| Vec::with_capacity(BATCH));
            let batch = Batch {
                start: decoder.start(),
                segments: std::mem::replace(&mut segments, next),
            };
            if full.send(batch).is_err() {
                return Ok(());
            }
        }
    }
    let batch = Batch {
        start: decoder.start(),
        segments,
    };
    // If nobody takes it, following has failed and says why.
    let _ = full.send(batch);
    Ok(())
}

/// Follows connections until no more batches come.
fn follow(
    to_follow: Receiver<Batch>,
    empty: &Sender<Vec<Segment>>,
    connections: &mut Connections,
    writer: &mut Writer<'_, '_>,
) -> io::Result<Tally> {
    let mut tally = None;
    for batch in to_follow {
        let tally = tally.get_or_insert_with(|| Tally::new(batch.start));
        let mut segments = batch.segments;
        connections.observe_all(&segments, tally, writer)?;
        segments.clear();
        // The reader may be done already.
        let _ = empty.send(segments);
    }
    let mut tally = tally.unwrap_or_else(|| Tally::new(Nanos::ZERO));
    connections.finish(&mut tally, writer)?;
    Ok(tally)
}

/// Makes rows of connections.
struct Writer<'a, 'b> {
    rows: Option<&'a mut RowSink<'b>>,
    anonymizer: Option<&'a Anonymizer>,
}

impl Farewell for Writer<'_, '_> {
    type Error = io::Error;

    fn farewell(
        &mut self,
        connection: &Connection,
        ends: [Address; 2],
        close: Close,
    ) -> io::Result<()> {
        let Some(rows) = &mut self.rows else {
            return Ok(());
        };
        let [client, server] = match self.anonymizer {
            Some(anonymizer) => ends.map(|address| anonymizer.address(address)),
            None => ends,
        };
        let side = |side: usize| {
            let (of_handshake, of_data) = connection.delays(side);
            let half = &connection.halves[side];
            Side {
                segments: half.segments.into(),
                bytes: half.bytes,
                retransmissions: connection.retransmissions(side),
                retransmission_delay: of_handshake.saturating_add(of_data),
            }
        };
        let syn_seen = connection.state.has(State::SYN);
        let synack_at = connection.synack_at.get().filter(|_| syn_seen);
        let ack_at = connection.ack_at.get().filter(|_| syn_seen);
        rows(&Row {
            start: connection.first,
            end: connection.last,
            client,
            client_port: connection.ports[CLIENT],
            server,
            server_port: connection.ports[SERVER],
            syn_seen,
            established: syn_seen && connection.state.has(State::ESTABLISHED),
            rtt_server: synack_at,
            rtt_client: synack_at
                .zip(ack_at)
                .map(|(synack, ack)| ack.saturating_sub(synack)),
            syn_retransmissions: connection.handshake_retransmissions(CLIENT),
            synack_retransmissions: connection.handshake_retransmissions(SERVER),
            handshake_delay: connection.handshake_delay(),
            response_time: (connection.response != Nanos::MAX).then_some(connection.response),
            from_client: side(CLIENT),
            from_server: side(SERVER),
            close,
        })
    }
}

/// Everything that was found, before it is put into the form of [`Analysis`].
struct Found<'a> {
    options: &'a Options,
    anonymizer: Option<&'a Anonymizer>,
    by: DirectionBy,
    merge: &'a Merge,
    decoder: Decoder,
    connections: &'a Connections,
    interrupted: bool,
}

impl Found<'_> {
    fn analysis(mut self, mut tally: Tally) -> Analysis {
        let (start, end) = self.decoder.span().unwrap_or_default();
        let duration = end.saturating_sub(start);
        let names = self
            .decoder
            .directions(|file, index| self.interface(file, index));
        let meters = if self.by == DirectionBy::Initiator {
            tally.meters.to_vec()
        } else {
            self.decoder.meters.clone()
        };
        let link = Link {
            names: &names,
            meters: &meters,
            duration,
            rate: self.options.rate,
        };
        let judged_early = tally.filters.judged_early();
        let filters = tally
            .filters
            .finish(|address| self.show(address), |sums| link.directions(sums));
        let directions = link.directions(tally.filters.considered());
        let top = tally.parties.result(
            self.options.top,
            |address| self.show(address),
            |network, length| self.show_prefix(network, length),
        );
        let mut timeline = tally.timeline.clone();
        if let Some(packets) = self.decoder.timeline.take() {
            timeline.merge(packets);
        }
        let mut limits = self.connections.limits();
        limits.judged_early = judged_early;
        let mut analysis = Analysis {
            version: SCHEMA,
            gentle: env!("CARGO_PKG_VERSION").to_string(),
            interrupted: self.interrupted,
            anonymized: self.anonymizer.is_some(),
            verdict: Vec::new(),
            captures: self.captures(),
            start_s: self.decoder.span().map(|(start, _)| start.as_secs_f64()),
            duration_s: duration.as_secs_f64(),
            handshakes: tally.handshakes(),
            waiting: tally.waiting(),
            directions,
            direction_by: self.by,
            retransmissions: tally.retransmissions,
            intervals: tally.intervals.result(),
            vantage: tally.vantage.result(self.options.vantage, tally.halves()),
            filters,
            top,
            timeline: timeline.result(),
            other_protocols: self.decoder.into_others(),
            closes: tally.closes,
            limits,
            flows: None,
        };
        analysis.verdict = verdict::sentences(&analysis);
        analysis
    }

    fn captures(&self) -> Vec<Capture> {
        self.merge
            .readers()
            .iter()
            .zip(&self.decoder.files)
            .map(|(reader, counts)| Capture {
                path: reader.name().to_string(),
                format: reader.format().to_string(),
                packets: counts.packets,
                tcp_segments: counts.tcp_segments,
                wire_bytes: counts.wire_bytes,
                skipped: counts.skipped(),
                other: counts.other(),
                warnings: reader.warnings().iter().map(ToString::to_string).collect(),
            })
            .collect()
    }

    /// What an interface is called.
    fn interface(&self, file: usize, index: u32) -> String {
        let readers = self.merge.readers();
        let reader = &readers[file];
        let name = reader
            .interfaces()
            .get(index as usize)
            .and_then(|interface| interface.name.clone().or(interface.description.clone()))
            .unwrap_or_else(|| format!("interface {index}"));
        if readers.len() > 1 {
            format!("{}: {name}", reader.name())
        } else {
            name
        }
    }

    fn show(&self, address: Address) -> String {
        match self.anonymizer {
            Some(anonymizer) => anonymizer.address(address).to_string(),
            None => address.to_string(),
        }
    }

    fn show_prefix(&self, network: Address, length: usize) -> String {
        let mut shown = match self.anonymizer {
            Some(anonymizer) => anonymizer.address(network),
            None => network,
        };
        let kept = if network.is_v4() { 96 + length } else { length };
        shown.0[kept / 8..].fill(0);
        format!("{shown}/{length}")
    }
}

//! Pipeline of four threads: one reads and decodes, one follows connections, the caller's counts connections that are
//! over, and one stores what the filters need of them. Batches of segments and of connections go between them. The output
//! does not depend on scheduling.

use crate::analysis::{AnalysisError, Watch};
use crate::connections::{Connections, Departure, Farewell};
use crate::decode::Decoder;
use crate::measure::{Filters, Outcomes, Tally};
use crate::rows::Rows;
use crate::segment::Batch;
use gentle_capture::{CaptureError, CaptureReader, Merge, RawPacket, Sink};
use gentle_units::Nanos;
use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::ScopedJoinHandle;

/// Segments per batch. A quarter of this took 10 % longer, because threads wake each other more often; twice as many
/// gains nothing. All batches under way take about 10 MB.
const SEGMENTS: usize = 8192;
/// Connections per batch.
const DEPARTURES: usize = 2048;
/// Batches in each queue between two threads.
const BATCHES: usize = 8;
/// Calls of [`Merge::read`] between checks of [`Watch`]; each call delivers one packet, or the packets of one window.
const LOOK: u32 = 16;

/// State of the four threads.
pub(crate) struct Pipeline<'a> {
    pub(crate) merge: &'a mut Merge,
    pub(crate) decoder: &'a mut Decoder,
    pub(crate) connections: &'a mut Connections,
    pub(crate) outcomes: &'a mut Outcomes,
    pub(crate) filters: &'a mut Filters,
}

struct Segments {
    /// Time of the first packet of the trace.
    start: Nanos,
    batch: Batch,
}

impl Pipeline<'_> {
    /// Runs to the end of the captures, or until `watch.stop` is set.
    pub(crate) fn run(
        self,
        rows: &mut Rows<'_, '_>,
        watch: &Watch,
    ) -> Result<Tally, AnalysisError> {
        let Pipeline {
            merge,
            decoder,
            connections,
            outcomes,
            filters,
        } = self;
        let (segments, to_follow) = sync_channel(BATCHES);
        let (emptied, to_fill) = channel();
        let (departures, to_count) = sync_channel(BATCHES);
        let (counted, to_filter) = sync_channel(BATCHES);
        let (filtered, to_reuse) = channel();
        std::thread::scope(|scope| {
            let reading = scope.spawn(|| read(merge, decoder, segments, to_fill, watch));
            let following =
                scope.spawn(|| follow(to_follow, emptied, connections, departures, to_reuse));
            let filtering = scope.spawn(|| filter(to_filter, filtered, filters));
            // If counting fails, the other threads find their channels closed and end.
            let counted = count(to_count, outcomes, rows, counted);
            joined(filtering);
            let tally = joined(following);
            let read = joined(reading);
            counted.map_err(AnalysisError::Rows)?;
            read?;
            Ok(tally)
        })
    }
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// First stage: decodes packets and sends them on in batches.
struct Entrance<'a> {
    decoder: &'a mut Decoder,
    batch: Batch,
    segments: SyncSender<Segments>,
    to_fill: Receiver<Batch>,
    /// Whether the receiver of the batches is still there.
    wanted: bool,
}

impl Sink for Entrance<'_> {
    #[inline(always)]
    fn packet(&mut self, file: usize, packet: &RawPacket<'_>) -> ControlFlow<()> {
        self.decoder.decode(file, packet, &mut self.batch);
        if self.batch.is_full() {
            self.send();
            if !self.wanted {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}

impl Entrance<'_> {
    #[inline(never)]
    fn send(&mut self) {
        let next = self
            .to_fill
            .try_recv()
            .unwrap_or_else(|_| Batch::with_capacity(SEGMENTS));
        let full = Segments {
            start: self.decoder.start(),
            batch: std::mem::replace(&mut self.batch, next),
        };
        self.wanted = self.segments.send(full).is_ok();
    }
}

/// Reads and decodes until the end of the captures, or until the receiver hangs up.
fn read(
    merge: &mut Merge,
    decoder: &mut Decoder,
    segments: SyncSender<Segments>,
    to_fill: Receiver<Batch>,
    watch: &Watch,
) -> Result<(), CaptureError> {
    let mut entrance = Entrance {
        decoder,
        batch: Batch::with_capacity(SEGMENTS),
        segments,
        to_fill,
        wanted: true,
    };
    let mut calls: u32 = 0;
    while entrance.wanted && merge.read(&mut entrance)? {
        calls = calls.wrapping_add(1);
        if calls.is_multiple_of(LOOK) {
            let consumed = merge.readers().iter().map(CaptureReader::consumed).sum();
            watch.consumed.store(consumed, Ordering::Relaxed);
            if watch.stop.load(Ordering::Relaxed) {
                break;
            }
        }
    }
    // A receiver that hung up has failed, and reports its own error.
    entrance.send();
    Ok(())
}

/// Error: the receiver of closed connections hung up.
struct Gone;

/// Sender of connections that are over.
struct Exit {
    departures: SyncSender<Vec<Departure>>,
    /// Emptied batches to reuse: allocating new ones would cost more than the work on them.
    to_reuse: Receiver<Vec<Departure>>,
    batch: Vec<Departure>,
}

impl Farewell for Exit {
    type Error = Gone;

    fn farewell(&mut self, departure: Departure) -> Result<(), Gone> {
        self.batch.push(departure);
        if self.batch.len() == DEPARTURES {
            self.flush()?;
        }
        Ok(())
    }
}

impl Exit {
    fn flush(&mut self) -> Result<(), Gone> {
        let next = self
            .to_reuse
            .try_recv()
            .unwrap_or_else(|_| Vec::with_capacity(DEPARTURES));
        let batch = std::mem::replace(&mut self.batch, next);
        self.departures.send(batch).map_err(|_| Gone)
    }
}

/// Follows connections until no more batches come or the receiver hangs up.
fn follow(
    to_follow: Receiver<Segments>,
    emptied: Sender<Batch>,
    connections: &mut Connections,
    departures: SyncSender<Vec<Departure>>,
    to_reuse: Receiver<Vec<Departure>>,
) -> Tally {
    let mut tally = None;
    let mut exit = Exit {
        departures,
        to_reuse,
        batch: Vec::with_capacity(DEPARTURES),
    };
    for Segments { start, mut batch } in to_follow {
        let tally = tally.get_or_insert_with(|| Tally::new(start));
        if connections
            .observe_all(&mut batch, tally, &mut exit)
            .is_err()
        {
            break;
        }
        batch.clear();
        // The reader may have ended already.
        let _ = emptied.send(batch);
    }
    let mut tally = tally.unwrap_or_else(|| Tally::new(Nanos::ZERO));
    // If the receiver hung up, drop the rest.
    let _ = connections
        .finish(&mut tally, &mut exit)
        .and_then(|()| exit.flush());
    tally
}

/// Counts connections that are over.
fn count(
    to_count: Receiver<Vec<Departure>>,
    outcomes: &mut Outcomes,
    rows: &mut Rows<'_, '_>,
    counted: SyncSender<Vec<Departure>>,
) -> io::Result<()> {
    for departures in to_count {
        for departure in &departures {
            outcomes.record(departure);
            rows.write(departure)?;
        }
        // The filter thread receives until this sender is dropped.
        let _ = counted.send(departures);
    }
    Ok(())
}

/// Passes connections that are over to the filters, which takes as long as counting them; on the counting thread it would
/// be done alone after the other threads have finished.
fn filter(
    to_filter: Receiver<Vec<Departure>>,
    filtered: Sender<Vec<Departure>>,
    filters: &mut Filters,
) {
    for mut departures in to_filter {
        for departure in departures.drain(..) {
            filters.record(&departure);
        }
        // The sender of the batch may have ended already.
        let _ = filtered.send(departures);
    }
}

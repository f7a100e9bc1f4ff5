//! Four threads: one reads and decodes, one follows connections, the caller's counts those that are over, and one keeps
//! what the filters need of them. Between them go batches of segments and of connections. What comes out does not depend
//! on how they are scheduled.

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

/// Segments that go from one thread to the other at a time: with a quarter of that, waking each other took a tenth more
/// of the time, with twice as many nothing is gained. All that is under way takes about 10 MB.
const SEGMENTS: usize = 8192;
/// Connections that do.
const DEPARTURES: usize = 2048;
/// Batches under way.
const BATCHES: usize = 8;
/// Calls of [`Merge::read`] between looks at [`Watch`]: each hands over a packet, or those of a window.
const LOOK: u32 = 16;

/// What the threads work on.
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
    /// Runs to the end of the captures, or until `watch` says stop.
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
            // When it fails, the others find their ways blocked and end.
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

/// Decodes packets and sends them on in batches.
struct Entrance<'a> {
    decoder: &'a mut Decoder,
    batch: Batch,
    segments: SyncSender<Segments>,
    to_fill: Receiver<Batch>,
    /// Somebody takes the batches.
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

/// Reads and decodes until the end, or until the other side is gone.
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
    // If nobody takes it, something behind has failed and says why.
    entrance.send();
    Ok(())
}

/// Nobody takes leave of connections any more.
struct Gone;

/// The way of connections that are over.
struct Exit {
    departures: SyncSender<Vec<Departure>>,
    /// Emptied batches: new memory for each would cost more than what is done with it.
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

/// Follows connections until no more batches come, or nobody takes leave of them.
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
        // The reader may be done already.
        let _ = emptied.send(batch);
    }
    let mut tally = tally.unwrap_or_else(|| Tally::new(Nanos::ZERO));
    // Where leave is taken no more, what is left to say is not wanted either.
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
        // It takes them as long as they come.
        let _ = counted.send(departures);
    }
    Ok(())
}

/// Puts connections that are over through the filters: as much to do as to count them, which would else be done alone when
/// the others are through.
fn filter(
    to_filter: Receiver<Vec<Departure>>,
    filtered: Sender<Vec<Departure>>,
    filters: &mut Filters,
) {
    for mut departures in to_filter {
        for departure in departures.drain(..) {
            filters.record(&departure);
        }
        // Whoever filled it may be done already.
        let _ = filtered.send(departures);
    }
}

//! Pipeline of four threads: one reads and decodes, one follows connections, the caller's counts closed connections,
//! and one keeps the records of them that the filters need. Batches of segments and of connections go between the
//! threads. The output does not depend on scheduling, and is the same on one thread.

use crate::connections::{ClosedConnection, ClosedSink, Connections};
use crate::control::{AnalysisError, Control};
use crate::decode::Decoder;
use crate::measure::{Filters, Outcomes};
use crate::points::Sightings;
use crate::rows::RowWriter;
use crate::segment::Batch;
use crate::tally::{Meter, Tally};
use gentle_capture::{CaptureError, CaptureReader, Merge, RawPacket, Sink};
use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::ScopedJoinHandle;

/// Segments per batch. A quarter of this took 10 % longer, because threads wake each other more often; twice as many
/// gains nothing. All batches under way take about 10 MB.
const SEGMENTS: usize = 8192;
/// Connections per batch.
const CLOSED: usize = 2048;
/// Batches in each queue between two threads.
const BATCHES: usize = 8;
/// Calls of [`Merge::read`] between checks of [`Control`]; each call delivers one packet, or the packets of one window.
const POLL: u32 = 16;

/// State of the four stages.
pub(crate) struct Pipeline<'a> {
    pub(crate) merge: &'a mut Merge,
    pub(crate) decoder: &'a mut Decoder,
    pub(crate) sightings: &'a mut Sightings,
    pub(crate) connections: &'a mut Connections,
    pub(crate) outcomes: &'a mut Outcomes,
    pub(crate) filters: &'a mut Filters,
}

impl Pipeline<'_> {
    /// Runs to the end of the captures, or until `control.stop` is set.
    pub(crate) fn run(self, rows: &mut RowWriter<'_, '_>, control: &Control) -> Result<Tally, AnalysisError> {
        match control.one_thread {
            true => self.run_here(rows, control),
            false => self.run_on_threads(rows, control),
        }
    }

    fn run_on_threads(self, rows: &mut RowWriter<'_, '_>, control: &Control) -> Result<Tally, AnalysisError> {
        let Pipeline { merge, decoder, sightings, connections, outcomes, filters } = self;
        let (segments, to_follow) = sync_channel(BATCHES);
        let (emptied, to_fill) = channel();
        let (closed, to_count) = sync_channel(BATCHES);
        let (counted, to_filter) = sync_channel(BATCHES);
        let (filtered, to_reuse) = channel();
        std::thread::scope(|scope| {
            let reading = scope.spawn(|| read(merge, decoder, segments, to_fill, control));
            let following = scope.spawn(|| follow(to_follow, emptied, sightings, connections, closed, to_reuse));
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

    fn run_here(self, rows: &mut RowWriter<'_, '_>, control: &Control) -> Result<Tally, AnalysisError> {
        let mut follower = Follower {
            decoder: self.decoder,
            batch: Batch::with_capacity(SEGMENTS),
            sightings: self.sightings,
            connections: self.connections,
            tally: Tally::default(),
            last: LastStages { outcomes: self.outcomes, rows, filters: self.filters },
            failed: None,
        };
        read_all(self.merge, &mut follower, control)?;
        follower.follow();
        let Follower { connections, mut tally, mut last, failed, .. } = follower;
        failed
            .map_or(Ok(()), Err)
            .and_then(|()| connections.finish(&mut tally, &mut last))
            .map_err(AnalysisError::Rows)?;
        tally.meters.iter_mut().for_each(Meter::end);
        Ok(tally)
    }
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Consumer of packets, which may stop early.
trait Taker: Sink {
    /// Whether more packets are of use.
    fn goes_on(&self) -> bool;
}

/// Passes packets on until the end of the captures, or until `control.stop` is set or `to` stops.
fn read_all<T: Taker>(merge: &mut Merge, to: &mut T, control: &Control) -> Result<(), CaptureError> {
    let mut calls: u32 = 0;
    while to.goes_on() && merge.read(to)? {
        calls = calls.wrapping_add(1);
        if calls.is_multiple_of(POLL) {
            let consumed = merge.readers().iter().map(CaptureReader::consumed).sum();
            control.consumed.store(consumed, Ordering::Relaxed);
            if control.stop.load(Ordering::Relaxed) {
                break;
            }
        }
    }
    Ok(())
}

/// Decodes packets and sends their segments in batches.
struct SegmentSender<'a> {
    decoder: &'a mut Decoder,
    batch: Batch,
    segments: SyncSender<Batch>,
    to_fill: Receiver<Batch>,
    /// Whether the receiver of the batches has not hung up.
    connected: bool,
}

impl Sink for SegmentSender<'_> {
    #[inline(always)]
    fn packet(&mut self, file: usize, packet: &RawPacket<'_>) -> ControlFlow<()> {
        self.decoder.decode(file, packet, &mut self.batch);
        if self.batch.is_full() {
            self.send();
            if !self.connected {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}

impl Taker for SegmentSender<'_> {
    fn goes_on(&self) -> bool {
        self.connected
    }
}

impl SegmentSender<'_> {
    #[inline(never)]
    fn send(&mut self) {
        let next = self.to_fill.try_recv().unwrap_or_else(|_| Batch::with_capacity(SEGMENTS));
        let full = std::mem::replace(&mut self.batch, next);
        self.connected = self.segments.send(full).is_ok();
    }
}

/// Reads and decodes until the end of the captures, or until the receiver hangs up.
fn read(
    merge: &mut Merge,
    decoder: &mut Decoder,
    segments: SyncSender<Batch>,
    to_fill: Receiver<Batch>,
    control: &Control,
) -> Result<(), CaptureError> {
    let mut sender =
        SegmentSender { decoder, batch: Batch::with_capacity(SEGMENTS), segments, to_fill, connected: true };
    read_all(merge, &mut sender, control)?;
    // A receiver that hung up has failed, and reports its own error.
    sender.send();
    Ok(())
}

/// Error: the receiver of closed connections hung up.
struct Disconnected;

/// Sends closed connections in batches.
struct ClosedSender {
    closed: SyncSender<Vec<ClosedConnection>>,
    /// Emptied batches to reuse: allocating new ones would cost more than the work on them.
    to_reuse: Receiver<Vec<ClosedConnection>>,
    batch: Vec<ClosedConnection>,
}

impl ClosedSink for ClosedSender {
    type Error = Disconnected;

    fn on_closed(&mut self, closed: ClosedConnection) -> Result<(), Disconnected> {
        self.batch.push(closed);
        if self.batch.len() == CLOSED {
            self.flush()?;
        }
        Ok(())
    }
}

impl ClosedSender {
    fn flush(&mut self) -> Result<(), Disconnected> {
        let next = self.to_reuse.try_recv().unwrap_or_else(|_| Vec::with_capacity(CLOSED));
        let batch = std::mem::replace(&mut self.batch, next);
        self.closed.send(batch).map_err(|_| Disconnected)
    }
}

/// Follows connections until no more batches come or the receiver hangs up.
fn follow(
    to_follow: Receiver<Batch>,
    emptied: Sender<Batch>,
    sightings: &mut Sightings,
    connections: &mut Connections,
    closed: SyncSender<Vec<ClosedConnection>>,
    to_reuse: Receiver<Vec<ClosedConnection>>,
) -> Tally {
    let mut tally = Tally::default();
    let mut sink = ClosedSender { closed, to_reuse, batch: Vec::with_capacity(CLOSED) };
    for mut batch in to_follow {
        sightings.leave_out_repeats(&mut batch, &mut tally);
        let observed = connections.observe_all(&mut batch, &mut tally, &mut sink);
        if observed.is_err() {
            break;
        }
        batch.clear();
        // The reader may have ended already.
        let _ = emptied.send(batch);
    }
    // If the receiver hung up, drop the rest.
    let _ = connections.finish(&mut tally, &mut sink).and_then(|()| sink.flush());
    tally.meters.iter_mut().for_each(Meter::end);
    tally
}

/// Counts closed connections and writes their rows.
fn count(
    to_count: Receiver<Vec<ClosedConnection>>,
    outcomes: &mut Outcomes,
    rows: &mut RowWriter<'_, '_>,
    counted: SyncSender<Vec<ClosedConnection>>,
) -> io::Result<()> {
    for closed in to_count {
        for closed in &closed {
            outcomes.record(closed);
            rows.write(closed)?;
        }
        // The filter thread receives until this sender is dropped.
        let _ = counted.send(closed);
    }
    Ok(())
}

/// Passes closed connections to the filters. This takes as long as counting them, and the counting thread has most of
/// its work left when the other threads are done; so filtering has a separate thread.
fn filter(to_filter: Receiver<Vec<ClosedConnection>>, filtered: Sender<Vec<ClosedConnection>>, filters: &mut Filters) {
    for mut closed in to_filter {
        for closed in closed.drain(..) {
            filters.record(&closed);
        }
        // The sender of the batch may have ended already.
        let _ = filtered.send(closed);
    }
}

/// All stages on one thread: decodes packets, and follows connections whenever a batch of segments is full.
struct Follower<'a, 'b, 'c> {
    decoder: &'a mut Decoder,
    batch: Batch,
    sightings: &'a mut Sightings,
    connections: &'a mut Connections,
    tally: Tally,
    last: LastStages<'a, 'b, 'c>,
    /// Why a row could not be written.
    failed: Option<io::Error>,
}

impl Sink for Follower<'_, '_, '_> {
    #[inline]
    fn packet(&mut self, file: usize, packet: &RawPacket<'_>) -> ControlFlow<()> {
        self.decoder.decode(file, packet, &mut self.batch);
        if self.batch.is_full() {
            self.follow();
            if self.failed.is_some() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}

impl Taker for Follower<'_, '_, '_> {
    fn goes_on(&self) -> bool {
        self.failed.is_none()
    }
}

impl Follower<'_, '_, '_> {
    fn follow(&mut self) {
        (self.sightings).leave_out_repeats(&mut self.batch, &mut self.tally);
        let observed = (self.connections).observe_all(&mut self.batch, &mut self.tally, &mut self.last);
        self.failed = self.failed.take().or(observed.err());
        self.batch.clear();
    }
}

/// Counts and filters closed connections and writes their rows.
struct LastStages<'a, 'b, 'c> {
    outcomes: &'a mut Outcomes,
    rows: &'a mut RowWriter<'b, 'c>,
    filters: &'a mut Filters,
}

impl ClosedSink for LastStages<'_, '_, '_> {
    type Error = io::Error;

    fn on_closed(&mut self, closed: ClosedConnection) -> Result<(), io::Error> {
        self.outcomes.record(&closed);
        self.rows.write(&closed)?;
        self.filters.record(&closed);
        Ok(())
    }
}

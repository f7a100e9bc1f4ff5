//! Runs an experiment with real sockets on a Linux kernel: in a machine, or on the host itself with `--native`.
//!
//! One thread is the client, one is the server, and one captures at the router's devices; the calling thread applies
//! rate changes and takes samples. The clock is `CLOCK_MONOTONIC`, which all namespaces share, so times of both hosts
//! and of packets are comparable.

mod clock;
mod host;
mod namespace;
mod observed;
mod rexmit;
mod samples;
mod steps;
mod tap;
mod tcp_info;
mod timeouts;

pub use observed::{Connection, End, Observed, Sample};
pub use steps::{StepError, run as run_step};
pub use tap::Point;

use crate::experiment::{Change, Experiment};
use clock::Start;
use gentle_rexmit::kernel_engine::Settings;
use host::Host;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

/// Number of progress reports per run.
const STEPS_OF_PROGRESS: u64 = 200;

/// Environment of an experiment.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// Directory of a cgroup v2 hierarchy below which a group can be created.
    pub cgroup: &'a Path,
    /// Traffic starts when the monotonic clock shows a multiple of this. Kernel timers depend on the phase of the
    /// clock; a fixed phase makes runs repeatable.
    pub start: Duration,
}

/// Builds the network, runs the traffic and observes it. The packets at the router's devices go to the file `packets`
/// as pcapng. Ends early, with the observations so far, when `stop` becomes true. The network is not removed.
///
/// # Errors
/// Describes the failure, with the command or file concerned.
pub fn run(
    experiment: &Experiment,
    packets: &Path,
    surroundings: Surroundings<'_>,
    stop: &AtomicBool,
    progress: &dyn Fn(f64),
) -> Result<Observed, String> {
    for step in &experiment.setup {
        steps::run(step).map_err(|error| error.to_string())?;
    }
    let initial_rto = experiment
        .initial_rto_ms
        .map(|ms| Settings::everything(Duration::from_millis(ms.into())));
    let timeouts: Vec<Settings> = initial_rto
        .into_iter()
        .chain(rexmit::settings(experiment.rexmit))
        .collect();
    let _timeouts = match &timeouts[..] {
        [] => None,
        all => Some(timeouts::set(surroundings.cgroup, all)?),
    };
    let start = Start::at_multiple_of(surroundings.start)?;
    let over = AtomicBool::new(false);
    let open = AtomicUsize::new(experiment.flows.len());
    let names = &experiment.names;
    let tap = namespace::within(&names.router, || tap::Tap::open(packets, start))??;
    let host = |name: &str, is_client| {
        namespace::within(name, || Host::new(experiment, is_client, start, &open))?
    };
    let (client, server) = (host(&names.client, true)?, host(&names.server, false)?);
    let wakers = [client.waker()?, server.waker()?];
    let mut rexmit = rexmit::open(experiment)?;
    thread::scope(|scope| {
        let engines: Vec<_> = rexmit
            .engines
            .drain(..)
            .map(|mut engine| {
                scope.spawn({
                    let over = &over;
                    move || engine.run(over, &mut rexmit::Unheard)
                })
            })
            .collect();
        let tap = scope.spawn(|| tap.run(&over));
        // The sockets of a host belong to the namespace of the thread that creates them.
        let hosts = [(client, &names.client), (server, &names.server)].map(|(host, name)| {
            scope.spawn(|| namespace::enter(name).and_then(|()| host.run(&over)))
        });
        let done =
            || open.load(Ordering::Relaxed) == 0 || hosts.iter().any(ScopedJoinHandle::is_finished);
        let control = control(experiment, start, stop, progress, &done);
        over.store(true, Ordering::Relaxed);
        for waker in &wakers {
            waker.wake()?;
        }
        let mut connections = Vec::new();
        for host in hosts {
            connections.extend(host.join().unwrap_or_else(panicked)?);
        }
        for engine in engines {
            let outcome = engine
                .join()
                .map_err(|_| "gentle rexmit panicked".to_owned())?;
            outcome.map_err(|error| format!("gentle rexmit: {error}"))?;
        }
        connections.sort_by_key(|connection| connection.started_ns);
        let missed = tap.join().unwrap_or_else(panicked)?;
        let (samples, interrupted) = control?;
        Ok(Observed {
            connections,
            samples,
            missed,
            interrupted,
        })
    })
}

fn panicked<T>(_: Box<dyn std::any::Any + Send>) -> Result<T, String> {
    Err("a thread of the traffic generator panicked".to_owned())
}

/// Applies rate changes and takes samples at their times, until both hosts are done or the run has ended.
fn control(
    experiment: &Experiment,
    start: Start,
    stop: &AtomicBool,
    progress: &dyn Fn(f64),
    done: &dyn Fn() -> bool,
) -> Result<(Vec<Sample>, bool), String> {
    let mut changes = experiment.changes.iter().peekable();
    let mut samples = Vec::new();
    let mut next_sample = 0;
    let step = (experiment.duration_ns / STEPS_OF_PROGRESS).max(1);
    let mut next_progress = 0;
    let mut interrupted = false;
    loop {
        let now = start.elapsed_ns()?;
        if stop.load(Ordering::Relaxed) {
            interrupted = true;
            break;
        }
        if now >= experiment.end_ns || (now > experiment.duration_ns && done()) {
            break;
        }
        while let Some(Change { steps, .. }) = changes.next_if(|change| change.at_ns <= now) {
            for step in steps {
                steps::run(step).map_err(|error| error.to_string())?;
            }
        }
        if now >= next_sample {
            samples.push(samples::take(experiment, start)?);
            let next = now + experiment.sample_every_ns;
            // After the last arrival only the sample at the end is needed.
            next_sample = if next <= experiment.duration_ns {
                next
            } else {
                u64::MAX
            };
        }
        if now >= next_progress {
            progress((now as f64 / experiment.duration_ns as f64).min(1.0));
            next_progress = now + step;
        }
        let change = changes.peek().map_or(u64::MAX, |change| change.at_ns);
        // The end of the warm-up is sampled too; earlier counts are subtracted.
        let warmup = match experiment.warmup_ns {
            warmup if warmup > now => warmup,
            _ => u64::MAX,
        };
        let wake = next_progress.min(next_sample).min(change);
        let wake = wake.min(warmup).min(experiment.end_ns);
        if wake == warmup {
            start.sleep_until(warmup)?;
            samples.push(samples::take(experiment, start)?);
            continue;
        }
        start.sleep_until(wake)?;
    }
    samples.push(samples::take(experiment, start)?);
    Ok((samples, interrupted))
}

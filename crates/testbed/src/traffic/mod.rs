//! Runs an experiment with real sockets on a Linux kernel: in a machine, or on the host itself with `--native`.
//!
//! One thread is the client, one is the server, one captures at the router's devices, and one has the gateways of the
//! tunnels, if there are any; the calling thread applies rate changes and takes samples. The clock is
//! `CLOCK_MONOTONIC`, which all namespaces share, so times of both hosts and of packets are comparable.

mod clock;
mod error;
mod host;
mod initial_rto;
mod namespace;
mod observations;
mod rexmit;
mod samples;
mod steps;
mod tap;
mod tcp_info;
mod tun;
mod tunnel;
mod waker;

pub use error::{NamespaceError, StatisticsError, StepError, StepFailure, TrafficError};
pub use observations::{ApplicationPart, Connection, ConnectionOutcome, Observations, Sample, UserNote};
pub use steps::run as run_step;
pub use tap::CapturePoint;

use crate::experiment::{Change, Experiment, HostName};
use clock::RunClock;
use gentle_rexmit::kernel_engine::Settings;
use host::Host;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;
use tunnel::Gateways;

/// Number of progress reports per run.
const PROGRESS_REPORTS: u64 = 200;

/// Parts of the system that an experiment uses.
#[derive(Debug, Clone, Copy)]
pub struct Environment<'a> {
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
/// The network cannot be built, or a host, the tap, a tunnel, `tc` or `gentle rexmit` fails during the run.
pub fn run(
    experiment: &Experiment,
    packets: &Path,
    environment: Environment<'_>,
    stop: &AtomicBool,
    progress: &dyn Fn(f64),
) -> Result<Observations, TrafficError> {
    for step in &experiment.setup {
        steps::run(step)?;
    }
    let initial_rto = experiment.initial_rto_ms.map(|ms| Settings::everything(Duration::from_millis(ms.into())));
    let rtos: Vec<Settings> = initial_rto.into_iter().chain(rexmit::settings(experiment.rexmit)).collect();
    let _rto = match &rtos[..] {
        [] => None,
        all => Some(initial_rto::set(environment.cgroup, all)?),
    };
    let gateways = Gateways::open(experiment)?;
    let clock = RunClock::starting_at_multiple_of(environment.start)?;
    let over = AtomicBool::new(false);
    // Both hosts exchange datagrams as long as any may arrive.
    let exchanging = if experiment.datagrams.is_empty() { 0 } else { 2 };
    let open = AtomicUsize::new(experiment.flows.len() + exchanging);
    let namespaces = &experiment.namespaces;
    let tap = namespace::within(&namespaces.router, || tap::Tap::open(packets, clock))??;
    let host = |namespace: &str, name| namespace::within(namespace, || Host::new(experiment, name, clock, &open))?;
    let client = host(&namespaces.client, HostName::Client)?;
    let server = host(&namespaces.server, HostName::Server)?;
    let mut wakers = vec![client.waker()?, server.waker()?];
    if let Some(gateways) = &gateways {
        wakers.push(gateways.waker()?);
    }
    let mut rexmit = rexmit::open(experiment)?;
    thread::scope(|scope| {
        let engines: Vec<_> = rexmit
            .engines
            .drain(..)
            .map(|mut engine| {
                scope.spawn({
                    let over = &over;
                    move || engine.run(over, &mut rexmit::NoopObserver)
                })
            })
            .collect();
        let tap = scope.spawn(|| tap.run(&over));
        let over = &over;
        let gateways = gateways.map(|gateways| scope.spawn(move || gateways.run(experiment, over)));
        // The sockets of a host belong to the namespace of the thread that creates them.
        let hosts = [(client, &namespaces.client), (server, &namespaces.server)].map(|(host, namespace)| {
            scope.spawn(|| {
                namespace::enter(namespace)?;
                host.run(over)
            })
        });
        let done = || open.load(Ordering::Relaxed) == 0 || hosts.iter().any(ScopedJoinHandle::is_finished);
        let control = control(experiment, clock, stop, progress, &done);
        over.store(true, Ordering::Relaxed);
        for waker in &wakers {
            waker.wake()?;
        }
        let (mut connections, mut notes, mut applications) = (Vec::new(), Vec::new(), Vec::new());
        for host in hosts {
            let found = joined(host, "the traffic generator")?;
            connections.extend(found.connections);
            notes.extend(found.notes);
            applications.extend(found.applications);
        }
        notes.sort_by_key(|note: &UserNote| note.flow);
        for engine in engines {
            let outcome = engine.join();
            let outcome = outcome.map_err(|_| TrafficError::Panicked("gentle rexmit"))?;
            outcome.map_err(TrafficError::Rexmit)?;
        }
        connections.sort_by_key(|connection| connection.started_ns);
        let missed = joined(tap, "the traffic generator")?;
        if let Some(gateways) = gateways {
            joined(gateways, "the gateways of the tunnels")?;
        }
        let (samples, interrupted) = control?;
        Ok(Observations { connections, applications, notes, samples, missed, interrupted })
    })
}

/// Result of a thread; a panic becomes an error.
fn joined<T>(thread: ScopedJoinHandle<'_, Result<T, TrafficError>>, part: &'static str) -> Result<T, TrafficError> {
    thread.join().unwrap_or(Err(TrafficError::Panicked(part)))
}

/// Applies rate changes and takes samples at their times, until both hosts are done or the run has ended.
fn control(
    experiment: &Experiment,
    clock: RunClock,
    stop: &AtomicBool,
    progress: &dyn Fn(f64),
    done: &dyn Fn() -> bool,
) -> Result<(Vec<Sample>, bool), TrafficError> {
    let mut changes = experiment.changes.iter().peekable();
    let mut samples = Vec::new();
    let mut next_sample = 0;
    let step = (experiment.duration_ns / PROGRESS_REPORTS).max(1);
    let mut next_progress = 0;
    let mut interrupted = false;
    loop {
        let now = clock.elapsed_ns()?;
        if stop.load(Ordering::Relaxed) {
            interrupted = true;
            break;
        }
        if now >= experiment.end_ns || (now > experiment.duration_ns && done()) {
            break;
        }
        while let Some(Change { steps, .. }) = changes.next_if(|change| change.at_ns <= now) {
            for step in steps {
                steps::run(step)?;
            }
        }
        if now >= next_sample {
            samples.push(samples::take(experiment, clock)?);
            let next = now + experiment.sample_every_ns;
            // After the last arrival only the sample at the end is needed.
            next_sample = if next <= experiment.duration_ns { next } else { u64::MAX };
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
            clock.sleep_until(warmup)?;
            samples.push(samples::take(experiment, clock)?);
            continue;
        }
        clock.sleep_until(wake)?;
    }
    samples.push(samples::take(experiment, clock)?);
    Ok((samples, interrupted))
}

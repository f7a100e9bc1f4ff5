//! Wire engine: a packet socket on one interface that drives the core.

mod call;
mod clock;
mod error;
mod filter;
mod interface;
mod privileges;
mod socket;
mod status_socket;

pub use error::WireError;
pub use interface::of_default_route;
pub use privileges::{Account, Confinement};
pub use status_socket::running;

/// Maximum number of ports or port ranges in a selection, limited by the kernel's filter.
pub const MOST_PORTS: usize = filter::MOST_PORTS;

use crate::config::Config;
use crate::due::{Answered, Due};
use crate::frame::Frame;
use crate::paths::PathRecord;
use crate::retransmitter::Retransmitter;
use crate::status::{STATUS_VERSION, Status};
use clock::Clock;
use gentle_units::Nanos;
use nix::net::if_::if_nametoindex;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use socket::{BATCH, PacketSocket};
use status_socket::StatusSocket;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Maximum delay until a signal is noticed.
const TICK: Nanos = Nanos::from_millis(250);

/// Interval of [`Observer::report`].
const REPORT: Nanos = Nanos::from_secs(10);

/// Time without a waiting handshake after which outgoing ACKs are no longer received: replacing the filter costs the
/// kernel more than receiving a few ACKs.
const CALM: Nanos = Nanos::from_secs(1);

/// Receives events in order; `unix_ns` is the time of the event.
pub trait Observer {
    /// Copy, suppressed copy or decision that was due. `sent`: a copy was sent.
    fn due(&mut self, unix_ns: Nanos, due: &Due<'_>, sent: bool);
    /// First answer to a packet that was sent again.
    fn answered(&mut self, unix_ns: Nanos, answered: &Answered);
    /// Current status, every ten seconds.
    fn report(&mut self, status: &Status);
}

/// Engine on one interface, with reduced privileges.
pub struct Engine {
    interface: String,
    index: u32,
    dry_run: bool,
    /// Whether the interface went down and no packet has arrived since; it may have been removed.
    down: bool,
    /// Time at which a handshake last waited for an answer.
    waited: Nanos,
    core: Retransmitter,
    socket: PacketSocket,
    status: StatusSocket,
    clock: Clock,
}

impl Engine {
    /// Opens the socket, then drops the privileges of this thread and its future threads that are no longer needed.
    ///
    /// `run`: directory of the status socket; `seed`: seed of the jitter; `learned`: paths learned by an earlier run;
    /// `confinement`: remaining privileges.
    ///
    /// # Errors
    /// If a resource is missing or in use.
    pub fn open(
        interface: &str,
        config: Config,
        run: &Path,
        seed: u64,
        learned: Vec<PathRecord>,
        mut confinement: Confinement,
    ) -> Result<Engine, WireError> {
        let socket = PacketSocket::open(interface, &config.selection)?;
        let mut status = StatusSocket::open(run, interface, confinement.account)?;
        let index =
            if_nametoindex(interface).map_err(|_| WireError::NoInterface(interface.to_owned()))?;
        confinement.directories.push(run.to_owned());
        privileges::drop_all(&confinement)?;
        status.serve()?;
        let clock = Clock::start();
        let dry_run = config.dry_run;
        let mut core = Retransmitter::new(config, seed);
        core.restore(clock.now(), learned);
        Ok(Engine {
            interface: interface.to_owned(),
            index,
            dry_run,
            down: false,
            waited: clock.now(),
            core,
            socket,
            status,
            clock,
        })
    }

    /// Size of the kernel's receive buffer in bytes if it is smaller than requested.
    ///
    /// # Errors
    /// If the system call fails.
    pub fn cramped(&self) -> Result<Option<usize>, WireError> {
        Ok(Some(self.socket.room()?).filter(|room| *room < socket::ROOM))
    }

    /// Runs until `stop` is set.
    ///
    /// # Errors
    /// If the interface is gone or a system call fails.
    pub fn run(&mut self, stop: &AtomicBool, observer: &mut dyn Observer) -> Result<(), WireError> {
        let mut next_report = self.clock.now();
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            if now >= next_report {
                next_report = now + REPORT;
                observer.report(&self.state());
            }
            self.wait(now)?;
            self.receive(observer)?;
            self.send_what_is_due(observer);
            self.listen()?;
            self.status.answer(|| self.state());
        }
        Ok(())
    }

    /// Waits for a packet, a status request or the next deadline.
    fn wait(&self, now: Nanos) -> Result<(), WireError> {
        let due = self.core.next_deadline().unwrap_or(Nanos::MAX);
        let time = due.saturating_sub(now).min(TICK);
        let mut sources = [self.socket.as_fd(), self.status.as_fd()]
            .map(|source| PollFd::new(source, PollFlags::POLLIN));
        let timeout = TimeSpec::from(Duration::from_nanos(time.0));
        match ppoll(&mut sources, Some(timeout), None) {
            Ok(_) | Err(nix::Error::EINTR) => Ok(()),
            Err(error) => Err(WireError::errno("ppoll")(error)),
        }
    }

    /// Receives all packets that have passed by now: answers in the socket take precedence over deadlines.
    fn receive(&mut self, observer: &mut dyn Observer) -> Result<(), WireError> {
        let woke = self.clock.now();
        loop {
            let (taken, newest) = self.receive_batch(observer)?;
            if taken < BATCH || newest >= woke {
                return Ok(());
            }
        }
    }

    /// Receives a batch of packets; returns their number and the time of the last one.
    fn receive_batch(&mut self, observer: &mut dyn Observer) -> Result<(usize, Nanos), WireError> {
        let (core, comparison) = (&mut self.core, self.clock.compare());
        let mut newest = Nanos::ZERO;
        let outcome = self.socket.receive(|taken| {
            let (passed, exact_time) = comparison.passed(taken.passed);
            newest = newest.max(passed);
            if taken.missed {
                core.missed(passed);
            }
            let frame = Frame {
                exact_time,
                ..taken.frame
            };
            if let Some(answered) = core.frame(passed, taken.direction, &frame) {
                observer.answered(passed, &answered);
            }
        });
        let taken = match outcome {
            Err(nix::Error::ENETDOWN) => {
                self.down = true;
                0
            }
            outcome => outcome.map_err(WireError::errno("recvmmsg"))?,
        };
        if taken > 0 {
            self.down = false;
        }
        // A removed device is reported only as down; a new device with the same name has another index.
        if self.down && if_nametoindex(self.interface.as_str()) != Ok(self.index) {
            return Err(WireError::Gone(self.interface.clone()));
        }
        Ok((taken, newest))
    }

    /// Selects the filter: with outgoing ACKs while handshakes wait or have recently waited.
    fn listen(&mut self) -> Result<(), WireError> {
        let now = self.clock.now();
        if self.core.is_waiting() {
            self.waited = now;
        }
        let calm = now.saturating_sub(self.waited) >= CALM;
        self.socket.wait_for_answers(!calm)
    }

    fn send_what_is_due(&mut self, observer: &mut dyn Observer) {
        let now = self.clock.now();
        loop {
            let mut failed = None;
            let Some(due) = self.core.poll(now) else {
                break;
            };
            if let Due::Copy(copy) = &due
                && !self.dry_run
                && self.socket.send(copy.bytes).is_err()
            {
                failed = Some((copy.connection, copy.number));
            }
            observer.due(now, &due, failed.is_none() && !self.dry_run);
            if let Some((connection, number)) = failed {
                self.core.not_sent(&connection, number);
            }
        }
    }

    /// Current status.
    pub fn state(&self) -> Status {
        Status {
            version: STATUS_VERSION,
            engine: "wire".to_owned(),
            interface: self.interface.clone(),
            pid: std::process::id(),
            started_s: self.clock.started().0 / 1_000_000_000,
            dry_run: self.dry_run,
            pending: self.core.pending() as u64,
            missed: self.socket.missed(),
            counters: self.core.counters(),
            paths: self.core.paths(self.clock.now()),
        }
    }
}

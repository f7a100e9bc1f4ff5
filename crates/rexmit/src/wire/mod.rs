//! Wire engine: a packet socket on one interface that drives the core. Reads the system's clocks.

mod error;
mod filter;
mod privileges;
mod status_socket;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
mod system_calls;

pub use error::WireError;
pub use gentle_packets::default_route_interface;
pub use privileges::{Account, Confined, Confinement};
pub use status_socket::running_engines;

/// Maximum number of ports or port ranges in a selection, limited by the kernel's filter.
pub const MAX_PORTS: usize = filter::MAX_PORTS;

use crate::config::Config;
use crate::event::{Answered, Event};
use crate::frame::{Direction, Frame, Vlan};
use crate::paths::PathRecord;
use crate::retransmitter::Retransmitter;
use crate::status::{STATUS_VERSION, Status};
use gentle_packets::bpf::Instruction;
use gentle_packets::{BATCH, Clock, Device, Layer, PacketSocket, Received};
use gentle_units::{Instant, Nanos};
use gentle_wire::LinkType;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use status_socket::StatusSocket;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Maximum time between checks of the stop flag.
const STOP_CHECK: Nanos = Nanos::from_millis(250);

/// Interval of [`Observer::report`].
const REPORT_INTERVAL: Nanos = Nanos::from_secs(10);

/// Time without a waiting handshake after which outgoing ACKs are no longer received: replacing the filter costs the
/// kernel more than receiving a few ACKs.
const FILTER_HOLD: Nanos = Nanos::from_secs(1);

/// Size of the kernel's receive buffer, bytes; it holds tens of thousands of handshake packets.
const RECEIVE_BUFFER: usize = 16 << 20;

/// Receiver of events, in order; `unix_ns` is the Unix time of the event.
pub trait Observer {
    /// Called for each event of the core; `sent`: the event is a copy, and it was sent.
    fn event(&mut self, unix_ns: Instant, event: &Event<'_>, sent: bool);
    /// Called at the first answer to a packet that was copied.
    fn answered(&mut self, unix_ns: Instant, answered: &Answered);
    /// Called every ten seconds with the current status.
    fn report(&mut self, status: &Status);
}

/// Engine on one interface, with reduced privileges.
pub struct Engine {
    interface: String,
    confined: Confined,
    dry_run: bool,
    /// Time at which a handshake last waited for an answer.
    last_waiting: Instant,
    core: Retransmitter,
    socket: PacketSocket,
    /// Filters: the first is used while no handshake waits, the second while one does.
    filters: [Vec<Instruction>; 2],
    /// Whether the second filter is attached.
    filter_waits: bool,
    status_socket: StatusSocket,
    clock: Clock,
}

impl Engine {
    /// Opens the socket, then drops the privileges of this thread and its future threads that are no longer needed.
    ///
    /// `run_dir`: directory of the status socket; `seed`: seed of the jitter; `confinement`: remaining privileges.
    ///
    /// # Errors
    /// If a resource is missing or in use.
    pub fn open(
        interface: &str,
        config: Config,
        run_dir: &Path,
        seed: u64,
        mut confinement: Confinement,
    ) -> Result<Engine, WireError> {
        let device = Device::Named(interface);
        let filter = |link, waiting| filter::program(link, &config.selection, waiting);
        let socket = PacketSocket::open(device, Layer::Link, RECEIVE_BUFFER, |link| filter(link, false))?;
        let filters = [false, true].map(|waiting| filter(socket.link(), waiting));
        let mut status_socket = StatusSocket::open(run_dir, interface)?;
        confinement.directories.push(run_dir.to_owned());
        let confined = privileges::drop_all(&confinement)?;
        status_socket.serve()?;
        let clock = Clock::start();
        let dry_run = config.dry_run;
        let core = Retransmitter::new(config, seed);
        Ok(Engine {
            interface: interface.to_owned(),
            confined,
            dry_run,
            last_waiting: clock.now(),
            core,
            socket,
            filters,
            filter_waits: false,
            status_socket,
            clock,
        })
    }

    /// Adds paths learned by an earlier run.
    pub fn restore(&mut self, learned: Vec<PathRecord>) {
        self.core.restore(self.clock.now(), learned);
    }

    /// Parts of the confinement that are in force.
    pub fn confined(&self) -> Confined {
        self.confined
    }

    /// Size of the kernel's receive buffer in bytes if it is smaller than requested.
    ///
    /// # Errors
    /// If the system call fails.
    pub fn reduced_receive_buffer(&self) -> Result<Option<usize>, WireError> {
        Ok(Some(self.socket.receive_buffer()?).filter(|size| *size < RECEIVE_BUFFER))
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
                next_report = now + REPORT_INTERVAL;
                observer.report(&self.status());
            }
            self.wait(now)?;
            self.receive(observer)?;
            self.process_events(observer);
            self.select_filter()?;
            self.status_socket.answer(|| self.status());
        }
        Ok(())
    }

    /// Waits for a packet, a status request or the next deadline.
    fn wait(&self, now: Instant) -> Result<(), WireError> {
        let due = self.core.next_deadline().unwrap_or(Instant::NEVER);
        let time = due.saturating_since(now).min(STOP_CHECK);
        let mut sources =
            [self.socket.as_fd(), self.status_socket.as_fd()].map(|source| PollFd::new(source, PollFlags::POLLIN));
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
            let (count, newest) = self.receive_batch(observer)?;
            if count < BATCH || newest >= woke {
                return Ok(());
            }
        }
    }

    /// Receives a batch of packets; returns their number and the time of the last one.
    fn receive_batch(&mut self, observer: &mut dyn Observer) -> Result<(usize, Instant), WireError> {
        let (core, clock, link) = (&mut self.core, &mut self.clock, self.socket.link());
        let (mut comparison, mut newest) = (None, Instant::ZERO);
        let count = self.socket.receive(|received| {
            // Read when all packets are there, so that none is later, however long the process was held up before.
            let comparison = comparison.get_or_insert_with(|| clock.compare());
            let (passed, exact_time) = comparison.passed(received.time);
            newest = newest.max(passed);
            if received.after_loss {
                core.missed(passed);
            }
            let direction = if received.outgoing { Direction::Out } else { Direction::In };
            if let Some(answered) = core.frame(passed, direction, &frame(&received, link, exact_time)) {
                observer.answered(comparison.lead().unix(passed), &answered);
            }
        })?;
        if self.socket.is_removed() {
            return Err(WireError::InterfaceRemoved(self.interface.clone()));
        }
        Ok((count, newest))
    }

    /// Selects the filter: with outgoing ACKs while handshakes wait or have recently waited.
    fn select_filter(&mut self) -> Result<(), WireError> {
        let now = self.clock.now();
        if self.core.is_waiting() {
            self.last_waiting = now;
        }
        let idle = now.saturating_since(self.last_waiting) >= FILTER_HOLD;
        if self.filter_waits == idle {
            self.filter_waits = !idle;
            self.socket.set_filter(&self.filters[usize::from(self.filter_waits)])?;
        }
        Ok(())
    }

    fn process_events(&mut self, observer: &mut dyn Observer) {
        let now = self.clock.now();
        loop {
            let mut failed = None;
            let Some(event) = self.core.poll(now) else {
                break;
            };
            if let Event::Copy(copy) = &event
                && !self.dry_run
                && self.socket.send(copy.bytes).is_err()
            {
                failed = Some((copy.connection, copy.number));
            }
            observer.event(self.clock.lead().unix(now), &event, failed.is_none() && !self.dry_run);
            if let Some((connection, number)) = failed {
                self.core.not_sent(&connection, number);
            }
        }
    }

    /// Current status.
    pub fn status(&self) -> Status {
        let lead = self.clock.lead();
        let mut paths = self.core.paths(self.clock.now());
        paths.iter_mut().for_each(|path| path.measured_ns = lead.unix(Instant(path.measured_ns)).0);
        Status {
            version: STATUS_VERSION,
            engine: "wire".to_owned(),
            interface: self.interface.clone(),
            pid: std::process::id(),
            started_s: lead.unix(self.clock.started()).0 / 1_000_000_000,
            dry_run: self.dry_run,
            files_confined: self.confined.files,
            calls_confined: self.confined.calls,
            pending: self.core.pending() as u64,
            missed: self.socket.missed(),
            counters: self.core.counters(),
            paths,
        }
    }
}

/// Input of the core: a received packet.
fn frame<'a>(received: &Received<'a>, link: LinkType, exact_time: bool) -> Frame<'a> {
    Frame {
        bytes: received.bytes,
        original_len: received.original_len,
        link,
        vlan: received.vlan.map(|(tpid, tci)| Vlan { tpid, tci }),
        partial_checksum: received.partial_checksum,
        exact_time,
    }
}

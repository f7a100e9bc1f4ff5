//! A host that connects, accepts, sends, receives and closes: one thread with epoll.

mod active;
mod cbr;
mod codepoint;
mod datagrams;
mod dialogue;
mod initiator;
mod outgoing;
mod pacing;
mod responder;
mod socket;
mod unsent;

use super::TrafficError;
use super::clock::RunClock;
use super::observations::{ApplicationPart, Connection, UserNote};
use super::waker::Waker;
use crate::experiment::{DIALOGUE_PORT, Experiment, HostName, PORT, REQUEST_PORT};
use cbr::CbrSender;
use datagrams::Datagrams;
use dialogue::{Answerer, Asker, Users};
use initiator::Initiator;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, bind, listen, setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeSpec, TimeValLike};
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use responder::Responder;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Tokens of epoll events; tokens of connections start at [`FIRST_CONNECTION`].
const TIMER: u64 = 0;
const WAKER: u64 = 1;
/// Listener on [`PORT`].
const SINK: u64 = 2;
/// Listener on [`REQUEST_PORT`].
const SOURCE: u64 = 3;
/// Listener on [`DIALOGUE_PORT`].
const DIALOGUE: u64 = 4;
const FIRST_CONNECTION: u64 = 16;
/// Tokens of the sockets of datagram flows start here, beyond the tokens of any number of connections.
const FIRST_DATAGRAMS: u64 = 1 << 48;

/// Maximum number of bytes read in one call.
const CHUNK: usize = 256 << 10;

/// State of a connection after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Open,
    Over,
}

/// Context that an end of a connection needs to handle an event.
struct EventContext<'a> {
    now_ns: u64,
    buffer: &'a mut [u8],
}

/// One end of a connection.
enum End {
    Initiator(Initiator),
    Responder(Responder),
    Asker(Asker),
    Answerer(Answerer),
}

/// Observations of a host.
#[derive(Default)]
pub(super) struct Findings {
    /// Connections that it opened.
    pub(super) connections: Vec<Connection>,
    /// Measurements of its users.
    pub(super) notes: Vec<UserNote>,
    /// Its measurements of applications over datagrams.
    pub(super) applications: Vec<ApplicationPart>,
}

impl End {
    fn ready(&mut self, context: &mut EventContext<'_>) -> Status {
        match self {
            End::Initiator(end) => end.ready(context),
            End::Responder(end) => end.ready(context),
            End::Asker(end) => end.ready(context),
            End::Answerer(end) => end.ready(context),
        }
    }

    fn stream(&self) -> &TcpStream {
        match self {
            End::Initiator(end) => end.stream(),
            End::Responder(end) => end.stream(),
            End::Asker(end) => end.stream(),
            End::Answerer(end) => end.stream(),
        }
    }
}

/// One of the two hosts; runs in a thread in its namespace.
pub(super) struct Host<'a> {
    experiment: &'a Experiment,
    name: HostName,
    clock: RunClock,
    epoll: Epoll,
    timer: TimerFd,
    waker: EventFd,
    listeners: [(u64, TcpListener); 3],
    /// Bound so that datagrams are not answered with ICMP errors; never read.
    _discard: UdpSocket,
    /// Index of the next flow to start.
    next_flow: usize,
    cbr: Vec<CbrSender>,
    datagrams: Datagrams,
    ends: HashMap<u64, End>,
    next_end: u64,
    /// Times at which long-lived connections stop sending, with their tokens.
    stops: BinaryHeap<Reverse<(u64, u64)>>,
    users: Users,
    findings: Findings,
    /// Number of flows of both hosts that have not ended.
    open: &'a AtomicUsize,
}

impl<'a> Host<'a> {
    /// Creates the host in the current network namespace, which must be the host's own.
    pub(super) fn new(
        experiment: &'a Experiment,
        name: HostName,
        clock: RunClock,
        open: &'a AtomicUsize,
    ) -> Result<Host<'a>, TrafficError> {
        Host::prepare(experiment, name, clock, open).map_err(|source| TrafficError::Host { host: name, source })
    }

    fn prepare(
        experiment: &'a Experiment,
        name: HostName,
        clock: RunClock,
        open: &'a AtomicUsize,
    ) -> io::Result<Host<'a>> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        let waker = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
        let listeners =
            [(SINK, listener(PORT)?), (SOURCE, listener(REQUEST_PORT)?), (DIALOGUE, listener(DIALOGUE_PORT)?)];
        if experiment.pacing {
            for (_, listener) in &listeners {
                pacing::pace(listener)?;
            }
        }
        let watch =
            |descriptor: BorrowedFd<'_>, token| epoll.add(descriptor, EpollEvent::new(EpollFlags::EPOLLIN, token));
        watch(timer.as_fd(), TIMER)?;
        watch(waker.as_fd(), WAKER)?;
        for (token, listener) in &listeners {
            watch(listener.as_fd(), *token)?;
        }
        let discard = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
        let is_client = name == HostName::Client;
        let own = experiment.cbr.iter();
        let own = own.filter(|flow| flow.from_client == is_client);
        let cbr = own.map(|flow| CbrSender::new(*flow)).collect::<io::Result<_>>()?;
        let duration = experiment.duration_ns;
        let datagrams = Datagrams::open(&experiment.datagrams, is_client, duration)?;
        for (token, socket) in (FIRST_DATAGRAMS..).zip(datagrams.sockets()) {
            watch(socket.as_fd(), token)?;
        }
        Ok(Host {
            experiment,
            name,
            clock,
            epoll,
            timer,
            waker,
            listeners,
            _discard: discard,
            next_flow: 0,
            cbr,
            datagrams,
            ends: HashMap::new(),
            next_end: FIRST_CONNECTION,
            stops: BinaryHeap::new(),
            users: Users::default(),
            findings: Findings::default(),
            open,
        })
    }

    pub(super) fn waker(&self) -> Result<Waker, TrafficError> {
        Waker::of(&self.waker).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> TrafficError {
        TrafficError::Host { host: self.name, source }
    }

    /// Runs this host's part of the experiment until `over` is true.
    pub(super) fn run(mut self, over: &AtomicBool) -> Result<Findings, TrafficError> {
        self.serve(over).map_err(|source| self.failed(source))?;
        self.findings.applications = self.datagrams.finish();
        Ok(self.findings)
    }

    fn serve(&mut self, over: &AtomicBool) -> io::Result<()> {
        let mut events = vec![EpollEvent::empty(); 256];
        let mut buffer = vec![0; CHUNK];
        while !over.load(Ordering::Relaxed) {
            self.set_timer()?;
            let n = match self.epoll.wait(&mut events, EpollTimeout::NONE) {
                Err(nix::Error::EINTR) => continue,
                outcome => outcome?,
            };
            for event in &events[..n] {
                match event.data() {
                    TIMER => {
                        // Reading resets the timer event; the number of expirations is not needed.
                        let mut count = [0; 8];
                        let _ = nix::unistd::read(&self.timer, &mut count);
                    }
                    WAKER => {}
                    token @ (SINK | SOURCE | DIALOGUE) => self.accept(token, &mut buffer)?,
                    token if token >= FIRST_DATAGRAMS => {
                        let (number, clock) = ((token - FIRST_DATAGRAMS) as usize, self.clock);
                        let now = || clock.elapsed_ns().map_err(io::Error::other);
                        self.datagrams.receive(number, &mut buffer, now)?;
                    }
                    token => self.ready(token, &mut buffer)?,
                }
            }
            self.start_due(&mut buffer)?;
        }
        let left: BTreeMap<u64, End> = self.ends.drain().collect();
        for end in left.into_values() {
            match end {
                End::Initiator(end) => self.findings.connections.push(end.unfinished()),
                End::Asker(end) => self.findings.connections.push(end.unfinished()),
                End::Responder(_) | End::Answerer(_) => {}
            }
        }
        self.users.finish(&mut self.findings.notes);
        Ok(())
    }

    fn is_client(&self) -> bool {
        self.name == HostName::Client
    }

    fn now_ns(&self) -> io::Result<u64> {
        self.clock.elapsed_ns().map_err(io::Error::other)
    }

    /// Sets the timer to the next flow start, end of sending, constant-rate packet or timer of an application.
    fn set_timer(&mut self) -> io::Result<()> {
        let flows = &self.experiment.flows;
        let is_client = self.is_client();
        while flows.get(self.next_flow).is_some_and(|flow| flow.from_client != is_client) {
            self.next_flow += 1;
        }
        let flow = flows.get(self.next_flow).map(|flow| flow.at_ns);
        let stop = self.stops.peek().map(|Reverse((at, _))| *at);
        let packet = self.cbr.iter().filter_map(CbrSender::next_ns).min();
        let datagram = self.datagrams.next_ns();
        let user = self.users.next_ns();
        let next = [flow, stop, packet, datagram, user];
        let next = next.into_iter().flatten().min();
        match next {
            Some(at) => {
                let at = i64::try_from(self.clock.monotonic_ns(at)).unwrap_or(i64::MAX);
                self.timer.set(Expiration::OneShot(TimeSpec::nanoseconds(at)), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
            }
            None => self.timer.unset()?,
        }
        Ok(())
    }

    /// Starts flows, ends sending and sends constant-rate packets whose time has come.
    fn start_due(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        let now = self.now_ns()?;
        let flows = &self.experiment.flows;
        while let Some(flow) = flows.get(self.next_flow).filter(|flow| flow.at_ns <= now) {
            let number = self.next_flow as u32;
            self.next_flow += 1;
            if let Some(user) = flow.user.filter(|_| flow.from_client == self.is_client()) {
                self.users.add(&self.experiment.users[user as usize], number);
            } else if flow.from_client == self.is_client() {
                let end = Initiator::connect(flow, number, self.experiment.pacing, self.now_ns()?)?;
                let stop = flow.bytes.is_none() && flow.initiator_sends;
                self.insert(End::Initiator(end), stop.then_some(flow.until_ns))?;
            }
        }
        while let Some(Reverse((_, token))) = self.stops.peek().filter(|due| due.0.0 <= now) {
            let token = *token;
            self.stops.pop();
            self.ready(token, buffer)?;
        }
        while let Some(seat) = self.users.take_due(now) {
            self.wake_user(seat, buffer)?;
        }
        for sender in &mut self.cbr {
            sender.send_due(now)?;
        }
        self.datagrams.run_due(now)?;
        if self.datagrams.take_over(now) {
            self.open.fetch_sub(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn accept(&mut self, token: u64, buffer: &mut [u8]) -> io::Result<()> {
        let Some((_, listener)) = self.listeners.iter().find(|(own, _)| *own == token) else {
            return Ok(());
        };
        let listener = listener.try_clone()?;
        loop {
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // The peer reset the connection before it was accepted.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(error),
            };
            stream.set_nonblocking(true)?;
            let end = match token {
                DIALOGUE => End::Answerer(Answerer::new(stream)?),
                _ => End::Responder(Responder::new(stream, token == SOURCE)),
            };
            let token = self.insert(end, None)?;
            // Data that arrived before the socket was registered may cause no event.
            self.ready(token, buffer)?;
        }
    }

    fn insert(&mut self, end: End, stop_ns: Option<u64>) -> io::Result<u64> {
        let token = self.next_end;
        self.next_end += 1;
        let all = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        self.epoll.add(end.stream(), EpollEvent::new(all, token))?;
        self.ends.insert(token, end);
        if let Some(at) = stop_ns {
            self.stops.push(Reverse((at, token)));
        }
        Ok(token)
    }

    /// Handles a possible event on a connection.
    fn ready(&mut self, token: u64, buffer: &mut [u8]) -> io::Result<()> {
        let now_ns = self.now_ns()?;
        let Some(end) = self.ends.get_mut(&token) else {
            return Ok(());
        };
        let status = end.ready(&mut EventContext { now_ns, buffer });
        let wake = match end {
            End::Responder(end) => end.take_stop(),
            End::Answerer(end) => end.take_wake(),
            End::Asker(_) => return self.hear(token, status, buffer),
            End::Initiator(_) => None,
        };
        if let Some(at) = wake {
            self.stops.push(Reverse((at, token)));
        }
        if status == Status::Over {
            // Dropping the end closes its socket, which removes it from epoll.
            if let Some(End::Initiator(end)) = self.ends.remove(&token) {
                self.findings.connections.push(end.into_connection());
                self.open.fetch_sub(1, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

fn listener(port: u16) -> io::Result<TcpListener> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Inet, SockType::Stream, flags, None)?;
    setsockopt(&socket, sockopt::ReuseAddr, &true)?;
    bind(std::os::fd::AsRawFd::as_raw_fd(&socket), &SockaddrIn::from(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port)))?;
    // Limited by net.core.somaxconn.
    listen(&socket, Backlog::MAXALLOWABLE)?;
    Ok(socket.into())
}

//! The loop that starts connects, and waits for their outcomes.

use crate::connect::{Connect, Event, Outcome, VERSION};
use crate::lane::{Addressing, Lane};
use crate::resolve::{Answer, Name, Resolver};
use crate::schedule::Schedule;
use crate::summary::TargetSummary;
use crate::target::{Families, Target};
use crate::tcp_info::{self, TcpInfo};
use crate::verdict::{Handshake, Verdict, verdict};
use crate::{recent, socket};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use slab::Slab;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Maximum number of connects per second, over all targets.
pub const MAX_TOTAL_RATE: f64 = 1000.0;

/// Maximum number of targets, each address family of a name counted separately.
pub const MAX_TARGETS: usize = 1000;

/// Maximum number of connects of a target that are under way.
pub const MAX_UNDER_WAY: usize = 16;

/// Longest wait for events: the interval at which `stop` is checked.
const LOOK: Duration = Duration::from_millis(100);

/// Maximum number of events that one call of epoll_wait(2) returns.
const EVENTS: usize = 256;

/// Token of the resolver's events in epoll; those of connects are numbers of the slab.
const RESOLVED: u64 = u64::MAX;

/// Longest duration of a tick of the kernel, in which ages of packets are measured.
const TICK: Duration = Duration::from_millis(10);

/// Settings of a prober.
#[derive(Debug, Clone)]
pub struct Config {
    /// Targets, at least one.
    pub targets: Vec<Target>,
    /// Address families.
    pub families: Families,
    /// Connects per second to each address of a target, above 0.
    pub rate: f64,
    /// Number of connects to each address of a target, skipped ones included; `None`: no limit.
    pub count: Option<u64>,
    /// Time after which a connect has timed out.
    pub timeout: Duration,
}

/// Reason why a prober cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// No targets.
    #[error("no targets; name at least one HOST:PORT")]
    NoTargets,
    /// Too many targets.
    #[error("{0} targets, a name counting once per address family, are more than {MAX_TARGETS}; use several processes")]
    TooManyTargets(usize),
    /// Rate that is not a positive number.
    #[error("the rate must be above 0")]
    Rate,
    /// Too many connects per second.
    #[error(
        "{0:.0} connects per second to {1} targets in total, a name counting once per address family, are more than \
         {MAX_TOTAL_RATE:.0}; lower --rate"
    )]
    TotalRate(f64, usize),
    /// Address of a family that is not to be probed.
    #[error("{0} is not an address of the family selected")]
    Family(String),
    /// A call of the system failed.
    #[error("{0}: {1}")]
    System(&'static str, #[source] io::Error),
}

/// Probes of several targets.
///
/// Connects are started at a fixed rate. The targets' starts are spread evenly, and a connect that cannot start in its
/// interval is skipped. Memory is bounded: connects under way, and two histograms for each target.
pub struct Prober {
    config: Config,
    schedule: Schedule,
    interval: Duration,
    lanes: Vec<Lane>,
    connects: Slab<UnderWay>,
    /// Number of connects so far: distinguishes the connects that have had the same place in the slab.
    serial: u64,
    timers: BinaryHeap<Reverse<(Instant, Timer)>>,
    epoll: Epoll,
    wake: Arc<EventFd>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// The next connect of a lane is due.
    Start { lane: usize },
    /// A connect has timed out, if it is still under way.
    Timeout { serial: u64, key: usize },
}

struct UnderWay {
    lane: usize,
    serial: u64,
    socket: OwnedFd,
    address: SocketAddr,
    started: Instant,
    unix_s: f64,
    /// Initial RTO of the SYN; `None` if it was answered before it could be read.
    initial_rto: Option<Duration>,
}

impl Prober {
    /// Prepares the probes. The settings of TCP are those of the network namespace of this thread.
    ///
    /// # Errors
    /// If the settings exceed a limit, or the system refuses a descriptor.
    pub fn new(config: Config) -> Result<Prober, ProbeError> {
        if config.targets.is_empty() {
            return Err(ProbeError::NoTargets);
        }
        if !(config.rate > 0.0 && config.rate.is_finite()) {
            return Err(ProbeError::Rate);
        }
        let mut lanes = Vec::new();
        for target in &config.targets {
            let addressing = match target.literal() {
                Some(address) if config.families.contain(address.ip()) => Addressing::At(address),
                Some(_) => return Err(ProbeError::Family(target.to_string())),
                None => Addressing::Pending,
            };
            for _ in 0..lanes_of(target, config.families) {
                lanes.push(Lane::new(target.to_string(), addressing.clone()));
            }
        }
        if lanes.len() > MAX_TARGETS {
            return Err(ProbeError::TooManyTargets(lanes.len()));
        }
        let total = config.rate * lanes.len() as f64;
        if total > MAX_TOTAL_RATE {
            return Err(ProbeError::TotalRate(total, lanes.len()));
        }
        // A rate of less than one connect per century is rounded up to it.
        let interval = Duration::from_secs_f64((1.0 / config.rate).min(100.0 * 366.0 * 86_400.0));
        let system = |call| move |error: Errno| ProbeError::System(call, error.into());
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(system("epoll_create"))?;
        let wake = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK).map_err(system("eventfd"))?;
        epoll.add(&wake, EpollEvent::new(EpollFlags::EPOLLIN, RESOLVED)).map_err(system("epoll_ctl"))?;
        Ok(Prober {
            config,
            schedule: Schedule::of_this_host(),
            interval,
            lanes,
            connects: Slab::new(),
            serial: 0,
            timers: BinaryHeap::new(),
            epoll,
            wake: Arc::new(wake),
        })
    }

    /// Probes until all connects have ended or `stop` is true, which is checked ten times a second. Connects under way at
    /// that time are dropped and not counted.
    ///
    /// `observe` is called from this thread: while it waits, no connect is started.
    ///
    /// # Errors
    /// If the system refuses a thread or to wait. Failures of connects are outcomes.
    pub fn run(&mut self, stop: &AtomicBool, observe: &mut dyn FnMut(&Event<'_>)) -> Result<(), ProbeError> {
        let begin = Instant::now();
        let names = self.names();
        let resolver = Resolver::start(names, self.config.families, &self.wake)
            .map_err(|error| ProbeError::System("a thread for names", error))?;
        for lane in 0..self.lanes.len() {
            self.schedule_first(lane, begin, begin);
        }
        let mut events = [EpollEvent::empty(); EVENTS];
        while !stop.load(Ordering::Relaxed) && !self.is_done() {
            self.run_timers(observe);
            let until = self.timers.peek().map(|Reverse((due, _))| due.saturating_duration_since(Instant::now()));
            let wait = until.map_or(LOOK, |until| until.min(LOOK));
            // Rounded up, so that a timer is due after the wait.
            let ms = u16::try_from(wait.as_micros().div_ceil(1000)).unwrap_or(u16::MAX);
            let ready = match self.epoll.wait(&mut events, EpollTimeout::from(ms)) {
                Ok(ready) => ready,
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(ProbeError::System("epoll_wait", error.into())),
            };
            let now = Instant::now();
            for event in &events[..ready] {
                match event.data() {
                    RESOLVED => {
                        // The counter only wakes; the answers are in the channel.
                        let _ = self.wake.read();
                        while let Some(answer) = resolver.answer() {
                            self.adopt(answer, begin, observe);
                        }
                    }
                    key => self.complete(key as usize, now, observe),
                }
            }
        }
        self.connects.clear();
        Ok(())
    }

    /// Summaries of all targets in the order given. A family in which a name has no address is left out.
    pub fn summaries(&self) -> Vec<TargetSummary> {
        let lanes = self.lanes.iter().enumerate().filter(|(number, lane)| {
            // The first lane of a name that has not been resolved represents it.
            let is_first = *number == 0 || self.lanes[number - 1].target != lane.target;
            match lane.addressing {
                Addressing::At(_) | Addressing::Unresolved(_) => true,
                Addressing::Pending => is_first,
                Addressing::Absent => false,
            }
        });
        lanes.map(|(_, lane)| lane.tally.summary(&lane.target, lane.address())).collect()
    }

    /// Names to resolve, by the number of their first lane.
    fn names(&self) -> Vec<Name> {
        let mut names = Vec::new();
        let mut number = 0;
        for target in &self.config.targets {
            if target.literal().is_none() {
                names.push(Name { number, host: target.host().to_owned(), port: target.port() });
            }
            number += lanes_of(target, self.config.families);
        }
        names
    }

    fn is_done(&self) -> bool {
        self.config.count.is_some_and(|count| self.lanes.iter().all(|lane| lane.is_done(count)))
    }

    /// Adopts the addresses of a name.
    fn adopt(&mut self, answer: Answer, begin: Instant, observe: &mut dyn FnMut(&Event<'_>)) {
        let first = answer.name;
        let (addresses, otherwise) = match answer.addresses {
            Ok(addresses) => (addresses, Addressing::Absent),
            Err(message) => (Vec::new(), Addressing::Unresolved(message)),
        };
        let (v4, v6): (Vec<SocketAddr>, Vec<SocketAddr>) = addresses.iter().partition(|address| address.is_ipv4());
        let groups = match self.config.families {
            // An unresolved name is probed, and fails, in one lane.
            Families::Both if addresses.is_empty() => vec![(v4, otherwise), (v6, Addressing::Absent)],
            Families::Both => vec![(v4, Addressing::Absent), (v6, Addressing::Absent)],
            Families::V4 | Families::V6 => vec![(addresses, otherwise)],
        };
        for (number, (addresses, otherwise)) in (first..).zip(groups) {
            let lane = &mut self.lanes[number];
            let from = lane.resolved(&addresses, otherwise);
            if let (Some(from), Some(to)) = (from, lane.address()) {
                observe(&Event::Moved { target: &lane.target, from, to });
            }
            self.schedule_first(number, begin, Instant::now());
        }
    }

    /// Schedules the first start of a lane that has become active, at its place in the interval.
    fn schedule_first(&mut self, number: usize, begin: Instant, now: Instant) {
        let lane = &self.lanes[number];
        let is_over = self.config.count.is_some_and(|count| lane.slots >= count);
        if !lane.is_active() || lane.due.is_some() || is_over {
            return;
        }
        let offset = self.interval.mul_f64(number as f64 / self.lanes.len() as f64);
        let mut due = begin + offset;
        if due < now {
            let behind = (now - due).as_secs_f64() / self.interval.as_secs_f64();
            due += self.interval.mul_f64(behind.ceil());
        }
        let lane = &mut self.lanes[number];
        lane.due = Some(due);
        self.timers.push(Reverse((due, Timer::Start { lane: number })));
    }

    /// Runs the timers that are due.
    fn run_timers(&mut self, observe: &mut dyn FnMut(&Event<'_>)) {
        let now = Instant::now();
        while let Some(&Reverse((due, timer))) = self.timers.peek()
            && due <= now
        {
            self.timers.pop();
            match timer {
                Timer::Start { lane } => self.start_due(lane, due, observe),
                Timer::Timeout { serial, key } => {
                    if self.connects.get(key).is_some_and(|connect| connect.serial == serial) {
                        self.time_out(key, observe);
                    }
                }
            }
        }
    }

    /// Starts the connect of a lane that was due at `due`, and schedules the next.
    fn start_due(&mut self, number: usize, due: Instant, observe: &mut dyn FnMut(&Event<'_>)) {
        let late = Instant::now().saturating_duration_since(due);
        let missed = (late.as_secs_f64() / self.interval.as_secs_f64()) as u64;
        let lane = &mut self.lanes[number];
        lane.due = None;
        // The name has lost its address.
        if !lane.is_active() {
            return;
        }
        let left = self.config.count.map_or(u64::MAX, |count| count.saturating_sub(lane.slots));
        let missed = missed.min(left.saturating_sub(1));
        let is_full = lane.under_way >= MAX_UNDER_WAY;
        let skipped = missed + u64::from(is_full);
        lane.slots += missed + 1;
        if skipped > 0 {
            lane.tally.skipped(skipped);
            observe(&Event::Skipped { target: &lane.target, address: lane.address(), count: skipped });
        }
        if left > missed + 1 {
            let next = due + self.interval.mul_f64((missed + 1) as f64);
            lane.due = Some(next);
            self.timers.push(Reverse((next, Timer::Start { lane: number })));
        }
        if !is_full {
            self.start(number, observe);
        }
    }

    fn start(&mut self, number: usize, observe: &mut dyn FnMut(&Event<'_>)) {
        let unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64());
        let (address, outcome, message) = match self.lanes[number].addressing.clone() {
            Addressing::At(address) => match socket::start(address) {
                Ok(connecting) => match self.watch(number, address, connecting, unix_s) {
                    Ok(()) => return,
                    Err(error) => (Some(address), Outcome::Error, error.desc().to_owned()),
                },
                Err(error) => (Some(address), socket::outcome(error), error.desc().to_owned()),
            },
            Addressing::Unresolved(message) => (None, Outcome::Unresolved, message),
            Addressing::Pending | Addressing::Absent => return,
        };
        let lane = &mut self.lanes[number];
        let failed = Connect { error: Some(message), ..connect(&lane.target, address, outcome, unix_s) };
        lane.tally.add(&failed);
        observe(&Event::Connect(&failed));
    }

    fn watch(
        &mut self,
        lane: usize,
        address: SocketAddr,
        connecting: socket::Connecting,
        unix_s: f64,
    ) -> Result<(), Errno> {
        let socket::Connecting { socket, started } = connecting;
        let info = tcp_info::of(&socket).ok().filter(|info| info.is_unanswered && info.retransmissions == 0);
        let serial = self.serial;
        self.serial += 1;
        let entry = self.connects.vacant_entry();
        let key = entry.key();
        self.epoll.add(&socket, EpollEvent::new(EpollFlags::EPOLLOUT, key as u64))?;
        let initial_rto = info.map(|info| info.rto);
        entry.insert(UnderWay { lane, serial, socket, address, started, unix_s, initial_rto });
        self.lanes[lane].under_way += 1;
        self.timers.push(Reverse((started + self.config.timeout, Timer::Timeout { serial, key })));
        Ok(())
    }

    /// Ends a connect that epoll has reported at `now`.
    fn complete(&mut self, key: usize, now: Instant, observe: &mut dyn FnMut(&Event<'_>)) {
        let Some(under_way) = self.connects.try_remove(key) else { return };
        let error = socket::error(&under_way.socket);
        let outcome = error.map_or(Outcome::Connected, socket::outcome);
        let message = error.filter(|_| outcome != Outcome::Connected).map(|error| error.desc().to_owned());
        self.end(under_way, now, outcome, message, observe);
    }

    /// Ends a connect whose timeout has expired, unless its answer has arrived in the meantime.
    fn time_out(&mut self, key: usize, observe: &mut dyn FnMut(&Event<'_>)) {
        let is_unanswered = |connect: &UnderWay| tcp_info::of(&connect.socket).is_ok_and(|info| info.is_unanswered);
        if self.connects.get(key).is_some_and(is_unanswered) {
            let under_way = self.connects.remove(key);
            self.end(under_way, Instant::now(), Outcome::TimedOut, None, observe);
        }
    }

    fn end(
        &mut self,
        under_way: UnderWay,
        now: Instant,
        outcome: Outcome,
        error: Option<String>,
        observe: &mut dyn FnMut(&Event<'_>),
    ) {
        let UnderWay { lane, address, started, unix_s, initial_rto, socket, .. } = under_way;
        let info = tcp_info::of(&socket);
        let read = Instant::now();
        drop(socket);
        let lane = &mut self.lanes[lane];
        lane.under_way -= 1;
        let took = now.saturating_duration_since(started);
        let retransmissions = info.as_ref().map_or(0, |info| info.retransmissions);
        let mut end = Connect {
            connect_s: took.as_secs_f64(),
            syns: retransmissions.saturating_add(1),
            error,
            ..connect(&lane.target, Some(address), outcome, unix_s)
        };
        match (outcome, info) {
            (Outcome::Connected, Ok(info)) => {
                let schedule = initial_rto.map_or(self.schedule, |initial| self.schedule.starting_with(initial));
                let recent = lane.recent.range();
                let answered = answered(started, now, read, &info);
                let found = judge(&info, answered, recent, &schedule);
                if info.retransmissions == 0 && !found.has_loss() && lane.address() == Some(address) {
                    lane.recent.add(answered);
                }
                end.rtt_s = info.rtt.map(|rtt| rtt.as_secs_f64());
                end.lost_syns = found.lost_syns;
                end.lost_synacks = found.lost_synacks;
                end.lost_unknown = found.lost_unknown;
                end.late = found.late;
            }
            (Outcome::TimedOut, _) => end.unanswered = end.syns,
            _ => {}
        }
        lane.tally.add(&end);
        observe(&Event::Connect(&end));
    }
}

/// Number of lanes of a target.
fn lanes_of(target: &Target, families: Families) -> usize {
    match (target.literal(), families) {
        (None, Families::Both) => 2,
        _ => 1,
    }
}

/// Connect about which nothing else is known.
fn connect(target: &str, address: Option<SocketAddr>, outcome: Outcome, unix_s: f64) -> Connect {
    Connect {
        version: VERSION,
        time: unix_s,
        target: target.to_owned(),
        address,
        outcome,
        connect_s: 0.0,
        rtt_s: None,
        syns: 0,
        lost_syns: 0,
        lost_synacks: 0,
        lost_unknown: 0,
        late: false,
        unanswered: 0,
        error: None,
    }
}

/// Time from the start to the arrival of the SYN/ACK, which epoll reported at `reported`. If this process was not
/// scheduled, the arrival was earlier: the kernel's numbers, read at `read`, have its age.
fn answered(started: Instant, reported: Instant, read: Instant, info: &TcpInfo) -> Duration {
    let since_report = read.saturating_duration_since(reported);
    let waited = info.since_answer.saturating_sub(TICK).saturating_sub(since_report);
    reported.saturating_duration_since(started).saturating_sub(waited)
}

fn judge(info: &TcpInfo, answered: Duration, recent: Option<recent::Recent>, schedule: &Schedule) -> Verdict {
    let handshake = Handshake { answered, retransmissions: info.retransmissions, age: info.rtt, recent };
    verdict(&handshake, schedule)
}

//! Live analysis of the packets of a device.

use crate::error::WatchError;
use crate::filter::{self, Samples};
use crate::limits::Limits;
use crate::listing::Listing;
use crate::ring::Ring;
use crate::sampling::Sampling;
use crate::summary::{Counts, Summary, VERSION};
use gentle_capture::RawPacket;
use gentle_host::{Finding, FindingKind, Host, Missing};
use gentle_packets::{BATCH, Clock, Device, Layer, PacketError, PacketSocket};
use gentle_trace::Options;
use gentle_trace::live::{Attempt, Live, Span, Window};
use gentle_units::{Instant, Nanos};
use gentle_wire::LinkType;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::SockaddrStorage;
use nix::sys::time::TimeSpec;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Size of the kernel's receive buffer, bytes.
const RECEIVE_BUFFER: usize = 32 << 20;
/// Longest time for which packets wait in the socket, and between checks of the stop flag.
const WAIT: Nanos = Nanos::from_millis(100);
/// Time for which packets gather in the socket before they are received together: a wake-up takes longer than a packet. In this time,
/// 10 Gb/s bring 3 MB.
const GATHER: Duration = Duration::from_millis(2);
/// Age of the newest packet received from which the analysis is too slow.
const BEHIND: Nanos = Nanos::from_secs(1);
/// Batches of packets after which attempts are decided at the latest.
const BATCHES: usize = 64;
/// Interval of [`Observer::minute`].
const MINUTE: u64 = 60;
/// Interval at which the window of the last hour is summed up and the host's counters are read, seconds.
const HOUR_STEP: u64 = 10;

/// Settings of a [`Watch`].
#[derive(Debug, Clone)]
pub struct Config {
    /// Name of the device; `None`: all devices.
    pub device: Option<String>,
    /// Packets to analyse, memory limit, position of the capture point.
    pub options: Options,
    /// Folder for the packets around slow and failed attempts, and the size of all files there, bytes.
    pub ring: Option<(PathBuf, u64)>,
    /// Length of the lists in windows.
    pub top: usize,
    /// Interval of summaries.
    pub interval: Nanos,
}

/// Receiver of what a watch finds. Its calls delay the analysis.
pub trait Observer {
    /// Called for each decided attempt. `is_listed`: whether it is slow, or failed and not one of too many.
    fn attempt(&mut self, attempt: &Attempt, is_listed: bool);
    /// Called at each interval.
    fn summary(&mut self, summary: Summary);
    /// Called every second.
    fn counts(&mut self, counts: &Counts);
    /// Called at the end of each minute with the attempts decided in it.
    fn minute(&mut self, minute: Window);
    /// Called for each counter of the host that has increased, or is at its limit: at the start, every 10 s, and at the end.
    /// `repeats`: it is a limit that the previous reading found in the same words.
    fn host(&mut self, finding: Finding, repeats: bool);
    /// Called for each limit of the previous reading that is no longer reached.
    fn limit_ended(&mut self, limit: Finding);
    /// Called when something happens to the watch itself, with a sentence.
    fn note(&mut self, sentence: String);
    /// Comment in captures on an attempt.
    fn comment(&self, attempt: &Attempt) -> String;
}

/// Live analysis of the packets of a device.
pub struct Watch {
    config: Config,
    /// `None` while the device is gone.
    socket: Option<PacketSocket>,
    /// Packets that earlier sockets missed.
    missed_before: u64,
    clock: Clock,
    /// Time of the newest packet so far; at first, of the start.
    newest: Instant,
    live: Live,
    sampling: Sampling,
    /// Whether the last reception ended with packets left in the socket.
    has_more: bool,
    /// Samples of the filter in use.
    samples: Samples,
    /// Missed packets and lost attempts at the last look.
    lost: u64,
    /// Time from which the packets received have passed the present filter for a second.
    settled: Instant,
    ring: Option<Ring>,
    host: Host,
    /// Findings of the first reading, which is the baseline of later ones.
    baseline: Vec<Finding>,
    limits: Limits,
    listing: Listing,
    hour: Window,
    /// Seconds since the start.
    second: u64,
    next_summary: Instant,
}

impl Watch {
    /// Opens the packet socket, and the folder for captures.
    ///
    /// # Errors
    /// There is no such device, the process lacks CAP_NET_RAW, or the folder cannot be written to.
    pub fn open(config: Config) -> Result<Watch, WatchError> {
        let socket = open(&config, Samples::default())?;
        let ring = config.ring.as_ref().map(|(folder, size)| {
            Ring::open(folder, *size).map_err(|source| WatchError::Ring { path: folder.clone(), source })
        });
        let clock = Clock::start();
        let now = clock.started();
        let live = Live::new(&config.options, now);
        let mut host = Host::open();
        Ok(Watch {
            next_summary: now + config.interval,
            config,
            socket: Some(socket),
            missed_before: 0,
            newest: now,
            clock,
            live,
            sampling: Sampling::default(),
            has_more: false,
            samples: Samples::default(),
            lost: 0,
            settled: now,
            ring: ring.transpose()?,
            baseline: host.read(),
            limits: Limits::default(),
            listing: Listing::default(),
            host,
            hour: Window::default(),
            second: 0,
        })
    }

    /// Counters of the host that cannot be read here.
    pub fn missing(&self) -> &[Missing] {
        self.host.missing()
    }

    /// Watches until `stop` is set. While the device is gone, the watch waits for its return.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn run(&mut self, stop: &AtomicBool, observer: &mut dyn Observer) -> Result<(), WatchError> {
        let baseline = std::mem::take(&mut self.baseline);
        self.tell(baseline, observer);
        while !stop.load(Ordering::Relaxed) {
            self.wait()?;
            let now = self.receive(observer)?;
            self.advance(now, observer);
        }
        self.read_host(observer);
        observer.summary(self.summary());
        Ok(())
    }

    fn read_host(&mut self, observer: &mut dyn Observer) {
        let findings = self.host.read();
        for finding in &findings {
            if let (FindingKind::ListenQueueOverflow, Ok(socket)) = (finding.kind, finding.place.parse()) {
                addresses_of(socket).for_each(|socket| self.live.listen_queue_overflowed(socket));
            }
        }
        self.tell(findings, observer);
    }

    /// Passes the findings of a reading on.
    fn tell(&mut self, findings: Vec<Finding>, observer: &mut dyn Observer) {
        let (findings, ended) = self.limits.update(findings);
        findings.into_iter().for_each(|(finding, repeats)| observer.host(finding, repeats));
        ended.into_iter().for_each(|limit| observer.limit_ended(limit));
    }

    /// Waits for packets, at most until the next check.
    fn wait(&self) -> Result<(), WatchError> {
        if self.has_more {
            return Ok(());
        }
        let mut sources: Vec<PollFd<'_>> =
            self.socket.iter().map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN)).collect();
        let timeout = TimeSpec::from(Duration::from_nanos(WAIT.0));
        match ppoll(&mut sources, Some(timeout), None) {
            Ok(0) | Err(nix::Error::EINTR) => Ok(()),
            Ok(_) => {
                // Without CAP_NET_ADMIN, the buffer may be too small.
                let has_room = |socket: &PacketSocket| socket.receive_buffer().is_ok_and(|size| size >= RECEIVE_BUFFER);
                if self.socket.as_ref().is_some_and(has_room) {
                    std::thread::sleep(GATHER);
                }
                Ok(())
            }
            Err(error) => Err(WatchError::Wait(error.into())),
        }
    }

    /// Receives packets that have passed by now, up to a number of batches. Returns the time up to which all packets have been
    /// received: an attempt must not be decided while its next packet waits in the socket.
    fn receive(&mut self, observer: &mut dyn Observer) -> Result<Instant, WatchError> {
        let begin = self.clock.now();
        self.has_more = true;
        for _ in 0..BATCHES {
            if self.receive_batch(observer)? < BATCH {
                self.has_more = false;
                return Ok(self.newest.max(begin));
            }
        }
        Ok(self.newest)
    }

    fn receive_batch(&mut self, observer: &mut dyn Observer) -> Result<usize, WatchError> {
        let Some(socket) = &mut self.socket else {
            return Ok(0);
        };
        let (clock, live, sampling, ring) = (&mut self.clock, &mut self.live, &mut self.sampling, &mut self.ring);
        let (mut comparison, newest) = (None, &mut self.newest);
        let mut over = Vec::new();
        let count = socket.receive(|received| {
            // Read when all packets of the batch are there, so that none is later.
            let comparison = comparison.get_or_insert_with(|| clock.compare());
            let packet = RawPacket {
                time: comparison.passed(received.time).0,
                interface: received.interface,
                link: LinkType::RAW,
                original_len: received.original_len,
                data: received.bytes,
            };
            *newest = packet.time.max(*newest);
            sampling.count(packet.data);
            if received.after_loss {
                live.missed_before(packet.time);
            }
            if let Some(ring) = ring {
                ring.packet(&packet);
            }
            live.packet(&packet, &mut |attempt| over.push(attempt.clone()));
        })?;
        let now = self.clock.now();
        self.decided(now, over, observer);
        Ok(count)
    }

    /// Decides attempts, and reports what is due.
    fn advance(&mut self, now: Instant, observer: &mut dyn Observer) {
        let mut over = Vec::new();
        self.live.advance(now, &mut |attempt| over.push(attempt.clone()));
        self.decided(now, over, observer);
        let second = now.saturating_since(self.clock.started()).as_secs_f64() as u64;
        if second > self.second {
            let passed = second - self.second;
            let minutes = [self.second, second].map(|second| second / MINUTE);
            let steps = [self.second, second].map(|second| second / HOUR_STEP);
            self.second = second;
            self.every_second(now, passed, observer);
            observer.counts(&self.counts());
            if minutes[0] != minutes[1] {
                observer.minute(self.live.minute(self.config.top));
            }
            if steps[0] != steps[1] {
                self.read_host(observer);
            }
            if steps[0] != steps[1] || second < HOUR_STEP {
                self.hour = self.live.window(Span::Hour, self.config.top);
            }
        }
        if now >= self.next_summary {
            self.next_summary = now + self.config.interval;
            observer.summary(self.summary());
        }
    }

    fn decided(&mut self, now: Instant, attempts: Vec<Attempt>, observer: &mut dyn Observer) {
        if attempts.is_empty() {
            return;
        }
        let lead = self.clock.lead();
        for mut attempt in attempts {
            let is_listed = self.listing.lists(now, &attempt);
            if let Some(ring) = &mut self.ring {
                ring.decided(&attempt);
                if is_listed && let Err(error) = ring.write(now, lead, &attempt, &observer.comment(&attempt)) {
                    observer.note(format!("packets of slow attempts are not kept for 10 s: {error}"));
                }
            }
            attempt.time += lead.as_secs_f64();
            observer.attempt(&attempt, is_listed);
        }
    }

    fn every_second(&mut self, now: Instant, passed: u64, observer: &mut dyn Observer) {
        self.adjust_samples(now, passed, observer);
        let device = self.config.device.as_deref().unwrap_or_default();
        match &self.socket {
            Some(socket) if socket.is_removed() => {
                self.missed_before += socket.missed();
                self.socket = None;
                observer.note(format!("{device} is gone; waiting for its return"));
            }
            Some(_) => {}
            None => match open(&self.config, self.samples) {
                Ok(socket) => {
                    self.socket = Some(socket);
                    observer.note(format!("{device} is back"));
                }
                Err(PacketError::NoInterface(_)) => {}
                Err(error) => observer.note(error.to_string()),
            },
        }
    }

    /// Adjusts the samples to the packets of the last `passed` seconds before `now`.
    fn adjust_samples(&mut self, now: Instant, passed: u64, observer: &mut dyn Observer) {
        let lost = self.missed() + self.live.lost();
        let is_behind = self.clock.now().saturating_since(now) > BEHIND;
        let pressure = std::mem::replace(&mut self.lost, lost) < lost || is_behind;
        if now < self.settled {
            self.sampling.forget();
            return;
        }
        if !self.sampling.adjust(passed as f64, pressure) {
            return;
        }
        let samples = self.sampling.samples();
        let set = self.socket.as_ref().map_or(Ok(()), |socket| socket.set_filter(&filter::program(samples)));
        if let Err(error) = set {
            observer.note(format!("the filter stays as it is: {error}"));
            return;
        }
        let present = self.clock.now();
        self.settled = present + Nanos::from_secs(1);
        // Of connections that a larger sample adds, earlier packets were not received.
        if samples.handshakes < self.samples.handshakes {
            self.live.missed_before(present);
        }
        self.samples = samples;
        let sees = |sample| move |addresses, ports| filter::is_sampled(addresses, ports, sample);
        self.live.sees_all_of(sees(samples.data));
        self.live.sees_handshakes_of(sees(samples.handshakes));
    }

    /// Packets that the kernel dropped because they came faster than they were analysed.
    fn missed(&self) -> u64 {
        self.missed_before + self.socket.as_ref().map_or(0, PacketSocket::missed)
    }

    fn counts(&self) -> Counts {
        let share = |sample: u8| 1.0 / f64::from(1_u32 << sample);
        let Samples { handshakes, data } = self.samples;
        Counts {
            packets: self.live.packets(),
            missed: self.missed(),
            sample: share(data),
            handshake_sample: share(handshakes),
            connections: self.live.connections() as u64,
            forgotten: self.live.forgotten(),
            left_out: self.live.left_out(),
            unlisted: self.listing.unlisted(),
        }
    }

    fn summary(&self) -> Summary {
        let window = |span| self.live.window(span, self.config.top);
        let now = self.clock.now();
        Summary {
            version: VERSION,
            time: self.clock.lead().unix(now).since_origin().as_secs_f64(),
            device: self.config.device.clone().unwrap_or_else(|| "any".to_owned()),
            up_s: now.saturating_since(self.clock.started()).as_secs_f64(),
            seconds: window(Span::Seconds),
            minute: window(Span::Minute),
            hour: self.hour.clone(),
            counts: self.counts(),
        }
    }
}

/// Addresses at which a listening socket of this host is reached.
fn addresses_of(socket: SocketAddr) -> impl Iterator<Item = SocketAddr> {
    let is_any = socket.ip().is_unspecified();
    let interfaces = is_any.then(|| nix::ifaddrs::getifaddrs().ok()).flatten().into_iter().flatten();
    let of_interface = |address: &SockaddrStorage| {
        let v4 = address.as_sockaddr_in().map(|it| IpAddr::from(it.ip()));
        v4.or_else(|| Some(IpAddr::from(address.as_sockaddr_in6()?.ip())))
    };
    let addresses = interfaces.filter_map(move |interface| of_interface(&interface.address?));
    addresses.chain((!is_any).then_some(socket.ip())).map(move |address| SocketAddr::new(address, socket.port()))
}

fn open(config: &Config, samples: Samples) -> Result<PacketSocket, PacketError> {
    let device = config.device.as_deref().map_or(Device::Any, Device::Named);
    PacketSocket::open(device, Layer::Network, RECEIVE_BUFFER, |_| filter::program(samples))
}

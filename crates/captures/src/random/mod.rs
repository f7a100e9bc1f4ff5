//! Captures of connections at random, with a given number of packets and connections and given losses, and the ground
//! truth about each capture: for benchmarks and tests.
//!
//! Without a queue there is no congestion: packets are lost only as the options ask.

mod flood;
mod options;
mod path;
mod sizes;
mod truth;

pub use flood::generate_flood;
pub use options::Options;
pub use truth::{Copies, Seen, Truth};

use crate::connection::{self, Answer, CLIENT, Course, Loss, PathPart, Peer, SERVER};
use crate::event_loop::EventLoop;
use crate::file::Capture;
use crate::network::{Faults, Packet, Paths, Place, Watch};
use anyhow::{Context, Result};
use clap::Parser;
use gentle_tcp::{Profile, Segment, Seq};
use gentle_units::{Instant, Nanos};
use path::Hosts;
use rand::RngExt;
use rand_distr::{Distribution, Exp1};
use sizes::Sizes;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

/// Size of the client's request for data: one small segment, bytes.
const REQUEST_BYTES: u32 = 300;

/// Stacks of the hosts with their shares, percent.
const STACKS: [(&str, u32); 3] = [("linux-7.2", 80), ("linux-3.16", 12), ("freebsd-9.3", 8)];

/// Rates of the connections' slowest links, bits per second; drawn uniformly on a logarithmic scale.
const RATES: std::ops::Range<f64> = 5e6..1e9;

/// Extra delay of late packets, seconds: more than 1 s, the initial RTO of most stacks.
const LATE: std::ops::Range<f64> = 1.1..2.2;

/// Spacing of events for which the queue is made. The near future that it then keeps out of its heap, 134 ms, has
/// nearly all arrivals of packets.
const SPACING: Nanos = Nanos::from_micros(33);

const BUFFER: usize = 1 << 20;

type Output = BufWriter<Box<dyn Write>>;

/// Connection, with what passed the vantage point of it.
pub type Connection = connection::Connection<Seen>;

/// Creates the file of the options.
fn create(options: &Options) -> Result<Capture<Output>> {
    let path = &options.output;
    let output: Box<dyn Write> = if path.as_os_str() == "-" {
        Box::new(io::stdout())
    } else {
        Box::new(File::create(path).with_context(|| format!("cannot write {}", path.display()))?)
    };
    let output = BufWriter::with_capacity(BUFFER, output);
    Ok(Capture::new(output, options.format, options.snaplen, options.vlan)?)
}

/// Writes the capture of the options, and calls `over` with every finished connection. Memory follows the connections
/// alive.
///
/// # Errors
/// If the options have more packets than the connections can have, or fewer; if the file cannot be written.
pub fn generate(options: &Options, over: &mut dyn FnMut(&Connection)) -> Result<Truth> {
    let capture = create(options)?;
    let traffic = Traffic::new(options)?;
    let watch = Vantage { capture, over, truth: Truth::default() };
    run(options, traffic, watch).context("the capture could not be written")
}

/// [`generate`] into the file at `path`, with options of the command line.
///
/// # Errors
/// The errors of [`generate`], and options that do not exist.
pub fn generate_with(path: &Path, options: &[&str], over: &mut dyn FnMut(&Connection)) -> Result<Truth> {
    let output = [Path::new("generate"), Path::new("--output"), path].map(Path::as_os_str);
    let options = output.into_iter().chain(options.iter().map(AsRef::as_ref));
    generate(&Options::try_parse_from(options)?, over)
}

fn run(options: &Options, mut traffic: Traffic<'_>, watch: Vantage<'_>) -> io::Result<Truth> {
    let faults = Faults {
        vantage: options.vantage,
        reorder: options.reorder,
        copied: options.capture_duplicates,
        copied_after: match options.copy_delay {
            Some(Nanos(delay)) => delay / 20 * 19..=delay / 20 * 21,
            None => 1_000..=50_000,
        },
    };
    let mut events = EventLoop::new(Paths::new(watch, faults, options.seed), SPACING);
    let gap = options.span.as_secs_f64() / options.connections as f64;
    let mut arrival = Instant::ZERO;
    for _ in 0..options.connections {
        while events.next_at() < arrival {
            events.step(Instant::NEVER)?;
        }
        events.advance_to(arrival);
        events.open(|paths, now, out| traffic.open(paths, now, out))?;
        let pause: f64 = Exp1.sample(&mut events.network_mut().rng);
        arrival += Nanos::from_secs_f64(gap * pause);
    }
    while events.step(Instant::NEVER)? {}
    // One end may wait forever for the other, which has given up.
    let watch = events.finish().watch;
    watch.capture.into_inner().flush()?;
    Ok(watch.truth)
}

/// The capture, and the truth about it.
struct Vantage<'a> {
    capture: Capture<Output>,
    /// Callback for each connection that is over.
    over: &'a mut dyn FnMut(&Connection),
    truth: Truth,
}

impl Watch for Vantage<'_> {
    type Notes = Seen;

    /// A server whose SYN/ACK was lost sends it again when its timer is due, though a SYN may arrive just then.
    const PACKETS_FIRST: bool = false;

    fn pass(&mut self, now: Instant, at: Place, packet: &Packet, connection: &mut Connection) -> io::Result<()> {
        let from_server = packet.from == SERVER;
        if at != Place::Middle || from_server && !packet.undelivered && connection.course.one_sided {
            return Ok(());
        }
        if packet.undelivered {
            self.truth.packets += 1;
        } else {
            let isn = connection.peer(packet.from).isn;
            connection.notes.pass(&packet.segment, from_server, isn, packet.copy, &mut self.truth);
        }
        self.capture.packet(now, packet, connection.hosts())
    }

    fn over(&mut self, connection: &Connection) {
        connection.notes.conclude(&mut self.truth);
        (self.over)(connection);
    }
}

/// Connections at random.
struct Traffic<'a> {
    options: &'a Options,
    stacks: Vec<(Arc<Profile>, u32)>,
    hosts: Hosts,
    sizes: Sizes,
}

impl Traffic<'_> {
    fn new(options: &Options) -> Result<Traffic<'_>> {
        let stack = |(name, share)| Ok((Arc::new(Profile::by_name(name)?), share));
        Ok(Traffic {
            options,
            stacks: STACKS.into_iter().map(stack).collect::<Result<_>>()?,
            hosts: Hosts::new(options),
            sizes: Sizes::new(options.seed, options.connections, options.packets)?,
        })
    }

    /// Draws a connection; its first SYN goes into `out`.
    fn open(&mut self, paths: &mut Paths<Vantage<'_>>, now: Instant, out: &mut Vec<Segment>) -> Box<Connection> {
        let options = self.options;
        let hosts = self.hosts.draw(paths.watch.truth.connections, &mut paths.rng);
        paths.watch.truth.connections += 1;
        let without = paths.chance(options.no_timestamps);
        let peers = hosts.map(|host| {
            let mut profile = self.draw_stack(paths.rng.random_range(0..100));
            if without {
                Arc::make_mut(&mut profile).timestamps = false;
            }
            let (isn, ip_id) = (Seq(paths.rng.random()), paths.rng.random());
            Peer::new(host, profile, isn, ip_id)
        });
        let answer = if paths.chance(options.unanswered) {
            Answer::None
        } else if paths.chance(options.refused) {
            Answer::Refuse
        } else if paths.chance(options.rejected) {
            Answer::Reject
        } else {
            Answer::Accept
        };
        let accepted = answer == Answer::Accept;
        let blackholed = accepted && paths.chance(options.blackholed);
        let captured = accepted && !blackholed;
        let loss =
            Loss { syn: options.syn_loss, synack: options.synack_loss, data: options.data_loss, ack: options.ack_loss };
        let mut course = Course {
            answer,
            request: REQUEST_BYTES,
            bytes: self.sizes.next(),
            upload: paths.chance(options.uploads),
            abort: paths.chance(options.aborted),
            loss: [loss; 2],
            blackholed: blackholed.then(|| draw_path_part(paths)),
            late: (captured && paths.chance(options.late)).then(|| {
                let part = draw_path_part(paths);
                let longer = paths.rng.random_range(LATE);
                (part, Nanos::from_secs_f64(longer))
            }),
            one_sided: captured && paths.chance(options.one_sided),
            ..Course::default()
        };
        let logarithm = libm::log(RATES.start)..libm::log(RATES.end);
        let rate = libm::exp(paths.rng.random_range(logarithm));
        course.picos_per_byte = (8e12 / rate) as u64;
        Connection::open(peers, course, Seen::default(), now, out)
    }

    /// Stack of a host, given a number below 100.
    fn draw_stack(&self, mut number: u32) -> Arc<Profile> {
        for (profile, share) in &self.stacks {
            if number < *share {
                return Arc::clone(profile);
            }
            number -= share;
        }
        unreachable!("the shares make 100 percent")
    }
}

/// Draws a side and a part of the path for a fault, so that the fault never hides the whole connection from the
/// capture.
fn draw_path_part(paths: &mut Paths<Vantage<'_>>) -> PathPart {
    let from = if paths.rng.random() { CLIENT } else { SERVER };
    PathPart { from, before: from == SERVER && paths.is_before(from) }
}

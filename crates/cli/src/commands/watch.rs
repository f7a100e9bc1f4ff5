//! The command `gentle watch`.

mod text;
mod view;

use super::metrics_endpoint;
use crate::args::WatchArgs;
use crate::interrupt;
use crate::names;
use crate::output::{note, print_while_read, warn};
use anyhow::Context;
use gentle_host::Finding;
use gentle_packets::default_route_interface;
use gentle_trace::live::{Attempt, Window};
use gentle_trace::{Options, Selection};
use gentle_units::Nanos;
use gentle_units::foreign::visible_json;
use gentle_units::text::plural;
use gentle_watch::{Config, Counts, Metrics, Observer, Summary, Watch, WatchError, WatchLine};
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use view::{Action, Screen, View};

/// Name that stands for all devices.
const ANY: &str = "any";
/// Maximum number of messages that wait for standard output; further ones are dropped and counted.
const WAITING: usize = 4096;
/// Interval of summaries for the view and for metrics.
const SECOND: Nanos = Nanos::from_secs(1);
/// Longest time between two pictures of the view.
const PICTURE: Duration = Duration::from_millis(250);

/// Message of the watching thread to the thread that prints.
enum Message {
    Attempt(Attempt),
    /// Finding, and whether it repeats the previous reading.
    Host(Finding, bool),
    LimitEnded(Finding),
    Summary(Box<Summary>),
    Note(String),
}

pub(crate) fn run(args: &WatchArgs) -> anyhow::Result<ExitCode> {
    let lines = args.plain || args.json || !io::stdout().is_terminal();
    let watch = Watch::open(config(args, lines)?)?;
    for missing in watch.missing() {
        note(&format!("{}; {}", missing.sentence, missing.remedy));
    }
    let metrics = Arc::new(Metrics::new());
    if let Some(address) = args.listen {
        let served = Arc::clone(&metrics);
        metrics_endpoint::serve(address, move || served.text())?;
        // A failure of standard error cannot be reported.
        let _ = writeln!(io::stderr().lock(), "gentle watch: metrics at http://{address}/metrics");
    }
    let stop = interrupt::flag()?;
    let (messages, waiting) = sync_channel(WAITING);
    let sender = Sender { messages, metrics, dropped: Arc::default() };
    let dropped = Arc::clone(&sender.dropped);
    let watching = start(watch, sender, &stop)?;
    let shown = match lines {
        true => print_lines(args, &waiting, &stop),
        false => show(&waiting, &stop),
    };
    stop.store(true, Ordering::Relaxed);
    let ended = match watching.join() {
        Ok(ended) => ended,
        Err(panic) => std::panic::resume_unwind(panic),
    };
    shown?;
    ended?;
    let dropped = dropped.load(Ordering::Relaxed);
    if dropped > 0 {
        let lines = plural(dropped, "line was", "lines were");
        warn(&format!("the output is incomplete: {lines} dropped because its reader was too slow"));
    }
    Ok(ExitCode::SUCCESS)
}

fn config(args: &WatchArgs, lines: bool) -> anyhow::Result<Config> {
    let device = match args.interface.as_deref() {
        Some(ANY) => None,
        Some(name) => Some(name.to_owned()),
        None => Some(default_route_interface()?),
    };
    let options = Options {
        selection: Selection { hosts: args.hosts.clone(), ports: args.ports.clone(), ..Selection::default() },
        memory_limit: args.memory_limit,
        vantage: args.vantage,
        names: names::read(&args.names.files)?,
        ..Options::default()
    };
    Ok(Config {
        device,
        options,
        ring: args.ring.clone().map(|folder| (folder, args.ring_size)),
        top: args.top.into(),
        interval: if lines { args.interval } else { SECOND },
    })
}

fn start(
    mut watch: Watch,
    mut sender: Sender,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<JoinHandle<Result<(), WatchError>>> {
    let stopped = Arc::clone(stop);
    let watching = thread::Builder::new().name("watch".to_owned());
    watching.spawn(move || watch.run(&stopped, &mut sender)).context("a thread for the packets")
}

/// Passes what a watch finds to the thread that prints, without waiting for it.
struct Sender {
    messages: SyncSender<Message>,
    metrics: Arc<Metrics>,
    /// Number of messages dropped because the reader was too slow.
    dropped: Arc<AtomicU64>,
}

impl Sender {
    fn send(&self, message: Message) {
        if self.messages.try_send(message).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Observer for Sender {
    fn attempt(&mut self, attempt: &Attempt, is_listed: bool) {
        self.metrics.attempt(attempt);
        if is_listed {
            self.send(Message::Attempt(attempt.clone()));
        }
    }

    fn summary(&mut self, summary: Summary) {
        self.send(Message::Summary(Box::new(summary)));
    }

    fn counts(&mut self, counts: &Counts) {
        self.metrics.counts(counts);
    }

    fn minute(&mut self, minute: Window) {
        self.metrics.minute(&minute);
    }

    fn host(&mut self, finding: Finding, repeats: bool) {
        self.metrics.host(&finding);
        self.send(Message::Host(finding, repeats));
    }

    fn limit_ended(&mut self, limit: Finding) {
        self.send(Message::LimitEnded(limit));
    }

    fn note(&mut self, sentence: String) {
        self.send(Message::Note(sentence));
    }

    fn comment(&self, attempt: &Attempt) -> String {
        format!("gentle watch: {}", text::fate(attempt))
    }
}

/// Prints a line for each message until the watch ends or nobody reads.
fn print_lines(args: &WatchArgs, waiting: &Receiver<Message>, stop: &AtomicBool) -> anyhow::Result<()> {
    for message in waiting {
        let line = match (message, args.json) {
            (Message::Note(sentence), _) => {
                note(&sentence);
                continue;
            }
            (Message::Attempt(attempt), true) => as_json(&WatchLine::Attempt(attempt))?,
            (Message::Host(finding, _), true) => as_json(&WatchLine::Host(finding))?,
            // A reading without the limit shows its end.
            (Message::LimitEnded(_), true) | (Message::Host(_, true), false) => continue,
            (Message::Summary(mut summary), true) => {
                text::describe(&mut summary);
                as_json(&WatchLine::Summary(summary))?
            }
            (Message::Attempt(attempt), false) => text::attempt(&attempt),
            (Message::Host(finding, false), false) => text::host(unix_now(), &finding),
            (Message::LimitEnded(limit), false) => text::limit_ended(unix_now(), &limit),
            (Message::Summary(summary), false) => text::summary(&summary, args.interval),
        };
        if !print_while_read(&line)? {
            stop.store(true, Ordering::Relaxed);
            break;
        }
    }
    Ok(())
}

/// Unix time, seconds.
fn unix_now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

fn as_json(line: &WatchLine) -> anyhow::Result<String> {
    Ok(visible_json(&serde_json::to_string(line)?) + "\n")
}

/// Shows the terminal view until the user quits or the watch ends.
fn show(waiting: &Receiver<Message>, stop: &AtomicBool) -> anyhow::Result<()> {
    let mut view = View::new();
    let mut screen = Screen::open().context("the terminal")?;
    let mut drawn: Option<Instant> = None;
    while !stop.load(Ordering::Relaxed) {
        loop {
            match waiting.try_recv() {
                Ok(Message::Attempt(attempt)) => view.attempt(attempt),
                Ok(Message::Summary(summary)) => view.summary(*summary),
                Ok(Message::Note(sentence)) => view.note(sentence),
                Ok(Message::Host(finding, repeats)) if repeats || finding.kind.is_effect() => {}
                Ok(Message::Host(finding, _)) => view.note(finding.sentence),
                Ok(Message::LimitEnded(limit)) => view.note(limit.over().unwrap_or_default()),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Ok(()),
            }
        }
        if drawn.is_none_or(|drawn| drawn.elapsed() >= PICTURE) {
            screen.draw(&view).context("the terminal")?;
            drawn = Some(Instant::now());
        }
        if let Some(key) = screen.poll_key(PICTURE).context("the terminal")? {
            if let Action::Quit = view.key(key) {
                return Ok(());
            }
            drawn = None;
        }
    }
    Ok(())
}

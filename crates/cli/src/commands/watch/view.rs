//! Terminal view of `gentle watch`: the answer in a sentence, numbers of three windows, causes with remedies, the servers
//! concerned, and the latest slow and failed attempts.

mod canvas;
mod layout;
mod lists;
mod overlay;
mod overview;
mod screen;
#[cfg(test)]
mod tests;
mod words;

pub(super) use screen::Screen;

use super::text::describe;
use crate::output::Terminal;
use canvas::Look;
use gentle_trace::live::{Attempt, Span, Window};
use gentle_trace::results::CauseKind;
use gentle_units::foreign::plain;
use gentle_watch::Summary;
use jiff::tz::TimeZone;
use ratatui_core::terminal::Frame;
use ratatui_crossterm::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::collections::VecDeque;

/// Maximum number of entries in the log.
const LOG: usize = 500;

/// Maximum number of summaries in the sparklines: ten minutes.
const HISTORY: usize = 600;

/// Maximum number of notes that stay above the windows.
const NOTES: usize = 3;

/// Entries by which a key moves the log.
const PAGE: usize = 10;

/// Request of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    None,
    Quit,
}

/// List that is shown below the causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum List {
    Servers,
    Prefixes,
    Ports,
}

/// Page on top of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Overlay {
    Help,
    /// Explanation of the selected cause, for terminals that have no space for it.
    Cause,
}

/// Entry of the log.
#[derive(Debug, Clone)]
enum Entry {
    Attempt(Attempt),
    /// Message with the Unix time of the summary before it.
    Note(f64, String),
}

/// Numbers of a summary that later ones are compared with, and the columns of the sparklines.
#[derive(Debug, Clone, Copy)]
struct Moment {
    up_s: f64,
    packets: u64,
    missed: u64,
    forgotten: u64,
    /// Attempts per second over the last 10 s.
    attempts: f64,
    /// Slow and failed attempts per second over the last 10 s.
    slow_or_failed: f64,
}

/// Summaries, attempts and notes received so far.
#[derive(Debug, Clone, Default)]
struct Received {
    summary: Option<Summary>,
    /// Oldest first.
    history: VecDeque<Moment>,
    /// Latest first.
    log: VecDeque<Entry>,
    /// Latest first, with the time from the start to the summary before each: many attempts would push them out of the log.
    notes: VecDeque<(f64, String)>,
}

/// State of the view.
pub(super) struct View {
    look: Look,
    received: Received,
    /// Copy of what was received before the view was paused, which is shown until it resumes.
    paused: Option<Box<Received>>,
    span: Span,
    list: List,
    /// Selected cause; the first without one.
    cause: Option<CauseKind>,
    /// Entries of the log that are scrolled out at its top.
    scrolled: usize,
    overlay: Option<Overlay>,
}

impl View {
    /// View with colours, characters and the time zone as the environment requires.
    pub(super) fn new() -> View {
        let is_linux_console = std::env::var_os("TERM").is_some_and(|term| term == "linux");
        View::with(Look { color: Terminal::of_stdout().color, ascii: is_linux_console, zone: TimeZone::system() })
    }

    fn with(look: Look) -> View {
        View {
            look,
            received: Received::default(),
            paused: None,
            span: Span::Minute,
            list: List::Servers,
            cause: None,
            scrolled: 0,
            overlay: None,
        }
    }

    /// Receives the summary of an interval.
    pub(super) fn summary(&mut self, mut summary: Summary) {
        describe(&mut summary);
        let window = &summary.seconds;
        let rate = |number: u64| if window.seconds > 0.0 { number as f64 / window.seconds } else { 0.0 };
        self.received.history.push_back(Moment {
            up_s: summary.up_s,
            packets: summary.counts.packets,
            missed: summary.counts.missed,
            forgotten: summary.counts.forgotten,
            attempts: rate(window.attempts),
            slow_or_failed: rate(window.slow.saturating_add(window.failed)),
        });
        if self.received.history.len() > HISTORY {
            self.received.history.pop_front();
        }
        // Notes before the first summary have no time yet.
        if self.received.summary.is_none() {
            let logged = self.received.log.iter_mut().filter_map(|entry| match entry {
                Entry::Note(time, _) => Some(time),
                Entry::Attempt(_) => None,
            });
            logged.for_each(|time| *time = summary.time);
            self.received.notes.iter_mut().for_each(|(up_s, _)| *up_s = summary.up_s);
        }
        self.received.summary = Some(summary);
    }

    /// Receives a slow or failed attempt.
    pub(super) fn attempt(&mut self, attempt: Attempt) {
        self.log(Entry::Attempt(attempt));
    }

    /// Receives a sentence about the host or the device.
    pub(super) fn note(&mut self, sentence: String) {
        let (time, up_s) = self.received.summary.as_ref().map_or((0.0, 0.0), |summary| (summary.time, summary.up_s));
        let sentence = plain(&sentence);
        self.received.notes.push_front((up_s, sentence.clone()));
        self.received.notes.truncate(NOTES);
        self.log(Entry::Note(time, sentence));
    }

    fn log(&mut self, entry: Entry) {
        self.received.log.push_front(entry);
        self.received.log.truncate(LOG);
        // A log that was scrolled back keeps its place.
        if self.scrolled > 0 && self.paused.is_none() {
            self.scrolled = (self.scrolled + 1).min(LOG);
        }
    }

    /// Handles a key.
    pub(super) fn key(&mut self, key: KeyEvent) -> Action {
        if key.kind == KeyEventKind::Release {
            return Action::None;
        }
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if is_control => return Action::Quit,
            KeyCode::Char(_) if is_control => {}
            KeyCode::Esc if self.overlay.is_some() => self.overlay = None,
            KeyCode::Char('q') | KeyCode::Esc => return Action::Quit,
            KeyCode::Char('1') => self.span = Span::Seconds,
            KeyCode::Char('2') => self.span = Span::Minute,
            KeyCode::Char('3') => self.span = Span::Hour,
            KeyCode::Tab => self.list = self.list.next(),
            KeyCode::BackTab => self.list = self.list.next().next(),
            KeyCode::Up | KeyCode::Char('k') => self.select(false),
            KeyCode::Down | KeyCode::Char('j') => self.select(true),
            KeyCode::PageDown => self.scrolled = (self.scrolled + PAGE).min(self.shown().log.len().saturating_sub(1)),
            KeyCode::PageUp => self.scrolled = self.scrolled.saturating_sub(PAGE),
            KeyCode::Home => self.scrolled = 0,
            KeyCode::Char(' ' | 'p') => {
                self.paused = match self.paused.take() {
                    None => Some(Box::new(self.received.clone())),
                    Some(_) => None,
                };
            }
            KeyCode::Char('?' | 'h') => self.toggle(Overlay::Help),
            KeyCode::Enter => self.toggle(Overlay::Cause),
            _ => {}
        }
        Action::None
    }

    fn toggle(&mut self, overlay: Overlay) {
        self.overlay = if self.overlay == Some(overlay) { None } else { Some(overlay) };
    }

    /// Selects the next or the previous cause.
    fn select(&mut self, is_next: bool) {
        let Some(window) = self.window() else { return };
        let selected = self.selected(window);
        let row = if is_next { selected + 1 } else { selected.saturating_sub(1) };
        let kind = window.causes.get(row).or(window.causes.last()).map(|cause| cause.kind);
        self.cause = kind.or(self.cause);
    }

    /// Row of the selected cause; the first while the window does not have it.
    fn selected(&self, window: &Window) -> usize {
        window.causes.iter().position(|cause| Some(cause.kind) == self.cause).unwrap_or(0)
    }

    fn shown(&self) -> &Received {
        self.paused.as_deref().unwrap_or(&self.received)
    }

    /// Chosen window.
    fn window(&self) -> Option<&Window> {
        self.shown().summary.as_ref().map(|summary| window_of(summary, self.span))
    }

    /// Draws the view; less important parts are left out where space is short.
    pub(super) fn draw(&self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let buffer = frame.buffer_mut();
        layout::draw(self, area, buffer);
        if let Some(overlay) = self.overlay {
            overlay::draw(self, overlay, area, buffer);
        }
    }
}

/// Window of a span.
fn window_of(summary: &Summary, span: Span) -> &Window {
    match span {
        Span::Seconds => &summary.seconds,
        Span::Minute => &summary.minute,
        Span::Hour => &summary.hour,
    }
}

impl List {
    fn next(self) -> List {
        match self {
            List::Servers => List::Prefixes,
            List::Prefixes => List::Ports,
            List::Ports => List::Servers,
        }
    }
}

//! Terminal in raw mode with an alternate screen.

use super::View;
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;
use ratatui_crossterm::crossterm::cursor::Show;
use ratatui_crossterm::crossterm::event::{self, Event, KeyEvent};
use ratatui_crossterm::crossterm::execute;
use ratatui_crossterm::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use std::io::{self, BufWriter, Stdout};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Bytes of a frame that are written at once, so that a slow connection shows no half-drawn frame.
const BUFFER: usize = 1 << 16;

/// Whether the terminal is in raw mode. The hook for panics is per process, so this is a static.
static IS_OPEN: AtomicBool = AtomicBool::new(false);

/// Screen of the terminal, which is restored when this is dropped and when the program panics.
pub(in super::super) struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
}

impl Screen {
    /// Switches the terminal of standard output to raw mode and to its alternate screen.
    pub(in super::super) fn open() -> io::Result<Screen> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let hook = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                // The message of the panic is more useful than an error here.
                let _ = restore();
                hook(info);
            }));
        });
        enable_raw_mode()?;
        IS_OPEN.store(true, Ordering::SeqCst);
        let open = || {
            execute!(io::stdout(), EnterAlternateScreen)?;
            Terminal::new(CrosstermBackend::new(BufWriter::with_capacity(BUFFER, io::stdout())))
        };
        match open() {
            Ok(terminal) => Ok(Screen { terminal }),
            Err(error) => {
                // The first error is returned.
                let _ = restore();
                Err(error)
            }
        }
    }

    /// Draws a view.
    pub(in super::super) fn draw(&mut self, view: &View) -> io::Result<()> {
        self.terminal.draw(|frame| view.draw(frame)).map(|_| ())
    }

    /// Waits for a key. Returns `None` after `timeout`, and at once after a change of the terminal's size, after which the
    /// view has to be drawn again.
    pub(in super::super) fn poll_key(&mut self, timeout: Duration) -> io::Result<Option<KeyEvent>> {
        if !event::poll(timeout)? {
            return Ok(None);
        }
        Ok(match event::read()? {
            Event::Key(key) => Some(key),
            _ => None,
        })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // The terminal may be gone.
        let _ = restore();
    }
}

/// Restores the terminal, once.
fn restore() -> io::Result<()> {
    if !IS_OPEN.swap(false, Ordering::SeqCst) {
        return Ok(());
    }
    // Raw mode first: it hampers a shell more than the alternate screen.
    let is_cooked = disable_raw_mode();
    execute!(io::stdout(), LeaveAlternateScreen, Show)?;
    is_cooked
}

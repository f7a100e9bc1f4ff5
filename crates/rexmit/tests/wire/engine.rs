//! Engine that runs on a host for the duration of a test.

use gentle_packets::Host;
use gentle_rexmit::wire::{Confinement, Engine, Observer, WireError};
use gentle_rexmit::{Answered, Config, Event, Selection, Status, Timing};
use gentle_units::{Instant, Nanos};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tempfile::TempDir;

pub(crate) struct Running {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Status, WireError>>,
    directory: TempDir,
}

/// Configuration of the paper's tool, for one side.
pub(crate) fn paper(client: bool, server: bool) -> Config {
    Config {
        timing: Timing::fixed(Nanos::from_millis(200)),
        ..Config::new(Selection { client, server, ports: vec!["80".parse().expect("a port")], ..Selection::default() })
    }
}

impl Running {
    /// Starts the engine; returns when it listens.
    pub(crate) fn start(host: &Host, interface: &'static str, config: Config) -> Running {
        let directory = TempDir::new().expect("a directory");
        let stop = Arc::new(AtomicBool::new(false));
        let (ended, path) = (Arc::clone(&stop), directory.path().to_owned());
        let (told, listens) = std::sync::mpsc::channel();
        let thread = host.start(move || {
            let confinement = Confinement::default();
            let mut engine = Engine::open(interface, config, &path, 1, confinement)?;
            told.send(()).expect("somebody waits for it");
            engine.run(&ended, &mut Ignore)?;
            Ok(engine.status())
        });
        let outcome = listens.recv();
        assert!(outcome.is_ok(), "{:?}", thread.join().expect("no panic").err());
        Running { stop, thread, directory }
    }

    /// Directory of the status socket.
    pub(crate) fn directory(&self) -> PathBuf {
        self.directory.path().to_owned()
    }

    /// Stops the engine and returns its final status; checks that it leaves no file behind.
    pub(crate) fn end(self) -> Status {
        // The engine has received the last packets by then.
        thread::sleep(Duration::from_millis(200));
        self.stop.store(true, Ordering::Relaxed);
        let outcome = self.thread.join().expect("no panic");
        let left = self.directory.path().read_dir().expect("a directory");
        assert_eq!(left.count(), 0);
        outcome.expect("it has ended well")
    }
}

impl Running {
    /// Waits for the engine to fail; returns the error.
    pub(crate) fn fails(self) -> WireError {
        let outcome = self.thread.join().expect("no panic");
        outcome.expect_err("it has nothing to watch any more")
    }
}

struct Ignore;

impl Observer for Ignore {
    fn event(&mut self, _: Instant, _: &Event<'_>, _: bool) {}
    fn answered(&mut self, _: Instant, _: &Answered) {}
    fn report(&mut self, _: &Status) {}
}

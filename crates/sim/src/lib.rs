//! Discrete-event simulator of TCP connections over a congested link with a queue discipline.
//!
//! [`Simulation`] is the engine: it runs a scenario of `gentle-experiment` under one scheme with one seed, at once or
//! event by event, and shows packets, drops, marks and timers to a [`Tap`]. [`Simulator`] makes it a
//! [`Backend`](gentle_experiment::Backend) of experiments, and [`compare`] runs an experiment on that. The engine
//! owns time: end points (`gentle-tcp`) and queues (`gentle-aqm`) take the time as an argument and have no clock of
//! their own. [`EventQueue`] and [`tcp_header()`] are parts of the engine that other event loops can use.
//!
//! ```
//! use gentle_experiment::{DEFAULT_BINS, Scenario, Settings};
//! use gentle_sim::compare;
//! use gentle_units::Nanos;
//! use std::sync::atomic::AtomicBool;
//!
//! let mut scenario = Scenario::builtin("real").unwrap();
//! scenario.set_duration(Nanos::from_secs(20));
//! let schemes = ["pfifo limit=50".parse()?, "codel".parse()?];
//! let settings = Settings { seeds: vec![1], bins: DEFAULT_BINS.to_vec() };
//! let comparison = compare(&scenario, &schemes, &settings, &(), &AtomicBool::new(false));
//! assert_eq!(comparison.results[0].connections, comparison.results[1].connections);
//! # Ok::<(), gentle_aqm::SpecError>(())
//! ```
//!
//! A tap that watches the queue while the run is stepped event by event:
//!
//! ```
//! use gentle_experiment::{Direction, RunSpec, Scenario};
//! use gentle_sim::{Packet, Simulation, Tap};
//! use gentle_units::{Instant, Nanos};
//!
//! /// Longest sojourn time in the queue under test.
//! #[derive(Default)]
//! struct Longest(Nanos);
//!
//! impl Tap for Longest {
//!     fn dequeued(&mut self, now: Instant, direction: Direction, packet: &Packet) {
//!         if direction == Direction::Down {
//!             self.0 = self.0.max(now - gentle_aqm::Packet::arrived(packet));
//!         }
//!     }
//! }
//!
//! let mut scenario = Scenario::builtin("real").unwrap();
//! scenario.set_duration(Nanos::from_secs(20));
//! let scheme = "pfifo limit=50".parse()?;
//! let run = RunSpec { scenario: &scenario, scheme: &scheme, seed: 1, bins: &[], keep_connections: false };
//! let mut simulation = Simulation::new(&run, Longest::default());
//! while simulation.step() {}
//! assert!(simulation.tap().0 > Nanos::from_millis(100));
//! # Ok::<(), gentle_aqm::SpecError>(())
//! ```

mod capture;
mod engine;
mod simulator;
mod tcp_header;

pub use capture::{CaptureError, capture};
pub use engine::{Backlog, DropCause, Ended, EventQueue, NoTap, Packet, Queue, Simulation, Stopped, Tap};
pub use simulator::{Simulator, compare};
pub use tcp_header::{tcp_header, tcp_options};

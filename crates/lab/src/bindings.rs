//! The crate for JavaScript. Times are in seconds; errors are sentences.

use crate::capture;
use crate::lookout::Sight;
use crate::session::{Reached, Session};
use crate::setup::{Setup, SetupError};
use crate::trial::Trial;
use gentle_capture::{CaptureError, CaptureReader};
use gentle_units::Instant;
use std::cell::RefCell;
use std::io::{self, Read};
use wasm_bindgen::prelude::*;

fn thrown(error: SetupError) -> JsError {
    JsError::new(&error.to_string())
}

fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("text keys")
}

/// Schemes, scenarios and profiles as JSON.
#[wasm_bindgen]
pub fn catalog() -> String {
    crate::catalog::catalog()
}

/// The scenario of a setup as JSON: what the controls show where they say nothing.
#[wasm_bindgen]
pub fn describe(setup: &str) -> Result<String, JsError> {
    let setup = Setup::from_json(setup).map_err(thrown)?;
    crate::setup::describe(&setup).map_err(thrown)
}

/// Text of the scenario file of a setup.
#[wasm_bindgen]
pub fn file(setup: &str) -> Result<String, JsError> {
    Setup::from_json(setup).and_then(|setup| setup.file()).map_err(thrown)
}

/// A scheme as it is written in results: `codel target=20ms`.
#[wasm_bindgen]
pub fn scheme(text: &str) -> Result<String, JsError> {
    let spec = crate::session::parse_scheme(text).map_err(thrown)?;
    Ok(spec.to_string())
}

/// A scheme with a buffer of so many packets; nothing if it has no such limit.
#[wasm_bindgen]
pub fn with_buffer(text: &str, packets: u32) -> Result<Option<String>, JsError> {
    let spec = crate::session::parse_scheme(text).map_err(thrown)?;
    Ok(crate::setup::with_buffer(&spec, packets.into()).map(|spec| spec.to_string()))
}

/// The record of one run as JSON.
#[wasm_bindgen]
pub fn record(setup: &str, scheme: &str, seed: u64) -> Result<String, JsError> {
    let setup = Setup::from_json(setup).map_err(thrown)?;
    crate::trial::record(&setup, scheme, seed).map_err(thrown)
}

/// A [`Session`].
#[wasm_bindgen]
pub struct Lab(Session);

#[wasm_bindgen]
impl Lab {
    /// The run of a setup before its first event.
    #[wasm_bindgen(constructor)]
    pub fn new(setup: &str, scheme: &str, seed: u64) -> Result<Lab, JsError> {
        let setup = Setup::from_json(setup).map_err(thrown)?;
        Session::new(&setup, scheme, seed).map(Lab).map_err(thrown)
    }

    /// Continues to a time, in at most so many steps. True: it got there, or the run is over.
    pub fn advance(&mut self, until: f64, steps: u32) -> bool {
        self.0.advance(Instant::from_secs_f64(until), steps.into()) != Reached::Steps
    }

    /// Continues until something happens to a packet.
    pub fn step(&mut self) -> bool {
        self.0.step()
    }

    /// Goes back to the start; changes are made again.
    pub fn back(&mut self) {
        self.0.back();
    }

    /// Replaces all changes by a list in JSON, each to be made at its moment. Goes back to the start unless only changes
    /// that lie ahead are different.
    pub fn replan(&mut self, changes: &str) -> Result<(), JsError> {
        self.0.replan(crate::plan::plan(changes).map_err(thrown)?);
        Ok(())
    }

    /// The moment shown.
    pub fn now(&self) -> f64 {
        self.0.now().as_secs_f64()
    }

    /// Collects events from now on, or no more.
    pub fn details(&mut self, details: bool) {
        self.0.set_details(details);
    }

    /// Takes the events collected.
    pub fn events(&mut self) -> Vec<f64> {
        self.0.take_events()
    }

    /// The state as JSON, with curves if requested.
    pub fn snapshot(&self, curves: bool) -> String {
        json(&self.0.snapshot(curves))
    }

    /// The life of a connection as JSON.
    pub fn history(&self, connection: u32) -> String {
        json(&self.0.history(connection))
    }

    /// The first time from `after` on at which a sight is seen, as JSON; nothing if the run ends before, or has no such
    /// sight.
    pub fn find(&self, sight: &str, after: f64) -> Option<String> {
        let (_, sight) = Sight::NAMED.into_iter().find(|(name, _)| *name == sight)?;
        self.0.find(sight, Instant::from_secs_f64(after)).map(|seen| json(&seen))
    }
}

/// A [`Trial`] under way.
#[wasm_bindgen]
pub struct Background(Trial);

#[wasm_bindgen]
impl Background {
    /// A trial of two schemes.
    #[wasm_bindgen(constructor)]
    pub fn new(setup: &str, first: &str, second: &str, seed: u64) -> Result<Background, JsError> {
        let setup = Setup::from_json(setup).map_err(thrown)?;
        Trial::new(&setup, [first, second], seed).map(Background).map_err(thrown)
    }

    /// Runs the next seed and returns what has been found so far as JSON; empty if nothing has.
    pub fn next(&mut self) -> String {
        self.0.run_seed();
        self.0.standing().map(|standing| json(&standing)).unwrap_or_default()
    }
}

#[wasm_bindgen]
extern "C" {
    /// A capture that JavaScript reads.
    pub type Source;

    #[wasm_bindgen(method, getter)]
    fn name(this: &Source) -> String;

    #[wasm_bindgen(method, getter)]
    fn size(this: &Source) -> f64;

    /// Fills `space` with the bytes at an offset; returns their number, 0 at the end.
    #[wasm_bindgen(method, catch)]
    fn read(this: &Source, offset: f64, space: &mut [u8]) -> Result<u32, JsValue>;
}

thread_local! {
    /// The captures of the analysis under way: what JavaScript owns cannot be in a reader, which another thread might get.
    static SOURCES: RefCell<Vec<Source>> = const { RefCell::new(Vec::new()) };
}

/// Reads one of [`SOURCES`].
struct SourceReader {
    source: usize,
    offset: u64,
}

impl Read for SourceReader {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        let read = SOURCES.with_borrow(|sources| {
            (sources[self.source].read(self.offset as f64, space)).map_err(|error| {
                let message = error.as_string();
                io::Error::other(
                    message.unwrap_or_else(|| "the browser cannot read it any more; choose it again".into()),
                )
            })
        })?;
        self.offset += u64::from(read);
        Ok(read as usize)
    }
}

fn open(source: usize) -> Result<CaptureReader, CaptureError> {
    let (name, size) = SOURCES.with_borrow(|sources| (sources[source].name(), sources[source].size()));
    let reader = CaptureReader::from_reader(name, Box::new(SourceReader { source, offset: 0 }))?;
    Ok(reader.reopened_by(size as u64, move || open(source)))
}

/// Contents of captures.
#[wasm_bindgen]
pub struct Captured(capture::Captured);

#[wasm_bindgen]
impl Captured {
    /// Output of `gentle analyze --flows flows.csv`.
    pub fn text(&self) -> String {
        self.0.text.clone()
    }

    /// The list of connections that it writes.
    pub fn flows(&self) -> String {
        self.0.flows.clone()
    }

    /// Number of connections in the list.
    pub fn connections(&self) -> f64 {
        self.0.connections as f64
    }

    /// Part of their data that goes over the reverse link.
    pub fn up(&self) -> f64 {
        self.0.up
    }

    /// Rate of a link that they load to 90 %, as the command takes it; nothing without connections.
    pub fn rate(&self) -> Option<String> {
        self.0.rate.map(|rate| rate.to_string())
    }
}

/// Analyses captures as one trace; `local` is the option of the command, `width` the width of the text in columns.
#[wasm_bindgen]
pub fn analyze(sources: Vec<Source>, local: &str, width: Option<u32>) -> Result<Captured, JsError> {
    let local = capture::local(local).map_err(thrown)?;
    let count = sources.len();
    SOURCES.set(sources);
    let readers = (0..count).map(open).collect::<Result<Vec<_>, _>>();
    let found = readers
        .map_err(gentle_trace::AnalysisError::from)
        .and_then(|readers| capture::analyze(readers, local, width.map(|width| width as usize)));
    SOURCES.take();
    found.map(Captured).map_err(|error| JsError::new(&error.to_string()))
}

//! Queue disciplines written in Python.
//!
//! The simulator gives each packet to Python as a [`QueuedPacket`] and gets it back when the queue returns or drops it. A
//! run with such a queue keeps the interpreter's lock, which CPython hands to another waiting thread every few
//! milliseconds: taking the lock for each packet would cost more than the calls.

use crate::error::{failed, invalid};
use crate::work::Callbacks;
use gentle_aqm::registry::SCHEMES;
use gentle_aqm::{Dequeue, DropReason, Ecn, MarkReason, Packet as _, Qdisc, Scheme, Signals, Spec};
use gentle_experiment::{Aborted, Backend, RunRecord, RunSpec, Scenario, Settings, Watch};
use gentle_sim::{NoTap, Packet, Simulation, Simulator, Stopped};
use gentle_tcp::Flags;
use gentle_units::{Instant, Nanos};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Longest name of a queue, in characters; it becomes the head of a column.
const LONGEST_NAME: usize = 60;

/// A queue discipline in Python: a name, and a callable that receives a seed and returns a new, empty queue.
#[pyclass(module = "gentle._core", frozen)]
pub(crate) struct CustomQueue {
    pub(crate) spec: Spec,
    make: Py<PyAny>,
    /// Name of the class or function behind `make`, shown with the results.
    origin: String,
}

#[pymethods]
impl CustomQueue {
    #[new]
    fn new(name: &str, make: Py<PyAny>, origin: String) -> PyResult<CustomQueue> {
        let is_printable = !name.is_empty()
            && name.trim() == name
            && name.chars().count() <= LONGEST_NAME
            && !name.chars().any(char::is_control);
        if !is_printable {
            return Err(invalid(format!(
                "'{}': expected a name of 1 to {LONGEST_NAME} characters on one line for a queue in Python",
                name.escape_debug()
            )));
        }
        if SCHEMES.iter().any(|scheme| scheme.name == name) {
            return Err(invalid(format!(
                "'{name}' is a scheme of gentle; expected another name for a queue in Python"
            )));
        }
        let spec = Spec::of(scheme(name));
        Ok(CustomQueue { spec, make, origin })
    }
}

/// Description of a queue outside the registry. Descriptions live as long as the process; one is kept for each name.
fn scheme(name: &str) -> &'static Scheme {
    static KNOWN: Mutex<Vec<&'static Scheme>> = Mutex::new(Vec::new());
    let mut known = locked(&KNOWN);
    if let Some(found) = known.iter().find(|scheme| scheme.name == name) {
        return found;
    }
    let scheme: &'static Scheme = Box::leak(Box::new(Scheme {
        name: String::leak(name.to_owned()),
        summary: "a queue in Python",
        drops: &DropReason::ALL,
        ..Scheme::PLAIN
    }));
    known.push(scheme);
    scheme
}

/// A panic while a lock is held leaves its value as it was: each change is a single assignment.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The simulator with queues in Python among its schemes.
pub(crate) struct WithQueues<'a> {
    pub(crate) queues: &'a [Py<CustomQueue>],
    pub(crate) callbacks: &'a Callbacks,
}

impl WithQueues<'_> {
    fn find(&self, spec: &Spec) -> Option<&CustomQueue> {
        let mut queues = self.queues.iter().map(Py::get);
        queues.find(|queue| queue.spec.scheme().name == spec.scheme().name)
    }
}

impl Backend for WithQueues<'_> {
    type Error = PyErr;

    fn name(&self) -> String {
        Simulator.name()
    }

    fn engine(&self) -> String {
        Simulator.engine()
    }

    fn cost(scenario: &Scenario) -> f64 {
        Simulator::cost(scenario)
    }

    fn prepare(&self, scenario: &mut Scenario, schemes: &[Spec], _: &Settings) -> Result<Vec<Spec>, PyErr> {
        for queue in schemes.iter().filter_map(|spec| self.find(spec)) {
            let (name, origin) = (&queue.spec, &queue.origin);
            scenario.assumptions.push(format!("{name} is a queue in Python: {origin}."));
        }
        Ok(schemes.to_vec())
    }

    fn run(&self, run: &RunSpec<'_>, watch: &Watch<'_>) -> Result<RunRecord, Aborted<PyErr>> {
        let Some(queue) = self.find(run.scheme) else {
            let record = Simulator.run(run, watch);
            return record.map_err(|aborted| match aborted {
                Aborted::Stopped => Aborted::Stopped,
                Aborted::Failed(never) => match never {},
            });
        };
        let failure = Failure::default();
        let end = run.scenario.ends_at();
        let outcome = Python::attach(|py| {
            let make = |seed| -> gentle_sim::Queue { Box::new(PythonQueue::new(py, queue, seed, failure.clone())) };
            self.callbacks.run(py, || {
                Simulation::with_queue(run, make, NoTap).run(|now| {
                    // Lets other threads of Python run, however little Python the queue itself executes.
                    py.detach(std::thread::yield_now);
                    failure.get().is_none() && watch.reached(now.as_secs_f64() / end.as_secs_f64())
                })
            })
        });
        let failed = failure.get().take();
        match (failed, outcome) {
            (Some(error), _) | (None, Err(error)) => Err(Aborted::Failed(error)),
            (None, Ok(Err(Stopped))) => Err(Aborted::Stopped),
            (None, Ok(Ok(record))) => Ok(record),
        }
    }
}

/// The first exception of a run.
#[derive(Clone, Default)]
struct Failure(Arc<Mutex<Option<PyErr>>>);

impl Failure {
    fn get(&self) -> MutexGuard<'_, Option<PyErr>> {
        locked(&self.0)
    }
}

/// Packets that a queue in Python dropped and marked during one call of it.
#[derive(Default)]
struct Events {
    dropped: Vec<(Box<Packet>, DropReason)>,
    marked: Vec<Packet>,
    /// Packets that Python released without returning or dropping them.
    lost: usize,
}

/// A packet in a queue, with its header fields. Any further attribute can be set.
#[pyclass(module = "gentle", name = "Packet", dict)]
pub(crate) struct QueuedPacket {
    /// `None`: it has left the queue.
    packet: Option<Box<Packet>>,
    queue: Arc<Mutex<Events>>,
}

impl Drop for QueuedPacket {
    fn drop(&mut self) {
        if self.packet.is_some() {
            locked(&self.queue).lost += 1;
        }
    }
}

impl QueuedPacket {
    fn packet(&self) -> PyResult<&Packet> {
        let gone = || failed("the packet has left the queue");
        self.packet.as_deref().ok_or_else(gone)
    }
}

#[pymethods]
impl QueuedPacket {
    /// Length on the link, bytes.
    #[getter]
    fn length(&self) -> PyResult<u32> {
        Ok(self.packet()?.bytes())
    }

    /// Length of the IP packet, bytes.
    #[getter]
    fn ip_length(&self) -> PyResult<u32> {
        Ok(self.packet()?.ip_bytes())
    }

    /// TCP payload, bytes; for a datagram its length.
    #[getter]
    fn payload(&self) -> PyResult<u32> {
        Ok(self.packet()?.segment().len)
    }

    /// Number of the flow: of one direction of a connection, or of a sender of datagrams.
    #[getter]
    fn flow(&self) -> PyResult<u64> {
        Ok(self.packet()?.flow())
    }

    /// Number of the sending host.
    #[getter]
    fn source(&self) -> PyResult<u64> {
        Ok(self.packet()?.hosts().source)
    }

    /// Number of the receiving host.
    #[getter]
    fn destination(&self) -> PyResult<u64> {
        Ok(self.packet()?.hosts().destination)
    }

    /// Whether it is a SYN or SYN/ACK.
    #[getter]
    fn syn(&self) -> PyResult<bool> {
        Ok(self.packet()?.segment().flags.contains(Flags::SYN))
    }

    /// Whether it has the FIN flag.
    #[getter]
    fn fin(&self) -> PyResult<bool> {
        Ok(self.packet()?.segment().flags.contains(Flags::FIN))
    }

    /// Whether it has the ACK flag.
    #[getter]
    fn ack(&self) -> PyResult<bool> {
        Ok(self.packet()?.segment().flags.contains(Flags::ACK))
    }

    /// Whether it is a UDP datagram.
    #[getter]
    fn udp(&self) -> PyResult<bool> {
        Ok(self.packet()?.is_udp())
    }

    /// TCP sequence number.
    #[getter]
    fn sequence(&self) -> PyResult<u32> {
        Ok(self.packet()?.segment().seq.0)
    }

    /// Differentiated services codepoint.
    #[getter]
    fn dscp(&self) -> PyResult<u8> {
        Ok(self.packet()?.dscp())
    }

    /// ECN field: `"not-ect"`, `"ect0"`, `"ect1"` or `"ce"`.
    #[getter]
    fn ecn(&self) -> PyResult<&'static str> {
        Ok(match self.packet()?.ecn() {
            Ecn::NotEct => "not-ect",
            Ecn::Ect0 => "ect0",
            Ecn::Ect1 => "ect1",
            Ecn::Ce => "ce",
        })
    }

    /// Time at which it arrived at the queue, seconds.
    #[getter]
    fn arrived(&self) -> PyResult<f64> {
        Ok(self.packet()?.arrived().as_secs_f64())
    }

    /// Marks it with ECN's congestion experienced; false, and no mark, if its hosts do not use ECN.
    fn mark(&mut self) -> PyResult<bool> {
        self.packet()?;
        let Some(packet) = &mut self.packet else {
            return Ok(false);
        };
        let before = packet.ecn();
        let is_marked = packet.mark();
        if is_marked && before != Ecn::Ce {
            locked(&self.queue).marked.push(**packet);
        }
        Ok(is_marked)
    }

    /// Drops it, on arrival or later. `reason` is one of the reasons in results: `"tail"`, `"early"`, `"aqm"`,
    /// `"push-out"`, `"overlimit"`, `"ack-filter"`.
    #[pyo3(signature = (reason="tail"))]
    fn drop(&mut self, reason: &str) -> PyResult<()> {
        let Some(known) = DropReason::ALL.into_iter().find(|known| known.name() == reason) else {
            let names = DropReason::ALL.map(DropReason::name).join(", ");
            return Err(invalid(format!("'{reason}' is not a reason for a drop; expected one of: {names}")));
        };
        self.packet()?;
        if let Some(packet) = self.packet.take() {
            locked(&self.queue).dropped.push((packet, known));
        }
        Ok(())
    }

    fn __repr__(&self) -> String {
        match &self.packet {
            None => "<gentle.Packet that has left the queue>".to_owned(),
            Some(packet) => format!("<gentle.Packet of flow {}, {} bytes>", packet.flow(), packet.bytes()),
        }
    }
}

/// Bound methods of the queue of one run.
struct Methods {
    enqueue: Py<PyAny>,
    dequeue: Py<PyAny>,
}

/// A queue in Python as the simulator sees it.
struct PythonQueue {
    name: &'static str,
    /// `None` after an exception: the queue then drops everything until the run is stopped.
    methods: Option<Methods>,
    failure: Failure,
    events: Arc<Mutex<Events>>,
    packets: usize,
    bytes: u64,
}

impl PythonQueue {
    fn new(py: Python<'_>, queue: &CustomQueue, seed: u64, failure: Failure) -> PythonQueue {
        let methods = queue.make.call1(py, (seed,)).and_then(|object| {
            Ok(Methods { enqueue: object.getattr(py, "enqueue")?, dequeue: object.getattr(py, "dequeue")? })
        });
        let methods = match methods {
            Ok(methods) => Some(methods),
            Err(error) => {
                *failure.get() = Some(error);
                None
            }
        };
        PythonQueue { name: queue.spec.scheme().name, methods, failure, events: Arc::default(), packets: 0, bytes: 0 }
    }

    fn wrong(&self, problem: &str) -> PyErr {
        failed(format!("{}: {problem}", self.name))
    }

    fn left(&mut self, packet: &Packet) {
        self.packets -= 1;
        self.bytes -= u64::from(packet.bytes());
    }

    /// Passes drops and marks of a call on.
    fn settle(&mut self, signals: &mut Signals<Box<Packet>>, reason: MarkReason) -> PyResult<()> {
        let events = std::mem::take(&mut *locked(&self.events));
        for packet in events.marked {
            signals.marked(&Box::new(packet), reason);
        }
        for (packet, reason) in events.dropped {
            self.left(&packet);
            signals.dropped(packet, reason);
        }
        if events.lost > 0 {
            return Err(self.wrong(
                "the queue lost a packet; expected it to keep each packet until dequeue returns it, or to call \
                 packet.drop(reason)",
            ));
        }
        Ok(())
    }

    fn offer(&mut self, now: Instant, packet: Box<Packet>, signals: &mut Signals<Box<Packet>>) -> PyResult<()> {
        let Some(methods) = &self.methods else {
            signals.dropped(packet, DropReason::Tail);
            return Ok(());
        };
        self.packets += 1;
        self.bytes += u64::from(packet.bytes());
        let returned = Python::attach(|py| {
            let packet = QueuedPacket { packet: Some(packet), queue: Arc::clone(&self.events) };
            let returned = methods.enqueue.call1(py, (packet, now.as_secs_f64()))?;
            match returned.is_none(py) {
                true => Ok(None),
                false => Ok::<_, PyErr>(Some(returned.bind(py).repr()?.to_string())),
            }
        })?;
        if let Some(returned) = returned {
            return Err(self.wrong(&format!(
                "enqueue returned {returned}; expected None: a packet is dropped with packet.drop(reason)"
            )));
        }
        self.settle(signals, MarkReason::Early)
    }

    fn take(&mut self, now: Instant, signals: &mut Signals<Box<Packet>>) -> PyResult<Dequeue<Box<Packet>>> {
        let Some(methods) = &self.methods else {
            return Ok(Dequeue::Empty);
        };
        let answer = Python::attach(|py| {
            let answer = methods.dequeue.call1(py, (now.as_secs_f64(),))?;
            let answer = answer.bind(py);
            if answer.is_none() {
                return Ok(Answer::Nothing);
            }
            if let Ok(packet) = answer.cast::<QueuedPacket>() {
                let mut packet = packet.borrow_mut();
                let is_own = Arc::ptr_eq(&packet.queue, &self.events);
                return Ok(match packet.packet.take() {
                    Some(taken) if is_own => Answer::Packet(taken),
                    _ => Answer::Gone,
                });
            }
            match answer.extract::<f64>() {
                // A bool is a number to Python.
                Ok(time) if !answer.is_instance_of::<PyBool>() => Ok(Answer::Time(time)),
                _ => Ok::<_, PyErr>(Answer::Other(answer.repr()?.to_string())),
            }
        })?;
        if let Answer::Packet(packet) = &answer {
            self.left(packet);
        }
        self.settle(signals, MarkReason::Aqm)?;
        let waiting = self.packets;
        match answer {
            Answer::Packet(packet) => Ok(Dequeue::Packet(packet)),
            Answer::Nothing if waiting == 0 => Ok(Dequeue::Empty),
            Answer::Nothing => Err(self.wrong(&format!(
                "dequeue returned None while {waiting} packets wait; expected a packet, or the earliest time in \
                 seconds at which one may leave"
            ))),
            Answer::Gone => Err(self.wrong("dequeue returned a packet that is not in the queue")),
            Answer::Time(time) => {
                if waiting == 0 || !time.is_finite() || time <= now.as_secs_f64() {
                    return Err(self.wrong(&format!(
                        "dequeue returned the time {time} s at {} s with {waiting} packets waiting; expected a later \
                         time, and only if packets wait",
                        now.as_secs_f64()
                    )));
                }
                // A later time may be less than a nanosecond later.
                Ok(Dequeue::NotBefore(Instant::from_secs_f64(time).max(now + Nanos(1))))
            }
            Answer::Other(text) => {
                Err(self.wrong(&format!("dequeue returned {text}; expected a packet, None, or a time in seconds")))
            }
        }
    }

    fn fail(&mut self, error: PyErr) {
        self.methods = None;
        *self.failure.get() = Some(error);
    }
}

/// Return value of `dequeue` of a queue in Python.
enum Answer {
    Packet(Box<Packet>),
    /// A packet that has left already, or that belongs to another queue.
    Gone,
    Nothing,
    Time(f64),
    Other(String),
}

impl Qdisc<Box<Packet>> for PythonQueue {
    fn enqueue(&mut self, now: Instant, mut packet: Box<Packet>, signals: &mut Signals<Box<Packet>>) {
        packet.set_arrived(now);
        if let Err(error) = self.offer(now, packet, signals) {
            self.fail(error);
        }
    }

    fn dequeue(&mut self, now: Instant, signals: &mut Signals<Box<Packet>>) -> Dequeue<Box<Packet>> {
        self.take(now, signals).unwrap_or_else(|error| {
            self.fail(error);
            Dequeue::Empty
        })
    }

    fn len(&self) -> usize {
        self.packets
    }

    fn backlog(&self) -> u64 {
        self.bytes
    }
}

//! Names, resolved by the standard library in separate threads.

use crate::target::Families;
use nix::sys::eventfd::EventFd;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// Interval at which names are resolved.
const INTERVAL: Duration = Duration::from_secs(60);

/// Maximum number of threads. A name whose resolution takes long delays only the names of its thread.
const THREADS: usize = 16;

/// Result of a resolution.
pub(crate) struct Answer {
    /// Number of the name, as given.
    pub(crate) name: usize,
    /// Addresses in the order of the system, at least one; otherwise a message.
    pub(crate) addresses: Result<Vec<SocketAddr>, String>,
}

/// Name to resolve.
#[derive(Debug, Clone)]
pub(crate) struct Name {
    /// Number of the name, for answers.
    pub(crate) number: usize,
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// Threads that resolve names until this value is dropped.
pub(crate) struct Resolver {
    answers: Receiver<Answer>,
    /// Their end ends the threads.
    _running: Vec<Sender<()>>,
}

impl Resolver {
    /// Starts the threads; each answer also writes to `wake`.
    pub(crate) fn start(names: Vec<Name>, families: Families, wake: &Arc<EventFd>) -> io::Result<Resolver> {
        let (to, answers) = channel();
        let threads = names.len().min(THREADS);
        let mut running = Vec::new();
        for thread in 0..threads {
            let mine: Vec<Name> = names.iter().skip(thread).step_by(threads).cloned().collect();
            let (run, stopped) = channel();
            running.push(run);
            let (to, wake) = (to.clone(), Arc::clone(wake));
            thread::Builder::new().name("resolver".to_owned()).spawn(move || {
                loop {
                    for name in &mine {
                        let answer = Answer { name: name.number, addresses: resolve(name, families) };
                        if to.send(answer).is_err() {
                            return;
                        }
                        // The counter is full only if nobody reads it.
                        let _ = wake.write(1);
                    }
                    if stopped.recv_timeout(INTERVAL) != Err(RecvTimeoutError::Timeout) {
                        return;
                    }
                }
            })?;
        }
        Ok(Resolver { answers, _running: running })
    }

    /// Next answer, if there is one.
    pub(crate) fn answer(&self) -> Option<Answer> {
        self.answers.try_recv().ok()
    }
}

fn resolve(name: &Name, families: Families) -> Result<Vec<SocketAddr>, String> {
    let found = (name.host.as_str(), name.port).to_socket_addrs().map_err(|error| error.to_string())?;
    let mut addresses: Vec<SocketAddr> = found.filter(|address| families.contain(address.ip())).collect();
    if families == Families::Both && addresses.iter().any(has_route) {
        addresses.retain(has_route);
    }
    match addresses.is_empty() {
        true => Err("the name has no address of this family".to_owned()),
        false => Ok(addresses),
    }
}

/// Whether this host has a route to an address. A datagram socket that is connected sends nothing.
fn has_route(address: &SocketAddr) -> bool {
    let any: IpAddr = match address {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    UdpSocket::bind((any, 0)).and_then(|socket| socket.connect(address)).is_ok()
}

//! Applications over datagrams: drives this host's ends of their flows, each with a UDP socket.

use super::codepoint::set_codepoint;
use crate::experiment::{DatagramSocket, client_address, server_address};
use crate::traffic::observations::ApplicationPart;
use gentle_experiment::ApplicationRecord;
use gentle_experiment::application::datagram::{Datagram, DatagramEnd, HEADER_WORDS};
use gentle_units::Instant;
use std::collections::BTreeMap;
use std::io;
use std::net::UdpSocket;
use std::time::Duration;

/// Time without any datagram after which none is expected any more: longer than a queue holds one.
const QUIET: Duration = Duration::from_secs(10);

/// All ends of a host.
pub(super) struct Datagrams {
    ends: Vec<End>,
    /// Measurements by workload.
    records: BTreeMap<usize, ApplicationRecord>,
    out: Vec<Datagram>,
    payload: Vec<u8>,
    /// Time of the last datagram, sent or received, or the end of sending, nanoseconds.
    last_ns: u64,
    is_over: bool,
}

struct End {
    socket: UdpSocket,
    machine: Box<dyn DatagramEnd>,
    workload: usize,
    /// Headers of each datagram on the links, bytes.
    headers: u32,
}

impl Datagrams {
    /// Opens the sockets of one of the two hosts in the current network namespace, which must be the host's.
    pub(super) fn open(all: &[DatagramSocket], is_client: bool, duration_ns: u64) -> io::Result<Datagrams> {
        let mut ends = Vec::with_capacity(all.len());
        for of in all {
            let side = (0..2).find(|end| of.is_from_client(*end) == is_client);
            let client = client_address(of.host, of.class);
            let server = server_address(of.host, of.tunnel);
            let (own, peer) = match is_client {
                true => (client, server),
                false => (server, client),
            };
            let socket = UdpSocket::bind((own, of.port))?;
            set_codepoint(&socket, of.dscp)?;
            socket.set_nonblocking(true)?;
            socket.connect((peer, of.port))?;
            let [client, server] = of.flow.ends();
            ends.push(End {
                socket,
                machine: if side == Some(0) { client } else { server },
                workload: of.flow.workload,
                headers: of.headers(),
            });
        }
        let records = ends.iter().map(|end| (end.workload, Default::default()));
        Ok(Datagrams {
            records: records.collect(),
            is_over: ends.is_empty(),
            ends,
            out: Vec::new(),
            payload: Vec::new(),
            last_ns: duration_ns,
        })
    }

    /// The sockets, in order.
    pub(super) fn sockets(&self) -> impl Iterator<Item = &UdpSocket> {
        self.ends.iter().map(|end| &end.socket)
    }

    /// Time of the next timer of any end, or at which all is over; `None`: only datagrams matter.
    pub(super) fn next_ns(&self) -> Option<u64> {
        match self.timer() {
            Instant::NEVER => (!self.is_over).then(|| self.over_ns()),
            at => Some(at.0),
        }
    }

    fn timer(&self) -> Instant {
        let timers = self.ends.iter().map(|end| end.machine.next_at());
        timers.min().unwrap_or(Instant::NEVER)
    }

    fn over_ns(&self) -> u64 {
        self.last_ns.saturating_add(QUIET.as_nanos() as u64)
    }

    /// True once, when no more datagrams are expected.
    pub(super) fn take_over(&mut self, now_ns: u64) -> bool {
        let over = !self.is_over && self.timer() == Instant::NEVER && self.over_ns() <= now_ns;
        self.is_over |= over;
        over
    }

    /// Lets all ends act whose time has come.
    pub(super) fn run_due(&mut self, now_ns: u64) -> io::Result<()> {
        let now = Instant(now_ns);
        for number in 0..self.ends.len() {
            let end = &mut self.ends[number];
            if end.machine.next_at() <= now {
                let record = self.records.entry(end.workload).or_default();
                end.machine.on_timer(now, &mut self.out, record);
                self.send(number, now_ns)?;
            }
        }
        Ok(())
    }

    /// Receives all datagrams that have arrived at an end; `now_ns` reads the clock.
    pub(super) fn receive(
        &mut self,
        number: usize,
        buffer: &mut [u8],
        now_ns: impl Fn() -> io::Result<u64>,
    ) -> io::Result<()> {
        while let Some(end) = self.ends.get_mut(number) {
            let length = match end.socket.recv(buffer) {
                Ok(length) => length,
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return Ok(()),
                    io::ErrorKind::Interrupted | io::ErrorKind::ConnectionRefused => continue,
                    _ => return Err(error),
                },
            };
            let now_ns = now_ns()?;
            if let Some(datagram) = decode(&buffer[..length], end.headers) {
                let record = self.records.entry(end.workload).or_default();
                (end.machine).on_datagram(Instant(now_ns), &datagram, &mut self.out, record);
                self.last_ns = self.last_ns.max(now_ns);
                self.send(number, now_ns)?;
            }
        }
        Ok(())
    }

    /// Sends what an end has to send.
    fn send(&mut self, number: usize, now_ns: u64) -> io::Result<()> {
        for datagram in self.out.drain(..) {
            encode(&datagram, self.ends[number].headers, &mut self.payload);
            self.last_ns = self.last_ns.max(now_ns);
            match self.ends[number].socket.send(&self.payload) {
                Ok(_) => {}
                // A datagram for which the host has no buffer space is lost.
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionRefused => {}
                    _ => return Err(error),
                },
            }
        }
        Ok(())
    }

    /// Ends the measurement.
    pub(super) fn finish(mut self) -> Vec<ApplicationPart> {
        for end in &mut self.ends {
            let record = self.records.entry(end.workload).or_default();
            end.machine.finish(record);
        }
        let parts = self.records.into_iter().map(|(workload, mut record)| {
            record.compact();
            ApplicationPart { workload, record }
        });
        parts.collect()
    }
}

/// Replaces `payload` by that of a datagram, which has `headers` bytes of headers on the links.
fn encode(datagram: &Datagram, headers: u32, payload: &mut Vec<u8>) {
    payload.clear();
    payload.extend(datagram.to_words().into_iter().flat_map(u32::to_be_bytes));
    let length = datagram.ip_bytes.saturating_sub(headers) as usize;
    payload.resize(length.max(payload.len()), 0);
}

/// The datagram with this `payload`, and `headers` bytes of headers on the links.
fn decode(payload: &[u8], headers: u32) -> Option<Datagram> {
    let mut words = [0; HEADER_WORDS];
    let (chunks, _) = payload.as_chunks::<4>();
    if chunks.len() < HEADER_WORDS {
        return None;
    }
    for (word, bytes) in words.iter_mut().zip(chunks) {
        *word = u32::from_be_bytes(*bytes);
    }
    let ip_bytes = u32::try_from(payload.len()).ok()?.checked_add(headers)?;
    Datagram::from_words(&words, ip_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gentle_experiment::application::datagram::Message;

    #[test]
    fn decoding_reverses_encoding_and_survives_anything() {
        let datagram =
            Datagram { ip_bytes: 200, number: 7, sent: Instant::from_secs(5), message: Message::Query { lookup: 3 } };
        let mut payload = Vec::new();
        for (headers, bytes) in [(56, 144), (28, 172)] {
            encode(&datagram, headers, &mut payload);
            assert_eq!(payload.len(), bytes);
            assert_eq!(decode(&payload, headers), Some(datagram));
        }
        for length in 0..payload.len() {
            let read = decode(&payload[..length], 28);
            assert_eq!(read.is_some(), length >= 32, "{length}");
        }
        payload[3] = 200;
        assert_eq!(decode(&payload, 28), None);
        // In a tunnel, a datagram is longer if its own header takes more room.
        let short = Datagram { ip_bytes: 60, ..datagram };
        encode(&short, 56, &mut payload);
        assert_eq!(decode(&payload, 56).unwrap().ip_bytes, 88);
    }
}

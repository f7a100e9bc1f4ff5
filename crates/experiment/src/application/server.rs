//! The answering end of a dialogue: requests decoded from a stream of bytes, answers after a service time.

use gentle_units::{Instant, Nanos};
use std::collections::VecDeque;

/// A request: what the server has to know begins its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Length of the request, at least [`Request::HEADER`].
    pub bytes: u32,
    /// Length of the answer, bytes.
    pub answer: u64,
    /// Time from the arrival of the request until the answer.
    pub service: Nanos,
}

impl Request {
    /// Bytes in which a request is encoded; the rest of it is zeros.
    pub const HEADER: usize = 20;

    /// Appends the request to `to`: length, answer and service time, big-endian.
    pub fn encode(&self, to: &mut Vec<u8>) {
        let start = to.len();
        to.extend_from_slice(&self.bytes.to_be_bytes());
        to.extend_from_slice(&self.answer.to_be_bytes());
        to.extend_from_slice(&self.service.0.to_be_bytes());
        let length = usize::try_from(self.bytes).unwrap_or(usize::MAX);
        to.resize(start.saturating_add(length.max(Request::HEADER)), 0);
    }

    fn decode(header: &[u8; Request::HEADER]) -> Request {
        // The ranges below lie within the header.
        let number =
            |from: usize, to: usize| header[from..to].iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        Request { bytes: number(0, 4) as u32, answer: number(4, 12), service: Nanos(number(12, 20)) }
    }
}

/// Finds requests in the bytes that a connection delivers. Any bytes are some requests; one that claims to be shorter
/// than its header ends with it. Memory: one header.
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    header: [u8; Request::HEADER],
    /// Bytes of the header that have arrived.
    filled: usize,
    /// Bytes of the request behind its header that have not arrived.
    left: u64,
}

impl Decoder {
    /// Takes `bytes`; calls `found` for each request that is then complete.
    pub fn take(&mut self, mut bytes: &[u8], mut found: impl FnMut(Request)) {
        while !bytes.is_empty() {
            if self.filled < Request::HEADER {
                let n = bytes.len().min(Request::HEADER - self.filled);
                let (header, rest) = bytes.split_at(n);
                self.header[self.filled..self.filled + n].copy_from_slice(header);
                self.filled += n;
                bytes = rest;
                if self.filled < Request::HEADER {
                    return;
                }
                let length = u64::from(Request::decode(&self.header).bytes);
                self.left = length.saturating_sub(Request::HEADER as u64);
            }
            let n = self.left.min(bytes.len() as u64);
            self.left -= n;
            bytes = &bytes[n as usize..];
            if self.left == 0 {
                self.filled = 0;
                found(Request::decode(&self.header));
            }
        }
    }
}

/// Answers that a server owes, in the order of the requests.
#[derive(Debug, Clone, Default)]
pub struct Server {
    /// When each answer is due, and its bytes.
    owed: VecDeque<(Instant, u64)>,
}

impl Server {
    /// Accounts for a request that is complete at `now`.
    pub fn request(&mut self, now: Instant, request: &Request) {
        let due = now + request.service;
        match self.owed.back_mut() {
            // Answers that are due together are one write, however many requests there were.
            Some((last, bytes)) if due <= *last => *bytes = bytes.saturating_add(request.answer),
            _ => self.owed.push_back((due, request.answer)),
        }
    }

    /// Takes the bytes that are due by `now`, to be written at once.
    pub fn answer(&mut self, now: Instant) -> u64 {
        let mut bytes = 0_u64;
        while let Some((due, more)) = self.owed.front()
            && *due <= now
        {
            bytes = bytes.saturating_add(*more);
            self.owed.pop_front();
        }
        bytes
    }

    /// Time of the next answer; `None`: nothing is owed.
    pub fn next_at(&self) -> Option<Instant> {
        self.owed.front().map(|(due, _)| *due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn requests() -> impl Strategy<Value = Vec<Request>> {
        let request = (20_u32..400, 0_u64..1 << 40, 0_u64..1 << 40);
        let request = request.prop_map(|(bytes, answer, service)| Request { bytes, answer, service: Nanos(service) });
        prop::collection::vec(request, 0..20)
    }

    proptest! {
        #[test]
        fn every_request_is_found_however_the_stream_is_cut(
            requests in requests(),
            cuts in prop::collection::vec(1_usize..700, 1..50),
        ) {
            let mut stream = Vec::new();
            for request in &requests {
                request.encode(&mut stream);
            }
            let mut decoder = Decoder::default();
            let mut found = Vec::new();
            let mut rest = &stream[..];
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (part, after) = rest.split_at((*cut).min(rest.len()));
                decoder.take(part, |request| found.push(request));
                rest = after;
            }
            prop_assert_eq!(found, requests);
        }

        #[test]
        fn any_bytes_are_survived(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..20),
            now in any::<u64>(),
        ) {
            let (mut decoder, mut server) = (Decoder::default(), Server::default());
            let mut asked = 0_u64;
            for part in &parts {
                decoder.take(part, |request| {
                    asked = asked.saturating_add(request.answer);
                    server.request(Instant(now), &request);
                });
            }
            prop_assert_eq!(server.answer(Instant::NEVER), asked);
            prop_assert_eq!(server.next_at(), None);
        }
    }

    #[test]
    fn answers_come_after_the_service_time_in_order() {
        let (at, ms) = (Instant::from_millis, Nanos::from_millis);
        let request = |answer, service| Request { bytes: 20, answer, service: ms(service) };
        let mut server = Server::default();
        server.request(at(10), &request(5, 20));
        server.request(at(12), &request(7, 0));
        server.request(at(15), &request(1, 30));
        assert_eq!(server.next_at(), Some(at(30)));
        assert_eq!(server.answer(at(29)), 0);
        assert_eq!(server.answer(at(30)), 12);
        assert_eq!(server.next_at(), Some(at(45)));
        assert_eq!(server.answer(at(45)), 1);
    }
}

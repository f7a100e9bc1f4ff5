//! Fuzz target for the requests of dialogues: however the stream is cut, the same requests and the same answer.

#![no_main]

use gentle_experiment::application::{Decoder, Server};
use gentle_units::Instant;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &[u8])| {
    let (cut, bytes) = input;
    let decoded = |parts: std::slice::Chunks<'_, u8>| {
        let (mut decoder, mut server, mut found) = (Decoder::default(), Server::default(), Vec::new());
        for part in parts {
            decoder.take(part, |request| {
                server.request(Instant::ZERO, &request);
                found.push(request);
            });
        }
        (found, server.answer(Instant::NEVER))
    };
    let whole = decoded(bytes.chunks(bytes.len().max(1)));
    assert_eq!(whole, decoded(bytes.chunks(usize::from(cut).max(1))));
    let asked = whole.0.iter().fold(0_u64, |sum, request| sum.saturating_add(request.answer));
    assert_eq!(whole.1, asked);
});

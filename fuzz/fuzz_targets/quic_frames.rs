//! Fuzz target for frames in QUIC Initial packets, correctly protected, between a client and a server.
//!
//! A packet of the input is an octet (bit 0: from the server; bit 1: cut by the capture; bit 2: the client knows the
//! server's connection ID; bit 3: the previous packet is repeated; four bits: time since the previous packet), its
//! packet number, the length of its frames, and the frames.

#![no_main]

use gentle_fuzz::analysis::{analyze_and_check, check_quic};
use gentle_fuzz::build::{PcapFile, time_step};
use gentle_fuzz::quic::Sealer;
use gentle_trace::Options;
use libfuzzer_sys::{Corpus, fuzz_target};
use std::sync::LazyLock;

static SEALERS: LazyLock<[Sealer; 2]> = LazyLock::new(|| [false, true].map(Sealer::new));

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let mut file = PcapFile::default();
    let mut time = 1_000_000_000;
    let mut rest = bytes;
    let mut before = Vec::new();
    while let [control, number, len, after @ ..] = rest {
        let bit = |n: u32| control >> n & 1 == 1;
        let (frames, after) = after.split_at_checked((*len).into()).unwrap_or((after, &[]));
        rest = after;
        time += time_step(control >> 4);
        if !bit(3) || before.is_empty() {
            before = SEALERS[usize::from(bit(0))].initial(*number, frames, bit(2));
        }
        let cut = if bit(1) { before.len() / 4 } else { 0 };
        file.datagram(time, 0, bit(0), &before[..before.len() - cut], cut as u16);
    }
    let options = Options { memory_limit: Options::LEAST_MEMORY, ..Options::default() };
    let analysis = analyze_and_check(&[&file.finish()], &options, None).expect("a capture");
    check_quic(&analysis);
    Corpus::Keep
});

//! Fuzz target for QUIC handshakes: datagrams between a few clients and a server.
//!
//! A datagram of the input is an octet (bit 0: from the server; two bits: client; one bit: IPv6; four bits: time since
//! the previous datagram), its length in two octets, and its payload.

#![no_main]

use gentle_fuzz::analysis::{analyze_and_check, check_quic};
use gentle_fuzz::build::{PcapFile, time_step};
use gentle_trace::Options;
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let mut file = PcapFile::default();
    let mut time = 1_000_000_000;
    let mut rest = bytes;
    let mut packets = 0;
    while let [control, a, b, after @ ..] = rest {
        let len = usize::from(u16::from_be_bytes([*a, *b])).min(60_000);
        let (payload, after) = after.split_at_checked(len).unwrap_or((after, &[]));
        rest = after;
        time += time_step(control >> 4);
        // If the input ends early, the datagram counts as cut by the capture.
        let cut = len - payload.len();
        file.datagram(time, control >> 1 & 7, control & 1 == 1, payload, cut as u16);
        packets += 1;
    }
    let options = Options { memory_limit: Options::LEAST_MEMORY, ..Options::default() };
    let analysis = analyze_and_check(&[&file.finish()], &options, None).expect("a capture");
    assert_eq!(analysis.captures[0].packets, packets);
    check_quic(&analysis);
    Corpus::Keep
});

//! Fuzz target for the framing of pcap files.

#![no_main]

use gentle_fuzz::capture::read_every_way;
use libfuzzer_sys::{Corpus, fuzz_target};

const MAGIC: [u32; 2] = [0xa1b2_c3d4, 0xa1b2_3c4d];

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Some((&piece, file)) = bytes.split_first() else {
        return Corpus::Reject;
    };
    let Some(&magic) = file.first_chunk() else {
        return Corpus::Reject;
    };
    if !MAGIC.contains(&u32::from_be_bytes(magic)) && !MAGIC.contains(&u32::from_le_bytes(magic)) {
        return Corpus::Reject;
    }
    read_every_way(file, usize::from(piece));
    Corpus::Keep
});

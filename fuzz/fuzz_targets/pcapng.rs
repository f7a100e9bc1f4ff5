//! Fuzz target for the framing of pcapng files.

#![no_main]

use gentle_fuzz::capture::read_every_way;
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Some((&piece, file)) = bytes.split_first() else {
        return Corpus::Reject;
    };
    if !file.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) {
        return Corpus::Reject;
    }
    read_every_way(file, usize::from(piece));
    Corpus::Keep
});

//! Fuzz target for captures compressed with gzip, zstd, xz and lz4.

#![no_main]

use gentle_capture::Compression;
use gentle_fuzz::capture::{open, read_all};
use libfuzzer_sys::{Corpus, fuzz_target};
use std::io::Cursor;

/// Whether the file starts like a compressed one; other inputs belong to other targets.
fn is_compressed(head: &[u8]) -> bool {
    matches!(
        head,
        [0x1f, 0x8b, ..]
            | [0x28, 0xb5, 0x2f, 0xfd, ..]
            | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]
            | [0xfd, b'7', b'z', b'X', b'Z', 0, ..]
            | [0x04, 0x22, 0x4d, 0x18, ..]
            | [0x02, 0x21, 0x4c, 0x18, ..]
    )
}

fuzz_target!(|bytes: &[u8]| -> Corpus {
    if !is_compressed(bytes) {
        return Corpus::Reject;
    }
    if let Ok(mut reader) = open(Cursor::new(bytes.to_vec())) {
        assert_ne!(reader.format().compression, Compression::None);
        read_all(&mut reader, u64::MAX);
        assert!(reader.consumed() <= bytes.len() as u64);
    }
    Corpus::Keep
});

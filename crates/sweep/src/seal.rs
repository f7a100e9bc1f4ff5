//! The digest that files of a store carry in their metadata, which finds every change of a file.
//!
//! Parquet's checksums cover pages only: a changed bit in the footer, such as the name or the place of a column, remains
//! unnoticed. The digest covers the whole file.

use crate::error::SweepError;
use crate::read::damaged;
use gentle_runs::hash;
use parquet::file::metadata::KeyValue;

/// Key of the digest in a file's metadata.
const KEY: &str = "digest";
/// Start of its value, before the digits. Later in a file there is nothing but the name of the program.
const START: &[u8] = b"SHA-256 of this file with 64 zeros here: ";
/// Digits of a digest.
const DIGITS: usize = 64;

/// Metadata with zeros in place of a digest, for [`sealed`].
pub(crate) fn unsealed() -> Vec<KeyValue> {
    let value = [&String::from_utf8_lossy(START), "0".repeat(DIGITS).as_str()].concat();
    vec![KeyValue::new(KEY.to_owned(), value)]
}

/// A file that was written with the metadata of [`unsealed`], with its digest; otherwise the file as it is.
pub(crate) fn sealed(mut file: Vec<u8>) -> Vec<u8> {
    if let Some(at) = place(&file) {
        let digest = hash(&file);
        file[at..at + DIGITS].copy_from_slice(digest.as_bytes());
    }
    file
}

/// The digest of a file.
///
/// # Errors
/// The file has none, or another one than its contents.
pub(crate) fn digest(name: &str, file: &[u8]) -> Result<String, SweepError> {
    let at = place(file).ok_or_else(|| damaged(name, "it has no digest"))?;
    let mut unsealed = file.to_vec();
    let found = String::from_utf8_lossy(&file[at..at + DIGITS]).into_owned();
    unsealed[at..at + DIGITS].fill(b'0');
    match hash(&unsealed) == found {
        true => Ok(found),
        false => {
            Err(damaged(name, "its contents differ from its digest: it was changed, or damaged in storage or transfer"))
        }
    }
}

/// Index of the digits of the digest.
fn place(file: &[u8]) -> Option<usize> {
    let start = file.windows(START.len()).rposition(|part| part == START)?;
    let at = start + START.len();
    (at + DIGITS <= file.len()).then_some(at)
}

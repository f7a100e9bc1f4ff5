//! Records of analyses, as the JSON that they are once decompressed.

#![no_main]

use gentle_trace::record::{Record, merge};
use libfuzzer_sys::fuzz_target;

/// Result of merging records: JSON, or an error.
fn sum(records: Vec<(String, Record)>) -> Option<String> {
    let analysis = merge(records).ok()?;
    Some(serde_json::to_string(&analysis).expect("analyses have text keys"))
}

fuzz_target!(|json: &[u8]| {
    let file = zstd::encode_all(json, 1).expect("memory can be written to");
    match Record::from_bytes(&file) {
        Ok(record) => {
            let again = Record::from_bytes(&record.to_bytes()).expect("it was just written");
            assert_eq!(again.to_bytes(), record.to_bytes());
            // A duplicate record counts once.
            let twice = ["a", "b"].map(|name| (name.to_owned(), record.clone()));
            assert_eq!(sum(twice[..1].to_vec()), sum(twice.to_vec()));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});

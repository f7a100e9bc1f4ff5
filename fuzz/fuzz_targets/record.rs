//! Records of runs.

#![no_main]

use gentle_runs::Record;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|json: &[u8]| {
    if let Some(record) = Record::from_json(json) {
        let again = serde_json::to_vec(&record).expect("a record is JSON");
        assert_eq!(Record::from_json(&again), Some(record));
    }
});

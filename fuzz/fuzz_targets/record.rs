//! Records of runs.

#![no_main]

use gentle_experiment::Record;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Record::from_json(text) {
        Ok(record) => {
            let again = Record::from_json(&record.to_json());
            assert_eq!(again.as_ref(), Ok(&record));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});

//! Fuzz target for the parsing of times, rates and sizes.

#![no_main]

use gentle_units::{Nanos, Rate, format_size, parse_size};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match text.parse::<Nanos>() {
        Ok(time) => assert_eq!(time.to_string().parse(), Ok(time)),
        Err(error) => assert!(error.to_string().contains("expected")),
    }
    match text.parse::<Rate>() {
        Ok(rate) => {
            assert_eq!(rate.to_string().parse(), Ok(rate));
            let full = rate.time_to_send(1_500);
            assert!(rate.bytes_in(full) >= 1_500);
        }
        Err(error) => assert!(error.to_string().contains("expected")),
    }
    match parse_size(text) {
        Ok(size) => assert_eq!(parse_size(&format_size(size)), Ok(size)),
        Err(error) => assert!(error.to_string().contains("expected")),
    }
});

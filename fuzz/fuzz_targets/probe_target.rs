//! Fuzz target for targets of `gentle probe`: a valid one reads the same when it is printed, and is one line of visible
//! text.

#![no_main]

use gentle_probe::Target;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match text.parse::<Target>() {
        Ok(target) => {
            let printed = target.to_string();
            assert_eq!(printed.parse::<Target>().as_ref(), Ok(&target), "{printed}");
            assert!(target.port() > 0 && !target.host().is_empty());
            assert!(!printed.contains(char::is_whitespace) && !printed.contains(char::is_control), "{printed:?}");
            // Resolution is left out for an address, which then is the one printed.
            if let Some(address) = target.literal() {
                assert_eq!(address.port(), target.port());
                assert_eq!(target.host().parse(), Ok(address.ip()));
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});

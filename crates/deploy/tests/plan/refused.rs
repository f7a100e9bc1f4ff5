//! Requests that Linux does not support.

use super::{at_class, under};
use gentle_aqm::Spec;
use gentle_deploy::{Backing, plan_at};

#[test]
fn what_linux_cannot_do_is_refused_with_what_to_do_instead() {
    for (spec, part) in [
        ("pfifo delay=10ms", "no limit in time"),
        ("red ewma=9", "give that"),
        ("ared gentle", "no gentle RED"),
        ("choke gentle", "no gentle RED"),
        ("red probability=1", "red: tc cannot set probability to 1"),
        ("choke probability=1", "give 0.999999"),
        ("codel target=1500ns", "whole number of microseconds"),
        ("gsp", "load the module sch_gsp"),
        ("redfavor", "load the module sch_redfavor"),
        ("spa child=gsp", "child=gsp is not part of Linux"),
        ("spa child=las", "can only be simulated"),
        ("spa child=pfifo delay=10ms", "no limit in time"),
    ] {
        let error = under(spec, Backing::Stock, None).unwrap_err().to_string();
        assert!(error.contains(part), "{spec}: {error}");
    }
}

#[test]
fn an_option_switched_off_is_as_good_as_absent() {
    for spec in ["pfifo delay=0", "red nogentle", "red probability=0.999999"] {
        assert!(under(spec, Backing::Stock, None).is_ok(), "{spec}");
    }
}

#[test]
fn handles_that_linux_gives_itself_are_refused() {
    let spec: Spec = "codel".parse().unwrap();
    for handle in [0, 0x7ffe, 0x8000] {
        let mut at = at_class(None);
        at.handle = handle;
        let error = plan_at(&at, &spec, Backing::Stock).unwrap_err();
        assert!(error.to_string().contains("out of range"), "{handle:x}");
    }
}

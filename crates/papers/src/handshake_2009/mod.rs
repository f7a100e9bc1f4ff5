//! `handshake-2009`: D. Damjanovic, P. Gschwandtner, M. Welzl, "Why Is This Web Page Coming Up so Slow? Investigating
//! the Loss of SYN Packets", IFIP Networking 2009.
//!
//! The authors' captures are not public; the captures of LBNL/ICSI are, but this project has no copy. The paper's
//! definitions are applied to generated captures (`gentle-captures`), of which the truth is known.

mod columns;
mod derived;
mod histograms;
mod hosts;
mod optimizer;
mod remedies;
mod short;
mod vantage;

use crate::paper::{Paper, Part, Variant, Variants};
use crate::setup::Setup;
use gentle_units::Nanos;

/// The paper.
pub(crate) const PAPER: Paper = Paper {
    name: "handshake-2009",
    published: &[include_str!("../../data/handshake-2009/published.toml")],
    sentences: Some(include_str!("../../data/handshake-2009/sentences.toml")),
    parts: &[
        Part { id: "table1", measure: columns::table1 },
        Part { id: "fig1", measure: histograms::fig1 },
        Part { id: "fig2", measure: histograms::fig2 },
        Part { id: "vantage", measure: vantage::measure },
        Part { id: "short", measure: short::measure },
        Part { id: "remedies", measure: remedies::measure },
        Part { id: "table2", measure: optimizer::table2 },
        Part { id: "table3", measure: optimizer::table3 },
        Part { id: "table4", measure: optimizer::table4 },
        Part { id: "server", measure: optimizer::server },
    ],
    assumptions: &[
        Variants {
            id: "path",
            base: "0.2 ms",
            values: &[
                Variant::new("2 ms", |setup| delay(setup, 2)),
                Variant::new("20 ms", |setup| delay(setup, 20)),
                Variant::new("60 ms", |setup| delay(setup, 60)),
            ],
        },
        Variants {
            id: "initial-rto",
            base: "3 s, one in ten 1 s",
            values: &[Variant::new("1 s, one in ten 3 s", exchange_timeouts)],
        },
    ],
};

/// Sets the round-trip time of a path without further delay.
fn delay(setup: &mut Setup, rtt_ms: u64) {
    for link in &mut setup.scenario.links {
        link.delay = Nanos::from_micros(rtt_ms * 500);
    }
}

/// Exchanges the initial RTOs of 1 s and 3 s of the hosts of generated captures.
fn exchange_timeouts(setup: &mut Setup) {
    setup.set_knob("initial_rto", "1s");
    for workload in &mut setup.scenario.workloads {
        let (both, client) = match workload.group.as_deref() {
            Some("client with 1 s") => ("1s", "3s"),
            Some("server with 1 s") => ("3s", "1s"),
            _ => continue,
        };
        let set = workload.tcp.set_knob("initial_rto", both);
        set.and_then(|()| workload.initiator_tcp.set_knob("initial_rto", client)).expect("the timeouts are valid");
    }
}

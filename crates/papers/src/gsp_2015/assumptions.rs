//! Other values of what the paper leaves open.

use crate::paper::{Variant, Variants};
use crate::setup::Setup;
use gentle_experiment::{Access, Direction, Traffic};
use gentle_units::{Nanos, Rate};

/// The assumptions of `published.toml`.
pub(super) const ALL: &[Variants] = &[
    Variants {
        id: "hosts",
        base: "linux-3.16",
        values: &[Variant::new("linux-7.2", |setup| {
            setup.set_profile("linux-7.2");
            setup.set_knob("receive_window", "64mb");
        })],
    },
    Variants {
        id: "congestion-control",
        base: "CUBIC",
        values: &[Variant::new("Reno", |setup| setup.set_knob("congestion_control", "reno"))],
    },
    Variants {
        id: "delayed-acks",
        base: "every second segment",
        values: &[
            Variant::new("every segment", |setup| setup.set_knob("delack_segments", "1")),
            Variant::new("every 8 segments", |setup| setup.set_knob("delack_segments", "8")),
        ],
    },
    Variants {
        id: "byte-counting",
        base: "acknowledged segments",
        values: &[Variant::new("ACKs", |setup| setup.set_knob("growth", "acks"))],
    },
    Variants {
        id: "access",
        base: "infinitely fast",
        values: &[Variant::new("10 Gb/s, two hosts on each side", |setup| {
            setup.scenario.access = Rate::from_bits_per_second(HOSTS).map(|rate| Access { rate, hosts: 2 });
        })],
    },
    Variants { id: "shaper", base: "a slow link", values: &[Variant::new("a token bucket on 10 Gb/s", shape)] },
    Variants {
        id: "pie-version",
        base: "of today",
        values: &[Variant::new("of Linux 3.16", |setup| {
            setup.set_option("PIE", "before_5_1", "on");
            setup.set_option("PIE", "tupdate", "30ms");
        })],
    },
    Variants {
        id: "fig12-limits",
        base: "1.25 MB",
        values: &[Variant::new("1,000 packets", |setup| {
            if setup.scenario.name == "fig12" {
                set_gsp(setup, "limit_bytes", "1gb");
                for role in ["GSP", "CoDel", "PIE"] {
                    setup.set_option(role, "limit", "1000");
                }
            }
        })],
    },
    Variants {
        id: "slow-start",
        base: "HyStart",
        values: &[Variant::new("without HyStart", |setup| setup.set_knob("hystart", "false"))],
    },
    Variants {
        id: "starts",
        base: "within 5 s",
        values: &[
            Variant::new("within 1 s", |setup| start_within(setup, Nanos::from_secs(1))),
            Variant::new("within 15 s", |setup| start_within(setup, Nanos::from_secs(15))),
        ],
    },
    Variants {
        id: "receive-window",
        base: "64 MB",
        values: &[Variant::new("up to 4 MB, tuned as in linux-7.2", |setup| {
            setup.set_knob("receive_window", "4mb");
            setup.set_knob("window_tuning", "true");
        })],
    },
    Variants {
        id: "max-time",
        base: "a hundredth",
        values: &[
            Variant::new("a tenth", |setup| set_gsp(setup, "maxtime", "9s")),
            Variant::new("a thousandth", |setup| set_gsp(setup, "maxtime", "999s")),
        ],
    },
    Variants {
        id: "threshold-kind",
        base: "bytes",
        values: &[Variant::new("time", |setup| match setup.scenario.name.as_str() {
            "fig8" | "fig9" => set_gsp(setup, "threshold", "10ms"),
            "fig10-250" | "fig10-10" => set_gsp(setup, "threshold", "8ms"),
            _ => {}
        })],
    },
    Variants {
        id: "buffer-unit",
        base: "bytes",
        values: &[Variant::new("packets", |setup| match setup.scenario.name.as_str() {
            "fig7" => setup.replace("tail drop", "pfifo limit=99"),
            "fig13" => setup.replace("tail drop", "pfifo limit=330"),
            _ => {}
        })],
    },
    Variants {
        id: "overhead",
        base: "14 bytes",
        values: &[
            Variant::new("none", |setup| setup.set_overhead(0)),
            Variant::new("38 bytes", |setup| setup.set_overhead(38)),
        ],
    },
    Variants {
        id: "fig8-buffer",
        base: "24 ms",
        values: &[
            Variant::new("12 ms, as in Fig. 7", |setup| set_gsp(setup, "limit_bytes", "150000")),
            Variant::new("100 ms", |setup| set_gsp(setup, "limit_bytes", "1250000")),
        ],
    },
    Variants {
        id: "fig10-buffer",
        base: "5 MB",
        values: &[
            Variant::new("1.25 MB", |setup| set_gsp(setup, "limit_bytes", "1250000")),
            Variant::new("2 MB", |setup| set_gsp(setup, "limit_bytes", "2000000")),
        ],
    },
    Variants { id: "targets", base: "5 ms", values: &[Variant::new("40 ms", |setup| set_targets(setup, "40ms"))] },
    Variants {
        id: "fig14-buffer",
        base: "1.25 MB",
        values: &[Variant::new("500 kB", |setup| {
            set_gsp(setup, "limit_bytes", "500000");
            setup.set_option("CoDel", "limit", "330");
            setup.set_option("PIE", "limit", "330");
        })],
    },
];

/// Rate of the servers' links, bits per second (section IV.A).
const HOSTS: u64 = 10_000_000_000;

/// Puts each scheme beneath a token bucket with the rate of the link; the link gets the rate of the servers' links.
fn shape(setup: &mut Setup) {
    let link = &mut setup.scenario.links[Direction::Down.index()];
    let shaped = link.rate.bits_per_second();
    link.rate = Rate::from_bits_per_second(HOSTS).unwrap_or(link.rate);
    let schemes: Vec<_> = (setup.schemes.iter())
        .map(|(role, spec)| (*role, format!("tbf rate={shaped}bit burst=12500 child={spec}")))
        .collect();
    for (role, spec) in schemes {
        setup.replace(role, &spec);
    }
}

/// Sets an option of GSP, whose role names the buffer in Fig. 10.
fn set_gsp(setup: &mut Setup, option: &str, value: &str) {
    setup.set_option("GSP", option, value);
    setup.set_option("GSP, 1 MB", option, value);
}

fn set_targets(setup: &mut Setup, time: &str) {
    set_gsp(setup, "threshold", time);
    // The others have their defaults there.
    if setup.scenario.name.starts_with("fig11") {
        return;
    }
    setup.set_option("CoDel", "target", time);
    setup.set_option("PIE", "target", time);
}

pub(super) fn start_within(setup: &mut Setup, time: Nanos) {
    for workload in &mut setup.scenario.workloads {
        if let Traffic::Long(long) = &mut workload.traffic {
            long.start = (Nanos::ZERO, time);
        }
    }
}

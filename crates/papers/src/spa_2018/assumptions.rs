//! Choices where the paper is silent, and the values that they could also have.

use super::schemes::{
    ARED, BYTE_FIFO, FQ_CODEL, FQ_CODEL_20, PACKET_FIFO, PIE, RED, REDFAVOR, SFQ, SPA, SYN_FIN_PRIO, SYN_PRIO,
};
use super::traffic::{short_load, with_largest_size};
use crate::paper::{Variant, Variants};
use crate::setup::Setup;
use gentle_aqm::Spec;
use gentle_units::Nanos;

pub(super) const ALL: &[Variants] = &[
    Variants {
        id: "base-rtt",
        base: "42 and 52 ms",
        values: &[
            Variant::new("21 and 21 ms", |setup| delays(setup, 21)),
            Variant::new("47 and 47 ms", |setup| delays(setup, 47)),
        ],
    },
    Variants {
        id: "fifo-limits",
        base: "50 packets, 75,000 bytes",
        values: &[
            Variant::new("20 packets, 30,000 bytes", |setup| fifo_limit(setup, 20)),
            Variant::new("30 packets, 45,000 bytes", |setup| fifo_limit(setup, 30)),
            Variant::new("100 packets, 150,000 bytes", |setup| fifo_limit(setup, 100)),
            Variant::new("200 packets, 300,000 bytes", |setup| fifo_limit(setup, 200)),
            Variant::new("1,000 packets, 1,500,000 bytes", |setup| fifo_limit(setup, 1_000)),
        ],
    },
    Variants {
        id: "uplink-fifo",
        base: "50 packets",
        values: &[
            Variant::new("20 packets", |setup| uplink_limit(setup, "pfifo limit=20")),
            Variant::new("100 packets", |setup| uplink_limit(setup, "pfifo limit=100")),
            Variant::new("200 packets", |setup| uplink_limit(setup, "pfifo limit=200")),
        ],
    },
    Variants {
        id: "red-thresholds",
        base: "limit 75,000 bytes",
        values: &[
            Variant::new("limit 30,000 bytes", |setup| red(setup, "limit", "30000")),
            Variant::new("limit 150,000 bytes", |setup| red(setup, "limit", "150000")),
            Variant::new("5 to 15 packets, max_p 0.1, gentle", |setup| {
                red(setup, "min", "7500");
                red(setup, "max", "22500");
                red(setup, "probability", "0.1");
                red(setup, "gentle", "on");
            }),
            Variant::new("10 to 30 packets, max_p 0.1", |setup| {
                red(setup, "min", "15000");
                red(setup, "max", "45000");
                red(setup, "probability", "0.1");
            }),
        ],
    },
    Variants {
        id: "pie-defaults",
        base: "as in Linux 3.18",
        values: &[
            Variant::new("as in a current Linux", |setup| setup.replace(PIE, "pie")),
            Variant::new("its options, the law of a current Linux", |setup| {
                setup.replace(PIE, "pie target=20ms tupdate=30ms dq_rate_estimator=on");
            }),
        ],
    },
    Variants {
        id: "fq-codel-options",
        base: "quantum 1,514 bytes, 1,024 queues",
        values: &[
            Variant::new("quantum 300 bytes", |setup| fq_codel(setup, "quantum", "300")),
            Variant::new("65,536 queues", |setup| fq_codel(setup, "flows", "65536")),
            Variant::new("limit 1,000 packets", |setup| fq_codel(setup, "limit", "1000")),
        ],
    },
    Variants {
        id: "spa-fin",
        base: "priority, any length",
        values: &[
            Variant::new("priority up to 100 bytes", |setup| {
                setup.replace(SPA, "spa fin=priority maxlen=100 share=100");
            }),
            Variant::new("as data", |setup| setup.replace(SPA, "spa fin=none share=100")),
        ],
    },
    Variants {
        id: "largest-size",
        base: "6,000 (real), 12,000 (10m)",
        values: &[
            Variant::new("half", |setup| largest_size(setup, 3_000, 6_000)),
            Variant::new("twice", |setup| largest_size(setup, 12_000, 24_000)),
        ],
    },
    Variants {
        id: "short-load",
        base: "85 %: link utilisation 90 %",
        values: &[
            Variant::new("80 %", |setup| short_load(setup, 0.80)),
            Variant::new("90 %", |setup| short_load(setup, 0.90)),
            Variant::new("92 %", |setup| short_load(setup, 0.92)),
            Variant::new("94 %: a mean gap of 17 ms", |setup| short_load(setup, 0.942)),
        ],
    },
    Variants {
        id: "duration",
        base: "1,000 s",
        values: &[
            Variant::new("a tenth", |setup| last(setup, 0.1)),
            Variant::new("a third", |setup| last(setup, 1.0 / 3.0)),
        ],
    },
    Variants {
        id: "ethernet-header",
        base: "counted",
        values: &[Variant::new("not counted", |setup| {
            setup.set_overhead(0);
        })],
    },
    Variants {
        id: "freebsd-hosts",
        base: "profile freebsd-9.3",
        values: &[
            Variant::new("an ACK for each segment", |setup| {
                setup.set_knob("delack_segments", "1");
            }),
            Variant::new("no limited transmit", |setup| {
                setup.set_knob("limited_transmit", "false");
            }),
            Variant::new("no SACK", |setup| setup.set_knob("sack", "false")),
            Variant::new("initial window of 3", |setup| setup.set_knob("iw", "3")),
            Variant::new("receive window of 32 kB", |setup| {
                setup.set_knob("receive_window", "32kb");
            }),
            Variant::new("FIN in a separate packet", |setup| {
                setup.set_knob("fin_on_data", "false");
            }),
        ],
    },
    Variants {
        id: "freebsd-timers",
        base: "least timeout 230 ms, tick 1 ms",
        values: &[
            Variant::new("least timeout 1 s", |setup| setup.set_knob("min_rto", "1s")),
            Variant::new("tick 10 ms", |setup| {
                setup.set_knob("timer_granularity", "10ms");
            }),
        ],
    },
    Variants {
        id: "sfq-options",
        base: "127 packets, no perturbation",
        values: &[
            Variant::new("perturb 10", |setup| setup.set_option(SFQ, "perturb", "10")),
            Variant::new("limit 50 packets", |setup| setup.set_option(SFQ, "limit", "50")),
        ],
    },
];

/// The FIFOs are as long as before in packets of 1,500 bytes; so are the queues that SYN Prio and SYN/FIN Prio consist of.
fn fifo_limit(setup: &mut Setup, packets: u32) {
    for role in [PACKET_FIFO, SYN_PRIO, SYN_FIN_PRIO] {
        setup.set_option(role, "limit", &packets.to_string());
    }
    setup.set_option(BYTE_FIFO, "limit", &(1_500 * packets).to_string());
}

fn uplink_limit(setup: &mut Setup, qdisc: &str) {
    let qdisc: Result<Spec, _> = qdisc.parse();
    setup.scenario.links[1].qdisc = qdisc.expect("a valid scheme");
}

fn red(setup: &mut Setup, option: &str, value: &str) {
    for role in [RED, ARED, REDFAVOR] {
        setup.set_option(role, option, value);
    }
}

fn fq_codel(setup: &mut Setup, option: &str, value: &str) {
    for role in [FQ_CODEL, FQ_CODEL_20] {
        setup.set_option(role, option, value);
    }
}

/// Sizes of `real` and `10m`; `short` stays as it is.
fn largest_size(setup: &mut Setup, of_real: u64, of_ten_megabit: u64) {
    let largest = match setup.scenario.name.as_str() {
        "real" | "real-reverse" => of_real,
        "10m" => of_ten_megabit,
        _ => return,
    };
    let name = setup.scenario.name.clone();
    setup.scenario.workloads = with_largest_size(&name, largest).workloads;
}

fn last(setup: &mut Setup, part: f64) {
    let seconds = setup.scenario.duration.as_secs_f64();
    let duration = gentle_units::Nanos::from_secs_f64(part * seconds);
    setup.scenario.set_duration(duration);
}

/// Sets the same delay in both directions.
fn delays(setup: &mut Setup, ms: u64) {
    for link in &mut setup.scenario.links {
        link.delay = Nanos::from_millis(ms);
    }
}

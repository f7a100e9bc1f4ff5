//! Other values of what the paper leaves open.

use crate::paper::{Variant, Variants};
use crate::setup::Setup;
use gentle_experiment::{Initiator, Traffic};

/// Bytes of a full packet.
const PACKET: u64 = 1_040;

pub(super) const ALL: &[Variants] = &[
    Variants {
        id: "queue-limit",
        base: "50 packets",
        values: &[
            Variant::new("25 packets", |setup| limit(setup, 25)),
            Variant::new("100 packets", |setup| limit(setup, 100)),
            Variant::new("200 packets", |setup| limit(setup, 200)),
        ],
    },
    Variants {
        id: "red-thresholds",
        base: "5 and 15 packets",
        values: &[
            Variant::new("3 and 9 packets, w_q 2^-11", |setup| {
                thresholds(setup, 3, 9);
                set(setup, "ewma", "11");
            }),
            Variant::new("10 and 30 packets", |setup| thresholds(setup, 10, 30)),
            Variant::new("3 and 50 packets", |setup| thresholds(setup, 3, 50)),
            Variant::new("25 and 75 packets of 100", |setup| {
                limit(setup, 100);
                thresholds(setup, 25, 75);
            }),
            Variant::new("5 and 15 packets, max_p adaptive", |setup| {
                // CHOKe cannot adapt.
                for role in ["RED", "REDFavor"] {
                    setup.set_option(role, "adaptive", "on");
                }
            }),
        ],
    },
    Variants {
        id: "weight",
        base: "2^-9",
        values: &[
            Variant::new("2^-6", |setup| set(setup, "ewma", "6")),
            Variant::new("2^-4", |setup| set(setup, "ewma", "4")),
        ],
    },
    Variants {
        id: "max-p",
        base: "0.1, gentle",
        values: &[
            Variant::new("0.02, gentle", |setup| set(setup, "probability", "0.02")),
            Variant::new("0.1, not gentle", |setup| set(setup, "gentle", "off")),
        ],
    },
    Variants {
        id: "syn-check",
        base: "RED does not decide on SYNs",
        values: &[Variant::new("RED decides on SYNs", |setup| {
            setup.set_option("REDFavor", "exempt", "off");
        })],
    },
    Variants {
        id: "syn-size",
        base: "52 bytes",
        values: &[Variant::new("48 bytes, without SACK", |setup| {
            setup.set_knob("sack", "off");
        })],
    },
    Variants {
        id: "packet-size",
        base: "1,040 bytes",
        values: &[Variant::new("1,500 bytes", |setup| {
            setup.set_knob("mss", "1460");
            setup.set_knob("receive_window", "29200");
            for role in ["RED", "REDFavor"] {
                for (option, value) in [("limit", 75_000), ("min", 7_500), ("max", 22_500)] {
                    setup.set_option(role, option, &format!("{value}b"));
                }
            }
            set(setup, "avpkt", "1500");
        })],
    },
    Variants {
        id: "object-size",
        base: "mean 12, minimum 2",
        values: &[
            Variant::new("mean 6, minimum 1", smaller_objects),
            Variant::new("mean 6, minimum 1; thresholds of 3 and 50 packets", |setup| {
                smaller_objects(setup);
                thresholds(setup, 3, 50);
            }),
        ],
    },
    Variants {
        id: "sessions",
        base: "135 in all",
        values: &[
            Variant::new("100 in all", |setup| sessions(setup, 100)),
            Variant::new("70 in all", |setup| sessions(setup, 70)),
        ],
    },
    Variants {
        id: "initiator",
        base: "server",
        values: &[Variant::new("client", |setup| {
            for workload in &mut setup.scenario.workloads {
                workload.initiator = Initiator::Receiver;
            }
        })],
    },
    Variants {
        id: "window",
        base: "20 packets",
        values: &[Variant::new("4,000 packets", |setup| setup.set_knob("receive_window", "4mb"))],
    },
];

/// Sets an option of all schemes.
fn set(setup: &mut Setup, option: &str, value: &str) {
    for role in super::SCHEMES {
        setup.set_option(role, option, value);
    }
}

/// Sets an option that RED and REDFavor have in bytes and CHOKe in packets.
fn set_packets(setup: &mut Setup, option: &str, packets: u64) {
    setup.set_option("CHOKe", option, &packets.to_string());
    for role in ["RED", "REDFavor"] {
        setup.set_option(role, option, &format!("{}b", packets * PACKET));
    }
}

fn limit(setup: &mut Setup, packets: u64) {
    set_packets(setup, "limit", packets);
}

fn thresholds(setup: &mut Setup, min: u64, max: u64) {
    // In an order in which min is never above max.
    if max > 15 {
        set_packets(setup, "max", max);
        set_packets(setup, "min", min);
    } else {
        set_packets(setup, "min", min);
        set_packets(setup, "max", max);
    }
}

fn smaller_objects(setup: &mut Setup) {
    let text = super::WEB.replace("mean = 12", "mean = 6");
    let other = Setup::from_toml(super::FILE, &text).scenario;
    let smaller = (other.workloads.into_iter()).find_map(|workload| match workload.traffic {
        Traffic::Web(web) => Some(web.sizes),
        _ => None,
    });
    let Some(smaller) = smaller else { return };
    for workload in &mut setup.scenario.workloads {
        if let Traffic::Web(web) = &mut workload.traffic {
            web.sizes = smaller;
        }
    }
}

pub(super) fn sessions(setup: &mut Setup, number: u32) {
    for workload in &mut setup.scenario.workloads {
        if let Traffic::Web(web) = &mut workload.traffic {
            web.sessions = number;
        }
    }
}

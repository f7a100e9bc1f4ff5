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
            Variant {
                label: "25 packets",
                change: |setup| limit(setup, 25),
            },
            Variant {
                label: "100 packets",
                change: |setup| limit(setup, 100),
            },
            Variant {
                label: "200 packets",
                change: |setup| limit(setup, 200),
            },
        ],
    },
    Variants {
        id: "red-thresholds",
        base: "5 and 15 packets",
        values: &[
            Variant {
                label: "3 and 9 packets, w_q 2^-11",
                change: |setup| {
                    thresholds(setup, 3, 9);
                    set(setup, "ewma", "11");
                },
            },
            Variant {
                label: "10 and 30 packets",
                change: |setup| thresholds(setup, 10, 30),
            },
            Variant {
                label: "3 and 50 packets",
                change: |setup| thresholds(setup, 3, 50),
            },
            Variant {
                label: "25 and 75 packets of 100",
                change: |setup| {
                    limit(setup, 100);
                    thresholds(setup, 25, 75);
                },
            },
            Variant {
                label: "5 and 15 packets, max_p adaptive",
                change: |setup| {
                    // CHOKe cannot adapt.
                    for role in ["RED", "REDFavor"] {
                        setup.set_option(role, "adaptive", "on");
                    }
                },
            },
        ],
    },
    Variants {
        id: "weight",
        base: "2^-9",
        values: &[
            Variant {
                label: "2^-6",
                change: |setup| set(setup, "ewma", "6"),
            },
            Variant {
                label: "2^-4",
                change: |setup| set(setup, "ewma", "4"),
            },
        ],
    },
    Variants {
        id: "max-p",
        base: "0.1, gentle",
        values: &[
            Variant {
                label: "0.02, gentle",
                change: |setup| set(setup, "probability", "0.02"),
            },
            Variant {
                label: "0.1, not gentle",
                change: |setup| set(setup, "gentle", "off"),
            },
        ],
    },
    Variants {
        id: "packet-size",
        base: "1,040 bytes",
        values: &[Variant {
            label: "1,500 bytes",
            change: |setup| {
                setup.set_knob("mss", "1460");
                setup.set_knob("receive_window", "29200");
                for role in ["RED", "REDFavor"] {
                    for (option, value) in [("limit", 75_000), ("min", 7_500), ("max", 22_500)] {
                        setup.set_option(role, option, &format!("{value}b"));
                    }
                }
                set(setup, "avpkt", "1500");
            },
        }],
    },
    Variants {
        id: "object-size",
        base: "mean 12, minimum 2",
        values: &[
            Variant {
                label: "mean 6, minimum 1",
                change: smaller_objects,
            },
            Variant {
                label: "mean 6, minimum 1; thresholds of 3 and 50 packets",
                change: |setup| {
                    smaller_objects(setup);
                    thresholds(setup, 3, 50);
                },
            },
        ],
    },
    Variants {
        id: "sessions",
        base: "135 in all",
        values: &[
            Variant {
                label: "100 in all",
                change: |setup| sessions(setup, 100),
            },
            Variant {
                label: "70 in all",
                change: |setup| sessions(setup, 70),
            },
        ],
    },
    Variants {
        id: "initiator",
        base: "server",
        values: &[Variant {
            label: "client",
            change: |setup| {
                for workload in &mut setup.scenario.workloads {
                    workload.initiator = Initiator::Receiver;
                }
            },
        }],
    },
    Variants {
        id: "window",
        base: "20 packets",
        values: &[Variant {
            label: "4,000 packets",
            change: |setup| setup.set_knob("receive_window", "4mb"),
        }],
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
    setup.scenario.workloads = other.workloads;
}

fn sessions(setup: &mut Setup, number: u32) {
    for workload in &mut setup.scenario.workloads {
        if let Traffic::Web { sessions, .. } = &mut workload.traffic {
            *sessions = number;
        }
    }
}

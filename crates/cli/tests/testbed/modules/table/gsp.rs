//! Options of gsp: kernel/man/tc-gsp.8.

use super::{Module, Setting, set};

pub(super) const GSP: Module = Module {
    kind: "gsp",
    defaults: r#"{"threshold_ns": 10000000, "interval_ns": 200000000, "mode": "adaptive", "alpha": 2,
        "tau_ns": 1000000000, "maxtime_ns": 99000000000, "limit": 1000, "limit_bytes": 1073741824}"#,
    settings: SETTINGS,
    fixed: &[],
    refused: REFUSED,
    refused_by_kernel: 3,
    first_case: 0x5b00,
    statistics: &["early_drop", "tail_drop", "interval_ns", "cumul_ns", "expiry_ns", "delay_ns", "above", "overflow"],
};

/// Settings and results. By default, tau is five intervals and maxtime 99 tau.
const SETTINGS: &[Setting] = &[
    set("threshold 1us", r#"{"threshold_ns": 1000}"#),
    set("threshold 10s", r#"{"threshold_ns": 10000000000}"#),
    set("threshold 1b", r#"{"threshold_ns": null, "threshold_bytes": 1}"#),
    set("threshold 20kb", r#"{"threshold_ns": null, "threshold_bytes": 20480}"#),
    set("threshold 1p", r#"{"threshold_ns": null, "threshold_packets": 1}"#),
    set("threshold 999p", r#"{"threshold_ns": null, "threshold_packets": 999}"#),
    set("threshold 999999p limit 1000000", r#"{"threshold_ns": null, "threshold_packets": 999999, "limit": 1000000}"#),
    set("interval 1us", r#"{"interval_ns": 1000, "tau_ns": 5000, "maxtime_ns": 495000}"#),
    set("interval 60s", r#"{"interval_ns": 60000000000, "tau_ns": 300000000000, "maxtime_ns": 29700000000000}"#),
    set("mode basic", r#"{"mode": "basic"}"#),
    set("mode adaptive", "{}"),
    set("alpha 1", r#"{"alpha": 1}"#),
    set("alpha 64", r#"{"alpha": 64}"#),
    set("tau 1us", r#"{"tau_ns": 1000, "maxtime_ns": 99000}"#),
    set("tau 600s", r#"{"tau_ns": 600000000000, "maxtime_ns": 59400000000000}"#),
    set("maxtime 0s", r#"{"maxtime_ns": 0}"#),
    set("maxtime 60000s", r#"{"maxtime_ns": 60000000000000}"#),
    set("limit 1", r#"{"limit": 1}"#),
    set("limit 1000000", r#"{"limit": 1000000}"#),
    set("limit_bytes 1", r#"{"limit_bytes": 1}"#),
    set("limit_bytes 64kb", r#"{"limit_bytes": 65536}"#),
    set("limit_bytes 1gb", "{}"),
    set(
        "threshold 12p limit 40 alpha 4 tau 200ms maxtime 2s",
        r#"{"threshold_ns": null, "threshold_packets": 12, "limit": 40, "alpha": 4, "tau_ns": 200000000,
            "maxtime_ns": 2000000000}"#,
    ),
    set(
        "threshold 20000b mode basic interval 50ms",
        r#"{"threshold_ns": null, "threshold_bytes": 20000, "mode": "basic", "interval_ns": 50000000,
            "tau_ns": 250000000, "maxtime_ns": 24750000000}"#,
    ),
];

/// Rejected options. The last three conflict with each other, which the module detects.
const REFUSED: &[(&str, &str)] = &[
    ("threshold", "gsp: threshold: expected a time"),
    ("threshold 5", "gsp: threshold: expected a time"),
    ("threshold soon", "gsp: threshold: expected a time"),
    ("threshold 999ns", "gsp: threshold: expected a time"),
    ("threshold 11s", "gsp: threshold: expected a time"),
    ("threshold 0b", "gsp: threshold: expected a time"),
    ("threshold 2gb", "gsp: threshold: expected a time"),
    ("threshold 0p", "gsp: threshold: expected a time"),
    ("threshold 1000001p", "gsp: threshold: expected a time"),
    ("interval 999ns", "1us to 60s"),
    ("interval 61s", "1us to 60s"),
    ("interval often", "1us to 60s"),
    ("mode fast", "adaptive or basic"),
    ("alpha 0", "1 to 64"),
    ("alpha 65", "1 to 64"),
    ("alpha -1", "1 to 64"),
    ("tau 999ns", "1us to 600s"),
    ("tau 601s", "1us to 600s"),
    ("maxtime -1s", "0s to 60000s"),
    ("maxtime 60001s", "0s to 60000s"),
    ("limit 0", "1 to 1000000"),
    ("limit 1000001", "1 to 1000000"),
    ("limit_bytes 0", "1b to 1gb"),
    ("limit_bytes 2gb", "1b to 1gb"),
    ("colour blue", "no option \"colour\""),
    ("threshold 1000p", "threshold in packets is not below limit"),
    ("threshold 7p limit 7", "threshold in packets is not below limit"),
    ("threshold 20000b limit_bytes 20000", "threshold in bytes is not below limit_bytes"),
];

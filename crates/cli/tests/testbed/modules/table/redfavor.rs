//! kernel/man/tc-redfavor.8.

use super::{Module, Setting, set};

pub(super) const REDFAVOR: Module = Module {
    kind: "redfavor",
    defaults: r#"{"limit": 75000, "min": 6250, "max": 18750, "ewma": 3, "probability": 0.02, "scell_log": 13,
        "ecn": false, "harddrop": false, "nodrop": false, "adaptive": false}"#,
    settings: SETTINGS,
    refused: REFUSED,
    statistics: &[
        "prob_drop",
        "forced_drop",
        "tail_drop",
        "push_out",
        "prob_mark",
        "forced_mark",
        "syn_queued",
        "syn_saved",
        "syn_early_drop",
        "syn_tail_drop",
        "syn_qlen",
        "syn_backlog",
        "qavg",
        "max_p",
    ],
};

/// `tc` makes the average of a new qdisc from its limit; a change of the limit alone leaves it. What follows from what is
/// computed by hand from tc_red_eval_ewma() and tc_red_eval_idle_damping() of iproute2, with 15.625 ticks a microsecond.
const SETTINGS: &[Setting] = &[
    set("", "{}"),
    Setting {
        words: "limit 30000",
        added: r#"{"limit": 30000, "min": 2500, "max": 7500, "ewma": 2, "scell_log": 12}"#,
        changed: Some(r#"{"limit": 30000}"#),
    },
    set("limit 1gb min 6250 max 18750", r#"{"limit": 1073741824}"#),
    set(
        "min 3000",
        r#"{"min": 3000, "max": 9000, "ewma": 2, "scell_log": 12}"#,
    ),
    set("max 30000", r#"{"min": 10000, "max": 30000}"#),
    set("avpkt 500", r#"{"ewma": 4}"#),
    set("burst 50", r#"{"ewma": 8, "scell_log": 18}"#),
    set("ewma 1", r#"{"ewma": 1, "scell_log": 11}"#),
    set("ewma 9", r#"{"ewma": 9, "scell_log": 19}"#),
    set("bandwidth 1mbit", r#"{"scell_log": 16}"#),
    set("probability 0.000001", r#"{"probability": 9.99775e-07}"#),
    set("probability 0.1", r#"{"probability": 0.1}"#),
    set("probability 1", r#"{"probability": 1}"#),
    set("ecn", r#"{"ecn": true}"#),
    set("noecn", "{}"),
    set("harddrop", r#"{"harddrop": true}"#),
    set("noharddrop", "{}"),
    set("adaptive", r#"{"adaptive": true}"#),
    set("noadaptive", "{}"),
    set("drop", "{}"),
    set("ecn nodrop", r#"{"ecn": true, "nodrop": true}"#),
    set(
        "ecn harddrop adaptive probability 0.1",
        r#"{"ecn": true, "harddrop": true, "adaptive": true, "probability": 0.1}"#,
    ),
];

const REFUSED: &[(&str, &str)] = &[
    ("limit", "redfavor: limit: expected a size"),
    ("limit 0", "redfavor: limit: expected a size"),
    ("limit -1", "redfavor: limit: expected a size"),
    ("limit 2gb", "redfavor: limit: expected a size"),
    ("min 0", "redfavor: min: expected a size"),
    ("min 5000 max 5000", "min is not below max"),
    ("max much", "redfavor: max: expected a size"),
    ("avpkt 65537", "redfavor: avpkt: expected a size"),
    ("burst 0", "1 to 1000000"),
    ("burst 1", "burst is too small for min"),
    ("burst 1000000", "burst is too large for min"),
    ("ewma 0", "1 to 30"),
    ("ewma 30", "max does not fit 32 bits"),
    ("ewma 31", "1 to 30"),
    ("probability 0", "0.000001 to 1"),
    ("probability 1.1", "0.000001 to 1"),
    ("probability often", "0.000001 to 1"),
    ("bandwidth 1bit", "1kbit to 34gbit"),
    ("bandwidth 1kbit", "bandwidth is too low"),
    ("bandwidth 100gbit", "1kbit to 34gbit"),
    ("colour blue", "no option \"colour\""),
    // By the module itself.
    ("nodrop", "nodrop mode is only meaningful with ECN"),
];

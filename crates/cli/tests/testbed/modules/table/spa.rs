//! Options of spa: kernel/man/tc-spa.8.

use super::{Module, Setting, set};

pub(super) const SPA: Module = Module {
    kind: "spa",
    defaults: r#"{"fin": "none", "maxlen": 127, "share": 25}"#,
    settings: SETTINGS,
    fixed: &[],
    refused: REFUSED,
    refused_by_kernel: 0,
    first_case: 0x5a00,
    statistics: &["syn", "fin_first", "toolong", "overshare", "flood_drop"],
};

const SETTINGS: &[Setting] = &[
    set("fin none", "{}"),
    set("fin priority", r#"{"fin": "priority"}"#),
    set("maxlen 0", r#"{"maxlen": 0}"#),
    set("maxlen 66", r#"{"maxlen": 66}"#),
    set("maxlen 65535", r#"{"maxlen": 65535}"#),
    set("share 1", r#"{"share": 1}"#),
    set("share 60%", r#"{"share": 60}"#),
    set("share 100", r#"{"share": 100}"#),
    set("fin priority maxlen 100 share 90", r#"{"fin": "priority", "maxlen": 100, "share": 90}"#),
];

const REFUSED: &[(&str, &str)] = &[
    ("fin first", "none or priority"),
    ("fin inorder", "none or priority"),
    ("fin", "not complete"),
    ("maxlen -1", "0 to 65535"),
    ("maxlen 65536", "0 to 65535"),
    ("share 0", "1 to 100"),
    ("share 101", "1 to 100"),
    ("share 25x", "1 to 100"),
    ("share half", "1 to 100"),
    ("limit 1000", "no option \"limit\""),
];

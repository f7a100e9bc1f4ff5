//! Options of gentle: kernel/man/tc-gentle.8.

use super::{Module, Setting, set};

pub(super) const GENTLE: Module = Module {
    kind: "gentle",
    defaults: r#"{"limit": 10240, "flows": 1024, "target": 5000, "interval": 100000, "memory_limit": 33554432,
        "ecn": true, "hosts": "none"}"#,
    settings: SETTINGS,
    fixed: FIXED,
    refused: REFUSED,
    refused_by_kernel: 0,
    first_case: 0x5e00,
    statistics: &["drop_overlimit", "ecn_mark", "flows_len", "young_levels", "memory_used", "debt"],
};

const SETTINGS: &[Setting] = &[
    set("limit 1", r#"{"limit": 1}"#),
    set("limit 4294967295", r#"{"limit": 4294967295}"#),
    set("flows 1024", "{}"),
    set("flows 1017", "{}"),
    set("target 0", r#"{"target": 0}"#),
    set("target 1us", r#"{"target": 1}"#),
    set("target 4294967295us", r#"{"target": 4294967295}"#),
    set("interval 0", r#"{"interval": 0}"#),
    set("interval 4294967295us", r#"{"interval": 4294967295}"#),
    set("memory_limit 0", r#"{"memory_limit": 0}"#),
    set("memory_limit 2gb", r#"{"memory_limit": 2147483648}"#),
    set("ecn", "{}"),
    set("noecn", r#"{"ecn": false}"#),
    set("hosts none", "{}"),
    set("hosts src", r#"{"hosts": "src"}"#),
    set("hosts dst", r#"{"hosts": "dst"}"#),
    set(
        "limit 100 target 1ms interval 10ms memory_limit 1mb noecn hosts src",
        r#"{"limit": 100, "target": 1000, "interval": 10000, "memory_limit": 1048576, "ecn": false, "hosts": "src"}"#,
    ),
];

const FIXED: &[Setting] =
    &[set("flows 8", r#"{"flows": 8}"#), set("flows 9", r#"{"flows": 16}"#), set("flows 32768", r#"{"flows": 32768}"#)];

const REFUSED: &[(&str, &str)] = &[
    ("limit", "not complete"),
    ("limit 0", "a number of packets"),
    ("limit -1", "a number of packets"),
    ("limit 4294967296", "a number of packets"),
    ("limit many", "a number of packets"),
    ("flows 7", "8 to 32768"),
    ("flows 32769", "8 to 32768"),
    ("target soon", "a time"),
    ("target -1ms", "a time"),
    ("target 4294967296us", "a time"),
    ("interval", "not complete"),
    ("interval 2h", "a time"),
    ("memory_limit 3gb", "a size of up to 2gb"),
    ("memory_limit -1", "a size of up to 2gb"),
    ("hosts", "not complete"),
    ("hosts both", "none, src or dst"),
    ("colour blue", "What is \"colour\""),
];

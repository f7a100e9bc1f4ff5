//! Options of gentle: kernel/man/tc-gentle.8.

use super::{Module, Setting, set};

pub(super) const GENTLE: Module = Module {
    kind: "gentle",
    defaults: r#"{"limit_ns": 140000000, "memory_limit": 33554432, "bands": 10, "first": 2048, "weight": 16,
        "forgive": 75, "flows": 512, "ecn": true, "hosts": "none"}"#,
    settings: SETTINGS,
    refused: REFUSED,
    refused_by_kernel: 0,
    first_case: 0x5e00,
    statistics: &[
        "push_out",
        "ecn_mark",
        "rate",
        "room_ns",
        "bytes_in_bands",
        "limit_bytes",
        "share",
    ],
};

const SETTINGS: &[Setting] = &[
    set("limit 1ms", r#"{"limit_ns": 1000000}"#),
    set("limit 10s", r#"{"limit_ns": 10000000000}"#),
    set("memory_limit 1514b", r#"{"memory_limit": 1514}"#),
    set("memory_limit 2gb", r#"{"memory_limit": 2147483648}"#),
    set("bands 2", r#"{"bands": 2}"#),
    set("bands 15", r#"{"bands": 15}"#),
    set("first 64b", r#"{"first": 64}"#),
    set("first 64kb", r#"{"first": 65536}"#),
    set("weight 1", r#"{"weight": 1}"#),
    set("weight 1000", r#"{"weight": 1000}"#),
    set("forgive 0", r#"{"forgive": 0}"#),
    set("forgive 1000", r#"{"forgive": 1000}"#),
    set("flows 8", r#"{"flows": 8}"#),
    set("flows 65536", r#"{"flows": 65536}"#),
    set("ecn", "{}"),
    set("noecn", r#"{"ecn": false}"#),
    set("hosts none", "{}"),
    set("hosts src", r#"{"hosts": "src"}"#),
    set("hosts dst", r#"{"hosts": "dst"}"#),
    set(
        "limit 50ms bands 5 first 4kb weight 8 noecn",
        r#"{"limit_ns": 50000000, "bands": 5, "first": 4096, "weight": 8, "ecn": false}"#,
    ),
];

const REFUSED: &[(&str, &str)] = &[
    ("limit", "1ms to 10s"),
    ("limit 999us", "1ms to 10s"),
    ("limit 11s", "1ms to 10s"),
    ("limit soon", "1ms to 10s"),
    ("memory_limit 1513", "1514 to 2147483648 bytes"),
    ("memory_limit 3gb", "1514 to 2147483648 bytes"),
    ("bands 1", "2 to 15"),
    ("bands 16", "2 to 15"),
    ("first 63", "64 to 65536 bytes"),
    ("first 65537", "64 to 65536 bytes"),
    ("weight 0", "1 to 1000"),
    ("weight 1001", "1 to 1000"),
    ("forgive -1", "0 to 1000"),
    ("forgive 1001", "0 to 1000"),
    ("flows 7", "8 to 65536"),
    ("flows 65537", "8 to 65536"),
    ("hosts", "none, src or dst"),
    ("hosts both", "none, src or dst"),
    ("colour blue", "no option \"colour\""),
];

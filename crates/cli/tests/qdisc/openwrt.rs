//! Scripts in `deploy/openwrt`, tested with the functions of sqm-scripts if they are installed, and with stand-ins.

use super::namespace::{has, stdout};
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/openwrt")
}

/// Folders of sqm-scripts or stand-ins.
fn libraries() -> Vec<PathBuf> {
    let installed = std::env::var_os("SQM_LIB_DIR").unwrap_or_else(|| "/usr/lib/sqm".into());
    let installed = PathBuf::from(installed);
    let mut list = vec![folder().join("tests")];
    if installed.join("functions.sh").exists() {
        list.push(installed);
    } else {
        eprintln!("sqm-scripts are not installed: only the stand-in for its functions is used");
    }
    list
}

fn script(name: &str, library: &Path, before: &str, after: &str) -> String {
    format!(
        "{before}
        ip link add ifb4wan type veth peer name other
        sh {}/tests/run {} wan ifb4wan 19000 90000 {name}
        {after}",
        folder().display(),
        library.display()
    )
}

/// Puts a program in the place of `tc` that writes down its arguments.
const RECORDER: &str = "printf '#!/bin/sh\\necho tc \"$@\" >>/run/record\\n' > /run/tc
        chmod +x /run/tc
        export TC_BINARY=/run/tc";

#[test]
fn the_commands_are_those_of_a_plan() {
    for library in libraries() {
        let Some(text) = stdout(&script(
            "spa.qos",
            &library,
            RECORDER,
            "cat /run/record; echo; gentle qdisc plan wan spa --backing stock --rate 19mbit",
        )) else {
            return;
        };
        let (recorded, planned) = text.split_once("\n\n").expect("both");
        // Filters are identified by what they match; the numbers of policers and handles differ.
        let matches = |text: &str, device: &str| -> Vec<String> {
            let mut list: Vec<String> = text
                .lines()
                .filter(|line| line.contains(&format!(" {device} ")) && line.contains(" match u8 "))
                .filter_map(|line| line.split_once(" pref "))
                .map(|(_, rest)| rest.split(" flowid").next().unwrap_or(rest).to_owned())
                .collect();
            list.sort();
            list
        };
        let planned = matches(planned, "wan");
        // A table of flags for each version of IP, and a jump for each length and each encapsulation.
        assert_eq!(planned.len(), 2 + (1 + 3) * (1 + 8));
        for device in ["wan", "ifb4wan"] {
            assert_eq!(matches(recorded, device), planned, "{device}: {}", library.display());
        }
        let last = recorded.lines().last().unwrap_or_default();
        assert!(last.contains("mirred egress redirect dev ifb4wan"), "{last}");
    }
}

#[test]
fn a_kernel_takes_it() {
    if !has(&["htb", "prio", "codel"]) {
        return;
    }
    for library in libraries() {
        let text = stdout(&script("spa.qos", &library, "", "tc qdisc show; tc filter show dev wan parent 110:"))
            .expect("namespaces work, as seen above");
        assert!(text.contains("codel 111: dev wan parent 110:1"), "{text}");
        assert!(text.contains("codel 112: dev ifb4wan parent 110:2"), "{text}");
        assert!(text.contains("flowid 110:1"), "{text}");
    }
}

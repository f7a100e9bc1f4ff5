//! Test tools of others: the kernel's tc-testing, its YAML descriptions of netlink, and the program that reads them.
//! All are downloaded (`scripts/kernel-headers --tools`); none is in this repository.

use super::laboratory::{Laboratory, kernel_folder};
use super::table::{MODULES, tc_testing};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

fn file(kind: &str) -> PathBuf {
    kernel_folder().join(format!("testing/tc-testing/{kind}.json"))
}

/// Compares the files with the tables; UPDATE_DOCS=1 writes them.
#[test]
fn files_of_tc_testing_are_those_of_the_tables() {
    for module in &MODULES {
        let text = serde_json::to_string_pretty(&tc_testing::cases(module)).unwrap() + "\n";
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(file(module.kind), &text).unwrap();
        }
        let there = std::fs::read_to_string(file(module.kind)).unwrap();
        assert!(there == text, "{}: differs from the table; UPDATE_DOCS=1 regenerates it", file(module.kind).display());
    }
}

/// Required parts of the kernel's source; `None`, with a message, if they are unavailable.
fn tools() -> Option<PathBuf> {
    let script = kernel_folder().join("../scripts/kernel-headers");
    let output = Command::new(script).arg("--tools").output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.code() == Some(75) && std::env::var_os("GENTLE_TESTBED").is_none() {
        eprintln!("skipped: {}", text(&output.stderr));
        return None;
    }
    assert!(output.status.success(), "{}", text(&output.stderr));
    Some(text(&output.stdout).into())
}

/// The patches of `upstream/` can be put together from the files of today, and checkpatch has nothing to say.
#[test]
fn patches_for_linux_pass_checkpatch() {
    if tools().is_none() {
        return;
    }
    let into = tempfile::tempdir().unwrap();
    let output = Command::new(kernel_folder().join("../upstream/series"))
        .arg(into.path())
        .env("GIT_AUTHOR_NAME", "A Tester")
        .env("GIT_AUTHOR_EMAIL", "tester@example.org")
        .env("GIT_COMMITTER_NAME", "A Tester")
        .env("GIT_COMMITTER_EMAIL", "tester@example.org")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let clean = |line: &&str| line.ends_with(": checkpatch has nothing to say");
    assert_eq!(printed.lines().filter(clean).count(), 6, "{printed}");
    for letter in ["net", "net-next"] {
        let path = into.path().join(letter).join("0000-cover-letter.patch");
        let text = std::fs::read_to_string(path).unwrap();
        assert!(!text.contains("***"), "{text}");
    }
}

fn shell(laboratory: &Laboratory, script: &str) -> String {
    laboratory.succeed(&["sh", "-ec", script])
}

#[test]
#[ignore = "make test-all"]
fn full_size_tc_testing_itself_passes() {
    let (Some(laboratory), Some(tools)) = (Laboratory::new(), tools()) else {
        return;
    };
    for module in &MODULES {
        // tc-testing runs its commands in its own environment, in which tc would not find the plug-ins.
        let printed = shell(
            &laboratory,
            &format!(
                "cp -r {}/tools/testing/selftests/tc-testing /run/tdc
                cd /run/tdc
                printf 'import os\\nENVIR = dict(os.environ)\\n' > tdc_config_local.py
                python3 ./tdc.py --format tap -f {}",
                tools.display(),
                file(module.kind).display()
            ),
        );
        let passed = printed.lines().filter(|line| line.starts_with("ok ")).count();
        let cases = tc_testing::cases(module);
        assert_eq!(passed, cases.as_array().unwrap().len(), "{printed}");
        assert!(!printed.contains("not ok"), "{printed}");
    }
}

/// The description is valid by the kernel's schema, and with it the kernel's program reads the same values from a qdisc
/// as `tc`.
#[test]
fn the_netlink_description_fits_schema_and_modules() {
    let (Some(laboratory), Some(tools)) = (Laboratory::new(), tools()) else {
        return;
    };
    let description = kernel_folder().join("netlink/tc-gentle.yaml");
    let python = "import jsonschema, sys, yaml
load = lambda path: yaml.safe_load(open(path))
jsonschema.validate(load(sys.argv[2]), load(sys.argv[1]))";
    let valid = Command::new("python3")
        .args(["-c", python])
        .arg(tools.join("Documentation/netlink/netlink-raw.yaml"))
        .arg(&description)
        .output()
        .unwrap();
    assert!(valid.status.success(), "{valid:?}");

    for module in &MODULES {
        let kind = module.kind;
        let printed = shell(
            &laboratory,
            &format!(
                "ip link add d0 type dummy
                ip link set d0 up
                tc qdisc add dev d0 root handle 1: {kind}
                ping -c 1 -W 1 -I d0 192.0.2.1 >/dev/null 2>&1 || :
                python3 {}/tools/net/ynl/pyynl/cli.py --no-schema --output-json \\
                    --spec {} --dump getqdisc",
                tools.display(),
                description.display()
            ),
        );
        let list: Value = serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"));
        let mut list = list.as_array().unwrap().iter();
        let ours = list.find(|qdisc| qdisc["kind"] == kind).unwrap();
        let expected = module.with_defaults();
        for (name, value) in expected.as_object().unwrap() {
            if let Some((name, value)) = of_description(kind, name, value) {
                assert_eq!(ours["options"][name], value, "{kind} {name}: {ours}");
            }
        }
        let app = ours["stats2"]["app"].as_object().unwrap();
        assert_eq!(app.len(), module.statistics.len(), "{kind}: {ours}");
    }
}

/// Option of `tc` with its value in the form of the description; `None` for options that tc derives from several.
fn of_description<'a>(kind: &str, name: &'a str, value: &Value) -> Option<(&'a str, Value)> {
    let name = match name {
        "threshold_ns" => "threshold-delay",
        "interval_ns" => "interval",
        "tau_ns" => "tau",
        "maxtime_ns" => "maxtime",
        "limit_ns" => "limit",
        "memory_limit" => "memory-limit",
        "limit_bytes" => "limit-bytes",
        "min" => "qth-min",
        "max" => "qth-max",
        "ewma" => "wlog",
        "scell_log" => "scell-log",
        "probability" | "ecn" | "harddrop" | "nodrop" | "adaptive" | "exempt" if kind == "redfavor" => {
            return None;
        }
        name => name,
    };
    let value = match value {
        Value::Bool(flag) => Value::from(u8::from(*flag)),
        value => value.clone(),
    };
    Some((name, value))
}

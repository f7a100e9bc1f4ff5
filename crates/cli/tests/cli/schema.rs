//! Output of `--json`, validated against `gentle schema`.

use crate::command::{among_captures, brief, gentle, stdout};
use serde_json::Value;
use std::process::Command;

fn schema(of: &str) -> Value {
    serde_json::from_str(&stdout(&mut gentle(&["schema", of]))).expect("JSON")
}

/// Checks a schema, and that it accepts the results and rejects an empty object, with Python's jsonschema.
const VALIDATE: &str = "import json, sys
from jsonschema.validators import validator_for
schema, *results = (json.load(open(name)) for name in sys.argv[1:])
validator_for(schema).check_schema(schema)
validator = validator_for(schema)(schema)
errors = [f'{list(error.path)}: {error.message}' for result in results for error in validator.iter_errors(result)]
if validator.is_valid({}):
    errors.append('everything is valid')
sys.exit('\\n'.join(errors) or 0)";

/// Checks `results` of a command against its schema, which has to require a version, so that its absence is an error.
#[track_caller]
fn valid(of: &str, results: &[String]) {
    let schema = schema(of);
    let required = schema["required"].as_array().expect("required fields");
    assert!(required.contains(&"version".into()), "{required:?}");
    validate(&schema, results);
}

#[track_caller]
fn validate(schema: &Value, results: &[String]) {
    let folder = tempfile::TempDir::new().unwrap();
    let texts = [schema.to_string()].into_iter().chain(results.iter().cloned());
    let files = texts.enumerate().map(|(number, text)| {
        let path = folder.path().join(number.to_string());
        std::fs::write(&path, text).unwrap();
        path
    });
    let python = Command::new("python3").args(["-c", VALIDATE]).args(files).output();
    let python = python.expect("python3 runs; scripts/bootstrap test installs it");
    let errors = String::from_utf8_lossy(&python.stderr);
    assert!(python.status.success(), "{errors}");
}

#[test]
fn comparisons_are_as_the_schema_says() {
    // Without losses and without an interval, fields are null.
    let calm = ["--json", "--seeds=1", "--rate=10mbit", "--up-rate=10mbit", "--load=2%"];
    let sim = ["sim", "10m", "--duration=2s", "--json", "--quiet"];
    valid("compare", &[stdout(&mut brief(&["--json"])), stdout(&mut brief(&calm)), stdout(&mut gentle(&sim))]);
}

#[test]
fn changes_are_as_the_schema_says() {
    let against = ["analyze", "--json", "formats/us.pcap", "--against", "formats/ns.pcap"];
    let found = stdout(&mut among_captures(&against));
    valid("analyze-against", std::slice::from_ref(&found));
    let found: Value = serde_json::from_str(&found).unwrap();
    // Both captures have the same packets.
    for change in found["changes"].as_array().unwrap() {
        assert_eq!(change["before"], change["after"], "{change}");
        let interval = &change["interval"];
        assert!(interval.is_null() || interval[0].as_f64() < Some(0.0) && interval[1].as_f64() > Some(0.0), "{change}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn probes_are_as_the_schema_says() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let target = listener.local_addr().unwrap().to_string();
    let lines = stdout(&mut gentle(&["probe", "--json", "--rate=50", "--count=3", &target]));
    let lines: Vec<String> = lines.lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 4, "three connects and the summary: {lines:?}");
    validate(&schema("probe"), &lines);
}

#[test]
fn predictions_are_as_the_schema_says() {
    // Without loss, throughput is null.
    let commands = [&["model", "--json"][..], &["model", "--json", "--loss=0"]];
    valid("model", &commands.map(|args| stdout(&mut gentle(args))));
}

#[test]
fn sweeps_are_as_the_schema_says() {
    let folder = tempfile::TempDir::new().unwrap();
    let grid = "schemes = [\"codel\"]\nseeds = 1\n[axes]\nduration = \"2s\"\n";
    std::fs::write(folder.path().join("grid.toml"), grid).unwrap();
    let mut sweep = gentle(&["sweep", "grid.toml", "--store=x", "--json"]);
    valid("sweep", &[stdout(sweep.current_dir(folder.path()))]);
}

#[test]
fn reproductions_are_as_the_schema_says() {
    let parts = [["spa-2018", "fig3"], ["redfavor-2012", "table2"]];
    let results = parts.map(|part| {
        let args = [&["reproduce", "--quick", "--quiet", "--json"], &part[..]].concat();
        stdout(&mut gentle(&args))
    });
    valid("reproduce", &results);
    let lists = stdout(&mut gentle(&["reproduce", "all", "--coverage", "--json"]));
    let lists: Vec<String> = lists.lines().map(str::to_owned).collect();
    assert_eq!(lists.len(), 4);
    valid("reproduce-coverage", &lists);
}

#[test]
fn analyses_are_as_the_schema_says() {
    let folder = tempfile::TempDir::new().unwrap();
    let flows = folder.path().join("flows.csv");
    let flows = format!("--flows={}", flows.display());
    let captures = [
        &["formats/us.pcap"][..],
        &["netns/syn.router.pcap", "--local=10.0.0.0/8", "--rate=1mbit"],
        &["other/sctp.pcap", "other/dccp.pcap", "other/quic-plain.pcap"],
        &["netns/syn-synack.client.pcap", flows.as_str()],
        &["netns/synack.span.pcap", "--anonymize=secret"],
    ];
    let results = captures.map(|args| stdout(among_captures(&["analyze", "--json"]).args(args)));
    valid("analyze", &results);
}

#[cfg(target_os = "linux")]
#[test]
fn schemas_of_linux_say_what_is_in_them() {
    for (of, field) in [("testbed-check", "rows"), ("qdisc-show", "qdiscs")] {
        let schema = schema(of);
        assert!(schema["properties"][field].is_object(), "{of}: {schema}");
        validate(&schema, &[]);
    }
}
